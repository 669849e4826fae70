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

/// How many times stayed within each of some bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeBuckets {
    /// A bound in seconds, and how many times it holds, with those of the bounds before it.
    pub within: Vec<(f64, u64)>,
    /// All times.
    pub count: u64,
    /// Their sum in seconds.
    pub sum_seconds: f64,
}

impl TimeBuckets {
    /// Of a histogram of nanoseconds, by bounds of 1, 2.5 and 5 in each decade from 100 µs to 10 s. A time counts as the
    /// histogram keeps it, to three digits.
    pub fn of(histogram: &Histogram<u64>) -> Self {
        const DECADES: [u64; 5] = [100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
        let steps = |decade: u64| [decade, decade * 5 / 2, decade * 5];
        let bounds = DECADES.into_iter().flat_map(steps).chain([10_000_000_000]);
        let held = |bound: u64| {
            histogram.iter_recorded().take_while(move |at| at.value_iterated_to() <= bound)
        };
        let within = bounds.map(|bound| {
            let times = held(bound).map(|at| at.count_since_last_iteration()).sum();
            (bound as f64 / 1e9, times)
        });
        let count = histogram.len();
        Self { within: within.collect(), count, sum_seconds: histogram.mean() * count as f64 / 1e9 }
    }
}

fn ms(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_count_all_times_up_to_their_bound() {
        let mut histogram = Histogram::new(3).unwrap();
        for micros in [90_u64, 900, 900, 2_000, 40_000, 20_000_000] {
            histogram.record(micros * 1_000).unwrap();
        }
        let buckets = TimeBuckets::of(&histogram);
        let at = |bound: f64| buckets.within.iter().find(|(own, _)| *own == bound).unwrap().1;
        assert_eq!([at(0.0001), at(0.00025), at(0.001), at(0.0025)], [1, 1, 3, 4]);
        assert_eq!([at(0.025), at(0.05), at(10.0), buckets.count], [4, 5, 5, 6]);
        assert!((buckets.sum_seconds - 20.043_89).abs() < 0.02, "{}", buckets.sum_seconds);
        assert_eq!(TimeBuckets::of(&Histogram::new(3).unwrap()).sum_seconds, 0.0);
    }
}
