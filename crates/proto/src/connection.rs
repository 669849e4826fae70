//! What every connection can do, whatever it speaks. The one rule: a connection is driven, it never
//! acts by itself.
//!
//! An application sees a [`Connection`]: commands, queries and [`Event`]s. Its driver sees one of two
//! extensions: [`ByteStreamConnection`] over TCP or TLS, and
//! [`MultiplexedConnection`](crate::MultiplexedConnection) over QUIC.
//!
//! The driver's loop over a byte stream:
//! 1. bytes arrive: call [`ByteStreamConnection::handle_bytes`] until it returns None; it takes bytes off
//!    the front of `input` and gives at most one event a call. Body bytes are borrowed from `input`.
//! 2. commands are given (`request`, `respond`, `send`, `reset`, …).
//! 3. [`ByteStreamConnection::poll_transmit`] is called when the layer below can take bytes, and not
//!    before: the scheduler decides there which stream goes next, as late as it can.
//! 4. [`Connection::poll_timeout`] says when to call [`Connection::handle_timeout`].
//!
//! Commands and time-outs may leave events behind: call `handle_bytes` with an empty input to get them.

use crate::error::{Error, Misuse, Refused};
use crate::message::{RequestHead, ResponseHead, Status};
use crate::schedule::Priority;
use crate::stream_id::StreamId;
use bytes::Bytes;
use endpoint::SendBuf;
use trace::HeaderBytes;
use unit::Instant;
use wire::Fields;

/// Whether a part of a message is its last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fin {
    /// More follows.
    More,
    /// The sender's side of the stream ends here.
    Last,
}

/// Where a connection stands in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionState {
    /// It takes new streams.
    Open,
    /// It takes no new streams and finishes those it has (GOAWAY, `Connection: close`, shutdown).
    Draining,
    /// Nothing more will be received or sent once the bytes still owed are out.
    Closed,
}

/// How many bytes the peer's flow control lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendCredit {
    /// On the stream, above what is queued there.
    pub stream: usize,
    /// On the connection, for all streams together.
    pub connection: usize,
}

/// What a connection has to tell.
#[derive(Debug, PartialEq)]
pub enum Event<'i> {
    /// Server: a request head arrived. With `Fin::Last` it has no body.
    Request {
        /// Its stream.
        stream: StreamId,
        /// Method, target and fields. Boxed: it goes through many hands, and back by [`ServerConnection::recycle`].
        head: Box<RequestHead>,
        /// Whether a body follows.
        fin: Fin,
    },
    /// Client: an informational (1xx) response arrived; the final one is still to come.
    Informational {
        /// Its stream.
        stream: StreamId,
        /// Status and fields.
        head: ResponseHead,
    },
    /// Client: the final response head arrived. With `Fin::Last` it has no body.
    Response {
        /// Its stream.
        stream: StreamId,
        /// Status and fields.
        head: ResponseHead,
        /// Whether a body follows.
        fin: Fin,
    },
    /// Body bytes arrived. The receiver gives credit back with [`Connection::consume`] when it has
    /// dealt with them; until then they count against the flow-control windows. With `Fin::Last`
    /// (where `data` may be empty) the message is whole.
    Data {
        /// Their stream.
        stream: StreamId,
        /// The bytes, borrowed from the input.
        data: &'i [u8],
        /// Whether the message ends here.
        fin: Fin,
    },
    /// Trailer fields arrived; the message is whole.
    Trailers {
        /// Their stream.
        stream: StreamId,
        /// The fields.
        fields: Fields,
    },
    /// Client: the server promises a response to a request that was not made (PUSH_PROMISE, SPDY's
    /// unidirectional SYN_STREAM). Refuse it with [`Connection::reset`].
    Promise {
        /// The stream whose answer it belongs to.
        parent: StreamId,
        /// The stream that will carry the response.
        stream: StreamId,
        /// The request that the server made up.
        head: Box<RequestHead>,
    },
    /// The peer reset the stream, or an error confined to the stream ended it.
    Reset {
        /// The stream, gone now.
        stream: StreamId,
        /// Who is to blame and why. [`Error::is_unprocessed`] tells whether it is safe to retry.
        error: Error,
    },
    /// The bytes queued by `send` on this stream have fallen below the low-water mark: send more.
    Writable {
        /// The stream.
        stream: StreamId,
    },
    /// No new streams will be taken; those above `last` were not processed and may be retried elsewhere.
    Draining {
        /// The highest stream that the peer may have acted on; None where it names none.
        last: Option<StreamId>,
    },
    /// The connection is over. Streams that were open get no further events.
    Closed {
        /// None for an orderly end.
        error: Option<Error>,
    },
}

