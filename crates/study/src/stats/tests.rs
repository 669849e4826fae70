use super::*;
use serde::Deserialize;
use std::cmp::Ordering;

#[derive(Deserialize)]
struct Vectors {
    paired: Vec<Paired>,
    two_samples: Vec<TwoSamples>,
    bootstrap: Vec<Bootstrap>,
    holm: Holm,
    normal: Vec<Cdf>,
    quantiles: Vec<Quantile>,
    dips: Vec<Dip>,
    dip_quantiles: Vec<DipQuantile>,
    equivalence: Vec<Equivalence>,
    fisher: Vec<Table>,
    binomial: Vec<Share>,
}

#[derive(Deserialize)]
struct Dip {
    values: Vec<f64>,
    dip: f64,
}

#[derive(Deserialize)]
struct DipQuantile {
    n: usize,
    share: f64,
    dip: f64,
}

#[derive(Deserialize)]
struct Equivalence {
    values: Vec<f64>,
    bound: f64,
    below: f64,
    above: f64,
    within: f64,
}

#[derive(Deserialize)]
struct Table {
    a: u32,
    of_a: u32,
    b: u32,
    of_b: u32,
    p: f64,
}

#[derive(Deserialize)]
struct Share {
    successes: u32,
    trials: u32,
    low: f64,
    high: f64,
    cdf: f64,
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
fn rank_sums_are_distributed_as_scipy_says() {
    for case in vectors().two_samples {
        let pairs = case.a.iter().flat_map(|a| case.b.iter().map(move |b| a.total_cmp(b)));
        let pairs: Vec<Ordering> = pairs.collect();
        let wins = |which| pairs.iter().filter(|pair| **pair == which).count();
        let least = wins(Ordering::Less).min(wins(Ordering::Greater));
        // The distribution is that without ties.
        if wins(Ordering::Equal) == 0 {
            let distribution = RankSum::of(case.a.len(), case.b.len());
            close((2.0 * distribution.at_most(least)).min(1.0), case.p, 1e-9);
        }
    }
}

#[test]
fn zeros_and_ties_count_against_a_difference() {
    let p = |values: &[f64]| WalshAverages::of(values).p_differs();
    let clear = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    close(p(&clear), 2.0 / 64.0, 1e-12);
    // Wilcoxon would leave the zero out. Here it is a value on the other side, with the least rank.
    close(p(&[&clear[..], &[0.0]].concat()), p(&[&clear[..], &[-0.5]].concat()), 1e-12);
    // The average of 2 and -2 is 0 and counts against: so does -2 where it is larger by anything.
    close(p(&[1.0, 2.0, 3.0, 4.0, 5.0, -2.0]), p(&[1.0, 2.0, 3.0, 4.0, 5.0, -2.1]), 1e-12);
}

#[test]
fn bootstrap_intervals_of_the_median_are_those_of_scipy() {
    for case in vectors().bootstrap {
        let summary = Summary::of(&case.values, Seed(7)).unwrap();
        close(summary.median, case.median, 1e-12);
        close(quantile(&case.values, 0.9).unwrap(), case.q90, 1e-12);
        let width = case.high - case.low;
        let [low, high] = summary.ci95.unwrap();
        assert!((low - case.low).abs() < 0.15 * width, "{low} {}", case.low);
        assert!((high - case.high).abs() < 0.15 * width, "{high} {}", case.high);
    }
}

#[test]
fn a_median_of_fewer_than_six_has_no_interval() {
    let of = |n: u32| Summary::of(&(0..n).map(f64::from).collect::<Vec<_>>(), Seed(1)).unwrap();
    for n in 1..6 {
        assert_eq!((of(n).ci95, of(n).min, of(n).max), (None, 0.0, f64::from(n - 1)));
    }
    assert!(of(6).ci95.is_some());
    let percentiles = |trials| Percentiles::of(&vec![vec![1.0; 20]; trials], Seed(1)).unwrap();
    assert_eq!(percentiles(5).at[0].ci95, None);
    assert!(percentiles(6).at[0].ci95.is_some());
    assert_eq!(LEAST_FOR_INTERVAL, 6);
}

#[test]
fn holm_adjusts_as_statsmodels_does() {
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
    assert_eq!(WalshAverages::of(&[]).p_differs(), 1.0);
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

#[test]
fn dips_are_those_of_the_diptest_package() {
    for case in vectors().dips {
        close(dip(&case.values), case.dip, 1e-9);
    }
}

#[test]
fn one_sided_tests_and_equivalence_are_those_of_scipy() {
    for case in vectors().equivalence {
        let walsh = WalshAverages::of(&case.values);
        close(walsh.p_below(case.bound), case.below, 1e-9);
        close(walsh.p_above(-case.bound), case.above, 1e-9);
        close(walsh.p_within(case.bound), case.within, 1e-9);
    }
    for case in vectors().paired {
        let mut sizes: Vec<f64> = case.values.iter().map(|value| value.abs()).collect();
        sizes.sort_unstable_by(f64::total_cmp);
        sizes.dedup();
        if sizes.len() == case.values.len() {
            close(WalshAverages::of(&case.values).p_differs(), case.wilcoxon_p, 1e-9);
        }
    }
}

#[test]
fn fishers_test_and_binomial_intervals_are_those_of_scipy() {
    for case in vectors().fisher {
        close(fisher(case.a, case.of_a, case.b, case.of_b), case.p, 1e-9);
    }
    for case in vectors().binomial {
        let interval = clopper_pearson(case.successes, case.trials, 0.95);
        assert!((interval.low - case.low).abs() < 1e-9, "{} {}", interval.low, case.low);
        assert!((interval.high - case.high).abs() < 1e-9, "{} {}", interval.high, case.high);
        assert!((binomial_cdf(case.successes, case.trials, 0.05) - case.cdf).abs() < 1e-9);
    }
}

#[test]
fn an_interval_is_clear_of_zero_just_where_the_p_value_is_at_most_its_error() {
    let mut random = Seed(31).random();
    for _ in 0..300 {
        let n = 5 + random.below(12) as usize;
        let values: Vec<f64> = (0..n).map(|_| random.next_fraction() - 0.3).collect();
        let walsh = WalshAverages::of(&values);
        for error in [0.5, 0.1, 0.05, 0.01] {
            let rank = walsh.distribution().rank_within(error);
            let clear = rank > 0 && !walsh.interval(rank).contains(0.0);
            assert_eq!(clear, walsh.p_differs() <= error, "{values:?} at {error}");
        }
    }
}

#[test]
fn weighted_holm_passes_on_what_the_rejected_leave() {
    // 0.01 at 3/4 of 0.05, then 0.04 at all of it: both are rejected, which Bonferroni would not do.
    let steps = weighted_holm(&[0.01, 0.04], &[3.0, 1.0]);
    close(steps[0].adjusted, 0.01 / 0.75, 1e-12);
    assert_eq!((steps[1].adjusted, steps[1].share), (0.04, 1.0));
    // Without weight it waits for all others.
    let steps = weighted_holm(&[0.2, 1e-9], &[1.0, 0.0]);
    assert_eq!((steps[0].adjusted, steps[1].adjusted), (0.2, 0.2));
}

#[test]
fn looks_spend_all_and_no_more_and_each_pays_for_an_interval() {
    for (trials, error) in
        [(40, 0.05 / 9.0), (100, 0.05 / 63.0), (30, 0.05), (14, 0.05 / 9.0), (5, 0.05)]
    {
        let looks = looks(trials, error);
        let spent: f64 = looks.iter().map(|look| look.share).sum();
        assert!((spent - 1.0).abs() < 1e-12, "{looks:?}");
        assert_eq!(looks.last().map(|look| look.blocks), Some(trials));
        assert!(
            looks.is_sorted_by(|a, b| a.blocks < b.blocks) && looks.iter().all(|l| l.share > 0.0)
        );
        let early = &looks[..looks.len() - 1];
        let rank =
            |look: &Look| SignedRank::of(look.blocks as usize).rank_within(error * look.share);
        assert!(early.iter().all(|look| rank(look) > 0), "{looks:?}");
    }
    let blocks: Vec<u32> = looks(40, 0.05 / 9.0).iter().map(|look| look.blocks).collect();
    assert_eq!(blocks, [11, 17, 26, 40]);
}

fn normal_values(random: &mut unit::Random, n: usize, shift: f64) -> Vec<f64> {
    let one = |random: &mut unit::Random| {
        let radius = (-2.0 * (1.0 - random.next_fraction()).ln()).sqrt();
        shift + radius * (std::f64::consts::TAU * random.next_fraction()).cos()
    };
    (0..n).map(|_| one(random)).collect()
}

#[test]
fn a_detectable_difference_is_detected_four_times_of_five() {
    let mut known = Detectable::default();
    let mut random = Seed(5).child("detected").random();
    for (blocks, error) in [(9, 0.0045), (14, 0.0055), (14, 0.05), (40, 0.001), (80, 0.01)] {
        let rank = SignedRank::of(blocks).rank_within(error);
        let shift = known.deviations(blocks, rank).unwrap();
        let found = (0..400).filter(|_| {
            let walsh = WalshAverages::of(&normal_values(&mut random, blocks, shift));
            walsh.interval(rank).low > 0.0
        });
        let share = found.count() as f64 / 400.0;
        // Two and a half standard deviations of 400, and the draws' own.
        assert!((share - POWER).abs() < 0.065, "{blocks} blocks at {error}: {share}");
    }
    assert_eq!(known.deviations(5, 0), None);
}

#[test]
fn the_spread_of_normal_noise_is_its_standard_deviation() {
    let mut random = Seed(6).child("spread").random();
    for blocks in [8, 14, 50] {
        let spreads: Vec<f64> = (0..400)
            .filter_map(|_| {
                spread(&WalshAverages::of(&normal_values(&mut random, blocks, 3.0)), blocks)
            })
            .collect();
        let middle = median(&spreads).unwrap();
        assert!((middle - 1.0).abs() < 0.1, "{blocks}: {middle}");
    }
}

#[test]
fn one_heap_is_hardly_ever_called_two_and_two_are_found() {
    let (mut known, mut random) = (Default::default(), Seed(8).child("heaps").random());
    for n in [9, 14, 40] {
        let torn =
            (0..1000).filter(|_| modes(&normal_values(&mut random, n, 0.0), &mut known).is_some());
        let torn = torn.count();
        // 1 % of 1000 and three standard deviations; a normal dips less than the uniform that it is held against.
        assert!(torn <= 20, "{n}: {torn}");
    }
    let mut values = normal_values(&mut random, 21, 100.0);
    values.extend(normal_values(&mut random, 9, 140.0));
    let found = modes(&values, &mut known).unwrap();
    assert!((found.low.centre - 100.0).abs() < 1.0 && (found.high.centre - 140.0).abs() < 2.0);
    assert_eq!((found.low.share, found.high.share), (0.7, 0.3));
}

#[test]
fn dips_of_the_uniform_have_the_published_quantiles() {
    let mut known = Default::default();
    for case in vectors().dip_quantiles {
        let (p, wanted) = (dip_p(case.dip, case.n, &mut known), 1.0 - case.share);
        // Three and a half standard deviations of two thousand draws.
        let error = 3.5 * (wanted * case.share / 2000.0).sqrt() + 0.001;
        assert!((p - wanted).abs() < error, "{} values: {p} is not {wanted}", case.n);
    }
}

#[test]
fn percentiles_are_read_from_all_samples_together() {
    // Nine quick trials and one slow: the mean of the 99th percentiles would be 110, and none of them is that.
    let trial = |ms: f64| (0..100).map(|i| ms + f64::from(i) / 100.0).collect::<Vec<f64>>();
    let mut trials = vec![trial(10.0); 9];
    trials.push(trial(1000.0));
    let percentiles = Percentiles::of(&trials, Seed(1)).unwrap();
    assert_eq!((percentiles.n, percentiles.trials), (1000, 10));
    let at = |share: f64| percentiles.at.iter().find(|p| p.share == share).unwrap();
    assert!((at(0.5).ms - 10.55).abs() < 0.02, "{percentiles:?}");
    assert!((at(0.99).ms - 1000.9).abs() < 1.0, "{percentiles:?}");
    // The slow trial is in some draws and not in others: the interval says so.
    let [low, high] = at(0.95).ci95.unwrap();
    assert!(low < 11.1 && high > 1000.0, "{low} {high}");
    assert!((percentiles.max_ms - 1000.99).abs() < 1.0);
    assert_eq!(percentiles.at.len(), 5);
    // One sample in ten lies beyond the 90th percentile of ten.
    for n in [10, 12] {
        let few = Percentiles::of(&[vec![1.0; n]], Seed(1)).unwrap();
        assert_eq!(
            few.at.iter().map(|p| (p.share, p.ci95)).collect::<Vec<_>>(),
            [(0.5, None), (0.9, None)]
        );
    }
    assert_eq!(Percentiles::of(&[Vec::new()], Seed(1)), None);
}
