//! Which contender leads while trials still run. It is no verdict: it has no interval, and it decides nothing.

use std::collections::BTreeMap;
use study::deciding_metric;
use study::outcome::Outcome;
use study::plan::TrialPlan;
use study::record::TrialRecord;
use study::stats::median;

/// The deciding figures so far, by workload and link, then by contender.
#[derive(Debug, Default)]
pub(crate) struct Leaders {
    groups: BTreeMap<(String, String), BTreeMap<String, Vec<f64>>>,
    /// Where a trial ended last.
    latest: Option<(String, String)>,
}

/// With one trial each, chance leads.
const FEWEST: usize = 2;

/// As near as this is level.
const LEVEL: f64 = 0.02;

impl Leaders {
    /// The contenders of a trial's group are known before it runs: nobody leads before all have run.
    pub(crate) fn expect(&mut self, trial: &TrialPlan) {
        if trial.cell.workload.check_of.is_none() {
            let figures = self.groups.entry(group(trial)).or_default();
            figures.entry(trial.cell.contender.name.clone()).or_default();
        }
    }

    /// A trial is done.
    pub(crate) fn done(&mut self, record: &TrialRecord) {
        let plan = &record.plan;
        let figure = record.metrics.get(deciding_metric(&plan.cell.workload));
        let counts = record.outcome == Outcome::Measured && !plan.warmup;
        let (Some(figure), true) = (figure, counts) else { return };
        let group = group(plan);
        let Some(figures) = self.groups.get_mut(&group) else { return };
        figures.entry(plan.cell.contender.name.clone()).or_default().push(*figure);
        self.latest = Some(group);
    }

    /// Who leads where a trial ended last: `h2 leads on 3g by 43 % so far, not yet a verdict`.
    pub(crate) fn in_words(&self) -> Option<String> {
        let group = self.latest.as_ref()?;
        let figures = self.groups.get(group)?;
        if figures.len() < 2 || figures.values().any(|own| own.len() < FEWEST) {
            return None;
        }
        let mut medians: Vec<(&str, f64)> =
            figures.iter().filter_map(|(name, own)| Some((name.as_str(), median(own)?))).collect();
        medians.sort_by(|a, b| a.1.total_cmp(&b.1));
        let [(first, least), (second, next), ..] = medians[..] else { return None };
        let workloads = self.groups.keys().filter(|(_, link)| *link == group.1).count();
        let place =
            if workloads > 1 { format!("{}, {}", group.1, group.0) } else { group.1.clone() };
        Some(match 1.0 - least / next {
            ahead if ahead < LEVEL => {
                format!("{first} and {second} lead on {place} so far, not yet a verdict")
            }
            ahead => {
                let percent = ahead * 100.0;
                format!("{first} leads on {place} by {percent:.0} % so far, not yet a verdict")
            }
        })
    }
}

fn group(trial: &TrialPlan) -> (String, String) {
    (trial.cell.workload.name.clone(), trial.cell.link.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::experiment::{Experiment, builtin};
    use study::plan::{Surroundings, trials};
    use study::record::without_figures;

    #[test]
    fn a_leader_is_named_once_everyone_has_run_twice() {
        let mut quick: Experiment = builtin()[0].toml.parse().unwrap();
        quick.contenders.retain(|contender| contender.name != "h3");
        let plan = trials(&quick, &Surroundings::default());
        let on_3g: Vec<_> =
            plan.iter().filter(|trial| trial.cell.link.name == "3g" && !trial.warmup).collect();
        let mut leaders = Leaders::default();
        plan.iter().for_each(|trial| leaders.expect(trial));
        let mut told = Vec::new();
        for trial in &on_3g[..6] {
            let ms = match trial.cell.contender.name.as_str() {
                "h2" => 2_400.0,
                "h1" => 3_000.0,
                _ => 4_400.0,
            };
            let mut record = without_figures((*trial).clone(), Outcome::Measured, 0);
            record.metrics.insert(study::metric::LOAD_MS.to_owned(), ms);
            leaders.done(&record);
            told.push(leaders.in_words());
        }
        assert!(told[..5].iter().all(Option::is_none), "{told:?}");
        assert_eq!(told[5].as_deref(), Some("h2 leads on 3g by 20 % so far, not yet a verdict"));
    }
}