impl Event<'_> {
    /// Whether it tells that the peer's side of this stream has ended.
    pub fn ends(&self, of: StreamId) -> bool {
        match *self {
            Event::Request { stream, fin, .. }
            | Event::Response { stream, fin, .. }
            | Event::Data { stream, fin, .. } => stream == of && fin == Fin::Last,
            _ => false,
        }
    }
}

/// What clients and servers share, and all that an application sees: commands, queries and time.
pub trait Connection {
    /// The time that `poll_timeout` gave has come. Events may follow.
    fn handle_timeout(&mut self, now: Instant);

    /// When to call `handle_timeout`; None for never.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Whether the connection has something for the layer below to send now.
    fn wants_transmit(&self) -> bool;

    /// Gives back credit for `bytes` of body that the application has dealt with.
    fn consume(&mut self, stream: StreamId, bytes: usize);

    /// Queues body bytes. What is queued is bounded by the caller, who waits for [`Event::Writable`].
    fn send(&mut self, stream: StreamId, data: Bytes, fin: Fin) -> Result<(), Misuse>;

    /// Queues trailer fields and ends this side of the stream.
    fn send_trailers(&mut self, stream: StreamId, fields: &Fields) -> Result<(), Misuse>;

    /// Body bytes queued and not yet given to the layer below.
    fn unsent(&self, stream: StreamId) -> usize;

    /// Credit of the peer that bytes queued now would meet. Without flow control it has no bound.
    fn send_credit(&self, _stream: StreamId) -> SendCredit {
        SendCredit { stream: usize::MAX, connection: usize::MAX }
    }

    /// The application has the next bytes of this body as soon as it is asked for them. Where those queued run out,
    /// `poll_transmit` ends, and goes on once the application has had [`Event::Writable`]: streams that come later in order do not
    /// overtake a body that is queued by pieces. Over HTTP/1.1 there is nothing to overtake. Over HTTP/3 a piece is
    /// as much as one batch of datagrams, but for the first of a body that is made as it is sent.
    fn keep_turn(&mut self, _stream: StreamId) {}

    /// Abandons the stream. On HTTP/1.1 that closes the connection.
    fn reset(&mut self, now: Instant, stream: StreamId);

    /// Sets who goes before whom among this connection's outgoing streams (and tells the peer, where
    /// the protocol can).
    fn prioritise(&mut self, stream: StreamId, priority: Priority);

    /// Ends in good order: takes no new streams, finishes the open ones, then closes.
    fn shutdown(&mut self, now: Instant);

    /// Bytes of heads so far, before and after compression.
    fn header_bytes(&self) -> HeaderBytes;

    /// Where the connection stands.
    fn state(&self) -> ConnectionState;
}

/// A connection over one ordered stream of bytes: TCP, with TLS or without.
pub trait ByteStreamConnection: Connection {
    /// Takes received bytes off the front of `input`; gives at most one event. Call until None.
    fn handle_bytes<'i>(&mut self, now: Instant, input: &mut &'i [u8]) -> Option<Event<'i>>;

    /// The peer will send nothing more. Follow with `handle_bytes` on an empty input for its events.
    fn handle_eof(&mut self, now: Instant);

    /// Appends about `limit` bytes to send to `out`; a frame is never cut for the limit. The scheduler
    /// chooses body bytes frame by frame.
    fn poll_transmit(&mut self, now: Instant, out: &mut SendBuf, limit: usize);
}

/// A whole response whose head equals the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeated {
    /// Its stream.
    pub stream: StreamId,
    /// Its status.
    pub status: Status,
    /// Bytes of its body.
    pub body: usize,
}

