//! `race --until-decided`: how many trials fit into the time. The warm-up blocks show how long one takes. Their results
//! are not used, so no result decides when the run is judged.

use std::time::Duration;
use study::experiment::Experiment;
use study::plan::check_blocks;
use study::planned_looks;
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
