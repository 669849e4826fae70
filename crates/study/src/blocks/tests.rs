use super::*;
use crate::experiment::{Experiment, builtin};
use crate::plan::{Surroundings, trials};
use crate::record::without_figures;

fn plan() -> Vec<TrialPlan> {
    let mut quick: Experiment = builtin()[0].toml.parse().unwrap();
    quick.links.truncate(1);
    quick.links[0].trials = 2;
    trials(&quick, &Surroundings::default())
}

fn measured(plan: &TrialPlan) -> TrialRecord {
    without_figures(plan.clone(), Outcome::Measured, 0)
}

fn invalid(plan: &TrialPlan) -> TrialRecord {
    without_figures(plan.clone(), Outcome::Invalid { reason: "late".to_owned() }, 0)
}

fn block(plan: &[TrialPlan], number: u32) -> Vec<TrialPlan> {
    plan.iter().filter(|trial| !trial.warmup && trial.block == number).cloned().collect()
}

#[test]
fn keys_of_attempts_differ_and_the_seed_does_not() {
    let first = &plan()[0];
    let (second, third) = (first.again(), first.again().again());
    assert_eq!(second.key, format!("{}~1", first.key));
    assert_eq!(third.key, format!("{}~2", first.key));
    assert_eq!((third.seed, third.attempt), (first.seed, 2));
}

#[test]
fn without_rows_everything_is_to_run_in_its_order() {
    assert_eq!(outstanding(&plan(), &[]), plan());
}

#[test]
fn a_spoilt_block_runs_again_as_a_whole_and_last() {
    let plan = plan();
    let lost = block(&plan, 0);
    let mut rows: Vec<_> = plan.iter().take(plan.len() - 1).map(measured).collect();
    let place = rows.iter().position(|row| row.plan.key == lost[1].key).unwrap();
    rows[place] = invalid(&lost[1]);
    let left = outstanding(&plan, &rows);
    assert_eq!(left[0], plan[plan.len() - 1]);
    let again: Vec<_> = lost.iter().map(TrialPlan::again).collect();
    assert_eq!(left[1..], again);
    // Begun and interrupted: what is left of the attempt.
    rows.push(measured(&again[0]));
    assert_eq!(outstanding(&plan, &rows)[1..], again[1..]);
}

#[test]
fn a_block_is_given_up_after_the_last_attempt() {
    let plan = plan();
    let mut rows: Vec<_> = plan.iter().map(measured).collect();
    let mut attempt = block(&plan, 1);
    for _ in 0..MOST_ATTEMPTS {
        rows.extend(attempt.iter().map(invalid));
        attempt = attempt.iter().map(TrialPlan::again).collect();
    }
    assert_eq!(outstanding(&plan, &rows), []);
}

#[test]
fn warm_ups_do_not_run_again() {
    let plan = plan();
    let rows: Vec<_> =
        plan.iter().map(|t| if t.warmup { invalid(t) } else { measured(t) }).collect();
    assert_eq!(outstanding(&plan, &rows), []);
}

#[test]
fn the_first_whole_attempt_that_passed_counts() {
    let first = block(&plan(), 0);
    let again: Vec<_> = first.iter().map(TrialPlan::again).collect();
    let mut rows: Vec<_> = first.iter().map(measured).collect();
    rows[2] = invalid(&first[2]);
    let keys = |rows: &[TrialRecord]| -> Vec<String> {
        counted(rows).iter().map(|row| row.plan.key.clone()).collect()
    };
    assert_eq!(keys(&rows).len(), 4, "what there is, without another attempt");
    rows.push(measured(&again[0]));
    assert!(keys(&rows).iter().all(|key| !key.contains('~')), "half an attempt does not count");
    rows.extend(again[1..].iter().map(measured));
    assert!(keys(&rows).iter().all(|key| key.ends_with("~1")));
}

#[test]
fn rates_are_told_over_all_attempts() {
    let first = block(&plan(), 0);
    let mut rows: Vec<_> = first.iter().map(measured).collect();
    rows[0] = invalid(&first[0]);
    rows.extend(first.iter().map(|trial| measured(&trial.again())));
    let cells = audited(&rows);
    assert_eq!(cells[&first[0].cell.id()], Audited { trials: 2, invalid: 1 });
    assert_eq!(cells[&first[1].cell.id()], Audited { trials: 2, invalid: 0 });
}

#[test]
fn what_was_refused_for_its_times_alone_is_not_refused_as_a_count() {
    let trial = &block(&plan(), 0)[0];
    let refused = |reason: &str| TrialRecord {
        outcome: Outcome::Invalid { reason: reason.to_owned() },
        ..measured(trial)
    };
    for (reason, invalid) in [("the machine was busy: 40 %", 0), ("it did other work", 1)] {
        let cells = audited_counts(&[refused(reason)]);
        assert_eq!(cells[&trial.cell.id()], Audited { trials: 1, invalid });
    }
}

#[test]
fn attempts_anew_end_where_half_of_all_blocks_are_spoilt() {
    let mut quick: Experiment = builtin()[0].toml.parse().unwrap();
    quick.links.truncate(1);
    quick.links[0].trials = 10;
    let plan = trials(&quick, &Surroundings::default());
    let mut rows: Vec<_> = plan.iter().map(invalid).collect();
    let anew = outstanding(&plan, &rows);
    assert_eq!(anew.len(), 5 * 4, "five of ten blocks, four contenders each");
    rows.extend(anew.iter().map(invalid));
    assert_eq!(outstanding(&plan, &rows), []);
}
