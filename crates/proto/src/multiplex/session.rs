//! A connection that multiplexes streams, whatever its frames look like. It owns the streams, flow
//! control, what is queued, the order of sending, timers, limits and the end of the connection. A
//! [`Framing`] brings frames, codes, settings and the header codec.
//!
//! The way of a frame: `session/receive.rs` cuts it out of the input, the framing's `on_payload` says
//! what it means, and the methods of `session/peer.rs` and `session/message.rs` act on it.

mod command;
mod lifecycle;
mod message;
mod peer;
mod receive;
mod transmit;

use super::framing::ErrorCode;
use super::{
    ConnectionWindows, Draining, Events, FrameWriter, Framing, Gone, Guard, KeepAlive, Limits, Log,
    Opener, Outbox, Role, Rule, SendOrder, Stall, Stream, StreamStatus, Streams, Timer, Timers,
    TooMuch, Windows,
};
use crate::schedule::Scheduler;
use crate::{ConnectionState, Error, Event, Scope, StreamId};
pub(crate) use message::{Admission, Received};
pub(crate) use receive::DataFrame;
use receive::{Input, Progress};
use std::time::Duration;
use trace::{HeaderBytes, Tracer};
use unit::Instant;

/// A connection of either role.
#[derive(Debug)]
pub(crate) struct Session<F: Framing> {
    pub(crate) role: Role,
    pub(crate) framing: F,
    settings: SessionSettings,
    input: Input<F>,
    streams: Streams,
    windows: ConnectionWindows,
    /// Credit of new streams for the peer.
    stream_window: u32,
    /// Since when streams have waited for the connection's credit alone.
    stall: Stall,
    /// Bytes of bodies sent.
    sent: u64,
    /// Bytes of DATA that came for streams which we had reset.
    discarded: u64,
    order: SendOrder,
    /// Whether the last DATA frame was the end of what is queued of a body that keeps its turn.
    has_run_out: bool,
    outbox: Outbox,
    events: Events,
    draining: Draining<F::ConnectionCode>,
    guard: Guard,
    pub(crate) timers: Timers,
    pub(crate) log: Log,
    last_heard: Instant,
}

/// What every protocol's session is set to.
#[derive(Debug)]
pub(crate) struct SessionSettings {
    /// Credit of new streams for the peer.
    pub(crate) stream_window: u32,
    /// What the peer may open.
    pub(crate) max_concurrent_streams: u32,
    /// Largest DATA payload sent.
    pub(crate) data_frame_size: u32,
    /// `Event::Writable` comes when fewer bytes than this wait on a stream.
    pub(crate) send_low_water: usize,
    /// How long a header block may take to become whole.
    pub(crate) head_timeout: Duration,
    /// How long queued bytes may wait for credit.
    pub(crate) stall_timeout: Duration,
    /// Whether to look after a silent peer.
    pub(crate) keep_alive: Option<KeepAlive>,
    /// What the peer may do for nothing.
    pub(crate) limits: Limits,
}

/// Who a session is and what serves it from outside.
#[derive(Debug)]
pub(crate) struct Endowment {
    pub(crate) role: Role,
    pub(crate) now: Instant,
    pub(crate) scheduler: Box<dyn Scheduler>,
    pub(crate) tracer: Tracer,
}

/// The connection was closed for the peer's fault: nothing more is to be done with the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Over;

impl<F: Framing> Session<F> {
    /// A connection that has queued its greeting. `windows` are the connection's own.
    pub(crate) fn new(
        endowment: Endowment,
        framing: F,
        settings: SessionSettings,
        windows: ConnectionWindows,
    ) -> Self {
        let Endowment { role, now, scheduler, tracer } = endowment;
        let mut session = Self {
            role,
            framing,
            input: Input::new(role),
            streams: Streams::new(role),
            windows,
            stream_window: settings.stream_window,
            stall: Stall::default(),
            sent: 0,
            discarded: 0,
            order: SendOrder::new(scheduler),
            has_run_out: false,
            outbox: Outbox::default(),
            events: Events::default(),
            draining: Draining::new(),
            guard: Guard::new(&settings.limits),
            timers: Timers::default(),
            log: Log::new(now, tracer),
            last_heard: now,
            settings,
        };
        F::greet(&mut session);
        session.outbox.end_greeting();
        if let Some(keep_alive) = session.settings.keep_alive {
            session.timers.set(Timer::KeepAlive, now + keep_alive.interval);
        }
        session
    }

    pub(crate) fn discarded_bytes(&self) -> u64 {
        self.discarded
    }

