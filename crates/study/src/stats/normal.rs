//! The standard normal distribution, to fifteen digits.

use std::f64::consts::PI;

/// The chance that a standard normal is at most `x`.
pub fn normal_cdf(x: f64) -> f64 {
    match x {
        x if x < -SERIES_REACH => tail(-x),
        x if x > SERIES_REACH => 1.0 - tail(x),
        x => 0.5 + density(x) * series(x),
    }
}

/// The x that [`normal_cdf`] gives `chance` for; infinite at 0 and 1.
pub fn normal_quantile(chance: f64) -> f64 {
    match chance {
        c if c <= 0.0 => f64::NEG_INFINITY,
        c if c >= 1.0 => f64::INFINITY,
        c => {
            // Bisection: simple, and exact to the last digits of the distribution itself.
            let (mut low, mut high) = (-40.0, 40.0);
            for _ in 0..HALVINGS {
                let middle = 0.5 * (low + high);
                if normal_cdf(middle) < c { low = middle } else { high = middle }
            }
            0.5 * (low + high)
        }
    }
}

fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

/// Abramowitz and Stegun 26.2.11: x + x³/3 + x⁵/(3·5) + …
fn series(x: f64) -> f64 {
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term.abs() > sum.abs() * f64::EPSILON / 4.0 {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    sum
}

/// Abramowitz and Stegun 26.2.14: the continued fraction of the upper tail, from the inside out.
fn tail(x: f64) -> f64 {
    let fraction = (1..=FRACTION_DEPTH).rev().fold(x, |inner, k| x + f64::from(k) / inner);
    density(x) / fraction
}

/// Where the series has lost as many digits as the fraction still lacks.
const SERIES_REACH: f64 = 3.0;
const FRACTION_DEPTH: u32 = 150;
/// 80 / 2^70 is below the spacing of numbers near one.
const HALVINGS: u32 = 70;
