//! The Mann-Whitney statistic's distribution, and the shift between two samples that share no blocks.

use super::Interval;
use super::normal::normal_cdf;
use super::order::median;

/// The distribution, without ties, of the number of pairs in which the value of one sample is the larger.
#[derive(Debug, Clone)]
pub struct RankSum {
    a: usize,
    b: usize,
    /// The probability of at most this index; empty where the normal approximation is used.
    cumulative: Vec<f64>,
}

impl RankSum {
    /// The distribution for samples of `a` and `b` values.
    pub fn of(a: usize, b: usize) -> Self {
        let cumulative = if a.max(b) <= EXACT_UP_TO { cumulative(a, b) } else { Vec::new() };
        Self { a, b, cumulative }
    }

    /// The number of pairs, which is also the greatest number of wins.
    pub fn pairs(&self) -> usize {
        self.a * self.b
    }

    /// The chance of at most `wins`.
    pub fn at_most(&self, wins: usize) -> f64 {
        if wins >= self.pairs() {
            return 1.0;
        }
        self.cumulative.get(wins).copied().unwrap_or_else(|| {
            let (a, b) = (self.a as f64, self.b as f64);
            let deviation = (a * b * (a + b + 1.0) / 12.0).sqrt();
            normal_cdf((wins as f64 + 0.5 - a * b / 2.0) / deviation)
        })
    }

    /// The error of the interval from the `rank`th least to the `rank`th greatest difference (Hollander, Wolfe and
    /// Chicken, §4.3, after Moses). Rank 0 is the interval of everything, which never errs.
    pub fn error(&self, rank: usize) -> f64 {
        rank.checked_sub(1).map_or(0.0, |wins| (2.0 * self.at_most(wins)).min(1.0))
    }

    /// The greatest rank whose error is at most `error`: it gives the narrowest interval with that confidence.
    pub fn rank_within(&self, error: f64) -> usize {
        let (mut low, mut high) = (0, self.pairs().div_ceil(2));
        while low < high {
            let middle = (low + high).div_ceil(2);
            if self.error(middle) <= error { low = middle } else { high = middle - 1 }
        }
        low
    }
}

/// By how much `b` is shifted against `a`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The Hodges-Lehmann estimate: the median of all differences of a value of `b` and one of `a`.
    pub estimate: f64,
    /// Its interval.
    pub interval: Interval,
}

impl Shift {
    /// The shift from `a` to `b`, whose interval misses the true one with a chance of at most `error`; None where
    /// either is empty. Values may be infinite: two infinite ones of the same sign do not differ.
    pub fn between(a: &[f64], b: &[f64], error: f64) -> Option<Self> {
        Self::with_rank(a, b, RankSum::of(a.len(), b.len()).rank_within(error))
    }

    /// [`Shift::between`] where the rank of the interval's ends is known already.
    pub fn with_rank(a: &[f64], b: &[f64], rank: usize) -> Option<Self> {
        let difference = |a: f64, b: f64| if a == b { 0.0 } else { b - a };
        let mut differences: Vec<f64> =
            a.iter().flat_map(|a| b.iter().map(move |b| difference(*a, *b))).collect();
        differences.sort_unstable_by(f64::total_cmp);
        let estimate = median(&differences)?;
        let interval = match rank.checked_sub(1) {
            Some(place) => Interval {
                low: differences[place],
                high: differences[differences.len() - 1 - place],
            },
            None => Interval::EVERYTHING,
        };
        Some(Self { estimate, interval })
    }
}

fn cumulative(a: usize, b: usize) -> Vec<f64> {
    // chances[i][u]: the probability of u wins of i values of a over the values of b included so far.
    let mut chances = vec![vec![0.0; a * b + 1]; a + 1];
    chances.iter_mut().for_each(|row| row[0] = 1.0);
    for j in 1..=b {
        for i in 1..=a {
            let (earlier, rest) = chances.split_at_mut(i);
            // The greatest of all values is from a with probability i / (i + j), and then wins against all j of b.
            let of_a = i as f64 / (i + j) as f64;
            for u in 0..=a * b {
                let won = if u >= j { earlier[i - 1][u - j] } else { 0.0 };
                rest[0][u] = of_a * won + (1.0 - of_a) * rest[0][u];
            }
        }
    }
    let mut below = 0.0;
    chances[a]
        .iter()
        .map(|chance| {
            below += chance;
            below
        })
        .collect()
}

/// Beyond, the approximation is as good and far cheaper.
const EXACT_UP_TO: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;
    use unit::Seed;

    /// Hollander, Wolfe and Chicken, table A.6: for m = n = 5 the chance of at most 2 wins is 4 of 252.
    #[test]
    fn the_distribution_is_that_of_the_tables() {
        let five = RankSum::of(5, 5);
        assert!((five.at_most(2) - 4.0 / 252.0).abs() < 1e-12);
        assert!((five.at_most(0) - 1.0 / 252.0).abs() < 1e-12);
        assert_eq!(five.at_most(25), 1.0);
        assert_eq!(five.rank_within(0.05), 3);
        assert_eq!(
            RankSum::of(3, 3).rank_within(0.05),
            0,
            "three and three can never be that sure"
        );
    }

    #[test]
    fn large_samples_use_the_approximation_at_the_place_where_the_exact_one_would_be() {
        let (exact, large) = (RankSum::of(50, 50), RankSum::of(51, 51));
        let share = |sum: &RankSum| sum.rank_within(0.01) as f64 / sum.pairs() as f64;
        assert!((share(&exact) - share(&large)).abs() < 0.004);
    }

    #[test]
    fn a_failure_is_an_infinite_value_and_two_of_them_do_not_differ() {
        let never = [f64::INFINITY; 6];
        let some = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5];
        let shift = Shift::between(&some, &never, 0.05).unwrap();
        assert_eq!((shift.estimate, shift.interval.low), (f64::INFINITY, f64::INFINITY));
        let same = Shift::between(&never, &never, 0.05).unwrap();
        assert_eq!((same.estimate, same.interval.low, same.interval.high), (0.0, 0.0, 0.0));
        assert_eq!(Shift::between(&[], &some, 0.05), None);
    }

    #[test]
    fn the_interval_misses_the_truth_as_seldom_as_it_says() {
        let mut random = Seed(5).random();
        let mut draw = |centre: f64| -> Vec<f64> {
            // A skewed population: what the rule must bear.
            (0..12).map(|_| centre - (1.0 - random.next_fraction()).ln()).collect()
        };
        let missed = (0..4_000)
            .filter(|_| {
                !Shift::between(&draw(0.0), &draw(0.7), 0.05).unwrap().interval.contains(0.7)
            })
            .count();
        // 5 % of 4000 and three standard deviations; well above nothing.
        assert!((100..=242).contains(&missed), "{missed}");
    }
}
