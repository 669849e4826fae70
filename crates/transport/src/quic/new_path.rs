//! The address that a server's client has moved to, until quinn-proto has validated it (RFC 9000 §8.2). The one rule: there is no padding
//! where three times what came from the address does not allow it.
//!
//! quinn-proto counts, too, but begins a datagram whenever a single byte is allowed, and counts what comes from any address. So its
//! PATH_CHALLENGE goes without padding where 1,200 bytes are too many, and a probe of the MTU is dropped. What else is in a datagram, an
//! answer's bytes or a long ACK, cannot be left off: such a one may be too long. And quinn-proto does not ask again with 1,200 bytes once a
//! short challenge is answered (§8.2.3).

use super::unproven::UnprovenAddress;
use quinn_proto::{Connection, ConnectionStats, Transmit};
use secure::PaddingSwitch;
use std::net::SocketAddr;

#[derive(Debug)]
pub(super) struct NewPath {
    remote: SocketAddr,
    bytes: UnprovenAddress,
    padding: PaddingSwitch,
    /// quinn-proto first asks the client where it was whether it has left, if that address was validated.
    asks_old_first: bool,
    sent: Sent,
}

/// What quinn-proto has sent so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sent {
    challenges: u64,
    mtu_probes: u64,
}

impl Sent {
    fn of(stats: &ConnectionStats) -> Self {
        Self {
            challenges: stats.frame_tx.path_challenge,
            mtu_probes: stats.path.sent_plpmtud_probes,
        }
    }
}

/// What becomes of a datagram that quinn-proto has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    /// It goes.
    Sent,
    /// It goes, and the address is validated.
    Validated,
    /// It may not go, and quinn-proto counts on a loss.
    Dropped,
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
            asks_old_first: was_validated,
            sent: Sent::of(&quic.stats()),
        }
    }

    /// A packet of so many bytes came from there.
    pub(super) fn handle_received(&mut self, bytes: usize) {
        self.bytes.handle_received(bytes);
    }

    /// Whether it is this address.
    pub(super) fn is_at(&self, remote: SocketAddr) -> bool {
        self.remote == remote
    }

    /// Whether quinn-proto has given the address up.
    pub(super) fn is_left(&self, quic: &Connection) -> bool {
        !self.is_at(quic.remote_address())
    }

    /// How many of `max` datagrams may be made at a time.
    pub(super) fn batch(&self, quic: &Connection, max: usize) -> usize {
        let allowed = self.bytes.credit() / u64::from(quic.current_mtu());
        max.min(allowed as usize).max(1)
    }

    /// A batch is made next. Where a challenge goes without its padding it is a batch of one.
    pub(super) fn begin_transmit(&mut self) {
        if self.bytes.credit() < PADDED && !self.asks_old_first {
            self.padding.leave_off();
        }
    }

    /// It was made. Shortens it where its padding was left off.
    pub(super) fn end_transmit(&mut self, made: &mut Transmit, quic: &Connection) -> Made {
        made.size -= self.padding.take();
        self.asks_old_first = false;
        let before = std::mem::replace(&mut self.sent, Sent::of(&quic.stats()));
        if made.destination != self.remote {
            return Made::Sent;
        }
        let size = made.size as u64;
        if self.sent.mtu_probes > before.mtu_probes && size > self.bytes.credit() {
            return Made::Dropped;
        }
        self.bytes.handle_sent(made.size);
        // Each of its packets to an address that is not validated has a challenge, but for probes of the MTU and closes.
        if self.sent == before && !quic.is_closed() { Made::Validated } else { Made::Sent }
    }

    /// There was nothing to be made.
    pub(super) fn end_without(&mut self) {
        self.padding.take();
    }
}
