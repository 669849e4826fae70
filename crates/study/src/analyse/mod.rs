//! From rows to the result: pure, so that the same rows give the same result on any machine.

#[cfg(test)]
mod tests;

use crate::calendar::rfc3339;
use crate::experiment::{Contender, Experiment, LinkChoice, Pattern, Workload, WorkloadKind};
use crate::plan::CellId;
use crate::published::{self, Difference, Ours, Published, Question};
use crate::reconcile::weakest;
use crate::record::{Outcome, RunHeader, TrialRecord, metric};
use crate::result::{
    CellResult, Failure, Family, LinkResult, MedianTrial, Pair, RESULT_SCHEMA, Ranked, RunResult,
    TrialCounts, Verdicts,
};
use crate::stats::{CONFIDENCE, Level, SignedRank, Summary, WalshAverages, median, spend};
use crate::verdict::{Finding, Paired, Rule, Score};
use std::collections::{BTreeMap, BTreeSet};
use unit::Seed;

/// What the rows of a run come to. Of two rows with one key the later counts; warm-ups do not.
pub fn analyse(header: &RunHeader, records: &[TrialRecord]) -> RunResult {
    let experiment = &header.experiment;
    let rows = Rows::of(records);
    let cells = cells(experiment, &rows);
    let (family, verdicts) = verdicts(experiment, &rows, &cells);
    RunResult {
        schema: RESULT_SCHEMA.to_owned(),
        version: header.version.clone(),
        experiment: experiment.name.clone(),
        title: experiment.title.clone(),
        question: experiment.question.clone(),
        not_covered: experiment.not_covered.clone(),
        seed: experiment.seed,
        started: rfc3339(header.started_unix_ms),
        host: header.host.clone(),
        command_line: header.command_line.clone(),
        baseline: experiment.baseline.clone(),
        margin: experiment.margin,
        family,
        trials: count(rows.cells.values().flatten().copied()),
        cells,
        verdicts,
        published: published(experiment, &rows),
        failures: rows.cells.values().flatten().filter_map(|record| failure(record)).collect(),
    }
}

/// The metric that decides over a workload; less is better.
pub fn deciding_metric(workload: &Workload) -> &'static str {
    match workload.kind {
        WorkloadKind::Page(_) | WorkloadKind::Har(_) => metric::LOAD_MS,
        WorkloadKind::Calls(calls) => match calls.pattern {
            // Whoever calls one by one waits for each call; whoever calls all at once, for the last.
            Pattern::Serial | Pattern::Staggered { .. } => metric::MEAN_MS,
            Pattern::Parallel => metric::TOTAL_MS,
        },
        WorkloadKind::Download(_) => metric::WALL_MS,
        // Opening counts, as whoever has something to say waits for it too.
        WorkloadKind::Echo(_) => metric::TOTAL_MS,
    }
}

/// The rows that count, by cell.
struct Rows<'r> {
    cells: BTreeMap<CellId, Vec<&'r TrialRecord>>,
}

impl<'r> Rows<'r> {
    fn of(records: &'r [TrialRecord]) -> Self {
        let latest: BTreeMap<&str, &TrialRecord> =
            records.iter().map(|record| (record.plan.key.as_str(), record)).collect();
        let mut cells: BTreeMap<CellId, Vec<&TrialRecord>> = BTreeMap::new();
        for record in latest.into_values().filter(|record| !record.plan.warmup) {
            cells.entry(record.plan.cell.id()).or_default().push(record);
        }
        cells.values_mut().for_each(|rows| rows.sort_by_key(|record| record.plan.block));
        Self { cells }
    }

    fn cell(
        &self,
        workload: &Workload,
        link: &LinkChoice,
        contender: &Contender,
    ) -> &[&'r TrialRecord] {
        let id = CellId {
            workload: workload.name.clone(),
            link: link.name.clone(),
            contender: contender.name.clone(),
        };
        self.cells.get(&id).map_or(&[], Vec::as_slice)
    }
}

fn count<'r>(records: impl Iterator<Item = &'r TrialRecord>) -> TrialCounts {
    let mut counts = TrialCounts::default();
    for record in records {
        *match record.outcome {
            Outcome::Measured => &mut counts.measured,
            Outcome::Invalid { .. } => &mut counts.invalid,
            Outcome::Failed { .. } => &mut counts.failed,
            Outcome::Unsupported { .. } => &mut counts.unsupported,
        } += 1;
    }
    counts
}

