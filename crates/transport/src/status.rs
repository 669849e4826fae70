//! The public state and figures of a connection.

use proto::EarlyData;
use std::fmt;
use unit::Instant;

/// The state of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Its socket is being connected.
    Connecting,
    /// A client waits for a proxy's tunnel.
    Tunnelling,
    /// TLS's handshake.
    Securing,
    /// A server waits for the first bytes, by which it recognises the protocol.
    Recognising {
        /// Bytes received so far.
        seen: usize,
    },
    /// The machine takes commands.
    Ready,
    /// The connection is over, but bytes are still to be sent.
    Closing,
    /// The connection is over and everything was sent.
    Closed,
}

/// What was negotiated.
#[derive(Debug, Clone, Copy)]
pub struct Negotiated<'a, P> {
    /// What is spoken.
    pub protocol: P,
    /// What TLS agreed on; None on a clear connection, and for a client whose requests go as early data.
    pub tls: Option<secure::Negotiated<'a>>,
    /// Whether the handshake goes on: requests are early data, and may come a second time from somebody who has
    /// recorded them (RFC 8470).
    pub early_data: EarlyData,
    /// Whether the handshake is over, or there is none. Where it is not, `handle_handshake` follows.
    pub is_secured: bool,
}

/// When each phase of a connection's start ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timings {
    /// It was begun: the connect, or a server's accept.
    pub opened: Instant,
    /// The socket was connected.
    pub connected: Option<Instant>,
    /// TLS's handshake was over; None on a clear connection.
    pub secured: Option<Instant>,
}

/// Bytes read from and written to the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Read.
    pub received: u64,
    /// Written.
    pub sent: u64,
}

/// Whether it matters that the peer's bytes end without TLS's close_notify.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truncation {
    /// It is a failure: something may be missing.
    Fails,
    /// It is not: nothing was under way, or each message has its own length (RFC 9112 §9.8).
    Ignored,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connecting => "connecting",
            Self::Tunnelling => "waiting for the proxy's tunnel",
            Self::Securing => "securing",
            Self::Recognising { .. } => "waiting for the first bytes",
            Self::Ready => "ready",
            Self::Closing => "closing",
            Self::Closed => "closed",
        })
    }
}
