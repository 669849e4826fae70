//! Compares contenders pair by pair: their blocks, why a pair has no verdict, and what is reported.

use super::families::{self, Joint, Looked, Table, even_error, joints};
use super::{Rows, deciding_metric, gates, metrics};
use crate::blocks::Audited;
use crate::comparison::Verdict;
use crate::experiment::{Contender, Experiment, LinkChoice, Stopping, Workload, WorkloadKind};
use crate::family::{FamilyKind, FamilySizes};
use crate::metric;
use crate::outcome::Outcome;
use crate::published::{self, Difference, Ours, Published, Question};
use crate::record::{RunHeader, TrialRecord};
use crate::result::{CellResult, Family, Pair, Ranked, Verdicts};
use crate::stats::{
    CONFIDENCE, Detectable, Level, Look, SignedRank, WalshAverages, looks, one_look,
};
use crate::verdict::{Finding, Paired, Rule, Score, Stage};
use std::collections::BTreeMap;

/// Two contenders on one workload and link.
#[derive(Clone, Copy)]
pub(super) struct Versus<'e> {
    workload: &'e Workload,
    pub(super) link: &'e LinkChoice,
    a: &'e Contender,
    b: &'e Contender,
    /// Its index among the pairs of its table.
    pub(super) order: usize,
}

/// All comparisons of the run, and the verdicts by workload and link.
pub(super) fn verdicts(
    experiment: &Experiment,
    rows: &Rows<'_>,
    cells: &[CellResult],
) -> (Family, Vec<Verdicts>) {
    let tables = families::tables(experiment, rows);
    let tables: Vec<Verdicts> =
        tables.into_iter().map(|table| one_verdict(experiment, table, rows, cells)).collect();
    let all = || tables.iter().flat_map(|table| &table.families);
    let family = Family {
        confidence: CONFIDENCE,
        comparisons: all().map(|family| family.comparisons).sum(),
        families: u32::try_from(all().count()).unwrap_or(u32::MAX),
        method: method(experiment.stopping).to_owned(),
        error_spent: all().map(|family| family.error_spent).fold(0.0, f64::max),
    };
    (family, tables)
}

/// Whether every gate of a workload on a link has an outcome, or without gates every pair a verdict, that no later row can
/// take back: what a run that may stop early asks at each of its looks. Holm's steps wait for the end, and can but add to it.
pub fn is_settled(header: &RunHeader, records: &[TrialRecord], workload: &str, link: &str) -> bool {
    let experiment = &header.experiment;
    let rows = Rows::of(records);
    if let Some(settled) = gates::are_settled(experiment, &rows, workload, link) {
        return settled;
    }
    let mut judge = Judge::default();
    let is_here = |joint: &Joint<'_>| joint.pairs[0].workload_and_link() == (workload, link);
    let mut here = joints(experiment).into_iter().flatten().filter(is_here);
    here.all(|joint| {
        joint.pairs.iter().zip(joint.looked(&rows)).all(|(versus, looked)| {
            let finding = judge.found(joint.rule(), versus, &looked, &rows);
            versus.checked(finding, &rows, experiment).verdict() != Verdict::Undecided
        })
    })
}

/// The looks at a workload on a link: at which numbers of blocks it may be judged. Where there are gates they say when that
/// may begin; else the larger one of both families, which are looked at together.
pub fn planned_looks(experiment: &Experiment, link: &LinkChoice) -> Vec<Look> {
    match experiment.stopping {
        Stopping::Fixed => one_look(link.trials),
        Stopping::Sequential => {
            let sizes = FamilySizes::of(experiment.contenders.len());
            let of_pairs = even_error(sizes.largest());
            let error = match experiment.gates.is_empty() {
                true => of_pairs,
                false => 2.0 * experiment.gates.error_of_each(gates::places(experiment)),
            };
            looks(link.planned(), error)
        }
    }
}

