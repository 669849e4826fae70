//! A UDP socket as its end point holds it: what it carries, where each connection stands in the end point's table, and
//! whose turn it is to send.

use super::socket::{QuicHandle, QuicSocket};
use endpoint::SocketId;
use std::collections::{BTreeMap, VecDeque};

/// A UDP socket.
#[derive(Debug)]
pub struct QuicPort {
    /// Its id.
    pub socket: SocketId,
    /// What it carries.
    pub quic: QuicSocket,
    /// The places of its connections in the end point's table.
    pub places: BTreeMap<QuicHandle, usize>,
    /// Connections that may have datagrams to send, in turn.
    ready: VecDeque<usize>,
    is_transmitting: bool,
}

impl QuicPort {
    /// A socket without connections.
    pub fn new(socket: SocketId, quic: QuicSocket) -> Self {
        let (places, ready) = (BTreeMap::new(), VecDeque::new());
        Self { socket, quic, places, ready, is_transmitting: false }
    }

    /// The connection at this place may have datagrams to send.
    pub fn add_ready(&mut self, place: usize) {
        if !self.ready.contains(&place) {
            self.ready.push_back(place);
        }
    }

    /// The place of the connection whose turn it is to send. Where it did, it gets another turn by `add_ready`.
    pub fn next_ready(&mut self) -> Option<usize> {
        self.ready.pop_front()
    }

    /// Whether to ask the driver now to transmit. It is asked once, and again after it was given nothing.
    pub fn poll_wants_transmit(&mut self) -> bool {
        let wants = !self.ready.is_empty() || self.quic.has_answer();
        let tell = wants && !self.is_transmitting;
        self.is_transmitting |= tell;
        tell
    }

    /// Whether the driver was asked to transmit and was not given nothing since.
    pub fn is_transmitting(&self) -> bool {
        self.is_transmitting
    }

    /// The driver was given nothing.
    pub fn stop_transmitting(&mut self) {
        self.is_transmitting = false;
    }
}
