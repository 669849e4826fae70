//! How a family of intervals shares its error. Each interval misses with its own probability. By Bonferroni's
//! inequality all hold together where these probabilities sum to at most alpha, however the comparisons depend on each
//! other (pairs of contenders on one link do).
//!
//! Exact intervals have discrete errors: the widest interval of n blocks misses with 2/2^n, and the next ones come in
//! steps. Giving each of m comparisons alpha/m would waste the error between two steps. It would also leave a
//! comparison of few blocks without an interval although others need almost nothing (Tarone, "A Modified Bonferroni
//! Method for Discrete Data", 1990). So the error is spent by steps: first on the widest interval of each, in the
//! order of importance, then evenly, then what is left in order again. Only the numbers of blocks decide, never a
//! figure; otherwise the probabilities would be wrong.
//!
//! Rejected: Holm's step-down. Unless it rejects everything, its simultaneous intervals end at the null value for all
//! that it rejects (Strassburger and Bretz, "Compatible simultaneous lower confidence bounds for the Holm procedure",
//! 2008): a verdict without an effect size. Where no comparison's widest interval costs more than alpha/m, each one
//! gets at least Bonferroni's rank here.

use super::SignedRank;

/// An interval of a family: between which Walsh averages, and how often it misses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// From the `rank`th least to the `rank`th greatest Walsh average; 0 for everything.
    pub rank: usize,
    /// The chance that it misses.
    pub error: f64,
}

/// Shares `alpha` among comparisons of `blocks` blocks each, the most important first.
pub fn spend(blocks: &[usize], alpha: f64) -> Vec<Level> {
    let distributions: Vec<SignedRank> = blocks.iter().map(|&n| SignedRank::of(n)).collect();
    let mut ranks = widest(&distributions, alpha);
    let even = even_share(&distributions, &ranks, alpha);
    for (rank, distribution) in ranks.iter_mut().zip(&distributions).filter(|(rank, _)| **rank > 0)
    {
        *rank = distribution.rank_within(even).max(*rank);
    }
    let mut left = alpha - total(&distributions, &ranks);
    for (rank, distribution) in ranks.iter_mut().zip(&distributions).filter(|(rank, _)| **rank > 0)
    {
        let step = distribution.error(*rank + 1) - distribution.error(*rank);
        if step <= left && *rank < distribution.averages().div_ceil(2) {
            *rank += 1;
            left -= step;
        }
    }
    let level = |(&rank, distribution): (&usize, &SignedRank)| Level {
        rank,
        error: distribution.error(rank),
    };
    ranks.iter().zip(&distributions).map(level).collect()
}

/// The weights of comparisons of `blocks` blocks each in Holm's procedure, the most important first: the error that
/// each may spend. Comparisons for which no error is left come in later tiers, each with as many as alpha pays for.
/// When all comparisons of the tiers before are rejected, alpha passes to the next tier whole (Wiens, "A Fixed
/// Sequence Bonferroni Procedure for Testing Multiple Endpoints", 2003; Bretz, Maurer, Brannath and Posch, "A
/// Graphical Approach to Sequentially Rejective Multiple Test Procedures", 2009). Only the numbers of blocks decide.
pub fn weights(blocks: &[usize], levels: &[Level], alpha: f64) -> Vec<f64> {
    let mut weights: Vec<f64> = levels.iter().map(|level| level.error).collect();
    let mut unpaid: Vec<usize> = (0..blocks.len()).filter(|&i| levels[i].rank == 0).collect();
    let mut scale = 1.0;
    for _ in 0..MOST_TIERS {
        scale *= NEXT_TIER;
        let left: Vec<usize> = unpaid.iter().map(|&index| blocks[index]).collect();
        let levels = spend(&left, alpha);
        for (&index, level) in unpaid.iter().zip(&levels) {
            weights[index] = level.error * scale;
        }
        let still = unpaid.iter().zip(&levels).filter(|(_, level)| level.rank == 0);
        unpaid = still.map(|(&index, _)| index).collect();
    }
    weights
}

/// The factor between the weights of two tiers. What a tier takes from those before it is less than any step of an
/// exact distribution.
const NEXT_TIER: f64 = 1e-9;
/// More would not fit into the exponent of a weight.
const MOST_TIERS: usize = 30;

/// The least number of blocks with which each of `comparisons` alike can have an interval.
pub fn blocks_for_any_interval(comparisons: usize, alpha: f64) -> usize {
    // 2 / 2^n <= alpha / m.
    (2.0 * comparisons.max(1) as f64 / alpha).log2().ceil() as usize
}

/// Rank 1 for every comparison that the error pays for, in order; 0 for the others.
fn widest(distributions: &[SignedRank], alpha: f64) -> Vec<usize> {
    let mut left = alpha;
    let pay = |distribution: &SignedRank| {
        let price = distribution.error(1);
        let paid = price <= left;
        left -= if paid { price } else { 0.0 };
        usize::from(paid)
    };
    distributions.iter().map(pay).collect()
}

/// The greatest error that all can have alike. Comparisons with fewer steps keep their widest interval.
fn even_share(distributions: &[SignedRank], widest: &[usize], alpha: f64) -> f64 {
    let raised = |error: f64| -> Vec<usize> {
        let raise = |(distribution, &rank): (&SignedRank, &usize)| match rank {
            0 => 0,
            rank => distribution.rank_within(error).max(rank),
        };
        distributions.iter().zip(widest).map(raise).collect()
    };
    let (mut low, mut high) = (0.0, alpha);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        let fits = total(distributions, &raised(middle)) <= alpha;
        if fits { low = middle } else { high = middle }
    }
    low
}

fn total(distributions: &[SignedRank], ranks: &[usize]) -> f64 {
    distributions.iter().zip(ranks).map(|(distribution, &rank)| distribution.error(rank)).sum()
}

const HALVINGS: u32 = 50;
