//! Statistics: pure functions of numbers. What is random draws from a seed that is handed in.
//!
//! The figures are held against SciPy's in `vectors/stats/scipy.json`.

mod binomial;
mod bootstrap;
mod dip;
mod holm;
mod looks;
mod normal;
mod order;
mod percentiles;
mod power;
mod rank_sum;
mod signed_rank;
mod spending;
#[cfg(test)]
mod tests;
mod walsh;

pub use binomial::{binomial_cdf, clopper_pearson, fisher};
pub use bootstrap::median_interval;
pub use dip::{Mode, Modes, dip, dip_p, modes};
pub use holm::{HolmStep, holm, weighted_holm};
pub use looks::{Look, looks, one_look};
pub use normal::{normal_cdf, normal_quantile};
pub use order::{median, quantile};
pub use percentiles::{Percentile, Percentiles};
pub use power::{Detectable, Open, POWER, spread};
pub use rank_sum::{RankSum, Shift};
pub use signed_rank::SignedRank;
pub use spending::{Level, blocks_for_any_interval, spend, weights};
pub use walsh::WalshAverages;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unit::Seed;

/// A closed interval; an end may be infinite.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Interval {
    /// All numbers: what is known without data.
    pub const EVERYTHING: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// Whether `value` lies within, ends counted.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Half of its width; None where it is unbounded.
    pub fn half(&self) -> Option<f64> {
        Some(0.5 * (self.high - self.low)).filter(|half| half.is_finite())
    }

    /// The interval of the negated quantity.
    pub fn negated(&self) -> Self {
        Self { low: -self.high, high: -self.low }
    }
}

/// A metric over the measured trials of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// How many trials.
    pub n: u32,
    /// Their median.
    pub median: f64,
    /// Bootstrap percentile interval of the median, 95 %, of this cell alone. None of fewer than six trials: even their
    /// whole range holds the median less often than that.
    pub ci95: Option<[f64; 2]>,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl Summary {
    /// Summarises `values`, all finite; None without values.
    pub fn of(values: &[f64], seed: Seed) -> Option<Self> {
        let median = median(values)?;
        let interval = median_interval(values, CONFIDENCE, seed);
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let ci95 = interval.map(|interval| [interval.low, interval.high]);
        Some(Self { n: u32::try_from(values.len()).unwrap_or(u32::MAX), median, ci95, min, max })
    }
}

/// The fewest trials whose median can have an interval of [`CONFIDENCE`]: all n lie on one side of the true median with
/// the chance 2 / 2^n.
pub const LEAST_FOR_INTERVAL: usize = 6;

/// The confidence of every interval, alone or together with its family.
pub const CONFIDENCE: f64 = 0.95;
