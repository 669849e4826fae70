//! The verdict of a gate at one place, from the interval of the ratio there.

use super::{Bound, Gate};
use crate::comparison::Ratio;
use crate::stats::{Interval, POWER, normal_quantile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a gate is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GatePlace {
    /// The workload's name.
    pub workload: String,
    /// The link's name.
    pub link: String,
    /// The contender that is judged.
    pub contender: String,
    /// The contender that it is set over; absent where it is the same one of an earlier run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
}

/// What a gate says of a place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateResult {
    /// The gate as it was given.
    pub gate: String,
    /// Where.
    #[serde(flatten)]
    pub place: GatePlace,
    /// What it says.
    pub outcome: GateOutcome,
    /// Blocks of a race, or trials of the smaller one of two runs, that speak.
    pub n: u32,
    /// The Hodges-Lehmann ratio that it judged; None without a figure.
    pub ratio: Option<Ratio>,
    /// The ratio's interval; an end may be 0 or "inf".
    pub interval: Option<[Ratio; 2]>,
    /// The chance, at most, that the true ratio lies below the interval; and that it lies above. Over all places of a
    /// run they sum to the gates' error at most.
    pub error: f64,
    /// Why it is inconclusive, or what failed, where the interval does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For `inconclusive`: the true ratios nearest to the limit, one below and one above, that so many trials tell from it
    /// in four runs of five; absent where more trials would not help or there is no telling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detectable: Option<[Ratio; 2]>,
    /// For `inconclusive`: about how many trials of each cell would decide it in four runs of five, if the ratio is what it
    /// seems to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trials_needed: Option<u32>,
}

/// What a gate says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateOutcome {
    /// The whole interval lies on the right side of the limit, and no trial failed or was refused.
    Passed,
    /// The whole interval lies at the limit or beyond it.
    Failed,
    /// Neither can be said, or the figures cannot be vouched for.
    Inconclusive,
}

impl GateOutcome {
    /// The word in tables and files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// What all gates of a run come to: failed where one is, else inconclusive where one is.
pub fn outcome_of(gates: &[GateResult]) -> GateOutcome {
    [GateOutcome::Failed, GateOutcome::Inconclusive]
        .into_iter()
        .find(|wanted| first_of(gates, *wanted).is_some())
        .unwrap_or(GateOutcome::Passed)
}

/// The first result with this outcome.
pub fn first_of(gates: &[GateResult], wanted: GateOutcome) -> Option<&GateResult> {
    gates.iter().find(|gate| gate.outcome == wanted)
}

/// What is known of a ratio. Estimate, interval and detectable difference are logarithms.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioEvidence {
    /// Blocks, or trials of the smaller run, that speak.
    pub n: u32,
    /// The Hodges-Lehmann estimate; None without a figure.
    pub estimate: Option<f64>,
    /// Its interval.
    pub interval: Interval,
    /// What the interval misses on either side, at most.
    pub error: f64,
    /// The least difference from the limit that is found in four runs of five; None where there is no telling.
    pub detectable: Option<f64>,
    /// Standard deviation of the estimate times √n; None where there is no telling.
    pub noise: Option<f64>,
    /// The least number of trials with which there is an interval at all.
    pub least: u32,
    /// The error that this place may have on either side.
    pub allowed: f64,
    /// Why the gate cannot pass, whatever the interval says.
    pub obstacle: Option<String>,
    /// Why the figures cannot be judged at all.
    pub refused: Option<String>,
}

impl RatioEvidence {
    /// The same, where what has widened the interval counts as noise, outliers for one: noise is told by the narrowest
    /// interval, which they hardly touch. Nothing is found that is less than half of the interval.
    pub(super) fn with_noise_of_its_interval(self) -> Self {
        let Some((found, half)) = self.detectable.zip(self.interval.half()) else { return self };
        let wider = if found > 0.0 { (half / found).max(1.0) } else { 1.0 };
        let noise = self.noise.map(|noise| noise * wider);
        Self { detectable: Some(found * wider), noise, ..self }
    }

