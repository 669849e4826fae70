//! A comparison of two contenders: the ratio of their times, its interval, and the verdict that follows.

use crate::stats::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A ratio, its interval and the verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Blocks that count: both contenders ran, and not both failed.
    pub n: u32,
    /// The Hodges-Lehmann ratio; below 1 the first contender is faster. None without a block.
    pub ratio: Option<Ratio>,
    /// The ratio's interval. All intervals of the family hold together. None without a block.
    pub ci95: Option<[Ratio; 2]>,
    /// The interval's own confidence.
    pub confidence: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// Why the verdict is not another one; absent where the interval shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For `undecided`: about how many trials of each cell would decide it in four runs of five, if the ratio is what it
    /// seems to be. Absent where more trials would not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trials_needed: Option<u32>,
    /// The two-sided signed-rank p-value of "no difference", unadjusted. Where a run may stop early, it is the least
    /// over the looks of each look's p-value divided by its share. None without a block.
    #[serde(default)]
    pub p: Option<f64>,
    /// `p` after Holm's procedure over the family: at most 0.05 where a difference is found.
    #[serde(default)]
    pub p_holm: Option<f64>,
    /// `p` after Holm's procedure over all comparisons of the run: at most 0.05 where the difference holds also for a
    /// reader who searched all tables for one.
    #[serde(default)]
    pub p_run: Option<f64>,
    /// The p-value of "as far apart as the margin, or farther", by two one-sided tests.
    #[serde(default)]
    pub p_tie: Option<f64>,
    /// The least ratio above 1 that so many blocks with this noise detect in four runs of five, at the level of this
    /// interval. None without an interval, or where it cannot be computed.
    #[serde(default)]
    pub detectable: Option<Ratio>,
}

impl Comparison {
    /// Of no block: undecided, and without a figure.
    pub fn of_nothing() -> Self {
        Self {
            n: 0,
            ratio: None,
            ci95: None,
            confidence: 0.95,
            verdict: Verdict::Undecided,
            reason: None,
            trials_needed: None,
            p: None,
            p_holm: None,
            p_run: None,
            p_tie: None,
            detectable: None,
        }
    }

    /// About how many trials to add to each contender so that the comparison is decided; None where more trials would not
    /// decide it, and where they are more than anybody adds to a run.
    pub fn trials_to_add(&self) -> Option<u32> {
        let more = self.trials_needed?.saturating_sub(self.n);
        (1..=MOST_ADDED).contains(&more).then_some(more)
    }
}

/// More than that nobody adds to a run: another experiment is needed.
const MOST_ADDED: u32 = 100;

/// The verdict of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The interval lies within the margin.
    Tie,
    /// The interval lies below 1.
    Faster,
    /// The interval lies above 1.
    Slower,
    /// The interval allows more than one verdict.
    Undecided,
    /// One of the two cannot run here.
    Unsupported,
}

impl Verdict {
    /// The same verdict with the two contenders swapped.
    pub fn reversed(self) -> Self {
        match self {
            Self::Faster => Self::Slower,
            Self::Slower => Self::Faster,
            Self::Tie | Self::Undecided | Self::Unsupported => self,
        }
    }

    /// The word in tables and files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tie => "tie",
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Undecided => "undecided",
            Self::Unsupported => "unsupported",
        }
    }
}

/// A ratio from 0 to infinity. In JSON it is a number, or the text "inf" where a failed trial counts as infinitely
/// slow.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Ratio(pub f64);

impl Ratio {
    /// The ratio whose natural logarithm this is.
    pub fn from_log(log: f64) -> Self {
        Self(log.exp())
    }

    /// The ends of the interval as ratios.
    pub fn from_log_interval(interval: Interval) -> [Self; 2] {
        [Self::from_log(interval.low), Self::from_log(interval.high)]
    }
}

impl Serialize for Ratio {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.is_finite() {
            true => serializer.serialize_f64(self.0),
            false => serializer.serialize_str(INFINITE),
        }
    }
}

impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Number(f64),
            Text(String),
        }
        match Form::deserialize(deserializer)? {
            Form::Number(number) => Ok(Self(number)),
            Form::Text(text) if text == INFINITE => Ok(Self(f64::INFINITY)),
            Form::Text(text) => Err(serde::de::Error::custom(format!("`{text}` is no ratio"))),
        }
    }
}

impl JsonSchema for Ratio {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Ratio".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A ratio from 0 to infinity.",
            "anyOf": [{ "type": "number", "minimum": 0 }, { "const": INFINITE }]
        })
    }
}

const INFINITE: &str = "inf";
