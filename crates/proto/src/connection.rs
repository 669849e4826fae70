//! What every connection can do, whatever it speaks. The one rule: a connection is driven, it never
//! acts by itself.
//!
//! The driver's loop:
//! 1. bytes arrive: call [`Connection::handle_bytes`] until it returns None; it takes bytes off the
//!    front of `input` and gives at most one event a call. Body bytes are borrowed from `input`.
//! 2. commands are given (`request`, `respond`, `send`, `reset`, …).
//! 3. [`Connection::poll_transmit`] is called when the layer below can take bytes, and not before:
//!    the scheduler decides there which stream goes next, as late as it can.
//! 4. [`Connection::poll_timeout`] tells when to call [`Connection::handle_timeout`].
//!
//! Commands and time-outs may leave events behind: call `handle_bytes` with an empty input to get them.

use crate::error::{Error, Misuse, Refused};
use crate::message::{RequestHead, ResponseHead, Status};
use crate::prepared::Prepared;
use crate::schedule::Priority;
use bytes::Bytes;
use endpoint::SendBuf;
use trace::HeaderBytes;
use unit::Instant;
use wire::Fields;

/// Names a request and its response on one connection. For protocols with stream identifiers it is
/// the identifier; HTTP/1.1 counts its exchanges from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

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

/// What a connection has to tell.
#[derive(Debug, PartialEq)]
pub enum Event<'i> {
    /// Server: a request head arrived. With `Fin::Last` it has no body.
    Request {
        /// Its stream.
        stream: StreamId,
        /// Method, target and fields.
        head: RequestHead,
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
        head: RequestHead,
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

/// What clients and servers share.
pub trait Connection {
    /// Takes received bytes off the front of `input`; gives at most one event. Call until None.
    fn handle_bytes<'i>(&mut self, now: Instant, input: &mut &'i [u8]) -> Option<Event<'i>>;

    /// The peer will send nothing more. Follow with `handle_bytes` on an empty input for its events.
    fn handle_eof(&mut self, now: Instant);

    /// The time that `poll_timeout` told has come. Follow with `handle_bytes` on an empty input.
    fn handle_timeout(&mut self, now: Instant);

    /// When to call `handle_timeout`; None for never.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Appends bytes to send to `out`, about `room` at most (a frame is never cut for it). Body bytes
    /// are chosen frame by frame by the scheduler.
    fn poll_transmit(&mut self, now: Instant, out: &mut SendBuf, room: usize);

    /// Whether `poll_transmit` would give something now.
    fn wants_transmit(&self) -> bool;

    /// Gives back credit for `bytes` of body that the application has dealt with.
    fn consume(&mut self, stream: StreamId, bytes: usize);

    /// Queues body bytes. What is queued is bounded by the caller, who waits for [`Event::Writable`].
    fn send(&mut self, stream: StreamId, data: Bytes, fin: Fin) -> Result<(), Misuse>;

    /// Queues trailer fields and ends this side of the stream.
    fn send_trailers(&mut self, stream: StreamId, fields: &Fields) -> Result<(), Misuse>;

    /// Body bytes queued and not yet given to `poll_transmit`'s caller.
    fn unsent(&self, stream: StreamId) -> usize;

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

/// An answer that has the very head of the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeated {
    /// Whose answer it is.
    pub stream: StreamId,
    /// What that head says.
    pub status: Status,
    /// Bytes of its body.
    pub body: usize,
}

/// The client's side.
pub trait ClientConnection: Connection {
    /// Asks. With `Fin::Last` there is no body; else `send` follows.
    fn request(&mut self, now: Instant, head: &RequestHead, fin: Fin) -> Result<StreamId, Refused>;

    /// Asks what was prepared: the same as `request` with its head and end, for less work where there is less to do.
    fn request_prepared(&mut self, now: Instant, prepared: &Prepared) -> Result<StreamId, Refused> {
        self.request(now, prepared.head(), prepared.fin())
    }

    /// Takes a whole answer off the front of `input` where it has the very head of the one before it: whoever only counts
    /// is spared its events. None where there is none such, or it is more than bytes to the one request under way;
    /// then nothing is taken.
    fn take_repeated(&mut self, _now: Instant, _input: &mut &[u8]) -> Option<Repeated> {
        None
    }

    /// Gives back a head that an event brought, once it has been looked at: the next one is read into its room.
    fn recycle(&mut self, _head: ResponseHead) {}

    /// How many further requests may be made right now: 1 or 0 for HTTP/1.1, what the peer's limit on
    /// concurrent streams leaves for the multiplexed protocols, 0 once draining.
    fn room(&self) -> usize;

    /// Where the bytes that come next are certainly this stream's body and nothing else: how many of them. Who
    /// receives may then put them where they belong without showing them, and says so by `skip_body`. A
    /// protocol that frames its bodies has no such bytes.
    fn plain_body(&self) -> Option<(StreamId, u64)> {
        None
    }

    /// So many of the bytes that `plain_body` told were received elsewhere; tells whether the body is whole now.
    fn skip_body(&mut self, _now: Instant, _bytes: u64) -> Fin {
        Fin::More
    }
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

    /// Takes the head of a request that is over: its room serves the next one.
    fn recycle(&mut self, _head: RequestHead) {}
}
