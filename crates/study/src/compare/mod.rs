//! Compares two runs cell by cell: what changed, by how much, and whether a gate is broken.
//!
//! Two runs met the machine in different moods, so their trials are two samples without blocks, even where they
//! had the same seeds: the shift of the logarithms is Hodges and Lehmann's, its interval the exact one of the
//! Mann-Whitney statistic. All intervals of a comparison hold together, by Bonferroni's inequality. What `race` refused
//! stays refused: a cell whose trials the audit mostly refused has no figure here either, and where it refused one run's
//! trials more often than the other's nothing follows from the figures. As in `race`, counts stand where the audit refused
//! times alone.

mod gates;
#[cfg(test)]
mod tests;

use crate::analyse::{deciding_metric, warnings_of};
use crate::blocks::{Audited, audited, audited_counts, counted, planned};
use crate::comparison::Ratio;
use crate::experiment::Contender;
use crate::gate::{GateOutcome, GateResult, Gates, Unpaired, outcome_of};
use crate::metric;
use crate::outcome::Outcome;
use crate::plan::{Cell, CellId};
use crate::record::{RunHeader, TrialRecord};
use crate::stats::{CONFIDENCE, Interval, median};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The schema that [`RunComparison`] follows.
pub const COMPARISON_SCHEMA: &str = "wirelap.comparison/2";

/// A run as read from its folder.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its header.
    pub header: &'a RunHeader,
    /// Its rows.
    pub rows: &'a [TrialRecord],
}

/// What changed from one run to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "wirelap comparison")]
pub struct RunComparison {
    /// [`COMPARISON_SCHEMA`].
    pub schema: String,
    /// The earlier run: the reference.
    pub a: String,
    /// The later run.
    pub b: String,
    /// A ratio from 1/(1 + margin) to 1 + margin counts as no change.
    pub margin: f64,
    /// The probability that all intervals hold together.
    pub confidence: f64,
    /// What a reader must know of either run before any figure, its name first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What else differs between the runs, a sentence each.
    pub differences: Vec<String>,
    /// Every cell and metric that both runs have, in the order of the later run.
    pub changes: Vec<CellChange>,
    /// Cells that only one run has.
    pub unmatched: Vec<Unmatched>,
    /// The gates' results, in the order given.
    pub gates: Vec<GateResult>,
}

impl RunComparison {
    /// What the gates come to together.
    pub fn outcome(&self) -> GateOutcome {
        outcome_of(&self.gates)
    }
}

/// One metric of one cell in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellChange {
    /// Which cell.
    #[serde(flatten)]
    pub cell: CellId,
    /// The metric.
    pub metric: String,
    /// The earlier run's trials.
    pub a: Side,
    /// The later run's trials.
    pub b: Side,
    /// Later over earlier; None where a run has no figure.
    pub ratio: Option<Ratio>,
    /// The ratio's interval. All intervals of the comparison hold together.
    pub ci95: Option<[Ratio; 2]>,
    /// The verdict.
    pub change: Change,
    /// Why nothing follows, where the figures cannot be vouched for; else how many trials failed, where some did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A cell's trials in one run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// Trials with a figure and failed trials, which rank as the largest.
    pub n: u32,
    /// How many of them failed.
    pub failed: u32,
    /// The median figure of the measured ones; None where there are none.
    pub median: Option<f64>,
}

/// The verdict on a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The interval lies within the margin.
    Tie,
    /// The interval lies below 1.
    Lower,
    /// The interval lies above 1.
    Higher,
    /// The interval allows more than one verdict.
    Undecided,
    /// All or most trials of a run failed: nothing is higher or lower than that.
    Failed,
    /// A run has no figure.
    NotMeasured,
}

impl Change {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tie => "tie",
            Self::Lower => "lower",
            Self::Higher => "higher",
            Self::Undecided => "undecided",
            Self::Failed => "failed",
            Self::NotMeasured => "not measured",
        }
    }
}

/// A cell that only one run has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unmatched {
    /// Which cell.
    #[serde(flatten)]
    pub cell: CellId,
    /// The run that has it.
    pub only_in: String,
}

/// What to compare besides each workload's deciding metric.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Wanted {
    /// What must hold.
    pub gates: Gates,
    /// Further metrics.
    pub metrics: Vec<String>,
    /// The margin within which a change counts as none; None takes the later run's.
    pub margin: Option<f64>,
}

