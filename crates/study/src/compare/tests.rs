use super::*;
use crate::experiment::{Experiment, builtin};
use crate::metric;
use crate::plan::{Surroundings, trials};
use crate::record::{HostFacts, ROWS_SCHEMA, without_figures};
use crate::schema_file;
use unit::Seed;

fn header() -> RunHeader {
    let experiment: Experiment = builtin()[0].toml.parse().unwrap();
    RunHeader {
        schema: ROWS_SCHEMA.to_owned(),
        version: "0.1.0".to_owned(),
        experiment,
        started_unix_ms: 0,
        host: HostFacts::default(),
        command_line: Vec::new(),
        shard: None,
        machines: Vec::new(),
        missing: Vec::new(),
    }
}

/// Rows with noise of 2 %, each load time times what `factor` says of its contender.
fn rows(seed: u64, factor: impl Fn(&str) -> f64) -> Vec<TrialRecord> {
    let mut random = Seed(seed).random();
    let row = |plan: crate::plan::TrialPlan| {
        let load =
            100.0 * factor(&plan.cell.contender.name) * (0.99 + 0.02 * random.next_fraction());
        let mut row = without_figures(plan, Outcome::Measured, 0);
        row.metrics = [(metric::LOAD_MS, load), (metric::CONNECTIONS, 6.0)]
            .map(|(name, value)| (name.to_owned(), value))
            .into();
        row
    };
    trials(&header().experiment, &Surroundings::default()).into_iter().map(row).collect()
}

fn compared(b: &[TrialRecord], gates: &[&str]) -> RunComparison {
    let (header, a) = (header(), rows(1, |_| 1.0));
    let gates = gates.iter().map(|gate| gate.parse().unwrap()).collect();
    let gates = Gates { gates, ..Gates::default() };
    let run = |name, rows| Run { name, header: &header, rows };
    compare(run("a", &a), run("b", b), &Wanted { gates, ..Wanted::default() })
}

fn outcomes(comparison: &RunComparison, contender: &str) -> Vec<GateOutcome> {
    let own = comparison.gates.iter().filter(|gate| gate.place.contender == contender);
    own.map(|gate| gate.outcome).collect()
}

#[test]
fn a_run_against_one_like_it_is_a_tie_and_passes() {
    let comparison = compared(&rows(2, |_| 1.0), &["load_ms<1.02", "connections<1.01"]);
    assert_eq!(comparison.changes.len(), 24, "twelve cells, two metrics");
    assert!(comparison.changes.iter().all(|change| change.change == Change::Tie));
    assert_eq!(comparison.outcome(), GateOutcome::Passed);
    assert!(comparison.differences.is_empty(), "{:?}", comparison.differences);
}

#[test]
fn a_change_beyond_the_gate_fails_it_in_its_cells_alone() {
    let slower = rows(2, |contender| if contender == "h2" { 1.2 } else { 1.0 });
    let comparison = compared(&slower, &["load_ms<1.05"]);
    assert_eq!(outcomes(&comparison, "h2"), [GateOutcome::Failed; 3]);
    assert_eq!(outcomes(&comparison, "h1"), [GateOutcome::Passed; 3]);
    let h2 = comparison.changes.iter().find(|change| change.cell.contender == "h2").unwrap();
    assert_eq!(h2.change, Change::Higher);
    assert!((h2.ratio.unwrap().0 - 1.2).abs() < 0.01);
}

#[test]
fn noise_across_the_limit_is_inconclusive() {
    let comparison = compared(&rows(2, |_| 1.2), &["load_ms<1.2"]);
    assert!(comparison.gates.iter().all(|gate| gate.outcome == GateOutcome::Inconclusive));
}

#[test]
fn a_gate_for_an_improvement_fails_on_a_tie_and_passes_on_the_improvement() {
    let outcome = |factor, gate| compared(&rows(2, |_| factor), &[gate]).outcome();
    assert_eq!(outcome(1.0, "load_ms<0.9"), GateOutcome::Failed);
    assert_eq!(outcome(0.8, "load_ms<-10%"), GateOutcome::Passed);
    assert_eq!(outcome(0.8, "load_ms>0.95"), GateOutcome::Failed);
}

