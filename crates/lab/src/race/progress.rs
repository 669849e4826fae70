//! What the user sees while trials run: how far it is and how long it will take.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::time::Duration;
use study::outcome::Outcome;
use study::plan::{CellId, TrialPlan};
use study::record::TrialRecord;

/// The progress of a run, on standard error.
pub(crate) struct Progress {
    bar: ProgressBar,
    verbose: bool,
    /// Trials left and mean duration of those done, by cell.
    cells: BTreeMap<CellId, CellProgress>,
    failed: u32,
    invalid: u32,
    side_by_side: f64,
}

#[derive(Default)]
struct CellProgress {
    left: u32,
    done: u32,
    total_ms: f64,
    light: bool,
}

impl Progress {
    /// The progress of `plan`, of which light trials run `side_by_side` at once.
    pub(crate) fn new<'p>(
        plan: impl Iterator<Item = &'p TrialPlan>,
        side_by_side: usize,
        verbose: bool,
    ) -> Self {
        let mut cells: BTreeMap<CellId, CellProgress> = BTreeMap::new();
        let mut all = 0;
        for trial in plan {
            let cell = cells.entry(trial.cell.id()).or_default();
            cell.left += 1;
            cell.light = trial.is_light();
            all += 1;
        }
        let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{pos}/{len} trials {bar:24} {wide_msg}") {
            bar.set_style(style.progress_chars("━╸ "));
        }
        Self { bar, verbose, cells, failed: 0, invalid: 0, side_by_side: side_by_side as f64 }
    }

    /// The trials of a block with an invalid one are to run once more.
    pub(crate) fn again(&mut self, plan: &[TrialPlan]) {
        let Some(first) = plan.first() else { return };
        for trial in plan {
            self.cells.entry(trial.cell.id()).or_default().left += 1;
        }
        self.bar.inc_length(plan.len() as u64);
        if self.verbose {
            let names = (&first.cell.workload.name, &first.cell.link.name);
            self.bar.println(format!("again {}/{} block {}", names.0, names.1, first.block));
        }
    }

    /// All pairs of a workload on a link are decided: its other trials need not run.
    pub(crate) fn stopped(&mut self, (workload, link): &(String, String), plan: &[TrialPlan]) {
        for trial in plan {
            let cell = self.cells.entry(trial.cell.id()).or_default();
            cell.left = cell.left.saturating_sub(1);
        }
        let length = self.bar.length().unwrap_or(0);
        self.bar.set_length(length.saturating_sub(plan.len() as u64));
        if self.verbose && !plan.is_empty() {
            let count = plan.len();
            self.bar.println(format!("decided {workload}/{link}: {count} trials need not run"));
        }
    }

    /// The time is up: these trials do not run.
    pub(crate) fn time_is_up(&mut self, plan: &[TrialPlan]) {
        for trial in plan {
            let cell = self.cells.entry(trial.cell.id()).or_default();
            cell.left = cell.left.saturating_sub(1);
        }
        let length = self.bar.length().unwrap_or(0);
        self.bar.set_length(length.saturating_sub(plan.len() as u64));
        if !plan.is_empty() {
            self.bar.println(format!("the time is up: {} trials do not run", plan.len()));
        }
    }

    /// A trial begins.
    pub(crate) fn begin(&mut self, plan: &TrialPlan) {
        if self.verbose {
            self.bar.println(format!("begin {}", plan.key));
        }
    }

    /// A trial is done.
    pub(crate) fn done(&mut self, record: &TrialRecord) {
        let cell = self.cells.entry(record.plan.cell.id()).or_default();
        cell.left = cell.left.saturating_sub(1);
        cell.done += 1;
        cell.total_ms += record.duration_ms;
        match &record.outcome {
            Outcome::Failed { .. } => self.failed += 1,
            Outcome::Invalid { .. } => self.invalid += 1,
            Outcome::Measured | Outcome::Unsupported { .. } => {}
        }
        let reason = record.outcome.reason();
        if self.verbose || matches!(record.outcome, Outcome::Failed { .. }) {
            let figure = record.metrics.get(study::deciding_metric(&record.plan.cell.workload));
            let figure = figure.map_or_else(String::new, |ms| format!(" {ms:.1} ms"));
            let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
            let word = word(&record.outcome);
            self.bar.println(format!("{word} {}{figure}{reason}", record.plan.key));
        }
        self.bar.inc(1);
        self.tick();
    }

    /// Draws the line anew.
    pub(crate) fn tick(&mut self) {
        let mut message = match self.time_left() {
            Some(left) => format!("about {} left", whole_seconds(left)),
            None => "measuring".to_owned(),
        };
        for (count, word) in [(self.failed, "failed"), (self.invalid, "invalid")] {
            if count > 0 {
                message.push_str(&format!(", {count} {word}"));
            }
        }
        self.bar.set_message(message);
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Mean duration times trials left, over all cells; None until each cell has been seen once.
    fn time_left(&self) -> Option<Duration> {
        let mut ms = 0.0;
        for cell in self.cells.values().filter(|cell| cell.left > 0) {
            if cell.done == 0 {
                return None;
            }
            let share = if cell.light { self.side_by_side } else { 1.0 };
            ms += cell.total_ms / f64::from(cell.done) * f64::from(cell.left) / share;
        }
        Some(Duration::from_secs_f64(ms / 1e3))
    }
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Measured => "done ",
        Outcome::Invalid { .. } => "invalid",
        Outcome::Failed { .. } => "failed",
        Outcome::Unsupported { .. } => "unsupported",
    }
}

fn whole_seconds(span: Duration) -> String {
    match span.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}
