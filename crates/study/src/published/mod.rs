//! Compares a run with a published measurement: our ratios beside the published ones, and each finding confirmed, not
//! confirmed, or left open. Only ratios are compared, because the machines and networks of that time are gone. The
//! published figures are data in `experiments/published/`. The one rule: nothing here adjusts our figures to them.

mod check;
mod jvm_downloads;
mod open_question;
mod spdy_images;
#[cfg(test)]
mod tests;
mod twitter_api;
mod websocket_echo;

pub(crate) use open_question::Difference;
pub use open_question::{Cause, Explains, OpenQuestion};

use crate::comparison::{Comparison, Ratio};
use crate::experiment::{Experiment, Source};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A published measurement beside ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// The published measurement's title.
    pub title: String,
    /// Its ratios and ours.
    pub ratios: Vec<PublishedRatio>,
    /// Its findings.
    pub findings: Vec<PublishedFinding>,
    /// The question that it left open, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_question: Option<OpenQuestion>,
}

/// A published ratio and ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedRatio {
    /// What is compared with what, and where.
    pub what: String,
    /// Whether this row was used to reconstruct the link. A small error then means nothing.
    pub reconstructs: bool,
    /// The published ratio.
    pub published: f64,
    /// Our ratio; None where it was not run, or where no trial ended.
    pub ours: Option<Ratio>,
    /// The 95 % interval of our ratio, of this comparison alone.
    pub ci95: Option<[Ratio; 2]>,
    /// Our ratio over the published one, less one.
    pub error: Option<f64>,
}

/// A published finding, and whether our run confirms it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedFinding {
    /// The finding, in its author's sense.
    pub finding: String,
    /// Whether our run confirms it.
    pub verdict: Agreement,
    /// The figures that decide, and where ours differ, why.
    pub reason: String,
    /// Whether comparisons that it rests on were not run: the full run can tell.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_run: bool,
}

/// Whether our run confirms a published finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// Every interval that it depends on agrees.
    Confirmed,
    /// An interval disagrees.
    NotConfirmed,
    /// The intervals are too wide, or it was not run.
    CannotTell,
}

impl Agreement {
    /// The words in tables.
    pub fn words(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::NotConfirmed => "not confirmed",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// One comparison to ask for: workload, link, and the two contenders, by name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question<'a> {
    pub(crate) workload: &'a str,
    pub(crate) link: &'a str,
    pub(crate) a: &'a str,
    pub(crate) b: &'a str,
}

/// The comparisons of our run, computed on request.
pub(crate) struct Ours<'a> {
    pub(crate) experiment: &'a Experiment,
    /// The comparison by itself, at 95 %; None where a name is not in the run or no block counts.
    pub(crate) ask: &'a dyn Fn(Question<'_>) -> Option<Comparison>,
    /// The same for the metric of this name.
    pub(crate) ask_of: &'a dyn Fn(&str, Question<'_>) -> Option<Comparison>,
    /// The first contender's figures for the metric of this name, one per measured trial.
    pub(crate) figures: &'a dyn Fn(&str, Question<'_>) -> Vec<f64>,
    /// How much longer the first takes per message than the second, by itself at 95 %. None as above, and for
    /// workloads without messages.
    pub(crate) differ: &'a dyn Fn(Question<'_>) -> Option<Difference>,
}

/// Compares our run with the published one. None for data that cannot be read, which a test rules out.
pub(crate) fn compare(source: Source, ours: &Ours<'_>) -> Option<Published> {
    match source {
        Source::SpdyImages => spdy_images::compare(ours),
        Source::TwitterApi => twitter_api::compare(ours),
        Source::WebsocketEcho => websocket_echo::compare(ours),
        Source::JvmDownloads => jvm_downloads::compare(ours),
    }
}

/// A row of the table.
fn ratio(
    what: String,
    reconstructs: bool,
    published: f64,
    ours: Option<&Comparison>,
) -> PublishedRatio {
    let value = ours.and_then(|comparison| comparison.ratio);
    PublishedRatio {
        what,
        reconstructs,
        published,
        ours: value,
        ci95: ours.and_then(|comparison| comparison.ci95),
        error: value.map(|value| value.0 / published - 1.0).filter(|error| error.is_finite()),
    }
}
