//! The plan of a race: which trials of an experiment run on this machine, and an estimate of their time.

use crate::error::CliError;
use crate::inputs::{har, links};
use crate::machine;
use crate::race::runner::{SHARED_CPU, SIDE_BY_SIDE};
use crate::race::schedule::Concurrency;
use std::path::PathBuf;
use std::time::Duration;
use study::estimate::{Estimate, SideBySide};
use study::experiment::{Experiment, WorkloadKind};
use study::plan::{Surroundings, TrialPlan, WorkFacts};
use unit::counted;

/// A plan, and what it was made with.
#[derive(Debug)]
pub(crate) struct Planned {
    /// The trials, in the order of running.
    pub(crate) trials: Vec<TrialPlan>,
    surroundings: Surroundings,
}

impl Planned {
    /// How long `trials` of it take.
    pub(crate) fn estimate<'p>(
        &self,
        trials: impl Iterator<Item = &'p TrialPlan>,
        concurrency: Concurrency,
    ) -> Estimate {
        let most = match concurrency {
            Concurrency::Serial => 1,
            Concurrency::SideBySide => SIDE_BY_SIDE,
        };
        Estimate::of(trials, &self.surroundings, SideBySide { most, cpu_share: SHARED_CPU })
    }

    /// How many trials it has: see [`count_in_words`].
    pub(crate) fn count_in_words(&self) -> String {
        count_in_words(self.trials.iter())
    }

    /// How long all of it takes.
    pub(crate) fn time(&self, concurrency: Concurrency) -> Duration {
        self.estimate(self.trials.iter(), concurrency).left()
    }
}

/// `108 trials and 6 warm-ups`. A result counts the trials alone. Those that check a verdict are named: nobody asked for them.
pub(crate) fn count_in_words<'p>(trials: impl Iterator<Item = &'p TrialPlan>) -> String {
    let (warm_ups, trials): (Vec<_>, Vec<_>) = trials.partition(|trial| trial.warmup);
    let checks = trials.iter().filter(|trial| trial.cell.workload.check_of.is_some()).count();
    let mut all = counted(trials.len(), "trial");
    if checks > 0 {
        all.push_str(&format!(" ({checks} of them to check verdicts with flat dependencies)"));
    }
    match (trials.len(), warm_ups.len()) {
        (_, 0) => all,
        (0, more) => counted(more, "warm-up"),
        (_, more) => format!("{all} and {}", counted(more, "warm-up")),
    }
}

/// The trials of an experiment on this machine; `file` tells where a file that a workload names is.
pub(crate) fn plan(
    experiment: &Experiment,
    file: impl Fn(&str) -> PathBuf,
) -> Result<Planned, CliError> {
    let mut surroundings = Surroundings { cores: machine::cores(), ..Surroundings::default() };
    let mut least = Duration::MAX;
    for choice in &experiment.links {
        let spec = links::link_spec(choice, &file)?;
        least = least.min(spec.rtt());
        surroundings.round_trips.insert(choice.name.clone(), spec.rtt());
        let lost = [&spec.up, &spec.down].map(|path| path.loss.mean());
        surroundings.losses.insert(choice.name.clone(), lost[0].max(lost[1]));
        let rates = [&spec.up, &spec.down].map(|path| path.bottleneck.mean_rate());
        if let [Some(up), Some(down)] = rates {
            surroundings.rates.insert(choice.name.clone(), up.max(down));
        }
    }
    for workload in &experiment.workloads {
        let facts = match &workload.kind {
            WorkloadKind::Har(har) => {
                let page = har::read(&file(&har.file), har)?.page;
                WorkFacts { bytes: page.total_bytes(), waiting: page.least_time() }
            }
            // What other people's answers weigh is not known: the link is taken to be busy all the time.
            WorkloadKind::Calls(calls) if calls.requests.is_some() => continue,
            WorkloadKind::Calls(calls) => crate::trial::task::call_facts(calls, least),
            WorkloadKind::Echo(echo) => crate::trial::echo::echo_facts(echo, least),
            WorkloadKind::Stream(stream) => crate::trial::stream::stream_facts(stream, least),
            WorkloadKind::Page(_) | WorkloadKind::Download(_) => continue,
        };
        surroundings.works.insert(workload.name.clone(), facts);
    }
    Ok(Planned { trials: study::plan::trials(experiment, &surroundings), surroundings })
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::experiment::builtin;

    /// While a run until it is decided times a round, nothing but warm-ups may be left.
    #[test]
    fn no_trials_are_not_counted_beside_warm_ups() {
        let experiment: Experiment = builtin()[0].toml.parse().unwrap();
        let planned = plan(&experiment, |name| PathBuf::from(name)).unwrap();
        let (warm_ups, trials): (Vec<_>, Vec<_>) = planned.trials.iter().partition(|t| t.warmup);
        assert_eq!(count_in_words(warm_ups[..2].iter().copied()), "2 warm-ups");
        assert_eq!(count_in_words(trials[..1].iter().copied()), "1 trial");
        let both = trials[..2].iter().chain(&warm_ups[..1]).copied();
        assert_eq!(count_in_words(both), "2 trials and 1 warm-up");
        let mut check = trials[0].clone();
        check.cell.workload.check_of = Some("my".to_owned());
        let both = [trials[0], &check].into_iter();
        assert_eq!(
            count_in_words(both),
            "2 trials (1 of them to check verdicts with flat dependencies)"
        );
    }
}
