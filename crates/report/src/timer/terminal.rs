//! A run of the page timer as lines for a terminal, and its rows as CSV.

use super::words::{
    conditions, counts, finding, limits, median, metric_name, ratio, reading, remarks,
};
use crate::csv::Table;
use crate::terminal::{Lines, Style, padded, plain, width};
use study::comparison::Verdict;
use study::timer::{TIMER_METRICS, TimerResult, TimerRun, TimerSide};

/// The lines, ending in a new line.
pub fn timer_terminal(result: &TimerResult, style: Style) -> String {
    let mut out = Lines::new(style);
    let (a, b) = (&result.pages.a, &result.pages.b);
    out.wrapped(&format!("page timer: {} ({}) against {} ({})", b.name, b.url, a.name, a.url), 2);
    out.wrapped(&conditions(result), 2);
    out.wrapped(&counts(result), 2);
    let row = |one: &study::timer::TimerMetric| {
        let ratio = ratio(&one.comparison).unwrap_or_default().replace('×', "x");
        [
            metric_name(&one.metric).to_owned(),
            plain(&median(one, TimerSide::A)),
            plain(&median(one, TimerSide::B)),
            ratio,
        ]
    };
    let head = ["".to_owned(), plain(&a.name), plain(&b.name), "ratio".to_owned()];
    let mut rows = vec![head];
    rows.extend(result.metrics.iter().map(row));
    let widths: Vec<usize> =
        (0..4).map(|at| rows.iter().map(|row| width(&row[at])).max().unwrap_or(0)).collect();
    for (number, row) in rows.iter().enumerate() {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(text, width)| padded(text, *width)).collect();
        let one = number.checked_sub(1).map(|number| &result.metrics[number]);
        let verdict = one.map_or_else(String::new, |one| {
            let word = one.comparison.verdict.word().to_uppercase();
            let bold =
                one.metric == result.settings.metric && one.comparison.verdict != Verdict::Tie;
            if bold { out.bold(&word) } else { word }
        });
        out.line(&format!("  {}  {verdict}", cells.join("  ")));
    }
    let by = ratio(&result.verdict).map_or_else(String::new, |ratio| format!(" ({ratio})"));
    out.wrapped(&format!("result: {}{by}", finding(result)), 8);
    for remark in remarks(&result.verdict) {
        out.wrapped(&format!("  {remark}"), 4);
    }
    for limit in limits(result) {
        out.wrapped(&format!("limit: {limit}"), 7);
    }
    out.wrapped(&reading(result), 0);
    out.finish()
}

/// Every load as CSV: block, attempt, order, page, URL, outcome, reason, protocol, resources, those from the cache, and
/// one column a metric.
pub fn timer_csv(run: &TimerRun) -> String {
    let mut table = Table::default();
    let columns = [
        "block",
        "attempt",
        "order",
        "page",
        "url",
        "outcome",
        "reason",
        "protocol",
        "resources",
        "cached",
    ];
    columns.iter().chain(&TIMER_METRICS).for_each(|column| table.text(column));
    table.end_line();
    for row in &run.rows {
        [row.block, row.attempt, row.order].into_iter().for_each(|figure| table.number(figure));
        table.text(&run.pages.of(row.page).name);
        table.text(&row.url);
        table.text(row.outcome.word());
        table.text(row.outcome.reason().unwrap_or_default());
        table.text(row.protocol.as_deref().unwrap_or_default());
        table.number(row.resources);
        table.number(row.cached);
        for metric in TIMER_METRICS {
            match row.metrics.get(metric) {
                Some(value) => table.number(value),
                None => table.text(""),
            }
        }
        table.end_line();
    }
    table.out
}
