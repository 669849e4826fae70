//! The engine's connections over QUIC. Each has a UDP socket of its own, as each user has: a server that spreads its
//! peers over threads by their ports spreads these, and an ICMP message belongs to one connection.

use super::Load;
use crate::load::connection::{Loss, Stage};
use crate::own_socket::{Farewell, OwnSocket};
use endpoint::{Action, DatagramTransmit, ReceivedDatagrams, SocketId};
use secure::QuicClientTls;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::SocketAddr;
use std::sync::Arc;
use trace::Tracer;
use transport::{Connection, Failure, Protocol};
use unit::Instant;

/// What the engine keeps for all its connections over QUIC.
#[derive(Default)]
pub(super) struct QuicState {
    /// Made for the first connection.
    tls: Option<Arc<QuicClientTls>>,
    /// The last datagrams of connections that are over, by socket.
    farewells: BTreeMap<SocketId, Farewell>,
    /// When connections have to be looked at, at the earliest. An entry that its connection has replaced by an earlier
    /// one is passed over.
    alarms: BinaryHeap<Reverse<(Instant, usize)>>,
}

impl QuicState {
    /// When `Load::handle_alarms` is to be called.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.alarms.peek().map(|Reverse((due, _))| *due)
    }
}

impl Load {
    /// Begins a connection over QUIC. Its socket is opened by the actions that follow.
    pub(super) fn open_quic(
        &mut self,
        now: Instant,
        number: usize,
        remote: SocketAddr,
    ) -> Result<(), Failure> {
        let server = &self.servers[self.connections[number].server];
        let tls = match &self.quic.tls {
            Some(tls) => Arc::clone(tls),
            None => {
                let alpn = Protocol::Http3.alpn();
                let tls = self.config.tls.for_quic(alpn).map_err(|_| Failure::UnknownProtocol)?;
                Arc::clone(self.quic.tls.insert(tls))
            }
        };
        let (quic, link) =
            OwnSocket::connect(now, &self.config.quic, tls, remote, &server.url.host)?;
        let transport = Connection::open_quic(now, link, self.settings.clone(), Tracer::off());
        let socket = self.other_socket(number);
        if self.quic.farewells.remove(&socket).is_some() {
            // It could not be sent for as long as a whole connection took.
            self.actions.push_back(Action::Close(socket));
        }
        let web_socket = server.web_socket.map(|target| self.web_socket(target));
        self.connections[number].begin_quic(transport, quic, socket, web_socket);
        self.actions.push_back(OwnSocket::bind(socket, remote));
        // Where early data may go, requests can be made at once.
        if let Err(loss) =
            self.drive(now, number, |transport, events| transport.handle_connected(now, events))
        {
            self.close(now, number, loss);
            return Ok(());
        }
        self.settle(now, number);
        self.set_alarm(number);
        Ok(())
    }

    /// A connection and its successor have different sockets, so that the last datagrams of one are not taken for the
    /// first ones of the other.
    fn other_socket(&self, number: usize) -> SocketId {
        let SocketId(last) = self.connections[number].socket;
        let count = self.connections.len();
        SocketId(if last == number { number + count } else { number })
    }

    /// The connection of a UDP socket.
    fn number_of(&self, SocketId(socket): SocketId) -> Option<usize> {
        let number = socket.checked_sub(self.connections.len()).unwrap_or(socket);
        let is_present = self.connections.get(number)?.socket == SocketId(socket);
        is_present.then_some(number)
    }

    pub(super) fn take_datagrams(
        &mut self,
        now: Instant,
        socket: SocketId,
        mut received: ReceivedDatagrams,
    ) {
        let Some(number) = self.number_of(socket) else { return };
        if self.ledger.is_finished() || self.connections[number].stage == Stage::Shut {
            return;
        }
        self.connections[number].note_heard(now);
        self.ledger.tally.received += received.data.len() as u64;
        if let Some(arrivals) = &self.arrivals {
            self.ledger.note_overdue(now, arrivals.next());
        }
        while let Some(input) = self.connections[number].next_input(now, &mut received) {
            let taken = self
                .drive(now, number, |transport, events| transport.handle_input(now, input, events));
            if let Err(loss) = taken {
                return self.close(now, number, loss);
            }
        }
        self.settle(now, number);
        self.set_alarm(number);
    }

