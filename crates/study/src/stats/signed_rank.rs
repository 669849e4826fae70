//! Wilcoxon's signed-rank statistic and its exact distribution (Hollander, Wolfe and Chicken, "Nonparametric
//! Statistical Methods", 3rd ed., §3.1): under symmetry about zero each rank bears either sign with one half.

use super::normal::normal_cdf;

/// The distribution of the sum of positive ranks of `n` values without ties.
#[derive(Debug, Clone)]
pub struct SignedRank {
    n: usize,
    /// The probability of at most this sum; empty where the normal approximation is used.
    cumulative: Vec<f64>,
}

impl SignedRank {
    /// The distribution for `n` values.
    pub fn of(n: usize) -> Self {
        let cumulative = if n <= EXACT_UP_TO { cumulative(n) } else { Vec::new() };
        Self { n, cumulative }
    }

    /// The number of Walsh averages, which is also the greatest sum.
    pub fn averages(&self) -> usize {
        self.n * (self.n + 1) / 2
    }

    /// The chance of a sum of at most `sum`.
    pub fn at_most(&self, sum: usize) -> f64 {
        if sum >= self.averages() {
            return 1.0;
        }
        self.cumulative.get(sum).copied().unwrap_or_else(|| {
            let n = self.n as f64;
            let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
            normal_cdf((sum as f64 + 0.5 - n * (n + 1.0) / 4.0) / deviation)
        })
    }

    /// The error of the interval from the `rank`th least to the `rank`th greatest Walsh average: the chance that it
    /// misses the centre (ibid., §3.3). Rank 0 is the interval of everything, which never does.
    pub fn error(&self, rank: usize) -> f64 {
        rank.checked_sub(1).map_or(0.0, |sum| (2.0 * self.at_most(sum)).min(1.0))
    }

    /// The greatest rank whose error is at most `error`: it gives the narrowest interval with that confidence.
    pub fn rank_within(&self, error: f64) -> usize {
        // The ends must not cross: at most half of the averages.
        let (mut low, mut high) = (0, self.averages().div_ceil(2));
        while low < high {
            let middle = (low + high).div_ceil(2);
            if self.error(middle) <= error { low = middle } else { high = middle - 1 }
        }
        low
    }
}

/// The cumulated probability of each sum of a random half of the ranks from 1 to `n`.
fn cumulative(n: usize) -> Vec<f64> {
    let mut chances = vec![0.0; n * (n + 1) / 2 + 1];
    chances[0] = 1.0;
    let mut reached = 0;
    for rank in 1..=n {
        reached += rank;
        for sum in (0..=reached).rev() {
            let with = if sum >= rank { chances[sum - rank] } else { 0.0 };
            chances[sum] = 0.5 * (chances[sum] + with);
        }
    }
    let mut below = 0.0;
    chances.iter_mut().for_each(|chance| {
        below += *chance;
        *chance = below;
    });
    chances
}

/// For more values, the normal approximation is right to the third digit at the levels used here.
const EXACT_UP_TO: usize = 120;
