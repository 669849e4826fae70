//! Blocks and their attempts. A block with an invalid trial runs again as a whole, because its trials
//! are compared with each other and have to run under the same conditions. Every attempt's rows are kept; one
//! attempt of each block counts.

#[cfg(test)]
mod tests;

use crate::audit::{Audit, is_about_time};
use crate::outcome::Outcome;
use crate::plan::{CellId, TrialPlan};
use crate::record::TrialRecord;
use crate::stats::fisher;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Attempts at a block at most. A machine that makes three in a row invalid will not make a valid one.
pub const MOST_ATTEMPTS: u32 = 3;

/// How many blocks of a workload on a link may be repeated in all, of `blocks`. Where half of them are invalid,
/// repeats would be invalid too, and the cell reports that instead.
pub fn most_anew(blocks: u32) -> u32 {
    blocks.div_ceil(2).max(2)
}

/// Identifies a block. Warm-up blocks have numbers of their own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId {
    /// The workload's name.
    pub workload: String,
    /// The link's name.
    pub link: String,
    /// Its number.
    pub block: u32,
    /// Whether it only warms up.
    pub warmup: bool,
}

impl BlockId {
    /// The block of a trial.
    pub fn of(plan: &TrialPlan) -> Self {
        Self {
            workload: plan.cell.workload.name.clone(),
            link: plan.cell.link.name.clone(),
            block: plan.block,
            warmup: plan.warmup,
        }
    }

    /// The names of its workload and link.
    pub fn workload_and_link(&self) -> (&str, &str) {
        (&self.workload, &self.link)
    }
}

/// The rows that count. Of each block, that is the first attempt that is complete and that the audit let pass; without
/// one, the attempt with the most trials that it let pass. Of two rows with one key the later counts. The order is
/// that of keys; warm-ups are left out.
pub fn counted(records: &[TrialRecord]) -> Vec<&TrialRecord> {
    let latest = latest(records);
    let mut blocks: BTreeMap<BlockId, BTreeMap<u32, Vec<&TrialRecord>>> = BTreeMap::new();
    for record in latest.into_values().filter(|record| !record.plan.warmup) {
        let attempts = blocks.entry(BlockId::of(&record.plan)).or_default();
        attempts.entry(record.plan.attempt).or_default().push(record);
    }
    let mut rows: Vec<_> = blocks.into_values().filter_map(counting_attempt).flatten().collect();
    rows.sort_by(|a, b| a.plan.key.cmp(&b.plan.key));
    rows
}

/// The rows without those of trials that were added after the run had been judged.
pub fn planned(records: &[TrialRecord]) -> Cow<'_, [TrialRecord]> {
    match records.iter().any(|record| record.plan.added) {
        false => Cow::Borrowed(records),
        true => records.iter().filter(|record| !record.plan.added).cloned().collect(),
    }
}

/// How many trials of each cell the audit judged, and how many it refused, over all attempts: the rate among the
/// attempts that count would hide those that had to be repeated. Warm-ups are left out.
pub fn audited(records: &[TrialRecord]) -> BTreeMap<CellId, Audited> {
    refused(records, is_invalid)
}

/// The same for counts: what the audit refused for its times alone is not refused.
pub fn audited_counts(records: &[TrialRecord]) -> BTreeMap<CellId, Audited> {
    refused(
        records,
        |record| matches!(&record.outcome, Outcome::Invalid { reason } if !is_about_time(reason)),
    )
}

fn refused(
    records: &[TrialRecord],
    is_refused: impl Fn(&TrialRecord) -> bool,
) -> BTreeMap<CellId, Audited> {
    let mut cells: BTreeMap<CellId, Audited> = BTreeMap::new();
    for record in latest(records).into_values().filter(|record| !record.plan.warmup) {
        let judged = !matches!(record.outcome, Outcome::Unsupported { .. });
        let cell = cells.entry(record.plan.cell.id()).or_default();
        cell.trials += u32::from(judged);
        cell.invalid += u32::from(is_refused(record));
    }
    cells
}

/// The audit of each trial that was judged, by cell.
pub fn audits(records: &[TrialRecord]) -> BTreeMap<CellId, Vec<&Audit>> {
    let mut cells: BTreeMap<CellId, Vec<&Audit>> = BTreeMap::new();
    for record in latest(records).into_values().filter(|record| !record.plan.warmup) {
        cells.entry(record.plan.cell.id()).or_default().push(&record.audit);
    }
    cells
}

/// How many attempts at a cell's trials the audit judged and refused. A block with a refused trial runs again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Audited {
    /// Attempts that it judged.
    pub trials: u32,
    /// Attempts that it refused.
    pub invalid: u32,
}

impl Audited {
    /// Why a cell has no figures: where half of its trials are invalid, the valid ones are a selection whose bias is
    /// unknown.
    pub fn refusal(self) -> Option<String> {
        let Self { trials, invalid } = self;
        (2 * invalid >= trials && invalid >= FEWEST_REFUSED).then(|| {
            format!("the audit refused {invalid} of {trials} attempts: too many for a figure")
        })
    }

