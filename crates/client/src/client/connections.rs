//! Opens the connections that the pool asks for, and closes them.

use super::race::Network;
use super::{Client, LAST_WORDS, Phase, socket_of};
use crate::connection::{Exchanges, PooledConnection};
use crate::failure::{Destination, Failure};
use crate::fetch::Fetch;
use crate::pool::{Load, MemberState, Origin, OriginId};
use crate::transport_choice::security;
use crate::{ClientConfig, FetchId, Work};
use endpoint::{Action, ConnectionId};
use page::{Scheme, Url};
use proto::{ConnectionState, StreamId};
use std::net::SocketAddr;
use transport::{
    ClientMachine, ClientSpec, Connection, Phase as ConnectionPhase, Protocol, Truncation, Tunnel,
};
use unit::Instant;

impl<W: Work> Client<W> {
    pub(super) fn take(&mut self, id: ConnectionId) -> Option<PooledConnection> {
        self.connections.get_mut(id.0)?.take()
    }

    pub(super) fn keep(&mut self, connection: PooledConnection) {
        let index = connection.exchanges.connection.0;
        self.connections[index] = Some(connection);
    }

    /// Begins a connection to the origin of `url`, where it has none and its address is known.
    pub(super) fn preconnect(&mut self, now: Instant, url: &Url) {
        let id = self.pool_origin(url);
        let origin = self.pool.origin(id);
        if self.reachable(origin).is_ok() && self.pool.may_open(id) {
            self.begin(now, id);
        }
    }

    /// The addresses of an origin, or of the proxy for it.
    fn remotes(&self, origin: &Origin) -> Vec<SocketAddr> {
        let Self { config: ClientConfig { hosts, proxies, .. }, .. } = self;
        match proxies.find(origin.scheme, &origin.host) {
            Some(proxy) => hosts.find_all(&proxy.host, proxy.port),
            None => hosts.find_all(&origin.host, origin.port),
        }
    }

    /// Whether there is a way to an origin.
    pub(super) fn reachable(&self, origin: &Origin) -> Result<(), Failure> {
        let proxy = self.config.proxies.find(origin.scheme, &origin.host);
        let host = proxy.map_or(&origin.host, |proxy| &proxy.host).clone();
        self.config.unproxied(origin.scheme, &origin.host).map_or(Ok(()), Err)?;
        match self.remotes(origin).is_empty() {
            true => Err(Failure::UnknownHost { host }),
            false => Ok(()),
        }
    }

    /// Opens a connection to an origin, over QUIC or over TCP.
    pub(super) fn open(&mut self, now: Instant, id: OriginId, over: Network) {
        let origin = self.pool.origin(id).clone();
        let authority = format!("{}:{}", origin.host, origin.port).into();
        let remotes = self.remotes(&origin);
        let tried = self.detours.get(&id).copied().unwrap_or(0);
        let Some(&remote) = remotes.get(tried).or(remotes.first()) else {
            let doomed = self.pool.waiting(id);
            return self.doom(now, doomed, Failure::UnknownHost { host: origin.host });
        };
        let proxy = self.config.proxies.find(origin.scheme, &origin.host);
        let proxy = proxy.map(|proxy| proxy.to_string().into());
        let destination = Destination { authority, remote, proxy };
        let number = self.next_connection;
        let within = self.config.timeouts.connect;
        // A host's addresses share the time limit, so that a dead one leaves time for the others. RFC 8305 §5 tries
        // them in parallel, a quarter of a second apart. Here one after another is enough: nobody waits at a screen.
        let share = within / remotes.len().saturating_sub(tried).max(1) as u32;
        let opened = match over {
            Network::Quic => self
                .quic_to(now, &origin.host, remote, share)
                .map(|(transport, port)| (transport, Some(port))),
            Network::Tcp => {
                let opened = self.stream_to(now, &origin, &destination.authority);
                opened.map(|transport| (transport, None))
            }
        };
        let (transport, port) = match opened {
            Ok(opened) => opened,
            Err(failure) => {
                let failure = Failure::of_transport(&destination, failure, &self.settings);
                let doomed = self.pool.waiting(id);
                return self.doom(now, doomed, failure);
            }
        };
        self.next_connection += 1;
        let connection = ConnectionId(self.free.pop().unwrap_or(self.connections.len()));
        if connection.0 == self.connections.len() {
            self.connections.push(None);
        }
        let mut exchanges = Exchanges::new(now, connection, id, destination);
        exchanges.record.id = number;
        let socket = socket_of(connection);
        let over_tcp = port.is_none().then_some(socket);
        let mut opened = PooledConnection { transport, exchanges, socket: over_tcp, port };
        self.pool.opened(id, connection);
        self.wake.by(now + within);
        if port.is_some() {
            self.place_quic(&mut opened);
            let begun = self.drive(now, &mut opened, |transport, events| {
                transport.handle_connected(now, events)
            });
            return match begun {
                Ok(()) => self.put_back(now, opened),
                Err(failure) => self.fail(now, opened, failure),
            };
        }
        self.keep(opened);
        let mut settings = self.config.socket.clone();
        settings.connect_timeout = share;
        self.actions.push_back(Action::Connect { socket, remote, settings });
    }