/// Compares `b`, the later run, with `a`. Trials that were added to a finished run are left out.
pub fn compare(a: Run<'_>, b: Run<'_>, wanted: &Wanted) -> RunComparison {
    let [rows_a, rows_b] = [a, b].map(|run| planned(run.rows));
    let (cells_a, cells_b) = (cells(a.name, &rows_a), cells(b.name, &rows_b));
    let margin = wanted.margin.unwrap_or(b.header.experiment.margin);
    let both: Vec<(&Trials<'_>, &Trials<'_>)> = order(b.header)
        .iter()
        .filter_map(|id| Some((cells_a.get(id)?, cells_b.get(id)?)))
        .collect();
    let asked: Vec<(&Trials<'_>, &Trials<'_>, String)> = both
        .iter()
        .flat_map(|(a, b)| {
            let metrics = b.metrics(wanted).into_iter();
            metrics.filter(|metric| a.has(metric) || b.has(metric)).map(|metric| (*a, *b, metric))
        })
        .collect();
    let error = (1.0 - CONFIDENCE) / asked.len().max(1) as f64;
    let mut judge = Judge { margin, error, unpaired: Unpaired::default() };
    let changes: Vec<CellChange> =
        asked.iter().map(|(a, b, metric)| judge.change(a, b, metric)).collect();
    RunComparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        a: a.name.to_owned(),
        b: b.name.to_owned(),
        margin,
        confidence: CONFIDENCE,
        warnings: [a, b].into_iter().flat_map(warnings).collect(),
        differences: differences(a, b, &both),
        gates: gates::judge(
            &wanted.gates,
            &both,
            &alone(&cells_a, &cells_b),
            &alone(&cells_b, &cells_a),
        ),
        changes,
        unmatched: unmatched(a.name, &cells_a, b.name, &cells_b),
    }
}

/// The metrics that trials which count name.
pub fn metrics(rows: &[TrialRecord]) -> BTreeSet<String> {
    let rows = planned(rows);
    counted(&rows).into_iter().flat_map(|row| row.metrics.keys().cloned()).collect()
}

/// Whether a trial that counts has a figure of it: one that is left out because it is 0, too.
pub fn has_metric(rows: &[TrialRecord], name: &str) -> bool {
    counted(&planned(rows)).into_iter().any(|row| metric::figure(&row.metrics, name).is_some())
}

/// A cell of a run: the rows that count, and what the audit made of all of them.
struct Trials<'r> {
    run: &'r str,
    rows: Vec<&'r TrialRecord>,
    audited: Audited,
    /// The same for counts.
    audited_counts: Audited,
}

impl Trials<'_> {
    fn cell(&self) -> &Cell {
        &self.rows[0].plan.cell
    }

    fn metrics(&self, wanted: &Wanted) -> BTreeSet<String> {
        let own = deciding_metric(&self.cell().workload).to_owned();
        let gated = wanted.gates.gates.iter().map(|gate| gate.metric.clone());
        std::iter::once(own).chain(gated).chain(wanted.metrics.iter().cloned()).collect()
    }

    fn has(&self, metric: &str) -> bool {
        self.rows.iter().any(|row| metric::figure(&row.metrics, metric).is_some())
    }

    fn all_failed(&self) -> bool {
        self.rows.iter().all(|row| matches!(row.outcome, Outcome::Failed { .. }))
    }

    /// What the audit made of the attempts, as far as it bears on `metric`.
    fn audited(&self, metric: &str) -> Audited {
        if metric::is_count(metric) { self.audited_counts } else { self.audited }
    }

    /// Why there is no figure of it.
    fn refusal(&self, metric: &str) -> Option<String> {
        self.audited(metric).refusal().map(|reason| format!("{}: {reason}", self.run))
    }

    /// The logarithms of the figures, a failed trial's being `failed`; zero has none, and an interval that spans it
    /// is everything.
    fn logs(&self, metric: &str, failed: f64) -> Vec<f64> {
        let log = |row: &&TrialRecord| match row.outcome {
            Outcome::Failed { .. } => Some(failed),
            _ => figure(row, metric).map(|value| value.max(0.0).ln()),
        };
        self.rows.iter().filter_map(log).collect()
    }

    fn side(&self, metric: &str) -> Side {
        let figures: Vec<f64> = self.rows.iter().filter_map(|row| figure(row, metric)).collect();
        let failed = self.rows.iter().filter(|row| matches!(row.outcome, Outcome::Failed { .. }));
        let (n, failed) = (figures.len(), failed.count());
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let median = median(&figures).filter(|_| self.refusal(metric).is_none());
        Side { n: count(n + failed), failed: count(failed), median }
    }
}

