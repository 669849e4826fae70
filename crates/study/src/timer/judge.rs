//! The verdict on the two pages, by the rule that `race` has: each block is a pair, an invalid load takes its block's
//! attempt with it, and B is set against A. A test holds it to [`analyse`](crate::analyse) on the same rows.

use super::{
    TIMER_METRICS, TimedPages, TimerOutcome, TimerRow, TimerRun, TimerSettings, TimerSide,
};
use crate::blocks::Audited;
use crate::comparison::Comparison;
use crate::stats::{CONFIDENCE, Detectable, Summary, spend, weighted_holm};
use crate::verdict::{Paired, Rule, Score, Stage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unit::Seed;

/// The schema that [`TimerResult`] follows.
pub const TIMER_RESULT_SCHEMA: &str = "wirelap.timer-result/1";

/// What a run of the page timer found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "wirelap timer result")]
pub struct TimerResult {
    /// [`TIMER_RESULT_SCHEMA`].
    pub schema: String,
    /// When the run began, RFC 3339 in UTC.
    pub started: String,
    /// What the browser says that it is.
    pub user_agent: String,
    /// The two pages.
    pub pages: TimedPages,
    /// How they were timed.
    pub settings: TimerSettings,
    /// Whether the run was ended before its last block.
    pub stopped: bool,
    /// Attempts at loads of A, and those that were invalid.
    pub audited_a: Audited,
    /// Attempts at loads of B, and those that were invalid.
    pub audited_b: Audited,
    /// The verdict: B over A by the metric that decides.
    pub verdict: Comparison,
    /// Every metric, in the order in which they happen. Those that do not decide are compared by themselves, at 95 %.
    pub metrics: Vec<TimerMetric>,
    /// The protocols that documents came over, with how many loads of each.
    pub protocols: BTreeMap<String, u32>,
    /// Every load that does not count, with the reason.
    pub refused: Vec<TimerRefusal>,
}

/// One metric of both pages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimerMetric {
    /// Its name.
    pub metric: String,
    /// A's times; None without any.
    pub a: Option<Summary>,
    /// B's times.
    pub b: Option<Summary>,
    /// B over A.
    pub comparison: Comparison,
}

/// A load that does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimerRefusal {
    /// Its block.
    pub block: u32,
    /// Its attempt.
    pub attempt: u32,
    /// Which page.
    pub page: TimerSide,
    /// `invalid` or `failed`.
    pub outcome: String,
    /// Why.
    pub reason: String,
}

impl TimerRun {
    /// The rows that count: of each block the first attempt without an invalid load, else the one with the most valid
    /// loads, the earlier of two alike.
    pub fn counted(&self) -> Vec<&TimerRow> {
        let mut blocks: BTreeMap<u32, BTreeMap<u32, Vec<&TimerRow>>> = BTreeMap::new();
        for row in &self.rows {
            blocks.entry(row.block).or_default().entry(row.attempt).or_default().push(row);
        }
        blocks.into_values().filter_map(counting).flatten().collect()
    }

    /// Judges the rows.
    pub fn judge(&self) -> TimerResult {
        let counted = self.counted();
        let [audited_a, audited_b] = [TimerSide::A, TimerSide::B].map(|side| self.audited(side));
        let mut detectable = Detectable::default();
        let metrics: Vec<TimerMetric> = TIMER_METRICS
            .iter()
            .map(|metric| self.metric(metric, &counted, &mut detectable))
            .filter(|one| one.a.is_some() || one.b.is_some() || one.metric == self.settings.metric)
            .collect();
        let decides = |one: &&TimerMetric| one.metric == self.settings.metric;
        let verdict = metrics.iter().find(decides).map(|one| one.comparison.clone());
        let mut protocols = BTreeMap::new();
        for protocol in counted.iter().filter_map(|row| row.protocol.clone()) {
            *protocols.entry(protocol).or_default() += 1;
        }
        TimerResult {
            schema: TIMER_RESULT_SCHEMA.to_owned(),
            started: self.started.clone(),
            user_agent: self.user_agent.clone(),
            pages: self.pages.clone(),
            settings: self.settings.clone(),
            stopped: self.stopped,
            audited_a,
            audited_b,
            verdict: verdict.unwrap_or_else(Comparison::of_nothing),
            metrics,
            protocols,
            refused: self.rows.iter().filter_map(refusal).collect(),
        }
    }

    fn audited(&self, side: TimerSide) -> Audited {
        let own = || self.rows.iter().filter(|row| row.page == side);
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Audited { trials: count(own().count()), invalid: count(own().filter(is_invalid).count()) }
    }

