//! The metrics of calls. A call's time counts from `queued`, which is when it was due. In an open loop that may be
//! long before it could be made.

use super::millis;
use super::path::finished;
use crate::metric;
use std::collections::BTreeMap;
use trace::FetchRecord;

/// Mean, longest and total time of `calls`, by name; empty without calls.
pub fn call_metrics(calls: &[FetchRecord]) -> BTreeMap<String, f64> {
    let Some(start) = calls.iter().map(|call| call.phases.queued).min() else {
        return BTreeMap::new();
    };
    let end = calls.iter().map(finished).max().unwrap_or(start);
    let times: Vec<f64> =
        calls.iter().map(|call| millis(finished(call).since(call.phases.queued))).collect();
    let figures = [
        (metric::MEAN_MS, times.iter().sum::<f64>() / times.len() as f64),
        (metric::MAX_MS, times.iter().copied().fold(0.0, f64::max)),
        (metric::TOTAL_MS, millis(end.since(start))),
    ];
    figures.map(|(name, value)| (name.to_owned(), value)).into()
}