/// All pairs over all links and workloads. A workload that only checks another has no verdicts of its own and uses no
/// error of a family: it can only withdraw verdicts of the other.
pub(super) fn compared(experiment: &Experiment) -> Vec<Versus<'_>> {
    let mut compared = Vec::new();
    for workload in experiment.workloads.iter().filter(|workload| workload.check_of.is_none()) {
        for link in &experiment.links {
            let each = experiment.contenders.iter().enumerate();
            let pairs = each.flat_map(|(index, a)| {
                experiment.contenders[index + 1..].iter().map(move |b| (a, b))
            });
            let versus = |(order, (a, b)): (usize, _)| Versus { workload, link, a, b, order };
            compared.extend(pairs.enumerate().map(versus));
        }
    }
    compared
}

/// What judging needs besides the rows and the rule.
#[derive(Default)]
pub(super) struct Judge {
    detectable: Detectable,
}

impl Judge {
    /// The finding on a pair by itself; without a verdict where it cannot run here or the audit refused its trials.
    pub(super) fn found(
        &mut self,
        rule: Rule,
        versus: &Versus<'_>,
        looked: &Looked,
        rows: &Rows<'_>,
    ) -> Finding {
        let blocks = looked.stages.last().map_or(0, |stage| stage.paired.blocks());
        if let Some(reason) = versus.unsupported(rows).filter(|_| blocks == 0) {
            return Finding::unsupported(reason);
        }
        let finding = rule.judge(&looked.stages, &mut self.detectable);
        match versus.objection(rows) {
            Some(Objection::Refused(reason)) => finding.refused(reason),
            Some(Objection::Unlike(reason)) => finding.withheld(reason),
            None => finding,
        }
    }
}

/// Why the audit keeps the times of two contenders from a verdict.
enum Objection {
    /// It refused too many trials of one of them for a figure.
    Refused(String),
    /// It refused trials of one more often than of the other.
    Unlike(String),
}

