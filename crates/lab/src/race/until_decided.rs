//! `race --until-decided`: how many trials fit into the time. The warm-up blocks show how long one takes. Their results
//! are not used, so no result decides when the run is judged.

use std::time::Duration;
use study::experiment::Experiment;
use study::plan::check_blocks;
use study::planned_looks;
use study::record::TrialRecord;
use unit::{counted, format_duration};

/// More trials make nothing surer that a page could show.
const MOST: u32 = 1_000;

/// What was planned from the time of the first blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TimePlan {
    /// Blocks at most, of each workload on each link.
    pub(crate) blocks: u32,
    /// How long a block of every workload on every link takes.
    pub(crate) round: Duration,
}

impl TimePlan {
    /// The plan where a block of every workload on every link took `round`, and `left` is left. Of the workloads a share of
    /// `checked` has a check, whose blocks take as long and were not in that round.
    pub(crate) fn of(round: Duration, left: Duration, checked: f64) -> Self {
        let fit = left.as_secs_f64() / round.as_secs_f64().max(1e-3);
        // Each block has one of the check beside it, until that has enough.
        let beside_checks = fit / (1.0 + checked);
        let after_checks = fit - f64::from(check_blocks()) * checked;
        Self { blocks: (beside_checks.max(after_checks) as u32).clamp(1, MOST), round }
    }

    /// Fixes it: from here on trials and looks are settled.
    pub(crate) fn fix(&self, experiment: &mut Experiment) {
        experiment.links.iter_mut().for_each(|link| link.trials = self.blocks);
    }

    /// The plan in a sentence.
    pub(crate) fn sentence(&self, experiment: &Experiment) -> String {
        let looks =
            experiment.links.first().map_or_else(Vec::new, |link| planned_looks(experiment, link));
        let blocks: Vec<String> = looks.iter().map(|look| look.blocks.to_string()).collect();
        format!(
            "a round of all contenders takes {}: at most {} each, judged after {}",
            format_duration(self.round),
            counted(self.blocks, "trial"),
            blocks.join(", ")
        )
    }
}

/// How long the warm-up blocks among `rows` took: from the first to the last, or the sum of their times where the run was
/// interrupted between them.
pub(crate) fn warm_up_time(rows: &[TrialRecord]) -> Duration {
    let warm_ups = || rows.iter().filter(|row| row.plan.warmup);
    let began = |row: &TrialRecord| row.started_unix_ms as f64;
    let first = warm_ups().map(began).fold(f64::INFINITY, f64::min);
    let last = warm_ups().map(|row| began(row) + row.duration_ms).fold(first, f64::max);
    let sum: f64 = warm_ups().map(|row| row.duration_ms).sum();
    let span = if first.is_finite() { last - first } else { 0.0 };
    Duration::from_secs_f64(span.min(sum).max(0.0) / 1e3)
}

/// The share of the workloads that another one checks.
pub(crate) fn checked(experiment: &Experiment) -> f64 {
    let checks = experiment.workloads.iter().filter(|one| one.check_of.is_some()).count();
    checks as f64 / (experiment.workloads.len() - checks).max(1) as f64
}

/// Whether the trials of `experiment` are still to be planned.
pub(crate) fn is_open(experiment: &Experiment) -> bool {
    experiment.time_limit.is_some() && experiment.links.iter().all(|link| link.trials == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::experiment::builtin;
    use study::outcome::Outcome;
    use study::plan::{Surroundings, trials};
    use study::record::without_figures;

    #[test]
    fn the_first_blocks_of_a_run_that_goes_on_count_by_their_rows() {
        let quick: Experiment = builtin()[0].toml.parse().unwrap();
        let plan = trials(&quick, &Surroundings::default());
        let mut rows: Vec<TrialRecord> = plan
            .into_iter()
            .filter(|trial| trial.warmup)
            .take(4)
            .map(|trial| without_figures(trial, Outcome::Measured, 0))
            .collect();
        let took = |rows: &mut [TrialRecord], starts: [u64; 4]| {
            for (row, start) in rows.iter_mut().zip(starts) {
                (row.started_unix_ms, row.duration_ms) = (start, 1_000.0);
            }
            warm_up_time(rows)
        };
        assert_eq!(took(&mut rows, [0, 1_000, 2_000, 3_000]), Duration::from_secs(4));
        assert_eq!(took(&mut rows, [0, 0, 1_000, 1_000]), Duration::from_secs(2), "side by side");
        assert_eq!(
            took(&mut rows, [0, 1_000, 90_000, 91_000]),
            Duration::from_secs(4),
            "interrupted"
        );
        rows.iter_mut().for_each(|row| row.plan.warmup = false);
        assert_eq!(warm_up_time(&rows), Duration::ZERO);
    }

    #[test]
    fn as_many_blocks_are_planned_as_fit() {
        let planned = |round, left, checked| {
            TimePlan::of(Duration::from_secs(round), Duration::from_secs(left), checked).blocks
        };
        assert_eq!(planned(5, 600, 0.0), 120);
        assert_eq!(planned(700, 0, 0.0), 1);
        assert_eq!(planned(0, 600, 0.0), MOST);
        // Seven blocks of the check of each workload, or of every other one.
        assert_eq!(planned(5, 600, 1.0), 113);
        assert_eq!(planned(6, 600, 0.5), 96);
        assert_eq!(planned(60, 600, 1.0), 5);
    }
}
