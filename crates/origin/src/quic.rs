//! The UDP sockets that the origin listens on for QUIC, and which of its connections each of them carries.

use endpoint::SocketId;
use std::collections::{BTreeMap, VecDeque};
use transport::{QuicHandle, QuicSocket};

/// A UDP socket.
#[derive(Debug)]
pub(crate) struct QuicListener {
    pub(crate) socket: SocketId,
    pub(crate) quic: QuicSocket,
    /// The places of its connections in the origin's table.
    pub(crate) places: BTreeMap<QuicHandle, usize>,
    /// Connections that may have datagrams to send, in turn.
    ready: VecDeque<usize>,
    is_transmitting: bool,
}

/// Where a QUIC connection belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QuicPlace {
    /// The index of its listener.
    pub(crate) listener: usize,
    pub(crate) handle: QuicHandle,
}

impl QuicListener {
    pub(crate) fn new(socket: SocketId, quic: QuicSocket) -> Self {
        Self {
            socket,
            quic,
            places: BTreeMap::new(),
            ready: VecDeque::new(),
            is_transmitting: false,
        }
    }

    /// A connection may have datagrams to send.
    pub(crate) fn add_ready(&mut self, place: usize) {
        if !self.ready.contains(&place) {
            self.ready.push_back(place);
        }
    }

    /// The connection whose turn it is to send. It gets another turn after the others.
    pub(crate) fn next_ready(&mut self) -> Option<usize> {
        self.ready.pop_front()
    }

    /// Whether to ask the driver now to transmit. It is asked once, and again after it was given nothing.
    pub(crate) fn poll_wants_transmit(&mut self) -> bool {
        let wants = !self.ready.is_empty() || self.quic.has_answer();
        let tell = wants && !self.is_transmitting;
        self.is_transmitting |= tell;
        tell
    }

    pub(crate) fn is_transmitting(&self) -> bool {
        self.is_transmitting
    }

    pub(crate) fn stop_transmitting(&mut self) {
        self.is_transmitting = false;
    }
}