    /// A connection over TCP that is still to be connected.
    fn stream_to(
        &self,
        now: Instant,
        origin: &Origin,
        authority: &str,
    ) -> Result<Connection<transport::Client>, transport::Failure> {
        let spec = ClientSpec {
            security: security(&self.config, origin.scheme, &origin.host, origin.port),
            settings: self.settings.clone(),
            tracer: self.config.tracer.for_connection(u64::from(self.next_connection)),
        };
        // In the clear a proxy is asked for whole URLs.
        let is_tunnelled = origin.scheme == Scheme::Https;
        match self.config.proxies.find(origin.scheme, &origin.host).filter(|_| is_tunnelled) {
            Some(proxy) => {
                let authorization = proxy.authorization.as_deref();
                let tunnel = Tunnel::new(now, authority.to_owned(), authorization)?;
                Connection::open_through(now, spec, tunnel)
            }
            None => Connection::open(now, spec),
        }
    }

    /// The server will send nothing more.
    pub(super) fn end_of_input(&mut self, now: Instant, mut connection: PooledConnection) {
        // With nothing in flight, a missing close_notify does not matter.
        let truncation = if connection.is_idle() { Truncation::Ignored } else { Truncation::Fails };
        let ended = self.drive(now, &mut connection, |transport, events| {
            transport.handle_eof(now, truncation, events)
        });
        match ended {
            Ok(()) => {
                self.settle(now, &mut connection);
                self.retire(now, connection);
            }
            Err(failure) => self.fail(now, connection, failure),
        }
    }

    /// A connection's transport has failed.
    pub(super) fn fail(
        &mut self,
        now: Instant,
        connection: PooledConnection,
        failure: transport::Failure,
    ) {
        let destination = &connection.exchanges.destination;
        let failure = match failure {
            transport::Failure::TimedOut { .. } if connection.is_unheard() => {
                Failure::unanswered(destination, &self.settings)
            }
            failure => Failure::of_transport(destination, failure, &self.settings),
        };
        self.lose(now, connection, failure);
    }

    /// Handles the loss of a connection, with the reason in `failure`.
    pub(super) fn lose(
        &mut self,
        now: Instant,
        mut connection: PooledConnection,
        failure: Failure,
    ) {
        self.settle(now, &mut connection);
        let streams = std::mem::take(&mut connection.exchanges.streams);
        let (origin, id) = (connection.exchanges.origin, connection.exchanges.connection);
        if self.turns_to_another_address(&connection, &failure) {
            self.pool.closed(origin, id);
            return self.retire(now, connection);
        }
        if !connection.is_ready() && self.tcp_takes_over(now, &connection) {
            self.pool.closed(origin, id);
            return self.retire(now, connection);
        }
        if !connection.is_ready() {
            self.detours.remove(&origin);
            let waiting = self.pool.failed(origin, id);
            let is_cut = connection.port.is_none() && self.makes_again(&failure);
            self.retire(now, connection);
            return match is_cut {
                true => self.await_another(now, waiting, &failure),
                false => self.doom(now, waiting, failure),
            };
        }
        self.retire(now, connection);
        for exchange in streams.into_values() {
            let acted = exchange.acted();
            if let Some(fetch) = exchange.fetch {
                self.let_down(now, fetch, acted, failure.clone());
            }
        }
    }

