use super::*;
use crate::stats::spend;
use proptest::prelude::*;
use unit::{Random, Seed};

const RULE: Rule = Rule { margin: 0.05, comparisons: 9 };

/// The verdict on `scores` as one of nine comparisons alike.
fn judge(scores: &[(Score, Score)]) -> Finding {
    let paired = Paired::of(scores.iter().copied());
    let level = spend(&[paired.blocks(); RULE.comparisons], 0.05)[0];
    RULE.judge(&paired, level)
}

fn figures(a: &[f64], b: &[f64]) -> Vec<(Score, Score)> {
    a.iter().zip(b).map(|(a, b)| (Score::Figure(*a), Score::Figure(*b))).collect()
}

fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.next_fraction()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.next_fraction()).cos()
}

/// Figures of `blocks` blocks in which the first is slower by `difference`: a block's mood of 10 % that both share
/// and noise of `noise` that they do not.
fn planted(difference: f64, noise: f64, blocks: usize, seed: Seed) -> Vec<(Score, Score)> {
    let mut random = seed.random();
    let mut block = || {
        let mood = 1000.0 * (0.1 * normal(&mut random)).exp();
        let mut figure =
            |factor: f64| Score::Figure(mood * factor * (noise * normal(&mut random)).exp());
        (figure(1.0 + difference), figure(1.0))
    };
    (0..blocks).map(|_| block()).collect()
}

fn verdicts(difference: f64, noise: f64, blocks: usize) -> Vec<Verdict> {
    let seeds = Seed(11).child("planted");
    (0..300).map(|i| judge(&planted(difference, noise, blocks, seeds.nth(i))).verdict()).collect()
}

fn share(verdicts: &[Verdict], verdict: Verdict) -> f64 {
    verdicts.iter().filter(|found| **found == verdict).count() as f64 / verdicts.len() as f64
}

#[test]
fn no_difference_is_a_tie_and_never_more() {
    let found = verdicts(0.0, 0.01, 14);
    assert!(share(&found, Verdict::Tie) > 0.99, "{found:?}");
}

#[test]
fn two_per_cent_lie_within_the_margin() {
    let found = verdicts(0.02, 0.01, 14);
    assert!(share(&found, Verdict::Tie) > 0.9);
    assert_eq!(share(&found, Verdict::Faster), 0.0);
}

#[test]
fn five_per_cent_are_slower_and_hardly_ever_a_tie() {
    let found = verdicts(0.05, 0.01, 14);
    assert!(share(&found, Verdict::Slower) > 0.95);
    // The true ratio is the margin itself: a tie is the interval's one-sided miss, at most 0.5 / 18.
    assert!(share(&found, Verdict::Tie) < 0.03);
}

#[test]
fn twenty_per_cent_are_found_in_noise_of_five() {
    let found = verdicts(0.2, 0.05, 14);
    assert!(share(&found, Verdict::Slower) > 0.95);
    let few = verdicts(0.2, 0.03, 9);
    assert!(share(&few, Verdict::Slower) > 0.95);
}

#[test]
fn noise_beyond_the_margin_is_undecided_and_says_how_many_trials_would_do() {
    let finding = judge(&planted(0.02, 0.1, 10, Seed(5))).comparison();
    assert_eq!(finding.verdict, Verdict::Undecided);
    let needed = finding.trials_needed.unwrap() as usize;
    assert!((20..2000).contains(&needed), "{needed}");
}

#[test]
fn the_number_of_trials_that_would_decide_mostly_does() {
    let mut decided = 0;
    for index in 0..60 {
        let seed = Seed(77).nth(index);
        let first = judge(&planted(0.08, 0.09, 12, seed));
        let Some(needed) = first.comparison().trials_needed else { continue };
        let again = judge(&planted(0.08, 0.09, needed.min(400) as usize, seed.nth(1)));
        decided += usize::from(again.verdict() != Verdict::Undecided);
    }
    assert!(decided > 25, "{decided} of 60");
}

#[test]
fn too_few_blocks_are_undecided_however_clear_they_look() {
    let finding = judge(&figures(&[1.0; 5], &[2.0; 5])).comparison();
    assert_eq!(finding.verdict, Verdict::Undecided);
    assert_eq!(finding.trials_needed, Some(9));
    assert_eq!(finding.reason.as_deref(), Some("5 blocks cannot carry 9 comparisons at 95 %"));
    assert_eq!(finding.ci95, Some([Ratio(0.0), Ratio(f64::INFINITY)]));
}

#[test]
fn a_contender_that_always_fails_is_slower_without_bound() {
    let finding = judge(&[(Score::Failed, Score::Figure(10.0)); 10]);
    assert_eq!(finding.verdict(), Verdict::Slower);
    assert_eq!(finding.comparison().ratio, Some(Ratio(f64::INFINITY)));
    assert_eq!(finding.reversed().verdict(), Verdict::Faster);
    assert_eq!(finding.reversed().comparison().ratio, Some(Ratio(0.0)));
}

#[test]
fn a_contender_that_fails_now_and_then_is_no_tie() {
    let mut scores = planted(0.0, 0.005, 14, Seed(3));
    assert_eq!(judge(&scores).verdict(), Verdict::Tie);
    for score in &mut scores[..6] {
        score.0 = Score::Failed;
    }
    let finding = judge(&scores).comparison();
    assert_eq!(finding.verdict, Verdict::Undecided);
    assert_eq!(finding.reason.as_deref(), Some("one of the two failed in 6 of 14 blocks"));
    assert_eq!(finding.trials_needed, None);
}

