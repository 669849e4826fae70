//! Tables of further metrics: when a page's files were complete, and counts, each contender next to the baseline.

use super::table::{figure, table, text};
use crate::markup::Markup;
use crate::metrics::verdict;
use crate::overview::{Group, load};
use crate::{Report, number, words};
use std::collections::BTreeSet;
use study::metric;
use study::result::{CellResult, MetricComparison, MetricVerdict};
use study::stats::Summary;

/// When a page's render-blocking files and fonts were there; nothing for work without any.
pub(super) fn assets(m: &mut Markup, groups: &[Group<'_>]) {
    let cells = || groups.iter().flat_map(|group| group.cells.iter().map(move |c| (group, *c)));
    let has = |name: &str| cells().any(|(_, cell)| cell.metrics.contains_key(name));
    let names: Vec<&str> = metric::ASSET_TIMES.into_iter().filter(|name| has(name)).collect();
    if names.is_empty() {
        return;
    }
    let mut columns = vec![text("cell"), figure("first byte of the document")];
    columns.extend(names.iter().map(|name| figure(metric::words(name))));
    columns.push(figure("load"));
    let row = |(group, cell): (&Group<'_>, &CellResult)| {
        let at = |name: &str| cell.metrics.get(name).map_or_else(String::new, time);
        let mut row = vec![words::cell(groups, cell), at(metric::FIRST_BYTE_MS)];
        row.extend(names.iter().map(|name| {
            let later =
                compared(group, cell, name).is_some_and(|one| one.verdict == MetricVerdict::More);
            format!("{}{}", if later { "▲ later: " } else { "" }, at(name))
        }));
        row.push(load(cell).map_or_else(String::new, time));
        row
    };
    let rows: Vec<Vec<String>> =
        cells().filter(|(_, cell)| !cell.metrics.is_empty()).map(row).collect();
    m.line("h3", &[], "When the files were there that a page needs before it can be painted");
    m.line("p", &[], ASSETS);
    table(m, "Style sheets, scripts and fonts", &columns, rows);
}

/// When a page could be painted; nothing for work without a page.
pub(super) fn paint(m: &mut Markup, groups: &[Group<'_>]) {
    let cells = || groups.iter().flat_map(|group| group.cells.iter().map(move |c| (group, *c)));
    let has = |name: &str| cells().any(|(_, cell)| cell.metrics.contains_key(name));
    let all = metric::PAINT_TIMES.into_iter().chain(metric::OF_BROWSERS);
    let names: Vec<&str> = all.filter(|name| has(name)).collect();
    if names.is_empty() {
        return;
    }
    let mut columns = vec![text("cell")];
    columns.extend(names.iter().map(|name| figure(metric::words(name))));
    let row = |(group, cell): (&Group<'_>, &CellResult)| {
        let mut row = vec![words::cell(groups, cell)];
        row.extend(names.iter().map(|name| {
            let verdict = compared(group, cell, name).map(|one| one.verdict);
            let mark = match verdict {
                Some(MetricVerdict::More) => "▲ later: ",
                Some(MetricVerdict::Less) => "▼ sooner: ",
                _ => "",
            };
            format!("{mark}{}", cell.metrics.get(*name).map_or_else(|| "–".to_owned(), time))
        }));
        row
    };
    let rows: Vec<Vec<String>> =
        cells().filter(|(_, cell)| !cell.metrics.is_empty()).map(row).collect();
    m.line("h3", &[], "When the page could be painted");
    m.line("p", &[], format!("{PAINT} {}", whose(cells().map(|(_, cell)| cell))));
    table(m, "Milestones of the page", &columns, rows);
}

const PAINT: &str = "Medians with 95 % intervals, from the first request on; a blank screen counts from unload. ▲ later and ▼ sooner: than \
                     with the baseline, with 95 % confidence for that comparison by itself.";

/// Who says when a page was painted.
fn whose<'c>(cells: impl Iterator<Item = &'c CellResult>) -> String {
    const MODEL: &str = "the page model's: what arrived allows no earlier paint, and scripts, decoding and layout take no time.";
    let cells: Vec<&CellResult> = cells.filter(|cell| !cell.metrics.is_empty()).collect();
    let browsers: BTreeSet<&str> = cells
        .iter()
        .filter(|cell| cell.is_of_browser())
        .filter_map(|cell| Some(cell.contender.client.as_ref()?.name.as_str()))
        .collect();
    let names = browsers.into_iter().collect::<Vec<_>>().join(", ");
    match cells.iter().filter(|cell| cell.is_of_browser()).count() {
        0 => format!("They are {MODEL}"),
        all if all == cells.len() => format!("They are what the browser itself tells: {names}."),
        _ => format!(
            "Of contenders with {names} they are what that browser tells; all others are {MODEL}"
        ),
    }
}

const ASSETS: &str = "Medians with 95 % intervals, from the first request to the last byte of the last such file. ▲ later: later than \
                      with the baseline, with 95 % confidence for that comparison by itself. Nothing is parsed or run here: \
                      a browser paints later than this.";

fn time(summary: &Summary) -> String {
    number::summary(summary)
}

fn compared<'g>(
    group: &Group<'g>,
    cell: &CellResult,
    metric: &str,
) -> Option<&'g MetricComparison> {
    let all = &group.verdicts?.metrics;
    all.iter().find(|one| one.contender == cell.contender.name && one.metric == metric)
}

/// What was counted; nothing where there is nobody to compare.
pub(super) fn counts(m: &mut Markup, report: &Report<'_>, groups: &[Group<'_>]) {
    let columns = [
        text("cell"),
        text("counted"),
        figure("median"),
        figure("least to greatest"),
        figure(&report.result.baseline),
        figure("least to greatest"),
        text("so it is"),
        figure("trials"),
    ];
    let of_group = |group: &Group<'_>| -> Vec<[String; 8]> {
        let all = group.verdicts.map_or(&[][..], |verdicts| &verdicts.metrics);
        let counts = all.iter().filter(|one| metric::COUNTS.contains(&one.metric.as_str()));
        counts
            .filter_map(|one| Some(count(words::cell(groups, group.cell(&one.contender)?), one)))
            .collect()
    };
    let rows: Vec<[String; 8]> = groups.iter().flat_map(of_group).collect();
    if rows.is_empty() {
        return;
    }
    m.line("h3", &[], "What was counted, beside the baseline");
    m.line("p", &[], COUNTS);
    m.element("details", &[], |m| {
        m.line("summary", &[], "Counts");
        table(m, "Counts", &columns, rows);
    });
}

const COUNTS: &str = "Counts hardly vary, and a busy machine does not change them: trials whose times the audit refused are counted \
                      in. Each comparison stands by itself, at 95 %; four trials of each are enough where all of one are below \
                      all of the other.";

fn count(cell: String, one: &MetricComparison) -> [String; 8] {
    let range = |least: f64, most: f64| match least == most {
        true => "always".to_owned(),
        false => format!("{} to {}", number::count(least), number::count(most)),
    };
    [
        cell,
        metric::words(&one.metric).to_owned(),
        number::count(one.own.median),
        range(one.own.least, one.own.most),
        number::count(one.baseline.median),
        range(one.baseline.least, one.baseline.most),
        verdict(one.verdict).to_owned(),
        one.own.n.min(one.baseline.n).to_string(),
    ]
}