impl<'e> Versus<'e> {
    /// A contender and the baseline, outside of any table of pairs.
    pub(super) fn of_baseline(
        workload: &'e Workload,
        link: &'e LinkChoice,
        [a, b]: [&'e Contender; 2],
    ) -> Self {
        Self { workload, link, a, b, order: 0 }
    }

    fn objection(&self, rows: &Rows<'_>) -> Option<Objection> {
        let [a, b] =
            [self.a, self.b].map(|contender| rows.audited(self.workload, self.link, contender));
        for (contender, audited) in [(self.a, a), (self.b, b)] {
            if let Some(reason) = audited.refusal() {
                return Some(Objection::Refused(format!("{}: {reason}", contender.name)));
            }
        }
        let described = |contender: &Contender, Audited { trials, invalid }: Audited| {
            format!("{invalid} of {trials} attempts of {}", contender.name)
        };
        a.is_unlike(b).then(|| {
            Objection::Unlike(format!(
                "the audit refused {} and {}: one of the two disturbs what is measured",
                described(self.a, a),
                described(self.b, b)
            ))
        })
    }

    /// The names of its workload and link.
    pub(super) fn workload_and_link(&self) -> (&str, &str) {
        (&self.workload.name, &self.link.name)
    }

    /// The names of the two contenders.
    #[cfg(test)]
    pub(super) fn names(&self) -> (&str, &str) {
        (&self.a.name, &self.b.name)
    }

    /// The family of its table that it belongs to.
    pub(super) fn kind(&self, baseline: &str) -> FamilyKind {
        FamilyKind::of(baseline, [&self.a.name, &self.b.name])
    }

    /// How much longer the first takes for a message than the second, from the differences in each block. Blocks in
    /// which either failed are left out.
    fn difference(&self, rows: &Rows<'_>) -> Option<Difference> {
        let WorkloadKind::Echo(echo) = self.workload.kind else { return None };
        let figures = |contender: &Contender| -> BTreeMap<u32, f64> {
            let rows = rows.cell(self.workload, self.link, contender);
            let figure = |row: &&TrialRecord| match score(row, self.workload)? {
                Score::Figure(value) => Some((row.plan.block, value)),
                Score::Failed => None,
            };
            rows.iter().filter_map(figure).collect()
        };
        let (a, b) = (figures(self.a), figures(self.b));
        let count = f64::from(echo.count);
        let paired = a.iter().filter_map(|(block, a)| Some((a - b.get(block)?) / count));
        let averages = WalshAverages::of(&paired.collect::<Vec<_>>());
        let interval = averages.interval(averages.distribution().rank_within(1.0 - CONFIDENCE));
        let is_finite = interval.low.is_finite() && interval.high.is_finite();
        Some(Difference {
            estimate: averages.estimate()?,
            ci95: is_finite.then_some([interval.low, interval.high]),
        })
    }

    pub(super) fn paired(&self, rows: &Rows<'_>) -> Paired {
        self.paired_on(self.workload, rows, u32::MAX)
    }

    /// The first contender's figures in the measured trials; none where the audit keeps its times from a verdict.
    fn figures(&self, metric: &str, rows: &Rows<'_>) -> Vec<f64> {
        if self.objection(rows).is_some() && !metric::is_count(metric) {
            return Vec::new();
        }
        let rows = rows.cell(self.workload, self.link, self.a).iter();
        let measured = rows.filter(|row| row.outcome == Outcome::Measured);
        measured.filter_map(|row| row.metrics.get(metric)).copied().collect()
    }

    /// The pair over the blocks before `end`.
    fn paired_on(&self, workload: &Workload, rows: &Rows<'_>, end: u32) -> Paired {
        self.paired_with(workload, deciding_metric(workload), rows, end)
    }

    fn paired_with(&self, workload: &Workload, metric: &str, rows: &Rows<'_>, end: u32) -> Paired {
        let scores = |contender: &Contender| -> BTreeMap<u32, Option<Score>> {
            let rows = rows.cell(workload, self.link, contender).iter();
            let before = rows.filter(|row| row.plan.block < end);
            before.map(|row| (row.plan.block, score_by(row, metric))).collect()
        };
        let (a, b) = (scores(self.a), scores(self.b));
        let both = || a.iter().filter_map(|(block, a)| Some(((*a), (*b.get(block)?))));
        let invalid = both().filter(|(a, b)| a.is_none() || b.is_none()).count();
        Paired::of(both().filter_map(|(a, b)| a.zip(b))).with_invalid(invalid)
    }

    /// The looks that the rows have reached, each with an interval for its share of `error`.
    pub(super) fn stages(&self, rows: &Rows<'_>, looks: &[Look], error: f64) -> Vec<Stage> {
        let of = |contender: &Contender| rows.cell(self.workload, self.link, contender);
        let ran = of(self.a).iter().chain(of(self.b));
        let blocks = ran.map(|row| row.plan.block + 1).max().unwrap_or(0);
        let reached = looks.iter().take_while(|look| look.blocks <= blocks).count();
        // A run that was interrupted between two looks is judged by the rows there are.
        let between = usize::from(reached == 0 || looks[reached - 1].blocks < blocks);
        let stage = |look: &Look| {
            let paired = self.paired_on(self.workload, rows, look.blocks);
            let distribution = SignedRank::of(paired.blocks());
            let rank = distribution.rank_within(error * look.share);
            Stage {
                level: Level { rank, error: distribution.error(rank) },
                paired,
                share: look.share,
            }
        };
        looks.iter().take(reached + between).map(stage).collect()
    }

    /// The finding, withdrawn where the same comparison over flat dependencies has another verdict.
    pub(super) fn checked(
        &self,
        finding: Finding,
        rows: &Rows<'_>,
        experiment: &Experiment,
    ) -> Finding {
        self.checked_by(finding, deciding_metric(self.workload), rows, experiment)
    }

    fn checked_by(
        &self,
        finding: Finding,
        metric: &str,
        rows: &Rows<'_>,
        experiment: &Experiment,
    ) -> Finding {
        let name = Some(&self.workload.name);
        let check = experiment.workloads.iter().find(|other| other.check_of.as_ref() == name);
        let Some(check) = check else { return finding };
        // The check finds nothing itself and can only withdraw, so its interval need not hold together with others.
        let paired = self.paired_with(check, metric, rows, u32::MAX);
        finding.checked_by(&alone(experiment.margin, paired, &mut Detectable::default()))
    }

    /// The finding by a time other than the deciding one, by itself, under the same conditions: failed trials are the slowest,
    /// and what the audit or flat dependencies keep from a verdict gets none.
    pub(super) fn found_by(
        &self,
        metric: &str,
        rows: &Rows<'_>,
        experiment: &Experiment,
    ) -> Finding {
        let found = self.alone_by(metric, rows, experiment.margin);
        self.checked_by(found, metric, rows, experiment)
    }

    /// The same without a check. Counts are judged whatever the audit refused: a busy machine does not change them.
    fn alone_by(&self, metric: &str, rows: &Rows<'_>, margin: f64) -> Finding {
        let paired = self.paired_with(self.workload, metric, rows, u32::MAX);
        let found = alone(margin, paired, &mut Detectable::default());
        match self.objection(rows).filter(|_| !metric::is_count(metric)) {
            Some(Objection::Refused(reason) | Objection::Unlike(reason)) => found.refused(reason),
            None => found,
        }
    }

    fn unsupported(&self, rows: &Rows<'_>) -> Option<String> {
        [self.a, self.b].into_iter().find_map(|contender| {
            rows.cell(self.workload, self.link, contender).iter().find_map(|row| {
                let Outcome::Unsupported { reason, remedy } = &row.outcome else { return None };
                Some(format!("{}: {reason}; {remedy}", contender.name))
            })
        })
    }
}

/// One comparison by itself, at 95 %.
pub(super) fn alone(margin: f64, paired: Paired, detectable: &mut Detectable) -> Finding {
    let distribution = SignedRank::of(paired.blocks());
    let rank = distribution.rank_within(1.0 - CONFIDENCE);
    let level = Level { rank, error: distribution.error(rank) };
    Rule { margin, comparisons: 1 }.judge(&[Stage::only(paired, level)], detectable)
}

/// Compares the run with the published one. Each comparison stands by itself, as each published finding does.
pub(super) fn published(
    experiment: &Experiment,
    rows: &Rows<'_>,
    cells: &[CellResult],
) -> Option<Published> {
    let cell_of = |question: Question<'_>, contender: &str| {
        let id = |cell: &&CellResult| {
            (cell.workload.name.as_str(), cell.link.name.as_str(), cell.contender.name.as_str())
                == (question.workload, question.link, contender)
        };
        cells.iter().find(id)
    };
    // None where one of the two has no trial, not even a refused one.
    let versus = |question: Question<'_>| {
        for contender in [question.a, question.b] {
            cell_of(question, contender).filter(|cell| cell.trials.all() > 0)?;
        }
        Some(Versus {
            workload: experiment.workload(question.workload)?,
            link: experiment.links.iter().find(|link| link.name == question.link)?,
            a: experiment.contender(question.a)?,
            b: experiment.contender(question.b)?,
            order: 0,
        })
    };
    // What the race gives no verdict on confirms no finding either.
    let ask_of = |metric: &str, question: Question<'_>| {
        Some(versus(question)?.alone_by(metric, rows, experiment.margin).comparison())
    };
    let ask = |question: Question<'_>| {
        ask_of(deciding_metric(experiment.workload(question.workload)?), question)
    };
    let figures =
        |metric: &str, question: Question<'_>| Some(versus(question)?.figures(metric, rows));
    let profiled = |metric: &str, question: Question<'_>| {
        let id = cell_of(question, question.a)?.id();
        rows.profiled.get(&id)?.metrics.get(metric).copied()
    };
    let differ = |question: Question<'_>| versus(question)?.difference(rows);
    let time = |question: Question<'_>| {
        let cell = cell_of(question, question.a)?;
        cell.metrics.get(deciding_metric(&cell.workload)).copied()
    };
    let ours = Ours {
        experiment,
        ask: &ask,
        ask_of: &ask_of,
        figures: &figures,
        profiled: &profiled,
        time: &time,
        differ: &differ,
    };
    published::compare(experiment.published?, &ours)
}

