//! Which requests belong to the recorded load, and when it was over.
//!
//! A trial ends with the load. What began after onLoad is left out: polls, beacons, prefetches. What was under way then is replayed
//! whole, and told: how much of it had arrived says the recording's network, not this one. Where onLoad is not
//! recorded, the load is over when nothing was under way for 5 s. A start that is more than a day away from most
//! others, or more than 10 s before the page's own start, is a mistake and counts as missing.

use super::builder::nanos;
use super::discovery::Request;
use super::entry::Entry;
use super::file::PageLoad;
use std::ops::RangeInclusive;

/// In nanoseconds, as all times here.
const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;

/// Times in a HAR are often rounded to a millisecond.
const ROUNDING: i64 = SECOND / 1000;

/// Nothing under way for so long: the load is over.
const QUIET: i64 = 5 * SECOND;

/// Clocks of a browser's processes differ a little; requests of its preloader begin before the page does.
const BEFORE_THE_PAGE: i64 = 10 * SECOND;

/// The starts that can be.
pub(super) fn plausible_starts(load: &mut PageLoad, entries: &[Entry]) -> RangeInclusive<i64> {
    let mut starts: Vec<i64> = entries.iter().filter_map(|entry| entry.started).collect();
    starts.sort_unstable();
    let Some(&median) = starts.get(starts.len() / 2) else { return i64::MIN..=i64::MAX };
    let around = median - DAY..=median + DAY;
    load.started = load.started.filter(|started| around.contains(started));
    match load.started {
        Some(started) => started - BEFORE_THE_PAGE..=started + DAY,
        None => around,
    }
}

/// The end of a load, and the requests that belong to it.
pub(super) struct Extent {
    /// How many of the requests, in the order of their starts, began before its end.
    pub(super) requests: usize,
    /// When it was over.
    pub(super) end: i64,
    /// Whether onLoad says so.
    pub(super) by_on_load: bool,
}

impl Extent {
    /// That of `requests`, which stand in the order of their starts; an onLoad before the document is none.
    pub(super) fn of(load: &PageLoad, requests: &[Request], document: usize) -> Self {
        let started = load.started.unwrap_or(requests[0].start);
        let on_load = load.on_load.map(|span| started.saturating_add(nanos(span)));
        if let Some(end) = on_load.filter(|&at| at >= requests[document].start) {
            let count = requests.partition_point(|request| request.start <= end);
            return Self { requests: count, end, by_on_load: true };
        }
        let mut end = requests[document].end;
        for (place, request) in requests.iter().enumerate() {
            if place > document && request.start > end.saturating_add(QUIET) {
                return Self { requests: place, end, by_on_load: false };
            }
            end = end.max(request.end);
        }
        Self { requests: requests.len(), end, by_on_load: false }
    }

    /// Whether a request that began before the end was not over by then. The clocks of a recording are rounded.
    pub(super) fn is_under_way(&self, request: &Request) -> bool {
        request.end > self.end.saturating_add(ROUNDING)
    }
}
