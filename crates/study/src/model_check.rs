//! The page model held against a browser: the same experiment, once loaded by wirelap's own client and once by a browser. Both
//! results go in, and how far the model is from the browser comes out: in the times of a page, in the order of contenders, and
//! where it misses, in which phase of the load.

use crate::comparison::Verdict;
use crate::metric;
use crate::plan::CellId;
use crate::result::{CellResult, RunResult, Verdicts};
use crate::stats::median;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The times that are compared.
pub const COMPARED: [&str; 3] = [metric::FCP_MS, metric::LCP_MS, metric::LOAD_MS];

/// The model's error that counts as a miss, as a share of the browser's time.
pub const MISS: f64 = 0.1;

/// How far the page model is from a browser.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "wirelap model check")]
pub struct ModelCheck {
    /// The experiment.
    pub experiment: String,
    /// The browser, as contenders name it.
    pub browser: String,
    /// The error of each time over all cells that have it from both.
    pub errors: Vec<TimeError>,
    /// Whether the model puts contenders in the browser's order.
    pub order: OrderCheck,
    /// Every cell that both measured.
    pub cells: Vec<CellCheck>,
}

/// The error of the model in one time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeError {
    /// The metric.
    pub metric: String,
    /// How many cells.
    pub cells: u32,
    /// The median of the cells' absolute errors, as a share of the browser's time.
    pub median: f64,
    /// The greatest of them.
    pub greatest: f64,
}

/// The pairs of contenders of which the browser says that one is faster.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct OrderCheck {
    /// How many the browser decides.
    pub decided: u32,
    /// How many of them the model decides in the same way. A tie of the model, or a pair that it leaves undecided, is wrong.
    pub right: u32,
    /// Those that it gets wrong.
    pub wrong: Vec<WrongPair>,
}

/// A pair of contenders that the model puts in another order than the browser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WrongPair {
    /// The workload.
    pub workload: String,
    /// The link.
    pub link: String,
    /// The contender that the browser finds faster.
    pub faster: String,
    /// The other one.
    pub slower: String,
    /// What the model says of the first, set over the second.
    pub model: Verdict,
}

/// The medians of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellCheck {
    /// The workload.
    pub workload: String,
    /// The link.
    pub link: String,
    /// The contender.
    pub contender: String,
    /// The times that both have, by metric.
    pub times: BTreeMap<String, Times>,
    /// The phase in which most of a miss arises; absent where no time is a miss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed_in: Option<PhaseMiss>,
}

/// A time of the model and of the browser, both medians in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Times {
    /// The model's.
    pub model_ms: f64,
    /// The browser's.
    pub browser_ms: f64,
}

impl Times {
    /// The model's error, as a share of the browser's time; negative where the model is too early.
    pub fn error(&self) -> f64 {
        (self.model_ms - self.browser_ms) / self.browser_ms
    }
}

/// A part of a load, and how long it took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseMiss {
    /// Which.
    pub phase: LoadPhase,
    /// How long it took.
    #[serde(flatten)]
    pub times: Times,
}

/// The parts of a load, each from the end of the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadPhase {
    /// To the first byte of the document.
    Document,
    /// To the last byte of the last style sheet or script that blocks rendering.
    Blocking,
    /// To the first contentful paint.
    FirstPaint,
    /// To the largest contentful paint.
    LargestPaint,
    /// To the last byte of all.
    Rest,
}

impl LoadPhase {
    const ALL: [Self; 5] =
        [Self::Document, Self::Blocking, Self::FirstPaint, Self::LargestPaint, Self::Rest];

    /// What it is in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Document => "before the first byte of the document",
            Self::Blocking => "while the files that block rendering load",
            Self::FirstPaint => "between those files and the first paint",
            Self::LargestPaint => "between the first paint and the largest",
            Self::Rest => "between the largest paint and the last byte",
        }
    }

    /// When it ended in a cell; None where the cell does not say.
    fn end(self, cell: &CellResult) -> Option<f64> {
        let of = |name: &str| cell.metrics.get(name).map(|summary| summary.median);
        match self {
            Self::Document => of(metric::FIRST_BYTE_MS),
            Self::Blocking => [of(metric::STYLESHEETS_MS), of(metric::SCRIPTS_MS)]
                .into_iter()
                .flatten()
                .reduce(f64::max),
            Self::FirstPaint => of(metric::FCP_MS),
            Self::LargestPaint => of(metric::LCP_MS),
            Self::Rest => of(metric::LOAD_MS),
        }
    }
}

/// The JSON Schema of `model-check.json`, as published in `docs/schema/model-check.schema.json`.
pub fn model_check_schema() -> serde_json::Value {
    schemars::schema_for!(ModelCheck).to_value()
}

