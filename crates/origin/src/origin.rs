//! The end point: all connections of one thread, their timers, and shutdown.

use crate::budget::{BudgetLimits, Excess, PeerAddress};
use crate::config::{ListenerKind, OriginConfig};
use crate::connection::{Connection, QuicPlace, QuicSpec, Spec};
use crate::shared::{Parts, Shared};
use crate::timers::{Key, Timers};
use crate::upstream::{SOCKET_STRIDE, Upstream};
use endpoint::{
    Accepted, Action, Bound, DatagramTransmit, EndPoint, ReceivedDatagrams, SendBuf, SocketError,
    SocketId,
};
use slab::Slab;
use std::collections::{HashMap, VecDeque};
use std::iter;
use std::net::SocketAddr;
use transport::{Admission, Arrival, Lifetime, Protocol, QuicPort, QuicSocket};
use unit::Instant;

/// Our server, without sockets.
#[derive(Debug)]
pub struct Origin {
    shared: Shared,
    connections: Slab<Connection>,
    /// Their places by their numbers; empty where there is no application server.
    places: HashMap<u64, usize>,
    /// The UDP sockets among its listeners.
    quic: Vec<QuicPort>,
    /// Numbers of sockets that are kept for them: each has its listener's.
    reserved: usize,
    timers: Timers,
    actions: VecDeque<Action>,
    stop: Stop,
}

/// So many small answers are made into datagrams before more is received. What each takes until then is some kilobytes, and with a
/// thousand requests under way would have left the processor's caches.
const MANY_ANSWERS: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// The origin runs.
    Never,
    /// The origin is stopping: requests in progress may take until then.
    By(Instant),
    /// `Action::Finish` was given.
    Done,
}

impl Origin {
    /// An origin without connections.
    pub fn new(config: OriginConfig, parts: Parts) -> Self {
        let is_udp = |kind: &ListenerKind| matches!(kind, ListenerKind::Quic(..));
        let reserved = config.listeners.iter().rposition(is_udp).map_or(0, |last| last + 1);
        page::Padding::prepare();
        // The first of the application's sockets comes after the first client's.
        let upstream = config.upstream.clone();
        let upstream = upstream.map(|settings| Box::new(Upstream::new(settings, reserved + 1)));
        Self {
            reserved,
            shared: Shared::new(config, parts, upstream),
            connections: Slab::new(),
            places: HashMap::new(),
            quic: Vec::new(),
            timers: Timers::default(),
            actions: VecDeque::new(),
            stop: Stop::Never,
        }
    }

    /// The number of open connections.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// The socket of a connection over TCP. The first numbers may belong to UDP sockets.
    fn socket_of(&self, place: usize) -> SocketId {
        SocketId(place * self.stride() + self.reserved)
    }

    fn place_of(&self, socket: SocketId) -> Option<usize> {
        let offset = socket.0.checked_sub(self.reserved)?;
        (offset % self.stride() == 0).then_some(offset / self.stride())
    }

    /// From one client's socket to the next.
    #[inline]
    fn stride(&self) -> usize {
        if self.shared.upstream.is_some() { SOCKET_STRIDE } else { 1 }
    }

    /// The connection to the application that a socket is; None for a client's.
    #[inline]
    fn upstream_of(&mut self, socket: SocketId) -> Option<(&mut Upstream, usize)> {
        let upstream = self.shared.upstream.as_deref_mut()?;
        let place = upstream.find(socket)?;
        Some((upstream, place))
    }

    /// Runs after every call that may have changed the application's side: what it has for clients goes to them, and what
    /// it wants of its sockets to the driver.
    #[inline]
    fn settle_upstream(&mut self, now: Instant) {
        if self.shared.upstream.is_some() {
            self.pass_on(now);
        }
    }

    fn pass_on(&mut self, now: Instant) {
        while let Some(upstream) = self.shared.upstream.as_deref_mut() {
            self.actions.extend(iter::from_fn(|| upstream.poll_action()));
            let Some((id, event)) = upstream.poll_event() else { break };
            let Some(&place) = self.places.get(&id.connection) else { continue };
            self.connections[place].handle_upstream(now, &mut self.shared, id, event);
            let peer = self.connections[place].peer;
            self.settle(place);
            self.keep_within_budgets(now, peer);
        }
    }

    /// Runs after every call that may have changed a connection.
    fn settle(&mut self, place: usize) {
        if let Some(now) = self.shared.visit_over.take() {
            self.end_others(now, place);
        }
        let socket = self.socket_of(place);
        let Some(connection) = self.connections.get_mut(place) else { return };
        if let Some(at) = connection.quic {
            return self.settle_quic(place, at);
        }
        if connection.wants_transmit() {
            self.actions.push_back(Action::Transmit(socket));
        } else {
            match connection.next_step(socket) {
                Some(Action::Close(_)) => {
                    self.actions.push_back(Action::Close(socket));
                    return self.forget(place);
                }
                Some(step) => self.actions.push_back(step),
                None => {}
            }
        }
        if let Some(change) = connection.next_pause(socket) {
            self.actions.push_back(change);
        }
        connection.arm(place, &self.shared.config.limits, &mut self.timers);
    }

