//! What a signed-rank interval could have detected: the least difference whose interval excludes zero in four runs of
//! five. Cohen's and Noether's formulas ("Sample Size Determination for Some Common Nonparametric Tests", 1987) answer
//! the same question by the normal approximation. At the levels of a family and with ten blocks that promises half of
//! what is needed, so normal noise is drawn instead, from a fixed seed.

use super::normal::{normal_cdf, normal_quantile};
use super::{RankSum, SignedRank, WalshAverages};
use std::collections::BTreeMap;
use std::f64::consts::PI;
use unit::{Random, Seed};

/// The probability with which a detectable difference is detected.
pub const POWER: f64 = 0.8;

/// Least detectable differences, each computed once.
#[derive(Debug, Clone, Default)]
pub struct Detectable {
    known: BTreeMap<(usize, usize), f64>,
    shifts: BTreeMap<([usize; 2], usize), f64>,
}

impl Detectable {
    /// The least difference, in standard deviations of a block's noise, that `blocks` blocks detect with a probability
    /// of [`POWER`] by the interval of `rank`; None for rank 0, which detects nothing.
    pub fn deviations(&mut self, blocks: usize, rank: usize) -> Option<f64> {
        if rank == 0 || blocks == 0 {
            return None;
        }
        let find = || match blocks {
            0..=DRAWN_UP_TO => drawn(blocks, rank),
            _ => approximate(blocks, rank),
        };
        Some(*self.known.entry((blocks, rank)).or_insert_with(find))
    }

    /// The least shift between two samples of these sizes, in standard deviations of the noise of a value, times √(3/π),
    /// that their interval of `rank` finds with a chance of [`POWER`]: so it is given in deviations of the estimate of
    /// two samples of one value each. None where rank 0 finds nothing.
    pub fn shift_deviations(&mut self, sizes: [usize; 2], rank: usize) -> Option<f64> {
        if rank == 0 || sizes.contains(&0) {
            return None;
        }
        let find = || match sizes[0].max(sizes[1]) {
            0..=DRAWN_UP_TO => drawn_shift(sizes, rank) / efficiency_root(),
            _ => {
                let error = RankSum::of(sizes[0], sizes[1]).error(rank);
                let deviations = normal_quantile(POWER) - normal_quantile(error / 2.0);
                deviations * (1.0 / sizes[0] as f64 + 1.0 / sizes[1] as f64).sqrt()
            }
        };
        Some(*self.shifts.entry((sizes, rank)).or_insert_with(find))
    }
}

/// The standard deviation of normal noise that is as wide as these values, by their narrowest exact interval. Outliers
/// count as any other value. None of too few values, and where the interval is unbounded.
pub fn spread(walsh: &WalshAverages, blocks: usize) -> Option<f64> {
    const ERROR: f64 = 0.32;
    let distribution = walsh.distribution();
    let rank = distribution.rank_within(ERROR);
    let deviations = -normal_quantile(distribution.error(rank) / 2.0);
    let interval = walsh.interval(rank);
    let half = 0.5 * (interval.high - interval.low);
    (rank > 0 && half.is_finite())
        .then(|| half / deviations * (blocks as f64).sqrt() / efficiency_root())
}

/// What is known of a comparison that more blocks are to decide; logarithms of ratios.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Open {
    /// The effect that it seems to have.
    pub effect: f64,
    /// The standard deviation of a block's noise, above zero.
    pub noise: f64,
    /// Effects up to this one, either way, are a tie.
    pub margin: f64,
    /// The chance with which its interval misses.
    pub error: f64,
}