/// The rows of which so many of a contender's are refused, on every link.
fn refused(rows: Vec<TrialRecord>, contender: &str, blocks: u32) -> Vec<TrialRecord> {
    let refuse = |mut row: TrialRecord| {
        if row.plan.cell.contender.name == contender && row.plan.block < blocks && !row.plan.warmup
        {
            row.outcome = Outcome::Invalid { reason: "late".to_owned() };
        }
        row
    };
    rows.into_iter().map(refuse).collect()
}

#[test]
fn what_a_race_refused_stays_refused() {
    // Fourteen blocks a cell: nine refused are too many, though five good ones with clear figures are left.
    let comparison = compared(&refused(rows(2, |_| 1.0), "h2", 9), &["load_ms<1.05"]);
    assert_eq!(outcomes(&comparison, "h2"), [GateOutcome::Inconclusive; 3]);
    assert_eq!(outcomes(&comparison, "h1"), [GateOutcome::Passed; 3]);
    assert_eq!(comparison.outcome(), GateOutcome::Inconclusive);
    let h2 = comparison.changes.iter().find(|change| change.cell.contender == "h2").unwrap();
    assert_eq!((h2.change, h2.ratio, h2.b.median), (Change::NotMeasured, None, None));
    let gate = comparison.gates.iter().find(|gate| gate.place.contender == "h2").unwrap();
    assert_eq!(gate.ratio, None);
    for reason in [&h2.reason, &gate.reason] {
        assert!(reason.as_ref().unwrap().starts_with("b: the audit refused 9 of "), "{reason:?}");
    }
}

#[test]
fn runs_of_which_one_was_disturbed_more_often_are_not_judged() {
    let comparison = compared(&refused(rows(2, |_| 1.2), "h2", 6), &["load_ms<1.05"]);
    assert_eq!(outcomes(&comparison, "h2"), [GateOutcome::Inconclusive; 3]);
    let h2 = comparison.changes.iter().find(|change| change.cell.contender == "h2").unwrap();
    assert_eq!(h2.change, Change::Undecided);
    assert!(
        h2.reason.as_ref().unwrap().contains("0 of 14 attempts of a and 6 of 14 attempts of b"),
        "{h2:?}"
    );
}

/// As in `race`. Hosted runners are busy, and gates between two runs there are on counts.
#[test]
fn counts_are_judged_where_the_audit_refused_the_times() {
    let busy = |reason: &str| {
        let mut rows = refused(rows(2, |_| 1.0), "h2", 99);
        for row in rows.iter_mut().filter(|row| matches!(row.outcome, Outcome::Invalid { .. })) {
            row.outcome = Outcome::Invalid { reason: reason.to_owned() };
        }
        compared(&rows, &["connections<1.01", "load_ms<1.05"])
    };
    use GateOutcome::{Inconclusive, Passed};
    let late = busy("the machine was busy: 40 %");
    assert_eq!(outcomes(&late, "h2"), [[Passed; 3], [Inconclusive; 3]].concat());
    let change = |metric: &str| {
        let is_it = |one: &&CellChange| one.cell.contender == "h2" && one.metric == metric;
        let change = late.changes.iter().find(is_it).unwrap();
        (change.change, change.b.n, change.b.median)
    };
    assert_eq!(change("connections"), (Change::Tie, 14, Some(6.0)));
    assert_eq!(change("load_ms"), (Change::NotMeasured, 0, None));
    assert_eq!(outcomes(&busy("it did other work"), "h2"), [Inconclusive; 6]);
}

#[test]
fn a_count_that_is_left_out_where_there_is_none_is_zero() {
    let mut later = rows(2, |_| 1.0);
    for row in &mut later {
        row.metrics.insert(metric::ROUNDS.to_owned(), 9.0);
        row.metrics.insert("connections:h2".to_owned(), 6.0);
    }
    let earlier = later.clone();
    for row in &mut later {
        row.metrics.insert(metric::MADE_AGAIN.to_owned(), 2.0);
        row.metrics.insert("connections:h3".to_owned(), 1.0);
    }
    let header = header();
    let gates = ["fetches_made_again<1.05", "connections:h3<1.05", "connections:h3>1.05"];
    let gates = gates.iter().map(|gate| gate.parse().unwrap()).collect();
    let wanted = Wanted { gates: Gates { gates, ..Gates::default() }, ..Wanted::default() };
    let [a, b] =
        [("a", &earlier), ("b", &later)].map(|(name, rows)| Run { name, header: &header, rows });
    let comparison = compare(a, b, &wanted);
    use GateOutcome::{Failed, Passed};
    assert_eq!(
        outcomes(&comparison, "h2"),
        [Failed, Failed, Passed].map(|outcome| [outcome; 3]).concat()
    );
    let h3 = comparison.changes.iter().find(|change| change.metric == "connections:h3").unwrap();
    assert_eq!((h3.change, h3.a.median, h3.b.median), (Change::Higher, Some(0.0), Some(1.0)));
}