pub(super) fn score(row: &TrialRecord, workload: &Workload) -> Option<Score> {
    score_by(row, deciding_metric(workload))
}

fn score_by(row: &TrialRecord, metric: &str) -> Option<Score> {
    match row.outcome {
        Outcome::Measured => {
            let value = row.metrics.get(metric).copied()?;
            (value > 0.0 && value.is_finite()).then_some(Score::Figure(value))
        }
        Outcome::Failed { .. } => Some(Score::Failed),
        Outcome::Invalid { .. } | Outcome::Unsupported { .. } => None,
    }
}

fn one_verdict(
    experiment: &Experiment,
    table: Table<'_>,
    rows: &Rows<'_>,
    cells: &[CellResult],
) -> Verdicts {
    let Table { found, families } = table;
    let Versus { workload, link, .. } = found[0].0;
    let metric = deciding_metric(workload);
    let baseline = &experiment.baseline;
    let seconds = |contender: &str| {
        let here = |cell: &&CellResult| {
            cell.workload.name == workload.name
                && cell.link.name == link.name
                && cell.contender.name == contender
        };
        Some(cells.iter().find(here)?.metrics.get(metric)?.median / 1e3)
    };
    let ranked = |contender: &str, finding: &Finding| Ranked {
        contender: contender.to_owned(),
        comparison: finding.comparison(),
        saved_s: seconds(baseline).zip(seconds(contender)).map(|(base, own)| base - own),
    };
    let mut ranking: Vec<Ranked> = found
        .iter()
        .filter_map(|(Versus { a, b, .. }, finding)| match baseline {
            base if *base == b.name => Some(ranked(&a.name, finding)),
            base if *base == a.name => Some(ranked(&b.name, &finding.reversed())),
            _ => None,
        })
        .collect();
    let ratio = |ranked: &Ranked| ranked.comparison.ratio.map_or(f64::INFINITY, |ratio| ratio.0);
    ranking.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let pair = |(versus, finding): &(Versus<'_>, Finding)| Pair {
        a: versus.a.name.clone(),
        b: versus.b.name.clone(),
        comparison: finding.comparison(),
    };
    Verdicts {
        workload: workload.name.clone(),
        link: link.name.clone(),
        metric: metric.to_owned(),
        baseline: baseline.clone(),
        families,
        ranking,
        pairs: found.iter().map(pair).collect(),
        metrics: metrics::compared(experiment, workload, link, rows),
    }
}

fn method(stopping: Stopping) -> &'static str {
    match stopping {
        Stopping::Fixed => {
            "Hodges-Lehmann ratios of the deciding times paired by block; intervals from the exact \
             signed-rank distribution, simultaneous over each family (of one workload on one link \
             the comparisons with the baseline, and those among the others) by Bonferroni's inequality with \
             the error spent where the exact levels lie; faster and slower also where Holm's procedure over \
             the family rejects at a later step, with the interval of that step"
        }
        Stopping::Sequential => {
            "Hodges-Lehmann ratios of the deciding times paired by block; repeated intervals from the \
             exact signed-rank distribution at looks planned beforehand, the error spent in proportion \
             to the blocks looked at (Lan and DeMets), simultaneous over all looks and each family (of one \
             workload on one link the comparisons with the baseline, and those among the others) by \
             Bonferroni's inequality; faster and slower also where Holm's procedure over the family rejects at \
             a later step, with the interval of that step"
        }
    }
}