impl Open {
    /// The least number of blocks, up to `most`, that decide it with a chance of [`POWER`], as a difference or as a tie;
    /// `most` where none does. By the normal approximation, with z²/2 blocks more since noise has to be estimated
    /// (Guenther, "Sample Size Formulas for Normal Theory T Tests", 1981).
    pub fn blocks_needed(&self, most: u32) -> u32 {
        let (mut low, mut high) = (1, most);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.chance(middle) < POWER { low = middle + 1 } else { high = middle }
        }
        let for_noise = 0.5 * normal_quantile(self.error / 2.0).powi(2);
        (f64::from(low) + for_noise).ceil().min(f64::from(most)) as u32
    }

    /// The chance that the interval of so many blocks gives a verdict, and no false one.
    /// - A difference: the interval is clear of 0 on the effect's side. Alone, that takes z(POWER) + z(error/2) standard
    ///   errors in the effect (Noether, above).
    /// - A tie: both one-sided tests at the margin reject (Chow, Shao and Wang, "Sample Size Calculations in Clinical
    ///   Research", §3.1). Alone, that takes z((1 + POWER)/2) + z(error/2) standard errors in the margin at an effect of
    ///   0, and z(POWER) + z(error/2) in what is left of the margin where only one of the two can miss.
    /// - An interval that is no wider than the margin is one of the two, wherever it lies.
    fn chance(&self, blocks: u32) -> f64 {
        let standard_error = self.noise * efficiency_root() / f64::from(blocks).sqrt();
        let reach = -normal_quantile(self.error / 2.0);
        if 2.0 * reach * standard_error <= self.margin {
            return 1.0;
        }
        let passes = |distance: f64| normal_cdf(distance / standard_error - reach);
        let effect = self.effect.abs();
        let tie = passes(self.margin - effect) + passes(self.margin + effect) - 1.0;
        passes(effect) - passes(-effect) + tie.max(0.0)
    }
}

/// The ratio of the standard errors of the Hodges-Lehmann estimate and of the mean, under normal noise: √(π/3).
fn efficiency_root() -> f64 {
    (PI / 3.0).sqrt()
}

fn drawn(blocks: usize, rank: usize) -> f64 {
    let mut random = Seed(20_261_121).child("power").nth(blocks as u64).random();
    // A shift moves every average alike: it is detected where it is greater than the distance of the interval's end
    // below 0.
    let mut needed: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let noise: Vec<f64> = (0..blocks).map(|_| normal(&mut random)).collect();
            -least(&noise, rank)
        })
        .collect();
    needed.sort_unstable_by(f64::total_cmp);
    needed[(POWER * DRAWS as f64) as usize]
}

fn drawn_shift([a, b]: [usize; 2], rank: usize) -> f64 {
    let seed = Seed(20_261_122).child("shift").nth((a * 1_000 + b) as u64);
    let mut random = seed.random();
    let mut needed: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let first: Vec<f64> = (0..a).map(|_| normal(&mut random)).collect();
            let second: Vec<f64> = (0..b).map(|_| normal(&mut random)).collect();
            let differences = first.iter().flat_map(|a| second.iter().map(move |b| b - a));
            let mut differences: Vec<f64> = differences.collect();
            let place = (rank - 1).min(differences.len() - 1);
            -*differences.select_nth_unstable_by(place, f64::total_cmp).1
        })
        .collect();
    needed.sort_unstable_by(f64::total_cmp);
    needed[(POWER * DRAWS as f64) as usize]
}

/// The `rank`th least Walsh average.
fn least(values: &[f64], rank: usize) -> f64 {
    let pairs = values.iter().enumerate();
    let mut averages: Vec<f64> =
        pairs.flat_map(|(i, a)| values[i..].iter().map(move |b| 0.5 * (a + b))).collect();
    let place = (rank - 1).min(averages.len() - 1);
    *averages.select_nth_unstable_by(place, f64::total_cmp).1
}

fn approximate(blocks: usize, rank: usize) -> f64 {
    let error = SignedRank::of(blocks).error(rank);
    let deviations = normal_quantile(POWER) - normal_quantile(error / 2.0);
    deviations * efficiency_root() / (blocks as f64).sqrt()
}

fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.next_fraction()).ln()).sqrt();
    radius * (2.0 * PI * random.next_fraction()).cos()
}

/// Beyond, the approximation is right within a tenth at the levels of any family that such numbers can carry.
const DRAWN_UP_TO: usize = 60;
const DRAWS: usize = 1_000;