    /// Nothing is known, for `reason`.
    pub fn none(reason: String) -> Self {
        Self {
            n: 0,
            estimate: None,
            interval: Interval::EVERYTHING,
            error: 0.0,
            detectable: None,
            noise: None,
            least: 0,
            allowed: 0.0,
            obstacle: None,
            refused: Some(reason),
        }
    }
}

impl Gate {
    /// What it says of a place of which this is known.
    pub fn judge(&self, place: GatePlace, evidence: &RatioEvidence) -> GateResult {
        let said = evidence.estimate.is_some();
        let by_interval = match (&evidence.refused, said) {
            (Some(_), _) | (None, false) => GateOutcome::Inconclusive,
            (None, true) => self.outcome(evidence.interval),
        };
        let outcome = match (by_interval, &evidence.obstacle) {
            (GateOutcome::Passed, Some(_)) => GateOutcome::Inconclusive,
            (outcome, _) => outcome,
        };
        // More trials would mend neither a refusal nor a failure.
        let is_open = outcome == GateOutcome::Inconclusive
            && evidence.refused.is_none()
            && evidence.obstacle.is_none();
        let reason = match outcome {
            GateOutcome::Passed => None,
            _ => evidence.refused.clone().or_else(|| evidence.obstacle.clone()),
        };
        GateResult {
            gate: self.to_string(),
            place,
            outcome,
            n: evidence.n,
            ratio: evidence.estimate.map(Ratio::from_log),
            interval: said.then(|| Ratio::from_log_interval(evidence.interval)),
            error: evidence.error,
            reason: reason.or_else(|| is_open.then(|| too_few(evidence)).flatten()),
            detectable: evidence
                .detectable
                .filter(|_| is_open)
                .map(|least| [-least, least].map(|away| Ratio::from_log(self.limit.ln() + away))),
            trials_needed: if is_open { self.trials_needed(evidence) } else { None },
        }
    }

    /// What an interval of the ratio's logarithm says.
    pub fn outcome(&self, interval: Interval) -> GateOutcome {
        let limit = self.limit.ln();
        let (passes, fails) = match self.bound {
            Bound::Below => (interval.high < limit, interval.low >= limit),
            Bound::Above => (interval.low > limit, interval.high <= limit),
        };
        match (passes, fails) {
            (true, _) => GateOutcome::Passed,
            (_, true) => GateOutcome::Failed,
            _ => GateOutcome::Inconclusive,
        }
    }

    /// Noether's "Sample Size Determination for Some Common Nonparametric Tests", 1987, by the normal approximation.
    fn trials_needed(&self, evidence: &RatioEvidence) -> Option<u32> {
        let least = f64::from(evidence.least);
        let needed = match evidence.estimate.zip(evidence.noise) {
            None => least,
            Some((estimate, noise)) => {
                let distance = (self.limit.ln() - estimate).abs();
                let deviations = normal_quantile(POWER) - normal_quantile(evidence.allowed);
                let needed = (deviations * noise / distance).powi(2).ceil();
                needed.max(least).max(f64::from(evidence.n) + 1.0)
            }
        };
        (needed < LONGEST_ANSWER).then_some(needed as u32)
    }
}

fn too_few(evidence: &RatioEvidence) -> Option<String> {
    match evidence.n {
        0 => Some("there is no figure to compare".to_owned()),
        // Two runs of unequal sizes have an interval where two of the smaller one's size would have none.
        n if n < evidence.least && evidence.interval == Interval::EVERYTHING => {
            let trials =
                if n == 1 { "1 trial gives".to_owned() } else { format!("{n} trials give") };
            let sure = 100.0 * (1.0 - evidence.allowed);
            Some(format!("{trials} no interval at {sure:.1} % on either side"))
        }
        _ => None,
    }
}

/// Past this a number of trials is no advice.
const LONGEST_ANSWER: f64 = 100_000.0;
