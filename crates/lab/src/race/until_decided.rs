//! `race --until-decided`: how many trials fit into the time. The warm-up blocks show how long one takes. Their results
//! are not used, so no result decides when the run is judged.

use std::time::Duration;
use study::experiment::Experiment;
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
    /// The plan where `rounds` of every block took `took`, and `left` is left.
    pub(crate) fn of(rounds: u32, took: Duration, left: Duration) -> Self {
        let round = took.div_f64(f64::from(rounds.max(1)));
        let fit = left.as_secs_f64() / round.as_secs_f64().max(1e-3);
        Self { blocks: (fit as u32).clamp(1, MOST), round }
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

/// Whether the trials of `experiment` are still to be planned.
pub(crate) fn is_open(experiment: &Experiment) -> bool {
    experiment.time_limit.is_some() && experiment.links.iter().all(|link| link.trials == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_blocks_are_planned_as_fit() {
        let planned = |rounds, took, left| {
            TimePlan::of(rounds, Duration::from_secs(took), Duration::from_secs(left)).blocks
        };
        assert_eq!(planned(2, 10, 600), 120);
        assert_eq!(planned(1, 700, 0), 1);
        assert_eq!(planned(1, 0, 600), MOST);
    }
}
