//! Computes the result from the rows. Pure: the same rows give the same result on any machine.

mod compare;
mod families;
#[cfg(test)]
mod family_tests;
#[cfg(test)]
mod gate_tests;
mod gates;
mod machines;
#[cfg(test)]
mod metric_tests;
mod metrics;
mod not_covered;
mod same;
mod signals;
#[cfg(test)]
mod tests;
mod warnings;

pub use compare::{is_settled, planned_looks};
pub use gates::check_gates;

use crate::audit::{self, Audit, AuditSummary};
use crate::blocks::{self, Audited};
use crate::calendar::rfc3339;
use crate::experiment::{
    Contender, Experiment, LinkChoice, Pattern, Stopping, Workload, WorkloadKind,
};
use crate::metric;
use crate::outcome::Outcome;
use crate::plan::{self, CellId};
use crate::reconcile::echo::is_opening;
use crate::reconcile::weakest;
use crate::record::{RunHeader, TrialRecord};
use crate::result::{
    CellResult, Exploratory, Failure, LinkResult, MedianTrial, RESULT_SCHEMA, RunResult,
    TrialCounts,
};
use crate::stats::{Percentiles, Summary, median, modes};
use std::collections::{BTreeMap, BTreeSet};
use trace::{FetchOutcome, FetchRecord};
use unit::Seed;

/// The result of a run. Of two rows with one key the later counts; of a block's attempts one counts; warm-ups do not.
pub fn analyse(header: &RunHeader, records: &[TrialRecord]) -> RunResult {
    let experiment = &header.experiment;
    let rows = Rows::of(records);
    let cells = cells(header, &rows);
    let (family, verdicts) = compare::verdicts(experiment, &rows, &cells);
    let published = compare::published(experiment, &rows, &cells);
    RunResult {
        schema: RESULT_SCHEMA.to_owned(),
        version: header.version.clone(),
        experiment: experiment.name.clone(),
        title: experiment.title.clone(),
        question: experiment.question.clone(),
        not_covered: not_covered::not_covered(experiment, &cells, records),
        seed: experiment.seed,
        started: rfc3339(header.started_unix_ms),
        host: header.host.clone(),
        machines: machines::machines(header, records),
        command_line: header.command_line.clone(),
        baseline: experiment.baseline.clone(),
        margin: experiment.margin,
        warnings: {
            let raced = cells.iter().filter(|cell| cell.workload.check_of.is_none());
            let raced = raced.map(|cell| (cell.link.name.as_str(), cell.audited));
            warnings::warnings(header, raced)
        },
        notes: signals::notes(&cells, &rows),
        family,
        trials: count(rows.cells.values().flatten().copied()),
        cells,
        verdicts,
        same: same::same(experiment, &rows),
        published,
        gates: gates::judge(experiment, &Rows::of(&blocks::planned(records))),
        exploratory: exploratory(experiment, &rows),
        failures: rows.cells.values().flatten().filter_map(|record| failure(record)).collect(),
    }
}

/// What a reader must know of a run before any figure, a sentence each.
pub(crate) fn warnings_of(header: &RunHeader, records: &[TrialRecord]) -> Vec<String> {
    let checks = header.experiment.workloads.iter().filter(|one| one.check_of.is_some());
    let checks: BTreeSet<&str> = checks.map(|one| one.name.as_str()).collect();
    let cells = blocks::audited(records);
    let raced = cells.iter().filter(|(id, _)| !checks.contains(id.workload.as_str()));
    warnings::warnings(header, raced.map(|(id, audited)| (id.link.as_str(), *audited)))
}

/// Whether trials were added after the run had been judged.
fn exploratory(experiment: &Experiment, rows: &Rows<'_>) -> Option<Exploratory> {
    let is_added = |row: &&&TrialRecord| row.plan.added;
    let added = rows.cells.values().flatten().filter(is_added).count();
    let links = || experiment.links.iter().filter(|link| link.added > 0);
    (links().next().is_some()).then(|| Exploratory {
        added: u32::try_from(added).unwrap_or(u32::MAX),
        planned: links().map(LinkChoice::planned).max().unwrap_or(0),
    })
}

/// The metric that decides a workload; less is better.
pub fn deciding_metric(workload: &Workload) -> &'static str {
    match &workload.kind {
        WorkloadKind::Page(page) => metric::of_page(page.metric),
        WorkloadKind::Har(_) => metric::LOAD_MS,
        WorkloadKind::Calls(calls) => match calls.pattern {
            // A client that calls one by one waits for each call; one that calls all at once waits for the last.
            Pattern::Serial | Pattern::Staggered { .. } | Pattern::Mixed { .. } => metric::MEAN_MS,
            Pattern::Parallel => metric::TOTAL_MS,
        },
        WorkloadKind::Download(_) => metric::WALL_MS,
        // Opening the connection counts: the first message has to wait for it too.
        WorkloadKind::Echo(_) => metric::TOTAL_MS,
        // The server's pace decides when a stream ends. What the way of delivery decides first is when it begins.
        WorkloadKind::Stream(_) => metric::FIRST_TOKEN_MS,
    }
}

/// The rows that count, by cell.
struct Rows<'r> {
    cells: BTreeMap<CellId, Vec<&'r TrialRecord>>,
    audited: BTreeMap<CellId, Audited>,
    /// The same for counts.
    audited_counts: BTreeMap<CellId, Audited>,
    audits: BTreeMap<CellId, Vec<&'r Audit>>,
    /// Warm-ups whose clients were profiled.
    profiled: BTreeMap<CellId, &'r TrialRecord>,
}

