//! Comparisons by metrics beside the one that decides.

use super::tests::{header, measured, quick, verdict_on};
use super::*;
use crate::comparison::Verdict;
use crate::experiment::builtin;
use crate::published::Agreement;
use crate::result::{MetricComparison, MetricVerdict};

/// Rows in which h2's page is there in half the time, and its scripts in `factor` of the time of h1-tls.
fn rows(experiment: &Experiment, factor: f64) -> Vec<TrialRecord> {
    let mut rows = measured(experiment, |plan, random| {
        let time = if plan.cell.contender.name == "h2" { 500.0 } else { 1_000.0 };
        time + random.next_fraction()
    });
    for row in &mut rows {
        let factor = if row.plan.cell.contender.name == "h2" { factor } else { 1.0 };
        let scripts = factor * (400.0 + f64::from(row.plan.block));
        row.metrics.insert("scripts_ms".to_owned(), scripts);
    }
    rows
}

fn is_of_h2_on_3g(row: &&mut TrialRecord) -> bool {
    row.plan.cell.contender.name == "h2" && row.plan.cell.link.name == "3g"
}

fn refuse(row: &mut TrialRecord) {
    row.outcome = Outcome::Invalid { reason: "the machine was busy: late packets".to_owned() };
}

fn scripts(experiment: &Experiment, rows: &[TrialRecord]) -> Option<MetricComparison> {
    let result = analyse(&header(experiment.clone()), rows);
    let all = verdict_on(&result, "3g").metrics.clone();
    all.into_iter().find(|one| one.contender == "h2" && one.metric == "scripts_ms")
}

fn verdict(rows: &[TrialRecord]) -> MetricVerdict {
    scripts(&quick(), rows).unwrap().verdict
}

#[test]
fn scripts_that_come_later_are_found_beside_a_load_that_is_sooner() {
    let rows = rows(&quick(), 2.0);
    let result = analyse(&header(quick()), &rows);
    let table = verdict_on(&result, "3g");
    let sooner = table.ranking.iter().find(|one| one.contender == "h2").unwrap();
    assert_eq!(sooner.comparison.verdict, Verdict::Faster);
    assert_eq!(verdict(&rows), MetricVerdict::More);
    assert_eq!(result.warnings, Vec::<String>::new());
}

#[test]
fn a_further_time_is_undecided_where_the_audit_keeps_the_deciding_one_from_a_verdict() {
    let mut rows = rows(&quick(), 0.5);
    assert_eq!(verdict(&rows), MetricVerdict::Less);
    let of_h2 = rows.iter_mut().filter(is_of_h2_on_3g);
    of_h2.filter(|row| row.plan.block % 2 == 0).for_each(refuse);
    let found = scripts(&quick(), &rows).unwrap();
    assert_eq!((found.verdict, found.ratio, found.ci95), (MetricVerdict::Undecided, None, None));
}

#[test]
fn a_contender_that_fails_in_half_of_its_trials_is_not_sooner_by_the_others() {
    let mut rows = rows(&quick(), 0.5);
    for row in rows.iter_mut().filter(is_of_h2_on_3g).filter(|row| row.plan.block % 2 == 0) {
        row.outcome = Outcome::Failed { reason: "the connection was reset".to_owned() };
    }
    assert_eq!(verdict(&rows), MetricVerdict::Undecided);
}

/// `quick` with a recorded page, whose dependencies are checked.
fn recorded() -> Experiment {
    let page = "kind = \"page\"\nimages = 50\nbytes = \"5kB\"";
    let toml = builtin()[0].toml.replace(page, "kind = \"har\"\nfile = \"my.har\"");
    let mut experiment: Experiment = toml.parse().unwrap();
    experiment.contenders = quick().contenders;
    experiment
}

#[test]
fn the_warning_of_refused_cells_counts_those_that_have_verdicts() {
    let experiment = recorded();
    let mut rows = rows(&experiment, 0.5);
    rows.iter_mut().filter(|row| row.plan.cell.link.name == "3g").for_each(refuse);
    let result = analyse(&header(experiment.clone()), &rows);
    let all = experiment.contenders.len() * experiment.links.len();
    let told = format!("of {} of {all} cells (on 3g)", experiment.contenders.len());
    assert_eq!(result.cells.len(), 2 * all);
    assert!(result.warnings[0].contains(&told), "{told}: {:?}", result.warnings);
    assert_eq!(warnings_of(&header(experiment), &rows), result.warnings);
}

#[test]
fn flat_dependencies_withdraw_what_they_find_otherwise() {
    let experiment = recorded();
    let mut rows = rows(&experiment, 0.5);
    assert_eq!(scripts(&experiment, &rows).unwrap().verdict, MetricVerdict::Less);
    for row in rows.iter_mut().filter(|row| row.plan.cell.workload.check_of.is_some()) {
        row.metrics.insert("scripts_ms".to_owned(), 400.0 + f64::from(row.plan.block));
    }
    assert_eq!(scripts(&experiment, &rows).unwrap().verdict, MetricVerdict::Undecided);
    // Two blocks of the check say nothing.
    rows.retain(|row| row.plan.cell.workload.check_of.is_none() || row.plan.block < 2);
    let result = analyse(&header(experiment), &rows);
    let reason = verdict_on(&result, "3g").ranking[0].comparison.reason.clone();
    assert_eq!(
        reason.as_deref(),
        Some(
            "faster with inferred dependencies; the check with flat ones has 2 of the 6 blocks that it needs"
        )
    );
}

#[test]
fn a_published_finding_by_another_metric_is_refused_where_the_audit_refused_the_trials() {
    let experiment: Experiment =
        builtin().iter().find(|one| one.name == "first-paint").unwrap().toml.parse().unwrap();
    let mut rows = measured(&experiment, |_, random| 1_000.0 + random.next_fraction());
    for row in &mut rows {
        row.metrics.insert(metric::FIRST_PAINT_MS.to_owned(), 500.0 + f64::from(row.plan.block));
    }
    let findings = |rows: &[TrialRecord]| {
        analyse(&header(experiment.clone()), rows).published.unwrap().findings
    };
    assert!(findings(&rows).iter().any(|finding| finding.verdict != Agreement::CannotTell));
    rows.iter_mut().filter(|row| row.plan.block % 2 == 0).for_each(refuse);
    let refused = findings(&rows);
    assert!(refused.iter().all(|one| one.verdict == Agreement::CannotTell), "{refused:?}");
}