    /// Shuts all connections down but the one at `place`.
    fn end_others(&mut self, now: Instant, place: usize) {
        let others: Vec<usize> = self
            .connections
            .iter()
            .map(|(other, _)| other)
            .filter(|other| *other != place)
            .collect();
        for other in others {
            if let Some(connection) = self.connections.get_mut(other) {
                connection.shutdown(now, &mut self.shared);
                self.settle(other);
            }
        }
    }

    fn settle_quic(&mut self, place: usize, at: QuicPlace) {
        let Some(connection) = self.connections.get_mut(place) else { return };
        let port = &mut self.quic[at.port];
        if connection.settle_quic(&mut port.quic) == Lifetime::Over {
            port.places.remove(&at.handle);
            return self.forget(place);
        }
        // Once it has nothing to send, `poll_datagrams` arms its timer.
        port.add_ready(place);
        self.transmit_quic(at.port);
        self.finish_when_empty();
    }

    fn transmit_quic(&mut self, port: usize) {
        let port = &mut self.quic[port];
        if port.poll_wants_transmit() {
            self.actions.push_back(Action::Transmit(port.socket));
        }
    }

    fn quic_port(&self, socket: SocketId) -> Option<usize> {
        self.quic.iter().position(|port| port.socket == socket)
    }

    /// A datagram has brought something.
    fn handle_arrival(&mut self, now: Instant, port: usize, arrival: Arrival) {
        let place = match arrival {
            Arrival::Opened(link) => {
                self.tidy();
                let serial = self.shared.config.across_threads.next_connection();
                let handle = link.handle();
                let at = QuicPlace { port, handle };
                let spec = QuicSpec { serial, place: at, link };
                let connection = Connection::accept_quic(now, spec, &mut self.shared);
                let place = self.insert(connection);
                self.quic[port].places.insert(handle, place);
                place
            }
            Arrival::Input(handle, input) => {
                let Some(&place) = self.quic[port].places.get(&handle) else { return };
                let Some(connection) = self.connections.get_mut(place) else { return };
                connection.handle_input(now, &mut self.shared, input);
                place
            }
        };
        let peer = self.connections.get(place).map(|connection| connection.peer);
        self.settle(place);
        if let Some(peer) = peer {
            self.keep_within_budgets(now, peer);
        }
    }

    fn insert(&mut self, connection: Connection) -> usize {
        let serial = connection.serial;
        let place = self.connections.insert(connection);
        if self.shared.upstream.is_some() {
            self.places.insert(serial, place);
        }
        place
    }

    fn remove(&mut self, place: usize) -> Option<Connection> {
        let connection = self.connections.try_remove(place)?;
        if self.shared.upstream.is_some() {
            self.places.remove(&connection.serial);
        }
        Some(connection)
    }

    fn forget(&mut self, place: usize) {
        if let Some(mut connection) = self.remove(place) {
            connection.close_account(&mut self.shared);
        }
        self.finish_when_empty();
    }

    /// Resets the connections that hold most, while all of them, or those of this peer, hold too much.
    #[inline]
    fn keep_within_budgets(&mut self, now: Instant, peer: PeerAddress) {
        let limits = self.shared.config.limits.budgets();
        // No peer holds more than all together, and no thread less than one of its peers may.
        if self.shared.budgets.held() > limits.peer.min(limits.thread) {
            self.end_what_holds_most(now, peer, limits);
        }
    }

    fn end_what_holds_most(&mut self, now: Instant, peer: PeerAddress, limits: BudgetLimits) {
        while let Some(excess) = self.shared.budgets.excess(peer, limits) {
            let counts =
                |connection: &Connection| excess == Excess::Thread || connection.peer == peer;
            let candidates = self.connections.iter().filter(|(_, connection)| counts(connection));
            let most = candidates.max_by_key(|(_, connection)| connection.held());
            let Some((place, _)) = most else { return };
            self.abort(now, place);
        }
    }

    /// Before a new connection is added: forgets what was queued for closed ones.
    fn tidy(&mut self) {
        let connections = &self.connections;
        self.timers.tidy(connections.len(), |at, key| {
            let awaits = |connection: &Connection| {
                connection.serial == key.serial && connection.armed == Some(at)
            };
            connections.get(key.place).is_some_and(awaits)
        });
    }

