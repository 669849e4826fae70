//! Service level objectives (latency percentiles and error rate), parsed from one line.

use std::fmt;
use std::str::FromStr;
use unit::{format_duration, parse_duration};

/// Conditions that hold together: `p99<50ms`, or `p99<50ms,p99.9<200ms,errors<1%`.
#[derive(Debug, Clone, PartialEq)]
pub struct Slo {
    conditions: Vec<Condition>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Condition {
    pub(super) measure: Measure,
    /// Nanoseconds, or a share.
    pub(super) below: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Measure {
    /// A share of the times, such as 0.99.
    Quantile(f64),
    Mean,
    Max,
    /// The share of requests that failed or were refused.
    Errors,
}

/// Errors that an objective bears which says nothing of them: one in a thousand.
const ERRORS: f64 = 0.001;

impl Slo {
    pub(super) fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// How many requests are needed before "all of them were too slow" cannot be chance: of a median five.
    pub fn least_requests(&self) -> f64 {
        let needed = |condition: &Condition| match condition.measure {
            Measure::Quantile(share) => (0.05f64.ln() / (1.0 - share).ln()).ceil(),
            Measure::Errors => (0.05f64.ln() / condition.below.min(0.99).ln()).ceil(),
            Measure::Mean | Measure::Max => 1.0,
        };
        self.conditions.iter().map(needed).fold(1.0, f64::max)
    }
}

impl FromStr for Slo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let mut conditions: Vec<Condition> = parts.map(condition).collect::<Result<_, _>>()?;
        if conditions.is_empty() {
            return Err(wrong(text));
        }
        if !conditions.iter().any(|condition| condition.measure == Measure::Errors) {
            conditions.push(Condition { measure: Measure::Errors, below: ERRORS });
        }
        Ok(Self { conditions })
    }
}

fn condition(text: &str) -> Result<Condition, String> {
    let wrong = || wrong(text);
    let (name, limit) = text.split_once('<').ok_or_else(wrong)?;
    let (name, limit) = (name.trim(), limit.trim_start_matches('=').trim());
    if name == "errors" {
        let share: unit::Probability = limit.parse().map_err(|_| wrong())?;
        let below = share.fraction();
        return Some(Condition { measure: Measure::Errors, below })
            .filter(|_| below > 0.0)
            .ok_or_else(wrong);
    }
    let measure = match name {
        "mean" => Measure::Mean,
        "max" => Measure::Max,
        _ => {
            let percent: f64 = name
                .strip_prefix('p')
                .and_then(|percent| percent.parse().ok())
                .ok_or_else(wrong)?;
            let share = percent / 100.0;
            let is_one = (0.0..1.0).contains(&share) && share > 0.0;
            Measure::Quantile(Some(share).filter(|_| is_one).ok_or_else(wrong)?)
        }
    };
    let limit = parse_duration(limit).map_err(|_| wrong())?;
    let below = limit.as_nanos() as f64;
    Some(Condition { measure, below }).filter(|_| below > 0.0).ok_or_else(wrong)
}

fn wrong(text: &str) -> String {
    format!("`{text}` is no objective: p99<50ms, mean<10ms, max<1s or errors<1% would be one")
}

impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let conditions: Vec<String> = self.conditions.iter().map(ToString::to_string).collect();
        f.write_str(&conditions.join(","))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.measure {
            Measure::Errors => write!(f, "errors<{}%", (self.below * 1e8).round() / 1e6),
            measure => {
                let time = std::time::Duration::from_nanos(self.below as u64);
                write!(f, "{measure}<{}", format_duration(time))
            }
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // To a ten-thousandth of a percent: 0.999 times 100 is not 99.9.
            Self::Quantile(share) => write!(f, "p{}", (share * 1e8).round() / 1e6),
            Self::Mean => f.write_str("mean"),
            Self::Max => f.write_str("max"),
            Self::Errors => f.write_str("errors"),
        }
    }
}
