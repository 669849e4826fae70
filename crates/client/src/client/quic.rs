//! Connections over QUIC: the client's UDP sockets, one for each server's address, and what arrives on them. Each is
//! connected to its address, so that an ICMP message tells at once where nothing listens.

use super::Client;
use crate::Work;
use crate::connection::{PooledConnection, Port};
use crate::own_socket::OwnSocket;
use endpoint::{Action, ConnectionId, DatagramTransmit, ReceivedDatagrams, SocketId};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use transport::{
    Admission, Arrival, Connection, Failure, Lifetime, Phase, Protocol, QuicPort, QuicSettings,
    QuicSocket,
};
use unit::Instant;

/// The UDP sockets, by port.
#[derive(Debug, Default)]
pub(super) struct QuicPorts(Vec<Open>);

/// What there is to an address.
#[derive(Debug)]
struct Open {
    remote: SocketAddr,
    /// None where it is not bound, or has failed.
    port: Option<QuicPort>,
}

impl Port {
    /// The port whose socket this is. Over UDP numbers are even, over TCP odd.
    pub(super) fn of(socket: SocketId) -> Option<Self> {
        socket.0.is_multiple_of(2).then_some(Self(socket.0 / 2))
    }

    fn socket(self) -> SocketId {
        SocketId(self.0 * 2)
    }
}

impl QuicPorts {
    fn find(&mut self, port: Port) -> Option<&mut QuicPort> {
        self.0.get_mut(port.0)?.port.as_mut()
    }

    /// The one that reaches this address.
    fn to(&mut self, remote: SocketAddr) -> Port {
        let known = self.0.iter().position(|open| open.remote == remote);
        Port(known.unwrap_or_else(|| {
            self.0.push(Open { remote, port: None });
            self.0.len() - 1
        }))
    }

    fn open(&mut self, port: Port, quic: QuicSocket) {
        if let Some(open) = self.0.get_mut(port.0) {
            open.port = Some(QuicPort::new(port.socket(), quic));
        }
    }
}

impl<W: Work> Client<W> {
    /// Begins a connection over QUIC, which has so long to be ready.
    pub(super) fn quic_to(
        &mut self,
        now: Instant,
        host: &str,
        remote: SocketAddr,
        within: Duration,
    ) -> Result<(Connection<transport::Client>, Port), Failure> {
        let port = self.quic.to(remote);
        if self.quic.find(port).is_none() {
            let alpn = Protocol::Http3.alpn();
            let tls = self.config.tls.for_quic(alpn).map_err(|_| Failure::UnknownProtocol)?;
            let tls = tls.observed_by(&self.config.tracer);
            // Sockets of one seed would give their connections the same IDs.
            let seed = self.config.quic.seed.map(|seed| match port {
                Port(0) => seed,
                Port(nth) => seed.nth(nth as u64),
            });
            let settings = QuicSettings { seed, ..self.config.quic.clone() };
            self.quic.open(port, QuicSocket::client(&settings, tls));
            self.actions.push_back(OwnSocket::bind(port.socket(), remote));
        }
        let Some(open) = self.quic.find(port) else { return Err(Failure::Ended) };
        let link = open.quic.connect(now, remote, host)?;
        let tracer = self.config.tracer.for_connection(u64::from(self.next_connection));
        let mut settings = Rc::clone(&self.quic_settings);
        if settings.handshake_timeout != Some(within) {
            Rc::make_mut(&mut settings).handshake_timeout = Some(within);
        }
        Ok((Connection::open_quic(now, link, settings, tracer), port))
    }

    /// Notes where a new connection stands.
    pub(super) fn place_quic(&mut self, connection: &mut PooledConnection) {
        let place = connection.exchanges.connection.0;
        if let Some(port) = connection.port.and_then(|port| self.quic.find(port))
            && let Some(link) = connection.transport.link()
        {
            port.places.insert(link.handle(), place);
            self.quic_facts = Some(link.facts());
        }
    }

