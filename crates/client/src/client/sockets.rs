//! The connections' way: opened for the pool, secured, fed, and closed.

use super::{Client, Phase};
use crate::carrier::{Carrier, Life, Slot, Stage, Told};
use crate::failure::{Failure, Place};
use crate::fetch::{Acted, FetchId};
use crate::pool::{Load, OriginId, Standing};
use crate::transport::Protocol;
use crate::work::Work;
use endpoint::{Accepted, Action, EndPoint, SendBuf, SocketError, SocketId};
use page::Scheme;
use proto::ConnectionState;
use secure::{Layer, Tls, TlsError};
use std::net::SocketAddr;
use unit::Instant;

impl<W: Work> EndPoint for Client<W> {
    fn handle_accepted(&mut self, _now: Instant, _accepted: Accepted) -> Option<SocketId> {
        None
    }

    fn handle_connected(&mut self, now: Instant, socket: SocketId, _local: SocketAddr) {
        let Some(mut slot) = self.take(socket) else { return };
        let carrier = &mut slot.carrier;
        carrier.record.connected = Some(now);
        let scheme = self.pool.origin(carrier.origin).scheme;
        match (scheme, self.config.transport.known(scheme)) {
            (Scheme::Http, Some(protocol)) => self.ready(now, &mut slot, protocol),
            _ => carrier.stage = Stage::Securing,
        }
        self.put_back(now, slot);
        self.pump(now);
    }

    fn handle_bytes(&mut self, now: Instant, socket: SocketId, bytes: &[u8]) {
        let Some(mut slot) = self.take(socket) else { return };
        if slot.life == Life::Closing {
            self.slots[socket.0] = Some(slot);
            return;
        }
        slot.carrier.heard = now;
        slot.carrier.record.bytes_received += bytes.len() as u64;
        match self.feed(now, &mut slot, bytes) {
            Ok(()) if slot.layer.peer_closed() => self.end_of_input(now, slot),
            Ok(()) => self.put_back(now, slot),
            Err(failure) => self.lose(now, slot, failure),
        }
        self.pump(now);
    }

    fn poll_receive_buffer(&mut self, socket: SocketId) -> Option<&mut [u8]> {
        let slot = self.slots.get_mut(socket.0)?.as_mut()?;
        let is_plain = slot.life == Life::Live && matches!(slot.layer, Layer::Clear);
        if !is_plain || self.config.longest_body.is_some() {
            return None;
        }
        let (stream, left) = slot.carrier.machine()?.direct_receive()?.expected_body()?;
        let id = slot.carrier.exchanges.get(&stream)?.fetch?;
        self.fetches.contains_key(&id).then(|| self.work.poll_room(id, left))?
    }

    fn handle_received(&mut self, now: Instant, socket: SocketId, bytes: usize) {
        let Some(mut slot) = self.take(socket) else { return };
        slot.carrier.heard = now;
        slot.carrier.record.bytes_received += bytes as u64;
        self.filled(now, &mut slot.carrier, bytes);
        self.put_back(now, slot);
        self.pump(now);
    }

    fn handle_eof(&mut self, now: Instant, socket: SocketId) {
        let Some(mut slot) = self.take(socket) else { return };
        if slot.life == Life::Closing {
            self.release(slot);
        } else {
            match slot.layer.handle_eof() {
                // Nothing was under way: how the server says goodbye does not matter.
                Err(error) if !slot.carrier.is_idle() => {
                    let failure = tls_failure(&slot.carrier, error);
                    self.lose(now, slot, failure);
                }
                _ => self.end_of_input(now, slot),
            }
        }
        self.pump(now);
    }

    fn handle_error(&mut self, now: Instant, socket: SocketId, error: SocketError) {
        let Some(mut slot) = self.take(socket) else { return };
        let was_closing = slot.life == Life::Closing;
        slot.life = Life::Gone;
        if was_closing {
            self.release(slot);
        } else {
            let place = slot.carrier.place.clone();
            let failure = match slot.carrier.stage {
                Stage::Connecting if error == SocketError::TimedOut => Failure::ConnectTime {
                    place,
                    within: self.config.timeouts.connect,
                    missing: "TCP",
                },
                Stage::Connecting => Failure::Connect { place, error },
                Stage::Securing | Stage::Open(_) => Failure::Socket { place, error },
            };
            self.lose(now, slot, failure);
        }
        self.pump(now);
    }

