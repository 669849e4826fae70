//! Compares two independent records of a trial: the client's fetches and connections, and the link's packet log.
//! Together they give the trial's metrics and the parts of its load time. Where they contradict each other the trial
//! does not count.

mod asked;
mod assets;
mod calls;
mod causes;
pub(crate) mod echo;
mod evidence;
mod fast_open;
mod held;
mod packets;
mod parts;
mod passing;
mod path;
mod rebinding;
mod rounds;
mod spoken;
mod stream;
mod streams;
mod subject;
#[cfg(test)]
mod tests;
mod visit;
mod waits;

pub use asked::departure;
pub use assets::{Asset, asset_metrics};
pub use calls::call_metrics;
pub use echo::echo_metrics;
pub(crate) use evidence::weakest;
pub use evidence::{
    Case, Claim, Evidence, Grade, GradedClaim, KeyLogFacts, ServerConnection, ServerLog,
};
pub use fast_open::{Begun, begun};
use packets::payload_until;
pub use packets::{PacketSummary, WaySummary, summarise};
pub use parts::Parts;
pub use rebinding::follow_rebindings;
pub use rounds::FIRST_ROUNDS;
pub use spoken::{put_cached, put_hints};
pub use stream::{stream_metrics, token_objection};
pub use subject::reconcile_subject;
pub use visit::Visited;
pub use waits::Wait;

use crate::metric;
use crate::outcome::Outcome;
use path::{Stretch, StretchKind, critical_path, finished};
use std::collections::BTreeMap;
use std::time::Duration;
use trace::{ConnectionRecord, FetchOutcome, FetchRecord, PacketRecord};
use unit::{BitRate, Instant};

/// What client and link recorded of a trial.
#[derive(Debug, Clone)]
pub struct TrialLogs<'a> {
    /// The client's fetches.
    pub fetches: &'a [FetchRecord],
    /// The client's connections.
    pub connections: &'a [ConnectionRecord],
    /// The link's packet log; None where none was kept.
    pub packets: Option<&'a [PacketRecord]>,
    /// The link's settings.
    pub link: LinkFacts,
    /// The server time that the workload asked for, by fetch number.
    pub server_time: &'a BTreeMap<u32, Duration>,
    /// Whose segments Nagle's rule may have delayed.
    pub nagle: Nagle,
}

/// Whether each end may delay small segments by Nagle's rule (RFC 9293 §3.7.4): not where its sockets have TCP_NODELAY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nagle {
    /// What the client sends.
    pub client: bool,
    /// What the server sends.
    pub server: bool,
}

/// The settings of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkFacts {
    /// The least round trip.
    pub rtt: Duration,
    /// The rate towards the client, of a trace its mean; None without a limit.
    pub down: Option<BitRate>,
    /// The rate from the client, of a trace its mean; None without a limit.
    pub up: Option<BitRate>,
}

/// The result of the comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Metrics by name; see [`metric`].
    pub metrics: BTreeMap<String, f64>,
    /// How the load time splits into parts; None where nothing was fetched.
    pub parts: Option<Parts>,
    /// The sums of the packet log.
    pub packets: PacketSummary,
    /// Measured, or why the trial does not count.
    pub outcome: Outcome,
}

/// Compares the two records.
pub fn reconcile(logs: &TrialLogs<'_>) -> Finding {
    let fetches = logs.fetches;
    let path = critical_path(fetches, logs.connections);
    let packets = logs.packets.map(|log| PacketSummary {
        first_rounds: rounds::first_rounds(log, fetches),
        ..summarise(log)
    });
    let packets = packets.unwrap_or_default();
    let outcome = failure(fetches).or_else(|| objection(logs, &packets, &path));
    Finding {
        metrics: metrics(logs, fetches, &path),
        parts: (!fetches.is_empty()).then(|| parts::split(&path, logs)),
        packets,
        outcome: outcome.unwrap_or(Outcome::Measured),
    }
}

fn metrics(
    logs: &TrialLogs<'_>,
    fetches: &[FetchRecord],
    path: &[Stretch],
) -> BTreeMap<String, f64> {
    let mut metrics = BTreeMap::new();
    let mut set = |name: &str, value: f64| metrics.insert(name.to_owned(), value);
    let received: u64 = logs.connections.iter().map(|c| c.bytes_received).sum();
    set(metric::BYTES, received as f64);
    set(metric::CONNECTIONS, logs.connections.len() as f64);
    spoken::put(logs.connections, &mut metrics);
    let mut set = |name: &str, value: f64| metrics.insert(name.to_owned(), value);
    let of = |is_meant: fn(&StretchKind) -> bool| {
        let meant = path.iter().filter(|stretch| is_meant(&stretch.kind));
        f64::from(meant.map(|stretch| stretch.round_trips(logs.link.rtt)).sum::<u32>())
    };
    set(metric::ROUNDS, of(|kind| matches!(kind, StretchKind::Wait { .. })));
    let shakes = |kind: &_| matches!(kind, StretchKind::Connect | StretchKind::Tls { .. });
    set(metric::HANDSHAKE_ROUND_TRIPS, of(shakes));
    set(metric::ROUND_TRIPS, of(|_| true));
    let made_again = fetches.iter().filter(|fetch| fetch.times_lost() > 0).count();
    if made_again > 0 {
        set(metric::MADE_AGAIN, made_again as f64);
    }
    let Some(start) = fetches.iter().map(|fetch| fetch.phases.queued).min() else {
        return metrics;
    };
    let stood = logs.connections.iter().filter(|c| c.opened < start).count();
    if stood > 0 {
        set(metric::OPEN_CONNECTIONS, stood as f64);
    }
    let end = fetches.iter().map(finished).max().unwrap_or(start);
    set(metric::LOAD_MS, millis(end.since(start)));
    if let Some(first) = first_byte(fetches) {
        set(metric::FIRST_BYTE_MS, millis(first.since(start)));
    }
    metrics
}

