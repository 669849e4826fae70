//! Percentiles of samples over several trials. They are read from the merged histogram and never averaged over trials:
//! a mean of 99th percentiles is not a percentile. Their intervals come from resampling trials, not samples, because
//! samples of one trial are not independent (Davison and Hinkley, "Bootstrap Methods and their Application", 1997,
//! §3.8).

use super::order::quantile_of_sorted;
use super::{CONFIDENCE, LEAST_FOR_INTERVAL};
use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unit::Seed;

/// Samples of all trials of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    /// How many samples.
    pub n: u64,
    /// Of how many trials.
    pub trials: u32,
    /// The percentiles that this many samples can support, in rising order.
    pub at: Vec<Percentile>,
    /// The greatest sample, in milliseconds.
    pub max_ms: f64,
}

/// The time that a share of the samples stayed within.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentile {
    /// The share, such as 0.99.
    pub share: f64,
    /// The time, in milliseconds, to three digits.
    pub ms: f64,
    /// Its 95 % interval by resampling trials; None of fewer than six.
    pub ci95: Option<[f64; 2]>,
}

impl Percentiles {
    /// The percentiles of each trial's samples in milliseconds; None without a sample.
    pub fn of(trials: &[Vec<f64>], seed: Seed) -> Option<Self> {
        let filled = trials.iter().filter(|trial| !trial.is_empty());
        let histograms: Vec<Histogram<u64>> =
            filled.map(|trial| histogram(trial)).collect::<Option<_>>()?;
        let (first, others) = histograms.split_first()?;
        let mut merged = first.clone();
        for other in others {
            merged.add(other).ok()?;
        }
        let n = merged.len();
        // A percentile is given only with enough samples beyond it that it does not depend on one sample.
        let enough =
            SHARES.into_iter().filter(|share| (n as f64 * (1.0 - share) * 1e3).round() >= 1e3);
        let shares: Vec<f64> = enough.collect();
        let intervals = intervals(&histograms, &shares, seed);
        let at = shares.iter().zip(intervals).map(|(&share, ci95)| Percentile {
            share,
            ms: millis(merged.value_at_quantile(share)),
            ci95: ci95.filter(|_| histograms.len() >= LEAST_FOR_INTERVAL),
        });
        let trials = u32::try_from(histograms.len()).unwrap_or(u32::MAX);
        Some(Self { n, trials, at: at.collect(), max_ms: millis(merged.max()) })
    }
}

/// One trial's samples, to three digits; None where the crate cannot count them.
fn histogram(samples: &[f64]) -> Option<Histogram<u64>> {
    let mut histogram = Histogram::new(3).ok()?;
    for ms in samples {
        // A sample longer than the longest time-out counts as that time-out.
        let micros = ((ms * 1e3).round().max(1.0) as u64).min(LONGEST_US);
        histogram.record(micros).ok()?;
    }
    Some(histogram)
}

/// A bucket of one trial's histogram.
struct Bucket {
    value: u64,
    count: u64,
    trial: usize,
}

fn intervals(histograms: &[Histogram<u64>], shares: &[f64], seed: Seed) -> Vec<Option<[f64; 2]>> {
    let mut buckets: Vec<Bucket> = Vec::new();
    for (trial, histogram) in histograms.iter().enumerate() {
        buckets.extend(histogram.iter_recorded().map(|step| Bucket {
            value: step.value_iterated_to(),
            count: step.count_at_value(),
            trial,
        }));
    }
    buckets.sort_by_key(|bucket| bucket.value);
    let resamples = (MOST_WORK / buckets.len().max(1)).clamp(FEWEST_RESAMPLES, RESAMPLES);
    let mut drawn: Vec<Vec<f64>> = vec![Vec::with_capacity(resamples); shares.len()];
    let mut random = seed.random();
    for _ in 0..resamples {
        let mut times = vec![0_u64; histograms.len()];
        for _ in 0..histograms.len() {
            times[random.below(histograms.len() as u64) as usize] += 1;
        }
        for (values, share) in drawn.iter_mut().zip(shares) {
            values.extend(value_at(&buckets, &times, *share).map(millis));
        }
    }
    let interval = |values: &mut Vec<f64>| {
        values.sort_unstable_by(f64::total_cmp);
        let tail = (1.0 - CONFIDENCE) / 2.0;
        Some([quantile_of_sorted(values, tail)?, quantile_of_sorted(values, 1.0 - tail)?])
    };
    drawn.iter_mut().map(interval).collect()
}

/// The value that `share` of all samples do not exceed. Each trial counts as often as `times` says.
fn value_at(buckets: &[Bucket], times: &[u64], share: f64) -> Option<u64> {
    let all: u64 = buckets.iter().map(|bucket| bucket.count * times[bucket.trial]).sum();
    let wanted = ((all as f64 * share).ceil() as u64).max(1);
    let mut below = 0;
    let reaches = |bucket: &&Bucket| {
        below += bucket.count * times[bucket.trial];
        below >= wanted
    };
    buckets.iter().find(reaches).map(|bucket| bucket.value)
}

fn millis(micros: u64) -> f64 {
    micros as f64 / 1e3
}

const SHARES: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 0.999];
const LONGEST_US: u64 = 24 * 3600 * 1_000_000;
const RESAMPLES: usize = 1_000;
const FEWEST_RESAMPLES: usize = 100;
/// Buckets looked at in all, at most, which is a second.
const MOST_WORK: usize = 20_000_000;
