//! Gates over the contenders of one race. They are judged by the trials that were planned: what was added to a finished
//! run can turn no gate.

use super::Rows;
use super::compare::planned_looks;
use super::{cell_id, deciding_metric};
use crate::blocks::Audited;
use crate::experiment::{Contender, Experiment, LinkChoice, Server, Workload};
use crate::gate::{
    GATE_ERROR, Gate, GateError, GateOutcome, GatePlace, GateResult, RatioEvidence, paired,
};
use crate::metric;
use crate::outcome::Outcome;
use crate::record::TrialRecord;
use crate::stats::{Detectable, Level, SignedRank};
use crate::verdict::{Paired, Stage};
use std::collections::BTreeMap;
use trace::Protocol;

/// A gate's place in a race.
#[derive(Clone, Copy)]
struct Asked<'e> {
    gate: &'e Gate,
    workload: &'e Workload,
    link: &'e LinkChoice,
    a: &'e Contender,
    b: &'e Contender,
}

/// Whether every gate of `experiment` names contenders and a metric that it has; else which there are.
pub fn check_gates(experiment: &Experiment) -> Result<(), String> {
    experiment.gates.gates.iter().try_for_each(|gate| check(gate, experiment))
}

fn check(gate: &Gate, experiment: &Experiment) -> Result<(), String> {
    let names: Vec<&str> = experiment.contenders.iter().map(|c| c.name.as_str()).collect();
    let pair = gate.pair(&names).map_err(|error: GateError| error.to_string())?;
    if pair.is_none() && names.len() < 2 {
        return Err(format!(
            "`{gate}` needs a second contender to set over {}",
            experiment.baseline
        ));
    }
    let is_judged =
        |contender: &&Contender| pair.is_none_or(|pair| pair.contains(&contender.name.as_str()));
    let contenders: Vec<&Contender> = experiment.contenders.iter().filter(is_judged).collect();
    if let Some(reason) = unknown_use(&gate.metric, &contenders) {
        return Err(format!("`{gate}`: {reason}"));
    }
    if let Some(told) = metric::protocol_of(&gate.metric).and_then(unknown_protocol) {
        return Err(format!("`{gate}` counts connections over {told}"));
    }
    if judged(experiment).any(|workload| metric::is_of(&gate.metric, &workload.kind)) {
        return Ok(());
    }
    let mut names: Vec<&str> =
        judged(experiment).flat_map(|workload| metric::names(&workload.kind)).collect();
    names.retain(|name| unknown_use(name, &contenders).is_none());
    names.sort_unstable();
    names.dedup();
    let near = unit::nearest(&gate.metric, names.iter().copied());
    let guess = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
    let mut decide: Vec<&str> = judged(experiment).map(deciding_metric).collect();
    decide.dedup();
    Err(format!(
        "`{gate}` names the metric `{}`, which no workload here has; {guess}{} decides here, and there are {}",
        gate.metric,
        decide.join(", "),
        names.join(", ")
    ))
}

/// Why trials of one of `contenders` do not have the metric, where it is of what a server uses; None where they have it.
fn unknown_use(metric: &str, contenders: &[&Contender]) -> Option<String> {
    if ![metric::SERVER_CPU_MS, metric::CPU_MS].contains(&metric) {
        return None;
    }
    // What a server used is known only of one that wirelap started.
    if contenders.iter().any(|contender| matches!(contender.server, Server::Running(_))) {
        return Some(format!(
            "what a service that already runs uses is not known; `{metric}` is of servers that wirelap starts"
        ));
    }
    let is_warmed =
        |contender: &&&Contender| contender.client.as_ref().is_some_and(|one| one.warmup > 0);
    let warmed = contenders.iter().find(is_warmed)?;
    Some(format!(
        "{} has `client_warmup`, and what its server used in that cannot be told from the rest: its trials have no \
         `{metric}`; `{}` is of the work alone",
        warmed.name,
        metric::CLIENT_CPU_MS
    ))
}

/// That there is no protocol of this name, and which there are; None where there is.
fn unknown_protocol(name: &str) -> Option<String> {
    if Protocol::from_name(name).is_some() {
        return None;
    }
    // `http2` is near the title of h2, and far from its name.
    let by = |written: fn(Protocol) -> &'static str| {
        let near = unit::nearest(name, Protocol::ALL.into_iter().map(written))?;
        Protocol::ALL.into_iter().find(|one| written(*one) == near)
    };
    let near = by(Protocol::name).or_else(|| by(Protocol::title));
    let guess = near.map_or_else(String::new, |near| format!(", did you mean `{}`?", near.name()));
    let all: Vec<&str> = Protocol::ALL.into_iter().map(Protocol::name).collect();
    Some(format!("`{name}`{guess}; there are {}", all.join(", ")))
}

