//! One connection to the application server. The one rule: it holds a bounded number of the response's bytes; the rest
//! waits in its socket.

use super::{Request, RequestId, UpstreamEvent, UpstreamFailure};
use bytes::Bytes;
use endpoint::{Action, SendBuf, SocketId};
use proto::{ConnectionState, Event, Fin, StreamId};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;
use trace::Tracer;
use transport::{
    Client, ClientMachine, ClientSecurity, ClientSettings, ClientSpec, Handler, Negotiated, Phase,
    Protocol, Truncation,
};
use unit::Instant;

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    transport: transport::Connection<Client>,
    /// The request that it is for.
    pub(super) request: Option<RequestId>,
    /// Events of that request that the pool has not taken.
    pub(super) events: VecDeque<UpstreamEvent>,
    /// Whether that request has a body.
    pub(super) has_body: bool,
    exchange: Exchange,
    /// Whether it has carried a request before the present one.
    is_kept: bool,
    is_paused: bool,
    /// Bytes of the response that have not gone on.
    unconsumed: usize,
    silence: Duration,
    /// When the server was last heard of, or asked.
    heard: Instant,
    end: Option<End>,
}

/// How far the exchange is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exchange {
    /// The request has not gone out.
    None,
    /// It has, and nothing has come back.
    Asked(StreamId),
    /// The response has begun.
    Answering(StreamId),
    /// It is complete.
    Answered(StreamId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// In good order, or between requests.
    Clean,
    Broken,
    Silent,
}

/// What is to be done with a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It has bytes to send.
    Transmit,
    /// Nothing.
    Wait,
    /// Its request is answered, and it can take another one.
    Idle,
    /// Its request is answered, and it takes no other.
    Over,
    /// Its request is not answered.
    Failed(UpstreamFailure),
}

/// Bytes of a response that may wait here.
const WINDOW: usize = 256 * 1024;

/// Bytes of a request's body that are queued at a time.
const UPLOAD: usize = 64 * 1024;

impl Connection {
    /// A connection whose socket is being connected.
    pub(super) fn open(
        now: Instant,
        settings: Rc<ClientSettings>,
        silence: Duration,
    ) -> Option<Self> {
        let tracer = Tracer::default();
        let spec = ClientSpec { security: ClientSecurity::Clear, settings, tracer };
        Some(Self {
            transport: transport::Connection::open(now, spec).ok()?,
            request: None,
            events: VecDeque::new(),
            has_body: false,
            exchange: Exchange::None,
            is_kept: false,
            is_paused: false,
            unconsumed: 0,
            silence,
            heard: now,
            end: None,
        })
    }

    pub(super) fn is_connected(&self) -> bool {
        self.transport.phase() != Phase::Connecting
    }

    /// Whether the server has closed it before it answered anything of the present request.
    pub(super) fn was_kept_until_now(&self) -> bool {
        self.is_kept && matches!(self.exchange, Exchange::Asked(_) | Exchange::None)
    }

    /// Sends the request, and as much of its body as may wait.
    pub(super) fn feed(&mut self, now: Instant, request: &mut Request) {
        if self.exchange == Exchange::None {
            let Some(machine) = self.transport.machine() else { return };
            let fin = match (request.upload_end, request.upload.is_empty()) {
                (Fin::Last, true) => Fin::Last,
                _ => Fin::More,
            };
            self.has_body = fin == Fin::More;
            self.heard = now;
            match machine.request(now, &request.head, fin) {
                Ok(stream) => self.exchange = Exchange::Asked(stream),
                Err(_) => self.end = Some(End::Broken),
            }
        }
        let (Exchange::Asked(stream) | Exchange::Answering(stream)) = self.exchange else { return };
        let Some(machine) = self.transport.machine() else { return };
        while machine.unsent(stream) < UPLOAD && self.has_body {
            let piece = request.upload.pop_front();
            let fin = if request.upload.is_empty() { request.upload_end } else { Fin::More };
            if piece.is_none() && fin == Fin::More {
                break;
            }
            // Until now the client was in the way.
            if machine.unsent(stream) == 0 {
                self.heard = now;
            }
            // A server that wants no more of the body has answered, or ends the connection: either is told by its event.
            let sent = machine.send(stream, piece.unwrap_or_default().freeze(), fin);
            if fin == Fin::Last || sent.is_err() {
                self.has_body = false;
                request.upload.clear();
            }
        }
    }

    /// Bytes of the request's body that are queued.
    pub(super) fn unsent(&self) -> usize {
        let machine = self.transport.ready_machine();
        match (self.exchange, machine) {
            (Exchange::Asked(stream) | Exchange::Answering(stream), Some(machine)) => {
                machine.unsent(stream)
            }
            _ => 0,
        }
    }

    /// Bytes of the response have gone on.
    pub(super) fn consume(&mut self, now: Instant, bytes: usize) {
        self.unconsumed = self.unconsumed.saturating_sub(bytes);
        self.heard = now;
        if let (Exchange::Answering(stream), Some(machine)) =
            (self.exchange, self.transport.machine())
        {
            machine.consume(stream, bytes);
        }
    }

    /// Back-pressure: pauses or resumes reading where that changes.
    pub(super) fn poll_pause(&mut self, socket: SocketId) -> Option<Action> {
        let is_paused = match self.is_paused {
            true => self.unconsumed > WINDOW / 2,
            false => self.unconsumed >= WINDOW,
        };
        if is_paused == self.is_paused {
            return None;
        }
        self.is_paused = is_paused;
        Some(if is_paused { Action::Pause(socket) } else { Action::Resume(socket) })
    }