/// The figure of a trial; None where it has none that stands.
fn figure(row: &TrialRecord, metric: &str) -> Option<f64> {
    metric::figure(&row.metrics, metric).filter(|_| metric::stands(metric, &row.outcome))
}

/// How many trials of a cell failed in two runs, and why the first one did; None where none did.
fn failures(a: &Trials<'_>, b: &Trials<'_>) -> Option<String> {
    let told: Vec<String> = [a, b].into_iter().filter_map(gates::failures).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// Why nothing follows from the figures of a cell in both runs, although there are some.
fn withheld(a: &Trials<'_>, b: &Trials<'_>, metric: &str) -> Option<String> {
    let told = |one: &Trials<'_>| {
        let Audited { trials, invalid } = one.audited(metric);
        format!("{invalid} of {trials} attempts of {}", one.run)
    };
    a.audited(metric)
        .is_unlike(b.audited(metric))
        .then(|| format!("the audit refused {} and {}: the runs were not alike", told(a), told(b)))
}

/// The rows that count, by cell.
fn cells<'r>(run: &'r str, rows: &'r [TrialRecord]) -> BTreeMap<CellId, Trials<'r>> {
    let mut cells: BTreeMap<CellId, Trials<'_>> = BTreeMap::new();
    let (audited, audited_counts) = (audited(rows), audited_counts(rows));
    for row in counted(rows) {
        let id = row.plan.cell.id();
        let of = |cells: &BTreeMap<CellId, Audited>| cells.get(&id).copied().unwrap_or_default();
        let (audited, audited_counts) = (of(&audited), of(&audited_counts));
        let trials = || Trials { run, rows: Vec::new(), audited, audited_counts };
        cells.entry(id).or_insert_with(trials).rows.push(row);
    }
    cells
}

/// The cells of a run that another one does not have.
fn alone<'c, 'r>(
    own: &'c BTreeMap<CellId, Trials<'r>>,
    other: &BTreeMap<CellId, Trials<'_>>,
) -> Vec<&'c Trials<'r>> {
    own.iter().filter(|(id, _)| !other.contains_key(*id)).map(|(_, trials)| trials).collect()
}

/// All cells of an experiment, in the order of its tables.
fn order(header: &RunHeader) -> Vec<CellId> {
    let experiment = &header.experiment;
    let mut ids = Vec::new();
    for workload in &experiment.workloads {
        for link in &experiment.links {
            ids.extend(experiment.contenders.iter().map(|contender| CellId {
                workload: workload.name.clone(),
                link: link.name.clone(),
                contender: contender.name.clone(),
            }));
        }
    }
    ids
}

/// Compares the cells of two runs.
struct Judge {
    /// A ratio from 1/(1 + margin) to 1 + margin counts as no difference.
    margin: f64,
    /// The error of an interval.
    error: f64,
    unpaired: Unpaired,
}

impl Judge {
    fn change(&mut self, a: &Trials<'_>, b: &Trials<'_>, metric: &str) -> CellChange {
        let refused = a.refusal(metric).or_else(|| b.refusal(metric));
        let logs = [a, b].map(|trials| trials.logs(metric, f64::INFINITY));
        let failed = if refused.is_none() { failures(a, b) } else { None };
        let is_judged = refused.is_none() && ![a, b].into_iter().any(Trials::all_failed);
        let shift = match is_judged {
            true => self.unpaired.shift(&logs[0], &logs[1], self.error),
            false => None,
        };
        // So many failed that the ratio is one to a failure: that is no figure, and neither lower nor higher.
        let shift = shift.filter(|shift| failed.is_none() || shift.estimate.is_finite());
        let withheld = withheld(a, b, metric);
        let change = match (shift, &withheld) {
            (None, _) if failed.is_some() => Change::Failed,
            (None, _) => Change::NotMeasured,
            (Some(_), Some(_)) => Change::Undecided,
            (Some(shift), None) => verdict(shift.interval, self.margin),
        };
        CellChange {
            cell: b.cell().id(),
            metric: metric.to_owned(),
            a: a.side(metric),
            b: b.side(metric),
            ratio: shift.map(|shift| Ratio::from_log(shift.estimate)),
            ci95: shift.map(|shift| Ratio::from_log_interval(shift.interval)),
            change,
            reason: match change {
                Change::Failed => failed,
                _ => refused
                    .or(withheld)
                    .or(failed)
                    .or_else(|| gates::unsupported(a).or_else(|| gates::unsupported(b))),
            },
        }
    }
}

