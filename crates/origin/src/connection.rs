//! One accepted connection: its transport, the session above it, and its time-outs.

use crate::access::OpenedRecord;
use crate::budget::PeerAddress;
use crate::config::Limits;
use crate::session::{Context, Session, SessionSpec};
use crate::shared::Shared;
use crate::timers::{Key, Timers};
use crate::upstream::{RequestId, UpstreamEvent};
use endpoint::{Action, DatagramTransmit, SendBuf, SocketId};
use proto::{ConnectionState, EarlyData, Event};
use secure::ServerTls;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;
use transport::{
    Failure, Handler, Lifetime, Negotiated, Phase, Protocol, QuicFacts, QuicHandle, QuicInput,
    QuicLink, QuicSocket, Server, ServerMachine, ServerSpec, Truncation,
};
use unit::Instant;

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) serial: u64,
    pub(crate) peer: PeerAddress,
    /// When the origin's timer for this connection is set.
    pub(crate) armed: Option<Instant>,
    transport: transport::Connection<Server>,
    /// None until the protocol is known.
    session: Option<Session>,
    /// Where it belongs, if QUIC carries it.
    pub(crate) quic: Option<QuicPlace>,
    /// What it began to send by over QUIC.
    quic_facts: Option<QuicFacts>,
    socket: Socket,
    /// When a byte or the end was last received or sent. What arrives and is ignored does not count.
    progress: Instant,
    /// Whether it was asked to close after the idle time-out.
    is_warned: bool,
    /// Since when the origin stops.
    draining: Option<Instant>,
}

/// Where a connection over QUIC belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QuicPlace {
    /// The index of its port.
    pub(crate) port: usize,
    pub(crate) handle: QuicHandle,
}

/// What a connection over QUIC is made of.
#[derive(Debug)]
pub(crate) struct QuicSpec {
    pub(crate) serial: u64,
    pub(crate) place: QuicPlace,
    pub(crate) link: Box<QuicLink>,
}

/// What a connection is made of.
#[derive(Debug)]
pub(crate) struct Spec<'a> {
    pub(crate) serial: u64,
    pub(crate) peer: PeerAddress,
    pub(crate) tls: Option<&'a ServerTls>,
}

/// What the driver knows of the socket.
#[derive(Debug, Default)]
struct Socket {
    is_paused: bool,
    has_sent_fin: bool,
}

impl Connection {
    /// A connection that was just accepted, over TLS where there are settings for it.
    pub(crate) fn accept(now: Instant, spec: Spec<'_>, shared: &Shared) -> Result<Self, Failure> {
        let Spec { serial, peer, tls } = spec;
        let settings = Rc::clone(&shared.transport);
        let spec = ServerSpec { tls, settings, tracer: shared.tracer.for_connection(serial) };
        let transport = transport::Connection::<Server>::accept(now, spec)?;
        Ok(Self::new(now, (serial, peer), transport, None))
    }

    /// A connection that a client opened over QUIC.
    pub(crate) fn accept_quic(now: Instant, spec: QuicSpec, shared: &mut Shared) -> Self {
        let QuicSpec { serial, place, link } = spec;
        let peer = link.remote().ip().into();
        let facts = link.facts();
        let settings = Rc::clone(&shared.transport);
        let tracer = shared.tracer.for_connection(serial);
        let transport = transport::Connection::accept_quic(now, link, settings, tracer);
        let mut connection = Self {
            quic_facts: Some(facts),
            ..Self::new(now, (serial, peer), transport, Some(place))
        };
        // Its first datagram may have brought the whole hello, and early data.
        connection.begin(now, shared);
        connection
    }

    fn begin(&mut self, now: Instant, shared: &mut Shared) {
        let Self { transport, session, serial, peer, quic_facts, .. } = self;
        let quic = quic_facts.as_ref();
        let mut events = Events { now, shared, session, serial: *serial, peer: *peer, quic };
        if let Err(failure) = transport.handle_connected(now, &mut events) {
            self.fail(now, shared, &failure);
        }
        self.return_buffers(shared);
    }

    fn new(
        now: Instant,
        (serial, peer): (u64, PeerAddress),
        transport: transport::Connection<Server>,
        quic: Option<QuicPlace>,
    ) -> Self {
        Self {
            serial,
            peer,
            armed: None,
            transport,
            session: None,
            quic,
            quic_facts: None,
            socket: Socket::default(),
            progress: now,
            is_warned: false,
            draining: None,
        }
    }

