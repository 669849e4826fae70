//! The answer of a search for the highest rate that holds an objective, and its probes, for a terminal and as CSV.

use super::load_rate;
use crate::csv::Table;
use crate::number::duration;
use crate::terminal::{Lines, padded};
use study::load::{Checked, Probe, SloAnswer, SloResult};

/// The answer in words, then a line for each probe.
pub(super) fn objective(out: &mut Lines, slo: &SloResult, is_interrupted: bool) {
    let answer = out.bold(&outcome(slo, is_interrupted));
    out.line(&format!("  {}: {answer}", slo.objective));
    if let Some(doubt) = doubt(slo) {
        out.line(&format!("  note: {doubt}"));
    }
    let Some(first) = slo.probes.first() else { return };
    let mut head = format!("{:>RATE$}{:>RATE$}", "offered/s", "answered/s");
    for checked in &first.conditions {
        head.push_str(&format!("{:>FIGURE$}", name(checked)));
    }
    if timed(first).is_some() {
        head.push_str(&format!("{:>FIGURE$}", "w/o client"));
    }
    out.line(&format!("{head}  verdict"));
    for probe in &slo.probes {
        out.line(&line(probe));
    }
    if timed(first).is_some() {
        out.wrapped(
            "  w/o client: without this client's own lateness in beginning requests; verdicts go by it where \
             the client kept up with the rate",
            4,
        );
    }
    let others = slo.probes.iter().filter(|probe| probe.reason.is_some());
    let mut explained: Vec<&str> = Vec::new();
    for probe in others.filter(|probe| probe.verdict != study::load::Verdict::Missed) {
        if !explained.contains(&probe.verdict.name()) {
            explained.push(probe.verdict.name());
            let reason = probe.reason.as_deref().unwrap_or_default();
            out.wrapped(
                &format!("  {}, as at {}: {reason}", probe.verdict.name(), load_rate(probe.rate)),
                4,
            );
        }
    }
}

/// A probe as one line, as the table and the progress of a search show it.
pub fn load_probe(probe: &Probe) -> String {
    let reason = probe.reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"));
    format!("{} requests/s: {}{reason}", load_rate(probe.rate), probe.verdict.name())
}

fn line(probe: &Probe) -> String {
    let mut line = format!("{:>RATE$}{:>RATE$}", load_rate(probe.rate), load_rate(probe.achieved));
    for checked in &probe.conditions {
        line.push_str(&format!("{:>FIGURE$}", figure(probe, checked, checked.measured)));
    }
    if let Some(checked) = timed(probe) {
        line.push_str(&format!("{:>FIGURE$}", figure(probe, checked, checked.without_client)));
    }
    format!("{}  {}", padded(&line, 0), probe.verdict.name())
}

/// What the search came to, or had come to when it was interrupted.
pub(crate) fn outcome(slo: &SloResult, is_interrupted: bool) -> String {
    match (is_interrupted, slo.probes.len()) {
        (false, _) => answer(slo),
        (true, 0) => "interrupted during the first probe".to_owned(),
        (true, probes) => format!("interrupted after probe {probes}; so far {}", answer(slo)),
    }
}

/// What the search came to.
fn answer(slo: &SloResult) -> String {
    let between = |low: f64, high: f64| format!("[{}, {}]", load_rate(low), load_rate(high));
    match (slo.answer, slo.rate, slo.holds_at, slo.fails_at) {
        (SloAnswer::Found, Some(rate), Some(low), Some(high)) => {
            format!("holds up to {} requests/s {}", load_rate(rate), between(low, high))
        }
        (SloAnswer::ClientBound, Some(rate), ..) => format!(
            "holds at {} requests/s at least: the client could not send more in time",
            load_rate(rate)
        ),
        (SloAnswer::Nowhere, ..) => {
            let least = slo.probes.iter().map(|probe| probe.rate).fold(f64::INFINITY, f64::min);
            format!("holds at no rate, down to {} requests/s", load_rate(least))
        }
        (_, _, Some(low), Some(high)) => {
            format!("undecided: the limit lies in {} requests/s", between(low, high))
        }
        _ => {
            let held = slo.probes.iter().filter(|probe| probe.held).map(|probe| probe.rate);
            let all_held = slo.probes.iter().all(|probe| probe.held);
            match held.max_by(f64::total_cmp) {
                Some(rate) if all_held => format!(
                    "undecided: nothing failed yet; the highest rate that held was {} requests/s",
                    load_rate(rate)
                ),
                Some(rate) => format!(
                    "undecided: the probes do not agree; the highest rate that held was {} requests/s",
                    load_rate(rate)
                ),
                None => {
                    let reason = slo.probes.iter().find_map(|probe| probe.reason.as_deref());
                    format!("undecided: no probe held; the first: {}", reason.unwrap_or("unknown"))
                }
            }
        }
    }
}

/// Why a limit that was found is to be doubted: many probes at rates below it did not hold, or one above it did.
pub(super) fn doubt(slo: &SloResult) -> Option<String> {
    let found = slo.answer == SloAnswer::Found;
    let (holds_at, fails_at) = slo.holds_at.zip(slo.fails_at).filter(|_| found)?;
    let below: Vec<&Probe> = slo.probes.iter().filter(|probe| probe.rate < holds_at).collect();
    let failed = below.iter().filter(|probe| !probe.held).count();
    let failed = (failed as f64 > below.len() as f64 * DOUBTFUL)
        .then(|| format!("{failed} of {} probes at lower rates did not hold it", below.len()));
    let above: Vec<&Probe> = slo.probes.iter().filter(|probe| probe.rate > fails_at).collect();
    let held: Vec<f64> = above.iter().filter(|probe| probe.held).map(|probe| probe.rate).collect();
    let held = held.iter().copied().max_by(f64::total_cmp).map(|most| {
        let (count, most) = (held.len(), load_rate(most));
        format!(
            "{count} of {} probes at higher rates held it, up to {most} requests/s",
            above.len()
        )
    });
    let doubts: Vec<String> = [failed, held].into_iter().flatten().collect();
    (!doubts.is_empty()).then(|| {
        format!(
            "{}: something disturbed the server or this machine meanwhile; run it again when both are quiet",
            doubts.join(", and ")
        )
    })
}

