//! The WebSocket client as an end point: inputs from the driver, and actions for it.

use super::{Conversation, Phase, SOCKET, Stage, WebSocketClient};
use crate::failure::Failure;
use endpoint::{
    Action, DatagramTransmit, EndPoint, ReceivedDatagrams, SendBuf, SocketError, SocketId,
};
use std::net::SocketAddr;
use transport::Truncation;
use unit::Instant;

impl<C: Conversation> EndPoint for WebSocketClient<C> {
    fn handle_start(&mut self, now: Instant) {
        self.begin(now);
    }

    fn handle_connected(&mut self, now: Instant, _socket: SocketId, _local: SocketAddr) {
        self.drive(now, |transport, events| transport.handle_connected(now, events));
    }

    fn handle_bytes(&mut self, now: Instant, socket: SocketId, bytes: &[u8]) {
        self.drive(now, |transport, events| transport.handle_bytes(now, bytes, events));
        if let Phase::Running(running) = &self.phase
            && running.transport.peer_closed()
        {
            self.handle_eof(now, socket);
        }
    }

    fn handle_datagrams(
        &mut self,
        now: Instant,
        _socket: SocketId,
        mut received: ReceivedDatagrams,
    ) {
        while let Phase::Running(running) = &mut self.phase
            && let Some(quic) = &mut running.quic
            && let Some(input) = quic.next_input(now, &mut received)
        {
            self.drive(now, |transport, events| transport.handle_input(now, input, events));
        }
    }

    fn poll_datagrams(
        &mut self,
        now: Instant,
        _socket: SocketId,
        out: &mut Vec<u8>,
        max_datagrams: usize,
    ) -> Option<DatagramTransmit> {
        if let Some(farewell) = self.farewell.take() {
            self.finish(Some(Action::Close(SOCKET)));
            return Some(farewell.write(out));
        }
        let Phase::Running(running) = &mut self.phase else { return None };
        let transport = &mut running.transport;
        let transmit = running.quic.as_mut()?.poll_datagrams(now, transport, out, max_datagrams);
        if transmit.is_some() {
            self.drive(now, |transport, events| {
                transport.drain_events(now, events);
                Ok(())
            });
        }
        transmit
    }

    fn handle_eof(&mut self, now: Instant, _socket: SocketId) {
        // Whether the connection was truncated within TLS does not matter: a WebSocket without a Close frame is
        // truncated too.
        self.drive(now, |transport, events| transport.handle_eof(now, Truncation::Ignored, events));
        if let Phase::Running(running) = &self.phase {
            let destination = running.destination.clone();
            self.fail(now, &Failure::Closed { destination });
        }
    }

    fn handle_error(&mut self, now: Instant, _socket: SocketId, error: SocketError) {
        if self.farewell.take().is_some() {
            return self.finish(None);
        }
        let Phase::Running(running) = &self.phase else { return };
        let phase = running.transport.phase();
        let destination = &running.destination;
        let failure = match &running.quic {
            Some(_) => Failure::of_datagrams(destination, error, phase),
            None => Failure::of_socket(destination, error, phase, &self.settings),
        };
        self.end(now, Some(&failure), None);
    }

    fn poll_transmit(&mut self, now: Instant, _socket: SocketId, out: &mut SendBuf, limit: usize) {
        self.drive(now, |transport, events| {
            transport.poll_transmit(now, out, limit);
            transport.drain_events(now, events);
            Ok(())
        });
    }

    fn wants_transmit(&self, _socket: SocketId) -> bool {
        matches!(&self.phase, Phase::Running(running) if running.transport.is_transmitting())
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.drive(now, |transport, events| {
            let timed = transport.handle_timeout(now, events);
            events.stream.handle_timeout(now);
            timed
        });
        if self.deadline().is_some_and(|at| at <= now)
            && let Some(limit) = self.config.timeouts.whole
        {
            self.fail(now, &Failure::TooSlow { limit });
        }
    }

    fn handle_stop(&mut self, now: Instant) {
        if self.farewell.take().is_some() {
            return self.finish(Some(Action::Close(SOCKET)));
        }
        self.fail(now, &Failure::Stopped);
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        let deadline = self.deadline();
        let Phase::Running(running) = &mut self.phase else { return None };
        let next = match running.stage {
            Stage::Open if running.stream.takes_messages() => self.conversation.poll_timeout(),
            _ => None,
        };
        let own = [running.transport.poll_timeout(), running.stream.poll_timeout()];
        [deadline, next].into_iter().chain(own).flatten().min()
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }
}
