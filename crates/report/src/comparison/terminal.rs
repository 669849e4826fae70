//! The comparison as lines for a terminal.

use super::{figure, headline, only_in, reading, remark};
use crate::gates::{self, ratio_text};
use crate::number::Ratio;
use crate::terminal::{Lines, Style, padded, plain, width};
use study::compare::{CellChange, Change, RunComparison};

/// The lines, ending in a new line.
pub fn comparison_terminal(comparison: &RunComparison, style: Style) -> String {
    let mut out = Lines::new(style);
    out.wrapped(&format!("{} -> {}", comparison.a, comparison.b), 2);
    comparison.warnings.iter().for_each(|warning| out.wrapped(&format!("WARNING {warning}"), 8));
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
    for change in comparison.changes.iter().filter(|change| change.reason.is_some()) {
        out.wrapped(&format!("  {}", remark(change)), 4);
    }
    for line in gates::lines(&comparison.gates) {
        match line.strip_prefix("  ") {
            Some(place) => out.wrapped(&format!("  {}", place.replace('×', "x")), 4),
            None => out.wrapped(&format!("gate {line}"), 2),
        }
    }
    for difference in &comparison.differences {
        out.wrapped(&format!("differs: {difference}"), 9);
    }
    only_in(comparison).iter().for_each(|line| out.wrapped(line, 9));
    out.wrapped(&reading(comparison), 0);
    if let Some(reading) = gates::reading(&comparison.gates) {
        out.wrapped(&reading, 0);
    }
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
