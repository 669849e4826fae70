//! What a reader must know of the instrument before any figure.

use crate::blocks::Audited;
use crate::calibration::{Calibration, micros};
use crate::record::RunHeader;
use std::collections::BTreeSet;

/// A sentence each; none where the instrument kept its limits and the audit let the trials pass. `cells` are each cell's
/// link and what the audit made of it, without those of workloads that check others: the terminal and the verdicts have none.
pub(super) fn warnings<'r>(
    header: &RunHeader,
    cells: impl Iterator<Item = (&'r str, Audited)>,
) -> Vec<String> {
    let calibration =
        header.host.calibration.as_ref().and_then(|one| calibrated(one, "The instrument"));
    let machines = header.machines.iter().filter_map(|run| {
        let what = format!("The instrument on {} (shard {})", run.name, run.shard);
        match (&run.host.calibration, header.shard) {
            // The run's own facts have it.
            (_, Some(_)) => None,
            (Some(calibration), None) => calibrated(calibration, &what),
            (None, None) => Some(format!("{what} was not calibrated.")),
        }
    });
    let parts = part(header).into_iter().chain(missing(header));
    parts.chain(calibration).chain(machines).chain(refused(&cells.collect::<Vec<_>>())).collect()
}

/// That a shard by itself says little.
fn part(header: &RunHeader) -> Option<String> {
    let shard = header.shard?;
    Some(format!(
        "This is shard {shard} of a run alone: `wirelap merge` judges all of its shards together."
    ))
}

/// That a merged run is not whole.
fn missing(header: &RunHeader) -> Option<String> {
    const NAMED: usize = 5;
    let (first, all) = (header.missing.first()?, header.missing.len());
    let named = header.missing[..all.min(NAMED)].join(", ");
    Some(match all {
        1 => format!("One planned trial is missing: {first}."),
        2..=NAMED => format!("{all} planned trials are missing: {named}."),
        _ => format!("{all} planned trials are missing: {named} and {} more.", all - NAMED),
    })
}

fn calibrated(calibration: &Calibration, what: &str) -> Option<String> {
    let beyond = calibration.beyond_limits();
    if beyond.is_empty() {
        return None;
    }
    let cause = calibration.cause_in_words();
    let finest = calibration.finest_us();
    let end = if cause.ends_with('?') { "" } else { "." };
    let mut text =
        format!("{what} was beyond its limits before the run: {}; {cause}{end}", beyond.join("; "));
    // Less is no round trip's error that a reader could use, and is printed as 0 µs.
    if finest >= 1.0 {
        text.push_str(&format!(
            " One round trip in a hundred is off by {} or more; each trial was audited by itself.",
            micros(finest)
        ));
    }
    Some(text)
}

/// Cells without figures, because the audit refused too many of their trials.
fn refused(cells: &[(&str, Audited)]) -> Option<String> {
    let without: Vec<&(&str, Audited)> =
        cells.iter().filter(|(_, audited)| audited.refusal().is_some()).collect();
    without.first()?;
    let attempts: u32 = without.iter().map(|(_, audited)| audited.trials).sum();
    let invalid: u32 = without.iter().map(|(_, audited)| audited.invalid).sum();
    let links: BTreeSet<&str> = without.iter().map(|(link, _)| *link).collect();
    let links: Vec<&str> = links.into_iter().collect();
    Some(format!(
        "The audit refused {invalid} of {attempts} attempts of {} of {} cells (on {}): these have no times. What was \
         counted there (round trips, connections, bytes) is judged all the same.",
        without.len(),
        cells.len(),
        links.join(", "),
    ))
}
