//! Tables with one row a cell: protocols and connections, traffic, and the figures themselves.

use super::picture;
use super::table::{figure, table, text};
use crate::connections::ConnectionSummary;
use crate::cost::Cost;
use crate::markup::Markup;
use crate::overview::Group;
use crate::{Report, command, number, words};
use study::metric;
use study::record::{DirectionCounters, TrialRecord};
use study::result::CellResult;
use study::stats::{Percentile, Summary};
use trace::ConnectionRecord;

/// The protocols and connections of each cell's median trial; nothing where nothing was measured.
pub(super) fn protocols(m: &mut Markup, report: &Report<'_>, groups: &[Group<'_>]) {
    let columns = [
        text("cell"),
        text("connections and protocol"),
        text("TLS"),
        text("cipher"),
        text("sessions resumed"),
        figure("streams a connection"),
        figure("pushed"),
        figure("bytes of request headers"),
        figure("bytes of response headers"),
    ];
    let row = |cell: &CellResult| {
        let summary = ConnectionSummary::of(report.median_row(cell)?);
        Some([
            words::cell(groups, cell),
            summary.protocols(),
            summary.tls(),
            summary.ciphers(),
            summary.sessions(),
            summary.streams(),
            summary.pushed(),
            summary.request_headers(),
            summary.response_headers(),
        ])
    };
    let rows: Vec<[String; 9]> = cells(groups).filter_map(row).collect();
    // A browser tells nothing of its connections.
    if rows.is_empty() || !has_connections(report, groups) {
        return;
    }
    m.line("h3", &[], "Protocols and connections, in each cell's median trial");
    m.line("p", &[], HEADERS);
    table(m, "Protocols and connections", &columns, rows);
    connections_query(m, report, groups);
}

const HEADERS: &str = "Bytes of headers are given before → after compression: of HTTP/2 and HTTP/3 the fields as HTTP/1.1 would write \
                       them, of SPDY the name/value blocks. HTTP/1.1 compresses none.";

/// The traffic of each cell's median trial; nothing where nothing was measured.
pub(super) fn moved(m: &mut Markup, report: &Report<'_>, groups: &[Group<'_>]) {
    let columns = [
        text("cell"),
        figure("connections"),
        figure("requests"),
        figure("request round trips"),
        figure("bytes sent"),
        figure("bytes received"),
        figure("packets lost"),
        figure("packets dropped"),
    ];
    let row = |cell: &CellResult| {
        let mut row = vec![words::cell(groups, cell)];
        row.extend(sums(cell, report.median_row(cell)?));
        Some(row)
    };
    let rows: Vec<Vec<String>> = cells(groups).filter_map(row).collect();
    if rows.is_empty() {
        return;
    }
    m.line("h3", &[], "What went over the wire, in each cell's median trial");
    table(m, "Over the wire", &columns, rows);
    connections_query(m, report, groups);
}

/// The cost of each cell's trials besides time; nothing where rows have none.
pub(super) fn cost(m: &mut Markup, report: &Report<'_>, groups: &[Group<'_>]) {
    let columns = [
        text("cell"),
        figure("wall"),
        figure("start-up"),
        figure("CPU"),
        figure("CPU s per GiB"),
        figure("95 % interval"),
        figure("peak memory"),
        figure("peak heap"),
        figure("garbage collections"),
    ];
    let row = |cell: &CellResult| {
        let cost = Cost::of(cell)?;
        let wall = cell.metrics.get(metric::WALL_MS);
        let wall = wall.map_or_else(String::new, |wall| number::duration(wall.median));
        let head = [words::cell(groups, cell), wall];
        Some(head.into_iter().chain(cost.columns()).collect::<Vec<_>>())
    };
    let rows: Vec<Vec<String>> = cells(groups).filter_map(row).collect();
    if rows.is_empty() {
        return;
    }
    m.line("h3", &[], "Processor time and memory: medians of the measured trials");
    m.line("p", &[], COST);
    table(m, "Processor time and memory", &columns, rows);
    picture::rows(m, &command::csv(report.folder));
}

const COST: &str = "Processor time is that of the client's whole process, its start included: the less it fetches, the more the \
                    start weighs. Start-up is the part of a process's time before its first request.";

fn connections_query(m: &mut Markup, report: &Report<'_>, groups: &[Group<'_>]) {
    let medians = cells(groups).filter_map(|cell| cell.median_trial.as_ref());
    let keys = command::sql_list(medians.map(|median| median.key.as_str()));
    let query = match has_connections(report, groups) {
        true => format!("SELECT * FROM connections WHERE key IN {keys} ORDER BY key, id"),
        false => {
            format!("SELECT key, record -> 'packets' AS packets FROM trials WHERE key IN {keys}")
        }
    };
    picture::rows(m, &command::rows(report.folder, &query));
}

