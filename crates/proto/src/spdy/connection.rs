//! The coordinator: it owns the parts of a session and lets each do its own. Frames come in by
//! `receive`, `block` and `data`, commands by `command`, bytes go out by `transmit`; endings are in
//! `lifecycle`.

use super::data::Body;
use super::server::Promised;
use super::session::SessionFlow;
use super::settings::{DEFAULT_WINDOW, PeerSettings, Settings, Version};
use crate::connection::{ConnectionState, Event, Fin, StreamId};
use crate::error::{Error, Scope};
use crate::id_map::IdMap;
use crate::multiplex::control::Control;
use crate::multiplex::guard::{Guard, TooMuch};
use crate::multiplex::reader::Reader;
use crate::multiplex::state::{State, Step};
use crate::multiplex::streams::{Gone, Opener, Stream, Streams};
use crate::multiplex::timers::{Timer, Timers};
use crate::schedule::Scheduler;
use std::collections::VecDeque;
use trace::{HeaderBytes, Tracer};
use unit::Instant;
use wire::Fields;
use wire::spdy::{
    Decoder, Encoder, Frame, FrameHeader, GoAwayCode, HEADER_LENGTH, ResetCode, Setting,
};

/// Which end of the session this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Client,
    Server,
}

/// Where in the input the reader stands.
#[derive(Debug)]
pub(super) enum Reading {
    /// Before a frame header.
    Header,
    /// In the payload of a control frame.
    Payload(FrameHeader),
    /// In the bytes of a DATA frame.
    Data(Body),
    /// In bytes that are ignored, so many left.
    Skip(u32),
}

/// Whether we have said that we take no new streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shutdown {
    No,
    /// The GOAWAY that names the last stream.
    Said {
        last: u32,
    },
}

/// The session was closed for the peer's fault: nothing more is to be done with the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Over;

/// A session of either role.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) role: Role,
    pub(super) settings: Settings,
    pub(super) peer: PeerSettings,
    pub(super) tracer: Tracer,
    /// The latest time told.
    pub(super) now: Instant,
    pub(super) reader: Reader<HEADER_LENGTH>,
    pub(super) reading: Reading,
    pub(super) decoder: Decoder,
    pub(super) encoder: Encoder,
    pub(super) streams: Streams,
    /// Fields that came in HEADERS behind the head, to be told as trailers when the stream ends.
    pub(super) late: IdMap<u32, Fields>,
    pub(super) scheduler: Box<dyn Scheduler>,
    /// Streams that the scheduler counts as ready.
    pub(super) ready: usize,
    /// The next stream that we open.
    pub(super) next_id: u32,
    /// The next PING that we send.
    pub(super) next_ping: u32,
    /// The highest stream that the peer opened.
    pub(super) highest_peer: u32,
    pub(super) session: SessionFlow,
    pub(super) stalled_since: Option<Instant>,
    /// Pushes that were promised and not yet said: where the answer's head comes before the next
    /// bytes go, both are one SYN_STREAM, which is all that some clients understand.
    pub(super) promised: Vec<Promised>,
    pub(super) control: Control,
    pub(super) headers: HeaderBytes,
    pub(super) events: VecDeque<Event<'static>>,
    pub(super) guard: Guard,
    pub(super) timers: Timers,
    pub(super) state: ConnectionState,
    pub(super) shutdown: Shutdown,
    /// The peer's GOAWAY.
    pub(super) farewell: Option<(u32, GoAwayCode)>,
    pub(super) last_heard: Instant,
    /// Whether the peer's SETTINGS have come.
    pub(super) greeted: bool,
}

impl Core {
    pub(super) fn new(
        role: Role,
        now: Instant,
        settings: Settings,
        scheduler: Box<dyn Scheduler>,
        tracer: Tracer,
    ) -> Self {
        let settings = settings.bounded();
        // SPDY §2.3.2, §2.6.5: the client's identifiers are odd, the server's even.
        let first = if role == Role::Client { 1 } else { 2 };
        let mut core = Self {
            role,
            peer: PeerSettings::new(settings.persisted.clone()),
            tracer,
            now,
            reader: Reader::default(),
            reading: Reading::Header,
            decoder: Decoder::new(),
            encoder: Encoder::new(settings.effort),
            streams: Streams::default(),
            late: IdMap::default(),
            scheduler,
            ready: 0,
            next_id: first,
            next_ping: first,
            highest_peer: 0,
            session: SessionFlow::new(settings.version, settings.session_window),
            stalled_since: None,
            promised: Vec::new(),
            control: Control::default(),
            headers: HeaderBytes::default(),
            events: VecDeque::new(),
            guard: Guard::new(&settings.limits),
            timers: Timers::default(),
            state: ConnectionState::Open,
            shutdown: Shutdown::No,
            farewell: None,
            last_heard: now,
            greeted: false,
            settings,
        };
        core.greet();
        core
    }

    /// SETTINGS, and the credit that the session's window has above its initial size.
    fn greet(&mut self) {
        let protocol = self.settings.version.alpn();
        self.tracer.emit(self.now, || trace::Event::ConnectionReady { protocol });
        let list = match self.role {
            Role::Client => self.settings.of_client(),
            Role::Server => self.settings.of_server(),
        };
        self.trace_created(0, "SETTINGS", 4 + list.len() * 8);
        Setting::encode_all(&list, self.control.buffer());
        let more = self.settings.session_window - DEFAULT_WINDOW;
        if self.settings.version == Version::V3_1 && more > 0 {
            self.queue(Frame::WindowUpdate { stream: 0, increment: more });
        }
        if let Some(keep_alive) = self.settings.keep_alive {
            self.timers.set(Timer::KeepAlive, self.now + keep_alive.interval);
        }
    }