    fn poll_transmit(&mut self, now: Instant, socket: SocketId, out: &mut SendBuf, room: usize) {
        let Some(mut slot) = self.take(socket) else { return };
        slot.carrier.poll_transmit(now, &mut slot.layer, out, room);
        match slot.life {
            Life::Closing if !slot.carrier.wants_transmit(&slot.layer) => self.release(slot),
            Life::Closing => self.slots[socket.0] = Some(slot),
            Life::Live | Life::Gone => {
                self.put_back(now, slot);
                self.pump(now);
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if matches!(self.phase, Phase::Leaving { until } if until <= now) {
            return self.leave_at_once();
        }
        if self.wake.take(now) {
            let ids: Vec<_> = self.fetches.keys().copied().collect();
            for id in ids {
                self.check_time(now, id);
            }
            for index in 0..self.slots.len() {
                self.check_connection(now, SocketId(index));
            }
        }
        if self.work.poll_timeout().is_some_and(|due| due <= now) {
            self.work.handle_timeout(now);
        }
        self.pump(now);
    }

    fn handle_stop(&mut self, now: Instant) {
        if self.is_ending() {
            return self.leave_at_once();
        }
        // Nothing is begun any more.
        self.phase = Phase::Leaving { until: now };
        let ids: Vec<_> = self.fetches.keys().copied().collect();
        for id in ids {
            self.end(now, id, Err(Failure::Stopped));
        }
        self.finish(now);
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        match self.phase {
            Phase::Idle => Some(Instant::ZERO),
            Phase::Running => {
                [self.wake.at(), self.work.poll_timeout()].into_iter().flatten().min()
            }
            Phase::Leaving { until } => Some(until),
            Phase::Finished => None,
        }
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }
}

impl<W: Work> Client<W> {
    pub(super) fn take(&mut self, socket: SocketId) -> Option<Slot> {
        self.slots.get_mut(socket.0)?.take()
    }

    /// Begins a connection to an origin.
    pub(super) fn open(&mut self, now: Instant, id: OriginId) {
        let origin = self.pool.origin(id).clone();
        let authority = format!("{}:{}", origin.host, origin.port);
        let remotes = self.config.hosts.find_all(&origin.host, origin.port);
        let tried = self.detours.get(&id).copied().unwrap_or(0);
        let Some(&remote) = remotes.get(tried).or(remotes.first()) else {
            let doomed = self.pool.waiting(id);
            return self.doom(now, doomed, Failure::UnknownHost { host: origin.host });
        };
        let place = Place { authority, remote };
        let layer = match origin.scheme {
            Scheme::Http => Layer::Clear,
            Scheme::Https => match Tls::client(&self.config.tls, &origin.host) {
                Ok(tls) => Layer::secured(tls),
                Err(error) => {
                    let doomed = self.pool.waiting(id);
                    return self.doom(now, doomed, Failure::Handshake { place, error });
                }
            },
        };
        let socket = SocketId(self.free.pop().unwrap_or(self.slots.len()));
        let number = self.next_connection;
        self.next_connection += 1;
        let tracer = self.config.tracer.for_connection(u64::from(number));
        let carrier = Carrier::new(now, (socket, id), (number, place), tracer);
        if socket.0 == self.slots.len() {
            self.slots.push(None);
        }
        self.slots[socket.0] = Some(Slot { layer, carrier, life: Life::Live });
        self.pool.opened(id, socket);
        let within = self.config.timeouts.connect;
        self.wake.by(now + within);
        let mut settings = self.config.socket.clone();
        // A host's addresses share the time, so that a dead one leaves some to the others. RFC 8305 §5 would try
        // them side by side, a quarter of a second apart; one after another is enough where nobody waits
        // at a screen.
        let left = remotes.len().saturating_sub(tried).max(1) as u32;
        settings.connect_timeout = within / left;
        self.actions.push_back(Action::Connect { socket, remote, settings });
    }

    /// The connection takes requests from now on.
    fn ready(&mut self, now: Instant, slot: &mut Slot, protocol: Protocol) {
        let carrier = &mut slot.carrier;
        let machine = protocol.machine(now, &self.config, carrier.tracer.clone());
        carrier.opened(machine, protocol);
        self.pool.learned(carrier.origin, protocol);
    }

    /// TLS is done: what was agreed on decides who speaks.
    fn secured(&mut self, now: Instant, slot: &mut Slot) -> Result<(), Failure> {
        let Some(agreed) = slot.layer.negotiated() else { return Ok(()) };
        slot.carrier.record.secured = Some(now);
        slot.carrier.record.tls = Some(agreed.record());
        let Some(protocol) = self.config.transport.agreed(agreed.alpn) else {
            return Err(Failure::NoAgreement {
                place: slot.carrier.place.clone(),
                offered: self.config.transport.alpn().join(", "),
                chosen: match agreed.alpn {
                    Some(name) => String::from_utf8_lossy(name).into_owned(),
                    None => "none".to_owned(),
                },
            });
        };
        self.ready(now, slot, protocol);
        Ok(())
    }

    /// Takes bytes from the socket up through the layer and the machine.
    fn feed(&mut self, now: Instant, slot: &mut Slot, bytes: &[u8]) -> Result<(), Failure> {
        let mut cipher = bytes;
        loop {
            let Slot { layer, carrier, .. } = slot;
            let plain = match layer.handle_bytes(&mut cipher) {
                Ok(plain) => plain,
                Err(error) => return Err(tls_failure(carrier, error)),
            };
            match plain {
                Some(mut plain) if carrier.missing().is_none() => {
                    self.events(now, carrier, &mut plain);
                }
                Some(plain) => {
                    // The server speaks in the same flight that ends the handshake: this piece has to
                    // wait until the layer, from which it is borrowed, has told what was agreed on.
                    let kept = plain.to_vec();
                    self.secured(now, slot)?;
                    self.events(now, &mut slot.carrier, &mut &kept[..]);
                }
                None => break,
            }
        }
        if slot.carrier.missing().is_some() && !slot.layer.is_handshaking() {
            self.secured(now, slot)?;
        }
        Ok(())
    }

    /// The server will send nothing more.
    fn end_of_input(&mut self, now: Instant, mut slot: Slot) {
        if let Some(machine) = slot.carrier.machine() {
            machine.handle_eof(now);
            self.events(now, &mut slot.carrier, &mut &[][..]);
            self.settle(now, &mut slot.carrier);
            return self.retire(now, slot);
        }
        let place = slot.carrier.place.clone();
        self.lose(now, slot, Failure::Closed { place });
    }

    /// A connection is lost, and `failure` tells why.
    pub(super) fn lose(&mut self, now: Instant, mut slot: Slot, failure: Failure) {
        self.settle(now, &mut slot.carrier);
        let exchanges = std::mem::take(&mut slot.carrier.exchanges);
        let (origin, socket) = (slot.carrier.origin, slot.carrier.socket);
        if self.turns_to_another_address(&slot) {
            self.pool.closed(origin, socket);
            return self.retire(now, slot);
        }
        if slot.carrier.missing().is_some() {
            self.detours.remove(&origin);
            let doomed = self.pool.failed(origin, socket);
            self.retire(now, slot);
            return self.doom(now, doomed, failure);
        }
        self.retire(now, slot);
        for exchange in exchanges.into_values() {
            let acted = exchange.acted();
            if let Some(fetch) = exchange.fetch {
                self.let_down(now, fetch, acted, failure.clone());
            }
        }
    }

    /// Whether a connect that failed is followed by one to the host's next address.
    fn turns_to_another_address(&mut self, slot: &Slot) -> bool {
        if !matches!(slot.carrier.stage, Stage::Connecting) || slot.life != Life::Gone {
            return false;
        }
        let origin = self.pool.origin(slot.carrier.origin);
        let remotes = self.config.hosts.find_all(&origin.host, origin.port);
        let place = remotes.iter().position(|remote| *remote == slot.carrier.place.remote);
        let next = place.map_or(0, |place| place + 1);
        if next >= remotes.len() {
            return false;
        }
        let tried = self.detours.entry(slot.carrier.origin).or_default();
        *tried = next.max(*tried);
        true
    }

    /// Fails fetches for which there will be no connection.
    fn doom(&mut self, now: Instant, fetches: Vec<FetchId>, failure: Failure) {
        for fetch in fetches {
            self.end(now, fetch, Err(failure.clone()));
        }
    }

    /// Ends a connection: records it, and closes its socket once what it owes is out.
    pub(super) fn retire(&mut self, now: Instant, mut slot: Slot) {
        let carrier = &mut slot.carrier;
        let exchanges = std::mem::take(&mut carrier.exchanges);
        let (origin, place) = (carrier.origin, carrier.place.clone());
        carrier.record.closed = Some(now);
        // Where it never came to a protocol there were no heads.
        let headers = carrier.machine().map(|machine| machine.header_bytes());
        carrier.record.headers = Some(headers.unwrap_or_default());
        self.work.handle_connection_end(carrier.record.clone());
        self.pool.closed(origin, carrier.socket);
        if slot.life == Life::Live && carrier.missing().is_none() {
            slot.layer.close_notify();
        }
        let owes = carrier.may_transmit(&slot.layer);
        if slot.life == Life::Live && owes && !self.is_ending() {
            slot.life = Life::Closing;
            let socket = slot.carrier.socket;
            if slot.carrier.told == Told::No {
                slot.carrier.told = Told::Yes;
                self.actions.push_back(Action::Transmit(socket));
            }
            self.slots[socket.0] = Some(slot);
        } else {
            self.release(slot);
        }
        for exchange in exchanges.into_values() {
            let acted = exchange.acted();
            if let Some(fetch) = exchange.fetch {
                let place = place.clone();
                self.let_down(now, fetch, acted, Failure::Closed { place });
            }
        }
    }

    /// Lets the socket go; its number is free.
    pub(super) fn release(&mut self, slot: Slot) {
        let socket = slot.carrier.socket;
        if slot.life != Life::Gone {
            self.actions.push_back(Action::Close(socket));
        }
        self.free.push(socket.0);
        self.leave();
    }

    /// Closes the connections of an origin that wait for a request: one of their kind turned out dead.
    pub(super) fn close_idle(&mut self, now: Instant, origin: OriginId) {
        for index in 0..self.slots.len() {
            let is_idle = self.slots[index].as_ref().is_some_and(|slot| {
                let carrier = &slot.carrier;
                carrier.origin == origin
                    && slot.life == Life::Live
                    && carrier.missing().is_none()
                    && carrier.record.requests > 0
                    && carrier.exchanges.is_empty()
                    && carrier.record.protocol == Protocol::Http1.name()
            });
            if is_idle && let Some(slot) = self.slots[index].take() {
                self.retire(now, slot);
            }
        }
    }

    /// Looks whether a connection's time has come: its machine's time-out, or the end of patience with
    /// its connect.
    fn check_connection(&mut self, now: Instant, socket: SocketId) {
        let Some(mut slot) = self.take(socket) else { return };
        let within = self.config.timeouts.connect;
        if slot.life != Life::Live {
            self.slots[socket.0] = Some(slot);
            return;
        }
        if slot.carrier.due(within).is_some_and(|due| due <= now) {
            if let Some(missing) = slot.carrier.missing() {
                let place = slot.carrier.place.clone();
                return self.lose(now, slot, Failure::ConnectTime { place, within, missing });
            }
            if let Some(machine) = slot.carrier.machine() {
                machine.handle_timeout(now);
            }
        }
        self.look(now, &mut slot.carrier);
        self.put_back(now, slot);
    }

    /// Where a connection stands for the pool.
    pub(super) fn rank(&mut self, carrier: &mut Carrier) {
        let (origin, socket) = (carrier.origin, carrier.socket);
        let settles = carrier.settles();
        let Some(machine) = carrier.machine() else { return };
        let standing = match machine.state() {
            ConnectionState::Open => {
                let room = if settles { 0 } else { machine.available_streams() };
                let load = if carrier.exchanges.is_empty() { Load::Idle } else { Load::Busy };
                Standing::Open { room, load }
            }
            ConnectionState::Draining | ConnectionState::Closed => Standing::Draining,
        };
        self.pool.stands(origin, socket, standing);
    }
}

fn tls_failure(carrier: &Carrier, error: TlsError) -> Failure {
    let place = carrier.place.clone();
    match carrier.stage {
        Stage::Open(_) => Failure::Tls { place, error },
        Stage::Connecting | Stage::Securing => Failure::Handshake { place, error },
    }
}

impl crate::carrier::Exchange {
    /// What is known of a request whose connection went away without a word.
    pub(super) fn acted(&self) -> Acted {
        match self.turn {
            crate::carrier::Turn::First => Acted::Certainly,
            crate::carrier::Turn::Later => Acted::Perhaps,
        }
    }
}
