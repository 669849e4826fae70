use super::*;
use serde::Deserialize;

#[derive(Deserialize)]
struct Vectors {
    paired: Vec<Paired>,
    two_samples: Vec<TwoSamples>,
    bootstrap: Vec<Bootstrap>,
    holm: Holm,
    normal: Vec<Cdf>,
    quantiles: Vec<Quantile>,
}

#[derive(Deserialize)]
struct Paired {
    values: Vec<f64>,
    wilcoxon_p: f64,
    hodges_lehmann: f64,
    intervals: Vec<Exact>,
}

#[derive(Deserialize)]
struct Exact {
    error: f64,
    rank: usize,
    low: Option<f64>,
    high: Option<f64>,
}

#[derive(Deserialize)]
struct TwoSamples {
    a: Vec<f64>,
    b: Vec<f64>,
    p: f64,
}

#[derive(Deserialize)]
struct Bootstrap {
    values: Vec<f64>,
    median: f64,
    q90: f64,
    low: f64,
    high: f64,
}

#[derive(Deserialize)]
struct Holm {
    p: Vec<f64>,
    adjusted: Vec<f64>,
}

#[derive(Deserialize)]
struct Cdf {
    x: f64,
    cdf: f64,
}

#[derive(Deserialize)]
struct Quantile {
    p: f64,
    x: f64,
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("../../../../vectors/stats/scipy.json")).unwrap()
}

fn close(ours: f64, theirs: f64, relative: f64) {
    assert!(
        ours == theirs || (ours - theirs).abs() <= relative * theirs.abs(),
        "{ours} is not {theirs}"
    );
}

#[test]
fn signed_rank_p_values_are_those_of_scipy() {
    for case in vectors().paired {
        close(signed_rank_p(&case.values), case.wilcoxon_p, 1e-9);
    }
}

#[test]
fn hodges_lehmann_estimates_and_intervals_are_those_of_numpy() {
    for case in vectors().paired {
        let walsh = WalshAverages::of(&case.values);
        close(walsh.estimate().unwrap(), case.hodges_lehmann, 1e-12);
        for exact in case.intervals {
            let rank = walsh.distribution().rank_within(exact.error);
            assert_eq!(rank, exact.rank, "n {}, error {}", case.values.len(), exact.error);
            let interval = walsh.interval(rank);
            close(interval.low, exact.low.unwrap_or(interval.low), 1e-12);
            close(interval.high, exact.high.unwrap_or(interval.high), 1e-12);
            assert_eq!(rank == 0, interval == Interval::EVERYTHING);
        }
    }
}

#[test]
fn mann_whitney_p_values_are_those_of_scipy() {
    for case in vectors().two_samples {
        close(mann_whitney(&case.a, &case.b), case.p, 1e-9);
        close(mann_whitney(&case.b, &case.a), case.p, 1e-9);
    }
}

#[test]
fn bootstrap_intervals_of_the_median_are_those_of_scipy() {
    for case in vectors().bootstrap {
        let summary = Summary::of(&case.values, Seed(7)).unwrap();
        close(summary.median, case.median, 1e-12);
        close(quantile(&case.values, 0.9).unwrap(), case.q90, 1e-12);
        let width = case.high - case.low;
        let [low, high] = summary.ci95;
        assert!((low - case.low).abs() < 0.15 * width, "{low} {}", case.low);
        assert!((high - case.high).abs() < 0.15 * width, "{high} {}", case.high);
    }
}

#[test]
fn holm_adjusts_as_its_definition_says() {
    let case = vectors().holm;
    holm(&case.p).into_iter().zip(case.adjusted).for_each(|(ours, its)| close(ours, its, 1e-12));
}

#[test]
fn the_normal_distribution_is_that_of_scipy() {
    for case in vectors().normal {
        close(normal_cdf(case.x), case.cdf, 1e-12);
    }
    for case in vectors().quantiles {
        assert!((normal_quantile(case.p) - case.x).abs() < 1e-9, "{}", case.p);
    }
}

#[test]
fn the_exact_distribution_meets_the_normal_one_where_it_ends() {
    let (exact, approximate) = (SignedRank::of(120), SignedRank::of(121));
    let share = |d: &SignedRank, at: f64| d.at_most((d.averages() as f64 * at) as usize);
    for at in [0.3, 0.4, 0.5] {
        assert!((share(&exact, at) - share(&approximate, at)).abs() < 0.002, "{at}");
    }
}

#[test]
fn nothing_is_said_of_no_values() {
    assert_eq!(median(&[]), None);
    assert_eq!(Summary::of(&[], Seed(1)), None);
    assert_eq!(WalshAverages::of(&[]).estimate(), None);
    assert_eq!(signed_rank_p(&[]), 1.0);
    assert_eq!(mann_whitney(&[], &[1.0]), 1.0);
}

#[test]
fn a_failure_widens_the_interval_to_infinity_on_its_side_alone() {
    let mut values = vec![0.01, -0.01, 0.02, 0.0, -0.02, 0.01, 0.015, -0.005, 0.0];
    values.push(f64::INFINITY);
    let interval = WalshAverages::of(&values).interval(1);
    assert!(interval.low.is_finite() && interval.high == f64::INFINITY);
}

#[test]
fn failures_on_both_sides_say_nothing() {
    let values = [f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY, f64::NEG_INFINITY];
    let walsh = WalshAverages::of(&values);
    assert_eq!(walsh.estimate(), Some(0.0));
    assert_eq!(walsh.interval(1), Interval::EVERYTHING);
}

#[test]
fn a_family_never_spends_more_than_it_has() {
    for family in [
        vec![10; 9],
        vec![8; 9],
        vec![8, 8, 8, 14, 14, 14, 14, 14, 14],
        vec![6; 3],
        vec![0, 3, 200],
    ] {
        let levels = spend(&family, 0.05);
        let spent: f64 = levels.iter().map(|level| level.error).sum();
        assert!(spent <= 0.05 + 1e-12, "{family:?}: {spent}");
    }
}

#[test]
fn equal_comparisons_get_at_least_the_rank_of_bonferroni() {
    for (blocks, comparisons) in [(9, 9), (10, 9), (14, 30), (30, 100)] {
        let rank = SignedRank::of(blocks).rank_within(0.05 / comparisons as f64);
        assert!(rank > 0);
        let levels = spend(&vec![blocks; comparisons], 0.05);
        assert!(levels.iter().all(|level| level.rank >= rank));
    }
}

#[test]
fn where_not_all_can_be_paid_for_the_important_ones_are() {
    let levels = spend(&[8; 9], 0.05);
    let ranks: Vec<_> = levels.iter().map(|level| level.rank).collect();
    assert_eq!(ranks, [1, 1, 1, 1, 1, 1, 0, 0, 0]);
}

#[test]
fn the_least_number_of_blocks_is_the_least() {
    for comparisons in [1, 3, 9, 100] {
        let blocks = blocks_for_any_interval(comparisons, 0.05);
        let affords = |n| spend(&vec![n; comparisons], 0.05).iter().all(|level| level.rank > 0);
        assert!(affords(blocks) && !affords(blocks - 1), "{comparisons}: {blocks}");
    }
}