    /// What to do next.
    pub(super) fn step(&mut self) -> Step {
        let is_answered = matches!(self.exchange, Exchange::Answered(_));
        match self.end {
            Some(_) if is_answered || self.request.is_none() => return Step::Over,
            Some(End::Silent) => return Step::Failed(UpstreamFailure::Silent),
            Some(End::Broken | End::Clean) => return Step::Failed(UpstreamFailure::Broken),
            None => {}
        }
        if is_answered {
            let machine = self.transport.ready_machine();
            let is_open = machine.is_some_and(|machine| machine.state() == ConnectionState::Open);
            // A response that came before the whole request leaves bytes that no next response can be told from.
            if !is_open || self.has_body || self.transport.wants_transmit() {
                return Step::Over;
            }
            (self.exchange, self.is_kept, self.unconsumed) = (Exchange::None, true, 0);
            return Step::Idle;
        }
        if self.transport.poll_wants_transmit() { Step::Transmit } else { Step::Wait }
    }

    pub(super) fn handle_connected(&mut self, now: Instant) {
        self.pass(now, |transport, events| transport.handle_connected(now, events).is_ok());
    }

    pub(super) fn handle_bytes(&mut self, now: Instant, bytes: &[u8]) {
        self.pass(now, |transport, events| transport.handle_bytes(now, bytes, events).is_ok());
    }

    pub(super) fn handle_eof(&mut self, now: Instant) {
        self.pass(now, |transport, events| {
            transport.handle_eof(now, Truncation::Ignored, events).is_ok()
        });
        self.end.get_or_insert(End::Clean);
    }

    pub(super) fn poll_transmit(&mut self, now: Instant, out: &mut SendBuf, limit: usize) {
        let before = out.len();
        self.transport.poll_transmit(now, out, limit);
        self.pass(now, |transport, events| {
            transport.drain_events(now, events);
            true
        });
        if out.len() > before {
            self.heard = now;
            self.events.extend(self.has_body.then_some(UpstreamEvent::Sent));
        }
    }

    pub(super) fn is_transmitting(&self) -> bool {
        self.transport.is_transmitting()
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.silent_at().is_some_and(|at| at <= now) {
            self.end.get_or_insert(End::Silent);
            return;
        }
        self.pass(now, |transport, events| transport.handle_timeout(now, events).is_ok());
    }

    pub(super) fn poll_timeout(&mut self) -> Option<Instant> {
        [self.silent_at(), self.transport.poll_timeout()].into_iter().flatten().min()
    }

    /// When the server has been silent for too long. Its silence does not count where the client is in the way: it reads
    /// nothing, or does not send the rest of its body.
    fn silent_at(&self) -> Option<Instant> {
        let awaits = matches!(self.exchange, Exchange::Asked(_) | Exchange::Answering(_));
        let awaits_client = self.is_paused || (self.has_body && self.unsent() == 0);
        (awaits && !awaits_client).then(|| self.heard + self.silence)
    }

    /// Calls the transport, which has not failed where the call gives true.
    fn pass(
        &mut self,
        now: Instant,
        call: impl FnOnce(&mut transport::Connection<Client>, &mut Events<'_>) -> bool,
    ) {
        let Self { transport, events, exchange, unconsumed, end, .. } = self;
        let (before, was_ended) = (events.len(), end.is_some());
        let mut handler = Events { events, exchange, unconsumed, end };
        if !call(transport, &mut handler) && !was_ended {
            self.end.get_or_insert(End::Broken);
        }
        if self.events.len() > before {
            self.heard = now;
        }
    }
}

/// Takes the events of the machine.
struct Events<'a> {
    events: &'a mut VecDeque<UpstreamEvent>,
    exchange: &'a mut Exchange,
    unconsumed: &'a mut usize,
    end: &'a mut Option<End>,
}

impl Handler<Client> for Events<'_> {
    fn handle_ready(&mut self, _machine: &mut ClientMachine, _: Negotiated<'_, Protocol>) {}

    fn handle_event(&mut self, _machine: &mut ClientMachine, event: Event<'_>) {
        match event {
            Event::Informational { head, .. } => {
                self.events.push_back(UpstreamEvent::Informational(head));
            }
            Event::Response { stream, head, fin } => {
                self.events.push_back(UpstreamEvent::Response(head, fin));
                self.advance(stream, fin);
            }
            Event::Data { stream, data, fin } => {
                *self.unconsumed += data.len();
                self.events.push_back(UpstreamEvent::Data(Bytes::copy_from_slice(data), fin));
                self.advance(stream, fin);
            }
            // Few clients read trailers of a response, and none may need them (RFC 9110 §6.5.1).
            Event::Trailers { stream, .. } => {
                self.events.push_back(UpstreamEvent::Data(Bytes::new(), Fin::Last));
                self.advance(stream, Fin::Last);
            }
            Event::Closed { error } => {
                let end = if error.is_some() { End::Broken } else { End::Clean };
                self.end.get_or_insert(end);
            }
            Event::Reset { .. } => *self.end = Some(End::Broken),
            // The machine's queue is looked at after every call. The other events come to servers, or over other protocols.
            Event::Writable { .. }
            | Event::Draining { .. }
            | Event::Promise { .. }
            | Event::Request { .. } => {}
        }
    }
}

impl Events<'_> {
    fn advance(&mut self, stream: StreamId, fin: Fin) {
        *self.exchange = match fin {
            Fin::More => Exchange::Answering(stream),
            Fin::Last => Exchange::Answered(stream),
        };
    }
}