    /// Over QUIC: a packet arrived.
    pub(crate) fn handle_input(&mut self, now: Instant, shared: &mut Shared, input: QuicInput) {
        let moves = self.stream_moves();
        let Self { transport, session, serial, peer, quic_facts, .. } = self;
        let quic = quic_facts.as_ref();
        let mut events = Events { now, shared, session, serial: *serial, peer: *peer, quic };
        if let Err(failure) = transport.handle_input(now, input, &mut events) {
            self.fail(now, shared, &failure);
        }
        if let (Some(session), Some(machine)) = (&mut self.session, self.transport.machine()) {
            session.handle_repeats(machine.take_repeats(), shared);
        }
        self.note_progress(now, moves);
        self.return_buffers(shared);
    }

    /// Over QUIC: changes with the bytes of its streams that have come or gone.
    fn stream_moves(&mut self) -> u32 {
        self.transport.link().map_or(0, |link| link.stream_moves())
    }

    /// Over QUIC: a packet may be forged, and one that is not may be a PING.
    fn note_progress(&mut self, now: Instant, moves_before: u32) {
        if self.stream_moves() != moves_before {
            self.progress = now;
        }
    }

    /// Over QUIC: the next datagrams. Where there are none, `arm` follows.
    pub(crate) fn poll_datagrams(
        &mut self,
        now: Instant,
        shared: &mut Shared,
        out: &mut Vec<u8>,
        max_datagrams: usize,
    ) -> Option<DatagramTransmit> {
        if self.session.as_ref().is_some_and(Session::has_asked) {
            self.command(now, shared, Session::give_asked);
        }
        let moves = self.stream_moves();
        let transmit = self.transport.poll_datagrams(now, out, max_datagrams);
        self.command(now, shared, Session::handle_transmitted);
        self.return_buffers(shared);
        self.note_progress(now, moves);
        transmit
    }

    /// Over QUIC: passes on what the connection has for its socket. Tells whether it has ended.
    pub(crate) fn settle_quic(&mut self, quic: &mut QuicSocket) -> Lifetime {
        self.transport.link().map_or(Lifetime::Over, |link| quic.settle(link))
    }

    /// Over QUIC: ends it with CONNECTION_CLOSE.
    pub(crate) fn close(&mut self) {
        self.transport.close();
    }

    /// Over QUIC: whether it only waits for late packets of its peer's.
    pub(crate) fn has_ended(&self) -> bool {
        self.quic.is_some() && self.transport.is_over() && !self.transport.wants_transmit()
    }

    #[inline]
    pub(crate) fn handle_bytes(&mut self, now: Instant, shared: &mut Shared, bytes: &[u8]) {
        if !self.is_ignoring() {
            self.progress = now;
        }
        let Self { transport, session, serial, peer, quic_facts, .. } = self;
        let quic = quic_facts.as_ref();
        let mut events = Events { now, shared, session, serial: *serial, peer: *peer, quic };
        if let Err(failure) = transport.handle_bytes(now, bytes, &mut events) {
            self.fail(now, shared, &failure);
        }
        if self.draining.is_some() {
            self.drain_once_asked(now, shared);
        }
    }

    pub(crate) fn handle_eof(&mut self, now: Instant, shared: &mut Shared) {
        self.progress = now;
        let Self { transport, session, serial, peer, quic_facts, .. } = self;
        let quic = quic_facts.as_ref();
        let mut events = Events { now, shared, session, serial: *serial, peer: *peer, quic };
        // The messages' own lengths reveal a truncation within TLS (RFC 9112 §9.8), so it is not judged here.
        let _ended_early = transport.handle_eof(now, Truncation::Ignored, &mut events);
    }

    /// Breaks where it is to be reset.
    pub(crate) fn handle_timeout(&mut self, now: Instant, shared: &mut Shared) -> ControlFlow<()> {
        // The machine first: where it has the same limit it ends less, and says why (408).
        self.time_machine(now, shared);
        if self.patience(&shared.config.limits).is_none_or(|at| at > now) {
            return ControlFlow::Continue(());
        }
        if !self.may_end_well() {
            return ControlFlow::Break(());
        }
        self.is_warned = true;
        self.shutdown(now, shared);
        ControlFlow::Continue(())
    }

