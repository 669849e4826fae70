//! One stream: its state, both of its windows, and what its message being received must be.

use super::{Ending, Outgoing, PROGRESS, Readiness, ReceiveWindow, Stall, State, Step};
use crate::{Fin, Method, Status};
use unit::Instant;

#[derive(Debug)]
pub(crate) struct Stream {
    opener: Opener,
    state: State,
    asked: Asked,
    incoming: Incoming,
    receive: ReceiveWindow,
    /// Bytes received that the application has not given back.
    unconsumed: u32,
    /// Whether the final head has been sent.
    head_sent: bool,
    outgoing: Outgoing,
    /// The state last given to the scheduler.
    readiness: Readiness,
    /// Whether it has bytes and no credit.
    stall: Stall,
}

/// What of the request bears on its answer's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Body,
    /// The head alone (HEAD).
    Head,
    /// A tunnel (CONNECT).
    Tunnel,
}

/// Who opened a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opener {
    We,
    Peer,
}

/// Credit that a stream begins with, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Windows {
    pub(crate) receive: u32,
    pub(crate) send: u32,
}

/// What the body of the message being received must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyLength {
    Any,
    /// Content-Length, less what has arrived.
    Left(u64),
    /// HEAD, 204, 304: none, whatever Content-Length says (RFC 9110 §6.4.1).
    None,
}

/// Why a DATA frame does not fit its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadData {
    /// It is more than the stream's credit.
    Credit,
    /// The head has not come.
    BeforeHead,
    /// It is more than Content-Length says.
    TooLong,
}

/// What came of another look at whether a stream can send.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Update {
    /// The state for the scheduler, where it has changed.
    pub(crate) changed: Option<Readiness>,
    /// Whether it has bytes and no credit.
    pub(crate) is_stalled: bool,
}

/// How far the message being received has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Incoming {
    /// The (final) head is still to come.
    Head,
    /// Body or trailers are next.
    Body(BodyLength),
}

impl BodyLength {
    /// What Content-Length allows.
    pub(crate) fn of(content_length: Option<u64>) -> Self {
        content_length.map_or(Self::Any, Self::Left)
    }

    /// Whether bytes are still missing.
    pub(crate) fn is_short(self) -> bool {
        matches!(self, Self::Left(left) if left > 0)
    }

    /// What is left after `bytes`; None where that is more than there may be.
    fn checked_sub(self, bytes: u32) -> Option<Self> {
        match self {
            Self::Any => Some(Self::Any),
            Self::Left(left) => left.checked_sub(u64::from(bytes)).map(Self::Left),
            Self::None => (bytes == 0).then_some(Self::None),
        }
    }
}

impl Stream {
    #[inline]
    pub(crate) fn new(opener: Opener, state: State, windows: Windows) -> Self {
        Self {
            opener,
            state,
            asked: Asked::Body,
            incoming: Incoming::Head,
            receive: ReceiveWindow::new(windows.receive),
            unconsumed: 0,
            head_sent: false,
            outgoing: Outgoing::new(windows.send),
            readiness: Readiness::Blocked,
            stall: Stall::default(),
        }
    }

    /// A stream after the steps that opened it and, where `fin` says so, the end of its opener's side.
    #[inline]
    pub(crate) fn opened(opener: Opener, steps: &[Step], fin: Fin, windows: Windows) -> Self {
        let end = if opener == Opener::We { Step::SendEnd } else { Step::ReceiveEnd };
        let after = |state: State, step| state.after(step).unwrap_or(State::Closed);
        let opened = steps.iter().fold(State::Idle, |state, &step| after(state, step));
        let state = if fin == Fin::Last { after(opened, end) } else { opened };
        Self::new(opener, state, windows)
    }