#[test]
fn two_that_always_fail_do_not_tie() {
    let finding = judge(&[(Score::Failed, Score::Failed); 12]).comparison();
    assert_eq!((finding.verdict, finding.n, finding.ratio), (Verdict::Undecided, 0, None));
    assert_eq!(finding.reason.as_deref(), Some("both failed in every block"));
}

#[test]
fn the_margin_is_the_same_either_way() {
    let rule = RULE;
    let edge = 0.05_f64.ln_1p();
    assert_eq!(rule.verdict(Interval { low: -edge, high: edge }), Verdict::Tie);
    let past = edge + 1e-9;
    assert_eq!(rule.verdict(Interval { low: 0.01, high: past }), Verdict::Slower);
    assert_eq!(rule.verdict(Interval { low: -past, high: -0.01 }), Verdict::Faster);
    assert_eq!(rule.verdict(Interval { low: -past, high: 0.0 }), Verdict::Undecided);
    assert_eq!(rule.verdict(Interval { low: 0.01, high: 0.02 }), Verdict::Tie);
}

#[test]
fn a_check_that_comes_to_another_verdict_withdraws_the_finding() {
    let slower = judge(&planted(0.5, 0.01, 14, Seed(1)));
    let tie = judge(&planted(0.0, 0.01, 14, Seed(2)));
    let withdrawn = slower.clone().checked_by(&tie).comparison();
    assert_eq!(withdrawn.verdict, Verdict::Undecided);
    assert_eq!(
        withdrawn.reason.as_deref(),
        Some("slower with inferred dependencies, tie with flat ones")
    );
    assert_eq!(slower.clone().checked_by(&slower), slower);
}

/// Three contenders alike on three links, noise shared between pairs as it is in a run: how often any of the nine
/// intervals misses the true ratio.
fn family_misses(blocks: [usize; 3], noise: impl Fn(&mut Random) -> f64) -> usize {
    let family: Vec<usize> = blocks.iter().flat_map(|&n| [n; 3]).collect();
    let levels = spend(&family, 0.05);
    let mut random = Seed(99).child("coverage").random();
    let mut run = || {
        let mut missed = false;
        for (link, &n) in blocks.iter().enumerate() {
            let drawn: Vec<[f64; 3]> = (0..n).map(|_| [0; 3].map(|_| noise(&mut random))).collect();
            for (pair, (a, b)) in [(0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
                let logs: Vec<f64> = drawn.iter().map(|block| block[a] - block[b]).collect();
                let interval = WalshAverages::of(&logs).interval(levels[3 * link + pair].rank);
                missed |= !interval.contains(0.0);
            }
        }
        missed
    };
    (0..FAMILIES).filter(|_| run()).count()
}

const FAMILIES: usize = 1500;

#[test]
fn all_intervals_of_a_family_hold_together_as_often_as_they_say() {
    // 5 % of 1500 are 75; three and a half standard deviations of a binomial are 30. The seed is fixed.
    for blocks in [[14, 14, 8], [10, 10, 10], [9, 12, 30]] {
        let misses = family_misses(blocks, normal);
        assert!(misses <= 105, "{blocks:?}: {misses}");
        // An interval of everything would hold too: it must be one that is used up.
        assert!(misses >= 15, "{blocks:?}: {misses}");
    }
}

#[test]
fn they_hold_in_skewed_noise_with_long_tails_too() {
    let misses = family_misses([14, 14, 8], |random| normal(random).exp().powi(2));
    assert!(misses <= 105, "{misses}");
}

fn score() -> impl Strategy<Value = Score> {
    prop_oneof![
        9 => (1.0..10_000.0).prop_map(Score::Figure),
        1 => Just(Score::Failed),
    ]
}

proptest! {
    #[test]
    fn a_is_faster_than_b_where_b_is_slower_than_a(
        scores in prop::collection::vec((score(), score()), 0..20),
    ) {
        let swapped: Vec<_> = scores.iter().map(|(a, b)| (*b, *a)).collect();
        let (forth, back) = (judge(&scores), judge(&swapped));
        prop_assert_eq!(forth.verdict(), back.verdict().reversed());
        let (forth, back) = (forth.reversed().interval, back.interval);
        for (ours, theirs) in [(forth.low, back.low), (forth.high, back.high)] {
            prop_assert!(ours == theirs || (ours - theirs).abs() < 1e-9);
        }
    }

    #[test]
    fn verdicts_do_not_depend_on_the_unit(
        pairs in prop::collection::vec((1.0..10_000.0_f64, 1.0..10_000.0_f64), 0..20),
        power in -20..20_i32,
    ) {
        // Powers of two scale without rounding.
        let unit = 2.0_f64.powi(power);
        let scores = |unit: f64| -> Vec<_> {
            pairs.iter().map(|(a, b)| (Score::Figure(a * unit), Score::Figure(b * unit))).collect()
        };
        prop_assert_eq!(judge(&scores(unit)), judge(&scores(1.0)));
    }

    #[test]
    fn verdicts_do_not_depend_on_the_order_of_blocks(
        mut scores in prop::collection::vec((score(), score()), 0..20),
        seed: u64,
    ) {
        let before = judge(&scores);
        Seed(seed).random().shuffle(&mut scores);
        prop_assert_eq!(judge(&scores), before);
    }

    #[test]
    fn the_estimate_lies_within_the_interval(
        scores in prop::collection::vec((score(), score()), 1..20),
    ) {
        let finding = judge(&scores);
        prop_assert!(finding.estimate.is_none_or(|estimate| finding.interval.contains(estimate)));
    }
}