    /// Whether trials of one were refused so much more often than of the other that it is no accident (Fisher's exact
    /// test): one of the two disturbs what is measured.
    pub fn is_unlike(self, other: Self) -> bool {
        fisher(self.invalid, self.trials, other.invalid, other.trials) < UNEQUAL
    }
}

/// Fewer say nothing of a cell.
const FEWEST_REFUSED: u32 = 3;
/// Rates of invalid trials that differ so surely are taken for no accident.
const UNEQUAL: f64 = 0.05;

/// What of `plan` is still to run, given the rows: trials without a row, trials that the machine could not run, and
/// the next attempt at every block with a refused trial. Repeats come last.
pub fn outstanding(plan: &[TrialPlan], records: &[TrialRecord]) -> Vec<TrialPlan> {
    let latest = latest(records);
    let mut blocks: BTreeMap<BlockId, Vec<&TrialPlan>> = BTreeMap::new();
    plan.iter().for_each(|trial| blocks.entry(BlockId::of(trial)).or_default().push(trial));
    let mut anew = Vec::new();
    let mut spent = attempts_anew(records);
    let mut planned: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for block in blocks.keys().filter(|block| !block.warmup) {
        *planned.entry(block.workload_and_link()).or_default() += 1;
    }
    let mut missing: BTreeSet<&str> = BTreeSet::new();
    for (block, trials) in &blocks {
        let mut attempt: Vec<TrialPlan> = trials.iter().map(|&trial| trial.clone()).collect();
        loop {
            let left: Vec<&TrialPlan> =
                attempt.iter().filter(|trial| !is_done(latest.get(trial.key.as_str()))).collect();
            let has_invalid = attempt.iter().any(|trial| {
                latest.get(trial.key.as_str()).is_some_and(|record| is_invalid(record))
            });
            if left.is_empty() && has_invalid && runs_again(&attempt[0]) {
                let next: Vec<TrialPlan> = attempt.iter().map(TrialPlan::again).collect();
                let begun = next.iter().any(|trial| latest.contains_key(trial.key.as_str()));
                let spent = spent.entry(owned_names(block)).or_default();
                let most = most_anew(planned.get(&block.workload_and_link()).copied().unwrap_or(0));
                if begun || *spent < most {
                    *spent += u32::from(!begun);
                    attempt = next;
                    continue;
                }
            }
            match attempt[0].attempt {
                0 => missing.extend(
                    trials
                        .iter()
                        .filter(|trial| left.iter().any(|other| other.key == trial.key))
                        .map(|trial| trial.key.as_str()),
                ),
                _ => anew.extend(left.into_iter().cloned()),
            }
            break;
        }
    }
    let first = plan.iter().filter(|trial| missing.contains(trial.key.as_str())).cloned();
    first.chain(anew).collect()
}

/// How many blocks were repeated, by workload and link.
pub fn attempts_anew(records: &[TrialRecord]) -> BTreeMap<(String, String), u32> {
    let begun: BTreeSet<(BlockId, u32)> = records
        .iter()
        .filter(|record| record.plan.attempt > 0)
        .map(|record| (BlockId::of(&record.plan), record.plan.attempt))
        .collect();
    let mut counts = BTreeMap::new();
    for (block, _) in &begun {
        *counts.entry(owned_names(block)).or_default() += 1;
    }
    counts
}

fn owned_names(block: &BlockId) -> (String, String) {
    (block.workload.clone(), block.link.clone())
}

/// Whether the block of `trial` is repeated when the trial is invalid. Warm-ups are not: they do not count.
pub fn runs_again(trial: &TrialPlan) -> bool {
    !trial.warmup && trial.attempt + 1 < MOST_ATTEMPTS
}

fn is_done(record: Option<&&TrialRecord>) -> bool {
    record.is_some_and(|record| !matches!(record.outcome, Outcome::Unsupported { .. }))
}

fn is_invalid(record: &TrialRecord) -> bool {
    matches!(record.outcome, Outcome::Invalid { .. })
}

fn latest(records: &[TrialRecord]) -> BTreeMap<&str, &TrialRecord> {
    records.iter().map(|record| (record.plan.key.as_str(), record)).collect()
}

fn counting_attempt(attempts: BTreeMap<u32, Vec<&TrialRecord>>) -> Option<Vec<&TrialRecord>> {
    let whole = attempts.values().map(Vec::len).max()?;
    let passed = |rows: &[&TrialRecord]| rows.iter().filter(|row| !is_invalid(row)).count();
    let mut best: Option<Vec<&TrialRecord>> = None;
    for rows in attempts.into_values() {
        if passed(&rows) == whole {
            return Some(rows);
        }
        // Of two equal attempts the earlier counts: the choice must not depend on figures.
        if best.as_ref().is_none_or(|best| passed(best) < passed(&rows)) {
            best = Some(rows);
        }
    }
    best
}
