//! The client as an end point: inputs from the driver, and actions for it.

use super::{Client, Phase, connection_of};
use crate::Work;
use crate::connection::Port;
use crate::failure::Failure;
use endpoint::{
    Action, ConnectionId, DatagramTransmit, EndPoint, ReceivedDatagrams, SendBuf, SocketError,
    SocketId,
};
use std::net::SocketAddr;
use transport::Phase as ConnectionPhase;
use unit::Instant;

impl<W: Work> EndPoint for Client<W> {
    fn handle_start(&mut self, now: Instant) {
        self.pump(now);
    }

    fn handle_connected(&mut self, now: Instant, socket: SocketId, _local: SocketAddr) {
        let Some(mut connection) = self.take(connection_of(socket)) else { return };
        let connected = self.drive(now, &mut connection, |transport, events| {
            transport.handle_connected(now, events)
        });
        match connected {
            Ok(()) => self.put_back(now, connection),
            Err(failure) => self.fail(now, connection, failure),
        }
        self.pump(now);
    }

    fn handle_bytes(&mut self, now: Instant, socket: SocketId, bytes: &[u8]) {
        let Some(mut connection) = self.take(connection_of(socket)) else { return };
        if connection.is_closing() {
            return self.keep(connection);
        }
        connection.exchanges.heard = now;
        let taken = self.drive(now, &mut connection, |transport, events| {
            transport.handle_bytes(now, bytes, events)
        });
        match taken {
            Ok(()) if connection.transport.peer_closed() => self.end_of_input(now, connection),
            Ok(()) => self.put_back(now, connection),
            Err(failure) => self.fail(now, connection, failure),
        }
        self.pump(now);
    }

    fn poll_receive_buffer(&mut self, socket: SocketId) -> Option<&mut [u8]> {
        let connection = self.connections.get_mut(connection_of(socket).0)?.as_mut()?;
        if connection.is_closing() || self.config.longest_body.is_some() {
            return None;
        }
        let (stream, left) = connection.transport.expected_body()?;
        let id = connection.exchanges.fetch(stream)?;
        self.fetches.contains_key(&id).then(|| self.work.poll_buffer(id, left))?
    }

    fn handle_received(&mut self, now: Instant, socket: SocketId, bytes: usize) {
        let Some(mut connection) = self.take(connection_of(socket)) else { return };
        connection.exchanges.heard = now;
        self.received_directly(now, &mut connection, bytes);
        self.put_back(now, connection);
        self.pump(now);
    }

    fn handle_datagrams(&mut self, now: Instant, socket: SocketId, received: ReceivedDatagrams) {
        if let Some(port) = Port::of(socket) {
            self.receive_datagrams(now, port, received);
            self.pump(now);
        }
    }

    fn poll_datagrams(
        &mut self,
        now: Instant,
        socket: SocketId,
        out: &mut Vec<u8>,
        max_datagrams: usize,
    ) -> Option<DatagramTransmit> {
        let sent = self.send_datagrams(now, Port::of(socket)?, out, max_datagrams);
        self.pump(now);
        sent
    }

    fn handle_eof(&mut self, now: Instant, socket: SocketId) {
        let Some(connection) = self.take(connection_of(socket)) else { return };
        if connection.is_closing() {
            self.release(connection);
        } else {
            self.end_of_input(now, connection);
        }
        self.pump(now);
    }

    fn handle_drained(&mut self, now: Instant, socket: SocketId) {
        let Some(mut connection) = self.take(connection_of(socket)) else { return };
        if connection.is_closing() {
            return self.keep(connection);
        }
        self.settle(now, &mut connection);
        self.put_back(now, connection);
        self.pump(now);
    }

    fn handle_error(&mut self, now: Instant, socket: SocketId, error: SocketError) {
        if let Some(port) = Port::of(socket) {
            for connection in self.connections_at(port) {
                let Some(mut connection) = self.take(connection) else { continue };
                connection.port = None;
                if connection.is_closing() {
                    self.release(connection);
                    continue;
                }
                let destination = &connection.exchanges.destination;
                let phase = connection.transport.phase();
                let failure = Failure::of_datagrams(destination, error, phase);
                self.lose(now, connection, failure);
            }
            return self.pump(now);
        }
        let Some(mut connection) = self.take(connection_of(socket)) else { return };
        connection.socket = None;
        if connection.is_closing() {
            self.release(connection);
        } else {
            let destination = &connection.exchanges.destination;
            let phase = connection.transport.phase();
            let failure = Failure::of_socket(destination, error, phase, &self.settings);
            self.lose(now, connection, failure);
        }
        self.pump(now);
    }

    fn poll_transmit(&mut self, now: Instant, socket: SocketId, out: &mut SendBuf, limit: usize) {
        let Some(mut connection) = self.take(connection_of(socket)) else { return };
        let limit = match self.writes_each_frame() {
            true => connection.next_frame().map_or(limit, |frame| frame.min(limit)),
            false => limit,
        };
        connection.transport.poll_transmit(now, out, limit);
        match connection.transport.phase() {
            ConnectionPhase::Closed => self.release(connection),
            ConnectionPhase::Closing => self.keep(connection),
            _ => {
                self.put_back(now, connection);
                self.pump(now);
            }
        }
    }

    fn wants_transmit(&self, socket: SocketId) -> bool {
        if let Some(port) = Port::of(socket) {
            return self.is_sending_datagrams(port);
        }
        let connection = self.connections.get(connection_of(socket).0).and_then(Option::as_ref);
        connection.is_some_and(|connection| connection.transport.is_transmitting())
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
            for index in 0..self.connections.len() {
                self.check_connection(now, ConnectionId(index));
            }
            self.start_late(now);
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
        // From here on nothing new is started.
        self.phase = Phase::Leaving { until: now };
        let ids: Vec<_> = self.fetches.keys().copied().collect();
        for id in ids {
            self.end(now, id, Err(Failure::Stopped));
        }
        self.finish(now);
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        match self.phase {
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
