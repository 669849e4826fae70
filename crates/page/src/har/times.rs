//! Round trips and server times, read from a recording.

use super::Assumptions;
use super::discovery::Request;
use super::entry::{Entry, Timings};
use std::collections::BTreeMap;
use std::time::Duration;

/// Totals in a HAR are sums of rounded parts.
const ROUNDING: Duration = Duration::from_millis(1);

/// The round trip to each host of a recording.
pub(super) struct RoundTrips {
    by_host: BTreeMap<String, Duration>,
}

impl RoundTrips {
    /// Each host's least TCP connect; the median of the hosts that have one for those that have none.
    pub(super) fn measure(requests: &[Request], assumptions: &mut Assumptions) -> Self {
        let mut by_host: BTreeMap<String, Duration> = BTreeMap::new();
        for request in requests {
            let Some(connect) = tcp_connect(&request.entry, assumptions) else { continue };
            let least = by_host.entry(request.url.host.clone()).or_insert(connect);
            *least = connect.min(*least);
        }
        assumptions.rtt_measured = by_host.len() as u32;
        assumptions.rtt_median = median(by_host.values().copied().collect());
        for request in requests {
            let Some(median) = assumptions.rtt_median else { break };
            if !by_host.contains_key(&request.url.host) {
                by_host.insert(request.url.host.clone(), median);
                assumptions.rtt_assumed += 1;
            }
        }
        Self { by_host }
    }

    /// How long the server thought: the wait less the round trip, never below 0.
    pub(super) fn server_time(&self, request: &Request, assumptions: &mut Assumptions) -> Duration {
        let rtt = self.by_host.get(&request.url.host).copied().unwrap_or_default();
        let Some(wait) = request.entry.timings.wait else {
            assumptions.waits_missing += 1;
            return Duration::ZERO;
        };
        assumptions.waits_clamped += u32::from(wait < rtt);
        wait.saturating_sub(rtt)
    }

    pub(super) fn by_host(&self) -> &BTreeMap<String, Duration> {
        &self.by_host
    }
}

/// The TCP part of a connect. HAR 1.2 has `ssl` inside `connect`; some exporters put it beside, which
/// shows when it is the longer one, or when only with it the parts sum to the entry's total. A connect
/// of 0 is how some write a kept connection.
fn tcp_connect(entry: &Entry, assumptions: &mut Assumptions) -> Option<Duration> {
    let connect = entry.timings.connect.filter(|connect| !connect.is_zero())?;
    let Some(ssl) = entry.timings.ssl.filter(|ssl| !ssl.is_zero()) else { return Some(connect) };
    if ssl >= connect || sums_with_tls(&entry.timings, ssl, entry.time) {
        assumptions.connect_without_tls += 1;
        return Some(connect);
    }
    Some(connect - ssl)
}

fn sums_with_tls(timings: &Timings, ssl: Duration, total: Option<Duration>) -> bool {
    let Some(total) = total else { return false };
    let sum = timings.sum();
    ssl > ROUNDING * 2 && total.abs_diff(sum + ssl) < ROUNDING && total.abs_diff(sum) > ROUNDING
}

fn median(mut values: Vec<Duration>) -> Option<Duration> {
    values.sort_unstable();
    let upper = *values.get(values.len() / 2)?;
    let lower = values[(values.len() - 1) / 2];
    Some((lower + upper) / 2)
}
