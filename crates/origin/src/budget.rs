//! Who holds how many bytes that were made or kept for a peer: bodies that wait to be sent, echoes, and WebSocket
//! messages. Each connection has an account; the thread and each peer's address have the sum of theirs. The one rule: a
//! sum above its limit is met by ending what holds most, so that whoever holds little is not touched.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};

/// Whose accounts are added up: an IPv4 address, or the 64 bits of an IPv6 address that one customer has (RFC 6177).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PeerAddress(IpAddr);

impl From<IpAddr> for PeerAddress {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(v6) => {
                let [a, b, c, d, ..] = v6.segments();
                Self(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into())
            }
            v4 => Self(v4),
        }
    }
}

/// The bytes of one connection.
#[derive(Debug)]
pub(crate) struct Account {
    peer: PeerAddress,
    held: usize,
    /// What the sums know of it.
    booked: usize,
}

/// The bytes of all connections of a thread.
#[derive(Debug, Default)]
pub(crate) struct Budgets {
    held: usize,
    peers: HashMap<PeerAddress, usize>,
}

/// How many bytes the connections of a thread may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BudgetLimits {
    pub(crate) thread: usize,
    pub(crate) peer: usize,
}

/// Whose connections are too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Excess {
    Thread,
    Peer,
}

/// An account is added up anew once it has grown by this or is less than half of what it was then: most exchanges stay
/// below it and cost nothing.
const STEP: usize = 64 * 1024;

impl Account {
    pub(crate) fn new(peer: PeerAddress) -> Self {
        Self { peer, held: 0, booked: 0 }
    }

    pub(crate) fn held(&self) -> usize {
        self.held
    }

    pub(crate) fn peer(&self) -> PeerAddress {
        self.peer
    }

    /// What held `before` bytes holds `after` bytes now.
    #[inline]
    pub(crate) fn change(&mut self, before: usize, after: usize, budgets: &mut Budgets) {
        self.held = self.held - before + after;
        if self.held >= self.booked + STEP || self.held < self.booked / 2 {
            budgets.book(self.peer, self.booked, self.held);
            self.booked = self.held;
        }
    }

    /// The connection is over.
    pub(crate) fn close(&mut self, budgets: &mut Budgets) {
        self.change(self.held, 0, budgets);
    }
}

impl Budgets {
    fn book(&mut self, peer: PeerAddress, before: usize, after: usize) {
        self.held = self.held - before + after;
        let of_peer = self.peers.entry(peer).or_default();
        *of_peer = *of_peer - before + after;
        if *of_peer == 0 {
            self.peers.remove(&peer);
        }
    }

    /// Bytes of all connections.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Bytes of a peer's connections.
    pub(crate) fn of_peer(&self, peer: PeerAddress) -> usize {
        self.peers.get(&peer).copied().unwrap_or(0)
    }

    /// How many bytes more a peer's connections may hold: 0 at a limit. At most `wanted`.
    #[inline]
    pub(crate) fn left(&self, peer: PeerAddress, limits: BudgetLimits, wanted: usize) -> usize {
        let of_thread = limits.thread.saturating_sub(self.held).min(wanted);
        // No peer holds more than all together, so most calls need not look the peer up.
        if limits.peer.saturating_sub(self.held) >= of_thread {
            return of_thread;
        }
        limits.peer.saturating_sub(self.of_peer(peer)).min(of_thread)
    }

    /// Whether there are too many bytes, after a call for a connection of this peer.
    pub(crate) fn excess(&self, peer: PeerAddress, limits: BudgetLimits) -> Option<Excess> {
        if self.held > limits.thread {
            return Some(Excess::Thread);
        }
        // No peer holds more than all together.
        let may_be_too_much = self.held > limits.peer && self.of_peer(peer) > limits.peer;
        may_be_too_much.then_some(Excess::Peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: BudgetLimits = BudgetLimits { thread: 3_000_000, peer: 2_000_000 };

    fn peer(address: &str) -> PeerAddress {
        address.parse::<IpAddr>().unwrap().into()
    }

    #[test]
    fn sums_follow_the_accounts_and_come_back_to_nothing() {
        let mut budgets = Budgets::default();
        let mut one = Account::new(peer("10.0.0.1"));
        let mut other = Account::new(peer("10.0.0.2"));
        one.change(0, 1_900_000, &mut budgets);
        other.change(0, 1_000, &mut budgets);
        assert_eq!((budgets.held(), budgets.excess(peer("10.0.0.1"), LIMITS)), (1_900_000, None));
        one.change(1_900_000, 2_100_000, &mut budgets);
        assert_eq!(budgets.excess(peer("10.0.0.1"), LIMITS), Some(Excess::Peer));
        assert_eq!(budgets.left(peer("10.0.0.1"), LIMITS, 5_000), 0);
        assert_eq!(budgets.left(peer("10.0.0.2"), LIMITS, 5_000), 5_000);
        assert_eq!(budgets.left(peer("10.0.0.2"), LIMITS, usize::MAX), 900_000);
        assert_eq!(budgets.excess(peer("10.0.0.2"), LIMITS), None);
        other.change(1_000, 1_000_000, &mut budgets);
        assert_eq!(budgets.excess(peer("10.0.0.2"), LIMITS), Some(Excess::Thread));
        one.close(&mut budgets);
        other.close(&mut budgets);
        assert_eq!((budgets.held(), budgets.peers.len()), (0, 0));
    }

    #[test]
    fn an_ipv6_customer_is_one_peer() {
        assert_eq!(peer("2001:db8::1"), peer("2001:db8::ffff:1"));
        assert_ne!(peer("2001:db8::1"), peer("2001:db8:0:1::1"));
        assert_eq!(peer("::ffff:10.0.0.1"), peer("10.0.0.1"));
        assert_ne!(peer("10.0.0.1"), peer("10.0.0.2"));
    }
}
