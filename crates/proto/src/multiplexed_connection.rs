//! A connection whose transport multiplexes streams by itself: HTTP/3 over QUIC (RFC 9000). The one rule:
//! the connection names streams and chooses among them, the transport moves their bytes.
//!
//! The driver's loop:
//! 1. The handshake has come far enough to send: [`MultiplexedConnection::handle_transport`] tells what was
//!    negotiated, [`MultiplexedConnection::handle_stream_limit`] how many streams the peer allows. Both
//!    come again when they change.
//! 2. Stream bytes arrive: while [`MultiplexedConnection::wants_read`] allows it, read some and call
//!    [`MultiplexedConnection::handle_stream`] until it has told everything. Then hand in
//!    [`MultiplexedConnection::take_backlog`] the same way, until there is none.
//! 3. Commands are given. [`MultiplexedConnection::poll_event`] returns what they, other inputs and time-outs caused.
//! 4. Carry out [`MultiplexedConnection::poll_stream_action`] until None, and before any transmit.
//! 5. While congestion window and pacer allow it, [`MultiplexedConnection::poll_stream_transmit`] gives
//!    bytes of one stream. Ask as late as possible: the choice is made there. What the transport does not
//!    take the driver keeps; it then calls [`MultiplexedConnection::handle_stream_blocked`], and
//!    [`MultiplexedConnection::handle_stream_writable`] once it has written it all.

use crate::connection::{Connection, Event, Fin};
use crate::error::Error;
use crate::stream_id::StreamId;
use bytes::Bytes;
use endpoint::SendBuf;
use unit::Instant;

/// Whether both sides send on a stream (RFC 9000 §2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StreamKind {
    /// Both.
    Bidirectional,
    /// The opener alone.
    Unidirectional,
}

/// What became of data sent before the handshake was over (0-RTT, RFC 9001 §4.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EarlyData {
    /// There is none: the handshake is over, or this connection never sends any.
    #[default]
    None,
    /// Client: what is sent now is early data. Server: what arrives now is.
    Sending,
    /// The server has processed it.
    Accepted,
    /// The server has dropped it. All streams of the connection are void, and stream identifiers begin anew.
    Rejected,
}

/// What the transport negotiated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransportFacts {
    /// The state of early data.
    pub early_data: EarlyData,
    /// Largest payload of a QUIC datagram that the peer takes (RFC 9221), in bytes; None where it takes none.
    pub max_datagram: Option<usize>,
}

/// Bytes of one stream, appended to the buffer that was handed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamTransmit {
    /// The QUIC stream.
    pub stream: StreamId,
    /// Whether the stream's sending side ends after them.
    pub fin: Fin,
}

/// What the transport is to do with its streams, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamAction {
    /// Open the next stream of this kind. Its identifier is `stream`, since identifiers are handed out in order.
    Open {
        /// What QUIC calls it.
        stream: StreamId,
        /// Who sends on it.
        kind: StreamKind,
    },
    /// Abandon sending (RESET_STREAM). Bytes of the stream that the driver still keeps are dropped.
    Reset {
        /// The stream.
        stream: StreamId,
        /// The application's error code.
        code: u64,
    },
    /// Ask the peer to stop sending (STOP_SENDING). Nothing more of the stream is handed in.
    StopSending {
        /// The stream.
        stream: StreamId,
        /// The application's error code.
        code: u64,
    },
    /// Read the stream again: `wants_read` was false for it and is true now.
    Read {
        /// The stream.
        stream: StreamId,
    },
    /// Close the connection (CONNECTION_CLOSE of type 0x1d). It is the last action.
    Close {
        /// The application's error code.
        code: u64,
        /// Why, for people.
        reason: &'static str,
    },
}

/// Bytes of a stream that the connection deferred and can handle now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backlog {
    /// Their stream.
    pub stream: StreamId,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether the stream ends after them.
    pub fin: Fin,
}

/// A connection over a transport with streams of its own.
pub trait MultiplexedConnection: Connection {
    /// What the transport negotiated, once the connection can send, and whenever it changes.
    fn handle_transport(&mut self, now: Instant, facts: TransportFacts);

    /// The peer allows `total` streams of this kind over the connection's whole life (MAX_STREAMS).
    fn handle_stream_limit(&mut self, kind: StreamKind, total: u64);

    /// Takes received bytes of one stream off the front of `input`; gives at most one event. With
    /// `Fin::Last` the stream ends after these bytes. Call until None: all bytes are taken then. Where they are taken and an
    /// event has told the stream's end, another call is not needed.
    fn handle_stream<'i>(
        &mut self,
        now: Instant,
        stream: StreamId,
        input: &mut &'i [u8],
        fin: Fin,
    ) -> Option<Event<'i>>;

    /// Whether requests are under way: a client keeps the connection open for them (RFC 9114 §5.1).
    fn has_requests(&self) -> bool;

    /// Whether the stream should be read now. False while the application holds too many bytes of it, or
    /// while it waits for bytes of another stream.
    fn wants_read(&self, stream: StreamId) -> bool;

    /// Deferred bytes: they are handed to `handle_stream` as if they came now.
    fn take_backlog(&mut self) -> Option<Backlog>;

    /// The peer abandoned its side of the stream (RESET_STREAM).
    fn handle_stream_reset(&mut self, now: Instant, stream: StreamId, code: u64);

    /// The peer wants no more of the stream (STOP_SENDING).
    fn handle_stop_sending(&mut self, now: Instant, stream: StreamId, code: u64);

    /// The transport cannot take more bytes of the stream. The connection offers none until
    /// `handle_stream_writable`.
    fn handle_stream_blocked(&mut self, stream: StreamId);

    /// The transport can take bytes of the stream again.
    fn handle_stream_writable(&mut self, stream: StreamId);

    /// A datagram arrived (RFC 9221).
    fn handle_datagram(&mut self, now: Instant, payload: &[u8]);

    /// The transport is over: closed by the peer, timed out or failed. None for an orderly end.
    fn handle_transport_closed(&mut self, now: Instant, error: Option<Error>);

    /// An event that no stream's bytes caused.
    fn poll_event(&mut self, now: Instant) -> Option<Event<'static>>;

    /// What to do with streams next.
    fn poll_stream_action(&mut self) -> Option<StreamAction>;

    /// Appends about `limit` bytes of one stream to `out`. A DATA frame is cut to the limit; other frames are not. The
    /// end of a stream may come with no bytes.
    fn poll_stream_transmit(
        &mut self,
        now: Instant,
        out: &mut SendBuf,
        limit: usize,
    ) -> Option<StreamTransmit>;

    /// A datagram to send.
    fn poll_datagram(&mut self) -> Option<Bytes>;
}
