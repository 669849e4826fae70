use super::*;
use crate::stats::{Detectable, Interval, Level, SignedRank};
use crate::verdict::{Paired, Stage};
use unit::Seed;

fn gate(text: &str) -> Gate {
    text.parse().unwrap()
}

fn between(low: f64, high: f64) -> Interval {
    Interval { low: low.ln(), high: high.ln() }
}

fn place() -> GatePlace {
    let name = |name: &str| name.to_owned();
    GatePlace {
        workload: name("page"),
        link: name("3g"),
        contender: name("new"),
        against: Some(name("old")),
    }
}

/// Blocks of noise of `noise` about a ratio.
fn stage(ratio: f64, noise: f64, blocks: usize, allowed: f64, seed: Seed) -> Stage {
    let mut random = seed.random();
    let log = |_| ratio.ln() + noise * (2.0 * random.next_fraction() - 1.0);
    let logs: Vec<f64> = (0..blocks).map(log).collect();
    let distribution = SignedRank::of(blocks);
    let rank = distribution.rank_within(2.0 * allowed);
    Stage::only(Paired::of_logs(logs), Level { rank, error: distribution.error(rank) })
}

fn judged(text: &str, stage: Stage, allowed: f64) -> GateResult {
    let evidence = paired(&[stage], allowed, &mut Detectable::default());
    gate(text).judge(place(), &evidence)
}

#[test]
fn a_gate_that_cannot_be_read_says_what_was_expected() {
    for (text, part) in [
        ("load_ms", "neither < nor >"),
        ("<1.05", "names no metric"),
        ("load_ms<fast", "`fast` is no ratio"),
        ("load_ms<0", "no ratio above 0"),
        ("load_ms<-100%", "no ratio above 0"),
        ("load_ms<inf", "no ratio above 0"),
        ("load_ms< 5%", "write +5% for so much more"),
        ("load_ms<+5", "write +5% for so much more, 5 for the ratio"),
        ("load_ms<-5", "no ratio above 0"),
        ("new load_ms<1.05", "not two contenders"),
    ] {
        let error = text.parse::<Gate>().unwrap_err().to_string();
        assert!(error.contains(part) && error.contains("load_ms<1.05"), "{error}");
    }
    assert_eq!(gate("load_ms < +5%").to_string(), "load_ms<1.05");
    assert_eq!(gate(" new/old  load_ms < +5%").to_string(), "new/old load_ms<1.05");
}

#[test]
fn contenders_are_found_by_names_with_slashes_and_spaces() {
    let known = ["nginx h2", "a/b", "b", "a"];
    let pair = |text: &str| gate(text).pair(&known);
    assert_eq!(pair("nginx h2/a/b load_ms<1"), Ok(Some(["nginx h2", "a/b"])));
    assert_eq!(pair("a/b/b connections:http/1.1<1"), Ok(Some(["a/b", "b"])));
    assert_eq!(pair("load_ms<1"), Ok(None));
    let unknown = pair("nginx h3/b load_ms<1").unwrap_err().to_string();
    assert!(
        unknown.contains("did you mean `nginx h2`?") && unknown.contains("a/b, b"),
        "{unknown}"
    );
    assert!(pair("b/b load_ms<1").unwrap_err().to_string().contains("over itself"));
}

#[test]
fn the_whole_interval_decides_and_the_limit_itself_is_not_below_the_limit() {
    use GateOutcome::{Failed, Inconclusive, Passed};
    for (text, interval, outcome) in [
        ("load_ms<1.05", between(0.98, 1.04), Passed),
        ("load_ms<1.05", between(0.98, 1.06), Inconclusive),
        ("load_ms<1.05", between(1.06, 1.2), Failed),
        ("load_ms<1.05", between(1.05, 1.05), Failed),
        ("load_ms>0.95", between(0.96, 1.2), Passed),
        ("load_ms>0.95", between(0.9, 1.2), Inconclusive),
        ("load_ms>0.95", between(0.5, 0.9), Failed),
        ("load_ms<1.05", Interval::EVERYTHING, Inconclusive),
    ] {
        assert_eq!(gate(text).outcome(interval), outcome, "{text} over {interval:?}");
    }
}

#[test]
fn an_inconclusive_gate_says_what_could_have_been_found_and_what_would_decide() {
    let inconclusive = (0..200)
        .map(|seed| judged("load_ms<1.05", stage(1.04, 0.06, 14, 0.05, Seed(seed)), 0.05))
        .find(|result| result.outcome == GateOutcome::Inconclusive)
        .unwrap();
    let [below, above] = inconclusive.detectable.unwrap();
    assert!(below.0 < 1.05 && above.0 > 1.05 && above.0 < 1.2, "{inconclusive:?}");
    assert!(inconclusive.trials_needed.unwrap() > 14);
    assert_eq!(inconclusive.reason, None);
    // With four blocks nothing can be said at all.
    let short = judged("load_ms<1.05", stage(1.0, 0.001, 4, 0.05, Seed(1)), 0.05);
    assert_eq!((short.outcome, short.trials_needed), (GateOutcome::Inconclusive, Some(5)));
    assert!(short.reason.unwrap().contains("4 trials give no interval at 95.0 %"));
}

