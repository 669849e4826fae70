//! The address that a server's client has moved to, until quinn-proto has validated it (RFC 9000 §8.2). The one rule: a datagram that
//! probes it is padded to 1,200 bytes only where three times what came from there allows so many.
//!
//! quinn-proto counts too, but by datagrams: it begins one whenever a single byte is allowed. One that has data of streams besides
//! cannot be made shorter.

use super::unproven::UnprovenAddress;
use quinn_proto::{Connection, Transmit};
use secure::PaddingSwitch;
use std::net::SocketAddr;

#[derive(Debug)]
pub(super) struct NewPath {
    remote: SocketAddr,
    bytes: UnprovenAddress,
    padding: PaddingSwitch,
    /// PATH_RESPONSE frames that had come before.
    responses: u64,
    /// quinn-proto first asks the client where it was whether it has left, if that address was validated.
    asks_old_first: bool,
}

/// What a datagram with PATH_CHALLENGE has at least (RFC 9000 §8.2.1).
const PADDED: u64 = 1_200;

impl NewPath {
    /// The client has just moved there.
    pub(super) fn new(quic: &Connection, padding: PaddingSwitch, was_validated: bool) -> Self {
        Self {
            remote: quic.remote_address(),
            bytes: UnprovenAddress::default(),
            padding,
            responses: quic.stats().frame_rx.path_response,
            asks_old_first: was_validated,
        }
    }

    /// A packet of so many bytes came from there. Tells whether it has validated the address.
    pub(super) fn handle_received(&mut self, bytes: usize, quic: &Connection) -> bool {
        self.bytes.handle_received(bytes);
        quic.stats().frame_rx.path_response > self.responses
    }

    /// Whether quinn-proto has given the address up.
    pub(super) fn is_left(&self, quic: &Connection) -> bool {
        quic.remote_address() != self.remote
    }

    /// Whether a padded datagram is too long.
    pub(super) fn is_short(&self) -> bool {
        self.bytes.credit() < PADDED
    }

    /// A datagram is made next.
    pub(super) fn begin_transmit(&mut self) {
        if self.is_short() && !self.asks_old_first {
            self.padding.leave_off();
        }
    }

    /// It was made, or there is none. Gives it as it is sent.
    pub(super) fn end_transmit(&mut self, made: Option<Transmit>) -> Option<Transmit> {
        let left_off = self.padding.take();
        let mut transmit = made?;
        self.asks_old_first = false;
        transmit.size -= left_off;
        if transmit.destination == self.remote {
            self.bytes.handle_sent(transmit.size);
        }
        Some(transmit)
    }
}