    pub(crate) fn opener(&self) -> Opener {
        self.opener
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    pub(super) fn set_state(&mut self, state: State) {
        self.state = state;
    }

    pub(crate) fn is_live(&self) -> bool {
        self.state != State::Closed
    }

    /// The request's method decides whether its answer has a body.
    pub(crate) fn note_method(&mut self, method: &Method) {
        self.asked = match method {
            Method::Head => Asked::Head,
            Method::Connect => Asked::Tunnel,
            _ => Asked::Body,
        };
    }

    /// The head of a request or promise has come, or none will: what its body must be.
    pub(crate) fn expect_body(&mut self, length: BodyLength) {
        self.incoming = Incoming::Body(length);
    }

    /// The head of the final response has come.
    pub(crate) fn expect_response_body(&mut self, status: Status, content_length: Option<u64>) {
        let length = match (self.asked, status.code()) {
            (Asked::Head, _) => BodyLength::None,
            _ if status.forbids_body() => BodyLength::None,
            // RFC 9110 §9.3.6: a client ignores Content-Length in a 2xx to CONNECT.
            (Asked::Tunnel, 200..300) => BodyLength::Any,
            _ => BodyLength::of(content_length),
        };
        self.incoming = Incoming::Body(length);
    }

    /// Whether the (final) head has come.
    pub(crate) fn has_head(&self) -> bool {
        matches!(self.incoming, Incoming::Body(_))
    }

    /// Whether bytes of the body are missing.
    pub(crate) fn is_short(&self) -> bool {
        matches!(self.incoming, Incoming::Body(length) if length.is_short())
    }

    /// Counts a DATA frame: `body` bytes for the application, of `length` that count as credit.
    pub(crate) fn receive_data(&mut self, length: u32, body: u32) -> Result<(), BadData> {
        self.receive.receive(length).map_err(|_| BadData::Credit)?;
        let Incoming::Body(expected) = &mut self.incoming else {
            return Err(BadData::BeforeHead);
        };
        *expected = expected.checked_sub(body).ok_or(BadData::TooLong)?;
        self.unconsumed += body;
        Ok(())
    }

    /// The application gives bytes back, as many as it has; gives how many.
    pub(crate) fn give_back(&mut self, bytes: usize) -> u32 {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX).min(self.unconsumed);
        self.unconsumed -= bytes;
        bytes
    }

    /// Bytes that the application has.
    pub(crate) fn unconsumed(&self) -> u32 {
        self.unconsumed
    }

    /// Gives credit back to the peer; gives the increment to announce. A stream that the peer has ended
    /// needs none.
    pub(crate) fn credit(&mut self, bytes: u32) -> Option<u32> {
        if self.state.takes_data() { self.receive.consume(bytes) } else { None }
    }

    /// Our initial window has changed.
    pub(crate) fn resize_window(&mut self, bytes: u32) {
        self.receive.resize(bytes);
    }

    pub(crate) fn has_sent_head(&self) -> bool {
        self.head_sent
    }

    /// The final head is sent. Where it is all, only the frame's own flag ends the stream.
    pub(crate) fn note_head_sent(&mut self) {
        self.head_sent = true;
    }

    pub(crate) fn outgoing(&self) -> &Outgoing {
        &self.outgoing
    }

    pub(crate) fn outgoing_mut(&mut self) -> &mut Outgoing {
        &mut self.outgoing
    }

    /// Whether more may be queued.
    pub(crate) fn takes_more(&self) -> bool {
        self.state.gives_data() && self.outgoing.is_open()
    }

    /// The end was sent with the head.
    pub(crate) fn end_with_head(&mut self) {
        self.outgoing.end(Ending::Sent);
    }

    /// Whether the scheduler counts it as ready.
    pub(crate) fn is_scheduled(&self) -> bool {
        self.readiness == Readiness::Ready
    }

    /// The state last given to the scheduler.
    pub(crate) fn readiness(&self) -> Readiness {
        self.readiness
    }

    /// Looks again whether it can send.
    pub(crate) fn update_readiness(&mut self, now: Instant) -> Update {
        let waiting = self.outgoing.bytes();
        if waiting == 0 || self.outgoing.credit() >= waiting.min(PROGRESS) {
            self.stall.end();
        } else {
            self.stall.update(now, self.outgoing.sent(), self.outgoing.is_stalled());
        }
        let ready = self.outgoing.is_ready();
        let readiness = if ready { Readiness::Ready } else { Readiness::Blocked };
        let changed = readiness != self.readiness;
        self.readiness = readiness;
        Update { changed: changed.then_some(readiness), is_stalled: self.stall.since().is_some() }
    }

    /// Since when it has had bytes and no credit.
    pub(crate) fn stalled_since(&self) -> Option<Instant> {
        self.stall.since()
    }
}
