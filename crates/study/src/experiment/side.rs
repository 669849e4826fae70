//! What can be turned on one side of a connection: how its sockets send and acknowledge, and how its WebSocket speaks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One side's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// TCP_NODELAY: whether a small segment goes without waiting for the acknowledgement of what was sent before it.
    pub nodelay: bool,
    /// TCP_QUICKACK, set again after each read: whether what was read is acknowledged at once.
    pub quickack: bool,
    /// WebSocket: 1 where a frame's header and payload are written together, 2 where one after the other.
    pub writes: u32,
    /// WebSocket: whether a client offers permessage-deflate, or a server accepts it.
    pub deflate: bool,
}

/// What a good implementation does, and what the kernel does unless told: no Nagle, one write, delayed
/// acknowledgements, and no compression of what is small.
impl Default for Side {
    fn default() -> Self {
        Self { nodelay: true, quickack: false, writes: 1, deflate: false }
    }
}
