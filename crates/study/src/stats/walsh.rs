//! The Hodges-Lehmann estimate and its interval, from the Walsh averages: the means of all pairs of values, each with
//! itself too (Hollander, Wolfe and Chicken, §3.2 and §3.3).
//!
//! Values may be infinite: a failed contender took an infinite time. The mean of opposite infinities is undefined. It
//! counts as the lowest for the lower end of the interval and as the highest for the upper end, so that the interval
//! is never too narrow. For the estimate it counts as zero.

use super::order::median;
use super::{Interval, SignedRank};

/// The Walsh averages of paired values.
#[derive(Debug, Clone)]
pub struct WalshAverages {
    distribution: SignedRank,
    /// In order, without the undefined means.
    certain: Vec<f64>,
    /// How many means are undefined.
    unsure: usize,
}

impl WalshAverages {
    /// The averages of `values`, none of which is NaN.
    pub fn of(values: &[f64]) -> Self {
        let distribution = SignedRank::of(values.len());
        let mut certain = Vec::with_capacity(distribution.averages());
        for (index, first) in values.iter().enumerate() {
            certain.extend(values[index..].iter().map(|second| 0.5 * first + 0.5 * second));
        }
        certain.retain(|mean| !mean.is_nan());
        certain.sort_unstable_by(f64::total_cmp);
        let unsure = distribution.averages() - certain.len();
        Self { distribution, certain, unsure }
    }

    /// The Hodges-Lehmann estimate of the centre; None of no values.
    pub fn estimate(&self) -> Option<f64> {
        let mut averages = self.certain.clone();
        averages.extend(std::iter::repeat_n(0.0, self.unsure));
        // The two in the middle may be opposite infinities: then the data favour neither side.
        median(&averages).map(|centre| if centre.is_nan() { 0.0 } else { centre })
    }

    /// The distribution that the intervals' errors come from.
    pub fn distribution(&self) -> &SignedRank {
        &self.distribution
    }

    /// The one-sided p-value of "the centre is at least `bound`"; small where the data suggest a centre below it.
    pub fn p_below(&self, bound: f64) -> f64 {
        let against = self.certain.partition_point(|average| *average < bound);
        self.distribution.at_most(self.certain.len() - against + self.unsure)
    }

    /// The one-sided p-value of "the centre is at most `bound`"; small where the data suggest a centre above it.
    pub fn p_above(&self, bound: f64) -> f64 {
        let against = self.certain.partition_point(|average| *average <= bound);
        self.distribution.at_most(against + self.unsure)
    }

    /// The two-sided p-value of "the centre is 0". It is at most the error of an interval exactly where that interval
    /// does not contain 0. Without ties it is Wilcoxon's; zeros and undefined means count against a difference.
    pub fn p_differs(&self) -> f64 {
        (2.0 * self.p_below(0.0).min(self.p_above(0.0))).min(1.0)
    }

    /// The p-value of "the centre is `bound` away from 0, or farther", by two one-sided tests (Schuirmann, "A
    /// Comparison of the Two One-Sided Tests Procedure and the Power Approach", 1987).
    pub fn p_within(&self, bound: f64) -> f64 {
        self.p_below(bound).max(self.p_above(-bound))
    }

    /// The interval from the `rank`th least to the `rank`th greatest average; everything for rank 0.
    pub fn interval(&self, rank: usize) -> Interval {
        let Some(from_end) = rank.checked_sub(1) else { return Interval::EVERYTHING };
        let Some(within) = from_end.checked_sub(self.unsure) else { return Interval::EVERYTHING };
        let low = self.certain.get(within).copied();
        let high = self.certain.iter().rev().nth(within).copied();
        match (low, high) {
            (Some(low), Some(high)) if low <= high => Interval { low, high },
            _ => Interval::EVERYTHING,
        }
    }
}