    /// Whether it may be asked to close, and was not asked before.
    fn may_end_well(&self) -> bool {
        match self.established() {
            _ if self.is_warned || self.is_ignoring() => false,
            _ if self.draining.is_some() => self.awaits_first_request(),
            Some(session) => session.quiet_since().is_some(),
            None => true,
        }
    }

    fn time_machine(&mut self, now: Instant, shared: &mut Shared) {
        if self.session.as_ref().is_some_and(Session::is_thinking) {
            // The silence was this side's, not the peer's.
            self.progress = now;
        }
        let Self { transport, session, serial, peer, quic_facts, .. } = self;
        let quic = quic_facts.as_ref();
        let mut events = Events { now, shared, session, serial: *serial, peer: *peer, quic };
        if let Err(failure) = transport.handle_timeout(now, &mut events) {
            return self.fail(now, shared, &failure);
        }
        self.command(now, shared, Session::handle_timeout);
    }

    /// Sets a timer where the present one is later than needed.
    #[inline]
    pub(crate) fn arm(&mut self, place: usize, limits: &Limits, timers: &mut Timers) {
        let session = self.session.as_ref().and_then(Session::poll_timeout);
        let own = earlier(self.transport.poll_timeout(), session);
        let Some(at) = earlier(self.patience(limits), own) else { return };
        if self.armed.is_none_or(|armed| at < armed) {
            self.armed = Some(at);
            timers.push(at, Key { place, serial: self.serial });
        }
    }

