//! Gates: limits on a metric's change that a comparison must keep, such as `load_ms<1.05`. The one rule: a gate is
//! broken only where the whole interval lies beyond its limit. A change that noise could explain, and a tie, break
//! none.

use super::{CellChange, Change};
use crate::comparison::Ratio;
use crate::plan::CellId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A limit on the ratio of a metric, later run over earlier.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// The metric's name.
    pub metric: String,
    side: Bound,
    limit: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    Below,
    Above,
}

/// Why a gate cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateError(String);

impl fmt::Display for GateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}; a gate is METRIC<RATIO or METRIC>RATIO, the ratio being later over earlier: load_ms<1.05 or load_ms<+5%",
            self.0
        )
    }
}

impl std::error::Error for GateError {}

impl FromStr for Gate {
    type Err = GateError;

    fn from_str(text: &str) -> Result<Self, GateError> {
        let Some(at) = text.find(['<', '>']) else {
            return Err(GateError(format!("`{text}` has neither < nor >")));
        };
        let side = if text[at..].starts_with('<') { Bound::Below } else { Bound::Above };
        let metric = text[..at].trim();
        if metric.is_empty() {
            return Err(GateError(format!("`{text}` names no metric before `{}`", &text[at..=at])));
        }
        let limit = limit(text[at + 1..].trim())
            .ok_or_else(|| GateError(format!("`{}` is no ratio above 0", &text[at + 1..])))?;
        Ok(Self { metric: metric.to_owned(), side, limit })
    }
}

/// `1.05`, or `+5%`, or `-5%`.
fn limit(text: &str) -> Option<f64> {
    let ratio = match text.strip_suffix('%') {
        Some(percent) => 1.0 + percent.parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    (ratio > 0.0 && ratio.is_finite()).then_some(ratio)
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.side == Bound::Below { '<' } else { '>' };
        write!(f, "{}{sign}{}", self.metric, self.limit)
    }
}

/// A gate's result for a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateResult {
    /// The gate as it was given.
    pub gate: String,
    /// Which cell.
    #[serde(flatten)]
    pub cell: CellId,
    /// The result.
    pub outcome: GateOutcome,
    /// The ratio that it judged.
    pub ratio: Option<Ratio>,
    /// The ratio's interval.
    pub ci95: Option<[Ratio; 2]>,
}

/// The result of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateOutcome {
    /// The whole interval is on the allowed side, or the change is a tie.
    Holds,
    /// The interval contains the limit: noise could explain the change.
    WithinNoise,
    /// The whole interval is beyond the limit.
    Broken,
    /// One of the runs has no figure for it.
    NotMeasured,
}

impl GateOutcome {
    /// The words in tables.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::WithinNoise => "within noise",
            Self::Broken => "broken",
            Self::NotMeasured => "not measured",
        }
    }
}

impl Gate {
    /// The result for every cell that has the gate's metric.
    pub(super) fn judge(&self, changes: &[CellChange], margin: f64) -> Vec<GateResult> {
        let own = changes.iter().filter(|change| change.metric == self.metric);
        own.map(|change| GateResult {
            gate: self.to_string(),
            cell: change.cell.clone(),
            outcome: self.outcome(change, margin),
            ratio: change.ratio,
            ci95: change.ci95,
        })
        .collect()
    }

    fn outcome(&self, change: &CellChange, margin: f64) -> GateOutcome {
        let (Some([Ratio(low), Ratio(high)]), true) =
            (change.ci95, change.change != Change::NotMeasured)
        else {
            return GateOutcome::NotMeasured;
        };
        let (holds, broken) = match self.side {
            Bound::Below => (high < self.limit, low >= self.limit),
            Bound::Above => (low > self.limit, high <= self.limit),
        };
        match () {
            () if holds || self.is_tie([low, high], margin) => GateOutcome::Holds,
            () if broken => GateOutcome::Broken,
            () => GateOutcome::WithinNoise,
        }
    }

    /// Whether the change counts as none. The range of a tie is no wider than the change that the gate allows. A gate
    /// that asks for an improvement has no ties: it exists to detect that nothing improved.
    fn is_tie(&self, [low, high]: [f64; 2], margin: f64) -> bool {
        let allowed = match self.side {
            Bound::Below => self.limit - 1.0,
            Bound::Above => 1.0 / self.limit - 1.0,
        };
        let edge = 1.0 + margin.min(allowed);
        allowed > 0.0 && low >= 1.0 / edge && high <= edge
    }
}
