//! One connection's stack over QUIC, either role: its packets, TLS within them, ALPN, and the machine of what is spoken.
//! As over TCP an application gives its commands to the machine and gets events by its [`Handler`].
//!
//! ```text
//! Securing ──> Ready ──> Closing ──> Closed
//! ```
//!
//! `Ready` comes before the handshake is over at a client whose early data go (0-RTT), and at a server.

use super::end::{closed_by, failed_by};
use super::keep_alive::KeepAlive;
use super::link::Link;
use super::memory::RememberedServer;
use super::socket::QuicInput;
use super::streams::{Pump, Streams};
use crate::byte_stream::early_data;
use crate::failure::Failure;
use crate::role::{Handler, QuicRole};
use crate::status::{Negotiated, Phase, Timings, Traffic};
use endpoint::DatagramTransmit;
use proto::{Connection as _, EarlyData, Event, MultiplexedConnection as _, TransportFacts};
use quinn_proto::{ConnectionError, Dir, Event as QuicEvent, StreamEvent};
use secure::QuicHandshake;
use std::fmt;
use trace::ConnectionRecord;
use unit::Instant;

/// A connection's stack over QUIC.
pub struct QuicConnection<R: QuicRole> {
    role: R,
    link: Box<Link>,
    streams: Streams,
    stage: Stage<R>,
    is_over: bool,
    /// Whether the connection is ready and the handshake goes on.
    is_early: bool,
    timings: Timings,
    /// None where the connection is not kept open, or quinn-proto does it. In a box, for a server's connections have none.
    keep_alive: Option<Box<KeepAlive>>,
    /// When the last call was made.
    now: Instant,
    timeout: Timeout,
    /// Whether `poll_transmit` may give datagrams.
    may_transmit: bool,
    is_transmitting: bool,
}

/// What `poll_timeout` tells.
#[derive(Clone, Copy)]
enum Timeout {
    /// Something has happened since it was told last. It takes some time to find out, and is asked for after many calls.
    Unknown,
    Known(Option<Instant>),
}

enum Stage<R: QuicRole> {
    Securing,
    Ready {
        protocol: R::Protocol,
        machine: Box<R::Multiplexed>,
        /// None for a client whose handshake goes on.
        handshake: Option<QuicHandshake>,
    },
}

impl<R: QuicRole> QuicConnection<R> {
    /// A connection whose handshake begins.
    pub fn new(now: Instant, role: R, mut link: Box<Link>) -> Self {
        if let Some(tracer) = role.tracer() {
            link.trace_to(now, tracer);
        }
        Self {
            role,
            link,
            streams: Streams::default(),
            stage: Stage::Securing,
            is_over: false,
            is_early: false,
            timings: Timings { opened: now, connected: None, secured: None },
            keep_alive: None,
            now,
            timeout: Timeout::Unknown,
            may_transmit: true,
            is_transmitting: false,
        }
    }

    /// The connection as its socket sees it: [`QuicSocket::settle`](crate::QuicSocket::settle) follows every call.
    pub fn link(&mut self) -> &mut Link {
        &mut self.link
    }

    /// The connection was just opened. A client whose early data may go is ready at once, and a server that has the whole hello.
    pub fn handle_opened(
        &mut self,
        now: Instant,
        handler: &mut impl Handler<R>,
    ) -> Result<(), Failure> {
        if self.link.server.is_some() && self.link.has_early_data() && self.role.known().is_some() {
            self.become_ready(now, handler)?;
        }
        self.take_events(now, handler)
    }

    /// A packet arrived.
    pub fn handle_input(
        &mut self,
        now: Instant,
        input: QuicInput,
        handler: &mut impl Handler<R>,
    ) -> Result<(), Failure> {
        self.link.handle_input(now, input);
        self.may_transmit = true;
        self.note_packet(now);
        self.take_events(now, handler)
    }

    /// The time of `poll_timeout` may have come. An error where the connection should be ready by now.
    pub fn handle_timeout(
        &mut self,
        now: Instant,
        handler: &mut impl Handler<R>,
    ) -> Result<(), Failure> {
        if self.poll_timeout().is_none_or(|at| at > now) {
            return Ok(());
        }
        self.link.handle_timeout(now);
        self.may_transmit = true;
        if !self.is_over && self.handshake_due().is_some_and(|at| at <= now) {
            self.close();
            return Err(Failure::TimedOut { phase: Phase::Securing });
        }
        if let Stage::Ready { machine, .. } = &mut self.stage
            && machine.poll_timeout().is_some_and(|at| at <= now)
        {
            machine.handle_timeout(now);
        }
        if self.ping_due().is_some_and(|at| at <= now) {
            self.link.ping();
            self.note_packet(now);
        }
        self.take_events(now, handler)
    }