    /// Whether a failed connect is followed by one to the host's next address.
    fn turns_to_another_address(
        &mut self,
        connection: &PooledConnection,
        failure: &Failure,
    ) -> bool {
        let is_connecting = match failure {
            Failure::Connect { .. } => true,
            // In a race TCP is on its way to this address.
            Failure::Unanswered { .. } => self.config.race.is_none(),
            _ => connection.transport.phase() == ConnectionPhase::Connecting,
        };
        if !is_connecting || connection.socket.is_some() {
            return false;
        }
        let exchanges = &connection.exchanges;
        let origin = self.pool.origin(exchanges.origin);
        let remotes = self.remotes(origin);
        let tried = remotes.iter().position(|remote| *remote == exchanges.destination.remote);
        let next = tried.map_or(0, |tried| tried + 1);
        if next >= remotes.len() {
            return false;
        }
        let detour = self.detours.entry(exchanges.origin).or_default();
        *detour = next.max(*detour);
        true
    }

    /// Fails fetches that will get no connection.
    fn doom(&mut self, now: Instant, fetches: Vec<FetchId>, failure: Failure) {
        for fetch in fetches {
            self.end(now, fetch, Err(failure.clone()));
        }
    }

    /// A handshake over TCP was cut, for which these fetches waited. Nothing of them was sent, so that they may wait for another one.
    fn await_another(&mut self, now: Instant, fetches: Vec<FetchId>, failure: &Failure) {
        for id in fetches {
            if self.fetches.get_mut(&id).is_some_and(Fetch::wait_again) {
                self.admit(now, id);
            } else {
                self.end(now, id, Err(failure.clone()));
            }
        }
    }

    /// Ends a connection: records it, and closes its socket once its last bytes are sent.
    pub(super) fn retire(&mut self, now: Instant, mut connection: PooledConnection) {
        let streams = std::mem::take(&mut connection.exchanges.streams);
        let deferred = std::mem::take(&mut connection.exchanges.deferred);
        let early_sockets = std::mem::take(&mut connection.exchanges.early_sockets);
        let destination = connection.exchanges.destination.clone();
        self.work.handle_connection_end(connection.record(now));
        self.pool.closed(connection.exchanges.origin, connection.exchanges.connection);
        connection.transport.close();
        let owes = connection.transport.wants_transmit();
        match connection.socket {
            Some(socket) if owes && !self.is_ending() => {
                if connection.transport.poll_wants_transmit() {
                    self.actions.push_back(Action::Transmit(socket));
                }
                self.keep(connection);
            }
            None if owes && connection.port.is_some() => self.settle_quic(connection),
            _ => self.release(connection),
        }
        for fetch in deferred {
            self.admit_deferred(now, fetch);
        }
        for id in early_sockets {
            if self.fetches.get_mut(&id).is_some_and(Fetch::wait_again) {
                self.admit_deferred(now, id);
            } else {
                self.end(now, id, Err(Failure::Closed { destination: destination.clone() }));
            }
        }
        for exchange in streams.into_values() {
            let acted = exchange.acted();
            if let Some(fetch) = exchange.fetch {
                let destination = destination.clone();
                self.let_down(now, fetch, acted, Failure::Closed { destination });
            }
        }
    }

    /// Frees the connection, its socket and their numbers.
    pub(super) fn release(&mut self, mut connection: PooledConnection) {
        self.forget_quic(&mut connection);
        if let Some(socket) = connection.socket {
            self.actions.push_back(Action::Close(socket));
        }
        self.free.push(connection.exchanges.connection.0);
        self.leave();
    }

