//! QUIC and TCP connect side by side. The one rule: the first connection of an origin that can send a request drops
//! those that still connect.

use super::Client;
use crate::Work;
use crate::connection::PooledConnection;
use crate::pool::{Origin, OriginId};
use page::Scheme;
use unit::Instant;

/// What a connection runs over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Network {
    Tcp,
    Quic,
}

impl<W: Work> Client<W> {
    /// Begins what the pool asks for: a connection, or a race of two.
    pub(super) fn begin(&mut self, now: Instant, id: OriginId) {
        let Origin { scheme, host, .. } = self.pool.origin(id).clone();
        let has_race = scheme == Scheme::Https && self.config.proxies.find(scheme, &host).is_none();
        let Some(race) = self.config.race.filter(|_| has_race) else {
            let known = self.config.transport.known(scheme);
            let over_quic = known.is_some_and(transport::Protocol::is_over_quic);
            return self.open(now, id, if over_quic { Network::Quic } else { Network::Tcp });
        };
        self.late_starts.insert(id, now + race.head_start);
        self.open(now, id, Network::Quic);
        match race.head_start.is_zero() {
            true => self.start_late(now),
            false => self.wake.by(now + race.head_start),
        }
    }

    /// Begins the connections over TCP that are due.
    pub(super) fn start_late(&mut self, now: Instant) {
        if self.is_ending() {
            return;
        }
        let due = |(&id, &at): (&OriginId, &Instant)| (at <= now).then_some(id);
        let ids: Vec<OriginId> = self.late_starts.iter().filter_map(due).collect();
        for id in ids {
            self.late_starts.remove(&id);
            self.open(now, id, Network::Tcp);
        }
        if let Some(&next) = self.late_starts.values().min() {
            self.wake.by(next);
        }
    }

    /// Begins TCP's connection where the one over QUIC has failed within its head start; false where that is not so.
    pub(super) fn tcp_takes_over(&mut self, now: Instant, lost: &PooledConnection) -> bool {
        let origin = lost.exchanges.origin;
        if self.is_ending() || self.late_starts.remove(&origin).is_none() {
            return false;
        }
        self.open(now, origin, Network::Tcp);
        true
    }

    /// A connection is ready: those of its origin that still connect have lost the race.
    pub(super) fn won(&mut self, now: Instant, winner: &PooledConnection) {
        if self.config.race.is_none() {
            return;
        }
        let origin = winner.exchanges.origin;
        self.late_starts.remove(&origin);
        for index in 0..self.connections.len() {
            let has_lost = self.connections[index].as_ref().is_some_and(|other| {
                other.exchanges.origin == origin && !other.is_ready() && !other.is_closing()
            });
            if has_lost && let Some(loser) = self.connections[index].take() {
                self.retire(now, loser);
            }
        }
    }
}
