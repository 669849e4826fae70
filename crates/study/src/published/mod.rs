//! Compares a run with a published measurement: our ratios beside the published ones, and each finding confirmed, not
//! confirmed, or left open. Only ratios are compared, because the machines and networks of that time are gone. The
//! published figures are data in `experiments/published/`. The one rule: nothing here adjusts our figures to them.

mod check;
mod first_paint;
mod first_visit;
mod h2_push;
mod http3_loss;
mod jvm_downloads;
mod jvm_many;
mod lossy;
mod open_question;
mod spdy_images;
#[cfg(test)]
mod tests;
mod twitter_api;
mod twitter_conditions;
mod twitter_desktop;
mod websocket_echo;

pub(crate) use open_question::Difference;
pub use open_question::{Cause, Explains, OpenQuestion};

use crate::comparison::{Comparison, Ratio};
use crate::experiment::{Experiment, Source};
use crate::stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A published measurement beside ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// The published measurement's title.
    pub title: String,
    /// What its source says of the conditions (`work`, `link`, `server`, …), by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub conditions: BTreeMap<String, String>,
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
    /// How many of `unit`: what the ratio is drawn against.
    #[serde(default)]
    pub n: u64,
    /// `images`, `calls`, `messages`, or the `bytes` of a download.
    #[serde(default)]
    pub unit: String,
    /// What else sets the row apart: `keep-alive off`, `parallel on 3G`.
    #[serde(default)]
    pub condition: String,
    /// Our workload; None where it was not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Our link; None where it was not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// What is divided.
    #[serde(default)]
    pub a: PublishedSide,
    /// What it is divided by.
    #[serde(default)]
    pub b: PublishedSide,
    /// Blocks that our ratio rests on: trials of each side.
    #[serde(default)]
    pub trials: u32,
}

/// One side of a published ratio: its absolute times.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PublishedSide {
    /// Our contender.
    pub contender: String,
    /// The published time in milliseconds; None where the source has only the ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_ms: Option<f64>,
    /// Our time in milliseconds, by the metric that decides over the workload; None where no trial was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ours_ms: Option<Summary>,
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
    /// Whether comparisons that it rests on were run and have no figure, because the audit refused their trials or these
    /// failed: another run can tell, on a machine that does nothing else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
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
    /// The comparison by itself, at 95 %; None where a name is not in the run. Without a ratio where no block counts.
    pub(crate) ask: &'a dyn Fn(Question<'_>) -> Option<Comparison>,
    /// The same for the metric of this name.
    pub(crate) ask_of: &'a dyn Fn(&str, Question<'_>) -> Option<Comparison>,
    /// The first contender's figures for the metric of this name, one per measured trial. None where a name is not in the
    /// run.
    pub(crate) figures: &'a dyn Fn(&str, Question<'_>) -> Option<Vec<f64>>,
    /// The first contender's figure for the metric of this name in the warm-up that was profiled; None without one.
    pub(crate) profiled: &'a dyn Fn(&str, Question<'_>) -> Option<f64>,
    /// The first contender's times, by the deciding metric; None where none was measured.
    pub(crate) time: &'a dyn Fn(Question<'_>) -> Option<Summary>,
    /// How much longer the first takes per message than the second, by itself at 95 %. None as above, and for
    /// workloads without messages.
    pub(crate) differ: &'a dyn Fn(Question<'_>) -> Option<Difference>,
}

/// Compares our run with the published one. None for data that cannot be read, which a test rules out.
pub(crate) fn compare(source: Source, ours: &Ours<'_>) -> Option<Published> {
    match source {
        Source::SpdyImages => spdy_images::compare(ours),
        Source::TwitterApi => twitter_api::compare(ours),
        Source::TwitterDesktop => twitter_desktop::compare(ours),
        Source::TwitterConditions => twitter_conditions::compare(ours),
        Source::WebsocketEcho => websocket_echo::compare(ours),
        Source::JvmDownloads => jvm_downloads::compare(ours),
        Source::JvmMany => jvm_many::compare(ours),
        Source::Http3Loss => http3_loss::compare(ours),
        Source::H2Push => h2_push::compare(ours),
        Source::FirstPaint => first_paint::compare(ours),
        Source::Lossy => lossy::compare(ours),
        Source::FirstVisit => first_visit::compare(ours),
    }
}

/// The top-level texts of a published file but its title and the unit of its figures.
fn conditions(toml: &str) -> BTreeMap<String, String> {
    let table: toml::Table = toml.parse().unwrap_or_default();
    let texts =
        table.into_iter().filter_map(|(name, value)| Some((name, value.as_str()?.to_owned())));
    texts.filter(|(name, _)| !["title", "unit"].contains(&name.as_str())).collect()
}

/// A comparison of findings alone: the published file has no figure that a ratio of ours can be set beside. None for a file
/// without a title, which a test rules out.
fn findings_alone(toml: &str, findings: Vec<PublishedFinding>) -> Option<Published> {
    let table: toml::Table = toml.parse().ok()?;
    Some(Published {
        title: table.get("title")?.as_str()?.to_owned(),
        conditions: conditions(toml),
        ratios: Vec::new(),
        findings,
        open_question: None,
    })
}

/// A published row of the table.
struct PublishedRow<'a> {
    what: String,
    condition: String,
    n: u64,
    unit: &'a str,
    reconstructs: bool,
    published: f64,
    /// Of both sides, where they are known.
    published_ms: [Option<f64>; 2],
    /// Ours, for both sides.
    contenders: [&'a str; 2],
}

impl PublishedRow<'_> {
    /// The row with our figures, which answer `question`; None where the workload or link is not in the run.
    fn with_ours(self, question: Option<Question<'_>>, ours: &Ours<'_>) -> PublishedRatio {
        let comparison = question.and_then(|question| (ours.ask)(question));
        self.with(comparison, question, ours)
    }

    /// The row with this comparison of ours.
    fn with(
        self,
        comparison: Option<Comparison>,
        question: Option<Question<'_>>,
        ours: &Ours<'_>,
    ) -> PublishedRatio {
        let value = comparison.as_ref().and_then(|comparison| comparison.ratio);
        let side = |index: usize| PublishedSide {
            contender: self.contenders[index].to_owned(),
            published_ms: self.published_ms[index],
            ours_ms: question.and_then(|question| {
                (ours.time)(Question { a: self.contenders[index], ..question })
            }),
        };
        PublishedRatio {
            a: side(0),
            b: side(1),
            what: self.what,
            reconstructs: self.reconstructs,
            published: self.published,
            ours: value,
            ci95: comparison.as_ref().and_then(|comparison| comparison.ci95),
            error: value
                .map(|value| value.0 / self.published - 1.0)
                .filter(|error| error.is_finite()),
            n: self.n,
            unit: self.unit.to_owned(),
            condition: self.condition,
            workload: question.map(|question| question.workload.to_owned()),
            link: question.map(|question| question.link.to_owned()),
            trials: comparison.map_or(0, |comparison| comparison.n),
        }
    }
}
