//! What can be wrong with a message, where, and which status says so.

use std::fmt;

/// What kind of fault, as far as the answer to it differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// It does not follow the grammar, or its framing cannot be trusted.
    Malformed,
    /// The start line is longer than the limit.
    StartLineTooLong,
    /// The fields are too many or too long.
    FieldsTooLarge,
    /// A transfer coding that is not spoken here.
    UnknownCoding,
    /// A version that is not spoken here.
    UnknownVersion,
}

/// A fault in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Error {
    /// What kind.
    pub kind: ErrorKind,
    /// Bytes from the start of the head or of the chunked body to where it was noticed.
    pub position: usize,
    /// The rule broken, with its RFC section.
    pub rule: &'static str,
}

impl Error {
    pub(super) fn malformed(position: usize, rule: &'static str) -> Self {
        Self { kind: ErrorKind::Malformed, position, rule }
    }

    /// The status of the answer that a server gives to it.
    pub fn status(&self) -> u16 {
        match self.kind {
            ErrorKind::Malformed => 400,
            ErrorKind::StartLineTooLong => 414,
            ErrorKind::FieldsTooLarge => 431,
            ErrorKind::UnknownCoding => 501,
            ErrorKind::UnknownVersion => 505,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.rule, self.position)
    }
}

impl std::error::Error for Error {}
