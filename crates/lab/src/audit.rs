//! Whether a trial counts: the link says of itself what it did beside its model.

use os::net::LinkCounters;
use std::time::Duration;
use study::record::Outcome;

/// A packet that the link let out later than this after its time, and than [`LATE_SHARE`] of the load, spoils
/// the trial: on a machine with other work each core is away for some milliseconds now and then, which a slow
/// link does not notice, and a quick one takes for the network.
const LATE: Duration = Duration::from_millis(10);

/// As much as a verdict takes for a tie by default: one such packet can move a load's time by all of it.
const LATE_SHARE: f64 = 0.05;

/// What the link says of itself goes before what the client found.
pub(crate) fn audit(found: Outcome, load_ms: Option<&f64>, counters: &LinkCounters) -> Outcome {
    let invalid = |reason: String| Outcome::Invalid { reason };
    let unplanned = counters.unplanned();
    if unplanned > 0 {
        return invalid(format!(
            "the kernel dropped {unplanned} packets that the link did not plan to drop"
        ));
    }
    if counters.clock_steps > 0 {
        return invalid("the wall clock was set during the trial".to_owned());
    }
    let late = counters.lateness.max();
    match (&found, load_ms) {
        (Outcome::Measured, Some(load_ms))
            if late > LATE && millis(late) > load_ms * LATE_SHARE =>
        {
            // Without figures, so that reports count trials of one fate together; the row has them.
            invalid("the machine was busy: the link let a packet out too late".to_owned())
        }
        _ => found,
    }
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn counters(missed: u64, clock_steps: u64, late_ms: u64) -> LinkCounters {
        let way = |missed| {
            json!({"packets": 9, "bytes": 900, "delivered": 9, "delivered_bytes": 900, "lost": 0,
                "queue_full": 0, "missed": missed, "unsent": 0, "beside": 0})
        };
        let nanos = late_ms * 1_000_000;
        serde_json::from_value(json!({
            "up": way(0), "down": way(missed), "under_way": 0, "clock_steps": clock_steps,
            "lateness": {"buckets": [], "count": 1, "sum": nanos, "max": nanos},
        }))
        .unwrap()
    }

    fn is_valid(load_ms: f64, counters: &LinkCounters) -> bool {
        audit(Outcome::Measured, Some(&load_ms), counters) == Outcome::Measured
    }

    #[test]
    fn a_link_that_kept_its_word_lets_the_trial_count() {
        assert!(is_valid(20.0, &counters(0, 0, 0)));
        assert!(!is_valid(20.0, &counters(1, 0, 0)));
        assert!(!is_valid(20.0, &counters(0, 1, 0)));
    }

    #[test]
    fn lateness_spoils_a_trial_by_its_share_of_the_load() {
        assert!(is_valid(20.0, &counters(0, 0, 9)), "cores are away so long on any machine");
        assert!(!is_valid(20.0, &counters(0, 0, 40)));
        assert!(is_valid(3000.0, &counters(0, 0, 40)), "a slow link does not notice");
        assert!(!is_valid(3000.0, &counters(0, 0, 151)));
    }

    #[test]
    fn a_failed_trial_stays_one_however_late_its_link_was() {
        let failed = Outcome::Failed { reason: "no answer".to_owned() };
        assert_eq!(audit(failed.clone(), Some(&20.0), &counters(0, 0, 40)), failed);
    }
}