    /// Passes on what a connection has for its socket, and puts it back into its slot.
    pub(super) fn settle_quic(&mut self, mut connection: PooledConnection) {
        let place = connection.exchanges.connection.0;
        if let Some(due) = connection.transport.poll_timeout() {
            self.wake.by(due);
        }
        if let Some(port) = connection.port.and_then(|port| self.quic.find(port))
            && let Some(link) = connection.transport.link()
        {
            if port.quic.settle(link) == Lifetime::Over {
                port.places.remove(&link.handle());
                self.quic_tally = Some(link.tally());
                connection.port = None;
                // It was retired: nothing comes or goes any more.
                if connection.is_closing() {
                    return self.release(connection);
                }
            } else {
                port.add_ready(place);
                if port.poll_wants_transmit() {
                    self.actions.push_back(Action::Transmit(port.socket));
                }
            }
        }
        self.keep(connection);
    }

    /// Forgets a connection that is released.
    pub(super) fn forget_quic(&mut self, connection: &mut PooledConnection) {
        if let Some(port) = connection.port.and_then(|port| self.quic.find(port))
            && let Some(link) = connection.transport.link()
        {
            port.places.remove(&link.handle());
            port.quic.forget(link);
            self.quic_tally = Some(link.tally());
        }
    }

    /// Datagrams arrived.
    pub(super) fn receive_datagrams(
        &mut self,
        now: Instant,
        port: Port,
        mut received: ReceivedDatagrams,
    ) {
        loop {
            let Some(open) = self.quic.find(port) else { return };
            let arrival = open.quic.handle_datagrams(now, &mut received, Admission::Full);
            let Some(arrival) = arrival else { break };
            // Nobody opens connections to a client.
            let Arrival::Input(handle, input) = arrival else { continue };
            let Some(&place) = open.places.get(&handle) else { continue };
            let Some(mut connection) = self.take(ConnectionId(place)) else { continue };
            connection.exchanges.heard = now;
            let was_closing = connection.is_closing();
            let taken = self.drive(now, &mut connection, |transport, events| {
                transport.handle_input(now, input, events)
            });
            match taken {
                // It was retired then.
                Ok(()) if was_closing => self.settle_quic(connection),
                Ok(()) => self.put_back(now, connection),
                Err(failure) => self.fail(now, connection, failure),
            }
        }
    }

    /// The next datagrams of a socket.
    pub(super) fn send_datagrams(
        &mut self,
        now: Instant,
        port: Port,
        out: &mut Vec<u8>,
        max_datagrams: usize,
    ) -> Option<DatagramTransmit> {
        if let Some(answer) = self.quic.find(port)?.quic.poll_answer(out) {
            return Some(answer);
        }
        while let Some(place) = self.quic.find(port)?.next_ready() {
            let Some(mut connection) = self.take(ConnectionId(place)) else { continue };
            let transmit = connection.transport.poll_datagrams(now, out, max_datagrams);
            if let Some(due) = connection.transport.poll_timeout() {
                self.wake.by(due);
            }
            match (connection.transport.phase(), transmit) {
                (Phase::Closed, None) => self.release(connection),
                (Phase::Closed | Phase::Closing, _) => self.settle_quic(connection),
                (_, Some(_)) => self.put_back(now, connection),
                (_, None) => self.keep(connection),
            }
            if transmit.is_some() {
                return transmit;
            }
        }
        self.quic.find(port)?.stop_transmitting();
        None
    }

    /// Whether a socket's driver was asked to transmit and was not given nothing since.
    pub(super) fn is_sending_datagrams(&self, port: Port) -> bool {
        let open = self.quic.0.get(port.0).and_then(|open| open.port.as_ref());
        open.is_some_and(QuicPort::is_transmitting)
    }

    /// The connections of a socket that failed.
    pub(super) fn connections_at(&mut self, port: Port) -> Vec<ConnectionId> {
        let failed = self.quic.0.get_mut(port.0).and_then(|open| open.port.take());
        failed.map_or_else(Vec::new, |port| port.places.into_values().map(ConnectionId).collect())
    }
}
