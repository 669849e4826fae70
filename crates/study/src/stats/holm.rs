//! Holm's step-down correction ("A Simple Sequentially Rejective Multiple Test Procedure", 1979), in its weighted
//! form: of the hypotheses left, the one with the least ratio of p-value to weight is tested at its share of alpha.

/// The p-values, adjusted so that rejecting those at most alpha keeps the chance of any false rejection at
/// alpha, however they depend on each other; in the order given.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let steps = weighted_holm(p_values, &vec![1.0; p_values.len()]);
    steps.into_iter().map(|step| step.adjusted).collect()
}

/// The result of Holm's procedure for one hypothesis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HolmStep {
    /// The adjusted p-value: at most alpha where the hypothesis is rejected.
    pub adjusted: f64,
    /// The share of alpha at which it was tested.
    pub share: f64,
}

/// Holm's procedure with `weights`, which must be fixed before any p-value is known. A hypothesis of weight 0 is
/// tested after all others are rejected.
pub fn weighted_holm(p_values: &[f64], weights: &[f64]) -> Vec<HolmStep> {
    // Stands for a weight of 0: negligible beside any other weight, and the same for all such hypotheses.
    const NEXT_TO_NOTHING: f64 = 1e-290;
    let weights: Vec<f64> = weights.iter().map(|weight| weight.max(NEXT_TO_NOTHING)).collect();
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    let ratio = |index: usize| p_values[index] / weights[index];
    order.sort_by(|&a, &b| ratio(a).total_cmp(&ratio(b)));
    let mut steps = vec![HolmStep { adjusted: 1.0, share: 0.0 }; p_values.len()];
    let mut least = 0.0_f64;
    for (place, &index) in order.iter().enumerate() {
        // Summed again each time: repeated subtraction would leave rounding errors where little is left.
        let left: f64 = order[place..].iter().map(|&other| weights[other]).sum();
        let share = weights[index] / left;
        least = least.max(p_values[index] / share).min(1.0);
        steps[index] = HolmStep { adjusted: least, share };
    }
    steps
}
