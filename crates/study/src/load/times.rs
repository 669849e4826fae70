//! Percentiles and other summaries of a latency histogram.

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Times of one kind, to three digits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimesSummary {
    /// How many.
    pub n: u64,
    /// The shortest, in milliseconds.
    pub min_ms: f64,
    /// The mean.
    pub mean_ms: f64,
    /// The percentiles that so many can tell, in rising order.
    pub at: Vec<TimeAt>,
    /// The longest.
    pub max_ms: f64,
}

/// The time that a share of all stayed within.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeAt {
    /// The share, such as 0.99.
    pub share: f64,
    /// The time, in milliseconds.
    pub ms: f64,
}

/// The shares that are given where there are enough times.
const SHARES: [f64; 7] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];

impl TimesSummary {
    /// Of a histogram of nanoseconds; None of an empty one.
    pub fn of(histogram: &Histogram<u64>) -> Option<Self> {
        let n = histogram.len();
        if n == 0 {
            return None;
        }
        // As many beyond as make a percentile more than one time's luck.
        let enough = SHARES.into_iter().filter(|share| n as f64 * (1.0 - share) >= 1.0 - 1e-9);
        let at = enough.map(|share| TimeAt { share, ms: ms(histogram.value_at_quantile(share)) });
        Some(Self {
            n,
            min_ms: ms(histogram.min()),
            mean_ms: histogram.mean() / 1e6,
            at: at.collect(),
            max_ms: ms(histogram.max()),
        })
    }

    /// The time at that share, where there were enough times.
    pub fn at(&self, share: f64) -> Option<f64> {
        self.at.iter().find(|at| at.share == share).map(|at| at.ms)
    }
}

fn ms(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}
