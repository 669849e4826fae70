//! Trials as CSV (RFC 4180): a header, then one line a trial, in the order of the rows.

use crate::number::timestamp;
use crate::words::tls_name;
use std::collections::BTreeSet;
use std::fmt::Display;
use study::audit::AuditFigure;
use study::record::{Outcome, TrialRecord};

/// One line a trial, failed and invalid ones and warm-ups too; lines end with CRLF.
///
/// | column | holds |
/// |---|---|
/// | `key` | the trial's name within its run |
/// | `workload`, `link`, `contender` | the cell |
/// | `transport`, `tls` | what the contender speaks |
/// | `block`, `attempt`, `order` | which block, how often it had run before, and the place in it |
/// | `seed` | the seed of loss and jitter, shared by a block |
/// | `warmup` | `true` for a trial that does not count |
/// | `counts` | `true` for a trial of the attempt that counts: those measured are what verdicts are made of |
/// | `outcome`, `reason` | `measured`, `invalid`, `failed` or `unsupported`, and why |
/// | `started` | when, in UTC (RFC 3339) |
/// | `duration_ms` | how long it took with setting up and clearing away |
/// | one a metric, by name | its figure, empty where the trial has none; the name ends in its unit |
/// | `down_packets` … `up_queue_full` | what the link counted each way |
/// | `kernel_drops`, `lateness_p99_us`, `lateness_max_us` | what the audit looks at |
/// | `client_cpu_ms`, `origin_cpu_ms`, `link_cpu_ms` | processor time |
/// | `audit:packet_lateness_ms` … `audit:cpu_pressure` | the audit's figures, see `docs/rows.md`; empty where it did not look |
///
/// A text that begins like a spreadsheet's formula gets an apostrophe before it.
pub fn csv(trials: &[TrialRecord]) -> String {
    let metrics: BTreeSet<&str> =
        trials.iter().flat_map(|trial| trial.metrics.keys().map(String::as_str)).collect();
    let mut table = Table::default();
    FIRST.iter().for_each(|name| table.text(name));
    metrics.iter().for_each(|name| table.text(name));
    LAST.iter().for_each(|name| table.text(name));
    AuditFigure::ALL.iter().for_each(|figure| table.text(&format!("audit:{}", figure.name())));
    table.end_line();
    let counted: BTreeSet<&str> =
        study::blocks::counted(trials).iter().map(|trial| trial.plan.key.as_str()).collect();
    for trial in trials {
        first_columns(&mut table, trial, counted.contains(trial.plan.key.as_str()));
        metrics.iter().for_each(|name| match trial.metrics.get(*name) {
            Some(value) => table.number(value),
            None => table.text(""),
        });
        last_columns(&mut table, trial);
        table.end_line();
    }
    table.out
}

const FIRST: [&str; 16] = [
    "key",
    "workload",
    "link",
    "contender",
    "transport",
    "tls",
    "block",
    "attempt",
    "order",
    "seed",
    "warmup",
    "counts",
    "outcome",
    "reason",
    "started",
    "duration_ms",
];

const LAST: [&str; 14] = [
    "down_packets",
    "down_bytes",
    "down_lost",
    "down_queue_full",
    "up_packets",
    "up_bytes",
    "up_lost",
    "up_queue_full",
    "kernel_drops",
    "lateness_p99_us",
    "lateness_max_us",
    "client_cpu_ms",
    "origin_cpu_ms",
    "link_cpu_ms",
];

fn first_columns(table: &mut Table, trial: &TrialRecord, counts: bool) {
    let plan = &trial.plan;
    table.text(&plan.key);
    table.text(&plan.cell.workload.name);
    table.text(&plan.cell.link.name);
    table.text(&plan.cell.contender.name);
    table.text(plan.cell.contender.transport.name());
    table.text(tls_name(plan.cell.contender.tls));
    table.number(plan.block);
    table.number(plan.attempt);
    table.number(plan.order);
    table.number(plan.seed);
    table.number(plan.warmup);
    table.number(counts);
    table.text(outcome_name(&trial.outcome));
    table.text(trial.outcome.reason().unwrap_or_default());
    table.text(&timestamp(trial.started_unix_ms));
    table.number(trial.duration_ms);
}

fn last_columns(table: &mut Table, trial: &TrialRecord) {
    let link = &trial.link;
    for way in [&link.down, &link.up] {
        table.number(way.packets);
        table.number(way.bytes);
        table.number(way.lost);
        table.number(way.queue_full);
    }
    table.number(link.kernel_drops);
    table.number(link.lateness_p99_us);
    table.number(link.lateness_max_us);
    table.number(trial.cpu.client_ms);
    table.number(trial.cpu.origin_ms);
    table.number(trial.cpu.link_ms);
    AuditFigure::ALL.iter().for_each(|figure| match trial.audit.get(*figure) {
        Some(value) => table.number(value),
        None => table.text(""),
    });
}

/// The outcome in one word.
pub(crate) fn outcome_name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Measured => "measured",
        Outcome::Invalid { .. } => "invalid",
        Outcome::Failed { .. } => "failed",
        Outcome::Unsupported { .. } => "unsupported",
    }
}

/// Lines under construction.
#[derive(Default)]
struct Table {
    out: String,
    in_line: bool,
}

impl Table {
    fn number(&mut self, value: impl Display) {
        self.separate();
        self.out.push_str(&value.to_string());
    }

    fn text(&mut self, text: &str) {
        self.separate();
        // What a spreadsheet would run as a formula (OWASP, "CSV Injection").
        let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
        // RFC 4180 §2.6, §2.7.
        if text.contains([',', '"', '\r', '\n']) {
            self.out.push_str(&format!("\"{guard}{}\"", text.replace('"', "\"\"")));
        } else {
            self.out.push_str(guard);
            self.out.push_str(text);
        }
    }

    fn end_line(&mut self) {
        self.out.push_str("\r\n");
        self.in_line = false;
    }

    fn separate(&mut self) {
        if self.in_line {
            self.out.push(',');
        }
        self.in_line = true;
    }
}
