//! Gates: conditions on a ratio that a run or a comparison must meet to pass, for example `load_ms<1.05`.
//!
//! In `compare` the ratio is the later run over the earlier, for each cell. In `race` it is one contender over another, as
//! in `new/old load_ms<1.05`; a gate without names applies to every contender over the baseline. Both use the same
//! language and the same rule ([`Gate::judge`]). A gate passes where the whole interval of the ratio is on the right side
//! of the limit. It fails where all of it is on the wrong side. Otherwise it is inconclusive.
//!
//! A gate is judged at several places, for example one per link. Each place's interval has on either side the gates' error
//! divided by the number of places. So the probability that any gate of a run passes wrongly is at most that error, and
//! so is the probability that any fails wrongly.

mod judge;
mod paired;
#[cfg(test)]
mod tests;
mod unpaired;

pub use judge::{GateOutcome, GatePlace, GateResult, RatioEvidence, first_of, outcome_of};
pub use paired::paired;
pub use unpaired::Unpaired;

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The error of all gates of a run together where none is asked for.
pub const GATE_ERROR: f64 = 0.05;

/// A limit on the ratio of a metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Gate {
    /// The contenders as they were given, `new/old`; None where the gate names none.
    contenders: Option<String>,
    /// The metric's name.
    pub metric: String,
    bound: Bound,
    limit: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    Below,
    Above,
}

/// What a run is held to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gates {
    /// Each of them.
    pub gates: Vec<Gate>,
    /// The chance, at most, with which any of them passes wrongly; and with which any fails wrongly.
    pub error: f64,
}

impl Default for Gates {
    fn default() -> Self {
        Self { gates: Vec::new(), error: GATE_ERROR }
    }
}

impl Gates {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.gates.is_empty()
    }

    /// The error of one of so many places, on either side of its interval.
    pub fn error_of_each(&self, places: usize) -> f64 {
        self.error / places.max(1) as f64
    }
}

/// Why a gate could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateError(String);

impl fmt::Display for GateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}; a gate is METRIC<RATIO or METRIC>RATIO, such as load_ms<1.05 or load_ms<+5%, and in a race \
             A/B METRIC<RATIO, such as 'new/old load_ms<1.05'",
            self.0
        )
    }
}

impl std::error::Error for GateError {}

impl Gate {
    /// The ratio that it asks for.
    pub fn limit(&self) -> f64 {
        self.limit
    }

    /// Whether it names two contenders.
    pub fn names_contenders(&self) -> bool {
        self.contenders.is_some()
    }

    /// The two contenders that it names, the one that is judged first; None where it names none. Names may have slashes
    /// themselves.
    pub fn pair<'n>(&self, known: &[&'n str]) -> Result<Option<[&'n str; 2]>, GateError> {
        let Some(text) = &self.contenders else { return Ok(None) };
        let find = |name: &str| known.iter().copied().find(|known| *known == name.trim());
        let splits = text.match_indices('/').map(|(at, _)| (&text[..at], &text[at + 1..]));
        let mut unknown = None;
        for (a, b) in splits {
            match (find(a), find(b)) {
                (Some(a), Some(b)) if a == b => {
                    return Err(GateError(format!("`{self}` sets `{a}` over itself")));
                }
                (Some(a), Some(b)) => return Ok(Some([a, b])),
                (None, _) => unknown = unknown.or(Some(a)),
                (_, None) => unknown = Some(b),
            }
        }
        Err(match unknown {
            None => GateError(format!("`{text}` is not two contenders with a slash between")),
            Some(name) => {
                let near = unit::nearest(name, known.iter().copied());
                let guess =
                    near.map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
                GateError(format!(
                    "`{self}` names the contender `{}`, and there are {}{guess}",
                    name.trim(),
                    known.join(", ")
                ))
            }
        })
    }

    /// The logarithm of the ratio of a trial that failed over one that did not: it counts against the gate.
    pub fn failed_over_measured(&self) -> f64 {
        match self.bound {
            Bound::Below => f64::INFINITY,
            Bound::Above => f64::NEG_INFINITY,
        }
    }
}

impl FromStr for Gate {
    type Err = GateError;

    fn from_str(text: &str) -> Result<Self, GateError> {
        let Some(at) = text.rfind(['<', '>']) else {
            return Err(GateError(format!("`{text}` has neither < nor >")));
        };
        let bound = if text[at..].starts_with('<') { Bound::Below } else { Bound::Above };
        let before = text[..at].trim();
        let (contenders, metric) = match before.rsplit_once(char::is_whitespace) {
            Some((contenders, metric)) => (Some(contenders.trim().to_owned()), metric),
            None => (None, before),
        };
        if metric.is_empty() {
            return Err(GateError(format!("`{text}` names no metric before `{}`", &text[at..=at])));
        }
        if contenders.as_ref().is_some_and(|names| !names.contains('/')) {
            return Err(GateError(format!("`{before}` is not two contenders and a metric")));
        }
        let given = text[at + 1..].trim();
        if given.ends_with('%') && !given.starts_with(['+', '-']) {
            let what = format!(
                "`{given}` may be a share or a difference: write +{given} for so much more, -{given} for so much less"
            );
            return Err(GateError(what));
        }
        if let Some(number) = given.strip_prefix('+').filter(|_| !given.ends_with('%')) {
            return Err(GateError(format!(
                "`{given}` may be a ratio or per cent: write +{number}% for so much more, {number} for the ratio"
            )));
        }
        let limit = limit(given)
            .ok_or_else(|| GateError(format!("`{}` is no ratio above 0", &text[at + 1..])))?;
        Ok(Self { contenders, metric: metric.to_owned(), bound, limit })
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
        let sign = if self.bound == Bound::Below { '<' } else { '>' };
        if let Some(contenders) = &self.contenders {
            write!(f, "{contenders} ")?;
        }
        write!(f, "{}{sign}{}", self.metric, self.limit)
    }
}

impl TryFrom<String> for Gate {
    type Error = GateError;

    fn try_from(text: String) -> Result<Self, GateError> {
        text.parse()
    }
}

impl From<Gate> for String {
    fn from(gate: Gate) -> Self {
        gate.to_string()
    }
}

impl schemars::JsonSchema for Gates {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Gates".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "object",
            "properties": {
                "gates": { "type": "array", "items": { "type": "string" } },
                "error": { "type": "number" }
            }
        })
    }
}