    /// Carries out what commands have caused, and passes on the events.
    pub fn drain_events(&mut self, now: Instant, handler: &mut impl Handler<R>) {
        if let Some(mut pump) = self.pump(now) {
            let has_acted = pump.settle(&mut sink::<R>(handler)) | pump.close_when_acknowledged();
            let wants_transmit = pump.machine.wants_transmit();
            self.may_transmit |= has_acted || wants_transmit && !self.is_over;
        }
        self.touch(now);
    }

    /// When to call `handle_timeout`; None for never.
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        let timeout = match self.timeout {
            Timeout::Known(timeout) => timeout,
            Timeout::Unknown => self.next_timeout(),
        };
        self.timeout = Timeout::Known(timeout);
        timeout
    }

    /// Writes the next datagrams to `out`, one batch at most. The machine is asked for as many bytes as congestion window
    /// and pacer let out now. Events may follow: call `drain_events`.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        out: &mut Vec<u8>,
        max_datagrams: usize,
    ) -> Option<DatagramTransmit> {
        let Self { link, streams, stage, is_over, .. } = self;
        if let Stage::Ready { machine, .. } = stage
            && !*is_over
            && !link.is_gathering(now)
        {
            let machine = &mut **machine;
            let no_error = R::NO_ERROR;
            Pump { now, link, streams, machine, no_error }.feed(max_datagrams);
        }
        let transmit = self.link.poll_transmit(now, out, max_datagrams);
        if transmit.is_some() {
            self.note_packet(now);
        }
        self.may_transmit = transmit.is_some();
        self.is_transmitting = transmit.is_some();
        self.now = now;
        self.timeout = Timeout::Unknown;
        transmit
    }

    /// Whether `poll_transmit` may give datagrams now.
    pub fn wants_transmit(&self) -> bool {
        self.may_transmit
    }

    /// Whether to ask the driver now to transmit. It is asked once, and again after `poll_transmit` has given nothing.
    pub fn poll_wants_transmit(&mut self) -> bool {
        let tell = !self.is_transmitting && self.may_transmit;
        self.is_transmitting |= tell;
        tell
    }

    /// Whether the driver was asked to transmit and `poll_transmit` has not yet given everything.
    pub fn is_transmitting(&self) -> bool {
        self.is_transmitting
    }

    /// Ends the connection: what arrives is ignored, and the peer is told (CONNECTION_CLOSE). Call `shutdown` first on a
    /// machine that ends with a message (GOAWAY).
    pub fn close(&mut self) {
        if !self.is_over {
            self.is_over = true;
            self.link.close(self.now, R::NO_ERROR, "");
            self.may_transmit = true;
            self.touch(self.now);
        }
    }

    /// The machine, once the connection is ready.
    pub fn machine(&mut self) -> Option<&mut R::Machine> {
        match &mut self.stage {
            Stage::Ready { machine, .. } => Some(R::over_quic_mut(machine)),
            Stage::Securing => None,
        }
    }

    /// The machine to look at, once the connection is ready.
    pub fn ready_machine(&self) -> Option<&R::Machine> {
        match &self.stage {
            Stage::Ready { machine, .. } => Some(R::over_quic(machine)),
            Stage::Securing => None,
        }
    }

    /// Whether everything that arrives is ignored: the phase is `Closing` or `Closed`.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Where the connection stands.
    pub fn phase(&self) -> Phase {
        match &self.stage {
            _ if self.is_over && self.may_transmit => Phase::Closing,
            _ if self.is_over => Phase::Closed,
            Stage::Securing => Phase::Securing,
            Stage::Ready { .. } => Phase::Ready,
        }
    }

    /// What is spoken, once that is known.
    pub fn protocol(&self) -> Option<R::Protocol> {
        match &self.stage {
            Stage::Ready { protocol, .. } => Some(*protocol),
            Stage::Securing => None,
        }
    }

    /// What was negotiated, once the connection is ready.
    pub fn negotiated(&self) -> Option<Negotiated<'_, R::Protocol>> {
        match &self.stage {
            Stage::Ready { protocol, handshake, .. } => {
                let tls = handshake.as_ref().and_then(QuicHandshake::negotiated);
                let early_data = early_data(self.sends_early(), tls);
                Some(Negotiated {
                    protocol: *protocol,
                    tls,
                    early_data,
                    is_secured: !self.is_early,
                })
            }
            Stage::Securing => None,
        }
    }

    /// When its phases ended. QUIC connects and secures in one: both end at once, as curl tells it, too.
    pub fn timings(&self) -> Timings {
        self.timings
    }

    /// Bytes of its datagrams so far.
    pub fn traffic(&self) -> Traffic {
        self.link.traffic()
    }

    /// Fills in what a row of a connection has from its transport.
    pub fn complete(&self, record: &mut ConnectionRecord) {
        let Timings { opened, connected, secured } = self.timings;
        record.opened = opened;
        record.connected = connected;
        record.secured = secured;
        if let Some(negotiated) = self.negotiated() {
            record.tls = negotiated.tls.map(|tls| tls.record());
            record.protocol = negotiated.protocol.into();
        }
        let Traffic { received, sent } = self.traffic();
        record.bytes_received = received;
        record.bytes_sent = sent;
    }

    fn take_events(&mut self, now: Instant, handler: &mut impl Handler<R>) -> Result<(), Failure> {
        let mut taken = Ok(());
        while let Some(event) = self.link.poll_event() {
            match event {
                QuicEvent::HandshakeDataReady if self.speaks_first() => {
                    taken = taken.and(self.become_ready(now, handler));
                }
                QuicEvent::Connected => taken = taken.and(self.end_handshake(now, handler)),
                QuicEvent::ConnectionLost { reason } => {
                    taken = taken.and(self.lose(now, &reason, handler));
                }
                event => {
                    if matches!(event, QuicEvent::Stream(StreamEvent::Opened { .. }))
                        && let Stage::Ready { machine, .. } = &mut self.stage
                    {
                        handler.handle_input(R::over_quic_mut(machine));
                    }
                    if let Some(mut pump) = self.pump(now) {
                        pump.handle_event(event, &mut sink::<R>(handler));
                    }
                }
            }
        }
        self.drain_events(now, handler);
        if let Stage::Ready { machine, .. } = &self.stage {
            self.link.remember(|| R::peer_settings(machine));
        }
        taken
    }

    /// Whether this is a server that has answered the client's hello. What its machine says first goes with that answer (0.5-RTT):
    /// a round trip sooner, and before the tickets, for Firefox keeps no session of a server whose settings it does not know.
    fn speaks_first(&self) -> bool {
        matches!(self.stage, Stage::Securing)
            && self.link.server.is_none()
            && self.link.is_handshaking()
    }

    /// The handshake is over.
    fn end_handshake(
        &mut self,
        now: Instant,
        handler: &mut impl Handler<R>,
    ) -> Result<(), Failure> {
        self.timings.connected = Some(now);
        self.timings.secured = Some(now);
        self.is_early = false;
        let handshake = self.link.handshake();
        self.keep_alive = self.link.keep_alive(now, handshake.as_ref()).map(Box::new);
        let tls = handshake.as_ref().and_then(QuicHandshake::negotiated);
        let Stage::Ready { protocol, machine, .. } = &mut self.stage else {
            return self.become_ready(now, handler);
        };
        if let Err(failure) = self.role.choose(Some(tls.and_then(|tls| tls.alpn)), &[]) {
            self.close();
            return Err(failure);
        }
        let early_data = early_data(false, tls);
        let max_datagram = self.link.max_datagram();
        machine.handle_transport(now, TransportFacts { early_data, max_datagram });
        let negotiated = Negotiated { protocol: *protocol, tls, early_data, is_secured: true };
        handler.handle_handshake(R::over_quic_mut(machine), negotiated);
        if let Stage::Ready { handshake: known, .. } = &mut self.stage {
            *known = handshake;
        }
        if early_data == EarlyData::Rejected {
            // All streams are void, and their identifiers begin anew.
            self.streams = Streams::default();
            self.link.handle_early_data_rejected();
        }
        self.open_ahead(now);
        Ok(())
    }

    /// Makes the machine: the handshake is over, or early data may go.
    fn become_ready(&mut self, now: Instant, handler: &mut impl Handler<R>) -> Result<(), Failure> {
        self.is_early = self.link.is_handshaking();
        let handshake = self.link.handshake().filter(|handshake| handshake.negotiated().is_some());
        let tls = handshake.as_ref().and_then(QuicHandshake::negotiated);
        let chosen = match (self.is_early, tls) {
            // A client's early data: nothing is agreed on yet.
            (true, None) => Ok(self.role.known()),
            _ => self.role.choose(Some(tls.and_then(|tls| tls.alpn)), &[]),
        };
        let remembered = self.link.server.as_ref().filter(|_| self.is_early);
        let remembered = remembered.and_then(RememberedServer::settings);
        let made = chosen.and_then(|protocol| {
            let protocol = protocol.ok_or(Failure::UnknownProtocol)?;
            let machine = self.role.multiplexed(now, protocol, remembered);
            Ok((protocol, machine.ok_or(Failure::UnknownProtocol)?))
        });
        let (protocol, mut machine) = match made {
            Ok(made) => made,
            Err(failure) => {
                self.close();
                return Err(failure);
            }
        };
        let early_data = early_data(self.sends_early(), tls);
        let max_datagram = self.link.max_datagram();
        machine.handle_transport(now, TransportFacts { early_data, max_datagram });
        let negotiated = Negotiated { protocol, tls, early_data, is_secured: !self.is_early };
        handler.handle_ready(R::over_quic_mut(&mut machine), negotiated);
        self.stage = Stage::Ready { protocol, machine, handshake };
        self.open_ahead(now);
        Ok(())
    }

    /// Whether what comes or goes now is early data: a handshake goes on for which there are keys of 0-RTT.
    fn sends_early(&self) -> bool {
        self.is_early && self.link.has_early_data()
    }

    /// Tells the machine how many streams it may open.
    fn open_ahead(&mut self, now: Instant) {
        if let Some(mut pump) = self.pump(now) {
            pump.open_ahead(Dir::Bi);
            pump.open_ahead(Dir::Uni);
        }
    }

    /// The connection is lost, or the peer closed it.
    fn lose(
        &mut self,
        now: Instant,
        reason: &ConnectionError,
        handler: &mut impl Handler<R>,
    ) -> Result<(), Failure> {
        self.link.handle_end(now, reason);
        let was_over = std::mem::replace(&mut self.is_over, true);
        match &mut self.stage {
            Stage::Securing if was_over => Ok(()),
            Stage::Securing => Err(failed_by::<R>(reason, self.link.handshake())),
            Stage::Ready { .. } if self.is_early && !was_over => {
                Err(failed_by::<R>(reason, self.link.handshake()))
            }
            Stage::Ready { machine, .. } => {
                machine.handle_transport_closed(now, closed_by::<R>(reason));
                self.drain_events(now, handler);
                Ok(())
            }
        }
    }

    fn pump(&mut self, now: Instant) -> Option<Pump<'_, R::Multiplexed>> {
        let Self { link, streams, stage, .. } = self;
        let Stage::Ready { machine, .. } = stage else { return None };
        Some(Pump { now, link, streams, machine, no_error: R::NO_ERROR })
    }

    /// After any input or command there are other times to wait for.
    fn touch(&mut self, now: Instant) {
        self.now = now;
        // The machine may have closed it.
        self.is_over |= self.link.is_closed();
        self.timeout = Timeout::Unknown;
    }

    fn next_timeout(&mut self) -> Option<Instant> {
        let above = match &self.stage {
            _ if self.is_over => None,
            Stage::Securing => None,
            Stage::Ready { machine, .. } => machine.poll_timeout(),
        };
        let handshake = self.handshake_due().filter(|_| !self.is_over);
        let closing = self.streams.poll_timeout().filter(|_| !self.is_over);
        let times = [above, handshake, closing, self.ping_due(), self.link.poll_timeout()];
        times.into_iter().flatten().min()
    }

    /// A packet came or goes.
    fn note_packet(&mut self, now: Instant) {
        if let Some(keep_alive) = &mut self.keep_alive {
            keep_alive.handle_packet(now);
        }
    }

    /// When the server is sent a PING, so that it keeps the connection open for the requests that are under way.
    fn ping_due(&self) -> Option<Instant> {
        let keep_alive = self.keep_alive.as_ref().filter(|_| !self.is_over)?;
        let Stage::Ready { machine, .. } = &self.stage else { return None };
        machine.has_requests().then(|| keep_alive.due())
    }

    /// When the handshake must be over; None where it is.
    fn handshake_due(&self) -> Option<Instant> {
        let goes_on = self.is_early || matches!(self.stage, Stage::Securing);
        let limit = self.role.handshake_timeout().filter(|_| goes_on)?;
        Some(self.timings.opened + limit)
    }
}

/// Passes a machine's events to the application.
fn sink<R: QuicRole>(handler: &mut impl Handler<R>) -> impl FnMut(&mut R::Multiplexed, Event<'_>) {
    |machine, event| handler.handle_event(R::over_quic_mut(machine), event)
}

impl<R: QuicRole> fmt::Debug for QuicConnection<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuicConnection")
            .field("phase", &self.phase())
            .field("protocol", &self.protocol())
            .field("timings", &self.timings)
            .finish_non_exhaustive()
    }
}
