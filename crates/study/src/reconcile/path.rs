//! The critical path of a load: what waited for what, from its last byte back to when its first fetch was queued. The
//! one rule: stretches are contiguous, whatever the rows say. A row that contradicts itself is clamped.

use super::streams::Streams;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;
use trace::{ConnectionRecord, EarlyData, FetchRecord, Protocol, TlsVersion};
use unit::Instant;

/// A stretch of the critical path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) from: Instant,
    pub(super) to: Instant,
    pub(super) kind: StretchKind,
    /// The connection that was waited for or on, where there was one.
    pub(super) connection: Option<u32>,
}

impl Stretch {
    pub(super) fn span(&self) -> Duration {
        self.to.since(self.from)
    }

    /// Round trips that the stretch needs on a link with this least one, beside what it waits for otherwise.
    pub(super) fn round_trips(&self, rtt: Duration) -> u32 {
        match self.kind {
            StretchKind::Connect | StretchKind::Wait { .. } => 1,
            StretchKind::Tls { round_trips } => round_trips,
            // A peer that allows a stream as soon as it has answered says so with the answer. Others wait until that is
            // acknowledged.
            StretchKind::StreamLimit => u32::from(self.span() >= rtt),
            StretchKind::Client | StretchKind::Receive | StretchKind::Lost => 0,
        }
    }
}

/// What happened in a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StretchKind {
    /// The client computed, or nothing is known.
    Client,
    /// TCP connected.
    Connect,
    /// TLS shook hands.
    Tls {
        /// Round trips that the handshake needs.
        round_trips: u32,
    },
    /// The peer allowed no more streams. Over HTTP/2 and SPDY that is over with the end of another; over QUIC the peer
    /// has to say so (MAX_STREAMS).
    StreamLimit,
    /// The request was sent, and no byte had come back.
    Wait {
        /// The fetch's number.
        fetch: u32,
    },
    /// A body was coming.
    Receive,
    /// The fetch was on a connection that was lost, and was made again on another.
    Lost,
}

/// The critical path from when the first fetch was queued to `end`, in order of time; empty without fetches.
pub(super) fn critical_path(
    fetches: &[FetchRecord],
    connections: &[ConnectionRecord],
) -> Vec<Stretch> {
    let Some(last) = fetches.iter().max_by_key(|fetch| (finished(fetch), fetch.id)) else {
        return Vec::new();
    };
    let start = fetches.iter().map(|fetch| fetch.phases.queued).min().unwrap_or_default();
    let mut walk = Walk {
        start,
        cursor: finished(last),
        connection: None,
        streams: Streams::of_connections(fetches),
        stretches: Vec::new(),
    };
    let mut seen = BTreeSet::new();
    let mut next = Some(last);
    while let Some(fetch) = next {
        seen.insert(fetch.id);
        let others = || fetches.iter().filter(|other| !seen.contains(&other.id));
        walk.fetch(fetch, connections);
        next = walk.before_sending(fetch, connections, others());
        if next.is_none() {
            next = walk.before_queueing(fetch, others());
        }
    }
    walk.to(start, StretchKind::Client);
    walk.stretches.reverse();
    walk.stretches
}

/// When the last byte came, or the fetch failed.
pub(super) fn finished(fetch: &FetchRecord) -> Instant {
    let phases = &fetch.phases;
    phases.last_byte.or(phases.first_byte).or(phases.sent).unwrap_or(phases.queued)
}

/// Round trips of a TLS handshake (RFC 8446 §2: one; RFC 5246 §7.3: two, or one when resumed).
pub(super) fn handshake_round_trips(connection: &ConnectionRecord) -> u32 {
    match &connection.tls {
        None => 0,
        Some(tls) if tls.version == TlsVersion::V1_2 && !tls.resumed => 2,
        Some(_) => 1,
    }
}

struct Walk {
    start: Instant,
    cursor: Instant,
    /// The connection of the current fetch.
    connection: Option<u32>,
    /// The requests of each connection.
    streams: BTreeMap<u32, Streams>,
    stretches: Vec<Stretch>,
}

impl Walk {
    /// Steps back to `from`.
    fn to(&mut self, from: Instant, kind: StretchKind) {
        let from = from.max(self.start).min(self.cursor);
        if from < self.cursor {
            let (to, connection) = (self.cursor, self.connection);
            self.stretches.push(Stretch { from, to, kind, connection });
            self.cursor = from;
        }
    }

    fn fetch(&mut self, fetch: &FetchRecord, connections: &[ConnectionRecord]) {
        self.connection = fetch.connection;
        let phases = &fetch.phases;
        let first = phases.first_byte.unwrap_or(self.cursor);
        self.to(first, StretchKind::Receive);
        // A request that was made early waited in the client until the connection was ready.
        let number = fetch.connection;
        let connection = connections.iter().find(|connection| number == Some(connection.id));
        let sent = phases.sent.unwrap_or(phases.queued).max(connection.map_or(self.start, ready));
        // Nobody asked for what was pushed: until its head comes, the link is busy with what goes before it.
        let wait = StretchKind::Wait { fetch: fetch.id };
        self.to(sent, if fetch.pushed { StretchKind::Receive } else { wait });
    }

