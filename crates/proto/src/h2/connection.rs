//! The coordinator: it owns the parts of a connection and lets each do its own. Frames come in by
//! `receive`, `block` and `data`, commands by `command`, bytes go out by `transmit`; beginnings and
//! endings are in `lifecycle`.

use super::block::Block;
use super::data::Body;
use super::head::ReadRequest;
use super::known::{Known, KnownRequest, KnownResponse, SentResponse};
use super::settings::{DEFAULT_TABLE, DEFAULT_WINDOW, PeerSettings, Settings};
use crate::connection::{ConnectionState, Event, Fin, StreamId};
use crate::error::{Error, Scope};
use crate::message::RequestHead;
use crate::multiplex::control::Control;
use crate::multiplex::flow::{ReceiveWindow, SendWindow};
use crate::multiplex::guard::{Guard, TooMuch};
use crate::multiplex::reader::Reader;
use crate::multiplex::state::{State, Step};
use crate::multiplex::streams::{Gone, Opener, Stream, Streams};
use crate::multiplex::timers::{Timer, Timers};
use crate::schedule::{Priority, Scheduler};
use std::collections::VecDeque;
use trace::{HeaderBytes, Tracer};
use unit::Instant;
use wire::Fields;
use wire::h2::{ErrorCode, Frame, FrameHeader, PREFACE, Setting};
use wire::hpack::{Decoder, Encoder};

/// Which end of the connection this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Client,
    Server,
}

/// Where in the input the reader stands.
#[derive(Debug)]
pub(super) enum Reading {
    /// In the client's preface, after so many bytes.
    Preface(usize),
    /// Before a frame header.
    Header,
    /// In the payload of a frame that is taken whole.
    Payload(FrameHeader),
    /// Before the Pad Length of a DATA frame.
    PadLength(FrameHeader),
    /// In the bytes of a DATA frame.
    Data(Body),
    /// In bytes that are ignored, so many left.
    Skip(u32),
}

/// How far a draining of ours has come (RFC 9113 §6.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shutdown {
    No,
    /// A GOAWAY that excludes nothing yet, and a PING behind it.
    Announced,
    /// The GOAWAY that names the last stream.
    Final {
        last: u32,
    },
}

/// The connection was closed for the peer's fault: nothing more is to be done with the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Over;

