//! Compares a run with a published measurement: our ratios beside the published ones, and each finding confirmed, not
//! confirmed, or left open. Only ratios are compared, because machines and networks of the day are gone. The published figures are data in `experiments/published/`; the one rule is that nothing here
//! changes ours towards them.

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
    /// What was published.
    pub title: String,
    /// Its ratios and ours.
    pub ratios: Vec<PublishedRatio>,
    /// Its findings.
    pub findings: Vec<PublishedFinding>,
    /// The question that it left open; None where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_question: Option<OpenQuestion>,
}

/// A published ratio and ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedRatio {
    /// Of what to what, and when.
    pub what: String,
    /// Whether its row served to reconstruct the link: then that ours is near says nothing.
    pub reconstructs: bool,
    /// Theirs.
    pub published: f64,
    /// Ours; None where it was not run, or where no trial came to its end.
    pub ours: Option<Ratio>,
    /// The 95 % interval of ours, of this comparison alone.
    pub ci95: Option<[Ratio; 2]>,
    /// Ours over theirs, less one.
    pub error: Option<f64>,
}

/// A published finding, and what ours says of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedFinding {
    /// In its author's sense.
    pub finding: String,
    /// What ours says.
    pub verdict: Agreement,
    /// The figures that it rests on, and where it differs, why.
    pub reason: String,
    /// Whether comparisons that it rests on were not run: the full run can tell.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_run: bool,
}

/// Whether a published finding shows again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// Every interval that it rests on says so.
    Confirmed,
    /// An interval says otherwise.
    NotConfirmed,
    /// The intervals do not tell, or it was not run.
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

/// Our run, as far as comparisons can be asked of it.
pub(crate) struct Ours<'a> {
    pub(crate) experiment: &'a Experiment,
    /// The comparison by itself, at 95 %; None where a name is not in the run or no block speaks.
    pub(crate) ask: &'a dyn Fn(Question<'_>) -> Option<Comparison>,
    /// The same of the metric of this name.
    pub(crate) ask_of: &'a dyn Fn(&str, Question<'_>) -> Option<Comparison>,
    /// The first contender's figures of the metric of this name, one a measured trial.
    pub(crate) figures: &'a dyn Fn(&str, Question<'_>) -> Vec<f64>,
    /// What the first takes longer than the second, a message, at 95 % by itself; None likewise, and for what is not made
    /// of messages.
    pub(crate) differ: &'a dyn Fn(Question<'_>) -> Option<Difference>,
}

/// Sets our run beside the published one. None for data that cannot be read, which a test rules out.
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