/// Holds the model's result against the browser's. Cells are the same by workload, link and contender.
pub fn check_model(model: &RunResult, browser: &RunResult) -> ModelCheck {
    let others: BTreeMap<CellId, &CellResult> =
        browser.cells.iter().map(|cell| (cell.id(), cell)).collect();
    let pairs = model.cells.iter().filter_map(|cell| Some((cell, *others.get(&cell.id())?)));
    let cells: Vec<CellCheck> =
        pairs.filter_map(|(own, other)| CellCheck::of(own, other)).collect();
    let clients = browser.cells.iter().filter_map(|cell| cell.contender.client.as_ref());
    ModelCheck {
        experiment: model.experiment.clone(),
        browser: clients.map(|client| client.name.clone()).next().unwrap_or_default(),
        errors: COMPARED.iter().filter_map(|name| TimeError::of(name, &cells)).collect(),
        order: OrderCheck::of(&model.verdicts, &browser.verdicts),
        cells,
    }
}

impl CellCheck {
    /// None where the two have no time in common.
    fn of(model: &CellResult, browser: &CellResult) -> Option<Self> {
        let time = |name: &&str| {
            let of = |cell: &CellResult| cell.metrics.get(*name).map(|summary| summary.median);
            let times = Times { model_ms: of(model)?, browser_ms: of(browser)? };
            (times.browser_ms > 0.0).then(|| ((*name).to_owned(), times))
        };
        let times: BTreeMap<String, Times> = COMPARED.iter().filter_map(time).collect();
        let is_miss = times.values().any(|times| times.error().abs() > MISS);
        (!times.is_empty()).then(|| Self {
            workload: model.workload.name.clone(),
            link: model.link.name.clone(),
            contender: model.contender.name.clone(),
            missed_in: if is_miss { largest_miss(model, browser) } else { None },
            times,
        })
    }
}

/// The phase whose length differs most.
fn largest_miss(model: &CellResult, browser: &CellResult) -> Option<PhaseMiss> {
    let (mut model_before, mut browser_before) = (0.0, 0.0);
    let mut phases = Vec::new();
    for phase in LoadPhase::ALL {
        let Some((model_end, browser_end)) = phase.end(model).zip(phase.end(browser)) else {
            continue;
        };
        let times =
            Times { model_ms: model_end - model_before, browser_ms: browser_end - browser_before };
        (model_before, browser_before) = (model_end, browser_end);
        phases.push(PhaseMiss { phase, times });
    }
    let gap = |one: &PhaseMiss| (one.times.model_ms - one.times.browser_ms).abs();
    phases.into_iter().max_by(|one, other| gap(one).total_cmp(&gap(other)))
}

impl TimeError {
    fn of(name: &str, cells: &[CellCheck]) -> Option<Self> {
        let errors: Vec<f64> =
            cells.iter().filter_map(|cell| Some(cell.times.get(name)?.error().abs())).collect();
        Some(Self {
            metric: name.to_owned(),
            cells: errors.len() as u32,
            median: median(&errors)?,
            greatest: errors.iter().copied().fold(0.0, f64::max),
        })
    }
}

impl OrderCheck {
    fn of(model: &[Verdicts], browser: &[Verdicts]) -> Self {
        let mut check = Self::default();
        for seen in browser {
            let is_same =
                |own: &&Verdicts| (&own.workload, &own.link) == (&seen.workload, &seen.link);
            let Some(own) = model.iter().find(is_same) else { continue };
            for pair in &seen.pairs {
                let (faster, slower) = match pair.comparison.verdict {
                    Verdict::Faster => (&pair.a, &pair.b),
                    Verdict::Slower => (&pair.b, &pair.a),
                    Verdict::Tie | Verdict::Undecided | Verdict::Unsupported => continue,
                };
                let Some(verdict) = verdict_of(own, faster, slower) else { continue };
                check.decided += 1;
                if verdict == Verdict::Faster {
                    check.right += 1;
                    continue;
                }
                check.wrong.push(WrongPair {
                    workload: seen.workload.clone(),
                    link: seen.link.clone(),
                    faster: faster.clone(),
                    slower: slower.clone(),
                    model: verdict,
                });
            }
        }
        check
    }
}

/// The verdict on `a` set over `b`.
fn verdict_of(verdicts: &Verdicts, a: &str, b: &str) -> Option<Verdict> {
    verdicts.pairs.iter().find_map(|pair| match (pair.a.as_str(), pair.b.as_str()) {
        (one, other) if (one, other) == (a, b) => Some(pair.comparison.verdict),
        (one, other) if (one, other) == (b, a) => Some(pair.comparison.verdict.reversed()),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
