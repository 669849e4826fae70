//! The metrics of calls. A call's time counts from `queued`, which is when it was due. In an open loop that may be
//! long before it could be made.

use super::millis;
use super::path::finished;
use crate::metric;
use std::collections::BTreeMap;
use trace::FetchRecord;

/// Mean, first, longest and total time of `calls`, by name; empty without calls.
pub fn call_metrics(calls: &[FetchRecord]) -> BTreeMap<String, f64> {
    let Some(first) = calls.iter().min_by_key(|call| call.phases.queued) else {
        return BTreeMap::new();
    };
    let start = first.phases.queued;
    let end = calls.iter().map(finished).max().unwrap_or(start);
    let time = |call: &FetchRecord| millis(finished(call).since(call.phases.queued));
    let (first, all) = (time(first), calls.iter().map(time).sum::<f64>());
    let mut figures = BTreeMap::from([
        (metric::MEAN_MS, all / calls.len() as f64),
        (metric::FIRST_MS, first),
        (metric::MAX_MS, calls.iter().map(time).fold(0.0, f64::max)),
        (metric::TOTAL_MS, millis(end.since(start))),
    ]);
    if calls.len() > 1 {
        figures.insert(metric::REST_MS, (all - first) / (calls.len() - 1) as f64);
    }
    figures.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
