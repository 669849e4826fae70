//! What a protocol brings to a [`Session`]: its frames, its codes and rules, its settings and its
//! header codec. Everything else is the session's.

use super::{DataFrame, FrameWriter, Over, Role, Session, State, Step, StreamStatus};
use crate::multiplex::Opener;
use crate::schedule::{Priority, PriorityField};
use crate::{Fields, Fin, Misuse, Refused, RequestHead, ResponseHead, StreamId};
use std::fmt::Debug;
use std::time::Duration;

/// A protocol that multiplexes streams over bytes.
pub(crate) trait Framing: Debug + Sized + 'static {
    /// The bytes of a frame header.
    type RawHeader: AsMut<[u8]> + Copy + Debug + Default;
    /// What they say.
    type Header: Copy + Debug;
    /// A frame to be sent.
    type Frame<'a>: OutgoingFrame;
    /// Codes of GOAWAY.
    type ConnectionCode: ErrorCode;
    /// Codes of RST_STREAM.
    type StreamCode: ErrorCode;

    /// The codes and rules of what the session checks.
    const RULES: Rules<Self::ConnectionCode, Self::StreamCode>;
    /// The steps by which the sender of a promise opens its stream, and those of its receiver.
    const SENT_PROMISE: &'static [Step];
    /// See [`Self::SENT_PROMISE`].
    const RECEIVED_PROMISE: &'static [Step];
    /// The last stream in a GOAWAY that names none; None where every GOAWAY names one.
    const GOAWAY_NAMES_NONE: Option<u32>;
    /// Whether the payload of every frame that is taken whole has to be there in time, or header blocks
    /// only.
    const TIMED: Timed;
    /// Why there are no informational responses, where there are none.
    const NO_INFORMATIONAL: Option<&'static str>;

    /// What a client sends before its first frame, and the rule that a server holds it to.
    fn preface() -> Option<(&'static [u8], Rule<Self::ConnectionCode>)>;

    /// The `priority` field of a response; None for a protocol that has no such field (RFC 9218 §8).
    fn priority_field(_fields: &Fields) -> Option<PriorityField> {
        None
    }

    /// Queues what opens the connection: preface and settings.
    fn greet(session: &mut Session<Self>);

    /// Reads a frame header.
    fn parse_header(raw: &Self::RawHeader) -> Self::Header;

    /// The length of the frame that begins here, its header counted.
    fn frame_length(bytes: &[u8]) -> Option<usize>;

    /// Checks a frame header and says how its payload is read.
    fn on_header(session: &mut Session<Self>, header: Self::Header) -> Result<Next, Over>;

    /// Acts on a frame whose payload is whole.
    fn on_payload(
        session: &mut Session<Self>,
        header: Self::Header,
        payload: &[u8],
    ) -> Result<Next, Over>;

    /// What DATA is on a stream that takes none.
    fn misplaced_data(status: StreamStatus) -> Misplaced<Self::ConnectionCode, Self::StreamCode>;

    /// Trailers that came before the end of their stream.
    fn take_trailers(&mut self, _id: u32) -> Option<Fields> {
        None
    }

    /// What the peer takes.
    fn peer(&self) -> PeerLimits;

    /// Checks that a request can be sent. `put_request` or `put_promise` follows for the same head.
    fn check_request(&mut self, head: &RequestHead) -> Result<(), Refused>;

    /// Checks that the fields of a response or trailers can be sent.
    fn check_fields(&self, fields: &Fields) -> Result<(), Misuse>;

    /// Queues a request.
    fn put_request(&mut self, out: &mut FrameWriter<'_>, id: u32, head: &RequestHead, fin: Fin);

    /// The next request has this priority. False where its frame does not carry it.
    fn open_at(&mut self, _priority: Priority) -> bool {
        false
    }

    /// Queues the head of a response. `opener` is `We` for the answer to a promise.
    fn put_response(
        &mut self,
        out: &mut FrameWriter<'_>,
        to: Answered,
        head: &ResponseHead,
        fin: Fin,
    );

    /// Queues trailers, which end the stream.
    fn put_trailers(&mut self, out: &mut FrameWriter<'_>, id: u32, fields: &Fields);

    /// Queues a promise, or keeps it until `before_transmit`.
    fn put_promise(&mut self, out: &mut FrameWriter<'_>, promise: Promise, head: &RequestHead);

    /// Tells the peer of a priority, where the protocol can.
    fn put_priority(&mut self, out: &mut FrameWriter<'_>, of: Prioritised, priority: Priority);

    /// Queues what was kept until the next frame goes.
    fn before_transmit(&mut self, _out: &mut FrameWriter<'_>) {}

    /// Whether `before_transmit` would queue anything.
    fn has_kept_frames(&self) -> bool {
        false
    }

    /// Takes the head of an event that is done with, for its buffers.
    #[expect(clippy::boxed_local, reason = "it goes from hand to hand by its address")]
    fn recycle_request(&mut self, _head: Box<RequestHead>) {}

    /// As `recycle_request`.
    fn recycle_response(&mut self, _head: ResponseHead) {}

    /// A stream was dropped before its end.
    fn forget_stream(&mut self, _id: u32) {}

    /// The connection is closed.
    fn forget_all(&mut self);

    /// A frame that says that the connection takes no new streams, while those that are
    /// under way are still taken.
    fn announce_shutdown(&self, _role: Role) -> Option<Announcement<Self>> {
        None
    }

    /// A frame that asks whether the peer is there.
    fn keep_alive_ping(&mut self) -> Self::Frame<'static>;

    /// The code for a stream that the application abandons.
    fn abandon(role: Role, state: State) -> Self::StreamCode;

    /// RST_STREAM.
    fn reset_frame(id: u32, code: Self::StreamCode) -> Self::Frame<'static>;
    /// WINDOW_UPDATE; stream 0 is the connection.
    fn window_update_frame(id: u32, increment: u32) -> Self::Frame<'static>;
    /// GOAWAY.
    fn goaway_frame(last: u32, code: Self::ConnectionCode, debug: &str) -> Self::Frame<'_>;
    /// An empty DATA frame that ends the stream.
    fn end_frame(id: u32) -> Self::Frame<'static>;
    /// The header of a DATA frame.
    fn data_header(id: u32, length: usize, fin: Fin) -> Self::RawHeader;
}

/// A frame that can be queued.
pub(crate) trait OutgoingFrame {
    /// Bytes before the payload.
    const HEADER_LENGTH: usize;
    /// Appends the frame.
    fn encode(&self, out: &mut Vec<u8>);
    /// The stream that the trace names, 0 for none.
    fn stream(&self) -> u32;
    /// Its type's name.
    fn name(&self) -> &'static str;
}

/// An error code on the wire.
pub(crate) trait ErrorCode: Copy + Debug + Eq {
    /// Its number.
    fn number(self) -> u64;
    /// Its name in the protocol's document.
    fn name(self) -> &'static str;
}

/// A rule of the protocol, and the code that tells a peer of its breach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rule<C> {
    pub(crate) code: C,
    pub(crate) text: &'static str,
}

/// A rule that is broken by `code`.
pub(crate) const fn rule<C>(code: C, text: &'static str) -> Rule<C> {
    Rule { code, text }
}

/// The rules that the session checks, with codes `C` of GOAWAY and `S` of RST_STREAM.
#[derive(Debug)]
pub(crate) struct Rules<C, S> {
    /// More DATA than the connection's credit.
    pub(crate) connection_credit: Rule<C>,
    /// More DATA than the stream's credit.
    pub(crate) stream_credit: Rule<S>,
    pub(crate) data_before_head: Rule<S>,
    /// More DATA than Content-Length says, or less.
    pub(crate) long_body: Rule<S>,
    pub(crate) short_body: Rule<S>,
    /// A Content-Length on a message without a body.
    pub(crate) no_body: Rule<S>,
    /// A WINDOW_UPDATE that makes a window too large.
    pub(crate) connection_window: Rule<C>,
    pub(crate) stream_window: Rule<S>,
    /// An initial window that makes a stream's too large.
    pub(crate) initial_window: Rule<C>,
    /// RST_STREAM and WINDOW_UPDATE on an idle stream, where they are an error.
    pub(crate) idle_reset: Option<Rule<C>>,
    pub(crate) idle_window_update: Option<Rule<C>>,
    /// SETTINGS that nobody acknowledged, where they must be.
    pub(crate) settings_timeout: Option<Rule<C>>,
    /// The peer does more for nothing than it may.
    pub(crate) too_much: C,
    /// The peer does nothing for too long.
    pub(crate) too_slow: C,
    /// What it was waited for under `Timer::HeaderBlock`.
    pub(crate) header_wait: &'static str,
    /// GOAWAY for no fault of anybody.
    pub(crate) no_error: C,
    /// We end the stream for no fault of the peer's protocol.
    pub(crate) cancel: S,
    /// The request was not processed.
    pub(crate) refused: S,
}

/// How the session reads on after a frame header or a whole payload.
#[derive(Debug)]
pub(crate) enum Next {
    /// The next frame.
    Frame,
    /// This many bytes, whole, for `on_payload`.
    Payload(u32),
    /// The bytes of a DATA frame, as they come.
    Data(DataFrame),
    /// This many bytes that are ignored.
    Skip(u32),
}

/// What a frame is on a stream that does not take it.
#[derive(Debug)]
pub(crate) enum Misplaced<C, S> {
    /// An error of the connection.
    Connection(Rule<C>),
    /// An error of the stream.
    Stream(Rule<S>),
    /// Late, since we have reset the stream.
    Late,
}

/// Which payloads have to be there in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timed {
    Payloads,
    HeaderBlocks,
}

/// What the peer takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeerLimits {
    pub(crate) max_concurrent_streams: u32,
    /// Credit of a new stream.
    pub(crate) initial_window: u32,
    pub(crate) max_frame_size: u32,
    /// Whether it takes pushes.
    pub(crate) takes_push: bool,
}

/// A stream that is answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answered {
    pub(crate) id: u32,
    pub(crate) opener: Opener,
}

/// A promise of ours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Promise {
    pub(crate) parent: u32,
    pub(crate) promised: u32,
}

/// A stream that the application has given a priority.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prioritised {
    pub(crate) id: u32,
    pub(crate) opener: Opener,
    pub(crate) status: StreamStatus,
    pub(crate) role: Role,
}

/// What announces a shutdown.
#[derive(Debug)]
pub(crate) struct Announcement<F: Framing> {
    pub(crate) frames: [F::Frame<'static>; 2],
    /// How long the peer has to answer it.
    pub(crate) patience: Duration,
}

/// A stream's number on the wire.
pub(crate) fn number(stream: StreamId) -> Option<u32> {
    u32::try_from(stream.0).ok()
}
