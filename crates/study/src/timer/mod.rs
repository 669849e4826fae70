//! What the page timer (`wirelap timer`) measured: its download, checked, and judged as `race` judges. Nothing here
//! trusts the download: it was made in a browser and may come from anybody.

mod judge;
#[cfg(test)]
mod tests;

pub use judge::{TIMER_RESULT_SCHEMA, TimerMetric, TimerRefusal, TimerResult, result_schema};

use crate::blocks::MOST_ATTEMPTS;
use crate::experiment::MARGINS;
use crate::metric;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// The schema that [`TimerRun`] follows.
pub const TIMER_SCHEMA: &str = "wirelap.timer/1";

/// The times that the page timer reads, in the order of its tables. All count from the start of the navigation.
pub const TIMER_METRICS: [&str; 7] = [
    metric::FIRST_BYTE_MS,
    metric::UNLOAD_MS,
    metric::FIRST_PAINT_MS,
    metric::FCP_MS,
    metric::LCP_MS,
    metric::DOM_CONTENT_LOADED_MS,
    metric::LOAD_MS,
];

/// The most blocks of a run.
pub const MOST_RUNS: u32 = 1_000;

/// The download of the page timer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "wirelap timer")]
pub struct TimerRun {
    /// [`TIMER_SCHEMA`].
    pub schema: String,
    /// The version of wirelap that made the page.
    pub version: String,
    /// When the run began, by the browser's clock, RFC 3339 in UTC.
    pub started: String,
    /// Where the timer was opened from.
    pub timer: String,
    /// What the browser says that it is.
    pub user_agent: String,
    /// The two pages.
    pub pages: TimedPages,
    /// How they were timed.
    pub settings: TimerSettings,
    /// Whether the run was ended before its last block.
    pub stopped: bool,
    /// Every attempt that ended, in the order of running.
    pub rows: Vec<TimerRow>,
}

/// The two pages that were timed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimedPages {
    /// The baseline.
    pub a: TimedPage,
    /// The page that is set against it.
    pub b: TimedPage,
}

/// A page that was timed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimedPage {
    /// What it is called in tables.
    pub name: String,
    /// Its URL as it was given.
    pub url: String,
}

/// How the pages were timed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimerSettings {
    /// Blocks: loads of each page that were to count.
    pub runs: u32,
    /// The metric that decides.
    pub metric: String,
    /// A ratio from 1/(1 + margin) to 1 + margin counts as no difference.
    pub margin: f64,
    /// Where the order of loads came from.
    pub seed: u32,
    /// Whether each load had a URL of its own.
    pub cache: TimerCache,
    /// When a load had failed for taking too long, in milliseconds.
    pub timeout_ms: u32,
    /// How long a page was left alone after its load event, in milliseconds.
    pub settle_ms: u32,
    /// The pop-up's width in CSS pixels.
    pub width: u32,
    /// The pop-up's height in CSS pixels.
    pub height: u32,
}

/// What the browser's cache could answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimerCache {
    /// Nothing: each load had a URL of its own, and a load that the cache took part in is invalid.
    Cold,
    /// Whatever the browser kept of the loads before.
    Warm,
}

/// A page of the two.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TimerSide {
    /// The baseline.
    A,
    /// The page that is set against it.
    B,
}

/// One load of one page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimerRow {
    /// The block's number, from 0: each block loads both pages.
    pub block: u32,
    /// How many attempts at this block were invalid before.
    pub attempt: u32,
    /// The position within the block, from 0.
    pub order: u32,
    /// Which page.
    pub page: TimerSide,
    /// The URL that was opened.
    pub url: String,
    /// How it ended.
    pub outcome: TimerOutcome,
    /// Times by metric, in milliseconds; those are absent that the browser does not tell.
    pub metrics: BTreeMap<String, f64>,
    /// How the first paint was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_paint: Option<FirstPaintSource>,
    /// The protocol of the document, by its ALPN name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Resources that the page had loaded, the document included.
    #[serde(default)]
    pub resources: u32,
    /// Those of them that the browser's cache answered, or only asked about.
    #[serde(default)]
    pub cached: u32,
}