/// A share of failed probes below the limit that is worth a word.
const DOUBTFUL: f64 = 0.2;

/// What a condition is on: `p99` of `p99<5 ms`.
pub(crate) fn name(checked: &Checked) -> &str {
    checked.condition.split('<').next().unwrap_or_default()
}

fn is_share(checked: &Checked) -> bool {
    name(checked) == "errors"
}

/// The first condition on times.
fn timed(probe: &Probe) -> Option<&Checked> {
    probe.conditions.iter().find(|checked| !is_share(checked))
}

/// A condition's figure. Times are of answers alone.
fn figure(probe: &Probe, checked: &Checked, value: f64) -> String {
    match (is_share(checked), probe.latency.is_some()) {
        (true, _) => share(value),
        (false, true) => duration(value),
        (false, false) => "-".to_owned(),
    }
}

/// A share in percent. What is not nothing never reads as 0 %.
pub(crate) fn share(value: f64) -> String {
    match value * 100.0 {
        percent if percent <= 0.0 => "0 %".to_owned(),
        percent if percent < 0.01 => "<0.01 %".to_owned(),
        percent if percent < 1.0 => format!("{percent:.2} %"),
        percent if percent < 10.0 => format!("{percent:.1} %"),
        percent if percent < 100.0 => format!("{:.0} %", percent.min(99.0)),
        _ => "100 %".to_owned(),
    }
}

const RATE: usize = 12;
const FIGURE: usize = 12;

/// The probes as CSV: a line each.
///
/// | column | holds |
/// |---|---|
/// | `rate`, `achieved` | requests a second that were due, and answers a second |
/// | `requests`, `errors` | requests that ended, and those without an answer or with a status of 400 or more |
/// | `client_busy` | the share of its time that the client's busiest thread was busy |
/// | `NAME`, `NAME_without_client` | each condition's figure: milliseconds, or a share for `errors` |
/// | `verdict`, `reason` | what it came to |
pub(super) fn csv(slo: &SloResult) -> String {
    let mut table = Table::default();
    for name in ["rate", "achieved", "requests", "errors", "client_busy"] {
        table.text(name);
    }
    for checked in slo.probes.iter().take(1).flat_map(|probe| &probe.conditions) {
        let unit = if is_share(checked) { "share" } else { "ms" };
        table.text(&format!("{}_{unit}", name(checked)));
        table.text(&format!("{}_without_client_{unit}", name(checked)));
    }
    table.text("verdict");
    table.text("reason");
    table.end_line();
    for probe in &slo.probes {
        [probe.rate, probe.achieved].into_iter().for_each(|value| table.number(value));
        [probe.requests, probe.errors].into_iter().for_each(|value| table.number(value));
        table.number(probe.busiest_share);
        for checked in &probe.conditions {
            table.number(checked.measured);
            table.number(checked.without_client);
        }
        table.text(probe.verdict.name());
        table.text(probe.reason.as_deref().unwrap_or_default());
        table.end_line();
    }
    table.out
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use study::load::{Found, Verdict};

    /// A search that found a limit near 1,000, with probes of these rates.
    fn found(probes: &[(f64, bool)]) -> SloResult {
        let limit = Found::Limit { rate: 1_000.0, interval: [900.0, 1_100.0] };
        let probes = probes.iter().map(probe).collect();
        SloResult::new("p99<5 ms".to_owned(), limit, probes, Vec::new())
    }

    /// A search that has not come further than these rates, all of which held.
    pub(crate) fn held_so_far(rates: &[f64]) -> SloResult {
        let probes = rates.iter().map(|rate| probe(&(*rate, true))).collect();
        let open = Found::Undecided { interval: None };
        SloResult::new("p99<5 ms".to_owned(), open, probes, Vec::new())
    }

    fn probe(&(rate, held): &(f64, bool)) -> Probe {
        Probe {
            rate,
            achieved: rate,
            requests: 100,
            errors: 0,
            busiest_share: 0.1,
            conditions: Vec::new(),
            latency: None,
            latency_without_client: None,
            held,
            verdict: if held { Verdict::Held } else { Verdict::Missed },
            reason: (!held).then(|| "p99 was 9 ms".to_owned()),
        }
    }

    #[test]
    fn a_limit_that_probes_on_its_other_side_contradict_is_doubted() {
        let sound = found(&[(500.0, true), (800.0, true), (1_200.0, false), (2_000.0, false)]);
        assert_eq!(doubt(&sound), None);
        let doubtful = found(&[(10.0, false), (500.0, true), (800.0, false), (1_200.0, false)]);
        assert!(doubt(&doubtful).unwrap().starts_with("2 of 3 probes at lower rates did not hold"));
        let faster = found(&[(500.0, true), (800.0, true), (4_000.0, true), (1_200.0, false)]);
        assert!(
            doubt(&faster)
                .unwrap()
                .starts_with("1 of 2 probes at higher rates held it, up to 4,000 ")
        );
    }
}
