//! What can be wrong with a frame, where, and which close code says so.

use super::close::CloseCode;
use std::fmt;

/// A fault in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Error {
    /// The close code for the peer (RFC 6455 §7.4.1).
    pub code: CloseCode,
    /// Bytes from the start of the frame, or of a Close frame's payload, to where it was noticed.
    pub position: usize,
    /// The rule broken, with its RFC section.
    pub rule: &'static str,
}

impl Error {
    pub(super) fn protocol(position: usize, rule: &'static str) -> Self {
        Self { code: CloseCode::PROTOCOL_ERROR, position, rule }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.rule, self.position)
    }
}

impl std::error::Error for Error {}
