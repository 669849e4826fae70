//! The client's record of a token of a stream.

use serde::{Deserialize, Serialize};
use unit::Instant;

/// A token that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRecord {
    /// The name of its stream.
    pub stream: u32,
    /// Its number in the stream, from 0.
    pub number: u32,
    /// When the server had it, as the token itself says. Both ends of a trial read one clock.
    #[serde(with = "crate::nanos")]
    pub due: Instant,
    /// When the client had it whole.
    #[serde(with = "crate::nanos")]
    pub received: Instant,
}
