//! A load run as lines for a terminal, and its course as CSV.

mod prometheus;
mod slo;

pub use prometheus::load_prometheus;

pub use slo::load_probe;
pub(crate) use slo::{name as slo_name, outcome as slo_outcome, share as slo_share};

use crate::csv::Table;
use crate::number::duration;
use crate::terminal::{Lines, Style, padded};
use std::collections::BTreeMap;
use study::load::{LoadResult, LoadSetting, LoopKind, PartResult, Second, TimesSummary};
use trace::SpokenProtocol;
use unit::counted;

/// The result for a terminal, ending in a new line.
pub fn load(result: &LoadResult, style: Style) -> String {
    let mut out = Lines::new(style);
    out.wrapped(&conditions(result), 2);
    if result.connects.opened == 0 {
        let text = out.bold("no connection could be opened, so no request was made");
        out.line(&format!("  {text}"));
    } else {
        let rate = out.bold(&format!("{} requests/s", load_rate(result.answers_per_second)));
        out.line(&format!("  {rate} answered over {}", duration(result.seconds * 1e3)));
        out.wrapped(&format!("  {}", counts(&result.whole)), 4);
    }
    table(&mut out, result);
    for stage in &result.stages {
        out.wrapped(&format!("  at {}: {}", stage.rate, in_short(&stage.part)), 4);
    }
    if result.targets.len() > 1 {
        for target in &result.targets {
            let text = in_short(&target.part);
            out.wrapped(&format!("  {} {}: {text}", target.method, target.url), 4);
        }
    }
    out.wrapped(&format!("  {}", traffic(result)), 4);
    out.wrapped(&format!("  {}", client(result)), 4);
    if let Some(slo) = &result.slo {
        slo::objective(&mut out, slo, result.interrupted);
    } else if result.interrupted {
        out.line("  interrupted: the run was ended before its time");
    }
    for warning in &result.warnings {
        out.wrapped(&format!("  warning: {warning}"), 4);
    }
    out.finish()
}

/// What is said of a run, for a page.
pub(crate) struct LoadWords {
    pub(crate) answer: String,
    /// Why the answer of a search is to be doubted.
    pub(crate) doubt: Option<String>,
    pub(crate) conditions: String,
    pub(crate) counts: String,
    pub(crate) traffic: String,
    pub(crate) client: String,
}

/// It in words.
pub(crate) fn words(result: &LoadResult) -> LoadWords {
    let answer = match (&result.slo, result.connects.opened) {
        (_, 0) => "No connection could be opened, so no request was made".to_owned(),
        (Some(found), _) => {
            format!("{}: {}", found.objective, slo_outcome(found, result.interrupted))
        }
        (None, _) => format!(
            "{} requests/s answered over {}{}",
            load_rate(result.answers_per_second),
            duration(result.seconds * 1e3),
            if result.interrupted { ", interrupted before its time" } else { "" },
        ),
    };
    LoadWords {
        answer,
        doubt: result.slo.as_ref().and_then(slo::doubt),
        conditions: conditions(result),
        counts: counts(&result.whole),
        traffic: traffic(result),
        client: client(result),
    }
}

fn conditions(result: &LoadResult) -> String {
    let LoadSetting { connections, streams, threads, .. } = &result.setting;
    let spoken = result.protocol.as_ref().map_or("no connection", SpokenProtocol::name);
    let pace = match (result.setting.pace, result.setting.spacing) {
        (LoopKind::Open, Some(spacing)) => {
            format!(
                "open loop, {} at {} requests/s",
                spacing.name(),
                result.setting.rates.join(", ")
            )
        }
        _ => "closed loop".to_owned(),
    };
    format!(
        "{spoken}, {} x {}, {}, {pace}",
        counted(*connections, "connection"),
        counted(*streams, "stream"),
        counted(*threads, "thread"),
    )
}

/// What ended how.
fn counts(part: &PartResult) -> String {
    let mut text = format!("{}, {} answered", counted(part.requests, "request"), part.answers);
    match part.refused {
        0 => {}
        all if all == part.answers => text.push_str(", all with a status of 400 or more"),
        some => text.push_str(&format!(", {some} of them with a status of 400 or more")),
    }
    match part.failed() {
        0 if part.requests > 0 && part.refused == 0 => text.push_str(", no errors"),
        0 => {}
        failed => {
            text.push_str(&format!(", {}: {}", counted(failed, "error"), kinds(&part.errors)))
        }
    }
    if part.not_begun > 0 {
        text.push_str(&format!("; {} more were due and not begun", part.not_begun));
    }
    text
}

/// How often each kind of error was met, in words.
pub fn load_errors(errors: &BTreeMap<String, u64>) -> String {
    kinds(errors)
}

