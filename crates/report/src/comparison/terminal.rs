//! The comparison as lines for a terminal.

use super::{figure, headline, ratio_text, reading};
use crate::number::Ratio;
use crate::terminal::{Lines, Style, padded, plain, width};
use study::compare::{CellChange, Change, GateOutcome, RunComparison};

/// The lines, ending in a new line.
pub fn comparison_terminal(comparison: &RunComparison, style: Style) -> String {
    let mut out = Lines::new(style);
    out.wrapped(&format!("{} -> {}", comparison.a, comparison.b), 2);
    out.wrapped(&headline(comparison), 2);
    let widths = Widths::of(comparison);
    let mut metrics: Vec<(&str, &str)> = Vec::new();
    for change in &comparison.changes {
        let heading = (change.cell.workload.as_str(), change.metric.as_str());
        if !metrics.contains(&heading) {
            metrics.push(heading);
        }
    }
    for (workload, metric) in metrics {
        out.line(&out.bold(&plain(&format!("{workload}: {metric}"))));
        let own =
            |change: &&CellChange| change.cell.workload == workload && change.metric == metric;
        comparison.changes.iter().filter(own).for_each(|change| row(&mut out, change, &widths));
    }
    gates(&mut out, comparison);
    for difference in &comparison.differences {
        out.wrapped(&format!("differs: {difference}"), 9);
    }
    for one in &comparison.unmatched {
        let cell = &one.cell;
        let what = format!("{}, {}, {}", cell.workload, cell.link, cell.contender);
        out.wrapped(&format!("only in {}: {what}", one.only_in), 9);
    }
    out.wrapped(&reading(comparison), 0);
    out.finish()
}

struct Widths {
    link: usize,
    name: usize,
    before: usize,
    after: usize,
    ratio: usize,
}

impl Widths {
    fn of(comparison: &RunComparison) -> Self {
        let longest = |text: &dyn Fn(&CellChange) -> String| {
            comparison.changes.iter().map(|change| width(&text(change))).max().unwrap_or(0)
        };
        Self {
            link: longest(&|change| change.cell.link.clone()),
            name: longest(&|change| change.cell.contender.clone()),
            before: longest(&|change| figure(&change.metric, change.a)),
            after: longest(&|change| figure(&change.metric, change.b)),
            ratio: longest(&ratio),
        }
    }
}

fn ratio(change: &CellChange) -> String {
    Ratio::of_change(change).map_or_else(String::new, |ratio| ratio_text(ratio).replace('×', "x"))
}

fn row(out: &mut Lines, change: &CellChange, widths: &Widths) {
    let link = padded(&plain(&change.cell.link), widths.link);
    let name = padded(&plain(&change.cell.contender), widths.name);
    let before = padded(&figure(&change.metric, change.a), widths.before);
    let after = padded(&figure(&change.metric, change.b), widths.after);
    let ratio = padded(&ratio(change), widths.ratio);
    let verdict = change.change.word().to_uppercase();
    let verdict = if change.change == Change::Tie { verdict } else { out.bold(&verdict) };
    out.line(&format!("  {link}  {name}  {before} -> {after}  {ratio}  {verdict}"));
}

fn gates(out: &mut Lines, comparison: &RunComparison) {
    let mut names: Vec<&str> = comparison.gates.iter().map(|gate| gate.gate.as_str()).collect();
    names.dedup();
    for name in names {
        let own = || comparison.gates.iter().filter(|gate| gate.gate == name);
        let count = |outcome| own().filter(|gate| gate.outcome == outcome).count();
        let outcomes = [
            GateOutcome::Broken,
            GateOutcome::Holds,
            GateOutcome::WithinNoise,
            GateOutcome::NotMeasured,
        ];
        let told: Vec<String> = outcomes
            .into_iter()
            .filter(|outcome| count(*outcome) > 0)
            .map(|outcome| format!("{} {}", count(outcome), outcome.words()))
            .collect();
        out.wrapped(&format!("gate {name}: {}", told.join(", ")), 2);
        for gate in own().filter(|gate| gate.outcome == GateOutcome::Broken) {
            let ratio = Ratio::of_gate(gate).map_or_else(String::new, ratio_text).replace('×', "x");
            let cell = &gate.cell;
            let place = format!("{}, {}, {}", cell.workload, cell.link, cell.contender);
            out.wrapped(&format!("  BROKEN {place}: {ratio}"), 4);
        }
    }
}
