//! One connection over a byte stream, either role: TLS or none, and the machine of what is spoken. The one rule: the
//! application gets a machine's events through its [`Handler`] only, because the plaintext that they borrow belongs
//! to TLS.
//!
//! The order of a connection's phases:
//!
//! ```text
//! client:  Connecting ──> Tunnelling ──> Securing ──> Ready ──> Closing ──> Closed
//! server:                 Securing ──> Recognising ──> Ready ──> Closing ──> Closed
//! ```
//!
//! Without a proxy there is no `Tunnelling`, without TLS no `Securing`, and with ALPN no `Recognising`. Every phase may lead to `Closing`. Where early
//! data goes (0-RTT) `Ready` comes before TLS's handshake is over.

use crate::failure::Failure;
use crate::role::{Handler, Role};
use crate::status::{Negotiated, Phase, Timings, Traffic, Truncation};
use crate::tunnel::Tunnel;
use endpoint::SendBuf;
use proto::{ByteStreamConnection as _, Connection as _, EarlyData, Scheme};
use secure::{Layer, TlsError};
use std::fmt;
use trace::{ConnectionRecord, TlsRecord};
use unit::Instant;

/// A connection's stack over a byte stream. `R` is [`Client`](crate::Client) or [`Server`](crate::Server).
pub struct StreamConnection<R: Role> {
    role: R,
    layer: Layer,
    stage: Stage<R::Protocol, R::ByteStream>,
    end: End,
    /// Whether the connection is ready and TLS's handshake goes on.
    is_early: bool,
    timings: Timings,
    traffic: Traffic,
    /// Whether the driver was asked to transmit and `poll_transmit` has not yet given everything.
    is_transmitting: bool,
}

enum Stage<P, M: ?Sized> {
    /// There is no socket yet. Through a proxy a tunnel is opened next.
    Connecting(Option<Box<Tunnel>>),
    /// A proxy was asked for a tunnel.
    Tunnelling(Box<Tunnel>),
    /// TLS's handshake, then the bytes that came before the protocol was known.
    Opening(Vec<u8>),
    Ready(P, Box<M>),
}

/// How far this side has ended the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Not at all.
    Open,
    /// Whether the end of sending was announced to the peer.
    OutputOver,
    /// Everything that arrives is ignored.
    Over,
    /// As `Over`; TLS says by itself why.
    Failed,
}

impl<R: Role> StreamConnection<R> {
    /// A connection whose socket is being connected. `layer` is TLS or none.
    pub fn connecting(now: Instant, role: R, layer: Layer) -> Self {
        Self {
            role,
            layer,
            stage: Stage::Connecting(None),
            end: End::Open,
            is_early: false,
            timings: Timings { opened: now, connected: None, secured: None },
            traffic: Traffic::default(),
            is_transmitting: false,
        }
    }

    /// Client: opens `tunnel` first, as soon as the socket is connected.
    pub(crate) fn through(mut self, tunnel: Tunnel) -> Self {
        self.stage = Stage::Connecting(Some(Box::new(tunnel)));
        self
    }

    /// A connection that a listener took.
    pub fn accepted(now: Instant, role: R, layer: Layer) -> Self {
        let mut connection = Self::connecting(now, role, layer);
        connection.stage = Stage::Opening(Vec::new());
        connection.timings.connected = Some(now);
        connection
    }

    /// Client: the socket is connected.
    pub fn handle_connected(
        &mut self,
        now: Instant,
        handler: &mut impl Handler<R>,
    ) -> Result<(), Failure> {
        self.timings.connected = Some(now);
        let before = std::mem::replace(&mut self.stage, Stage::Opening(Vec::new()));
        if let Stage::Connecting(Some(tunnel)) = before {
            self.stage = Stage::Tunnelling(tunnel);
            return Ok(());
        }
        let opened = self.become_ready(now, handler);
        opened.map_err(|failure| self.fail(failure))
    }