fn kinds(errors: &BTreeMap<String, u64>) -> String {
    let kinds: Vec<String> =
        errors.iter().map(|(kind, count)| format!("{count} {}", kind.replace('-', " "))).collect();
    kinds.join(", ")
}

fn in_short(part: &PartResult) -> String {
    let times = part.latency.as_ref().map_or_else(String::new, |times| {
        let at = |share: f64, name: &str| {
            times.at(share).map_or_else(String::new, |ms| format!(", {name} {}", duration(ms)))
        };
        format!("{}{}, max {}", at(0.5, "p50"), at(0.99, "p99"), duration(times.max_ms))
    });
    format!("{}{times}", counts(part))
}

/// The columns of times, one line a kind.
fn table(out: &mut Lines, result: &LoadResult) {
    let connects = &result.connects;
    let rows: [(&str, &Option<TimesSummary>); 7] = [
        ("latency", &result.whole.latency),
        ("w/o client", &result.latency_without_client),
        ("begun late", &result.lateness),
        ("first byte", &result.first_byte),
        ("connect", &connects.tcp),
        ("TLS", &connects.tls),
        ("QUIC", &connects.quic),
    ];
    let rows: Vec<(&str, &TimesSummary)> =
        rows.into_iter().filter_map(|(name, times)| Some((name, times.as_ref()?))).collect();
    // Without an answer, the columns are those of the first row that there is.
    let first = rows.first().map(|(_, times)| &times.at);
    let shares: Vec<f64> = first.into_iter().flatten().map(|at| at.share).collect();
    let mut head = " ".repeat(NAME);
    for share in &shares {
        // To a ten-thousandth of a percent: 0.999 times 100 is not 99.9.
        head.push_str(&format!("{:>COLUMN$}", format!("p{}", (share * 1e8).round() / 1e6)));
    }
    head.push_str(&format!("{:>COLUMN$}{:>COLUMN$}", "max", "mean"));
    if !rows.is_empty() {
        out.line(&head);
    }
    for (name, times) in rows {
        let mut line = padded(&format!("  {name}"), NAME);
        for share in &shares {
            let text = times.at(*share).map_or_else(|| "-".to_owned(), duration);
            line.push_str(&format!("{text:>COLUMN$}"));
        }
        line.push_str(&format!(
            "{:>COLUMN$}{:>COLUMN$}",
            duration(times.max_ms),
            duration(times.mean_ms)
        ));
        out.line(&line);
    }
}

const NAME: usize = 13;
const COLUMN: usize = 9;

fn traffic(result: &LoadResult) -> String {
    let statuses: Vec<String> =
        result.statuses.iter().map(|(code, count)| format!("{code} x {count}")).collect();
    let statuses = match statuses.is_empty() {
        true => String::new(),
        false => format!("status {}; ", statuses.join(", ")),
    };
    let mut text = format!(
        "{statuses}{} opened; {} received, {} sent",
        counted(result.connects.opened, "connection"),
        size(result.received_bytes),
        size(result.sent_bytes)
    );
    if !result.connects.errors.is_empty() {
        text.push_str(&format!("; connects that failed: {}", kinds(&result.connects.errors)));
    }
    let early = result.connects.early_data;
    for (count, what, words) in [
        (result.connects.resumed, "session", "resumed"),
        (early.accepted, "connection", "with early data"),
        (early.rejected, "connection", "with early data that the server rejected"),
        (result.warm_up_requests, "request", "of the warm-up"),
        (result.made_again, "request", "made again, as the server had not acted on it"),
        (result.unfinished, "request", "unfinished"),
    ] {
        if count > 0 {
            text.push_str(&format!("; {} {words}", counted(count, what)));
        }
    }
    text
}

fn client(result: &LoadResult) -> String {
    let client = &result.client;
    let each = client.answers_per_cpu_second.map_or_else(String::new, |each| {
        format!(", {} answers for each CPU second", load_rate(each))
    });
    format!(
        "this client: {} of CPU, {} of its busiest thread{each}",
        duration(client.cpu_seconds * 1e3),
        slo::share(client.busiest_share)
    )
}

