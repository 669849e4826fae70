use super::*;
use crate::comparison::Ratio;
use crate::stats::{self, spend};
use proptest::prelude::*;
use std::sync::{LazyLock, Mutex};
use unit::{Random, Seed};

const RULE: Rule = Rule { margin: 0.05, comparisons: 9 };

/// The verdict on `scores` as one of nine comparisons alike.
fn judge(scores: &[(Score, Score)]) -> Finding {
    let paired = Paired::of(scores.iter().copied());
    let level = spend(&[paired.blocks(); RULE.comparisons], 0.05)[0];
    by_rule(&RULE, &[Stage::only(paired, level)])
}

/// What is drawn for one test serves all.
fn by_rule(rule: &Rule, stages: &[Stage]) -> Finding {
    static DETECTABLE: LazyLock<Mutex<Detectable>> = LazyLock::new(Mutex::default);
    rule.judge(stages, &mut DETECTABLE.lock().unwrap())
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

/// Five blocks, too few for a verdict, whose estimate and noise are just these.
fn pilot(effect: f64, noise: f64) -> Paired {
    let logs = (0..5).map(|i| stats::normal_quantile((f64::from(i) + 0.5) / 5.0));
    let logs: Vec<f64> = logs.collect();
    let seems = stats::spread(&stats::WalshAverages::of(&logs), 5).unwrap();
    Paired::of_logs(logs.iter().map(|log| effect + log * noise / seems).collect())
}

/// Of runs with as many blocks as the rule advises after such a pilot, the share whose verdict is `right`.
fn decided_as_advised(rule: Rule, effect: f64, noise: f64, right: &[Verdict]) -> f64 {
    const RUNS: u64 = 500;
    let level = |blocks| spend(&vec![blocks; rule.comparisons], 0.05)[0];
    let first = by_rule(&rule, &[Stage::only(pilot(effect, noise), level(5))]).comparison();
    let needed = first.trials_needed.unwrap() as usize;
    let decided = (0..RUNS).filter(|&index| {
        let mut random = Seed(77).nth(index).random();
        let logs = (0..needed).map(|_| effect + noise * normal(&mut random)).collect();
        let stage = Stage::only(Paired::of_logs(logs), level(needed));
        right.contains(&rule.verdict(repeated_interval(&[stage])))
    });
    decided.count() as f64 / RUNS as f64
}

#[test]
fn the_number_of_trials_that_would_decide_does_in_four_runs_of_five() {
    use Verdict::{Faster, Slower, Tie};
    for comparisons in [1, 9] {
        let rule = Rule { margin: 0.05, comparisons };
        for (effect, noise, right) in [
            (0.0, 0.1, &[Tie][..]),
            (0.0, 0.05, &[Tie]),
            // Within the margin: a tie, or as truly a difference.
            (0.01, 0.05, &[Tie, Slower]),
            (-0.02, 0.05, &[Tie, Faster]),
            (0.03, 0.06, &[Tie, Slower]),
            (-0.045, 0.06, &[Tie, Faster]),
            (0.08, 0.13, &[Slower]),
            (-0.345, 0.57, &[Faster]),
            (0.345, 0.27, &[Slower]),
        ] {
            let share = decided_as_advised(rule, effect, noise, right);
            // Three standard errors of 500 runs below four of five; above, since blocks come whole.
            let about = (0.745..0.9).contains(&share);
            assert!(about, "{effect} in noise of {noise}, one of {comparisons}: {share}");
        }
    }
}

/// The advice is as uncertain as the pilot that it comes from.
#[test]
fn the_number_that_a_run_of_twelve_advises_mostly_gives_the_right_verdict() {
    for (difference, noise, right) in
        [(0.08, 0.09, Verdict::Slower), (0.0, 0.05, Verdict::Tie), (0.01, 0.05, Verdict::Tie)]
    {
        let pairs = (0..60).filter_map(|index| {
            let seed = Seed(77).nth(index);
            let needed = judge(&planted(difference, noise, 12, seed)).comparison().trials_needed?;
            let again = judge(&planted(difference, noise, needed.min(400) as usize, seed.nth(1)));
            Some(again.verdict() == right)
        });
        let decided: Vec<bool> = pairs.collect();
        let right = decided.iter().filter(|right| **right).count();
        assert!(5 * right > 3 * decided.len(), "{difference}: {right} of {}", decided.len());
    }
}

#[test]
fn too_few_blocks_are_undecided_however_clear_they_look() {
    let finding = judge(&figures(&[1.0; 5], &[2.0; 5])).comparison();
    assert_eq!(finding.verdict, Verdict::Undecided);
    assert_eq!(finding.trials_needed, Some(9));
    assert_eq!(finding.reason.as_deref(), Some("5 blocks are too few for 9 comparisons at 95 %"));
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

/// Findings of a family in which pair i of three contenders is apart by what `truth` says, judged at `looks` and
/// stopped at the first one at which all pairs of a link are decided; with Holm's steps.
fn family(
    truth: &[[f64; 3]],
    looks: &[stats::Look],
    noise: f64,
    random: &mut Random,
) -> Vec<(f64, Verdict)> {
    let rule = Rule { margin: 0.05, comparisons: 3 * truth.len() };
    let each = 0.05 / rule.comparisons as f64;
    let (mut judged, mut effects) = (Vec::new(), Vec::new());
    for contenders in truth {
        let mut blocks: Vec<[f64; 3]> = Vec::new();
        let mut stages: [Vec<Stage>; 3] = Default::default();
        let mut findings = Vec::new();
        for look in looks {
            while blocks.len() < look.blocks as usize {
                blocks.push(contenders.map(|centre| centre + noise * normal(random)));
            }
            for (stages, (a, b)) in stages.iter_mut().zip([(0, 1), (0, 2), (1, 2)]) {
                let scores = blocks
                    .iter()
                    .map(|block| (Score::Figure(block[a].exp()), Score::Figure(block[b].exp())));
                let paired = Paired::of(scores);
                let distribution = stats::SignedRank::of(paired.blocks());
                let rank = distribution.rank_within(each * look.share);
                let level = Level { rank, error: distribution.error(rank) };
                stages.push(Stage { paired, level, share: look.share });
            }
            findings = stages.iter().map(|stages| by_rule(&rule, stages)).collect();
            if findings.iter().all(|finding| finding.verdict() != Verdict::Undecided) {
                break;
            }
        }
        judged.extend(findings.into_iter().zip(stages));
        effects.extend([(0, 1), (0, 2), (1, 2)].map(|(a, b)| contenders[a] - contenders[b]));
    }
    let p_values: Vec<f64> = judged.iter().map(|(finding, _)| finding.p_differs()).collect();
    let steps = stats::weighted_holm(&p_values, &vec![1.0; p_values.len()]);
    let stepped = judged.into_iter().zip(steps);
    let verdicts =
        stepped.map(|((finding, stages), step)| rule.stepped(finding, &stages, step).verdict());
    effects.into_iter().zip(verdicts).collect()
}

/// Whether a verdict is wrong of contenders that are truly `effect` apart, on the log scale.
fn is_wrong((effect, verdict): &(f64, Verdict)) -> bool {
    match verdict {
        Verdict::Faster => *effect >= 0.0,
        Verdict::Slower => *effect <= 0.0,
        Verdict::Tie => effect.abs() > 0.05_f64.ln_1p(),
        Verdict::Undecided | Verdict::Unsupported => false,
    }
}

/// How many of `runs` families have a wrong verdict, and how many verdicts there are in all.
fn wrong_families(truth: &[[f64; 3]], looks: &[stats::Look], runs: usize) -> (usize, usize) {
    let mut random = Seed(123).child("families").nth(looks.len() as u64).random();
    let (mut wrong, mut decided) = (0, 0);
    for _ in 0..runs {
        let found = family(truth, looks, 0.04, &mut random);
        wrong += usize::from(found.iter().any(is_wrong));
        decided += found.iter().filter(|(_, verdict)| *verdict != Verdict::Undecided).count();
    }
    (wrong, decided)
}

const ALIKE: [[f64; 3]; 3] = [[0.0; 3]; 3];
/// Clear differences that Holm's steps pass error on from, pairs alike and pairs as far apart as the margin.
const MIXED: [[f64; 3]; 3] = [[0.0, 0.0, 0.3], [0.0, 0.3, 0.6], [0.0, 0.0, 0.0488]];

#[test]
fn a_family_has_a_wrong_verdict_as_rarely_as_it_says_with_holms_steps() {
    for truth in [ALIKE, MIXED] {
        let (wrong, decided) = wrong_families(&truth, &stats::one_look(14), 400);
        // 5 % of 400 are 20; three and a half standard deviations are 15.
        assert!(wrong <= 35, "{wrong} of 400");
        assert!(decided > 0);
    }
}

#[test]
fn a_family_that_stops_early_has_a_wrong_verdict_no_more_often() {
    let looks = stats::looks(36, 0.05 / 9.0);
    assert!(looks.len() > 2, "{looks:?}");
    for truth in [ALIKE, MIXED] {
        let (wrong, decided) = wrong_families(&truth, &looks, 200);
        // 5 % of 200 are 10; three and a half standard deviations are 11.
        assert!(wrong <= 21, "{wrong} of 200");
        assert!(decided > 200, "{decided}");
    }
}

#[test]
fn holm_decides_what_the_familys_own_level_does_not() {
    // Eight pairs that differ beyond doubt leave their error to the ninth.
    let level = spend(&[14; 9], 0.05)[0];
    let stages = |seed| [Stage::only(Paired::of(planted(0.1, 0.1, 14, Seed(seed))), level)];
    let between = |finding: &Finding| (0.01..0.05).contains(&finding.p_differs());
    let seed = (0..100).find(|&seed| between(&by_rule(&RULE, &stages(seed)))).unwrap();
    let stages = stages(seed);
    let finding = by_rule(&RULE, &stages);
    assert_eq!(finding.verdict(), Verdict::Undecided, "{finding:?}");
    let mut p_values = vec![1e-6; 8];
    p_values.push(finding.p_differs());
    let steps = stats::weighted_holm(&p_values, &[1.0; 9]);
    let stepped = RULE.stepped(finding.clone(), &stages, steps[8]);
    let comparison = stepped.comparison();
    assert_eq!((comparison.verdict, comparison.reason), (Verdict::Slower, None));
    assert!(comparison.ci95.unwrap()[0].0 > 1.0 && (comparison.confidence - 0.95).abs() < 1e-9);
    // Where the others do not differ it stays as it was.
    let steps =
        stats::weighted_holm(&[[0.5; 8].as_slice(), &[finding.p_differs()]].concat(), &[1.0; 9]);
    assert_eq!(RULE.stepped(finding.clone(), &stages, steps[8]).verdict(), Verdict::Undecided);
}

#[test]
fn what_one_look_has_shown_the_next_does_not_take_back() {
    let early = planted(0.3, 0.01, 14, Seed(1));
    // What follows is noise that hides it.
    let late = [early.clone(), planted(0.0, 0.9, 14, Seed(2))].concat();
    let stage = |scores: Vec<(Score, Score)>, share: f64| {
        let paired = Paired::of(scores);
        let distribution = stats::SignedRank::of(paired.blocks());
        let rank = distribution.rank_within(0.05 * share);
        Stage { level: Level { rank, error: distribution.error(rank) }, paired, share }
    };
    let stages = [stage(early, 0.5), stage(late, 0.5)];
    assert_eq!(by_rule(&RULE, &stages[1..]).verdict(), Verdict::Undecided);
    assert_eq!(by_rule(&RULE, &stages).verdict(), Verdict::Slower);
}

#[test]
fn a_planted_difference_as_large_as_the_detectable_one_is_mostly_found() {
    let least = |seed: u64| judge(&planted(0.0, 0.03, 14, Seed(seed))).detectable().unwrap().0;
    let mut leasts: Vec<f64> = (0..41).map(least).collect();
    leasts.sort_unstable_by(f64::total_cmp);
    let found = (0..200).filter(|&index| {
        let seed = Seed(500).nth(index);
        let finding = judge(&planted(leasts[20] - 1.0, 0.03, 14, seed));
        finding.verdict() == Verdict::Slower
    });
    let share = found.count() as f64 / 200.0;
    assert!((share - 0.8).abs() < 0.15, "{share} find {}", leasts[20]);
}

#[test]
fn a_tie_is_a_tie_by_two_one_sided_tests() {
    for seed in 0..50 {
        let scores = planted(0.01, 0.02, 14, Seed(seed));
        let finding = judge(&scores);
        let level = spend(&[14; RULE.comparisons], 0.05)[0];
        let rejects = finding.p_within <= level.error / 2.0 + 1e-12;
        assert_eq!(finding.verdict() == Verdict::Tie, rejects, "{finding:?}");
    }
}

#[test]
fn lost_blocks_are_counted_into_the_trials_that_would_decide() {
    let scores = planted(0.02, 0.1, 10, Seed(5));
    let level = spend(&[10; RULE.comparisons], 0.05)[0];
    let needed = |invalid| {
        let paired = Paired::of(scores.clone()).with_invalid(invalid);
        by_rule(&RULE, &[Stage::only(paired, level)]).comparison().trials_needed.unwrap()
    };
    assert!(needed(10).abs_diff(2 * needed(0)) <= 1);
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