    /// Bytes arrived from the socket. After an error the connection is over; TLS may still owe the peer an alert.
    #[inline]
    pub fn handle_bytes(
        &mut self,
        now: Instant,
        bytes: &[u8],
        handler: &mut impl Handler<R>,
    ) -> Result<(), Failure> {
        self.count_received(bytes.len() as u64);
        if self.is_over() {
            return Ok(());
        }
        self.take(now, bytes, handler).map_err(|failure| self.fail(failure))
    }

    /// The peer will send nothing more, by the socket's word or TLS's (`peer_closed`). An error where its bytes
    /// ended too soon: in a handshake, or as `truncation` has it.
    pub fn handle_eof(
        &mut self,
        now: Instant,
        truncation: Truncation,
        handler: &mut impl Handler<R>,
    ) -> Result<(), Failure> {
        if self.is_over() {
            return Ok(());
        }
        if !matches!(self.stage, Stage::Tunnelling(_))
            && let Err(error) = self.layer.handle_eof()
            && truncation == Truncation::Fails
        {
            let failure = self.tls_failure(error);
            return Err(self.fail(failure));
        }
        let Stage::Ready(_, machine) = &mut self.stage else {
            self.close();
            return Err(Failure::Ended);
        };
        machine.handle_eof(now);
        self.drain_events(now, handler);
        Ok(())
    }

    /// Passes on the events that commands, `poll_transmit` and time-outs have caused.
    #[inline]
    pub fn drain_events(&mut self, now: Instant, handler: &mut impl Handler<R>) {
        if let Stage::Ready(_, machine) = &mut self.stage {
            hand_over::<R>(now, machine, &[], handler);
            hand_over_backlog::<R>(now, machine, handler);
        }
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
        if !self.is_spoken() && self.handshake_due().is_some_and(|at| at <= now) {
            let phase = match self.is_early {
                true => Phase::Securing,
                false => self.phase(),
            };
            return Err(self.fail(Failure::TimedOut { phase }));
        }
        match &mut self.stage {
            Stage::Connecting(_) | Stage::Tunnelling(_) | Stage::Opening(_) => Ok(()),
            Stage::Ready(_, machine) => {
                machine.handle_timeout(now);
                self.drain_events(now, handler);
                Ok(())
            }
        }
    }