/// The client's side.
pub trait ClientConnection: Connection {
    /// Sends a request. With `Fin::Last` it has no body; else `send` follows. A request that is repeated
    /// costs less where its fields were validated ([`Fields::validate`]).
    fn request(&mut self, now: Instant, head: &RequestHead, fin: Fin) -> Result<StreamId, Refused>;

    /// The same, with a priority: over HTTP/2 a dependency goes with the request's own HEADERS. Others are told of it after the
    /// request, as by `prioritise`.
    fn request_at(
        &mut self,
        now: Instant,
        head: &RequestHead,
        fin: Fin,
        priority: Priority,
    ) -> Result<StreamId, Refused> {
        let stream = self.request(now, head, fin)?;
        self.prioritise(stream, priority);
        Ok(stream)
    }

    /// How many further requests may be made right now: 1 or 0 for HTTP/1.1, what the peer's limit on
    /// concurrent streams leaves for the multiplexed protocols, 0 once draining.
    fn available_streams(&self) -> usize;

    /// Bytes of the first frame that waits, DATA excepted: with this limit `poll_transmit` gives it alone. What a connection
    /// begins with counts as one frame, the requests that wait for it among it. None where none waits, and for a protocol that does not frame.
    fn next_frame(&self) -> Option<usize> {
        None
    }

    /// Gives back the head of an event: the next one reuses its buffers.
    fn recycle(&mut self, _head: ResponseHead) {}

    /// Bytes of DATA that came for streams which this side had reset. No event tells of them.
    fn discarded_bytes(&self) -> u64 {
        0
    }

    /// Body bytes may bypass the connection; None for a protocol that frames its bodies.
    fn direct_receive(&mut self) -> Option<&mut dyn DirectReceive> {
        None
    }

    /// Responses may be counted without events; None for a protocol that has no fast path for it.
    fn count_only(&mut self) -> Option<&mut dyn CountOnly> {
        None
    }
}

/// Receiving body bytes straight into their destination.
pub trait DirectReceive {
    /// The stream whose body the next bytes are, and how many; None where they may be anything else.
    fn expected_body(&self) -> Option<(StreamId, u64)>;

    /// Counts that many of those bytes as received. Tells whether the body is whole.
    fn body_received(&mut self, now: Instant, bytes: u64) -> Fin;
}

/// Counting responses whose content nobody reads.
pub trait CountOnly {
    /// Fast path: consumes a complete response whose head equals the previous one. Returns None and
    /// consumes nothing otherwise.
    fn take_repeated(&mut self, now: Instant, input: &mut &[u8]) -> Option<Repeated>;
}

/// The server's side.
pub trait ServerConnection: Connection {
    /// Sends an informational response (100, 103).
    fn inform(&mut self, stream: StreamId, head: &ResponseHead) -> Result<(), Misuse>;

    /// Sends the final response head. With `Fin::Last` there is no body; else `send` follows.
    fn respond(&mut self, stream: StreamId, head: &ResponseHead, fin: Fin) -> Result<(), Misuse>;

    /// Promises the response to a request that the client did not make. Refused where the protocol or
    /// the client's settings forbid it. The caller then `respond`s on the stream that it gives.
    fn promise(&mut self, parent: StreamId, head: &RequestHead) -> Result<StreamId, Refused>;

    /// Gives back the head of a request that is over: the next one reuses its buffers.
    #[expect(clippy::boxed_local, reason = "it goes from hand to hand by its address")]
    fn recycle(&mut self, _head: Box<RequestHead>) {}

    /// The response that this stream was just given, head and body, may be sent until then to each request that has no body and
    /// whose header section is the same bytes. No event tells of these requests. A connection that cannot do so goes on giving events.
    fn allow_repeats(&mut self, _stream: StreamId, _until: Instant) {}

    /// How many requests the connection has answered without an event since the last call.
    fn take_repeats(&mut self) -> usize {
        0
    }

    /// The application has given this stream its response, and needs to hear nothing more of it. Tells whether the connection takes it
    /// over: then no event tells of the stream, and no later call finds it ([`ServerConnection::allow_repeats`] comes before). A
    /// connection that cannot do so goes on giving events.
    fn release(&mut self, _stream: StreamId) -> bool {
        false
    }

    /// Whether responses of which no event tells wait for the layer below.
    fn has_released(&self) -> bool {
        false
    }
}
