//! The bootstrap interval of a median (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, ch. 13).
//!
//! The percentile form: the bias-corrected accelerated one estimates its acceleration by the jackknife, which is
//! inconsistent for a median (ibid., §11.6).

use super::Interval;
use super::order::{median, quantile_of_sorted};
use unit::Seed;

/// The percentile interval of the median at `confidence`; None of so few values that their whole range holds it less
/// often.
pub fn median_interval(values: &[f64], confidence: f64, seed: Seed) -> Option<Interval> {
    let outside_range = 2.0 * 0.5_f64.powi(i32::try_from(values.len()).unwrap_or(i32::MAX));
    if outside_range > 1.0 - confidence {
        return None;
    }
    let mut random = seed.random();
    let mut sample = values.to_vec();
    let mut medians = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        for slot in &mut sample {
            *slot = values[random.below(values.len() as u64) as usize];
        }
        medians.push(median(&sample)?);
    }
    medians.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - confidence) / 2.0;
    let low = quantile_of_sorted(&medians, tail)?;
    let high = quantile_of_sorted(&medians, 1.0 - tail)?;
    Some(Interval { low, high })
}

/// Enough that the ends move by less than a tenth of the interval between seeds.
const RESAMPLES: usize = 4_000;
