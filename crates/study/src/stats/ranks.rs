//! Ranks with ties shared, doubled so that they are whole.

/// Twice the rank of each value: 2 for the least. Equal values share the mean of their ranks.
pub(super) fn doubled_ranks(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0; values.len()];
    let mut place = 0;
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        // Ranks place+1 ..= place+len. Twice their mean is the sum of the first and the last.
        let doubled = 2 * place + tied.len() + 1;
        tied.iter().for_each(|&index| ranks[index] = doubled);
        place += tied.len();
    }
    ranks
}

/// How large each group of equal values is.
pub(super) fn tie_sizes(values: &[f64]) -> Vec<usize> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.chunk_by(|a, b| a == b).map(<[f64]>::len).collect()
}