/// How the first paint was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FirstPaintSource {
    /// The browser told it (Paint Timing).
    PaintTiming,
    /// The document's body was seen to have a height, in steps of about 4 ms.
    BodyHeight,
}

/// How a load ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TimerOutcome {
    /// Its times count.
    Measured,
    /// Its times cannot be trusted.
    Invalid {
        /// Why.
        reason: String,
    },
    /// The page did not load. It ranks as the slowest.
    Failed {
        /// What went wrong.
        reason: String,
    },
}

impl TimerOutcome {
    /// Why the times do not count; None for a measured load.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Measured => None,
            Self::Invalid { reason } | Self::Failed { reason } => Some(reason),
        }
    }

    /// The word in tables and files.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Invalid { .. } => "invalid",
            Self::Failed { .. } => "failed",
        }
    }
}

impl TimedPages {
    /// One of the two.
    pub fn of(&self, side: TimerSide) -> &TimedPage {
        match side {
            TimerSide::A => &self.a,
            TimerSide::B => &self.b,
        }
    }
}

/// Why a file is no download of the page timer.
#[derive(Debug, Error)]
pub enum TimerError {
    /// Not JSON, or not of this shape.
    #[error("this is no download of the page timer: {0}")]
    Shape(#[from] serde_json::Error),
    /// Of another version.
    #[error("its schema is `{0}`, and this wirelap reads {TIMER_SCHEMA}")]
    Schema(String),
    /// A value that no timer writes.
    #[error("{0}")]
    Value(String),
}

impl TimerRun {
    /// Reads a download and checks it.
    pub fn read(text: &str) -> Result<Self, TimerError> {
        #[derive(Deserialize)]
        struct Head {
            schema: String,
        }
        let Head { schema } = serde_json::from_str(text)?;
        if schema != TIMER_SCHEMA {
            return Err(TimerError::Schema(schema));
        }
        let run: Self = serde_json::from_str(text)?;
        run.check().map_err(TimerError::Value)?;
        Ok(run)
    }

    fn check(&self) -> Result<(), String> {
        let TimerSettings { runs, metric, margin, .. } = &self.settings;
        if !(1..=MOST_RUNS).contains(runs) {
            return Err(format!("runs: {runs} is not from 1 to {MOST_RUNS}"));
        }
        if !TIMER_METRICS.contains(&metric.as_str()) {
            return Err(format!("metric: `{metric}` is none of {}", TIMER_METRICS.join(", ")));
        }
        if !MARGINS.contains(margin) {
            return Err(format!("margin: {margin} is not from 0.001 to 1"));
        }
        if self.pages.a.name == self.pages.b.name {
            return Err(format!("both pages are called `{}`", self.pages.a.name));
        }
        let mut seen = BTreeSet::new();
        self.rows.iter().enumerate().try_for_each(|(number, row)| {
            let name = format!("row {}", number + 1);
            row.check(*runs).map_err(|what| format!("{name}: {what}"))?;
            match seen.insert((row.block, row.attempt, row.page)) {
                true => Ok(()),
                false => Err(format!("{name}: this load is there twice")),
            }
        })
    }
}

impl TimerRow {
    fn check(&self, runs: u32) -> Result<(), String> {
        if self.block >= runs || self.attempt >= MOST_ATTEMPTS {
            let (block, attempt) = (self.block, self.attempt);
            return Err(format!("there is no block {block}, attempt {attempt}"));
        }
        for (name, value) in &self.metrics {
            if !TIMER_METRICS.contains(&name.as_str()) {
                return Err(format!("`{name}` is no metric of the timer"));
            }
            if !value.is_finite() || *value < 0.0 {
                return Err(format!("{name}: {value} is no time"));
            }
        }
        Ok(())
    }
}

/// The JSON Schema of a download, as published in `docs/schema/timer.schema.json`.
pub fn timer_schema() -> serde_json::Value {
    schemars::schema_for!(TimerRun).to_value()
}
