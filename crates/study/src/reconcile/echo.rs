//! The metrics of messages. The first record may be a WebSocket's opening handshake. It is no message, but part of the
//! total.

use super::calls::call_metrics;
use super::millis;
use super::path::ready;
use crate::metric;
use std::collections::BTreeMap;
use trace::{ConnectionRecord, FetchRecord};
use unit::Instant;

/// Mean and longest time of a message, the total time with the opening, and the opening's own, by name; empty without
/// messages.
pub fn echo_metrics(
    fetches: &[FetchRecord],
    connections: &[ConnectionRecord],
) -> BTreeMap<String, f64> {
    let messages: Vec<FetchRecord> =
        fetches.iter().filter(|fetch| !is_opening(fetch)).cloned().collect();
    // The first message was due when the work began, so the total of the messages includes the opening.
    let mut metrics = call_metrics(&messages);
    let begun = messages.iter().map(|message| message.phases.queued).min();
    if let Some(open) = begun.and_then(|begun| open_ms(begun, fetches, connections)) {
        metrics.insert(metric::OPEN_MS.to_owned(), open);
    }
    metrics
}

/// From `begun` until a message could be sent.
pub(super) fn open_ms(
    begun: Instant,
    fetches: &[FetchRecord],
    connections: &[ConnectionRecord],
) -> Option<f64> {
    let upgraded = fetches.iter().find(|fetch| is_opening(fetch));
    let upgraded = upgraded.and_then(|opening| opening.phases.first_byte);
    let open = upgraded.or_else(|| connections.iter().map(ready).min())?;
    Some(millis(open.since(begun)))
}

/// A WebSocket's handshake is answered by 101 over HTTP/1.1 (RFC 6455 §4.2.2), by 2xx over HTTP/2 and HTTP/3 (RFC 8441 §5);
/// its messages have no status.
pub(crate) fn is_opening(fetch: &FetchRecord) -> bool {
    let is_web_socket = fetch.protocol.known().is_some_and(trace::Protocol::is_web_socket);
    fetch.status == Some(101) || (is_web_socket && fetch.status.is_some())
}
