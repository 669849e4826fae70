//! A connection of either role: its streams, settings, QPACK's two directions, limits and end.
//!
//! The way of a byte: `receive.rs` reads request streams and `control.rs` all others, `message.rs` says what a field
//! section means, `command.rs` is what the application does, `transmit.rs` is what goes out, `lifecycle.rs` is what time
//! brings about. Short cuts: `released.rs` for small responses, `repeat.rs` for requests that come again.

use super::buffers::Buffers;
use super::message::ReceivedHead;
use super::outputs::{CONTROL, DECODER, ENCODER, GREASE, Outputs};
use super::repeat::Repeats;
use super::settings::{PeerSettings, Settings};
use super::stream::{Message, Stream};
use super::streams::Streams;
use super::traced::with_control_frame;
use crate::connection::{ConnectionState, Event};
use crate::error::{Error, Scope};
use crate::id_map::IdMap;
use crate::message::{RequestHead, ResponseHead};
use crate::multiplex::guard::{Guard, TooMuch};
use crate::multiplex::stall::Stall;
use crate::multiplex::status::Role;
use crate::multiplex::timers::{Timer, Timers};
use crate::multiplexed_connection::{Backlog, EarlyData, StreamAction, StreamKind, TransportFacts};
use crate::recent_blocks::{ReceivedHeads, SentHeads};
use crate::schedule::{Priority, Scheduler};
use crate::stream_id::StreamId;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use trace::{HeaderBytes, Tracer};
use unit::Instant;
use wire::Fields;
use wire::h3::{ErrorCode, Frame, FrameHeader, FrameKind, SettingsList, StreamType, reserved};
use wire::hpack::TableVersion;
use wire::qpack::{Decoder, Encoder, References};

/// Heads that were sent, and what their sections refer to.
pub(super) type SentSections<H> = SentHeads<References, H>;

#[derive(Debug)]
pub(super) struct Session {
    pub(super) role: Role,
    pub(super) settings: Arc<Settings>,
    pub(super) tracer: Tracer,
    pub(super) now: Instant,
    pub(super) state: ConnectionState,
    /// None until SETTINGS come.
    pub(super) peer: Option<PeerSettings>,
    pub(super) facts: TransportFacts,
    pub(super) encoder: Encoder,
    pub(super) sent_requests: SentSections<RequestHead>,
    pub(super) sent_responses: SentSections<ResponseHead>,
    /// The section that was encoded last.
    pub(super) section: Vec<u8>,
    pub(super) decoder: Decoder,
    /// Heads that came, by the version of the dynamic table.
    pub(super) received: ReceivedHeads<TableVersion, ReceivedHead>,
    pub(super) outputs: Outputs,
    pub(super) inputs: IdMap<u64, super::control::Input>,
    /// Unidirectional streams of unknown types, the last ones.
    pub(super) ignored: VecDeque<u64>,
    /// Server: the largest push that the client takes. Nothing is pushed.
    pub(super) max_push_id: Option<u64>,
    pub(super) streams: Streams,
    /// Streams whose next field section waits for the dynamic table.
    pub(super) blocked: BTreeSet<u64>,
    /// The next request stream: ours at a client, the peer's at a server.
    pub(super) next_request: u64,
    /// Client: requests that the server allows over the connection's whole life.
    pub(super) request_limit: u64,
    /// Server: streams below `next_request` that no bytes have come on.
    pub(super) unseen: BTreeSet<u64>,
    pub(super) scheduler: Box<dyn Scheduler>,
    /// Whether it takes equals by their numbers.
    pub(super) goes_by_number: bool,
    pub(super) ready: usize,
    /// Priorities that came before their requests' heads. A request that is answered or given up has none.
    pub(super) early: VecDeque<(u64, Priority)>,
    pub(super) events: VecDeque<Event<'static>>,
    pub(super) actions: VecDeque<StreamAction>,
    pub(super) backlog: VecDeque<Backlog>,
    pub(super) guard: Guard,
    pub(super) timers: Timers,
    /// Since when streams that can send have waited for the transport.
    pub(super) stall: Stall,
    /// Streams that are over but for bytes that the transport still holds, and since when it could not send them.
    pub(super) held: BTreeMap<u64, Instant>,
    /// Streams that the transport takes bytes of again. The next call that tells the time says since when.
    pub(super) became_writable: Vec<u64>,
    /// Bytes of request streams sent.
    pub(super) sent: u64,
    pub(super) goaway_sent: Option<u64>,
    pub(super) goaway_received: Option<u64>,
    /// The close that waits until the control stream's bytes are out.
    pub(super) closing: Option<StreamAction>,
    pub(super) headers: HeaderBytes,
    /// Heads and streams that are done with: the next ones take their memory.
    pub(super) buffers: Buffers,
    /// Fields of a response that are done with.
    pub(super) spare_fields: Fields,
    /// Requests that may come again.
    pub(super) repeats: Repeats,
    /// How many streams are there whose responses had been released.
    pub(super) reopened: usize,
    pub(super) datagrams_in: VecDeque<(StreamId, Bytes)>,
    pub(super) datagrams_out: VecDeque<Bytes>,
}

