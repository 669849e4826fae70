//! Counts of yes and no: exact intervals and an exact test.

use super::Interval;

/// The interval of Clopper and Pearson ("The Use of Confidence or Fiducial Limits Illustrated in the Case of the
/// Binomial", 1934) for a probability of success, from `successes` in `trials`.
pub fn clopper_pearson(successes: u32, trials: u32, confidence: f64) -> Interval {
    let tail = (1.0 - confidence) / 2.0;
    let at_most = |chance: f64, count: u32| binomial_cdf(count, trials, chance);
    // At the ends of the interval the data are just at the tail of the distribution.
    let low = match successes {
        0 => 0.0,
        _ => halve(|chance| 1.0 - at_most(chance, successes - 1) < tail),
    };
    let high =
        if successes >= trials { 1.0 } else { halve(|chance| at_most(chance, successes) > tail) };
    Interval { low, high }
}

/// The probability of at most `count` successes in `trials`, each with probability `chance`.
pub fn binomial_cdf(count: u32, trials: u32, chance: f64) -> f64 {
    if count >= trials || chance <= 0.0 {
        return 1.0;
    }
    if chance >= 1.0 {
        return 0.0;
    }
    let one = |k: u32| {
        let logs = f64::from(k) * chance.ln() + f64::from(trials - k) * (-chance).ln_1p();
        (ln_choose(trials, k) + logs).exp()
    };
    (0..=count).map(one).sum::<f64>().min(1.0)
}

/// Fisher's exact test, two-sided: the p-value of "both have the same chance", with `a` of `of_a` against `b` of
/// `of_b`: all tables with these sums that are no likelier than this one.
pub fn fisher(a: u32, of_a: u32, b: u32, of_b: u32) -> f64 {
    let (all, hits) = (of_a + of_b, a + b);
    let log = |k: u32| ln_choose(of_a, k) + ln_choose(of_b, hits - k) - ln_choose(all, hits);
    let this = log(a);
    // As in SciPy: tables that differ only by rounding count as equally likely.
    const ROUNDING: f64 = 1e-7;
    let range = hits.saturating_sub(of_b)..=hits.min(of_a);
    range.map(log).filter(|&log| log <= this + ROUNDING).map(f64::exp).sum::<f64>().min(1.0)
}

fn ln_choose(n: u32, k: u32) -> f64 {
    let k = k.min(n - k);
    (1..=k).map(|i| (f64::from(n - k + i) / f64::from(i)).ln()).sum()
}

/// The chance at which `is_below` ends to hold.
fn halve(is_below: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if is_below(middle) { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

const HALVINGS: u32 = 50;