#[test]
fn two_counts_that_are_left_out_because_they_are_zero_do_not_differ() {
    let mut same = rows(2, |_| 1.0);
    for row in &mut same {
        row.metrics.insert(metric::ROUNDS.to_owned(), 9.0);
        row.metrics.insert("connections:h2".to_owned(), 6.0);
    }
    let header = header();
    let gates = ["fetches_made_again<1.01", "connections:h3<1.01"];
    let wanted =
        Gates { gates: gates.map(|gate| gate.parse().unwrap()).into(), ..Gates::default() };
    let run = |name| Run { name, header: &header, rows: &same };
    let wanted = Wanted { gates: wanted, ..Wanted::default() };
    let comparison = compare(run("a"), run("b"), &wanted);
    assert_eq!(outcomes(&comparison, "h2"), [GateOutcome::Passed; 6]);
    let has = |name| has_metric(&same, name);
    assert_eq!(
        [metric::MADE_AGAIN, "connections:h3", metric::LOAD_MS, metric::STALLS].map(has),
        [true, true, true, false]
    );
}

#[test]
fn one_failed_trial_keeps_a_gate_from_passing() {
    let mut failing = rows(2, |_| 1.0);
    let one = |row: &&mut TrialRecord| {
        row.plan.cell.contender.name == "h1" && row.plan.block == 3 && !row.plan.warmup
    };
    for row in failing.iter_mut().filter(one) {
        row.outcome = Outcome::Failed { reason: "reset".to_owned() };
        row.metrics.clear();
    }
    let comparison = compared(&failing, &["load_ms<1.5"]);
    assert_eq!(outcomes(&comparison, "h1"), [GateOutcome::Inconclusive; 3]);
    assert_eq!(outcomes(&comparison, "h2"), [GateOutcome::Passed; 3]);
    let gate = comparison.gates.iter().find(|gate| gate.place.contender == "h1").unwrap();
    let reason = gate.reason.as_ref().unwrap();
    assert!(reason.starts_with("b: 1 of ") && reason.ends_with("trials failed: reset"), "{reason}");
}

#[test]
fn a_cell_that_the_later_run_lacks_is_inconclusive() {
    let mut fewer = rows(2, |_| 1.0);
    fewer.retain(|row| row.plan.cell.contender.name != "h1");
    let comparison = compared(&fewer, &["load_ms<1.05"]);
    assert_eq!(outcomes(&comparison, "h1"), [GateOutcome::Inconclusive; 3]);
    assert_eq!(outcomes(&comparison, "h2"), [GateOutcome::Passed; 3]);
}

/// The later run has a workload of its own, and the gate is on a metric of that one alone.
#[test]
fn a_gate_that_only_new_cells_have_is_inconclusive_and_not_dropped() {
    let mut more = rows(2, |_| 1.0);
    let mut new: Vec<TrialRecord> = rows(3, |_| 1.0);
    new.retain(|row| row.plan.cell.contender.name == "h2");
    for row in &mut new {
        row.plan.cell.workload.name = "calls".to_owned();
        row.plan.key.push('+');
        row.metrics.insert(metric::MEAN_MS.to_owned(), 9.0);
    }
    more.extend(new);
    let comparison = compared(&more, &["mean_ms<1.05", "load_ms<1.05"]);
    let of = |metric: &str| -> Vec<&GateResult> {
        comparison.gates.iter().filter(|gate| gate.gate.starts_with(metric)).collect()
    };
    assert_eq!(of("mean_ms").len(), 3);
    for gate in of("mean_ms") {
        assert_eq!(
            (gate.outcome, gate.place.workload.as_str()),
            (GateOutcome::Inconclusive, "calls")
        );
        assert!(gate.reason.as_ref().unwrap().starts_with("no cell that both runs have has"));
    }
    // A new cell is no obstacle to a gate that has others.
    assert_eq!(of("load_ms").len(), 12);
    assert!(of("load_ms").iter().all(|gate| gate.outcome == GateOutcome::Passed));
    assert_eq!(comparison.outcome(), GateOutcome::Inconclusive);
}

