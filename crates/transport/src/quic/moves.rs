//! How often a server follows a client to another address (RFC 9000 §9). The one rule: it goes to a new address once a second at
//! most. Whoever has a connection may send packets in other people's names (§9.3), and each new address is asked to prove itself by
//! a datagram of 1,200 bytes, which quinn-proto cannot make smaller.

use std::net::SocketAddr;
use std::time::Duration;
use unit::Instant;

/// A server's connection's moves. A client's has none.
#[derive(Debug, Default)]
pub(super) struct Moves {
    last: Option<Box<Move>>,
}

#[derive(Debug)]
struct Move {
    at: Instant,
    from: SocketAddr,
}

/// A client that changes its network comes from there for longer than this.
const APART: Duration = Duration::from_secs(1);

impl Moves {
    /// Whether packets from `remote` are taken at `now`, while the client is somewhere else.
    pub(super) fn allow(&self, now: Instant, remote: SocketAddr) -> bool {
        // Late packets from where it was are the client's, too.
        let goes = |last: &Move| last.from == remote || now.since(last.at) >= APART;
        self.last.as_deref().is_none_or(goes)
    }

    /// The client has moved. Back to where it was is no new address.
    pub(super) fn handle_moved(&mut self, now: Instant, from: SocketAddr, to: SocketAddr) {
        if self.last.as_deref().is_none_or(|last| last.from != to) {
            self.last = Some(Box::new(Move { at: now, from }));
        }
    }
}
