//! Metrics of the connections: protocols, streams, pushes, resumed TLS sessions, header bytes.

use crate::metric;
use std::collections::BTreeMap;
use trace::{CacheTally, ConnectionRecord, EarlyData, HeaderBytes, HintTally, PushTally};

/// Adds the metrics of `connections` to `metrics`.
pub(super) fn put(connections: &[ConnectionRecord], metrics: &mut BTreeMap<String, f64>) {
    let resumed = |c: &&ConnectionRecord| c.tls.as_ref().is_some_and(|tls| tls.resumed);
    let (mut streams, mut pushed, mut open) = (0_u64, 0_u64, 0_u64);
    let mut pushes = PushTally::default();
    // A connection that never agreed on a protocol carried nothing.
    for connection in connections.iter().filter(|c| !c.protocol.is_none()) {
        *metrics.entry(metric::connections_by(&connection.protocol)).or_default() += 1.0;
        open += 1;
        pushed += u64::from(connection.pushed);
        pushes += connection.pushes;
        streams += u64::from(connection.requests) + u64::from(connection.pushed);
    }
    let mut set = |name: &str, value: f64| metrics.insert(name.to_owned(), value);
    set(metric::RESUMED, connections.iter().filter(resumed).count() as f64);
    // Only where there is something to tell: most races have neither.
    for (name, outcome) in [
        (metric::EARLY_ACCEPTED, EarlyData::Accepted),
        (metric::EARLY_REJECTED, EarlyData::Rejected),
    ] {
        let is_it =
            |c: &&ConnectionRecord| c.tls.as_ref().is_some_and(|tls| tls.early_data == outcome);
        let count = connections.iter().filter(is_it).count();
        if count > 0 {
            set(name, count as f64);
        }
    }
    set(metric::PUSHED, pushed as f64);
    if pushed > 0 {
        set(metric::PUSHES_USED, f64::from(pushes.used));
        set(metric::PUSHES_CANCELLED, f64::from(pushes.cancelled));
        set(metric::PUSHES_UNUSED, f64::from(pushes.unused));
    }
    if pushed > 0 || pushes.wasted_bytes > 0 {
        set(metric::WASTED, pushes.wasted_bytes as f64);
    }
    if open > 0 {
        set(metric::STREAMS_PER_CONNECTION, streams as f64 / open as f64);
    }
    if let Some(HeaderBytes { sent, received }) = HeaderBytes::of(connections) {
        set(metric::HEADERS_SENT, sent.coded as f64);
        set(metric::HEADERS_SENT_PLAIN, sent.plain as f64);
        set(metric::HEADERS_RECEIVED, received.coded as f64);
        set(metric::HEADERS_RECEIVED_PLAIN, received.plain as f64);
    }
}

/// Adds the metrics of the fetches that began for `Link` fields to `metrics`, where there are any.
pub fn put_hints(hints: &HintTally, metrics: &mut BTreeMap<String, f64>) {
    if hints.fetches == 0 {
        return;
    }
    metrics.insert(metric::HINTED.to_owned(), f64::from(hints.fetches));
    let unused = hints.fetches.saturating_sub(hints.used);
    metrics.insert(metric::HINTS_UNUSED.to_owned(), f64::from(unused));
    *metrics.entry(metric::WASTED.to_owned()).or_default() += hints.wasted_bytes as f64;
}

/// Adds the metrics of a next view to `metrics`, where its cache held anything.
pub fn put_cached(cached: &CacheTally, metrics: &mut BTreeMap<String, f64>) {
    if *cached == CacheTally::default() {
        return;
    }
    metrics.insert(metric::CACHE_FRESH.to_owned(), f64::from(cached.fresh));
    metrics.insert(metric::CACHE_REVALIDATED.to_owned(), f64::from(cached.revalidated));
    metrics.insert(metric::CACHED_BYTES.to_owned(), cached.bytes as f64);
}
