//! Two runs against each other, in the forms that people and CI systems read.

mod junit;
mod markdown;
mod terminal;
#[cfg(test)]
mod tests;

pub use junit::comparison_junit;
pub use markdown::comparison_markdown;
pub use terminal::comparison_terminal;

use crate::number::{self, Percent, Ratio};
use crate::words::listed;
use study::compare::{CellChange, Change, RunComparison, Side, Unmatched};
use unit::counted;

impl Ratio {
    /// A change's ratio; None where a run has no figure, which is so too where it failed: failures rank as the largest,
    /// and nothing is a number of times as large as they are.
    pub(crate) fn of_change(change: &CellChange) -> Option<Self> {
        let value = change.ratio?.0;
        let is_figure = value.is_finite() && value > 0.0;
        is_figure.then_some(Self { value, ci: change.ci95?.map(|end| end.0) })
    }
}

/// All ratios with their intervals.
pub(crate) fn figures(comparison: &RunComparison) -> impl Iterator<Item = Ratio> {
    comparison.changes.iter().filter_map(Ratio::of_change)
}

/// A side's median in the metric's unit.
pub(crate) fn figure(metric: &str, side: Side) -> String {
    match side.median {
        Some(median) if metric.ends_with("_ms") => number::duration(median),
        Some(median) if median.abs() >= 1000.0 => number::count(median),
        Some(median) => {
            format!("{median:.3}").trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        None if side.failed > 0 => "failed".to_owned(),
        None => "not measured".to_owned(),
    }
}

/// The comparison in one sentence.
pub(crate) fn headline(comparison: &RunComparison) -> String {
    let count = |wanted: Change| comparison.changes.iter().filter(|c| c.change == wanted).count();
    let gates = match comparison.gates.as_slice() {
        [] => String::new(),
        gates => format!("; gates: {}", crate::gates::counts(gates)),
    };
    let failed = |in_a: bool, in_b: bool| {
        let is_it = |one: &&CellChange| (one.a.failed > 0, one.b.failed > 0) == (in_a, in_b);
        comparison.changes.iter().filter(|one| one.change == Change::Failed).filter(is_it).count()
    };
    let parts = [
        (count(Change::Higher), "higher".to_owned()),
        (count(Change::Lower), "lower".to_owned()),
        (count(Change::Tie), "level".to_owned()),
        (count(Change::Undecided), "undecided".to_owned()),
        (failed(true, false), format!("failed in {}", comparison.a)),
        (failed(false, true), format!("failed in {}", comparison.b)),
        (failed(true, true), "failed in both".to_owned()),
        (count(Change::NotMeasured), "not measured".to_owned()),
    ];
    let told: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    match told.as_slice() {
        [] => "The two runs have no cell in common".to_owned(),
        told => {
            let all = counted(comparison.changes.len(), "figure");
            format!("Of {all} {}{gates}", crate::words::listed(told))
        }
    }
}

/// Why nothing follows from the figures of a cell.
pub(crate) fn remark(change: &CellChange) -> String {
    let cell = &change.cell;
    let reason = change.reason.as_deref().unwrap_or_default();
    format!("{}, {}, {}, {}: {reason}", cell.workload, cell.link, cell.contender, change.metric)
}

/// The cells that one run alone has, those of a workload on a link together. Where a gate was asked of one, that said so.
pub(crate) fn only_in(comparison: &RunComparison) -> Vec<String> {
    let is_told = |one: &&Unmatched| {
        let (cell, mut gates) = (&one.cell, comparison.gates.iter().map(|gate| &gate.place));
        gates.any(|place| {
            (&place.workload, &place.link, &place.contender)
                == (&cell.workload, &cell.link, &cell.contender)
        })
    };
    let alone: Vec<&Unmatched> = comparison.unmatched.iter().filter(|one| !is_told(one)).collect();
    let group =
        |one: &Unmatched| (one.only_in.clone(), one.cell.workload.clone(), one.cell.link.clone());
    let groups = alone.chunk_by(|a, b| group(a) == group(b)).map(|group| {
        let first = &group[0].cell;
        let names: Vec<&str> = group.iter().map(|one| one.cell.contender.as_str()).collect();
        format!(
            "only in {}: {}, {}, {}",
            group[0].only_in,
            first.workload,
            first.link,
            listed(&names)
        )
    });
    groups.collect()
}

/// How the figures are to be read.
pub(crate) fn reading(comparison: &RunComparison) -> String {
    if figures(comparison).all(Ratio::is_anything) {
        let (a, b) = (&comparison.a, &comparison.b);
        return format!("Ratios are {b} over {a}. Too few trials for an interval.");
    }
    format!(
        "Ratios are {} over {}, Hodges-Lehmann with exact Mann-Whitney intervals that hold together with {}. \
         tie: within ±{}. higher, lower: clear of 1.",
        comparison.b,
        comparison.a,
        Percent(comparison.confidence),
        Percent(comparison.margin),
    )
}
