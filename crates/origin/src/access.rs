//! Records of exchanges and connections, for an access log. Nothing here writes.

use crate::policy::Urgency;
use proto::{Error, ResponseHead};
use std::fmt;
use transport::{Protocol, QuicFacts, QuicTally};
use unit::Instant;
use wire::golomb::BadSet;

/// Takes a record of each exchange that ends.
pub trait AccessLog {
    /// One exchange is over.
    fn record(&self, record: &AccessRecord<'_>);

    /// A connection's protocol is known.
    fn opened(&self, _opened: &OpenedRecord) {}

    /// A connection over QUIC is forgotten, or the origin has finished. It may be told twice.
    fn closed(&self, _connection: u64, _tally: &QuicTally) {}

    /// A request is there, or a push was promised.
    fn began(&self, _connection: u64, _stream: u64) {}

    /// The head of a response is given to the connection.
    fn answered(&self, _connection: u64, _stream: u64, _head: &ResponseHead) {}

    /// A connection ended by an error: its peer broke a rule, or asked for too much work without use.
    fn ended_by_error(&self, _connection: u64, _error: &Error) {}

    /// A request's word about the client's cache, in the cookie or the field of this name, cannot be read. It is ignored.
    fn unreadable(&self, _connection: u64, _name: &str, _why: BadSet) {}

    /// The delivery policy names a push that is not made. Each is told once, by one of the server's threads.
    fn not_pushed(&self, _skipped: &SkippedPush<'_>) {}
}

/// A push that a policy or a preload link names and that is not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkippedPush<'a> {
    /// The path or URL named.
    pub target: &'a str,
    /// Why it is not pushed.
    pub why: NotPushed,
}

/// Why something is not pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NotPushed {
    /// It is on another host, or has another scheme (RFC 9113 §8.4: the server has no authority for it).
    OtherOrigin,
    /// It would be answered with this status. Only 200 is pushed.
    Status(u16),
    /// It is no plain response: a WebSocket, an echo, a stream.
    NotPlain,
    /// Only a pushed response names it, and that pushes nothing.
    Nested,
    /// The request or the connection has had as many pushes as it may.
    TooMany,
    /// Its size is not known, as of an application's answers, and the pushes' bytes are bounded.
    UnknownSize,
    /// The protocol cannot carry the request.
    Unsendable,
}

impl fmt::Display for NotPushed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherOrigin => f.write_str("it is of another origin"),
            Self::Status(status) => write!(f, "it is answered with {status}"),
            Self::NotPlain => f.write_str("it is no plain response"),
            Self::Nested => f.write_str("a pushed response pushes nothing"),
            Self::TooMany => f.write_str("there are as many pushes as there may be"),
            Self::UnknownSize => {
                f.write_str("its size is not known, and `most_bytes` bounds pushes")
            }
            Self::Unsendable => f.write_str("its request cannot be sent"),
        }
    }
}

/// A connection whose protocol is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedRecord {
    /// Number of the connection, in the order of accepting, from 1, over all threads of the server.
    pub connection: u64,
    /// The protocol on it.
    pub protocol: Protocol,
    /// What TLS agreed on; None on a clear connection.
    pub tls: Option<trace::TlsRecord>,
    /// What it sends by over QUIC; None over TCP.
    pub quic: Option<QuicFacts>,
}

/// One exchange, as the origin saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRecord<'a> {
    /// Number of the connection, in the order of accepting, from 1, over all threads of the server.
    pub connection: u64,
    /// Number of the stream on it.
    pub stream: u64,
    /// The protocol on it.
    pub protocol: Protocol,
    /// Method.
    pub method: &'a str,
    /// Host and port asked for.
    pub authority: &'a str,
    /// Path and query.
    pub path: &'a str,
    /// Status of the response; None without one.
    pub status: Option<u16>,
    /// Bytes of the request's body that were read.
    pub received_bytes: u64,
    /// Bytes of response body given to the connection.
    pub sent_bytes: u64,
    /// When the head of the request had arrived.
    pub received: Instant,
    /// When the head of the response was given to the connection.
    pub answered: Option<Instant>,
    /// When the last byte was given to the socket, or the exchange was cut off.
    pub finished: Instant,
    /// How it ended. A push that the client refused was cut off.
    pub end: ExchangeEnd,
    /// Where this is a push: the stream whose response it belongs to.
    pub pushed_with: Option<u64>,
    /// The place that the server gave it, whatever the client asked for.
    pub decided: Option<Urgency>,
}

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeEnd {
    /// Everything was sent.
    Done,
    /// The peer reset it, or the connection ended before it did.
    CutOff,
    /// This side gave it up: its file was truncated or can no longer be read, the application broke off, or answered a push with
    /// another status than 200.
    Broken,
}
