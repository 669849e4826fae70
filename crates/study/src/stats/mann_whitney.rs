//! The Mann-Whitney test: for samples that share no blocks.

use super::normal::normal_cdf;
use super::ranks::{doubled_ranks, tie_sizes};

/// The two-sided p-value of "neither sample tends to be larger": exact for small samples without ties, else by the
/// normal approximation with corrections for ties and continuity (Hollander, Wolfe and Chicken, §4.1). 1 where
/// either is empty.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 1.0;
    }
    let both: Vec<f64> = a.iter().chain(b).copied().collect();
    let doubled: usize = doubled_ranks(&both)[..a.len()].iter().sum();
    // Twice the number of pairs in which a is the larger, ties for half.
    let wins = doubled - a.len() * (a.len() + 1);
    let least = wins.min(2 * a.len() * b.len() - wins);
    let ties = tie_sizes(&both);
    let at_most = match ties.iter().all(|&size| size == 1) && a.len().max(b.len()) <= EXACT_UP_TO {
        true => exact(a.len(), b.len(), least / 2),
        false => approximate(a.len() as f64, b.len() as f64, &ties, least as f64 / 2.0),
    };
    (2.0 * at_most).min(1.0)
}

/// The chance of at most `wins`: of all ways to mix the samples, those with so few inversions.
fn exact(a: usize, b: usize, wins: usize) -> f64 {
    // chances[i][u]: the chance of u wins of i values of a against those of b so far taken in.
    let mut chances = vec![vec![0.0; a * b + 1]; a + 1];
    chances.iter_mut().for_each(|row| row[0] = 1.0);
    for j in 1..=b {
        for i in 1..=a {
            let (earlier, rest) = chances.split_at_mut(i);
            // The greatest of all is of a, and wins against all j of b, with chance i / (i + j).
            let of_a = i as f64 / (i + j) as f64;
            for u in 0..=a * b {
                let won = if u >= j { earlier[i - 1][u - j] } else { 0.0 };
                rest[0][u] = of_a * won + (1.0 - of_a) * rest[0][u];
            }
        }
    }
    chances[a][..=wins].iter().sum()
}

fn approximate(a: f64, b: f64, ties: &[usize], wins: f64) -> f64 {
    let all = a + b;
    let cubes: f64 = ties.iter().map(|&t| (t as f64).powi(3) - t as f64).sum();
    let variance = a * b / 12.0 * (all + 1.0 - cubes / (all * (all - 1.0)));
    if variance <= 0.0 { 1.0 } else { normal_cdf((wins + 0.5 - a * b / 2.0) / variance.sqrt()) }
}

/// Beyond, the approximation is as good and far cheaper.
const EXACT_UP_TO: usize = 50;
