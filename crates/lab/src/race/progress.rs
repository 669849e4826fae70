//! What the user sees while trials run: how far it is, how long it will take, and who leads so far.

use crate::race::leader::Leaders;
use crate::race::schedule::FEWEST_REFUSED;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;
use study::estimate::{Estimate, in_words};
use study::outcome::Outcome;
use study::plan::TrialPlan;
use study::record::TrialRecord;
use unit::format_duration;

/// The progress of a run, on standard error.
pub(crate) struct Progress {
    bar: ProgressBar,
    verbose: bool,
    estimate: Estimate,
    leaders: Leaders,
    failed: u32,
    invalid: u32,
}

impl Progress {
    /// The progress of `plan`, which `estimate` is of.
    pub(crate) fn new<'p>(
        plan: impl Iterator<Item = &'p TrialPlan>,
        estimate: Estimate,
        verbose: bool,
    ) -> Self {
        let mut leaders = Leaders::default();
        let mut all = 0;
        for trial in plan {
            leaders.expect(trial);
            all += u64::from(!trial.warmup);
        }
        let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{pos}/{len} trials {bar:24} {wide_msg}") {
            bar.set_style(style.progress_chars("━╸ "));
        }
        Self { bar, verbose, estimate, leaders, failed: 0, invalid: 0 }
    }

    /// The trials of a block with an invalid one are to run once more.
    pub(crate) fn again(&mut self, plan: &[TrialPlan]) {
        let Some(first) = plan.first() else { return };
        plan.iter().for_each(|trial| self.estimate.add(trial));
        self.bar.set_position(self.bar.position().saturating_sub(counted(plan)));
        if self.verbose {
            let names = (&first.cell.workload.name, &first.cell.link.name);
            self.say(format!("again {}/{} block {}", names.0, names.1, first.block));
        }
    }

    /// All pairs of a workload on a link are decided: its other trials need not run.
    pub(crate) fn decided(&mut self, group: &(String, String), plan: &[TrialPlan]) {
        self.leave_out(plan);
        let count = plan.len();
        if self.verbose && count > 0 {
            let (workload, link) = group;
            self.say(format!("decided {workload}/{link}: {count} trials need not run"));
        }
    }

    /// The machine was too busy for every block of a workload on a link so far: its other trials would be refused too.
    pub(crate) fn too_busy(&mut self, (workload, link): &(String, String), plan: &[TrialPlan]) {
        self.leave_out(plan);
        let text = format!(
            "{workload} on {link}: the machine was too busy for each of the first {FEWEST_REFUSED} blocks; the other {} \
             trials would be refused too and do not run, counts are judged",
            plan.len()
        );
        // A bar that is not drawn swallows its lines.
        self.bar.suspend(|| crate::console::note(&text));
    }

    fn say(&self, text: String) {
        self.bar.println(unit::escape(&text));
    }

    fn leave_out(&mut self, plan: &[TrialPlan]) {
        plan.iter().for_each(|trial| self.estimate.leave_out(trial));
        let length = self.bar.length().unwrap_or(0);
        self.bar.set_length(length.saturating_sub(counted(plan)));
    }

    /// The time is up: these trials do not run.
    pub(crate) fn time_is_up(&mut self, plan: &[TrialPlan]) {
        self.leave_out(plan);
        if !plan.is_empty() {
            let text = format!("the time is up: {} trials do not run", plan.len());
            self.bar.suspend(|| crate::console::note(&text));
        }
    }

    /// A trial begins.
    pub(crate) fn begin(&mut self, plan: &TrialPlan) {
        if self.verbose {
            self.say(format!("begin {}", plan.key));
        }
    }

    /// A trial is done.
    pub(crate) fn done(&mut self, record: &TrialRecord) {
        self.estimate
            .done(&record.plan, Duration::from_secs_f64(record.duration_ms.max(0.0) / 1e3));
        self.leaders.done(record);
        match &record.outcome {
            Outcome::Failed { .. } => self.failed += 1,
            Outcome::Invalid { .. } => self.invalid += 1,
            Outcome::Measured | Outcome::Unsupported { .. } => {}
        }
        let reason = record.outcome.reason();
        if self.verbose || matches!(record.outcome, Outcome::Failed { .. }) {
            let figure = record.metrics.get(study::deciding_metric(&record.plan.cell.workload));
            let time = |ms: f64| format_duration(Duration::from_secs_f64(ms.max(0.0) / 1e3));
            let figure = figure.map_or_else(String::new, |ms| format!(" {}", time(*ms)));
            let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
            let word = word(&record.outcome);
            self.say(format!("{word} {}{figure}{reason}", record.plan.key));
        }
        self.bar.inc(u64::from(!record.plan.warmup));
        self.tick();
    }

    /// Draws the line anew.
    pub(crate) fn tick(&mut self) {
        let mut message = format!("{} left", in_words(self.estimate.left()));
        if let Some(leader) = self.leaders.in_words() {
            message.push_str(&format!("; {leader}"));
        }
        for (count, word) in [(self.failed, "failed"), (self.invalid, "invalid")] {
            if count > 0 {
                message.push_str(&format!(", {count} {word}"));
            }
        }
        self.bar.set_message(unit::escape(&message).into_owned());
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Trials that are no warm-ups: what a result counts.
fn counted(plan: &[TrialPlan]) -> u64 {
    plan.iter().filter(|trial| !trial.warmup).count() as u64
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Measured => "done ",
        Outcome::Invalid { .. } => "invalid",
        Outcome::Failed { .. } => "failed",
        Outcome::Unsupported { .. } => "unsupported",
    }
}
