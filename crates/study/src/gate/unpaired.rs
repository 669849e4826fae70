//! The ratio of one cell in two runs and its interval, from two samples that share no blocks.

use super::RatioEvidence;
use crate::stats::{Detectable, Interval, RankSum, Shift, normal_quantile};
use std::collections::BTreeMap;

/// Judges pairs of samples; equal sizes are the rule, and their ranks take long to compute.
#[derive(Debug, Default)]
pub struct Unpaired {
    known: BTreeMap<(usize, usize), RankSum>,
    detectable: Detectable,
}

impl Unpaired {
    /// The shift from `a` to `b`, both logarithms, that misses with at most `error` on both sides together.
    pub fn shift(&mut self, a: &[f64], b: &[f64], error: f64) -> Option<Shift> {
        let rank = self.distribution(a.len(), b.len()).rank_within(error);
        Shift::with_rank(a, b, rank)
    }

    /// What both say of the ratio of b over a; `allowed` is what the place may miss on either side.
    pub fn evidence(&mut self, a: &[f64], b: &[f64], allowed: f64) -> RatioEvidence {
        let distribution = self.distribution(a.len(), b.len()).clone();
        let rank = distribution.rank_within(2.0 * allowed);
        let shift = Shift::with_rank(a, b, rank);
        let n = a.len().min(b.len());
        let deviation = deviation(a, b, &distribution);
        let sizes = 1.0 / a.len().max(1) as f64 + 1.0 / b.len().max(1) as f64;
        let found = self.detectable.shift_deviations([a.len(), b.len()], rank);
        RatioEvidence {
            n: u32::try_from(n).unwrap_or(u32::MAX),
            estimate: shift.map(|shift| shift.estimate),
            interval: shift.map_or(Interval::EVERYTHING, |shift| shift.interval),
            error: distribution.error(rank) / 2.0,
            detectable: found.zip(deviation).map(|(found, own)| found * own / sizes.sqrt()),
            noise: deviation.map(|own| own * (n as f64).sqrt()),
            least: least(allowed),
            allowed,
            obstacle: None,
            refused: None,
        }
        .with_noise_of_its_interval()
    }

    fn distribution(&mut self, a: usize, b: usize) -> &RankSum {
        self.known.entry((a, b)).or_insert_with(|| RankSum::of(a, b))
    }
}

/// The standard deviation of the estimate, by the narrowest interval that says something with certainty.
fn deviation(a: &[f64], b: &[f64], distribution: &RankSum) -> Option<f64> {
    const ERROR: f64 = 0.32;
    let rank = distribution.rank_within(ERROR);
    let Interval { low, high } = Shift::with_rank(a, b, rank)?.interval;
    let half = 0.5 * (high - low);
    (rank > 0 && half.is_finite()).then(|| half / -normal_quantile(distribution.error(rank) / 2.0))
}

/// The least size of two equal samples with an interval: all of one above all of the other has a chance of 1 in
/// (2n choose n).
fn least(allowed: f64) -> u32 {
    let mut chance = 1.0;
    for n in 1..MOST {
        chance *= f64::from(n) / (2.0 * (2.0 * f64::from(n) - 1.0));
        if chance <= allowed {
            return n;
        }
    }
    MOST
}

const MOST: u32 = 1000;
