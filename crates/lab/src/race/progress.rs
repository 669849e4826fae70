//! What the user sees while trials run: how far it is, how long it will take, and who leads so far.

use crate::race::leader::Leaders;
use crate::race::schedule::{FEWEST_SPOILT, Fault};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeSet;
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
    /// Workload, link, contender and reason of those that failed.
    failures: BTreeSet<[String; 4]>,
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
        Self { bar, verbose, estimate, leaders, failed: 0, invalid: 0, failures: BTreeSet::new() }
    }

    /// The trials of a block with an invalid one are to run once more.
    pub(crate) fn again(&mut self, plan: &[TrialPlan]) {
        let Some(first) = plan.first() else { return };
        plan.iter().for_each(|trial| self.estimate.add(trial));
        self.bar.set_position(self.bar.position().saturating_sub(counted(plan)));
        if self.verbose {
            let names = (&first.cell.workload.name, &first.cell.link.name);
            self.say(&format!("again {}/{} block {}", names.0, names.1, first.block));
        }
    }

    /// All pairs of a workload on a link are decided: its other trials need not run.
    pub(crate) fn decided(&mut self, group: &(String, String), plan: &[TrialPlan]) {
        self.leave_out(plan);
        let count = counted(plan);
        if self.verbose && count > 0 {
            let (workload, link) = group;
            self.say(&format!("decided {workload}/{link}: {count} trials need not run"));
        }
    }

    /// Every block of a workload on a link so far had this fault, and its other trials would have it too.
    pub(crate) fn spoilt(
        &mut self,
        (workload, link): &(String, String),
        fault: Fault,
        plan: &[TrialPlan],
    ) {
        self.leave_out(plan);
        let what = match fault {
            Fault::Busy => format!(
                "the machine was too busy for each of the first {FEWEST_SPOILT} blocks; {}, counts are judged",
                not_run(plan, "be refused")
            ),
            Fault::Failed => format!(
                "every trial of the first {FEWEST_SPOILT} blocks failed; {}",
                not_run(plan, "fail")
            ),
        };
        let text = format!("{workload} on {link}: {what}");
        self.say(&text);
    }

    fn say(&self, text: &str) {
        // A bar that is not drawn swallows its lines.
        self.bar.suspend(|| crate::console::note(&unit::escape(text)));
    }

    fn leave_out(&mut self, plan: &[TrialPlan]) {
        plan.iter().for_each(|trial| self.estimate.leave_out(trial));
        let length = self.bar.length().unwrap_or(0);
        self.bar.set_length(length.saturating_sub(counted(plan)));
    }

    /// The time is up: these trials do not run.
    pub(crate) fn time_is_up(&mut self, plan: &[TrialPlan]) {
        self.leave_out(plan);
        let count = counted(plan);
        if count > 0 {
            self.say(&format!("the time is up: {count} trials do not run"));
        }
    }

    /// A trial begins.
    pub(crate) fn begin(&mut self, plan: &TrialPlan) {
        if self.verbose {
            self.say(&format!("begin {}", plan.key));
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
        if self.verbose || self.is_new_failure(record) {
            let figure = record.metrics.get(study::deciding_metric(&record.plan.cell.workload));
            let time = |ms: f64| format_duration(Duration::from_secs_f64(ms.max(0.0) / 1e3));
            let figure = figure.map_or_else(String::new, |ms| format!(" {}", time(*ms)));
            let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
            let word = word(&record.outcome);
            self.say(&format!("{word} {}{figure}{reason}", record.plan.key));
        }
        self.bar.inc(u64::from(!record.plan.warmup));
        self.tick();
    }

    /// Whether a contender failed for a reason that it had not failed for on this link before.
    fn is_new_failure(&mut self, record: &TrialRecord) -> bool {
        let Outcome::Failed { reason } = &record.outcome else { return false };
        let cell = &record.plan.cell;
        let names = [&cell.workload.name, &cell.link.name, &cell.contender.name, reason];
        self.failures.insert(names.map(String::clone))
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

/// That the trials of `plan` do not run, for they would come to the same. What was to run again is not another trial.
fn not_run(plan: &[TrialPlan], fate: &str) -> String {
    match plan.iter().filter(|trial| !trial.warmup && trial.attempt == 0).count() {
        0 => "none of them runs again".to_owned(),
        1 => format!("the other trial would {fate} too and does not run"),
        left => format!("the other {left} trials would {fate} too and do not run"),
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

#[cfg(test)]
mod tests {
    use super::*;
    use study::experiment::{Experiment, builtin};
    use study::plan::{Surroundings, trials};

    #[test]
    fn what_was_to_run_again_is_no_other_trial() {
        let quick: Experiment = builtin()[0].toml.parse().unwrap();
        let mut plan = trials(&quick, &Surroundings::default());
        plan.retain(|trial| !trial.warmup);
        plan.truncate(3);
        let again: Vec<TrialPlan> = plan.iter().map(TrialPlan::again).collect();
        let told = "the other 3 trials would fail too and do not run";
        assert_eq!(not_run(&[plan, again.clone()].concat(), "fail"), told);
        assert_eq!(not_run(&again, "fail"), "none of them runs again");
    }
}
