//! The finding on a trial of a foreign client. Such a client reports its phases in its own terms, or not at all, so
//! its load time is not split into parts.

use super::evidence::{Case, Claim, Evidence, Sums, judge};
use super::path::finished;
use super::{Finding, failure, millis};
use crate::metric;
use crate::outcome::Outcome;
use std::collections::BTreeMap;

/// Compares the client's claims with the logs of link and server and with its key log.
pub fn reconcile_subject(case: &Case<'_>) -> (Finding, Vec<Evidence>) {
    let sums = Sums::of(case);
    let (evidence, objection) = judge(case, &sums);
    let finding = Finding {
        metrics: metrics(case, &evidence, &sums),
        parts: None,
        packets: sums.whole,
        outcome: failure(case.fetches).or(objection).unwrap_or(Outcome::Measured),
    };
    (finding, evidence)
}

fn metrics(case: &Case<'_>, evidence: &[Evidence], sums: &Sums) -> BTreeMap<String, f64> {
    let mut metrics = BTreeMap::new();
    let mut set = |name: &str, value: f64| metrics.insert(name.to_owned(), value);
    let held = |claim| {
        let found = evidence.iter().find(|evidence| evidence.claim == claim)?;
        found.value.parse::<f64>().ok()
    };
    let bodies: u64 = case.expected.values().sum();
    set(metric::BYTES, if case.packets.is_some() { sums.payload as f64 } else { bodies as f64 });
    if case.packets.is_some() {
        set(metric::RETRANSMITTED, sums.retransmitted as f64);
    }
    // The server's log and the key log include the warm-up; only the link's log can tell it apart.
    let measured = case.since.and(case.packets).map(|_| sums.connections as f64);
    if let Some(connections) = measured.or_else(|| held(Claim::Connections)) {
        set(metric::CONNECTIONS, connections);
    }
    if let Some(resumed) = held(Claim::Resumed) {
        set(metric::RESUMED, resumed);
    }
    // A server's log has no times: after a warm-up it cannot tell which connections were measured.
    let server = case.server.filter(|_| case.since.is_none());
    for connection in server.into_iter().flat_map(|log| &log.connections) {
        *metrics.entry(metric::connections_by(&connection.protocol)).or_default() += 1.0;
    }
    let mut set = |name: &str, value: f64| metrics.insert(name.to_owned(), value);
    let start = case.fetches.iter().map(|fetch| fetch.phases.queued).min();
    let end = case.fetches.iter().map(finished).max();
    if let (Some(start), Some(end)) = (start, end) {
        set(metric::LOAD_MS, millis(end.since(start)));
        if let Some(first) = super::first_byte(case.fetches) {
            set(metric::FIRST_BYTE_MS, millis(first.since(start)));
        }
    }
    metrics
}