    /// Takes bytes, gives an event.
    pub(super) fn handle_bytes<'i>(
        &mut self,
        now: Instant,
        input: &mut &'i [u8],
    ) -> Option<Event<'i>> {
        self.now = now;
        if !input.is_empty() {
            self.last_heard = now;
        }
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if self.state == ConnectionState::Closed {
                // What follows a session error is of no interest (SPDY §2.4.1).
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

    /// Ends the session for the peer's fault (SPDY §2.4.1).
    pub(super) fn fail(&mut self, rule: &'static str) -> Over {
        if self.state != ConnectionState::Closed {
            let code = GoAwayCode::PROTOCOL_ERROR;
            self.queue_goaway(code);
            let (scope, code) = (Scope::Connection, u64::from(code.0));
            self.close(Some(Error::PeerViolation { scope, code, rule }));
        }
        Over
    }

    pub(super) fn calm(&mut self, TooMuch(rule): TooMuch) -> Over {
        self.fail(rule)
    }

    /// Ends a stream for the peer's fault (SPDY §2.4.2). The application hears of it where it knew the
    /// stream.
    pub(super) fn fail_stream(
        &mut self,
        id: u32,
        code: ResetCode,
        rule: &'static str,
    ) -> Result<(), Over> {
        if let Err(too_much) = self.guard.reset(self.now) {
            return Err(self.calm(too_much));
        }
        self.queue_reset(id, code);
        let known = self.streams.find(id).is_some_and(|stream| stream.state != State::Closed);
        self.drop_stream(id, Gone::ResetByUs);
        if known {
            let stream = StreamId(u64::from(id));
            let code = u64::from(code.0);
            let error = Error::PeerViolation { scope: Scope::Stream(stream), code, rule };
            self.events.push_back(Event::Reset { stream, error });
        }
        self.close_if_drained();
        Ok(())
    }

    pub(super) fn queue_reset(&mut self, id: u32, code: ResetCode) {
        self.queue(Frame::ResetStream { stream: id, code });
        self.tracer.emit(self.now, || trace::Event::StreamReset {
            stream: u64::from(id),
            code: u64::from(code.0),
        });
    }

    /// Takes a stream out before its time and gives its credit back to the session.
    pub(super) fn drop_stream(&mut self, id: u32, gone: Gone) {
        if let Some(stream) = self.streams.remove(id) {
            if stream.scheduled {
                self.ready -= 1;
                self.watch_session();
            }
            self.scheduler.remove(StreamId(u64::from(id)));
            self.credit_session(stream.unconsumed);
        }
        self.late.remove(&id);
        self.streams.remember(id, gone);
    }

    /// Bytes of the session's window are free again.
    pub(super) fn credit_session(&mut self, bytes: u32) {
        if let Some(increment) = self.session.consume(bytes) {
            self.queue(Frame::WindowUpdate { stream: 0, increment });
        }
    }

    /// Queues a frame that is not DATA with bytes.
    pub(super) fn queue(&mut self, frame: Frame<'_>) {
        let before = self.control.len();
        frame.encode(self.control.buffer());
        let length = self.control.len() - before - HEADER_LENGTH;
        self.trace_created(frame.stream(), frame.name(), length);
    }

    pub(super) fn trace_created(&self, stream: u32, frame: &'static str, length: usize) {
        self.tracer.emit(self.now, || trace::Event::FrameCreated {
            stream: u64::from(stream),
            frame,
            length: length as u64,
        });
    }

    /// Who opens streams with that identifier.
    pub(super) fn opener(&self, id: u32) -> Opener {
        let by_client = id % 2 == 1;
        if by_client == (self.role == Role::Client) { Opener::We } else { Opener::Peer }
    }

    /// Where a stream stands that a frame names.
    pub(super) fn place(&self, id: u32) -> Place {
        if let Some(stream) = self.streams.find(id).filter(|stream| stream.state != State::Closed) {
            return Place::Live(stream.state);
        }
        let idle = match self.opener(id) {
            Opener::We => id >= self.next_id,
            Opener::Peer => id > self.highest_peer,
        };
        if idle { Place::Idle } else { Place::Gone(self.streams.recall(id)) }
    }

    /// A new stream with the windows in force, after the steps that opened it.
    pub(super) fn new_stream(&self, opener: Opener, steps: &[Step], fin: Fin) -> Stream {
        let end = if opener == Opener::We { Step::SendEnd } else { Step::ReceiveEnd };
        let ends = if fin == Fin::Last { Some(end) } else { None };
        let steps = steps.iter().copied().chain(ends);
        let state =
            steps.fold(State::Idle, |state, step| state.after(step).unwrap_or(State::Closed));
        Stream::new(opener, state, self.settings.stream_window, self.peer.initial_window)
    }
}

/// What a step of reading came to.
pub(super) enum Progress<'i> {
    /// Something was read.
    Made,
    /// The application has to hear of this.
    Event(Event<'i>),
    /// More bytes are needed.
    Starved,
}

/// Where a stream stands that a frame names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Idle,
    Live(State),
    /// It was; how it went, where that is remembered.
    Gone(Option<Gone>),
}