    #[inline]
    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        shared: &mut Shared,
        out: &mut SendBuf,
        limit: usize,
    ) {
        let before = out.len();
        // A second attempt where the first gave no bytes: the events that it left may have produced some.
        if self.session.as_ref().is_some_and(Session::has_asked) {
            self.command(now, shared, Session::give_asked);
        }
        for _ in 0..2 {
            self.transport.poll_transmit(now, out, limit);
            self.command(now, shared, Session::handle_transmitted);
            self.return_buffers(shared);
            if out.len() > before {
                self.progress = now;
                return;
            }
        }
    }

    /// The origin stops: takes no more requests, and gives its peer less time.
    pub(crate) fn drain(&mut self, now: Instant, shared: &mut Shared) {
        self.draining = Some(now);
        if !self.awaits_first_request() {
            self.is_warned = true;
            self.shutdown(now, shared);
        }
    }

    /// While the origin stops: the first request may have come.
    #[cold]
    fn drain_once_asked(&mut self, now: Instant, shared: &mut Shared) {
        let is_asked = self.session.as_ref().is_some_and(Session::was_asked);
        if is_asked && !std::mem::replace(&mut self.is_warned, true) {
            self.shutdown(now, shared);
        }
    }

    /// Whether the origin stops just after the connection was accepted, so that its first request may not have been read.
    fn awaits_first_request(&self) -> bool {
        let is_new = |since: Instant| since.since(self.transport.timings().opened) <= FIRST_REQUEST;
        self.quic.is_none()
            && !self.is_warned
            && self.draining.is_some_and(is_new)
            && !self.session.as_ref().is_some_and(Session::was_asked)
    }

    /// The peer has acknowledged bytes.
    pub(crate) fn handle_progress(&mut self, now: Instant) {
        self.progress = now;
    }

    /// Takes no more requests and finishes those in progress.
    pub(crate) fn shutdown(&mut self, now: Instant, shared: &mut Shared) {
        let has_early_requests =
            || self.session.as_ref().is_some_and(|it| it.quiet_since().is_none());
        if self.established().is_some() || has_early_requests() {
            self.command(now, shared, Session::shutdown);
        } else {
            self.transport.close();
            self.progress = now;
        }
    }

    /// The socket is closed.
    pub(crate) fn cut_off(&mut self, now: Instant, shared: &mut Shared) {
        if let (Some(session), Some(machine)) = (&mut self.session, self.transport.machine()) {
            session.cut_off(&mut Context { now, shared, machine });
        }
    }

    /// Something came of a request that the application answers.
    pub(crate) fn handle_upstream(
        &mut self,
        now: Instant,
        shared: &mut Shared,
        id: RequestId,
        event: UpstreamEvent,
    ) {
        self.command(now, shared, |session, context| session.handle_upstream(context, id, event));
        self.return_buffers(shared);
    }

    /// Bytes that it holds for its peer.
    pub(crate) fn held(&self) -> usize {
        self.session.as_ref().map_or(0, Session::held)
    }

    /// The connection is forgotten: gives back what it held.
    pub(crate) fn close_account(&mut self, shared: &mut Shared) {
        self.tell_tally(shared);
        if let Some(session) = &mut self.session {
            session.close_account(shared);
        }
    }

    /// Over QUIC: tells the log what it has done.
    pub(crate) fn tell_tally(&mut self, shared: &Shared) {
        if let (Some(log), Some(link)) = (&shared.log, self.transport.link()) {
            log.closed(self.serial, &link.tally());
        }
    }

    /// Whether `poll_transmit` would give bytes.
    pub(crate) fn wants_transmit(&self) -> bool {
        let has_asked = self.session.as_ref().is_some_and(Session::has_asked);
        !self.socket.has_sent_fin && (has_asked || self.transport.wants_transmit())
    }

    /// The next action for the socket once nothing waits to be sent: at most one step of its shutdown. After `Close`
    /// and `Abort` the connection must be forgotten.
    #[inline]
    pub(crate) fn next_step(&mut self, socket: SocketId) -> Option<Action> {
        let machine = self.transport.ready_machine();
        let is_over = self.transport.is_over()
            || machine.is_some_and(|machine| {
                machine.state() == ConnectionState::Closed && !machine.wants_transmit()
            });
        let wants_fin = machine.is_some_and(ServerMachine::wants_shutdown);
        if !is_over && (!wants_fin || self.socket.has_sent_fin) {
            return None;
        }
        self.transport.close_output();
        if self.wants_transmit() {
            return Some(Action::Transmit(socket));
        }
        if is_over {
            return Some(Action::Close(socket));
        }
        self.socket.has_sent_fin = true;
        Some(Action::Shutdown(socket))
    }

    /// Back-pressure: pauses or resumes reading where that changes.
    pub(crate) fn next_pause(&mut self, socket: SocketId) -> Option<Action> {
        let is_paused = !self.transport.ready_machine()?.wants_read();
        if is_paused == self.socket.is_paused {
            return None;
        }
        self.socket.is_paused = is_paused;
        Some(if is_paused { Action::Pause(socket) } else { Action::Resume(socket) })
    }

    /// Calls the session, then handles the events that follow.
    #[inline]
    fn command(
        &mut self,
        now: Instant,
        shared: &mut Shared,
        command: impl FnOnce(&mut Session, &mut Context<'_>),
    ) {
        let Self { transport, session, serial, peer, quic_facts, .. } = self;
        let (Some(open), Some(machine)) = (session.as_mut(), transport.machine()) else { return };
        command(open, &mut Context { now, shared, machine });
        let quic = quic_facts.as_ref();
        let mut events = Events { now, shared, session, serial: *serial, peer: *peer, quic };
        transport.drain_events(now, &mut events);
    }

    /// Between requests a connection holds no buffers.
    fn return_buffers(&mut self, shared: &mut Shared) {
        if let (Some(session), Some(machine)) = (&mut self.session, self.transport.machine()) {
            session.return_buffers(machine, shared);
        }
    }

    fn fail(&mut self, now: Instant, shared: &mut Shared, failure: &Failure) {
        self.progress = now;
        self.cut_off(now, shared);
        let reason = &failure.to_string();
        let tracer = shared.tracer.for_connection(self.serial);
        tracer.emit(now, || trace::Event::ConnectionClosed { reason });
    }

    /// When the present time limit of this connection ends.
    #[inline]
    fn patience(&self, limits: &Limits) -> Option<Instant> {
        if let Some(since) = self.draining {
            return self.patience_at_stop(since, limits);
        }
        let (since, span) = match self.established() {
            _ if self.is_ignoring() => return self.patience_when_ignoring(limits),
            Some(session) => match session.quiet_since() {
                // The machine has a time-out for it.
                Some(since)
                    if (self.progress > since || !session.was_asked()) && self.is_amid_head() =>
                {
                    return None;
                }
                Some(since) => (since, limits.idle),
                None if session.is_thinking() => return None,
                None => (self.progress, limits.stall),
            },
            None => {
                let span = match self.transport.phase() {
                    Phase::Recognising { seen: 0 } => limits.idle,
                    Phase::Recognising { .. } => limits.head,
                    _ => limits.handshake,
                };
                (self.transport.timings().opened, span)
            }
        };
        Some(since + span)
    }

    /// The session, once the handshake is over. Over QUIC it is there before, for what this side says first.
    #[inline]
    fn established(&self) -> Option<&Session> {
        let is_shaking_hands = || self.quic.is_some() && self.transport.timings().secured.is_none();
        self.session.as_ref().filter(|_| !is_shaking_hands())
    }

    /// Whether a part of a request's head has come.
    fn is_amid_head(&self) -> bool {
        self.transport.ready_machine().is_some_and(ServerMachine::is_amid_head)
    }

    /// Whether what arrives is ignored: it has failed, and only its last bytes are to be sent.
    #[inline]
    fn is_ignoring(&self) -> bool {
        self.transport.is_over() || self.failed_at().is_some()
    }

    fn failed_at(&self) -> Option<Instant> {
        self.session.as_ref().and_then(Session::failed_at)
    }

    /// QUIC's own timer ends what is closed. A limit of ours would come again at once where it is late.
    #[cold]
    fn patience_when_ignoring(&self, limits: &Limits) -> Option<Instant> {
        let is_quics = self.quic.is_some() && self.transport.is_over();
        let since = self.failed_at().map_or(self.progress, |at| at.max(self.progress));
        (!is_quics).then(|| since + limits.last_bytes)
    }

    #[cold]
    fn patience_at_stop(&self, since: Instant, limits: &Limits) -> Option<Instant> {
        if self.quic.is_some() && self.transport.is_over() {
            return None;
        }
        if self.awaits_first_request() {
            return Some(since + FIRST_REQUEST);
        }
        let is_thinking = self.session.as_ref().is_some_and(Session::is_thinking);
        (!is_thinking).then(|| self.progress.max(since) + limits.drain_stall)
    }
}

