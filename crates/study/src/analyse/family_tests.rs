//! Families as a run has them, simulated: many tables alike, each judged as one, and how many have a wrong verdict.

use super::families::{Table, tables};
use super::tests::{header, measured, quick, verdict_on};
use super::{Rows, analyse};
use crate::comparison::Verdict;
use crate::experiment::{Experiment, LinkChoice};
use crate::family::FamilyKind;
use crate::verdict::Finding;

/// Seven contenders, `a` the baseline, over as many links as tables are wanted, eight blocks on each.
fn seven(tables: usize) -> Experiment {
    let mut experiment = quick();
    let model = experiment.contenders[0].clone();
    let named = |name: char| {
        let mut contender = model.clone();
        contender.name = name.to_string();
        contender
    };
    experiment.contenders = ('a'..='g').map(named).collect();
    experiment.baseline = "a".to_owned();
    let link = |index| LinkChoice {
        name: format!("link {index}"),
        figures: None,
        trials: 8,
        added: 0,
        warmup: 0,
    };
    experiment.links = (0..tables).map(link).collect();
    experiment
}

/// By how much a contender is slower than the baseline.
type Truth = fn(&str) -> f64;

fn simulated<T>(truth: Truth, skewed: bool, count: usize, of: impl Fn(&[Table<'_>]) -> T) -> T {
    let experiment = seven(count);
    let rows = measured(&experiment, |plan, random| {
        let uniform = |random: &mut unit::Random| random.next_fraction() - 0.5;
        let drawn = uniform(random) + uniform(random) + uniform(random);
        let noise = if skewed { (3.0 * drawn).exp() * 0.05 } else { 0.1 * drawn };
        100.0 * (truth(&plan.cell.contender.name) + noise).exp()
    });
    of(&tables(&experiment, &Rows::of(&rows)))
}

fn wrong(truth: Truth, pair: (&str, &str), finding: &Finding) -> bool {
    let effect = truth(pair.0) - truth(pair.1);
    match finding.verdict() {
        Verdict::Faster => effect >= 0.0,
        Verdict::Slower => effect <= 0.0,
        Verdict::Tie => effect.abs() > 0.05_f64.ln_1p(),
        Verdict::Undecided | Verdict::Unsupported => false,
    }
}

/// How many families of `kind` have a wrong verdict, and how many verdicts there are.
fn wrong_families(truth: Truth, kind: FamilyKind, tables: &[Table<'_>]) -> (usize, usize) {
    let mut counts = (0, 0);
    for table in tables {
        let of_kind = || table.found.iter().filter(|(versus, _)| versus.kind("a") == kind);
        let is_wrong = of_kind().any(|(versus, finding)| wrong(truth, versus.names(), finding));
        counts.0 += usize::from(is_wrong);
        counts.1 += of_kind().filter(|(_, f)| f.verdict() != Verdict::Undecided).count();
    }
    counts
}

const TABLES: usize = 600;
/// 5 % of 600 are 30; three and a half standard deviations of a binomial are 19. The seed is fixed.
const MOST: usize = 49;
const KINDS: [FamilyKind; 2] = [FamilyKind::WithBaseline, FamilyKind::AmongOthers];

#[test]
fn a_family_of_contenders_alike_has_a_false_verdict_in_five_per_cent_at_most() {
    for skewed in [false, true] {
        let alike: Truth = |_| 0.0;
        simulated(alike, skewed, TABLES, |tables| {
            for kind in KINDS {
                let (wrong, _) = wrong_families(alike, kind, tables);
                assert!(wrong <= MOST, "{kind:?}: {wrong} of {TABLES}");
                // An interval of everything would hold too: the error must be one that is used.
                assert!(wrong >= 3, "{kind:?}: {wrong} of {TABLES}");
            }
        });
    }
}

#[test]
fn a_family_in_which_some_differ_has_a_wrong_verdict_no_more_often() {
    // Clear differences hand their error on to pairs alike and to pairs as far apart as the margin.
    let mixed: Truth = |name| match name {
        "b" | "e" => 0.6,
        "c" => 1.3,
        "f" => 0.0488,
        _ => 0.0,
    };
    simulated(mixed, false, TABLES, |tables| {
        for kind in KINDS {
            let (wrong, decided) = wrong_families(mixed, kind, tables);
            assert!(wrong <= MOST, "{kind:?}: {wrong} of {TABLES}");
            assert!(decided > 3 * TABLES, "{kind:?}: {decided}");
        }
    });
}

#[test]
fn eight_blocks_decide_every_pair_of_seven_contenders_that_are_far_apart_and_in_one_table_as_in_five()
 {
    let apart: Truth = |name| 0.3 * f64::from(name.as_bytes()[0] - b'a');
    for count in [1, 5] {
        simulated(apart, false, count, |tables| {
            for table in tables {
                let decided = table.found.iter().filter(|(_, f)| f.verdict() == Verdict::Faster);
                assert_eq!(decided.count(), 21);
                let families: Vec<_> =
                    table.families.iter().map(|f| (f.kind, f.comparisons)).collect();
                assert_eq!(families, [(KINDS[0], 6), (KINDS[1], 15)]);
                assert!(table.families.iter().all(|family| family.error_spent <= 0.05));
            }
        });
    }
}

#[test]
fn what_stands_in_its_table_need_not_stand_over_the_whole_run() {
    let mut experiment = seven(5);
    let rows = measured(&experiment, |plan, random| {
        let slower = f64::from(plan.cell.contender.name.as_bytes()[0] - b'a');
        100.0 * (1.0 + slower) + random.next_fraction()
    });
    let result = analyse(&header(experiment.clone()), &rows);
    let first = &verdict_on(&result, "link 0").ranking[0].comparison;
    assert_eq!(first.verdict, Verdict::Slower);
    // 2/2^8 times the 105 comparisons of the run.
    assert!(first.p_holm.unwrap() <= 0.05 && first.p_run.unwrap() > 0.5, "{first:?}");
    assert_eq!((result.family.comparisons, result.family.families), (105, 10));
    experiment.links.iter_mut().for_each(|link| link.trials = 13);
    let rows = measured(&experiment, |plan, _| {
        100.0 * (1.0 + f64::from(plan.cell.contender.name.as_bytes()[0] - b'a'))
    });
    let result = analyse(&header(experiment), &rows);
    assert!(verdict_on(&result, "link 0").ranking[0].comparison.p_run.unwrap() <= 0.05);
}