/// Bytes that the buffers of a response's fields have at most that are kept.
const SPARE_CAPACITY: usize = 2 * 1024;

/// A rule that the peer has broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    /// The stream ends.
    Stream(ErrorCode, &'static str),
    /// The connection ends.
    Connection(ErrorCode, &'static str),
}

pub(super) fn connection(code: ErrorCode, text: &'static str) -> Broken {
    Broken::Connection(code, text)
}

impl Session {
    pub(super) fn new(
        role: Role,
        now: Instant,
        settings: Arc<Settings>,
        mut scheduler: Box<dyn Scheduler>,
        tracer: Tracer,
    ) -> Self {
        scheduler.peer_sends_no_dependencies();
        let goes_by_number = scheduler.goes_by_number();
        let mut session = Self {
            role,
            tracer,
            now,
            state: ConnectionState::Open,
            peer: None,
            facts: TransportFacts::default(),
            encoder: Encoder::new(settings.encoder_table_capacity),
            sent_requests: SentSections::default(),
            sent_responses: SentSections::default(),
            section: Vec::new(),
            decoder: Decoder::new(settings.decoder_limits()),
            received: ReceivedHeads::default(),
            outputs: Outputs::default(),
            inputs: IdMap::default(),
            ignored: VecDeque::new(),
            max_push_id: None,
            streams: Streams::default(),
            blocked: BTreeSet::new(),
            next_request: 0,
            request_limit: 0,
            unseen: BTreeSet::new(),
            scheduler,
            goes_by_number,
            ready: 0,
            early: VecDeque::new(),
            events: VecDeque::new(),
            actions: VecDeque::new(),
            backlog: VecDeque::new(),
            guard: Guard::new(&settings.limits),
            timers: Timers::default(),
            stall: Stall::default(),
            held: BTreeMap::new(),
            became_writable: Vec::new(),
            sent: 0,
            goaway_sent: None,
            goaway_received: None,
            closing: None,
            headers: HeaderBytes::default(),
            buffers: Buffers::default(),
            spare_fields: Fields::new(),
            repeats: Repeats::default(),
            reopened: 0,
            datagrams_in: VecDeque::new(),
            datagrams_out: VecDeque::new(),
            settings,
        };
        session.greet();
        session.timers.set(Timer::SettingsAck, now + session.settings.settings_timeout);
        session
    }

    /// Opens our unidirectional streams and queues what they begin with.
    fn greet(&mut self) {
        let first = match self.role {
            Role::Client => 2,
            Role::Server => 3,
        };
        let types = [StreamType::CONTROL, StreamType::QPACK_ENCODER, StreamType::QPACK_DECODER];
        let grease = self.settings.grease.map(|number| StreamType(reserved(number)));
        for (index, kind) in types.into_iter().chain(grease).enumerate() {
            let id = first + 4 * index as u64;
            self.outputs.open(id, kind);
            let (stream, kind) = (StreamId(id), StreamKind::Unidirectional);
            self.actions.push_back(StreamAction::Open { stream, kind });
        }
        let mut payload = Vec::new();
        SettingsList::encode(&self.settings.list(self.role), &mut payload);
        self.outputs.put_with(CONTROL, |out| {
            FrameHeader { kind: FrameKind::SETTINGS, length: payload.len() as u64 }.encode(out);
            out.extend_from_slice(&payload);
        });
        if self.tracer.is_on()
            && let Ok(settings) = SettingsList::parse(&payload)
        {
            self.trace_control(&Frame::Settings(settings));
        }
        if let Some(number) = self.settings.grease {
            let kind = FrameKind(reserved(number));
            self.queue_control(&Frame::Unknown { kind, payload: b"" });
            self.outputs.put_with(GREASE, |out| out.extend_from_slice(b"grease"));
        }
        if let Some(remembered) = self.settings.remembered {
            self.encoder.set_limits(remembered.encoder_limits(self.role));
            self.move_instructions();
        }
    }

    pub(super) fn queue_control(&mut self, frame: &Frame<'_>) {
        self.outputs.put_with(CONTROL, |out| frame.encode(out));
        self.trace_control(frame);
    }

    fn trace_control(&self, frame: &Frame<'_>) {
        let stream = self.outputs.id(CONTROL);
        with_control_frame(&self.tracer, frame, |frame| {
            self.tracer.emit(self.now, || trace::Event::ControlFrameCreated { stream, frame });
        });
    }

    /// Puts QPACK's instructions on their streams.
    pub(super) fn move_instructions(&mut self) {
        if self.encoder.has_instructions() {
            let bytes = self.encoder.take_instructions();
            self.headers.sent.count(0, bytes.len());
            self.outputs.put_with(ENCODER, |out| out.extend_from_slice(&bytes));
        }
        if self.decoder.has_instructions() {
            self.outputs.put_with(DECODER, |out| self.decoder.move_instructions(out));
        }
    }

    /// The next event that waits. Without a stream their list keeps no memory.
    pub(super) fn next_event(&mut self) -> Option<Event<'static>> {
        let event = self.events.pop_front();
        if event.is_none() && self.streams.is_empty() && self.events.capacity() > 0 {
            self.events = VecDeque::new();
        }
        event
    }

    /// Takes fields of a response that are done with, for their buffers.
    pub(super) fn recycle_fields(&mut self, fields: Fields) {
        if fields.capacity() <= SPARE_CAPACITY {
            self.spare_fields = fields;
        }
    }

    /// What the peer takes: its settings, remembered ones, or the defaults.
    pub(super) fn peer(&self) -> PeerSettings {
        self.peer.or(self.settings.remembered).unwrap_or_default()
    }

    /// Acts on a rule that was broken on a stream.
    pub(super) fn fail(&mut self, id: u64, broken: Broken) {
        match broken {
            Broken::Stream(code, text) => self.fail_stream(id, code, text),
            Broken::Connection(code, text) => self.fail_connection(code, text),
        }
    }

    pub(super) fn fail_connection(&mut self, code: ErrorCode, rule: &'static str) {
        if self.state == ConnectionState::Closed {
            return;
        }
        let (scope, number) = (Scope::Connection, code.0);
        self.end(Some(Error::PeerViolation { scope, code: number, rule }));
        self.actions.push_back(StreamAction::Close { code: number, reason: rule });
    }

    /// Ends a stream for the peer's fault. The application hears of it where it knew the stream.
    fn fail_stream(&mut self, id: u64, code: ErrorCode, rule: &'static str) {
        if !self.streams.contains(id) {
            return;
        }
        let scope = Scope::Stream(StreamId(id));
        let unsent = self.abandon_for(id, code, Error::PeerViolation { scope, code: code.0, rule });
        self.count_reset(unsent);
        self.close_if_drained();
    }

    /// Counts a stream that ended before its time, with bytes that waited to be sent.
    pub(super) fn count_reset(&mut self, unsent: usize) {
        if let Err(TooMuch(_)) = self.guard.reset(self.now, unsent) {
            let text = "RFC 9114 §10.5: too many streams reset";
            self.fail_connection(ErrorCode::EXCESSIVE_LOAD, text);
        }
    }

    /// Counts a frame that moves nothing.
    pub(super) fn count_chatter(&mut self) -> Result<(), Broken> {
        let text = "RFC 9114 §10.5: too many frames without effect";
        let counted = self.guard.chatter(self.now);
        counted.map_err(|TooMuch(_)| connection(ErrorCode::EXCESSIVE_LOAD, text))
    }

    /// Whether the application hears that a stream is reset: a server's once it knows the request, a client's until it has all of
    /// the response. Trailers tell the end of it before the stream's FIN comes.
    pub(super) fn is_told_of_reset(&self, stream: &Stream) -> bool {
        match self.role {
            Role::Server => stream.message != Message::Head && !stream.is_reopened,
            Role::Client => !matches!(stream.message, Message::Trailers | Message::Over),
        }
    }

    /// Abandons a stream, and tells the application why where it hears of resets.
    pub(super) fn abandon_for(&mut self, id: u64, code: ErrorCode, error: Error) -> usize {
        let is_told = self.streams.get(id).is_some_and(|stream| self.is_told_of_reset(stream));
        let unsent = self.abandon(id, code);
        if is_told {
            self.events.push_back(Event::Reset { stream: StreamId(id), error });
        }
        unsent
    }

    /// Resets both sides of a stream, as far as they are open, and forgets it. Gives the bytes of its body that waited to
    /// be sent.
    pub(super) fn abandon(&mut self, id: u64, code: ErrorCode) -> usize {
        let Some(stream) = self.streams.get(id) else { return 0 };
        let (is_sent, message, unsent) = (stream.is_sent, stream.message, stream.unsent());
        let (name, code) = (StreamId(id), code.0);
        if !is_sent {
            self.actions.push_back(StreamAction::Reset { stream: name, code });
        }
        if message != Message::Over {
            self.actions.push_back(StreamAction::StopSending { stream: name, code });
        }
        self.tracer.emit(self.now, || trace::Event::StreamReset { stream: id, code });
        self.forget(id);
        unsent
    }

    /// Forgets a stream. Sections of it that were not decoded are given up (RFC 9204 §2.2.2.2).
    pub(super) fn forget(&mut self, id: u64) {
        let Some(stream) = self.streams.remove(id) else { return };
        if stream.message == Message::Head {
            self.forget_early(id);
        }
        if stream.message != Message::Over {
            self.decoder.cancel_stream(id);
            self.move_instructions();
        }
        if stream.blocked.is_some() {
            self.blocked.remove(&id);
        }
        if !self.backlog.is_empty() {
            self.backlog.retain(|backlog| backlog.stream.0 != id);
        }
        self.ready -= usize::from(stream.is_ready);
        self.reopened -= usize::from(stream.is_reopened);
        self.buffers.keep_stream(stream);
        if !self.has_ready() {
            self.stall.end();
        }
        self.scheduler.remove(StreamId(id));
    }

    /// Forgets a stream whose two sides are over.
    pub(super) fn forget_if_over(&mut self, id: u64) {
        if self.streams.get(id).is_some_and(|stream| stream.is_over()) {
            self.forget(id);
            self.close_if_drained();
        }
    }

    /// Tells the scheduler whether a stream can send, where that has changed.
    pub(super) fn update(&mut self, id: u64) {
        let Some(stream) = self.streams.get_mut(id) else { return };
        let can_send = stream.can_send();
        if std::mem::replace(&mut stream.is_ready, can_send) == can_send {
            return;
        }
        if can_send {
            let is_first = !self.has_ready();
            self.ready += 1;
            self.scheduler.ready(StreamId(id));
            if is_first && self.stall.update(self.now, self.sent, true) {
                self.watch_stall(self.now);
            }
        } else {
            self.ready -= 1;
            if !self.has_ready() {
                self.stall.end();
            }
            self.scheduler.blocked(StreamId(id));
        }
    }

    /// The connection is over. After an error nothing is sent any more; an orderly end waits for the bytes of GOAWAY.
    pub(super) fn end(&mut self, error: Option<Error>) {
        if self.state == ConnectionState::Closed {
            return;
        }
        let reason = error.as_ref().map_or(String::new(), ToString::to_string);
        self.tracer.emit(self.now, || trace::Event::ConnectionClosed { reason: &reason });
        self.state = ConnectionState::Closed;
        self.timers.clear();
        self.stall.end();
        self.streams.clear();
        self.buffers.released.clear();
        self.reopened = 0;
        self.blocked.clear();
        self.held.clear();
        self.ready = 0;
        self.backlog.clear();
        self.actions.clear();
        if error.is_some() {
            self.outputs.clear();
        }
        self.events.push_back(Event::Closed { error });
    }

    pub(super) fn handle_transport(&mut self, now: Instant, facts: TransportFacts) {
        self.now = now;
        self.facts = facts;
        if facts.early_data == EarlyData::Rejected && self.role == Role::Client {
            self.start_again();
        }
    }

    /// Early data was rejected: every stream is void, and the server's settings are unknown.
    fn start_again(&mut self) {
        let mut void: Vec<u64> = self.streams.iter().map(|(id, _)| id).collect();
        self.streams.clear();
        void.sort_unstable();
        for id in void {
            let (stream, error) = (StreamId(id), Error::Unprocessed);
            self.scheduler.remove(stream);
            self.events.push_back(Event::Reset { stream, error });
        }
        (self.ready, self.next_request) = (0, 0);
        // They name requests whose numbers others get.
        self.datagrams_in.clear();
        self.datagrams_out.clear();
        self.blocked.clear();
        self.held.clear();
        self.stall.end();
        Arc::make_mut(&mut self.settings).remembered = None;
        self.encoder = Encoder::new(self.settings.encoder_table_capacity);
        self.sent_requests = SentSections::default();
        self.decoder = Decoder::new(self.settings.decoder_limits());
        self.received = ReceivedHeads::default();
        self.outputs = Outputs::default();
        self.actions.clear();
        self.greet();
    }

    pub(super) fn handle_transport_closed(&mut self, now: Instant, error: Option<Error>) {
        self.now = now;
        self.end(error);
        self.outputs.clear();
        self.closing = None;
    }
}
