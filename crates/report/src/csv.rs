//! Trials as CSV (RFC 4180): a header, then one line a trial in the order of the rows.

use crate::rows::{Values, columns};
use std::fmt::Display;
use study::record::TrialRecord;

/// One line a trial, including failed and invalid ones and warm-ups. Lines end with CRLF.
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
/// | `down_packets` … `up_marked` | what the link counted each way |
/// | `kernel_drops`, `lateness_p99_us`, `lateness_max_us` | what the audit looks at |
/// | `client_cpu_ms`, `origin_cpu_ms`, `link_cpu_ms` | processor time |
/// | `audit:packet_lateness_ms` … `audit:cpu_pressure` | the audit's figures, see `docs/rows.md`; empty where it did not look |
///
/// A text that begins like a spreadsheet's formula gets an apostrophe before it.
pub fn csv(trials: &[TrialRecord]) -> String {
    let columns = columns(trials);
    let mut table = Table::default();
    columns.iter().for_each(|column| table.text(&column.name));
    table.end_line();
    for line in 0..trials.len() {
        for column in &columns {
            match &column.values {
                Values::Text(values) => table.text(&values[line]),
                Values::Whole(values) => table.number(values[line]),
                Values::Truth(values) => table.number(values[line]),
                Values::Number(values) => match values[line] {
                    Some(value) => table.number(value),
                    None => table.text(""),
                },
            }
        }
        table.end_line();
    }
    table.out
}

/// Lines under construction.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) out: String,
    in_line: bool,
}

impl Table {
    pub(crate) fn number(&mut self, value: impl Display) {
        self.separate();
        self.out.push_str(&value.to_string());
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.separate();
        // A text that a spreadsheet would run as a formula (OWASP, "CSV Injection").
        let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
        // RFC 4180 §2.6, §2.7.
        if text.contains([',', '"', '\r', '\n']) {
            self.out.push_str(&format!("\"{guard}{}\"", text.replace('"', "\"\"")));
        } else {
            self.out.push_str(guard);
            self.out.push_str(text);
        }
    }

    pub(crate) fn end_line(&mut self) {
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
