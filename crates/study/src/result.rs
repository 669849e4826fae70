//! The result of a run: what `result.json` holds, computed from rows alone by [`crate::analyse`]. The
//! report is a pure function of this and of the rows that it names. `docs/result.md` explains each field.

use crate::audit::AuditSummary;
use crate::blocks::Audited;
use crate::comparison::{Comparison, Ratio};
use crate::experiment::{Contender, Workload};
use crate::family::FamilyKind;
use crate::gate::GateResult;
use crate::metric;
use crate::plan::CellId;
use crate::published::Published;
use crate::reconcile::{GradedClaim, Parts};
use crate::record::HostFacts;
use crate::stats::{Modes, Percentiles, Summary};
use crate::timeline::Timeline;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema that [`RunResult`] follows.
pub const RESULT_SCHEMA: &str = "wirelap.result/1";

/// What a run found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "wirelap result")]
pub struct RunResult {
    /// [`RESULT_SCHEMA`].
    pub schema: String,
    /// wirelap's version.
    pub version: String,
    /// The experiment's name.
    pub experiment: String,
    /// One line over the table of results.
    pub title: String,
    /// What was asked, in words.
    pub question: String,
    /// What the run says nothing about.
    pub not_covered: Vec<String>,
    /// Where all random choices came from.
    pub seed: u64,
    /// When the run began, RFC 3339 in UTC.
    pub started: String,
    /// What it ran on.
    pub host: HostFacts,
    /// The machines that it was merged from; none of a run on one machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<MachineResult>,
    /// The command that ran it.
    pub command_line: Vec<String>,
    /// The contender that the others are set against.
    pub baseline: String,
    /// A ratio from 1/(1 + margin) to 1 + margin counts as no difference.
    pub margin: f64,
    /// What a reader must know before any figure: the instrument was beyond its limits, or the audit refused trials. One
    /// sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What the rows show beside the figures: signals of a client that never reached the order in which its server sends. One
    /// sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// How the intervals of the verdicts were made.
    pub family: Family,
    /// All trials but warm-ups.
    pub trials: TrialCounts,
    /// Every cell, in the order of workloads, links and contenders.
    pub cells: Vec<CellResult>,
    /// One for each workload and link.
    pub verdicts: Vec<Verdicts>,
    /// An A/A experiment's result: how often one contender was found to differ from itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same: Option<SameAgainstSame>,
    /// The comparison with the published measurement that the run repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
    /// What the gates say, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateResult>,
    /// Present where trials were added after the run had been judged: the intervals no longer hold with their confidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exploratory: Option<Exploratory>,
    /// Every trial that does not count, with the reason.
    pub failures: Vec<Failure>,
}

/// A machine that ran some of the shards of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineResult {
    /// Its host name; where several have one name, a number behind it.
    pub name: String,
    /// The shards that it ran, or a part of, by their numbers from 1.
    pub shards: Vec<u32>,
    /// How many shards the run had.
    pub of: u32,
    /// Attempts at trials that ran on it, but warm-ups.
    pub attempts: u32,
    /// Of those, attempts that the audit refused.
    pub refused: u32,
    /// Its facts; the calibration is that before the first of its shards.
    pub host: HostFacts,
}

/// The families of comparisons whose intervals hold together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Family {
    /// The probability that all intervals of a family hold together.
    pub confidence: f64,
    /// How many comparisons in all families: all pairs of contenders over all links and workloads.
    pub comparisons: u32,
    /// How many families: two for each workload and link, where there are three contenders or more.
    #[serde(default)]
    pub families: u32,
    /// The method, in words.
    pub method: String,
    /// The greatest error that a family spends: at most 1 - `confidence`.
    pub error_spent: f64,
}

/// One family: comparisons of a workload on a link whose intervals hold together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TableFamily {
    /// The kind of the family.
    pub kind: FamilyKind,
    /// How many.
    pub comparisons: u32,
    /// The sum of their attained errors before Holm's steps: at most 1 - the family's confidence.
    pub error_spent: f64,
}

/// How trials ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TrialCounts {
    /// Their figures count.
    pub measured: u32,
    /// The audit did not trust their figures.
    pub invalid: u32,
    /// The contender did not do the work.
    pub failed: u32,
    /// This machine could not run them.
    pub unsupported: u32,
}

impl TrialCounts {
    /// All of them.
    pub fn all(&self) -> u32 {
        self.measured + self.invalid + self.failed + self.unsupported
    }
}

/// One cell's figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellResult {
    /// The workload.
    pub workload: Workload,
    /// The contender.
    pub contender: Contender,
    /// The link.
    pub link: LinkResult,
    /// How its trials ended: of each block, the attempt that counts.
    pub trials: TrialCounts,
    /// Planned trials that did not run: the run was interrupted, or its first blocks showed that the others would be
    /// refused or fail, too. Of a run that ends as soon as it is decided, none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_run: u32,
    /// How many trials the audit judged and refused, over all attempts.
    #[serde(default)]
    pub audited: Audited,
    /// The audit's figures over all attempts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audit: Vec<AuditSummary>,
    /// Why there are no figures although there are trials; absent where there are figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Figures of the measured trials by metric; absent where no trial was measured.
    pub metrics: BTreeMap<String, Summary>,
    /// Percentiles of the time of single exchanges over all measured trials; None without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<Percentiles>,
    /// The two groups that the trials' deciding figures fall into; absent where there is one group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modes: Option<Modes>,
    /// The weakest confirmation of each of a foreign client's claims over all measured trials; empty for wirelap's own
    /// client.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<GradedClaim>,
    /// The measured trial whose load time is nearest the median; None where no trial was measured.
    pub median_trial: Option<MedianTrial>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl CellResult {
    /// The names that identify the cell.
    pub fn id(&self) -> CellId {
        CellId {
            workload: self.workload.name.clone(),
            link: self.link.name.clone(),
            contender: self.contender.name.clone(),
        }
    }

    /// Whether a browser loaded the page: the times of its paints are the browser's own, and not the page model's.
    pub fn is_of_browser(&self) -> bool {
        self.contender.client.is_some() && self.metrics.contains_key(metric::FCP_MS)
    }
}

