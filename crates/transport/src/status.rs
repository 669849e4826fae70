//! What a connection tells of itself.

use crate::protocol::Protocol;
use std::fmt;
use unit::Instant;

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Its socket is being connected.
    Connecting,
    /// TLS's handshake.
    Securing,
    /// A server waits for the first bytes, which tell the protocol.
    Recognising {
        /// How many of them are there.
        seen: usize,
    },
    /// The machine takes commands.
    Ready,
    /// It is over but for the bytes that are still to be sent.
    Closing,
    /// Nothing is left to be sent.
    Closed,
}

/// What was negotiated.
#[derive(Debug, Clone, Copy)]
pub struct Negotiated<'a, P = Protocol> {
    /// What is spoken.
    pub protocol: P,
    /// What TLS agreed on; None on a clear connection.
    pub tls: Option<secure::Negotiated<'a>>,
}

/// When the phases of a connection's beginning ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timings {
    /// It was begun: the connect, or a server's accept.
    pub opened: Instant,
    /// The socket was connected.
    pub connected: Option<Instant>,
    /// TLS's handshake was over; None on a clear connection.
    pub secured: Option<Instant>,
}

/// Bytes of the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Taken from it.
    pub received: u64,
    /// Given to it.
    pub sent: u64,
}

/// Whether it matters that the peer's bytes end without TLS's close_notify.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truncation {
    /// It is a failure: something may be missing.
    Fails,
    /// It is not: nothing was under way, or messages tell their own length (RFC 9112 §9.8).
    Ignored,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connecting => "connecting",
            Self::Securing => "securing",
            Self::Recognising { .. } => "waiting for the first bytes",
            Self::Ready => "ready",
            Self::Closing => "closing",
            Self::Closed => "closed",
        })
    }
}
