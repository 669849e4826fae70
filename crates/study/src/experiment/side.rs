//! The settings of one side of a connection: how its sockets send and acknowledge, and how its WebSocket sends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One side's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// TCP_NODELAY: whether a small segment is sent before the previous ones are acknowledged.
    pub nodelay: bool,
    /// TCP_QUICKACK, set again after each read: whether received bytes are acknowledged at once.
    pub quickack: bool,
    /// WebSocket: 1 if a frame's header and payload are written together, 2 if one after the other.
    pub writes: u32,
    /// WebSocket: whether a client offers permessage-deflate, or a server accepts it.
    pub deflate: bool,
}

/// The defaults of a good implementation and of the kernel: no Nagle, one write, delayed acknowledgements, and no
/// compression of small messages.
impl Default for Side {
    fn default() -> Self {
        Self { nodelay: true, quickack: false, writes: 1, deflate: false }
    }
}