    fn finish_when_empty(&mut self) {
        let has_ended = |(_, connection): (usize, &Connection)| connection.has_ended();
        if matches!(self.stop, Stop::By(_)) && self.connections.iter().all(has_ended) {
            self.stop = Stop::Done;
            self.connections.iter_mut().for_each(|(_, ended)| ended.tell_tally(&self.shared));
            self.actions.push_back(Action::Finish);
        }
    }

    fn handle_alarm(&mut self, now: Instant, at: Instant, key: Key) {
        let Some(connection) = self.connections.get_mut(key.place) else { return };
        if connection.serial != key.serial || connection.armed != Some(at) {
            return;
        }
        connection.armed = None;
        if connection.handle_timeout(now, &mut self.shared).is_break() {
            return self.abort(now, key.place);
        }
        let peer = connection.peer;
        self.settle(key.place);
        self.keep_within_budgets(now, peer);
    }

    fn abort(&mut self, now: Instant, place: usize) {
        let socket = self.socket_of(place);
        if let Some(connection) = self.connections.get_mut(place)
            && connection.quic.is_some()
        {
            connection.cut_off(now, &mut self.shared);
            connection.close_account(&mut self.shared);
            connection.close();
            return self.settle(place);
        }
        if let Some(mut connection) = self.remove(place) {
            connection.cut_off(now, &mut self.shared);
            connection.close_account(&mut self.shared);
            self.actions.push_back(Action::Abort(socket));
            self.finish_when_empty();
        }
    }

    fn abort_all(&mut self, now: Instant) {
        let places: Vec<usize> = self.connections.iter().map(|(place, _)| place).collect();
        for place in places {
            self.abort(now, place);
        }
        self.finish_when_empty();
    }
}

impl EndPoint for Origin {
    fn handle_accepted(&mut self, now: Instant, accepted: Accepted) -> Option<SocketId> {
        if self.connections.len() >= self.shared.config.limits.connections {
            return None;
        }
        let tls = match self.shared.config.listeners.get(accepted.listener)? {
            ListenerKind::Clear => None,
            ListenerKind::Tls(settings) => Some(settings),
            ListenerKind::Quic(..) => return None,
        };
        let serial = self.shared.config.across_threads.next_connection();
        let peer = accepted.remote.ip().into();
        let connection = Connection::accept(now, Spec { serial, peer, tls }, &self.shared).ok()?;
        self.tidy();
        let place = self.insert(connection);
        self.connections[place].arm(place, &self.shared.config.limits, &mut self.timers);
        Some(self.socket_of(place))
    }

    fn handle_bound(&mut self, _now: Instant, bound: Bound) -> Option<SocketId> {
        let kind = self.shared.config.listeners.get(bound.listener)?;
        let ListenerKind::Quic(tls, settings) = kind else { return None };
        let tls = tls.for_quic(Protocol::Http3.alpn()).ok()?.observed_by(&self.shared.tracer);
        let socket = SocketId(bound.listener);
        self.quic.push(QuicPort::new(socket, QuicSocket::server(settings, tls)));
        Some(socket)
    }

    fn handle_datagrams(
        &mut self,
        now: Instant,
        socket: SocketId,
        mut received: ReceivedDatagrams,
    ) {
        let Some(port) = self.quic_port(socket) else { return };
        // One that stops takes no more connections, as over TCP.
        let is_full = self.stop != Stop::Never
            || self.connections.len() >= self.shared.config.limits.connections;
        let admission = if is_full { Admission::Full } else { Admission::Open };
        loop {
            let quic = &mut self.quic[port].quic;
            let Some(arrival) = quic.handle_datagrams(now, &mut received, admission) else { break };
            self.handle_arrival(now, port, arrival);
        }
        self.transmit_quic(port);
        self.settle_upstream(now);
    }

    fn poll_datagrams(
        &mut self,
        now: Instant,
        socket: SocketId,
        out: &mut Vec<u8>,
        max_datagrams: usize,
    ) -> Option<DatagramTransmit> {
        let port = self.quic_port(socket)?;
        if let Some(answer) = self.quic[port].quic.poll_answer(out) {
            return Some(answer);
        }
        while let Some(place) = self.quic[port].next_ready() {
            let Some(connection) = self.connections.get_mut(place) else { continue };
            let transmit = connection.poll_datagrams(now, &mut self.shared, out, max_datagrams);
            if transmit.is_some() {
                self.quic[port].go_on(place);
                self.settle_upstream(now);
                return transmit;
            }
            // Not before: the driver asks until there is nothing more.
            connection.arm(place, &self.shared.config.limits, &mut self.timers);
        }
        self.quic[port].stop_transmitting();
        self.shared.small_answers = 0;
        self.finish_when_empty();
        self.settle_upstream(now);
        None
    }