fn failure(record: &TrialRecord) -> Option<Failure> {
    let (outcome, remedy) = match &record.outcome {
        Outcome::Measured => return None,
        Outcome::Invalid { .. } => ("invalid", None),
        Outcome::Failed { .. } => ("failed", None),
        Outcome::Unsupported { remedy, .. } => ("unsupported", Some(remedy.clone())),
    };
    let reason = record.outcome.reason().unwrap_or_default().to_owned();
    Some(Failure { key: record.plan.key.clone(), outcome: outcome.to_owned(), reason, remedy })
}

fn cells(experiment: &Experiment, rows: &Rows<'_>) -> Vec<CellResult> {
    let mut cells = Vec::new();
    for workload in &experiment.workloads {
        for link in &experiment.links {
            for contender in &experiment.contenders {
                let rows = rows.cell(workload, link, contender);
                let measured: Vec<&TrialRecord> =
                    rows.iter().copied().filter(|row| row.outcome == Outcome::Measured).collect();
                cells.push(CellResult {
                    workload: workload.clone(),
                    contender: contender.clone(),
                    link: LinkResult { name: link.name.clone(), figures: link.figures.clone() },
                    trials: count(rows.iter().copied()),
                    metrics: summaries(&measured, Seed(experiment.seed)),
                    evidence: weakest(measured.iter().flat_map(|row| &row.evidence)),
                    median_trial: median_trial(&measured, deciding_metric(workload)),
                });
            }
        }
    }
    cells
}

fn summaries(measured: &[&TrialRecord], seed: Seed) -> BTreeMap<String, Summary> {
    let names: BTreeSet<&String> = measured.iter().flat_map(|row| row.metrics.keys()).collect();
    let summary = |name: &String| {
        let values: Vec<f64> =
            measured.iter().filter_map(|row| row.metrics.get(name)).copied().collect();
        Summary::of(&values, seed.child("bootstrap").child(name))
    };
    names.into_iter().filter_map(|name| Some((name.clone(), summary(name)?))).collect()
}

fn median_trial(measured: &[&TrialRecord], metric: &str) -> Option<MedianTrial> {
    let value = |row: &TrialRecord| row.metrics.get(metric).copied();
    let values: Vec<f64> = measured.iter().filter_map(|row| value(row)).collect();
    let middle = median(&values)?;
    let (row, _) = measured
        .iter()
        .filter_map(|row| Some((*row, value(row)?)))
        .min_by(|a, b| (a.1 - middle).abs().total_cmp(&(b.1 - middle).abs()))?;
    let load_ms = row.metrics.get(metric::LOAD_MS).copied()?;
    let whole = |name: &str| row.metrics.get(name).map_or(0, |value| *value as u32);
    Some(MedianTrial {
        key: row.plan.key.clone(),
        load_ms,
        rounds: whole(metric::ROUNDS),
        connections: whole(metric::CONNECTIONS),
        parts: row.parts,
    })
}

/// Two contenders on one workload and link.
struct Versus<'e> {
    workload: &'e Workload,
    link: &'e LinkChoice,
    a: &'e Contender,
    b: &'e Contender,
}

fn verdicts(
    experiment: &Experiment,
    rows: &Rows<'_>,
    cells: &[CellResult],
) -> (Family, Vec<Verdicts>) {
    let compared = compared(experiment);
    let mut paired: Vec<Paired> = compared.iter().map(|versus| versus.paired(rows)).collect();
    let levels = levels(experiment, &compared, &paired);
    let rule = Rule { margin: experiment.margin, comparisons: compared.len() };
    let findings: Vec<Finding> = compared
        .iter()
        .zip(paired.drain(..).zip(&levels))
        .map(|(versus, (paired, level))| versus.judge(rows, rule, (&paired, *level), experiment))
        .collect();
    let family = Family {
        confidence: CONFIDENCE,
        comparisons: u32::try_from(compared.len()).unwrap_or(u32::MAX),
        method: METHOD.to_owned(),
        error_spent: levels.iter().map(|level| level.error).sum(),
    };
    let found: Vec<(Versus<'_>, Finding)> = compared.into_iter().zip(findings).collect();
    let same_place = |a: &(Versus<'_>, Finding), b: &(Versus<'_>, Finding)| {
        a.0.workload.name == b.0.workload.name && a.0.link.name == b.0.link.name
    };
    let verdicts =
        found.chunk_by(same_place).map(|found| one_verdict(experiment, found, cells)).collect();
    (family, verdicts)
}

/// All pairs over all links and workloads; a workload that only checks another has no verdicts of its own and takes
/// nothing from the family: it can but withdraw what the other found.
fn compared(experiment: &Experiment) -> Vec<Versus<'_>> {
    let mut compared = Vec::new();
    for workload in experiment.workloads.iter().filter(|workload| workload.check_of.is_none()) {
        for link in &experiment.links {
            for (index, a) in experiment.contenders.iter().enumerate() {
                let others = &experiment.contenders[index + 1..];
                compared.extend(others.iter().map(|b| Versus { workload, link, a, b }));
            }
        }
    }
    compared
}