    /// When to call `handle_timeout`; None for never.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match &self.stage {
            _ if self.is_over() => None,
            Stage::Connecting(_) | Stage::Tunnelling(_) | Stage::Opening(_) => self.handshake_due(),
            Stage::Ready(_, machine) if self.is_early => {
                [machine.poll_timeout(), self.handshake_due()].into_iter().flatten().min()
            }
            Stage::Ready(_, machine) => machine.poll_timeout(),
        }
    }

    /// When the handshake must be over.
    fn handshake_due(&self) -> Option<Instant> {
        self.role.handshake_timeout().map(|limit| self.timings.opened + limit)
    }

    /// Whether a protocol is spoken and no handshake goes on.
    fn is_spoken(&self) -> bool {
        matches!(self.stage, Stage::Ready(..)) && !self.is_early
    }

    /// Appends bytes to send to `out`, about `limit` at most. The machine decides late: TLS asks it for one record at a
    /// time.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant, out: &mut SendBuf, limit: usize) {
        let before = out.len();
        let Self { layer, stage, end, .. } = self;
        match stage {
            Stage::Connecting(_) => {}
            Stage::Tunnelling(tunnel) => tunnel.poll_transmit(now, out, limit),
            Stage::Opening(_) | Stage::Ready(..) => {
                layer.poll_transmit(out, limit, |plain, limit| match stage {
                    // After a failure TLS's alert alone goes out.
                    Stage::Ready(_, machine) if *end != End::Failed => {
                        machine.poll_transmit(now, plain, limit);
                    }
                    _ => {}
                });
            }
        }
        let sent = out.len() - before;
        self.traffic.sent += sent as u64;
        self.is_transmitting = sent > 0 && self.wants_transmit();
    }

    /// Whether `poll_transmit` would give bytes now.
    #[inline]
    pub fn wants_transmit(&self) -> bool {
        match &self.stage {
            Stage::Connecting(_) => false,
            Stage::Tunnelling(tunnel) => !self.is_over() && tunnel.wants_transmit(),
            Stage::Ready(_, machine) if self.end != End::Failed => {
                self.layer.wants_transmit() || self.layer.may_send() && machine.wants_transmit()
            }
            Stage::Opening(_) | Stage::Ready(..) => self.layer.wants_transmit(),
        }
    }

    /// Whether to ask the driver now to transmit. It is asked once, and again after
    /// `poll_transmit` has come to the end of them.
    #[inline]
    pub fn poll_wants_transmit(&mut self) -> bool {
        let tell = !self.is_transmitting && self.wants_transmit();
        self.is_transmitting |= tell;
        tell
    }

    /// Whether the driver was asked to transmit and `poll_transmit` has not yet given everything.
    pub fn is_transmitting(&self) -> bool {
        self.is_transmitting
    }

    /// Tells the peer, where TLS can, that nothing more will be sent. What it sends is still processed.
    pub fn close_output(&mut self) {
        // A server may end before it has heard that the handshake is over. A client's early data has no end of its own.
        let may_end = match &self.stage {
            Stage::Connecting(_) | Stage::Tunnelling(_) => false,
            Stage::Opening(_) => !self.layer.is_handshaking(),
            Stage::Ready(..) => !self.is_early || self.layer.negotiated().is_some(),
        };
        if self.end == End::Open && may_end {
            self.end = End::OutputOver;
            self.layer.close_notify();
        }
    }

    /// Ends the connection. What arrives is ignored, and the connection is closed once all bytes are sent that it owes
    /// the peer. Call `shutdown` first on a machine that ends with a message (GOAWAY).
    pub fn close(&mut self) {
        self.close_output();
        if self.end != End::Failed {
            self.end = End::Over;
        }
    }

    /// The machine, once the connection is ready.
    #[inline]
    pub fn machine(&mut self) -> Option<&mut R::Machine> {
        match &mut self.stage {
            Stage::Ready(_, machine) => Some(R::application_mut(machine)),
            Stage::Connecting(_) | Stage::Tunnelling(_) | Stage::Opening(_) => None,
        }
    }

    /// The machine to look at, once the connection is ready.
    #[inline]
    pub fn ready_machine(&self) -> Option<&R::Machine> {
        match &self.stage {
            Stage::Ready(_, machine) => Some(R::application(machine)),
            Stage::Connecting(_) | Stage::Tunnelling(_) | Stage::Opening(_) => None,
        }
    }

    /// Whether everything that arrives is ignored: the phase is `Closing` or `Closed`.
    #[inline]
    pub fn is_over(&self) -> bool {
        matches!(self.end, End::Over | End::Failed)
    }

    /// Where the connection stands.
    pub fn phase(&self) -> Phase {
        match &self.stage {
            _ if self.is_over() && self.wants_transmit() => Phase::Closing,
            _ if self.is_over() => Phase::Closed,
            Stage::Connecting(_) => Phase::Connecting,
            Stage::Tunnelling(_) => Phase::Tunnelling,
            Stage::Opening(_) if self.layer.is_handshaking() => Phase::Securing,
            Stage::Opening(seen) => Phase::Recognising { seen: seen.len() },
            Stage::Ready(..) => Phase::Ready,
        }
    }

    /// What is spoken, once that is known.
    pub fn protocol(&self) -> Option<R::Protocol> {
        match &self.stage {
            Stage::Ready(protocol, _) => Some(*protocol),
            Stage::Connecting(_) | Stage::Tunnelling(_) | Stage::Opening(_) => None,
        }
    }

    /// What was negotiated, once the connection is ready.
    pub fn negotiated(&self) -> Option<Negotiated<'_, R::Protocol>> {
        self.protocol().map(|protocol| self.negotiated_as(protocol))
    }

    fn negotiated_as(&self, protocol: R::Protocol) -> Negotiated<'_, R::Protocol> {
        let tls = self.layer.negotiated();
        let early_data = early_data(self.is_early, tls);
        Negotiated { protocol, tls, early_data, is_secured: !self.is_early }
    }

    /// When its phases ended.
    pub fn timings(&self) -> Timings {
        self.timings
    }

    /// Bytes of the socket so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Whether the peer has said by TLS that it will send nothing more. Follow with `handle_eof`.
    pub fn peer_closed(&self) -> bool {
        self.layer.peer_closed()
    }

    /// Whether there is TLS.
    pub fn is_secured(&self) -> bool {
        self.layer.is_secured()
    }

    /// Fills in what a row of a connection has from its transport.
    pub fn complete(&self, record: &mut ConnectionRecord) {
        let Timings { opened, connected, secured } = self.timings;
        record.opened = opened;
        record.connected = connected;
        record.secured = secured;
        // Also where ALPN came to no agreement.
        record.tls = self.tls_record();
        if let Some(protocol) = self.protocol() {
            record.protocol = protocol.into();
        }
        record.bytes_sent = self.traffic.sent;
        record.bytes_received = self.traffic.received;
    }

    fn tls_record(&self) -> Option<TlsRecord> {
        self.timings.secured?;
        self.layer.negotiated().map(|agreed| agreed.record())
    }

    pub(crate) fn count_received(&mut self, bytes: u64) {
        self.traffic.received += bytes;
    }

    #[inline]
    fn take(
        &mut self,
        now: Instant,
        bytes: &[u8],
        handler: &mut impl Handler<R>,
    ) -> Result<(), Failure> {
        let mut input = bytes;
        if let Stage::Tunnelling(tunnel) = &mut self.stage {
            if !tunnel.handle_bytes(now, &mut input)? {
                return Ok(());
            }
            self.stage = Stage::Opening(Vec::new());
        }
        loop {
            let plain = match self.layer.handle_bytes(&mut input) {
                Ok(Some(plain)) => plain,
                Ok(None) => break,
                Err(error) => return Err(self.tls_failure(error)),
            };
            match &mut self.stage {
                Stage::Ready(_, machine) if !self.is_early => {
                    hand_over::<R>(now, machine, plain, handler);
                }
                // The handshake may have ended with this piece: what TLS says of that comes first.
                Stage::Ready(..) => {
                    let plain = plain.to_vec();
                    self.end_handshake(now, handler)?;
                    if let Stage::Ready(_, machine) = &mut self.stage {
                        hand_over::<R>(now, machine, &plain, handler);
                    }
                }
                // The peer may speak in the flight that ends the handshake: this piece waits until TLS, from which it
                // is borrowed, has reported what was negotiated.
                Stage::Opening(seen) => {
                    seen.extend_from_slice(plain);
                    self.become_ready(now, handler)?;
                }
                Stage::Connecting(_) | Stage::Tunnelling(_) => {}
            }
        }
        if matches!(self.stage, Stage::Opening(_)) {
            self.become_ready(now, handler)?;
        }
        if self.is_early {
            self.end_handshake(now, handler)?;
        }
        if let Stage::Ready(_, machine) = &mut self.stage {
            hand_over_backlog::<R>(now, machine, handler);
        }
        Ok(())
    }

    /// Makes the machine, where what is spoken is known by now and was not before.
    fn become_ready(&mut self, now: Instant, handler: &mut impl Handler<R>) -> Result<(), Failure> {
        let Stage::Opening(seen) = &mut self.stage else { return Ok(()) };
        let is_early = self.layer.is_handshaking();
        if is_early && !self.layer.may_send() {
            return Ok(());
        }
        let tls = self.layer.negotiated();
        let scheme = if self.layer.is_secured() { Scheme::Https } else { Scheme::Http };
        if !is_early && tls.is_some() {
            self.timings.secured.get_or_insert(now);
        }
        let protocol = match (is_early, tls) {
            // A client's early data: nothing is agreed on yet.
            (true, None) => self.role.known(),
            _ => self.role.choose(tls.map(|tls| tls.alpn), seen)?,
        };
        let Some(protocol) = protocol else { return Ok(()) };
        let seen = std::mem::take(seen);
        let made = self.role.machine(now, protocol, scheme);
        let mut machine = made.ok_or(Failure::UnknownProtocol)?;
        self.is_early = is_early;
        let early_data = early_data(is_early, tls);
        let negotiated = Negotiated { protocol, tls, early_data, is_secured: !is_early };
        handler.handle_ready(R::application_mut(&mut machine), negotiated);
        if !seen.is_empty() {
            hand_over::<R>(now, &mut machine, &seen, handler);
        }
        self.stage = Stage::Ready(protocol, machine);
        Ok(())
    }

    /// The connection was ready early: tells that the handshake is over, where it is. What was rejected TLS sends again.
    #[cold]
    fn end_handshake(
        &mut self,
        now: Instant,
        handler: &mut impl Handler<R>,
    ) -> Result<(), Failure> {
        if self.layer.is_handshaking() {
            return Ok(());
        }
        self.is_early = false;
        self.timings.secured = Some(now);
        let tls = self.layer.negotiated();
        // A server that has rejected early data may have chosen another protocol.
        self.role.choose(tls.map(|tls| tls.alpn), &[])?;
        if let Stage::Ready(protocol, machine) = &mut self.stage {
            let negotiated = Negotiated {
                protocol: *protocol,
                tls,
                early_data: early_data(false, tls),
                is_secured: true,
            };
            handler.handle_handshake(R::application_mut(machine), negotiated);
        }
        Ok(())
    }

    fn tls_failure(&self, error: TlsError) -> Failure {
        match self.stage {
            Stage::Ready(..) if !self.is_early => Failure::Tls(error),
            Stage::Ready(..) | Stage::Connecting(_) | Stage::Tunnelling(_) | Stage::Opening(_) => {
                Failure::Handshake(error)
            }
        }
    }

    fn fail(&mut self, failure: Failure) -> Failure {
        self.end = End::Failed;
        failure
    }
}