/// How many places the gates of an experiment have on one of its links or on all: what shares their error.
pub(super) fn places(experiment: &Experiment) -> usize {
    asked(experiment).len()
}

/// What each gate says of each of its places, by the rows of planned trials.
pub(super) fn judge(experiment: &Experiment, rows: &Rows<'_>) -> Vec<GateResult> {
    let asked = asked(experiment);
    let allowed = experiment.gates.error_of_each(asked.len());
    let mut detectable = Detectable::default();
    asked.iter().map(|asked| asked.judge(experiment, rows, allowed, &mut detectable)).collect()
}

/// Whether the gates of a workload on a link have an outcome that no later row can take back; None where it has no gate.
pub(super) fn are_settled(
    experiment: &Experiment,
    rows: &Rows<'_>,
    workload: &str,
    link: &str,
) -> Option<bool> {
    let gates = judge(experiment, rows);
    let is_here = |gate: &GateResult| gate.place.workload == workload && gate.place.link == link;
    let mut here = gates.iter().filter(|gate| is_here(gate)).peekable();
    here.peek()?;
    Some(here.all(|gate| gate.outcome != GateOutcome::Inconclusive))
}

/// Workloads that have verdicts of their own.
fn judged(experiment: &Experiment) -> impl Iterator<Item = &Workload> {
    experiment.workloads.iter().filter(|workload| workload.check_of.is_none())
}

fn asked(experiment: &Experiment) -> Vec<Asked<'_>> {
    let names: Vec<&str> = experiment.contenders.iter().map(|c| c.name.as_str()).collect();
    let mut all = Vec::new();
    for gate in &experiment.gates.gates {
        let baseline = experiment.baseline.as_str();
        let pairs: Vec<[&str; 2]> = match gate.pair(&names) {
            Ok(Some(pair)) => vec![pair],
            Ok(None) => names
                .iter()
                .filter(|name| **name != baseline)
                .map(|name| [*name, baseline])
                .collect(),
            Err(_) => Vec::new(),
        };
        let has_metric = |workload: &&Workload| metric::is_of(&gate.metric, &workload.kind);
        for workload in judged(experiment).filter(has_metric) {
            for link in &experiment.links {
                let each = pairs.iter().filter_map(|[a, b]| {
                    let (a, b) = (experiment.contender(a)?, experiment.contender(b)?);
                    Some(Asked { gate, workload, link, a, b })
                });
                all.extend(each);
            }
        }
    }
    all
}