    /// Takes bytes, gives an event.
    pub(crate) fn handle_bytes<'i>(
        &mut self,
        now: Instant,
        input: &mut &'i [u8],
    ) -> Option<Event<'i>> {
        self.log.set_now(now);
        if !input.is_empty() {
            self.last_heard = now;
        }
        loop {
            if let Some(event) = self.events.pop() {
                return Some(event);
            }
            if self.draining.is_closed() {
                // What follows a fatal error is of no interest (RFC 9113 §5.4.1, SPDY §2.4.1).
                *input = &[];
                return None;
            }
            match self.read(input) {
                Ok(Progress::Made) => {}
                // What a frame queues behind its own event comes after it.
                Ok(Progress::Event(event)) => return Some(event),
                Ok(Progress::Starved) if self.events.is_empty() => return None,
                Ok(Progress::Starved) | Err(Over) => {}
            }
        }
    }

    /// Ends the connection for the peer's fault (RFC 9113 §5.4.1, SPDY §2.4.1).
    pub(crate) fn fail(&mut self, broken: Rule<F::ConnectionCode>) -> Over {
        let (scope, code, rule) = (Scope::Connection, broken.code.number(), broken.text);
        self.fail_as(broken, Error::PeerViolation { scope, code, rule })
    }

    /// As [`Session::fail`], where the application is told more than the peer.
    pub(crate) fn fail_as(&mut self, broken: Rule<F::ConnectionCode>, error: Error) -> Over {
        if !self.draining.is_closed() {
            self.queue_goaway(broken.code, broken.text);
            self.close(Some(error));
        }
        Over
    }

    /// Ends a stream for the peer's fault (RFC 9113 §5.4.2, SPDY §2.4.2). The application gets an event
    /// where it knew the stream.
    pub(crate) fn fail_stream(&mut self, id: u32, broken: Rule<F::StreamCode>) -> Result<(), Over> {
        self.count_reset(id)?;
        self.queue_reset(id, broken.code);
        let known = self.streams.find(id).is_some_and(Stream::is_live);
        self.drop_stream(id, Gone::ResetByUs);
        if known {
            let stream = StreamId(u64::from(id));
            let (code, rule) = (broken.code.number(), broken.text);
            let error = Error::PeerViolation { scope: Scope::Stream(stream), code, rule };
            self.events.push(Event::Reset { stream, error });
        }
        self.close_if_drained();
        Ok(())
    }

    /// Counts a frame that moves nothing.
    pub(crate) fn count_chatter(&mut self) -> Result<(), Over> {
        self.guard.chatter(self.now()).map_err(|too_much| self.calm(too_much))
    }

    /// Counts a frame that must be answered.
    pub(crate) fn count_reply(&mut self) -> Result<(), Over> {
        self.guard.reply(self.now()).map_err(|too_much| self.calm(too_much))
    }

    /// Counts a stream that is reset for the peer's doing.
    pub(crate) fn count_reset(&mut self, id: u32) -> Result<(), Over> {
        let unsent = self.stream(id).map_or(0, |stream| stream.outgoing().bytes());
        self.guard.reset(self.now(), unsent).map_err(|too_much| self.calm(too_much))
    }

    /// Whether more waits for the peer than it may leave unread.
    pub(crate) fn is_unread(&self) -> bool {
        self.outbox.len() > self.settings.limits.queued_bytes
    }

    fn calm(&mut self, TooMuch(text): TooMuch) -> Over {
        self.fail(Rule { code: F::RULES.too_much, text })
    }

    /// Queues a frame that is not DATA with bytes.
    pub(crate) fn queue(&mut self, frame: &F::Frame<'_>) {
        self.writer().1.queue(frame);
    }

    /// The framing, and where it writes.
    pub(crate) fn writer(&mut self) -> (&mut F, FrameWriter<'_>) {
        (&mut self.framing, FrameWriter::new(&mut self.outbox, &mut self.log))
    }

    pub(crate) fn queue_reset(&mut self, id: u32, code: F::StreamCode) {
        self.queue(&F::reset_frame(id, code));
        self.log.stream_reset(id, code.number());
    }

    /// Queues a GOAWAY; the last stream that it names never grows (RFC 9113 §6.8).
    fn queue_goaway(&mut self, code: F::ConnectionCode, debug: &str) {
        let last = self.draining.last_named(self.streams.highest_peer());
        self.queue(&F::goaway_frame(last, code, debug));
    }

    /// Bytes of the connection's window are free again.
    pub(crate) fn credit_connection(&mut self, bytes: u32) {
        if let Some(increment) = self.windows.consume(bytes) {
            self.queue(&F::window_update_frame(0, increment));
        }
    }

    /// Gives bytes back to a stream's window.
    fn credit_stream(&mut self, id: u32, bytes: u32) {
        if let Some(increment) = self.streams.find_mut(id).and_then(|stream| stream.credit(bytes)) {
            self.queue(&F::window_update_frame(id, increment));
        }
    }

    /// The windows of a new stream.
    fn new_windows(&self) -> Windows {
        Windows { receive: self.stream_window, send: self.framing.peer().initial_window }
    }

    pub(crate) fn now(&self) -> Instant {
        self.log.now()
    }

    pub(crate) fn opener(&self, id: u32) -> Opener {
        self.streams.opener(id)
    }

    /// What a stream is that a frame names.
    pub(crate) fn status(&self, id: u32) -> StreamStatus {
        self.streams.status(id)
    }

    /// The highest stream that the peer opened or promised.
    pub(crate) fn highest_peer_stream(&self) -> u32 {
        self.streams.highest_peer()
    }

    pub(crate) fn stream(&self, id: u32) -> Option<&Stream> {
        self.streams.find(id)
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    pub(crate) fn header_bytes(&self) -> HeaderBytes {
        self.log.headers()
    }

    pub(crate) fn state(&self) -> ConnectionState {
        self.draining.state()
    }
}

#[cfg(test)]
impl<F: Framing> Session<F> {
    pub(crate) fn windows(&self) -> &ConnectionWindows {
        &self.windows
    }

    pub(crate) fn streams_kept(&self) -> usize {
        self.streams.len()
    }

    pub(crate) fn queued_bytes(&self) -> usize {
        self.outbox.len()
    }

    pub(crate) fn has_ready_streams(&self) -> bool {
        self.order.has_ready()
    }

    pub(crate) fn replace_scheduler(&mut self, scheduler: Box<dyn Scheduler>) {
        self.order.replace_scheduler(scheduler);
    }
}
