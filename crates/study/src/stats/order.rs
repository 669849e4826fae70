//! Order statistics.

/// The middle value, or the mean of the two; None without values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The value below which the share `at` of the values lies, between neighbours by straight lines (type 7 of
/// Hyndman and Fan, "Sample Quantiles in Statistical Packages", 1996); None of no values.
pub fn quantile(values: &[f64], at: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    quantile_of_sorted(&sorted, at)
}

pub(super) fn quantile_of_sorted(sorted: &[f64], at: f64) -> Option<f64> {
    let place = sorted.len().checked_sub(1)? as f64 * at.clamp(0.0, 1.0);
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    // If one of the ends is infinite, their difference is not a number to add.
    let is_low = low == high || low == f64::NEG_INFINITY;
    Some(if is_low { low } else { low + (high - low) * place.fract() })
}