/// When the first fetch had its first byte: of a page the document's. That of another one, which was asked for later, may come sooner.
pub fn first_byte(fetches: &[FetchRecord]) -> Option<Instant> {
    let first = fetches.iter().min_by_key(|fetch| (fetch.phases.queued, fetch.id));
    first?.phases.first_byte
}

fn failure(fetches: &[FetchRecord]) -> Option<Outcome> {
    if fetches.is_empty() {
        return Some(Outcome::Failed { reason: "nothing was fetched".to_owned() });
    }
    let failed: Vec<_> = fetches
        .iter()
        .filter_map(|fetch| match &fetch.outcome {
            FetchOutcome::Done => None,
            FetchOutcome::Failed(reason) => Some((fetch, reason)),
        })
        .collect();
    let (fetch, reason) = failed.first()?;
    let (number, all) = (failed.len(), fetches.len());
    let reason = format!("{number} of {all} fetches failed, the first {}: {reason}", fetch.url);
    Some(Outcome::Failed { reason })
}

/// How the records contradict each other.
fn objection(logs: &TrialLogs<'_>, packets: &PacketSummary, path: &[Stretch]) -> Option<Outcome> {
    too_soon(logs, path).or_else(|| {
        logs.packets?;
        bytes_differ(logs, packets).or_else(|| connections_differ(logs, packets))
    })
}

fn bytes_differ(logs: &TrialLogs<'_>, packets: &PacketSummary) -> Option<Outcome> {
    let client: u64 = logs.connections.iter().map(|c| c.bytes_received).sum();
    let link = packets.down.payload;
    if client > link {
        let reason =
            format!("the client counts {client} bytes, but the link delivered only {link}");
        return Some(Outcome::Failed { reason });
    }
    // Bytes that the link delivered after the client ended are not in the client's count, nor are bytes that it did
    // not read.
    let in_time = payload_until(logs.packets.unwrap_or_default(), ended(logs));
    let unread = in_time / 10 + UNREAD_A_CONNECTION * logs.connections.len() as u64;
    let reason =
        || format!("the link delivered {in_time} bytes, but the client counts only {client}");
    (in_time > client + unread).then(|| Outcome::Invalid { reason: reason() })
}

/// The last thing that the client did.
fn ended(logs: &TrialLogs<'_>) -> Instant {
    let fetches = logs.fetches.iter().map(finished);
    let closed = logs.connections.iter().filter_map(|connection| connection.closed);
    fetches.chain(closed).max().unwrap_or_default()
}

fn connections_differ(logs: &TrialLogs<'_>, packets: &PacketSummary) -> Option<Outcome> {
    let (client, link) = (logs.connections.len() as u64, packets.connections);
    let reason = || format!("the client counts {client} connections, but the link saw {link}");
    (client != link).then(|| Outcome::Invalid { reason: reason() })
}

/// A wait that is shorter than the link's least round trip.
fn too_soon(logs: &TrialLogs<'_>, path: &[Stretch]) -> Option<Outcome> {
    let least = logs.link.rtt.mul_f64(1.0 - ROUND_TRIP_TOLERANCE).saturating_sub(CLOCK_TOLERANCE);
    let sooner = path.iter().find(|stretch| {
        matches!(stretch.kind, StretchKind::Wait { .. }) && stretch.span() < least
    })?;
    let reason = format!(
        "an answer came after {:.3} ms, sooner than the link's round trip of {:.3} ms",
        millis(sooner.span()),
        millis(logs.link.rtt)
    );
    Some(Outcome::Invalid { reason })
}

fn millis(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e6
}

/// Bytes per connection that may stay unread: a TLS alert, a GOAWAY or the rest of a cancelled body.
const UNREAD_A_CONNECTION: u64 = 16 * 1024;
/// The relative tolerance of a link's delay.
const ROUND_TRIP_TOLERANCE: f64 = 0.02;
/// The greatest difference between two processes that read one clock.
const CLOCK_TOLERANCE: Duration = Duration::from_micros(100);