/// A link, as the experiment named it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkResult {
    /// Its name.
    pub name: String,
    /// Its own figures, where the experiment gave them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<String>,
}

/// The trial that represents a cell in pictures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MedianTrial {
    /// The key of its row.
    pub key: String,
    /// Its load time.
    pub load_ms: f64,
    /// Request rounds on its critical path; absent for another's client, of whose path nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// Connections that it opened.
    pub connections: u32,
    /// How its load time splits into parts.
    pub parts: Option<Parts>,
    /// What the link did over time; absent over loopback, and where the packet log has gaps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
}

/// The verdicts on one workload over one link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdicts {
    /// The workload's name.
    pub workload: String,
    /// The link's name.
    pub link: String,
    /// The metric that is compared; less is better.
    pub metric: String,
    /// The contender that the others are set against.
    pub baseline: String,
    /// The families of these comparisons.
    #[serde(default)]
    pub families: Vec<TableFamily>,
    /// All contenders but the baseline, fastest first.
    pub ranking: Vec<Ranked>,
    /// All pairs of contenders, the baseline included, in the order of the contenders.
    pub pairs: Vec<Pair>,
    /// Further metrics, each contender against the baseline: what is counted, and when a page's files were there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricComparison>,
}

/// A metric beside the deciding one, a contender against the baseline; by itself, at 95 %.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricComparison {
    /// The contender's name.
    pub contender: String,
    /// The metric: counts are judged also from trials whose times the audit refused.
    pub metric: String,
    /// The contender's figures.
    pub own: MetricFigures,
    /// The baseline's.
    pub baseline: MetricFigures,
    /// The Hodges-Lehmann ratio, contender over baseline; absent where a figure is zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Ratio>,
    /// Its 95 % interval; absent where there are too few blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[Ratio; 2]>,
    /// What follows.
    pub verdict: MetricVerdict,
}

/// A metric over the trials of a cell that speak for it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricFigures {
    /// How many trials.
    pub n: u32,
    /// Their median.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub most: f64,
}

/// What a comparison of a further metric found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MetricVerdict {
    /// Less than the baseline.
    Less,
    /// More than the baseline.
    More,
    /// The same, or within the margin.
    Same,
    /// Neither can be said.
    Undecided,
}

/// A contender against the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ranked {
    /// Its name.
    pub contender: String,
    /// The comparison, contender over baseline.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// The baseline's median less the contender's, in seconds; None where either has none.
    pub saved_s: Option<f64>,
}

/// Two contenders against each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// The first contender.
    pub a: String,
    /// The second contender.
    pub b: String,
    /// The comparison, a over b.
    #[serde(flatten)]
    pub comparison: Comparison,
}

/// The result of comparing a contender with itself. Every difference found is a false one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SameAgainstSame {
    /// Blocks in each comparison.
    pub blocks: u32,
    /// How many comparisons there are, each by itself at 95 %.
    pub comparisons: u32,
    /// Comparisons whose interval does not contain 1.
    pub differ: u32,
    /// Comparisons whose verdict is `faster` or `slower`. Fewer than `differ`: the margin makes ties of small
    /// differences.
    pub false_verdicts: u32,
    /// Comparisons whose verdict is `tie`.
    pub ties: u32,
    /// `differ` as a share of `comparisons`.
    pub share: f64,
    /// Its exact 95 % interval.
    pub ci95: [f64; 2],
    /// The share to expect: the error of an interval of so many blocks.
    pub expected: f64,
    /// The greatest `differ` that a true share of 5 % gives in 39 runs of 40. More suggests a fault of the instrument.
    pub most: u32,
    /// By workload and link.
    pub places: Vec<SamePlace>,
}

/// The same counts for one workload on one link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SamePlace {
    /// The workload's name.
    pub workload: String,
    /// The link's name.
    pub link: String,
    /// Comparisons.
    pub comparisons: u32,
    /// Comparisons whose interval does not contain 1.
    pub differ: u32,
    /// Comparisons whose verdict is `faster` or `slower`.
    pub false_verdicts: u32,
    /// The median, over the comparisons, of the least ratio that would be detected in four runs of five.
    pub detectable: Option<Ratio>,
}

/// Trials that were added after the run had been judged. Whoever adds trials until a result pleases finds a difference in
/// more than 5 % of the runs where there is none: what comes of them is for exploring, and a new run confirms it. Gates are
/// judged without them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exploratory {
    /// How many of them count, over all cells.
    pub added: u32,
    /// How many each cell was planned with.
    pub planned: u32,
}

/// A trial that does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The key of its row.
    pub key: String,
    /// `invalid`, `failed` or `unsupported`.
    pub outcome: String,
    /// The reason.
    pub reason: String,
    /// What would fix it, where something would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// The JSON Schema of `result.json`, as published in `docs/schema/result.schema.json`.
pub fn result_schema() -> serde_json::Value {
    schemars::schema_for!(RunResult).to_value()
}