impl Asked<'_> {
    fn judge(
        &self,
        experiment: &Experiment,
        rows: &Rows<'_>,
        allowed: f64,
        detectable: &mut Detectable,
    ) -> GateResult {
        let place = GatePlace {
            workload: self.workload.name.clone(),
            link: self.link.name.clone(),
            contender: self.a.name.clone(),
            against: Some(self.b.name.clone()),
        };
        let evidence = match self.refusal(rows) {
            Some(reason) => RatioEvidence::none(reason),
            None => RatioEvidence {
                refused: self.withheld(rows),
                obstacle: [self.a, self.b].into_iter().find_map(|one| self.failures(one, rows)),
                ..paired(&self.stages(experiment, rows, allowed), allowed, detectable)
            },
        };
        let result = self.gate.judge(place, &evidence);
        self.checked(result, experiment, rows)
    }

    /// Why there is no figure to compare.
    fn refusal(&self, rows: &Rows<'_>) -> Option<String> {
        [self.a, self.b].into_iter().find_map(|contender| {
            let refused = self.audited(contender, rows).refusal();
            let refused = refused.map(|reason| format!("{}: {reason}", contender.name));
            refused.or_else(|| self.unsupported(contender, rows))
        })
    }

    /// How many attempts the audit refused. For a count, those whose times alone it refused stand.
    fn audited(&self, contender: &Contender, rows: &Rows<'_>) -> Audited {
        match metric::is_count(&self.gate.metric) {
            false => rows.audited(self.workload, self.link, contender),
            true => {
                let cell = cell_id(self.workload, self.link, contender);
                rows.audited_counts.get(&cell).copied().unwrap_or_default()
            }
        }
    }

    fn unsupported(&self, contender: &Contender, rows: &Rows<'_>) -> Option<String> {
        let mut rows = rows.cell(self.workload, self.link, contender).iter();
        rows.find_map(|row| match &row.outcome {
            Outcome::Unsupported { reason, remedy } => {
                Some(format!("{}: {reason}; {remedy}", contender.name))
            }
            _ => None,
        })
    }

    /// Why nothing follows from the figures.
    fn withheld(&self, rows: &Rows<'_>) -> Option<String> {
        let [a, b] = [self.a, self.b].map(|one| self.audited(one, rows));
        a.is_unlike(b).then(|| {
            format!(
                "the audit refused {} of {} attempts of {} and {} of {} of {}",
                a.invalid, a.trials, self.a.name, b.invalid, b.trials, self.b.name
            )
        })
    }

    /// How many trials of a contender failed, and why the first one did.
    fn failures(&self, contender: &Contender, rows: &Rows<'_>) -> Option<String> {
        let rows = self.by_block(self.workload, contender, rows);
        let reasons: Vec<&String> = rows
            .values()
            .filter_map(|row| match &row.outcome {
                Outcome::Failed { reason } => Some(reason),
                _ => None,
            })
            .collect();
        let (failed, all) = (reasons.len(), rows.len());
        let reason = reasons.first()?;
        Some(format!("{}: {failed} of {all} trials failed: {reason}", contender.name))
    }

    /// The rows by block.
    fn by_block<'r>(
        &self,
        workload: &Workload,
        contender: &Contender,
        rows: &Rows<'r>,
    ) -> BTreeMap<u32, &'r TrialRecord> {
        let rows = rows.cell(workload, self.link, contender).iter();
        rows.map(|row| (row.plan.block, *row)).collect()
    }

    /// The logarithms of the ratios of the blocks before `end`.
    fn logs(&self, workload: &Workload, rows: &Rows<'_>, end: u32) -> Vec<f64> {
        let [a, b] = [self.a, self.b].map(|one| self.by_block(workload, one, rows));
        let both = a.range(..end).filter_map(|(block, a)| Some((*a, *b.get(block)?)));
        both.filter_map(|(a, b)| self.log(a, b)).collect()
    }

    /// ln(a / b); None where a row has no figure. A failure of the one that is judged counts against the gate, one of the
    /// other for it: the gate fails for neither, and [`Self::failures`] keeps it from passing.
    fn log(&self, a: &TrialRecord, b: &TrialRecord) -> Option<f64> {
        let failed = |row: &TrialRecord| matches!(row.outcome, Outcome::Failed { .. });
        let against = self.gate.failed_over_measured();
        match (failed(a), failed(b)) {
            (true, true) => return None,
            (true, false) => return Some(against),
            (false, true) => return Some(-against),
            (false, false) => {}
        }
        let figure = |row: &TrialRecord| {
            let figure = metric::figure(&row.metrics, &self.gate.metric);
            figure.filter(|_| metric::stands(&self.gate.metric, &row.outcome))
        };
        let (a, b) = (figure(a)?, figure(b)?);
        // Two that are both 0 do not differ.
        let log = if a == b { 0.0 } else { (a / b).ln() };
        (!log.is_nan()).then_some(log)
    }

    /// The looks that the rows have come to, each with its share of the error.
    fn stages(&self, experiment: &Experiment, rows: &Rows<'_>, allowed: f64) -> Vec<Stage> {
        let ran = [self.a, self.b].map(|one| {
            self.by_block(self.workload, one, rows).keys().next_back().map_or(0, |block| block + 1)
        });
        let blocks = ran[0].max(ran[1]);
        let looks = planned_looks(experiment, self.link);
        let reached = looks.iter().take_while(|look| look.blocks <= blocks).count();
        // A run that was stopped between two looks is judged by what there is, with the share of the next one.
        let between = usize::from(reached == 0 || looks[reached - 1].blocks < blocks);
        let stage = |look: &crate::stats::Look| {
            let logs = self.logs(self.workload, rows, look.blocks);
            let distribution = SignedRank::of(logs.len());
            let rank = distribution.rank_within(2.0 * allowed * look.share);
            Stage {
                level: Level { rank, error: distribution.error(rank) },
                paired: Paired::of_logs(logs),
                share: look.share,
            }
        };
        looks.iter().take(reached + between).map(stage).collect()
    }

    /// Inconclusive where the same page over flat dependencies does not come to the same outcome.
    fn checked(&self, result: GateResult, experiment: &Experiment, rows: &Rows<'_>) -> GateResult {
        let name = Some(&self.workload.name);
        let check = experiment.workloads.iter().find(|other| other.check_of.as_ref() == name);
        let Some(check) = check.filter(|_| result.outcome != GateOutcome::Inconclusive) else {
            return result;
        };
        // The check claims nothing and can but withdraw: it need not hold together with others, and the gates' error bounds
        // it no further. Its few blocks (`plan::blocks`) have an interval at 95 % on either side, and none at 99.5 %.
        let walsh = crate::stats::WalshAverages::of(&self.logs(check, rows, u32::MAX));
        let rank = walsh.distribution().rank_within(2.0 * GATE_ERROR);
        let flat = self.gate.outcome(walsh.interval(rank));
        if flat == result.outcome {
            return result;
        }
        let reason = format!(
            "{} with inferred dependencies, {} with flat ones",
            result.outcome.word(),
            flat.word()
        );
        GateResult { outcome: GateOutcome::Inconclusive, reason: Some(reason), ..result }
    }
}