#[test]
fn a_difference_that_could_have_been_found_is_found_in_four_runs_of_five() {
    let noise = 0.06;
    let limits: Vec<f64> = (0..41)
        .filter_map(|seed| {
            judged("load_ms<1.05", stage(1.05, noise, 14, 0.05, Seed(seed)), 0.05).detectable
        })
        .map(|[_, above]| above.0)
        .collect();
    let middle = crate::stats::median(&limits).unwrap();
    let runs = 400;
    let failed = (0..runs).filter(|&index| {
        let stage = stage(middle, noise, 14, 0.05, Seed(77).nth(index));
        judged("load_ms<1.05", stage, 0.05).outcome == GateOutcome::Failed
    });
    let share = failed.count() as f64 / runs as f64;
    assert!((0.65..0.95).contains(&share), "{share} at {middle}");
}

/// Six trials of each, of which one is an outlier: their interval reaches 10 % to either side.
#[test]
fn a_gate_claims_to_find_no_less_than_its_interval_is_wide() {
    let values = [204.8, 205.2, 205.2, 205.3, 205.7, 227.0].map(f64::ln);
    let evidence = crate::gate::Unpaired::default().evidence(&values, &values, 0.05 / 6.0);
    let result = gate("load_ms<1.05").judge(place(), &evidence);
    assert_eq!(result.outcome, GateOutcome::Inconclusive);
    let half = 0.5 * (evidence.interval.high - evidence.interval.low);
    let [below, above] = result.detectable.unwrap();
    assert!(
        (above.0 / 1.05).ln() >= half - 1e-9 && (1.05 / below.0).ln() >= half - 1e-9,
        "{result:?}"
    );
    assert!(result.trials_needed.unwrap() > 10, "{result:?}");
}

#[test]
fn a_wrong_outcome_is_as_rare_as_the_error_says_on_either_side() {
    let runs = 2_000;
    let count = |ratio: f64, wanted: GateOutcome| {
        let outcomes = (0..runs).filter(|&index| {
            let stage = stage(ratio, 0.06, 12, 0.05, Seed(5).nth(index));
            judged("load_ms<1.05", stage, 0.05).outcome == wanted
        });
        outcomes.count()
    };
    // 5 % of 2000 and three standard deviations, at a ratio that lies at the limit.
    for outcome in [GateOutcome::Passed, GateOutcome::Failed] {
        assert!((50..=130).contains(&count(1.05, outcome)), "{outcome:?}");
    }
}

#[test]
fn what_failed_or_was_refused_never_passes() {
    let clear = paired(&[stage(1.0, 0.001, 14, 0.05, Seed(1))], 0.05, &mut Detectable::default());
    let judged = |evidence: &RatioEvidence| gate("load_ms<1.05").judge(place(), evidence);
    assert_eq!(judged(&clear).outcome, GateOutcome::Passed);
    let obstacle = Some("1 of 14 trials failed".to_owned());
    let failed = judged(&RatioEvidence { obstacle: obstacle.clone(), ..clear.clone() });
    assert_eq!((failed.outcome, failed.reason), (GateOutcome::Inconclusive, obstacle));
    let refused = judged(&RatioEvidence { refused: Some("refused".to_owned()), ..clear });
    assert_eq!((refused.outcome, refused.trials_needed), (GateOutcome::Inconclusive, None));
    let none = judged(&RatioEvidence::none("unsupported".to_owned()));
    assert_eq!((none.outcome, none.ratio), (GateOutcome::Inconclusive, None));
}

#[test]
fn all_gates_come_to_the_worst_of_them() {
    let result = |outcome| GateResult {
        outcome,
        ..gate("load_ms<1").judge(place(), &RatioEvidence::none(String::new()))
    };
    use GateOutcome::{Failed, Inconclusive, Passed};
    for (outcomes, whole) in [
        (vec![], Passed),
        (vec![Passed, Passed], Passed),
        (vec![Passed, Inconclusive], Inconclusive),
        (vec![Inconclusive, Failed, Passed], Failed),
    ] {
        assert_eq!(outcome_of(&outcomes.into_iter().map(result).collect::<Vec<_>>()), whole);
    }
}

#[test]
fn trials_that_give_an_interval_are_not_said_to_give_none() {
    let alike = |n: usize| -> Vec<f64> { (0..n).map(|index| 0.01 * index as f64).collect() };
    let judged = |a: usize, b: usize| {
        let evidence = Unpaired::default().evidence(&alike(a), &alike(b), 0.05);
        gate("load_ms<0.95").judge(place(), &evidence)
    };
    let unequal = judged(20, 2);
    assert_eq!((unequal.outcome, unequal.n), (GateOutcome::Inconclusive, 2));
    assert!(unequal.interval.unwrap()[0].0 > 0.0 && unequal.reason.is_none(), "{unequal:?}");
    let few = judged(2, 2);
    assert!(few.reason.unwrap().contains("2 trials give no interval"));
}
