//! Records of exchanges and connections, for an access log. Nothing here writes.

use transport::{Protocol, QuicFacts};
use unit::Instant;

/// Takes a record of each exchange that ends.
pub trait AccessLog {
    /// One exchange is over.
    fn record(&self, record: &AccessRecord<'_>);

    /// A connection's protocol is known.
    fn opened(&self, _opened: &OpenedRecord) {}
}

/// A connection whose protocol is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedRecord {
    /// Number of the connection, in the order of accepting, from 1.
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
    /// Number of the connection, in the order of accepting, from 1.
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
    /// How it ended.
    pub end: ExchangeEnd,
}

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeEnd {
    /// Everything was sent.
    Done,
    /// The peer reset it, or the connection ended before it did.
    CutOff,
    /// This side gave it up: its file was truncated or can no longer be read.
    Broken,
}
