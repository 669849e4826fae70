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
    let run = |name, rows| Run { name, header: &header, rows };
    compare(run("a", &a), run("b", b), &Wanted { gates, ..Wanted::default() })
}

fn outcomes(comparison: &RunComparison, contender: &str) -> Vec<GateOutcome> {
    let own = comparison.gates.iter().filter(|gate| gate.cell.contender == contender);
    own.map(|gate| gate.outcome).collect()
}

#[test]
fn a_run_against_one_like_it_is_a_tie_and_breaks_no_gate() {
    let comparison = compared(&rows(2, |_| 1.0), &["load_ms<1.02", "connections<1.01"]);
    assert_eq!(comparison.changes.len(), 18, "nine cells, two metrics");
    assert!(comparison.changes.iter().all(|change| change.change == Change::Tie));
    assert!(!comparison.is_broken());
    assert!(comparison.differences.is_empty(), "{:?}", comparison.differences);
}

#[test]
fn a_change_beyond_the_gate_breaks_it_in_its_cells_alone() {
    let slower = rows(2, |contender| if contender == "h2" { 1.2 } else { 1.0 });
    let comparison = compared(&slower, &["load_ms<1.05"]);
    assert_eq!(outcomes(&comparison, "h2"), [GateOutcome::Broken; 3]);
    assert_eq!(outcomes(&comparison, "h1"), [GateOutcome::Holds; 3]);
    let h2 = comparison.changes.iter().find(|change| change.cell.contender == "h2").unwrap();
    assert_eq!(h2.change, Change::Higher);
    assert!((h2.ratio.unwrap().0 - 1.2).abs() < 0.01);
}

#[test]
fn noise_across_the_limit_breaks_no_gate() {
    let comparison = compared(&rows(2, |_| 1.2), &["load_ms<1.2"]);
    assert!(comparison.gates.iter().all(|gate| gate.outcome == GateOutcome::WithinNoise));
}

#[test]
fn a_gate_for_an_improvement_is_broken_by_a_tie_and_held_by_the_improvement() {
    assert!(compared(&rows(2, |_| 1.0), &["load_ms<0.9"]).is_broken());
    assert!(!compared(&rows(2, |_| 0.8), &["load_ms<-10%"]).is_broken());
    assert!(compared(&rows(2, |_| 0.8), &["load_ms>0.95"]).is_broken());
}

#[test]
fn a_contender_that_fails_in_the_later_run_breaks_its_gates() {
    let mut failing = rows(2, |_| 1.0);
    for row in failing.iter_mut().filter(|row| row.plan.cell.contender.name == "h1") {
        row.outcome = Outcome::Failed { reason: "reset".to_owned() };
        row.metrics.clear();
    }
    let comparison = compared(&failing, &["load_ms<1.05"]);
    assert_eq!(outcomes(&comparison, "h1"), [GateOutcome::Broken; 3]);
    let change = comparison.changes.iter().find(|change| change.cell.contender == "h1").unwrap();
    assert_eq!((change.b.failed, change.b.median), (change.b.n, None));
    assert_eq!(change.ratio, Some(Ratio(f64::INFINITY)));
}

#[test]
fn cells_of_one_run_alone_are_named_and_other_settings_too() {
    let mut other = rows(2, |_| 1.0);
    other.retain(|row| row.plan.cell.contender.name != "h1");
    for row in other.iter_mut().filter(|row| row.plan.cell.contender.name == "h2") {
        row.plan.cell.contender.settings.initial_window = 4;
    }
    let comparison = compared(&other, &[]);
    assert_eq!(comparison.unmatched.len(), 3);
    assert!(comparison.unmatched.iter().all(|one| one.only_in == "a"));
    assert_eq!(comparison.differences, ["contender h2 has other settings"]);
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
fn a_gate_that_cannot_be_read_says_what_was_expected() {
    for (gate, part) in [
        ("load_ms", "neither < nor >"),
        ("<1.05", "names no metric"),
        ("load_ms<fast", "`fast` is no ratio"),
        ("load_ms<0", "no ratio above 0"),
        ("load_ms<-100%", "no ratio above 0"),
        ("load_ms<inf", "no ratio above 0"),
    ] {
        let error = gate.parse::<Gate>().unwrap_err().to_string();
        assert!(error.contains(part) && error.contains("load_ms<1.05"), "{error}");
    }
    assert_eq!("load_ms < +5%".parse::<Gate>().unwrap().to_string(), "load_ms<1.05");
}

#[test]
fn the_schema_of_a_comparison_is_the_published_one() {
    schema_file::check("comparison.schema.json", &comparison_schema());
}