/// The state of early data.
pub(crate) fn early_data(is_early: bool, tls: Option<secure::Negotiated<'_>>) -> EarlyData {
    match tls.map(|tls| tls.early_data) {
        _ if is_early => EarlyData::Sending,
        None | Some(trace::EarlyData::None) => EarlyData::None,
        Some(trace::EarlyData::Accepted) => EarlyData::Accepted,
        Some(trace::EarlyData::Rejected) => EarlyData::Rejected,
    }
}

/// Has the machine take `plain`, and the handler each event.
#[inline]
fn hand_over<R: Role>(
    now: Instant,
    machine: &mut R::ByteStream,
    plain: &[u8],
    handler: &mut impl Handler<R>,
) {
    let mut input = plain;
    if handler.takes_repeated()
        && let Some(response) = R::take_repeated(R::application_mut(machine), now, &mut input)
    {
        handler.handle_repeated(response);
        if input.is_empty() {
            return;
        }
    }
    loop {
        if !input.is_empty() {
            handler.handle_input(R::application_mut(machine));
        }
        let Some(event) = machine.handle_bytes(now, &mut input) else { break };
        handler.handle_event(R::application_mut(machine), event);
    }
    debug_assert!(input.is_empty(), "a machine takes all bytes");
}

fn hand_over_backlog<R: Role>(
    now: Instant,
    machine: &mut R::ByteStream,
    handler: &mut impl Handler<R>,
) {
    loop {
        let backlog = R::take_backlog(R::application_mut(machine));
        if backlog.is_empty() {
            return;
        }
        hand_over::<R>(now, machine, &backlog, handler);
    }
}

impl<R: Role> fmt::Debug for StreamConnection<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamConnection")
            .field("phase", &self.phase())
            .field("protocol", &self.protocol())
            .field("timings", &self.timings)
            .field("traffic", &self.traffic)
            .finish_non_exhaustive()
    }
}