/// How long a connection that was just accepted is kept for its first request when the origin stops.
const FIRST_REQUEST: Duration = Duration::from_millis(100);

fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Passes the transport's events to the session.
struct Events<'a> {
    now: Instant,
    shared: &'a mut Shared,
    session: &'a mut Option<Session>,
    serial: u64,
    peer: PeerAddress,
    quic: Option<&'a QuicFacts>,
}

impl Events<'_> {
    /// Tells the log of the connection: a client has ended its handshake, or sends early data.
    fn log_opened(&self, negotiated: &Negotiated<'_, Protocol>) {
        if let Some(log) = &self.shared.log {
            let protocol = negotiated.protocol;
            let tls = negotiated.tls.map(|tls| tls.record());
            let quic = self.quic.cloned();
            log.opened(&OpenedRecord { connection: self.serial, protocol, tls, quic });
        }
    }
}

impl Handler<Server> for Events<'_> {
    fn handle_ready(&mut self, _machine: &mut ServerMachine, negotiated: Negotiated<'_, Protocol>) {
        let protocol = negotiated.protocol;
        let is_early = negotiated.early_data == EarlyData::Sending;
        if is_early || negotiated.is_secured {
            self.log_opened(&negotiated);
        }
        let bytes_pass_unchanged = negotiated.tls.is_none();
        let (connection, peer) = (self.serial, self.peer);
        let spec = SessionSpec { connection, peer, protocol, bytes_pass_unchanged, is_early };
        *self.session = Some(Session::new(self.now, spec));
    }

    fn handle_handshake(&mut self, _: &mut ServerMachine, negotiated: Negotiated<'_, Protocol>) {
        let was_early = self.session.as_mut().is_some_and(Session::handle_handshake);
        if !was_early {
            self.log_opened(&negotiated);
        }
    }

    fn handle_input(&mut self, machine: &mut ServerMachine) {
        if let Some(session) = self.session {
            session.borrow_buffers(machine, self.shared);
        }
    }

    fn handle_event(&mut self, machine: &mut ServerMachine, event: Event<'_>) {
        if let Some(session) = self.session {
            let (now, shared) = (self.now, &mut *self.shared);
            session.handle_event(&mut Context { now, shared, machine }, event);
        }
    }
}