impl<'r> Rows<'r> {
    fn of(records: &'r [TrialRecord]) -> Self {
        let mut cells: BTreeMap<CellId, Vec<&TrialRecord>> = BTreeMap::new();
        for record in blocks::counted(records) {
            cells.entry(record.plan.cell.id()).or_default().push(record);
        }
        cells.values_mut().for_each(|rows| rows.sort_by_key(|record| record.plan.block));
        let is_profiled =
            |one: &&TrialRecord| one.plan.warmup && one.metrics.contains_key(metric::SYSTEM_CALLS);
        let profiled = records.iter().filter(is_profiled).map(|one| (one.plan.cell.id(), one));
        Self {
            cells,
            audited: blocks::audited(records),
            audited_counts: blocks::audited_counts(records),
            audits: blocks::audits(records),
            profiled: profiled.collect(),
        }
    }

    fn cell(
        &self,
        workload: &Workload,
        link: &LinkChoice,
        contender: &Contender,
    ) -> &[&'r TrialRecord] {
        self.cells.get(&cell_id(workload, link, contender)).map_or(&[], Vec::as_slice)
    }

    fn audited(&self, workload: &Workload, link: &LinkChoice, contender: &Contender) -> Audited {
        self.audited.get(&cell_id(workload, link, contender)).copied().unwrap_or_default()
    }

    fn audit(
        &self,
        workload: &Workload,
        link: &LinkChoice,
        contender: &Contender,
    ) -> Vec<AuditSummary> {
        let audits = self.audits.get(&cell_id(workload, link, contender));
        audit::summary(audits.into_iter().flatten().copied())
    }
}

fn cell_id(workload: &Workload, link: &LinkChoice, contender: &Contender) -> CellId {
    CellId {
        workload: workload.name.clone(),
        link: link.name.clone(),
        contender: contender.name.clone(),
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

fn cells(header: &RunHeader, rows: &Rows<'_>) -> Vec<CellResult> {
    let experiment = &header.experiment;
    let mut cells = Vec::new();
    let mut dips = BTreeMap::new();
    for workload in &experiment.workloads {
        for link in &experiment.links {
            for contender in &experiment.contenders {
                let audited = rows.audited(workload, link, contender);
                let audit = rows.audit(workload, link, contender);
                let rows = rows.cell(workload, link, contender);
                let refused = audited.refusal();
                let vouched =
                    |row: &&TrialRecord| refused.is_none() && row.outcome == Outcome::Measured;
                let measured: Vec<&TrialRecord> = rows.iter().copied().filter(vouched).collect();
                let seed = Seed(experiment.seed);
                let metric = deciding_metric(workload);
                let figures: Vec<f64> =
                    measured.iter().filter_map(|row| row.metrics.get(metric)).copied().collect();
                let trials = count(rows.iter().copied());
                cells.push(CellResult {
                    workload: workload.clone(),
                    // As it ran: beside HTTP/3, TCP is paced.
                    contender: contender.among(&experiment.contenders),
                    link: LinkResult { name: link.name.clone(), figures: link.figures.clone() },
                    trials,
                    not_run: planned(header, workload, link).saturating_sub(trials.all()),
                    audited,
                    audit,
                    metrics: summaries(&measured, seed),
                    samples: samples(&measured, seed),
                    evidence: weakest(measured.iter().flat_map(|row| &row.evidence)),
                    modes: modes(&figures, &mut dips),
                    median_trial: median_trial(&measured, metric),
                    refused,
                });
            }
        }
    }
    cells
}

/// How many trials each cell of `workload` on `link` surely has in this run: a shard has a part of them, and a run that ends
/// as soon as it is decided may have any number.
fn planned(header: &RunHeader, workload: &Workload, link: &LinkChoice) -> u32 {
    let is_fixed = header.shard.is_none() && header.experiment.stopping == Stopping::Fixed;
    if is_fixed { plan::blocks(workload, link).1 } else { 0 }
}

/// The percentiles of the times of single exchanges over all trials. The opening of a WebSocket is none of its messages, and
/// what a browser took from its cache was exchanged with nobody.
fn samples(measured: &[&TrialRecord], seed: Seed) -> Option<Percentiles> {
    let time = |fetch: &FetchRecord| match fetch.outcome {
        FetchOutcome::Done => {
            let last = fetch.phases.last_byte?;
            Some(last.since(fetch.phases.queued).as_secs_f64() * 1e3)
        }
        FetchOutcome::Failed(_) => None,
    };
    let times = |row: &&TrialRecord| {
        let has_messages =
            matches!(row.plan.cell.workload.kind, WorkloadKind::Echo(_) | WorkloadKind::Stream(_));
        let is_none = |fetch: &FetchRecord| fetch.cached || has_messages && is_opening(fetch);
        row.fetches.iter().filter(|fetch| !is_none(fetch)).filter_map(time).collect()
    };
    let trials: Vec<Vec<f64>> = measured.iter().map(times).collect();
    Percentiles::of(&trials, seed.child("percentiles"))
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
    let whole = |name: &str| row.metrics.get(name).map(|value| *value as u32);
    Some(MedianTrial {
        key: row.plan.key.clone(),
        load_ms,
        rounds: whole(metric::ROUNDS),
        connections: whole(metric::CONNECTIONS).unwrap_or(0),
        parts: row.parts,
        timeline: row.timeline.clone(),
    })
}