#[test]
fn metrics_of_warm_ups_and_of_added_trials_are_none_to_compare() {
    let mut all = rows(2, |_| 1.0);
    for row in &mut all {
        if row.plan.warmup {
            row.metrics.insert(metric::SYSTEM_CALLS.to_owned(), 1.0);
        }
    }
    let mut added = all[all.len() - 1].clone();
    (added.plan.added, added.plan.key) = (true, "added".to_owned());
    added.metrics.insert(metric::MEAN_MS.to_owned(), 1.0);
    all.push(added);
    let known: Vec<String> = metrics(&all).into_iter().collect();
    assert_eq!(known, [metric::CONNECTIONS, metric::LOAD_MS]);
}

#[test]
fn the_warnings_of_both_runs_are_told_with_their_names() {
    assert_eq!(compared(&rows(2, |_| 1.0), &[]).warnings, Vec::<String>::new());
    let told = compared(&refused(rows(2, |_| 1.0), "h2", 99), &[]).warnings;
    assert_eq!(told.len(), 1);
    assert!(
        told[0].starts_with("b: The audit refused 36 of 36 attempts of 3 of 12 cells"),
        "{told:?}"
    );
    let rows = rows(2, |_| 1.0);
    let lacking = RunHeader { missing: vec!["page/3g/h2/1".to_owned()], ..header() };
    let run = |name| Run { name, header: &lacking, rows: &rows };
    let told = compare(run("a"), run("b"), &Wanted::default()).warnings;
    let missing = |name| format!("{name}: One planned trial is missing: page/3g/h2/1.");
    assert_eq!(told, ["a", "b"].map(missing));
}

#[test]
fn trials_that_were_added_to_a_finished_run_are_left_out() {
    let mut longer = rows(2, |_| 1.0);
    let mut added: Vec<TrialRecord> = rows(3, |_| 3.0);
    added.retain(|row| !row.plan.warmup);
    for row in &mut added {
        row.plan.added = true;
        row.plan.block += 100;
        row.plan.key.push('+');
    }
    longer.extend(added);
    let comparison = compared(&longer, &["load_ms<1.05"]);
    assert_eq!(comparison.outcome(), GateOutcome::Passed);
    assert!(comparison.differences[0].contains("added to the finished run"));
}

#[test]
fn a_contender_that_fails_in_the_later_run_fails_its_gates() {
    let mut failing = rows(2, |_| 1.0);
    for row in failing.iter_mut().filter(|row| row.plan.cell.contender.name == "h1") {
        row.outcome = Outcome::Failed { reason: "reset".to_owned() };
        row.metrics.clear();
    }
    let comparison = compared(&failing, &["load_ms<1.05"]);
    assert_eq!(outcomes(&comparison, "h1"), [GateOutcome::Failed; 3]);
    let change = comparison.changes.iter().find(|change| change.cell.contender == "h1").unwrap();
    assert_eq!((change.b.failed, change.b.median), (change.b.n, None));
    assert_eq!((change.change, change.ratio), (Change::Failed, None));
    let reason = change.reason.as_deref().unwrap();
    assert_eq!(reason, "b: 14 of 14 trials failed: reset");
}

#[test]
fn a_run_that_failed_is_neither_lower_nor_higher_than_another() {
    let (header, good, mut failed) = (header(), rows(1, |_| 1.0), rows(2, |_| 1.0));
    for row in &mut failed {
        row.outcome = Outcome::Failed { reason: "reset".to_owned() };
        row.metrics.clear();
    }
    let [good, failed] =
        [("good", &good), ("bad", &failed)].map(|(name, rows)| Run { name, header: &header, rows });
    for (a, b) in [(failed, good), (good, failed), (failed, failed)] {
        let comparison = compare(a, b, &Wanted::default());
        assert!(comparison.changes.iter().all(|one| one.change == Change::Failed));
    }
}

