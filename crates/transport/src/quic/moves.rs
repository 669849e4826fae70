//! How much a connection sends to other addresses than the peer's (RFC 9000 §9). The one rule: a server goes to a new address once a
//! second at most, and answers those that only probe their path three times a second. Whoever has a connection may send packets in other
//! people's names (§9.3). `new_path` has what a new address is sent; an answer to a probe has 1,200 bytes, which quinn-proto makes.

use super::clock::to_std;
use super::new_path::{Made, NewPath};
use quinn_proto::{Connection, Transmit};
use secure::PaddingSwitch;
use std::net::SocketAddr;
use std::time::Duration;
use unit::Instant;

/// A connection's moves. A client's has none.
#[derive(Debug, Default)]
pub(super) struct Moves {
    last: Option<Box<Move>>,
    probes: Option<Box<Probes>>,
    /// Where the client is, until quinn-proto has validated it.
    new_path: Option<Box<NewPath>>,
}

/// Answers to addresses that the peer is not at, since a time.
#[derive(Debug)]
struct Probes {
    since: Instant,
    answered: u8,
}

#[derive(Debug)]
struct Move {
    at: Instant,
    from: SocketAddr,
}

/// A client that changes its network comes from there for longer than this.
const APART: Duration = Duration::from_secs(1);

/// A client that tries a path asks again where the first answer is lost.
const MOST_ANSWERED: u8 = 3;

impl Moves {
    /// Whether packets from `remote` are taken at `now`, while the client is somewhere else.
    pub(super) fn allow(&self, now: Instant, remote: SocketAddr) -> bool {
        // Late packets from where it was are the client's, too.
        let goes = |last: &Move| last.from == remote || now.since(last.at) >= APART;
        self.last.as_deref().is_none_or(goes)
    }

    /// Whether an answer may go at `now` to an address that probes its path (PATH_RESPONSE). It is counted then.
    fn allow_answer(&mut self, now: Instant) -> bool {
        let probes =
            self.probes.get_or_insert_with(|| Box::new(Probes { since: now, answered: 0 }));
        if now.since(probes.since) >= APART {
            **probes = Probes { since: now, answered: 0 };
        }
        let is_allowed = probes.answered < MOST_ANSWERED;
        probes.answered += u8::from(is_allowed);
        is_allowed
    }

    /// The client has moved away from `from`. Back to where it was is no new address.
    pub(super) fn handle_moved(
        &mut self,
        now: Instant,
        from: SocketAddr,
        quic: &Connection,
        padding: Option<PaddingSwitch>,
    ) {
        if self.last.as_deref().is_none_or(|last| last.from != quic.remote_address()) {
            self.last = Some(Box::new(Move { at: now, from }));
        }
        let was_validated = !self.new_path.as_ref().is_some_and(|path| path.is_at(from));
        let new_path = padding.map(|padding| NewPath::new(quic, padding, was_validated));
        self.new_path = new_path.map(Box::new);
    }

    /// A packet of so many bytes came from where the client is.
    #[inline]
    pub(super) fn handle_received(&mut self, bytes: usize) {
        if let Some(path) = &mut self.new_path {
            path.handle_received(bytes);
        }
    }

    /// How many of `max` datagrams quinn-proto may make at a time.
    #[inline]
    pub(super) fn batch(&mut self, quic: &Connection, max: usize) -> usize {
        self.new_path.take_if(|path| path.is_left(quic));
        self.new_path.as_ref().map_or(max, |path| path.batch(quic, max))
    }

    /// What `quic` sends next, at most `max` datagrams, but for what may not go to the address that they are for.
    pub(super) fn poll_transmit(
        &mut self,
        now: Instant,
        quic: &mut Connection,
        max: usize,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        loop {
            if let Some(path) = &mut self.new_path {
                path.begin_transmit();
            }
            let Some(mut transmit) = quic.poll_transmit(to_std(now), max, out) else {
                self.new_path.iter_mut().for_each(|path| path.end_without());
                return None;
            };
            let made = match &mut self.new_path {
                Some(path) => path.end_transmit(&mut transmit, quic),
                None => Made::Sent,
            };
            if made == Made::Validated {
                self.new_path = None;
            }
            let is_to_peer = transmit.destination == quic.remote_address();
            if made != Made::Dropped && (is_to_peer || self.allow_answer(now)) {
                return Some(transmit);
            }
            out.clear();
        }
    }
}