    fn handle_connected(&mut self, now: Instant, socket: SocketId, _local: SocketAddr) {
        if let Some((upstream, place)) = self.upstream_of(socket) {
            upstream.handle_connected(now, place);
            self.settle_upstream(now);
        }
    }

    fn handle_bytes(&mut self, now: Instant, socket: SocketId, bytes: &[u8]) {
        if let Some((upstream, place)) = self.upstream_of(socket) {
            upstream.handle_bytes(now, place, bytes);
            return self.settle_upstream(now);
        }
        let Some(place) = self.place_of(socket) else { return };
        if let Some(connection) = self.connections.get_mut(place) {
            connection.handle_bytes(now, &mut self.shared, bytes);
            let peer = connection.peer;
            self.settle(place);
            self.keep_within_budgets(now, peer);
            self.settle_upstream(now);
        }
    }

    fn handle_eof(&mut self, now: Instant, socket: SocketId) {
        if let Some((upstream, place)) = self.upstream_of(socket) {
            upstream.handle_eof(now, place);
            return self.settle_upstream(now);
        }
        let Some(place) = self.place_of(socket) else { return };
        if let Some(connection) = self.connections.get_mut(place) {
            connection.handle_eof(now, &mut self.shared);
            self.settle(place);
            self.settle_upstream(now);
        }
    }

    fn handle_error(&mut self, now: Instant, socket: SocketId, error: SocketError) {
        if let Some((upstream, place)) = self.upstream_of(socket) {
            upstream.handle_error(now, place, error);
            return self.settle_upstream(now);
        }
        let Some(place) = self.place_of(socket) else { return };
        if let Some(mut connection) = self.remove(place) {
            connection.cut_off(now, &mut self.shared);
            connection.close_account(&mut self.shared);
            self.finish_when_empty();
            self.settle_upstream(now);
        }
    }

    fn poll_transmit(&mut self, now: Instant, socket: SocketId, out: &mut SendBuf, limit: usize) {
        if let Some((upstream, place)) = self.upstream_of(socket) {
            upstream.poll_transmit(now, place, out, limit);
            return self.settle_upstream(now);
        }
        let Some(place) = self.place_of(socket) else { return };
        if let Some(connection) = self.connections.get_mut(place) {
            connection.poll_transmit(now, &mut self.shared, out, limit);
            // The driver calls until there are no bytes; then the next action is due.
            if !connection.wants_transmit() {
                self.settle(place);
            } else {
                if let Some(change) = connection.next_pause(socket) {
                    self.actions.push_back(change);
                }
                connection.arm(place, &self.shared.config.limits, &mut self.timers);
            }
            self.settle_upstream(now);
        }
    }

    fn has_much_to_send(&self, socket: SocketId) -> bool {
        self.shared.small_answers >= MANY_ANSWERS && self.quic_port(socket).is_some()
    }

    fn wants_transmit(&self, socket: SocketId) -> bool {
        if let Some(upstream) = &self.shared.upstream
            && let Some(place) = upstream.find(socket)
        {
            return upstream.wants_transmit(place);
        }
        match self.place_of(socket) {
            Some(place) => self.connections.get(place).is_some_and(Connection::wants_transmit),
            None => self.quic_port(socket).is_some_and(|port| self.quic[port].is_transmitting()),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some((at, key)) = self.timers.pop(now) {
            self.handle_alarm(now, at, key);
        }
        if let Some(upstream) = &mut self.shared.upstream {
            upstream.handle_timeout(now);
        }
        if matches!(self.stop, Stop::By(at) if at <= now) {
            self.abort_all(now);
        }
        self.settle_upstream(now);
    }

    fn handle_stop(&mut self, now: Instant) {
        if self.stop != Stop::Never {
            return self.abort_all(now);
        }
        self.stop = Stop::By(now + self.shared.config.limits.drain);
        let places: Vec<usize> = self.connections.iter().map(|(place, _)| place).collect();
        for place in places {
            if let Some(connection) = self.connections.get_mut(place) {
                connection.drain(now, &mut self.shared);
                self.settle(place);
            }
        }
        self.finish_when_empty();
        self.settle_upstream(now);
    }

    fn handle_progress(&mut self, now: Instant, socket: SocketId) {
        let Some(place) = self.place_of(socket) else { return };
        if let Some(connection) = self.connections.get_mut(place) {
            connection.handle_progress(now);
        }
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        let stop = match self.stop {
            Stop::By(at) => Some(at),
            Stop::Never | Stop::Done => None,
        };
        let upstream = self.shared.upstream.as_deref_mut().and_then(Upstream::poll_timeout);
        [self.timers.next(), stop, upstream].into_iter().flatten().min()
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }
}