    /// Closes the idle connections of an origin, after one of them turned out to be dead.
    pub(super) fn close_idle(&mut self, now: Instant, origin: OriginId) {
        for index in 0..self.connections.len() {
            let is_idle = self.connections[index].as_ref().is_some_and(|connection| {
                let exchanges = &connection.exchanges;
                exchanges.origin == origin
                    && !connection.is_closing()
                    && connection.is_idle()
                    && exchanges.record.requests > 0
                    && exchanges.protocol == Some(Protocol::Http1)
            });
            if is_idle && let Some(connection) = self.connections[index].take() {
                self.retire(now, connection);
            }
        }
    }

    /// Handles a connection's time-outs: its machine's, and that of its connect.
    pub(super) fn check_connection(&mut self, now: Instant, id: ConnectionId) {
        let Some(mut connection) = self.take(id) else { return };
        if connection.is_closing() {
            return self.keep(connection);
        }
        let timed = self
            .drive(now, &mut connection, |transport, events| transport.handle_timeout(now, events));
        match timed {
            Ok(()) => {
                self.leave_silent_rests(now, &mut connection);
                self.put_back(now, connection);
            }
            Err(failure) => self.fail(now, connection, failure),
        }
    }

    /// Ends the streams whose rest is read for nobody and does not come: over HTTP/1.1 they keep the connection from others.
    fn leave_silent_rests(&mut self, now: Instant, connection: &mut PooledConnection) {
        let PooledConnection { transport, exchanges, .. } = connection;
        let rests: Vec<StreamId> = exchanges.rests().collect();
        if rests.is_empty() {
            return;
        }
        let due = exchanges.heard + self.config.timeouts.stall;
        if due > now {
            return self.wake.by(due);
        }
        let Some(machine) = transport.machine() else { return };
        for stream in rests {
            exchanges.streams.remove(&stream);
            machine.reset(now, stream);
        }
    }

    /// Tells the pool how many requests a connection takes.
    pub(super) fn tell_pool(
        &mut self,
        now: Instant,
        exchanges: &mut Exchanges,
        machine: &mut ClientMachine,
    ) {
        let is_silent = exchanges.silent_since == Some(exchanges.heard);
        let state = match machine.state() {
            ConnectionState::Open if is_silent => MemberState::Draining,
            ConnectionState::Open => {
                let streams = exchanges.available_streams(now, machine);
                let available = if exchanges.awaits_drained() { 0 } else { streams };
                let load = if exchanges.streams.is_empty() { Load::Idle } else { Load::Busy };
                MemberState::Open { available, load }
            }
            ConnectionState::Draining | ConnectionState::Closed => MemberState::Draining,
        };
        self.pool.changed(exchanges.origin, exchanges.connection, state);
    }

    /// Closes all connections when the work is done, and finishes once their last bytes are sent.
    pub(super) fn finish(&mut self, now: Instant) {
        self.phase = Phase::Leaving { until: now + LAST_WORDS };
        for index in 0..self.connections.len() {
            if let Some(connection) = self.connections[index].take() {
                // A connection that is closing already has a reason that the peer must get: a GOAWAY, an alert.
                match connection.is_closing() {
                    true => self.keep(connection),
                    false => self.retire(now, connection),
                }
            }
        }
        self.leave();
    }

    /// Gives `Action::Finish` where no connection is left.
    fn leave(&mut self) {
        let leaving = matches!(self.phase, Phase::Leaving { .. });
        if leaving && self.connections.iter().all(Option::is_none) {
            self.phase = Phase::Finished;
            self.actions.push_back(Action::Finish);
        }
    }

    /// Closes all connections at once, without sending what is queued.
    pub(super) fn leave_at_once(&mut self) {
        for index in 0..self.connections.len() {
            if let Some(connection) = self.connections[index].take() {
                self.release(connection);
            }
        }
    }
}