/// The level of each comparison: those with the baseline come first where not all can be paid for.
fn levels(experiment: &Experiment, compared: &[Versus<'_>], paired: &[Paired]) -> Vec<Level> {
    let mut order: Vec<usize> = (0..compared.len()).collect();
    let with_baseline = |index: usize| {
        let Versus { a, b, .. } = &compared[index];
        a.name == experiment.baseline || b.name == experiment.baseline
    };
    order.sort_by_key(|&index| !with_baseline(index));
    let blocks: Vec<usize> = order.iter().map(|&index| paired[index].blocks()).collect();
    let mut levels = vec![Level { rank: 0, error: 0.0 }; compared.len()];
    for (index, level) in order.into_iter().zip(spend(&blocks, 1.0 - CONFIDENCE)) {
        levels[index] = level;
    }
    levels
}

impl Versus<'_> {
    fn paired(&self, rows: &Rows<'_>) -> Paired {
        self.paired_on(self.workload, rows)
    }

    fn paired_on(&self, workload: &Workload, rows: &Rows<'_>) -> Paired {
        let scores = |contender: &Contender| -> BTreeMap<u32, Score> {
            let rows = rows.cell(workload, self.link, contender);
            rows.iter().filter_map(|row| Some((row.plan.block, score(row, workload)?))).collect()
        };
        let (a, b) = (scores(self.a), scores(self.b));
        Paired::of(a.iter().filter_map(|(block, a)| Some((*a, *b.get(block)?))))
    }

    /// What the first takes longer than the second, a message, block by block. A block in which either failed has no
    /// difference.
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

    fn judge(
        &self,
        rows: &Rows<'_>,
        rule: Rule,
        (paired, level): (&Paired, Level),
        experiment: &Experiment,
    ) -> Finding {
        if let Some(reason) = self.unsupported(rows).filter(|_| paired.blocks() == 0) {
            return Finding::unsupported(reason);
        }
        let finding = rule.judge(paired, level);
        let name = Some(&self.workload.name);
        let check = experiment.workloads.iter().find(|other| other.check_of.as_ref() == name);
        let Some(check) = check else { return finding };
        // The check claims nothing and can but withdraw: its interval need not hold together with others.
        finding.checked_by(&alone(rule.margin, &self.paired_on(check, rows)))
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
fn alone(margin: f64, paired: &Paired) -> Finding {
    let distribution = SignedRank::of(paired.blocks());
    let rank = distribution.rank_within(1.0 - CONFIDENCE);
    let level = Level { rank, error: distribution.error(rank) };
    Rule { margin, comparisons: 1 }.judge(paired, level)
}

/// Our run beside the published one. Each of its comparisons stands by itself, as each published finding does.
fn published(experiment: &Experiment, rows: &Rows<'_>) -> Option<Published> {
    let versus = |question: Question<'_>| {
        Some(Versus {
            workload: experiment.workload(question.workload)?,
            link: experiment.links.iter().find(|link| link.name == question.link)?,
            a: experiment.contender(question.a)?,
            b: experiment.contender(question.b)?,
        })
    };
    let ask = |question: Question<'_>| {
        let paired = versus(question)?.paired(rows);
        (paired.blocks() > 0).then(|| alone(experiment.margin, &paired).comparison())
    };
    let differ = |question: Question<'_>| versus(question)?.difference(rows);
    published::compare(experiment.published?, &Ours { experiment, ask: &ask, differ: &differ })
}

fn score(row: &TrialRecord, workload: &Workload) -> Option<Score> {
    match row.outcome {
        Outcome::Measured => {
            let value = row.metrics.get(deciding_metric(workload)).copied()?;
            (value > 0.0 && value.is_finite()).then_some(Score::Figure(value))
        }
        Outcome::Failed { .. } => Some(Score::Failed),
        Outcome::Invalid { .. } | Outcome::Unsupported { .. } => None,
    }
}

fn one_verdict(
    experiment: &Experiment,
    found: &[(Versus<'_>, Finding)],
    cells: &[CellResult],
) -> Verdicts {
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
    let place = |ranked: &Ranked| ranked.comparison.ratio.map_or(f64::INFINITY, |ratio| ratio.0);
    ranking.sort_by(|a, b| place(a).total_cmp(&place(b)));
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
        ranking,
        pairs: found.iter().map(pair).collect(),
    }
}

const METHOD: &str = "Hodges-Lehmann ratios of log load times paired by block; intervals from the exact \
                      signed-rank distribution, simultaneous over all pairs, links and workloads by \
                      Bonferroni's inequality with the error spent where the exact levels lie";