/// A connection of either role.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) role: Role,
    pub(super) settings: Settings,
    pub(super) peer: PeerSettings,
    pub(super) tracer: Tracer,
    /// The latest time told.
    pub(super) now: Instant,
    pub(super) reader: Reader<{ wire::h2::HEADER_LENGTH }>,
    pub(super) reading: Reading,
    pub(super) block: Option<Block>,
    pub(super) decoder: Decoder,
    pub(super) encoder: Encoder,
    /// Room for header blocks.
    pub(super) scratch: Vec<u8>,
    /// Room of fields that the caller has given back.
    pub(super) room: Fields,
    /// Bytes of the fields of the block that was decoded last.
    pub(super) last_plain: usize,
    pub(super) known_requests: Known<KnownRequest>,
    pub(super) known_responses: Known<KnownResponse>,
    /// Blocks of requests that came once, and requests that came more often.
    pub(super) noted_requests: Known<()>,
    pub(super) read_requests: Known<ReadRequest>,
    pub(super) sent_responses: Known<SentResponse>,
    /// Heads of requests that are over: the next ones take their room.
    pub(super) spare_heads: Vec<RequestHead>,
    pub(super) streams: Streams,
    pub(super) scheduler: Box<dyn Scheduler>,
    /// Streams that the scheduler counts as ready.
    pub(super) ready: usize,
    /// The next stream that we open.
    pub(super) next_id: u32,
    /// The highest stream that the peer opened or promised.
    pub(super) highest_peer: u32,
    pub(super) receive_window: ReceiveWindow,
    pub(super) send_window: SendWindow,
    pub(super) stalled_since: Option<Instant>,
    /// Initial window of streams, in force once the peer has acknowledged ours.
    pub(super) stream_window: u32,
    /// PRIORITY_UPDATEs that came before their streams.
    pub(super) early_priorities: VecDeque<(u32, Priority)>,
    pub(super) control: Control,
    pub(super) headers: HeaderBytes,
    pub(super) events: VecDeque<Event<'static>>,
    pub(super) guard: Guard,
    pub(super) timers: Timers,
    pub(super) state: ConnectionState,
    pub(super) shutdown: Shutdown,
    /// The peer's GOAWAY.
    pub(super) farewell: Option<(u32, ErrorCode)>,
    pub(super) last_heard: Instant,
    /// Whether the peer's first SETTINGS have come.
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
        let mut core = Self {
            role,
            peer: PeerSettings::default(),
            tracer,
            now,
            reader: Reader::default(),
            reading: match role {
                Role::Client => Reading::Header,
                Role::Server => Reading::Preface(0),
            },
            block: None,
            decoder: Decoder::new(DEFAULT_TABLE as usize),
            encoder: Encoder::new(DEFAULT_TABLE as usize),
            scratch: Vec::new(),
            room: Fields::new(),
            last_plain: 0,
            known_requests: Known::default(),
            known_responses: Known::default(),
            noted_requests: Known::default(),
            read_requests: Known::default(),
            sent_responses: Known::default(),
            spare_heads: Vec::new(),
            streams: Streams::default(),
            scheduler,
            ready: 0,
            next_id: if role == Role::Client { 1 } else { 2 },
            highest_peer: 0,
            receive_window: ReceiveWindow::new(DEFAULT_WINDOW),
            send_window: SendWindow::new(DEFAULT_WINDOW),
            stalled_since: None,
            stream_window: DEFAULT_WINDOW,
            early_priorities: VecDeque::new(),
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

    /// Preface, SETTINGS, and the credit that the connection's window has above its initial size.
    fn greet(&mut self) {
        let list = match self.role {
            Role::Client => {
                self.control.put_preface(PREFACE);
                self.settings.of_client()
            }
            Role::Server => self.settings.of_server(),
        };
        self.trace_created(0, "SETTINGS", list.len() * 6);
        Setting::encode_all(&list, self.control.buffer());
        self.timers.set(Timer::SettingsAck, self.now + self.settings.settings_timeout);
        let size = self.settings.connection_window;
        self.receive_window.resize(size);
        if size > DEFAULT_WINDOW {
            self.queue(Frame::WindowUpdate { stream: 0, increment: size - DEFAULT_WINDOW });
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
                // What follows a fatal error is of no interest (RFC 9113 §5.4.1).
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

    /// Ends the connection for the peer's fault (RFC 9113 §5.4.1).
    pub(super) fn fail(&mut self, code: ErrorCode, rule: &'static str) -> Over {
        if self.state != ConnectionState::Closed {
            self.queue_goaway(code, rule);
            let (scope, code) = (Scope::Connection, u64::from(code.0));
            self.close(Some(Error::PeerViolation { scope, code, rule }));
        }
        Over
    }

    pub(super) fn calm(&mut self, TooMuch(rule): TooMuch) -> Over {
        self.fail(ErrorCode::ENHANCE_YOUR_CALM, rule)
    }

    /// Ends a stream for the peer's fault (RFC 9113 §5.4.2). The application hears of it where it
    /// knew the stream.
    pub(super) fn fail_stream(
        &mut self,
        id: u32,
        code: ErrorCode,
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

    pub(super) fn queue_reset(&mut self, id: u32, code: ErrorCode) {
        self.queue(Frame::ResetStream { stream: id, code });
        self.tracer.emit(self.now, || trace::Event::StreamReset {
            stream: u64::from(id),
            code: u64::from(code.0),
        });
    }

    /// Takes a stream out before its time and gives its credit back to the connection.
    pub(super) fn drop_stream(&mut self, id: u32, gone: Gone) {
        if let Some(stream) = self.streams.remove(id) {
            if stream.scheduled {
                self.ready -= 1;
                self.watch_connection();
            }
            self.scheduler.remove(StreamId(u64::from(id)));
            self.credit_connection(stream.unconsumed);
        }
        self.streams.remember(id, gone);
    }

    /// Bytes of the connection's window are free again.
    pub(super) fn credit_connection(&mut self, bytes: u32) {
        if let Some(increment) = self.receive_window.consume(bytes) {
            self.queue(Frame::WindowUpdate { stream: 0, increment });
        }
    }

    /// Queues a frame that is not DATA.
    pub(super) fn queue(&mut self, frame: Frame<'_>) {
        let before = self.control.len();
        frame.encode(self.control.buffer());
        let length = self.control.len() - before - wire::h2::HEADER_LENGTH;
        let stream = match frame {
            Frame::ResetStream { stream, .. }
            | Frame::WindowUpdate { stream, .. }
            | Frame::Priority { stream, .. } => stream,
            _ => 0,
        };
        self.trace_created(stream, frame.kind().name(), length);
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

    /// A new stream with the windows in force, after its first step and, where that ended a side, its end.
    pub(super) fn new_stream(&self, opener: Opener, first: Step, fin: Fin) -> Stream {
        let end = if opener == Opener::We { Step::SendEnd } else { Step::ReceiveEnd };
        let begun = State::Idle.after(first);
        let state = if fin == Fin::Last { begun.and_then(|s| s.after(end)) } else { begun };
        let state = state.unwrap_or(State::Closed);
        Stream::new(opener, state, self.stream_window, self.peer.initial_window)
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