    /// From sending back to queueing; returns the fetch that occupied the connection, where one did.
    fn before_sending<'f>(
        &mut self,
        fetch: &FetchRecord,
        connections: &[ConnectionRecord],
        others: impl Iterator<Item = &'f FetchRecord>,
    ) -> Option<&'f FetchRecord> {
        let queued = fetch.phases.queued;
        let number = fetch.connection?;
        let others: Vec<&FetchRecord> = others.collect();
        let held = ended(&others, queued, self.cursor)
            .filter(|other| other.connection == Some(number))
            .max_by_key(|other| finished(other));
        let connection = connections.iter().find(|connection| connection.id == number)?;
        let ready = ready(connection);
        let allowed = fetch.phases.allowed.filter(|at| multiplexed(connection) && *at > ready);
        if let Some(allowed) = allowed {
            return self.before_allowing(fetch, allowed, &others);
        }
        // On a multiplexed connection others finish while this fetch waits for nobody, unless the peer allows no more
        // streams. Only a fetch that had not been sent when the other ended was held up by it.
        let takes_one = |other: &&&FetchRecord| {
            finished(other) >= ready
                && (!multiplexed(connection)
                    || self.was_full(&others, queued.max(ready)..finished(other)))
        };
        if let Some(other) = held.filter(takes_one) {
            self.to(finished(other), StretchKind::Client);
            return Some(other);
        }
        let before = match fetch.times_lost() {
            0 => StretchKind::Client,
            _ => StretchKind::Lost,
        };
        if ready > queued {
            self.to(ready, StretchKind::Client);
            if let (Some(connected), Some(_)) = (connection.connected, connection.secured) {
                let round_trips = handshake_round_trips(connection);
                self.to(connected.max(queued), StretchKind::Tls { round_trips });
            }
            self.to(connection.opened.max(queued), StretchKind::Connect);
            // A full pool opens the next connection when a fetch to the same host ends.
            let same_host = |other: &&&FetchRecord| {
                let held = connections.iter().find(|held| other.connection == Some(held.id));
                held.is_some_and(|held| held.authority == connection.authority)
            };
            let slot =
                ended(&others, queued, self.cursor).filter(same_host).max_by_key(|o| finished(o));
            if let Some(other) = slot {
                self.to(finished(other), before);
                return Some(other);
            }
        }
        self.to(queued, before);
        None
    }

    /// From sending back to when the stream ended that made room for this one; returns its fetch.
    fn before_allowing<'f>(
        &mut self,
        fetch: &FetchRecord,
        allowed: Instant,
        others: &[&'f FetchRecord],
    ) -> Option<&'f FetchRecord> {
        self.to(allowed, StretchKind::Client);
        let streams = fetch.connection.and_then(|number| self.streams.get(&number));
        let ended = streams.and_then(|streams| streams.ended_for(fetch, allowed));
        let cause = others.iter().copied().find(|other| Some(other.id) == ended);
        self.to(cause.map_or(fetch.phases.queued, finished), StretchKind::StreamLimit);
        cause
    }

    /// Whether the current fetch's connection had as many requests open as it ever had at both ends of `span`, which is from
    /// when the fetch could have been sent until another ended: the peer's limit of streams kept it waiting.
    fn was_full(&self, others: &[&FetchRecord], span: Range<Instant>) -> bool {
        let Some(number) = self.connection else { return false };
        let open = |is_open: &dyn Fn(Instant, Instant) -> bool| {
            let here = others.iter().filter(|other| other.connection == Some(number));
            here.filter_map(|other| Some((other.phases.sent?, finished(other))))
                .filter(|(sent, end)| is_open(*sent, *end))
                .count()
        };
        let most = self.streams.get(&number).map_or(0, Streams::most_open);
        let at_first = open(&|sent, end| sent <= span.start && span.start < end);
        let at_last = open(&|sent, end| sent < span.end && span.end <= end);
        at_first.min(at_last) >= most
    }

    /// From queueing back to the bytes that made the fetch known.
    fn before_queueing<'f>(
        &mut self,
        fetch: &FetchRecord,
        others: impl Iterator<Item = &'f FetchRecord>,
    ) -> Option<&'f FetchRecord> {
        let queued = fetch.phases.queued;
        let others: Vec<&FetchRecord> = others.collect();
        let answered = others
            .iter()
            .filter(|other| other.phases.first_byte.is_some_and(|first| first <= queued))
            .max_by_key(|other| (finished(other).min(queued), std::cmp::Reverse(other.id)));
        // A 103 comes before the document's first byte: the wait for it is the document's.
        let document = || {
            let before =
                others.iter().filter(|other| fetch.hinted && other.phases.queued <= queued);
            before.min_by_key(|other| (other.phases.queued, other.id))
        };
        let cause = answered.or_else(document)?;
        self.to(finished(cause).min(queued), StretchKind::Client);
        Some(cause)
    }
}

/// Those of `others` that ended after `from` and no later than `to`.
fn ended<'o, 'f>(
    others: &'o [&'f FetchRecord],
    from: Instant,
    to: Instant,
) -> impl Iterator<Item = &'o &'f FetchRecord> {
    others.iter().filter(move |other| from < finished(other) && finished(other) <= to)
}

/// When the connection could take requests. With early data that is before TLS's handshake, and over QUIC at once.
pub(super) fn ready(connection: &ConnectionRecord) -> Instant {
    let is_early = connection.tls.as_ref().is_some_and(|tls| tls.early_data == EarlyData::Accepted);
    if is_early {
        let over_tcp = connection.connected.filter(|at| Some(*at) != connection.secured);
        return over_tcp.unwrap_or(connection.opened);
    }
    connection.secured.or(connection.connected).unwrap_or(connection.opened)
}

/// Whether exchanges may overlap. A WebSocket's messages may, but none is sent before its handshake has ended.
fn multiplexed(connection: &ConnectionRecord) -> bool {
    // The protocols with one request at a time are known by name.
    connection.protocol.known().is_none_or(Protocol::multiplexes)
}
