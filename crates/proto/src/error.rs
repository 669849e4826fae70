//! Errors name blame and blast radius.

use crate::StreamId;
use thiserror::Error as ThisError;

/// How far an error reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One stream; the connection goes on.
    Stream(StreamId),
    /// The whole connection.
    Connection,
}

/// Why a stream or connection ended before its time.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub enum Error {
    /// The peer broke the protocol.
    #[error("the peer broke the protocol: {rule} (error code {code:#x})")]
    PeerViolation {
        /// How far it reaches.
        scope: Scope,
        /// The protocol's error code for it (an HTTP status for HTTP/1.1 servers).
        code: u64,
        /// The rule broken, with its RFC section.
        rule: &'static str,
    },
    /// HTTP/2 was spoken, and the peer's first bytes are a status line of HTTP/1.
    #[error("the peer answered in HTTP/1.1, where HTTP/2 begins with SETTINGS (RFC 9113 §3.4)")]
    AnsweredInHttp1,
    /// The peer ended the stream with this code (RST_STREAM).
    #[error("the peer reset the stream with code {code:#x} ({name})")]
    PeerReset {
        /// The protocol's error code.
        code: u64,
        /// Its name in the RFC.
        name: &'static str,
    },
    /// The peer refused or never processed the request: it may be retried.
    #[error("the peer did not process the request")]
    Unprocessed,
    /// The peer ended the connection with this code (GOAWAY).
    #[error("the peer closed the connection with code {code:#x} ({name})")]
    PeerClosed {
        /// The protocol's error code.
        code: u64,
        /// Its name in the RFC.
        name: &'static str,
    },
    /// The bytes stopped in the middle of something.
    #[error("the connection ended in the middle of {within}")]
    Truncated {
        /// What was cut off.
        within: &'static str,
    },
    /// The peer took too long over something.
    #[error("time ran out waiting for {waiting_for}")]
    TimedOut {
        /// What did not come.
        waiting_for: &'static str,
    },
}

impl Error {
    /// Whether the request that met this error was certainly not acted on, so that a retry is safe.
    pub fn is_unprocessed(&self) -> bool {
        matches!(self, Self::Unprocessed)
    }
}

/// A command that the connection's state does not allow: a mistake of the caller, nothing was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ThisError)]
pub enum Misuse {
    /// There is no such stream (any more: the peer may have reset it).
    #[error("the stream is not there (any more)")]
    UnknownStream,
    /// Out of order: a body before its head, a head twice, bytes after the end.
    #[error("out of order: {0}")]
    OutOfOrder(&'static str),
    /// The message cannot be expressed in this protocol.
    #[error("the message cannot be sent: {0}")]
    Unsendable(&'static str),
}

/// Why a new stream was not opened. Nothing was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ThisError)]
pub enum Refused {
    /// The limit on concurrent streams is reached: ask again when one has ended.
    #[error("the limit on concurrent streams is reached")]
    Full,
    /// The connection takes no new streams: use another one.
    #[error("the connection takes no new streams")]
    Draining,
    /// The peer has not sent the settings yet that would allow this kind of stream (extended CONNECT).
    #[error("the peer has not sent its settings yet")]
    TooEarly,
    /// The peer or the protocol does not allow this kind of stream (push).
    #[error("the peer does not take this kind of stream")]
    NotAllowed,
    /// The message cannot be expressed in this protocol.
    #[error("the message cannot be sent: {0}")]
    Unsendable(&'static str),
}