/// `84,200`: a rate in three significant digits, three digits a group. A small whole number is told as it is.
pub fn load_rate(value: f64) -> String {
    if value <= 0.0 {
        return "0".to_owned();
    }
    let shown = format!("{value:.2e}").parse().unwrap_or(value);
    let decimals = if shown < 100.0 && value.fract() == 0.0 {
        0
    } else {
        (2.0 - shown.log10().floor()).max(0.0) as usize
    };
    let text = format!("{shown:.decimals$}");
    let whole = text.find('.').unwrap_or(text.len());
    let mut grouped = String::new();
    for (at, digit) in text.chars().enumerate() {
        if at > 0 && at < whole && (whole - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

fn size(bytes: u64) -> String {
    unit::ByteSize(bytes).to_string()
}

/// The course of a run, or the probes of a search, a line each; lines end with CRLF (RFC 4180).
pub fn load_csv(result: &LoadResult) -> String {
    match &result.slo {
        Some(found) => slo::csv(found),
        None => course_csv(result),
    }
}

/// The course of a run: a line for each second or so.
///
/// | column | holds |
/// |---|---|
/// | `at_s` | the end of the interval, in seconds since the first request |
/// | `seconds` | its length |
/// | `answers`, `errors` | requests that ended in it |
/// | `waiting` | requests due and not begun at its end |
/// | `p50_ms`, `p99_ms`, `max_ms` | of its answers' times; empty where none came |
fn course_csv(result: &LoadResult) -> String {
    let mut table = Table::default();
    for name in ["at_s", "seconds", "answers", "errors", "waiting", "p50_ms", "p99_ms", "max_ms"] {
        table.text(name);
    }
    table.end_line();
    for second in &result.course {
        let Second { at, seconds, answers, errors, waiting, p50_ms, p99_ms, max_ms } = second;
        [at, seconds].into_iter().for_each(|value| table.number(value));
        [answers, errors, waiting].into_iter().for_each(|value| table.number(value));
        for time in [p50_ms, p99_ms, max_ms] {
            match time {
                Some(ms) => table.number(ms),
                None => table.text(""),
            }
        }
        table.end_line();
    }
    table.out
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// As `wirelap load --json` prints it; what is not told here is empty.
    pub(crate) fn result() -> LoadResult {
        let none = serde_json::Value::Null;
        serde_json::from_value(serde_json::json!({
            "schema": "wirelap.load/1", "version": "0.1.0", "started": "", "host": study::record::HostFacts::default(),
            "command_line": [],
            "setting": { "pace": "closed", "rates": [], "spacing": none, "seed": 1, "connections": 4, "streams": 1,
                "threads": 1, "warm_up_seconds": 0.0, "timeout_seconds": 30.0 },
            "protocol": "h2", "seconds": 2.5, "answers_per_second": 4.0,
            "whole": { "requests": 12, "answers": 10, "refused": 3, "not_begun": 0,
                "errors": { "say \"no\"": 2 }, "body_bytes": 100, "latency": none },
            "stages": [], "targets": [], "statuses": { "200": 7, "503": 3 },
            "first_byte": none, "lateness": none, "latency_without_client": none,
            "connects": { "opened": 4, "errors": {}, "tcp": none, "tls": none, "quic": none, "resumed": 0,
                "early_data": { "accepted": 0, "rejected": 0 } },
            "warm_up_requests": 0, "made_again": 0, "unfinished": 0, "received_bytes": 1000, "sent_bytes": 500,
            "client": { "cpu_seconds": 0.0, "busiest_share": 0.0, "answers_per_cpu_second": none },
            "interrupted": false, "warnings": [], "course": [], "slo": none
        }))
        .unwrap()
    }

    #[test]
    fn words_and_a_terminal_say_that_a_run_was_interrupted() {
        let said = |interrupted: bool| words(&LoadResult { interrupted, ..result() }).answer;
        assert_eq!(said(false), "4 requests/s answered over 2.50 s".replace("0 s", "0\u{a0}s"));
        assert!(said(true).ends_with(", interrupted before its time"), "{}", said(true));
        let slo = slo::tests::held_so_far(&[100.0, 200.0]);
        let run = LoadResult { interrupted: true, slo: Some(slo), ..result() };
        let told = "p99<5 ms: interrupted after probe 2; so far undecided: nothing failed yet; the highest rate that held was 200 requests/s";
        assert_eq!(words(&run).answer, told);
        let style = Style { colour: crate::Colour::Off, width: 200 };
        assert!(load(&run, style).contains(told), "{}", load(&run, style));
    }

    #[test]
    fn a_rate_has_three_significant_digits_and_never_reads_as_0_where_it_is_not_nothing() {
        let told =
            [0.0, 0.004, 0.25, 0.9996, 1.0, 2.5, 9.96, 12.4, 43.0, 999.6, 1_004.9, 84_250.4, 1e7];
        let is = [
            "0",
            "0.00400",
            "0.250",
            "1.00",
            "1",
            "2.50",
            "9.96",
            "12.4",
            "43",
            "1,000",
            "1,000",
            "84,300",
            "10,000,000",
        ];
        assert_eq!(told.map(load_rate), is.map(str::to_owned));
    }

    #[test]
    fn a_share_is_0_or_100_percent_only_where_it_is() {
        let told = [0.0, 0.000_01, 0.0004, 0.032, 0.5, 0.999, 1.0];
        let is = ["0 %", "<0.01 %", "0.04 %", "3.2 %", "50 %", "99 %", "100 %"];
        assert_eq!(told.map(slo::share), is.map(str::to_owned));
    }
}