    fn metric(&self, metric: &str, rows: &[&TimerRow], detectable: &mut Detectable) -> TimerMetric {
        let decides = metric == self.settings.metric;
        let summary = |side: TimerSide| {
            let own = rows.iter().filter(|row| row.page == side);
            let values: Vec<f64> = own.filter_map(|row| figure(row, metric)).collect();
            let refused = self.audited(side).refusal().is_some();
            let seed = Seed(u64::from(self.settings.seed)).child("bootstrap").child(metric);
            Summary::of(&values, seed).filter(|_| !refused)
        };
        let by_block = |side: TimerSide| -> BTreeMap<u32, Option<Score>> {
            let own = rows.iter().filter(|row| row.page == side);
            own.map(|row| (row.block, score(row, metric, decides))).collect()
        };
        let (a, b) = (by_block(TimerSide::A), by_block(TimerSide::B));
        let both = || b.iter().filter_map(|(block, b)| Some((*b, *a.get(block)?)));
        let invalid = both().filter(|(b, a)| b.is_none() || a.is_none()).count();
        let paired = Paired::of(both().filter_map(|(b, a)| b.zip(a))).with_invalid(invalid);
        TimerMetric {
            metric: metric.to_owned(),
            a: summary(TimerSide::A),
            b: summary(TimerSide::B),
            comparison: self.compared(paired, detectable),
        }
    }

    /// One comparison is a family of its own.
    fn compared(&self, paired: Paired, detectable: &mut Detectable) -> Comparison {
        let rule = Rule { margin: self.settings.margin, comparisons: 1 };
        let level = spend(&[paired.blocks()], 1.0 - CONFIDENCE)[0];
        let stages = [Stage::only(paired, level)];
        let finding = rule.judge(&stages, detectable);
        let [a, b] = [TimerSide::A, TimerSide::B].map(|side| self.audited(side));
        let named = |side: TimerSide| self.pages.of(side).name.as_str();
        let refused = [(TimerSide::B, b), (TimerSide::A, a)]
            .into_iter()
            .find_map(|(side, audited)| Some(format!("{}: {}", named(side), audited.refusal()?)));
        let told = |side: TimerSide, Audited { trials, invalid }: Audited| {
            format!("{invalid} of {trials} attempts of {}", named(side))
        };
        let finding = match refused {
            Some(reason) => finding.refused(reason),
            None if b.is_unlike(a) => finding.withheld(format!(
                "the audit refused {} and {}: one of the two disturbs what is measured",
                told(TimerSide::B, b),
                told(TimerSide::A, a)
            )),
            None => finding,
        };
        let p = finding.p_differs();
        let mut finding = match weighted_holm(&[p], &[level.error])[..] {
            [step] => rule.stepped(finding, &stages, step),
            _ => finding,
        };
        finding.adjust_for_run(p);
        finding.comparison()
    }
}

fn counting(attempts: BTreeMap<u32, Vec<&TimerRow>>) -> Option<Vec<&TimerRow>> {
    let whole = attempts.values().map(Vec::len).max()?;
    let passed = |rows: &[&TimerRow]| rows.iter().filter(|row| !is_invalid(row)).count();
    let mut best: Option<Vec<&TimerRow>> = None;
    for rows in attempts.into_values() {
        if passed(&rows) == whole {
            return Some(rows);
        }
        if best.as_ref().is_none_or(|best| passed(best) < passed(&rows)) {
            best = Some(rows);
        }
    }
    best
}

fn is_invalid(row: &&TimerRow) -> bool {
    matches!(row.outcome, TimerOutcome::Invalid { .. })
}

fn figure(row: &TimerRow, metric: &str) -> Option<f64> {
    match row.outcome {
        TimerOutcome::Measured => row.metrics.get(metric).copied(),
        TimerOutcome::Invalid { .. } | TimerOutcome::Failed { .. } => None,
    }
}

/// A failure counts in the metric that decides alone: the others tell when something happened, where it did.
fn score(row: &TimerRow, metric: &str, decides: bool) -> Option<Score> {
    match row.outcome {
        TimerOutcome::Failed { .. } if decides => Some(Score::Failed),
        _ => figure(row, metric).filter(|value| *value > 0.0).map(Score::Figure),
    }
}

fn refusal(row: &TimerRow) -> Option<TimerRefusal> {
    Some(TimerRefusal {
        block: row.block,
        attempt: row.attempt,
        page: row.page,
        outcome: row.outcome.word().to_owned(),
        reason: row.outcome.reason()?.to_owned(),
    })
}

/// The JSON Schema of a result, as published in `docs/schema/timer-result.schema.json`.
pub fn result_schema() -> serde_json::Value {
    schemars::schema_for!(TimerResult).to_value()
}