    pub(super) fn give_datagrams(
        &mut self,
        now: Instant,
        socket: SocketId,
        out: &mut Vec<u8>,
        max_datagrams: usize,
    ) -> Option<DatagramTransmit> {
        let transmit = match self.quic.farewells.remove(&socket) {
            Some(farewell) => {
                self.actions.push_back(Action::Close(socket));
                self.end_when_left();
                Some(farewell.write(out))
            }
            None => {
                let number = self.number_of(socket)?;
                let transmit = self.connections[number].poll_datagrams(now, out, max_datagrams);
                self.set_alarm(number);
                transmit
            }
        };
        self.ledger.tally.sent += out.len() as u64;
        transmit
    }

    /// Whether a UDP socket has more to send.
    pub(super) fn has_datagrams(&self, socket: SocketId) -> bool {
        let number = self.number_of(socket);
        number.is_some_and(|number| self.connections[number].is_transmitting())
    }

    /// The connection of a UDP socket that failed.
    pub(super) fn failed_socket(&self, socket: SocketId) -> SocketId {
        self.number_of(socket).map_or(socket, SocketId)
    }

    /// A connection leaves its socket, which closes once the server has been told.
    pub(super) fn leave_quic(&mut self, now: Instant, number: usize) {
        let connection = &mut self.connections[number];
        let socket = connection.socket;
        match connection.farewell(now) {
            Some(farewell) => {
                self.quic.farewells.insert(socket, farewell);
                self.actions.push_back(Action::Transmit(socket));
            }
            None => self.actions.push_back(Action::Close(socket)),
        }
    }

    /// Takes a socket that failed off those on which a farewell waits. False where none does.
    pub(super) fn forget_farewell(&mut self, socket: SocketId) -> bool {
        let is_one = self.quic.farewells.remove(&socket).is_some();
        if is_one {
            self.end_when_left();
        }
        is_one
    }

    /// The engine's last action, once every server has been told.
    pub(super) fn end_when_left(&mut self) {
        if self.ledger.is_finished() && self.quic.farewells.is_empty() {
            self.actions.push_back(Action::Finish);
        }
    }

    /// Ends without telling the servers that have not been told yet.
    pub(super) fn end_at_once(&mut self) {
        let untold = std::mem::take(&mut self.quic.farewells);
        if !untold.is_empty() {
            self.actions.extend(untold.into_keys().map(Action::Close));
            self.actions.push_back(Action::Finish);
        }
    }

    /// Looks at the connections whose time has come.
    pub(super) fn handle_alarms(&mut self, now: Instant) {
        while let Some(&Reverse((due, number))) = self.quic.alarms.peek()
            && due <= now
        {
            self.quic.alarms.pop();
            if self.connections[number].take_alarm(due) {
                self.handle_alarm(now, number);
            }
        }
    }

    fn handle_alarm(&mut self, now: Instant, number: usize) {
        if self.ledger.is_finished() || self.connections[number].stage == Stage::Shut {
            return;
        }
        let driven: Result<(), Loss> =
            self.drive(now, number, |transport, events| transport.handle_timeout(now, events));
        match driven {
            Ok(()) => self.settle(now, number),
            Err(loss) => return self.close(now, number, loss),
        }
        self.set_alarm(number);
    }

    /// Notes when a connection has to be looked at. Its time mostly moves on with each packet: it is looked up anew
    /// when the first one noted comes.
    fn set_alarm(&mut self, number: usize) {
        if let Some(due) = self.connections[number].next_alarm() {
            self.quic.alarms.push(Reverse((due, number)));
        }
    }

    /// Has the connection carry out what commands to its machine have caused.
    pub(super) fn carry_out(&mut self, now: Instant, number: usize) -> Result<(), Loss> {
        self.connections[number].write_frames(now);
        self.drive(now, number, |transport, events| {
            transport.drain_events(now, events);
            Ok(())
        })
    }
}
