//! Trials as a table: the columns of CSV and Parquet. One line a trial, in the order of the rows.

use crate::number::timestamp;
use crate::words::tls_name;
use std::collections::BTreeSet;
use study::audit::AuditFigure;
use study::outcome::Outcome;
use study::record::TrialRecord;

/// A column: its name, and a value a trial.
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) values: Values,
}

/// The values of a column, all of one kind.
pub(crate) enum Values {
    Text(Vec<String>),
    Whole(Vec<u64>),
    Truth(Vec<bool>),
    /// None where a trial has no such figure.
    Number(Vec<Option<f64>>),
}

/// Every column, for failed and invalid trials and warm-ups too. Names are distinct: a metric that one of the last
/// columns holds is only there.
pub(crate) fn columns(trials: &[TrialRecord]) -> Vec<Column> {
    let mut columns = Columns { trials, columns: Vec::new() };
    first(&mut columns);
    let last: BTreeSet<String> = {
        let mut last = Columns { trials: &[], columns: Vec::new() };
        link_and_processor(&mut last);
        last.columns.into_iter().map(|column| column.name).collect()
    };
    let metrics: BTreeSet<&String> = trials.iter().flat_map(|trial| trial.metrics.keys()).collect();
    for name in metrics.into_iter().filter(|name| !last.contains(*name)) {
        columns.some(name, |trial| trial.metrics.get(name).copied());
    }
    link_and_processor(&mut columns);
    columns.columns
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

/// Columns under construction.
struct Columns<'t> {
    trials: &'t [TrialRecord],
    columns: Vec<Column>,
}

impl Columns<'_> {
    fn text(&mut self, name: &str, of: impl Fn(&TrialRecord) -> &str) {
        let values = self.trials.iter().map(|trial| of(trial).to_owned()).collect();
        self.add(name, Values::Text(values));
    }

    fn whole(&mut self, name: &str, of: impl Fn(&TrialRecord) -> u64) {
        self.add(name, Values::Whole(self.trials.iter().map(of).collect()));
    }

    fn truth(&mut self, name: &str, of: impl Fn(&TrialRecord) -> bool) {
        self.add(name, Values::Truth(self.trials.iter().map(of).collect()));
    }

    fn number(&mut self, name: &str, of: impl Fn(&TrialRecord) -> f64) {
        self.some(name, |trial| Some(of(trial)));
    }

    fn some(&mut self, name: &str, of: impl Fn(&TrialRecord) -> Option<f64>) {
        self.add(name, Values::Number(self.trials.iter().map(of).collect()));
    }

    fn add(&mut self, name: &str, values: Values) {
        self.columns.push(Column { name: name.to_owned(), values });
    }
}

fn first(columns: &mut Columns<'_>) {
    let counted: BTreeSet<&str> = study::blocks::counted(columns.trials)
        .iter()
        .map(|trial| trial.plan.key.as_str())
        .collect();
    columns.text("key", |trial| &trial.plan.key);
    columns.text("workload", |trial| &trial.plan.cell.workload.name);
    columns.text("link", |trial| &trial.plan.cell.link.name);
    columns.text("contender", |trial| &trial.plan.cell.contender.name);
    columns.text("transport", |trial| trial.plan.cell.contender.transport.name());
    columns.text("tls", |trial| tls_name(trial.plan.cell.contender.tls));
    columns.whole("block", |trial| trial.plan.block.into());
    columns.whole("attempt", |trial| trial.plan.attempt.into());
    columns.whole("order", |trial| trial.plan.order.into());
    columns.whole("seed", |trial| trial.plan.seed);
    columns.truth("warmup", |trial| trial.plan.warmup);
    columns.truth("added", |trial| trial.plan.added);
    columns.truth("counts", |trial| counted.contains(trial.plan.key.as_str()));
    columns.text("outcome", |trial| outcome_name(&trial.outcome));
    columns.text("reason", |trial| trial.outcome.reason().unwrap_or_default());
    let started = columns.trials.iter().map(|trial| timestamp(trial.started_unix_ms)).collect();
    columns.add("started", Values::Text(started));
    columns.number("duration_ms", |trial| trial.duration_ms);
}

fn link_and_processor(columns: &mut Columns<'_>) {
    columns.whole("down_packets", |trial| trial.link.down.packets);
    columns.whole("down_bytes", |trial| trial.link.down.bytes);
    columns.whole("down_lost", |trial| trial.link.down.lost);
    columns.whole("down_queue_full", |trial| trial.link.down.queue_full);
    columns.whole("down_aqm_dropped", |trial| trial.link.down.aqm_dropped);
    columns.whole("down_policed", |trial| trial.link.down.policed);
    columns.whole("down_blocked", |trial| trial.link.down.blocked);
    columns.whole("down_marked", |trial| trial.link.down.marked);
    columns.whole("up_packets", |trial| trial.link.up.packets);
    columns.whole("up_bytes", |trial| trial.link.up.bytes);
    columns.whole("up_lost", |trial| trial.link.up.lost);
    columns.whole("up_queue_full", |trial| trial.link.up.queue_full);
    columns.whole("up_aqm_dropped", |trial| trial.link.up.aqm_dropped);
    columns.whole("up_policed", |trial| trial.link.up.policed);
    columns.whole("up_blocked", |trial| trial.link.up.blocked);
    columns.whole("up_marked", |trial| trial.link.up.marked);
    columns.whole("kernel_drops", |trial| trial.link.kernel_drops);
    columns.number("lateness_p99_us", |trial| trial.link.lateness_p99_us);
    columns.number("lateness_max_us", |trial| trial.link.lateness_max_us);
    columns.number("client_cpu_ms", |trial| trial.cpu.client_ms);
    columns.number("origin_cpu_ms", |trial| trial.cpu.origin_ms);
    columns.number("link_cpu_ms", |trial| trial.cpu.link_ms);
    for figure in AuditFigure::ALL {
        columns.some(&format!("audit:{}", figure.name()), |trial| trial.audit.get(figure));
    }
}