/// Whether the client of any median trial told its connections.
fn has_connections(report: &Report<'_>, groups: &[Group<'_>]) -> bool {
    cells(groups).filter_map(|cell| report.median_row(cell)).any(|row| !row.connections.is_empty())
}

/// Every metric of every cell.
pub(super) fn figures(m: &mut Markup, report: &Report<'_>, groups: &[Group<'_>]) {
    let columns = [
        text("cell"),
        text("metric"),
        figure("n"),
        figure("median"),
        figure("95 % from"),
        figure("to"),
        figure("least"),
        figure("greatest"),
        text("not counted"),
    ];
    m.line("h3", &[], "Raw figures of every cell");
    let rows = cells(groups).flat_map(|cell| {
        let left_out = left_out(cell);
        let mut rows: Vec<Vec<String>> = cell
            .metrics
            .iter()
            .map(|(name, summary)| {
                let mut row = vec![words::cell(groups, cell), name.clone()];
                row.extend(summed(summary));
                row.push(left_out.clone());
                row
            })
            .collect();
        rows.extend(percentiles(groups, cell));
        if rows.is_empty() {
            let mut row = vec![words::cell(groups, cell), "none".to_owned(), "0".to_owned()];
            row.resize(8, String::new());
            row.push(left_out);
            rows.push(row);
        }
        rows
    });
    m.element("details", &[], |m| {
        m.line("summary", &[], "Figures of the measured trials");
        table(m, "Figures of the measured trials", &columns, rows);
    });
    picture::rows(m, &command::csv(report.folder));
}

/// One row for each percentile of single exchanges, from the histogram of all measured trials.
fn percentiles(groups: &[Group<'_>], cell: &CellResult) -> Vec<Vec<String>> {
    let Some(samples) = &cell.samples else { return Vec::new() };
    let row = |percentile: &Percentile| {
        let name = format!("exchange_ms p{}", percentile.share * 100.0);
        let end = |end: usize| {
            percentile.ci95.map_or_else(String::new, |ci95| format!("{:.3}", ci95[end]))
        };
        let (value, max) = (format!("{:.3}", percentile.ms), format!("{:.3}", samples.max_ms));
        let n = samples.n.to_string();
        let of = format!("all of {} trials together", samples.trials);
        vec![words::cell(groups, cell), name, n, value, end(0), end(1), String::new(), max, of]
    };
    samples.at.iter().map(row).collect()
}

fn cells<'g>(groups: &'g [Group<'_>]) -> impl Iterator<Item = &'g CellResult> {
    groups.iter().flat_map(|group| group.cells.iter().copied())
}

fn sums(cell: &CellResult, trial: &TrialRecord) -> [String; 7] {
    let all = &trial.connections;
    let sum =
        |of: fn(&ConnectionRecord) -> u64| number::count(all.iter().map(of).sum::<u64>() as f64);
    [
        all.len().to_string(),
        sum(|connection| u64::from(connection.requests)),
        cell.median_trial
            .as_ref()
            .map(|median| median.rounds.map_or_else(|| "–".to_owned(), |rounds| rounds.to_string()))
            .unwrap_or_default(),
        sum(|connection| connection.bytes_sent),
        sum(|connection| connection.bytes_received),
        (trial.link.down.lost + trial.link.up.lost).to_string(),
        (dropped(&trial.link.down) + dropped(&trial.link.up)).to_string(),
    ]
}

/// Packets that the link took out itself: its queue, the queue's discipline, its policer, its firewall or NAT.
fn dropped(way: &DirectionCounters) -> u64 {
    let DirectionCounters { queue_full, aqm_dropped, policed, blocked, .. } = *way;
    queue_full + aqm_dropped + policed + blocked
}

fn summed(summary: &Summary) -> [String; 6] {
    let [low, high] = summary.ci95.map_or([None; 2], |ci95| ci95.map(Some));
    let values = [Some(summary.median), low, high, Some(summary.min), Some(summary.max)];
    let whole = values.iter().flatten().all(|value| value.fract() == 0.0);
    let text = |value: f64| if whole { number::count(value) } else { format!("{value:.3}") };
    let [median, low, high, min, max] = values.map(|value| value.map_or_else(String::new, text));
    [summary.n.to_string(), median, low, high, min, max]
}

fn left_out(cell: &CellResult) -> String {
    let counts = [
        (cell.trials.invalid, "invalid"),
        (cell.trials.failed, "failed"),
        (cell.trials.unsupported, "unsupported"),
    ];
    let said: Vec<String> =
        counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    said.join(", ")
}
