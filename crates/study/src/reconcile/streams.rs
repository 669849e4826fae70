//! The requests of a connection whose peer allows so many streams at a time, and which one's end made room for another. The one
//! rule: the first that ends makes room for the first that waits, and so on.

use super::path::finished;
use std::collections::{BTreeMap, BTreeSet};
use trace::FetchRecord;
use unit::Instant;

/// The requests of a connection.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// In the order of sending: when, the stream and the fetch.
    sent: Vec<(Instant, u64, u32)>,
    /// In the order of ending.
    ended: Vec<(Instant, u32)>,
    /// The most that were open at once.
    most_open: usize,
    /// How many were open when one had to wait for the first time.
    limit: Option<usize>,
}

impl Streams {
    pub(super) fn of_connections(fetches: &[FetchRecord]) -> BTreeMap<u32, Self> {
        let mut all: BTreeMap<u32, Self> = BTreeMap::new();
        let waited = fetches.iter().filter(|fetch| fetch.phases.allowed.is_some());
        let waited: BTreeSet<u32> = waited.map(|fetch| fetch.id).collect();
        for fetch in fetches.iter().filter(|fetch| !fetch.pushed) {
            let (Some(number), Some(sent)) = (fetch.connection, fetch.phases.sent) else {
                continue;
            };
            let streams = all.entry(number).or_default();
            streams.sent.push((sent, fetch.stream, fetch.id));
            streams.ended.push((finished(fetch), fetch.id));
        }
        for streams in all.values_mut() {
            streams.sent.sort_unstable();
            streams.ended.sort_unstable();
            streams.most_open = most_open(&streams.sent, &streams.ended);
            streams.limit = limit(&streams.sent, &streams.ended, &waited);
        }
        all
    }

    /// The most requests that were open at once. One that is sent when another ends takes its place.
    pub(super) fn most_open(&self) -> usize {
        self.most_open
    }

    /// The fetch whose end made room for this one, which could go at `allowed`.
    pub(super) fn ended_for(&self, fetch: &FetchRecord, allowed: Instant) -> Option<u32> {
        let place = self.sent.iter().position(|(.., id)| *id == fetch.id)?;
        let in_time = self.ended.partition_point(|(end, _)| *end <= allowed).checked_sub(1)?;
        let (_, id) = self.ended[place.checked_sub(self.limit?)?.min(in_time)];
        (id != fetch.id).then_some(id)
    }
}

/// Both in the order of time.
fn most_open(sent: &[(Instant, u64, u32)], ended: &[(Instant, u32)]) -> usize {
    let open = (1..).zip(sent).map(|(count, (at, ..))| open_at(*at, count, ended));
    open.max().unwrap_or(0)
}

/// How many were open when the last request before the first of `waited` was sent.
fn limit(
    sent: &[(Instant, u64, u32)],
    ended: &[(Instant, u32)],
    waited: &BTreeSet<u32>,
) -> Option<usize> {
    let count = sent.iter().position(|(.., id)| waited.contains(id))?;
    let (at, ..) = sent[count.checked_sub(1)?];
    Some(open_at(at, count, ended))
}

/// Of `count` requests that were sent by `at`, those that had not ended.
fn open_at(at: Instant, count: usize, ended: &[(Instant, u32)]) -> usize {
    count - ended.partition_point(|(end, _)| *end <= at).min(count)
}
