//! One connection of the engine over QUIC, and its UDP socket.

use super::{LoadConnection, Stage};
use crate::own_socket::{Farewell, OwnSocket};
use crate::web_socket::stream::WebSocketSpec;
use endpoint::{DatagramTransmit, ReceivedDatagrams, SocketId};
use transport::{Client, Connection, QuicInput};
use unit::Instant;

/// The socket of a connection over QUIC.
#[derive(Debug)]
pub(super) struct QuicSide {
    socket: OwnSocket,
    /// When the engine looks at this connection next.
    alarm: Option<Instant>,
}

impl LoadConnection {
    /// An attempt over QUIC begins. QUIC connects and secures in one.
    pub(in crate::load) fn begin_quic(
        &mut self,
        transport: Connection<Client>,
        quic: OwnSocket,
        socket: SocketId,
        web_socket: Option<WebSocketSpec>,
    ) {
        self.begin(transport, web_socket);
        self.stage = Stage::Securing;
        self.quic = Some(Box::new(QuicSide { socket: quic, alarm: None }));
        self.socket = socket;
    }

    /// Whether it is one over QUIC.
    pub(in crate::load) fn is_over_quic(&self) -> bool {
        self.quic.is_some()
    }

    /// Takes datagrams off the front of `received`, until there is something for the connection.
    pub(in crate::load) fn next_input(
        &mut self,
        now: Instant,
        received: &mut ReceivedDatagrams,
    ) -> Option<QuicInput> {
        self.quic.as_mut()?.socket.next_input(now, received)
    }

    /// Writes the next datagrams to `out`.
    pub(in crate::load) fn poll_datagrams(
        &mut self,
        now: Instant,
        out: &mut Vec<u8>,
        max_datagrams: usize,
    ) -> Option<DatagramTransmit> {
        self.write_frames(now);
        let (quic, transport) = (self.quic.as_mut()?, self.transport.as_mut()?);
        quic.socket.poll_datagrams(now, transport, out, max_datagrams)
    }

    /// Passes on what the connection has for its socket.
    pub(super) fn settle_quic(&mut self) {
        if let (Some(quic), Some(transport)) = (&mut self.quic, &mut self.transport) {
            quic.socket.settle(transport);
        }
    }

    /// Closes the connection; gives the datagrams that tell the server.
    pub(in crate::load) fn farewell(&mut self, now: Instant) -> Option<Farewell> {
        Farewell::close(now, self.transport.as_mut()?)
    }

    /// Whether the connection waited for the alarm of this time, which is spent now.
    pub(in crate::load) fn take_alarm(&mut self, due: Instant) -> bool {
        let alarm = self.quic.as_mut().map(|quic| &mut quic.alarm);
        alarm.is_some_and(|alarm| alarm.take_if(|alarm| *alarm == due).is_some())
    }

    /// When to look at the connection; None where an alarm is set that comes no later.
    pub(in crate::load) fn next_alarm(&mut self) -> Option<Instant> {
        let due = self.transport.as_mut()?.poll_timeout()?;
        let alarm = &mut self.quic.as_mut()?.alarm;
        if alarm.is_some_and(|alarm| alarm <= due) {
            return None;
        }
        *alarm = Some(due);
        Some(due)
    }
}