fn verdict(interval: Interval, margin: f64) -> Change {
    let edge = margin.ln_1p();
    match interval {
        Interval { low, high } if low >= -edge && high <= edge => Change::Tie,
        Interval { high, .. } if high < 0.0 => Change::Lower,
        Interval { low, .. } if low > 0.0 => Change::Higher,
        _ => Change::Undecided,
    }
}

/// The warnings of a run, each with its name.
fn warnings(run: Run<'_>) -> Vec<String> {
    let told = warnings_of(run.header, run.rows);
    told.into_iter().map(|warning| format!("{}: {warning}", run.name)).collect()
}

fn differences(a: Run<'_>, b: Run<'_>, cells: &[(&Trials<'_>, &Trials<'_>)]) -> Vec<String> {
    let (old, new) = (a.header, b.header);
    let facts = |run: &RunHeader| {
        let experiment = &run.experiment;
        let timeout = format!("{:?}", experiment.timeout);
        [
            ("wirelap", run.version.clone()),
            ("seed", experiment.seed.to_string()),
            ("the limit of a trial's time", timeout),
        ]
    };
    let named = facts(old).into_iter().zip(facts(new)).filter(|(old, new)| old != new);
    let named = named.map(|((name, old), (_, new))| (name.to_owned(), old, new));
    let differ = named.chain(old.host.differences(&new.host));
    let mut sentences: Vec<String> =
        differ.map(|(what, old, new)| format!("{what}: {old} before, {new} after")).collect();
    let mut changed: BTreeSet<String> = BTreeSet::new();
    for (a, b) in cells {
        let (old, new) = (a.cell(), b.cell());
        if old.contender != new.contender {
            changed.insert(other_settings(&old.contender, &new.contender));
        }
        if old.workload != new.workload {
            changed.insert(format!("workload {} is another", new.workload.name));
        }
        if old.link.figures != new.link.figures {
            changed.insert(format!("link {} has other figures", new.link.name));
        }
    }
    sentences.extend(changed);
    for run in [a, b].iter().filter(|run| run.rows.iter().any(|row| row.plan.added)) {
        sentences
            .push(format!("{}: trials that were added to the finished run are left out", run.name));
    }
    sentences
}

/// In what a contender is not what it was: the fields of its row, and those of its settings, with both values.
fn other_settings(old: &Contender, new: &Contender) -> String {
    let fields = |contender: &Contender| match serde_json::to_value(contender) {
        Ok(Value::Object(mut fields)) => {
            if let Some(Value::Object(settings)) = fields.remove("settings") {
                fields.extend(settings);
            }
            fields
        }
        _ => Map::new(),
    };
    let (old, new_fields) = (fields(old), fields(new));
    let names: BTreeSet<&String> = old.keys().chain(new_fields.keys()).collect();
    // A field that is as it usually is may be left out.
    let told = |value: Option<&Value>| value.map_or("unset".to_owned(), Value::to_string);
    let differ = names.into_iter().filter_map(|name| {
        let (before, after) = (old.get(name), new_fields.get(name));
        let both = || format!("{name} {} before, {} after", told(before), told(after));
        (before != after).then(both)
    });
    let differ: Vec<String> = differ.collect();
    format!("contender {} has other settings: {}", new.name, differ.join("; "))
}

fn unmatched(
    name_a: &str,
    a: &BTreeMap<CellId, Trials<'_>>,
    name_b: &str,
    b: &BTreeMap<CellId, Trials<'_>>,
) -> Vec<Unmatched> {
    let only = |own: &BTreeMap<CellId, Trials<'_>>,
                other: &BTreeMap<CellId, Trials<'_>>,
                name: &str|
     -> Vec<Unmatched> {
        own.keys()
            .filter(|id| !other.contains_key(*id))
            .map(|id| Unmatched { cell: id.clone(), only_in: name.to_owned() })
            .collect()
    };
    [only(a, b, name_a), only(b, a, name_b)].concat()
}

/// The JSON Schema of a comparison, as published in `docs/schema/comparison.schema.json`.
pub fn comparison_schema() -> serde_json::Value {
    schemars::schema_for!(RunComparison).to_value()
}
