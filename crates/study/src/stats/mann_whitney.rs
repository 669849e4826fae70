//! The Mann-Whitney test: for samples that share no blocks.

use super::normal::normal_cdf;
use super::rank_sum::{EXACT_UP_TO, RankSum};
use super::ranks::{doubled_ranks, tie_sizes};

/// The two-sided p-value of "neither sample tends to be larger". Exact for small samples without ties. Otherwise the
/// normal approximation with corrections for ties and continuity (Hollander, Wolfe and Chicken, §4.1). 1 where a sample
/// is empty.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 1.0;
    }
    let both: Vec<f64> = a.iter().chain(b).copied().collect();
    let doubled: usize = doubled_ranks(&both)[..a.len()].iter().sum();
    // Twice the number of pairs in which a is larger. Ties count half.
    let wins = doubled - a.len() * (a.len() + 1);
    let least = wins.min(2 * a.len() * b.len() - wins);
    let ties = tie_sizes(&both);
    let at_most = match ties.iter().all(|&size| size == 1) && a.len().max(b.len()) <= EXACT_UP_TO {
        true => RankSum::of(a.len(), b.len()).at_most(least / 2),
        false => approximate(a.len() as f64, b.len() as f64, &ties, least as f64 / 2.0),
    };
    (2.0 * at_most).min(1.0)
}

fn approximate(a: f64, b: f64, ties: &[usize], wins: f64) -> f64 {
    let all = a + b;
    let cubes: f64 = ties.iter().map(|&t| (t as f64).powi(3) - t as f64).sum();
    let variance = a * b / 12.0 * (all + 1.0 - cubes / (all * (all - 1.0)));
    if variance <= 0.0 { 1.0 } else { normal_cdf((wins + 0.5 - a * b / 2.0) / variance.sqrt()) }
}