/// Failures rank as the largest figures: where most trials failed, the ratio is one to a failure, and no figure.
#[test]
fn a_run_of_which_most_trials_failed_is_neither_lower_nor_higher_either() {
    let mut failing = rows(2, |_| 1.0);
    for row in failing.iter_mut().filter(|row| row.plan.block % 4 != 0) {
        row.outcome = Outcome::Failed { reason: "reset".to_owned() };
        row.metrics.clear();
    }
    let (header, good) = (header(), rows(1, |_| 1.0));
    let [good, failing] = [("good", &good), ("bad", &failing)].map(|(name, rows)| Run {
        name,
        header: &header,
        rows,
    });
    for (a, b) in [(failing, good), (good, failing)] {
        for one in compare(a, b, &Wanted::default()).changes {
            assert_eq!((one.change, one.ratio, one.ci95), (Change::Failed, None, None), "{one:?}");
            let reason = one.reason.unwrap();
            assert!(
                ["bad: 10 of 14 trials failed: reset", "bad: 6 of 8 trials failed: reset"]
                    .contains(&&*reason),
                "{reason}"
            );
        }
    }
    // A few failed trials do not keep the others from being judged, and are told.
    let mut few = rows(2, |_| 2.0);
    let one = |row: &&mut TrialRecord| row.plan.block == 3 && !row.plan.warmup;
    few.iter_mut().filter(one).for_each(|row| {
        row.outcome = Outcome::Failed { reason: "reset".to_owned() };
        row.metrics.clear();
    });
    let changes = compared(&few, &[]).changes;
    assert!(changes.iter().all(|one| one.change == Change::Higher), "{changes:?}");
    let told = |one: &CellChange| one.reason.as_ref().unwrap().starts_with("b: 1 of ");
    assert!(changes.iter().all(told), "{changes:?}");
}

#[test]
fn cells_of_one_run_alone_are_named_and_other_settings_too() {
    let mut other = rows(2, |_| 1.0);
    other.retain(|row| row.plan.cell.contender.name != "h1");
    for row in other.iter_mut().filter(|row| row.plan.cell.contender.name == "h2") {
        row.plan.cell.contender.settings.initial_window = 4;
        row.plan.cell.contender.settings.pacing = false;
    }
    let comparison = compared(&other, &[]);
    assert_eq!(comparison.unmatched.len(), 3);
    assert!(comparison.unmatched.iter().all(|one| one.only_in == "a"));
    let told = "contender h2 has other settings: initial_window 10 before, 4 after; pacing true before, unset after";
    assert_eq!(comparison.differences, [told]);
}

#[test]
fn over_many_pairs_of_like_runs_hardly_any_has_a_change_found() {
    let header = header();
    let found = (0..200_u64)
        .filter(|seed| {
            let (a, b) = (rows(2 * seed, |_| 1.0), rows(2 * seed + 1, |_| 1.0));
            // Without a margin, every interval that is clear of 1 is a change.
            let wanted = Wanted { margin: Some(0.0), ..Wanted::default() };
            let [a, b] = [&a, &b].map(|rows| Run { name: "run", header: &header, rows });
            let comparison = compare(a, b, &wanted);
            comparison.changes.iter().any(|c| matches!(c.change, Change::Lower | Change::Higher))
        })
        .count();
    assert!(
        found <= 19,
        "{found} of 200 families have a false change; 5 % are 10, and three deviations 19"
    );
}

#[test]
fn the_schema_of_a_comparison_is_the_published_one() {
    schema_file::check("comparison.schema.json", &comparison_schema());
}

#[test]
fn a_cell_that_could_not_run_says_why_and_what_mends_it() {
    let lack = |mut row: TrialRecord| {
        if row.plan.cell.contender.name == "h2" {
            let (reason, remedy) = ("no chromium".to_owned(), "apt install chromium".to_owned());
            row.outcome = Outcome::Unsupported { reason, remedy };
        }
        row
    };
    let rows: Vec<TrialRecord> = rows(2, |_| 1.0).into_iter().map(lack).collect();
    let comparison = compared(&rows, &[]);
    let h2 = comparison.changes.iter().find(|change| change.cell.contender == "h2").unwrap();
    assert_eq!(h2.change, Change::NotMeasured);
    assert_eq!(h2.reason.as_deref(), Some("b: no chromium (apt install chromium)"));
}
