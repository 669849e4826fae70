//! Gates over the contenders of a race, and runs that end when all is decided.

use super::tests::{header, measured, quick};
use super::*;
use crate::comparison::Verdict;
use crate::experiment::Stopping;
use crate::gate::{Gate, GateOutcome, GateResult, Gates, RatioEvidence, paired};
use crate::stats::{Detectable, Level, Look, SignedRank, looks};
use crate::verdict::{Paired, Rule, Stage};
use unit::Random;

fn gated(gates: &[&str]) -> Experiment {
    let gates = gates.iter().map(|gate| gate.parse().unwrap()).collect();
    Experiment { gates: Gates { gates, ..Gates::default() }, ..quick() }
}

/// Rows in which h2 takes `factor` times as long as the others, with noise of 2 %.
fn rows(experiment: &Experiment, factor: f64) -> Vec<TrialRecord> {
    measured(experiment, |plan, random| {
        let factor = if plan.cell.contender.name == "h2" { factor } else { 1.0 };
        1000.0 * factor * (0.99 + 0.02 * random.next_fraction())
    })
}

fn judged(experiment: Experiment, rows: &[TrialRecord]) -> Vec<GateResult> {
    analyse(&header(experiment), rows).gates
}

fn outcomes(gates: &[GateResult]) -> Vec<GateOutcome> {
    gates.iter().map(|gate| gate.outcome).collect()
}

#[test]
fn a_gate_that_names_contenders_is_judged_on_every_link_and_workload() {
    let experiment = gated(&["h2/h1 load_ms<1.05"]);
    for (factor, outcome) in
        [(1.0, GateOutcome::Passed), (1.2, GateOutcome::Failed), (1.05, GateOutcome::Inconclusive)]
    {
        let gates = judged(experiment.clone(), &rows(&experiment, factor));
        assert_eq!(outcomes(&gates), [outcome; 3], "{factor}");
        let place = &gates[0].place;
        assert_eq!((place.contender.as_str(), place.against.as_deref()), ("h2", Some("h1")));
        let spent: f64 = gates.iter().map(|gate| gate.error).sum();
        assert!(spent > 0.0 && spent <= 0.05, "{spent}");
    }
}

#[test]
fn a_gate_without_names_holds_for_every_contender_over_the_baseline() {
    let experiment = gated(&["load_ms<1.05"]);
    let gates = judged(experiment.clone(), &rows(&experiment, 1.2));
    let failed: Vec<&str> = gates
        .iter()
        .filter(|gate| gate.outcome == GateOutcome::Failed)
        .map(|gate| gate.place.contender.as_str())
        .collect();
    assert_eq!((gates.len(), failed), (6, vec!["h2"; 3]));
    assert!(gates.iter().all(|gate| gate.place.against.as_deref() == Some("h1-tls")));
}

#[test]
fn metrics_that_do_not_vary_are_judged_and_two_zeros_do_not_differ() {
    let experiment =
        gated(&["h2/h1 connections<1.01", "h2/h1 rounds<1", "h2/h1 pushed_streams<1.01"]);
    let mut rows = rows(&experiment, 1.0);
    for row in &mut rows {
        row.metrics.insert("pushed_streams".to_owned(), 0.0);
    }
    use GateOutcome::{Failed, Passed};
    let expected = [[Passed; 3], [Failed; 3], [Passed; 3]].concat();
    assert_eq!(outcomes(&judged(experiment, &rows)), expected);
}

#[test]
fn a_count_that_is_left_out_where_there_is_none_is_zero() {
    let gates = ["h2/h1 connections:h3>0.9", "h2/h1 fetches_made_again<1.05"];
    let mut experiment = gated(&gates);
    experiment.links.iter_mut().for_each(|link| link.trials = 14);
    let mut rows = rows(&experiment, 1.0);
    for row in &mut rows {
        let (is_h2, block) = (row.plan.cell.contender.name == "h2", row.plan.block);
        let has_h3 = !is_h2 || block % 2 == 0;
        let protocol = if has_h3 { "connections:h3" } else { "connections:h2" };
        row.metrics.insert(protocol.to_owned(), 6.0);
        if is_h2 {
            row.metrics.insert("fetches_made_again".to_owned(), 2.0);
        }
    }
    use GateOutcome::{Failed, Inconclusive};
    // Half of the trials of h2 have no connection over h3: nobody is sure that it has 0.9 times as many.
    let told = judged(experiment.clone(), &rows);
    assert_eq!(outcomes(&told), [[Inconclusive; 3], [Failed; 3]].concat(), "{told:?}");
    assert!(told.iter().all(|gate| gate.n == 14), "{told:?}");
    // A client that does not tell of its connections has none that could be counted.
    rows.iter_mut().for_each(|row| row.metrics.retain(|name, _| name == "load_ms"));
    let untold = judged(experiment, &rows);
    assert!(untold.iter().all(|gate| gate.n == 0 && gate.ratio.is_none()), "{untold:?}");
}

#[test]
fn counts_are_judged_where_the_audit_refused_the_times() {
    let experiment = gated(&["h2/h1 connections<1.01", "h2/h1 load_ms<1.05"]);
    let mut rows = rows(&experiment, 1.0);
    let told = |rows: &[TrialRecord]| outcomes(&judged(experiment.clone(), rows));
    use GateOutcome::{Inconclusive, Passed};
    for row in &mut rows {
        row.outcome = Outcome::Invalid { reason: "the machine was busy: 40 %".to_owned() };
    }
    assert_eq!(told(&rows), [[Passed; 3], [Inconclusive; 3]].concat());
    for row in &mut rows {
        row.outcome = Outcome::Invalid { reason: "it did other work".to_owned() };
    }
    assert_eq!(told(&rows), [Inconclusive; 6]);
}

#[test]
fn what_a_running_service_uses_is_neither_offered_nor_gated() {
    let mut experiment = gated(&["server_cpu_ms<1.05"]);
    assert_eq!(check_gates(&experiment), Ok(()));
    let service = crate::experiment::RunningService::new("127.0.0.1:1".to_owned());
    experiment.contenders[0].server = crate::experiment::Server::Running(service);
    assert!(check_gates(&experiment).unwrap_err().contains("not known"));
    let other = Experiment { gates: gated(&["nonsense<1"]).gates, ..experiment };
    assert!(!check_gates(&other).unwrap_err().contains("server_cpu_ms"));
}

#[test]
fn what_the_server_of_a_warmed_client_uses_is_not_gated() {
    let mut experiment = gated(&["server_cpu_ms<1.05"]);
    let client = crate::experiment::ClientSubject { name: "curl".to_owned(), warmup: 20 };
    let warmed = experiment.contenders.iter_mut().find(|contender| contender.name == "h2").unwrap();
    warmed.client = Some(client);
    let told = |gate: &str| {
        let gates = gated(&[gate]).gates;
        check_gates(&Experiment { gates, ..experiment.clone() })
    };
    for gate in ["server_cpu_ms<1.05", "cpu_ms<1.05", "h2/h1 cpu_ms<1.05"] {
        let told = told(gate).unwrap_err();
        let words = ["h2 has `client_warmup`", "`client_cpu_ms` is of the work"];
        assert!(words.iter().all(|part| told.contains(part)), "{told}");
    }
    // Those that a gate is not about may do as they like.
    assert_eq!(told("h1/h1-tls cpu_ms<1.05"), Ok(()));
    assert_eq!(told("client_cpu_ms<1.05"), Ok(()));
}

#[test]
fn a_gate_on_a_protocol_that_there_is_not_is_refused_with_the_nearest() {
    let told = |gate: &str| check_gates(&gated(&[gate])).unwrap_err();
    for (gate, part) in [
        ("h2/h1 connections:http2<1.1", "`http2`, did you mean `h2`?"),
        ("connections:HTTP/3<1.1", "did you mean `h3`?"),
        ("connections:http1.1<1.1", "did you mean `http/1.1`?"),
        ("connections:h9<1.1", "`h9`; there are http/1.1, h2, h3"),
        ("connections:<1.1", "there are http/1.1"),
    ] {
        assert!(told(gate).contains(part), "{}", told(gate));
    }
    assert_eq!(check_gates(&gated(&["connections:ws-h2<1.1"])), Ok(()));
}

#[test]
fn what_was_refused_failed_or_is_unsupported_never_passes() {
    let experiment = gated(&["h2/h1 load_ms<1.05"]);
    let judged = |outcome: Outcome, blocks: u32, contender: &str| {
        let mut rows = rows(&experiment, 1.0);
        let own = |row: &&mut TrialRecord| {
            row.plan.cell.contender.name == contender && row.plan.block < blocks && !row.plan.warmup
        };
        for row in rows.iter_mut().filter(own) {
            row.outcome = outcome.clone();
            row.metrics.clear();
        }
        judged(experiment.clone(), &rows)
    };
    let invalid = Outcome::Invalid { reason: "late".to_owned() };
    let failed = Outcome::Failed { reason: "reset".to_owned() };
    let (reason, remedy) = ("no h2 here".to_owned(), "install it".to_owned());
    let unsupported = Outcome::Unsupported { reason, remedy };
    for contender in ["h1", "h2"] {
        for (outcome, blocks, words) in [
            (&invalid, 12, "too many for a figure"),
            (&unsupported, 99, "no h2 here"),
            (&failed, 1, "trials failed: reset"),
        ] {
            let gates = judged(outcome.clone(), blocks, contender);
            assert_eq!(outcomes(&gates), [GateOutcome::Inconclusive; 3], "{gates:?}");
            assert!(gates[0].reason.as_ref().unwrap().contains(words), "{gates:?}");
        }
    }
    // Whoever fails always is not faster than the limit.
    assert_eq!(outcomes(&judged(failed.clone(), 99, "h2")), [GateOutcome::Failed; 3]);
    // A baseline that fails always has no figure to be set against.
    let gates = judged(failed, 99, "h1");
    assert_eq!(outcomes(&gates), [GateOutcome::Inconclusive; 3]);
}

/// Seven blocks at most, whatever the number of trials: they have no interval at 99.5 % on a side.
#[test]
fn the_few_blocks_of_flat_dependencies_confirm_a_gate_of_any_error() {
    let mut experiment = gated(&["h2/h1 load_ms<1.05"]);
    experiment.gates.error = 0.005;
    experiment.links.iter_mut().for_each(|link| link.trials = 14);
    let mut flat = experiment.workloads[0].clone();
    flat.check_of = Some(std::mem::replace(&mut flat.name, "flat".to_owned()));
    experiment.workloads.push(flat);
    use GateOutcome::{Failed, Inconclusive, Passed};
    for (factor, flat_factor, outcome) in
        [(1.0, 1.0, Passed), (1.2, 1.2, Failed), (1.0, 1.2, Inconclusive)]
    {
        let rows = measured(&experiment, |plan, random| {
            let is_flat = plan.cell.workload.check_of.is_some();
            let own = if is_flat { flat_factor } else { factor };
            let factor = if plan.cell.contender.name == "h2" { own } else { 1.0 };
            1000.0 * factor * (0.99 + 0.02 * random.next_fraction())
        });
        let gates = judged(experiment.clone(), &rows);
        assert_eq!(outcomes(&gates), [outcome; 3], "{gates:?}");
    }
}

#[test]
fn added_trials_are_labelled_and_turn_no_gate() {
    let mut experiment = gated(&["h2/h1 load_ms<1.05"]);
    let before = judged(experiment.clone(), &rows(&experiment, 1.05));
    for link in &mut experiment.links {
        link.added = 20;
        link.trials += 20;
    }
    let mut longer = rows(&experiment, 1.05);
    let added = longer.iter().filter(|row| row.plan.added).count();
    assert_eq!(added, 20 * 9);
    // What was added would fail the gate by far.
    for row in
        longer.iter_mut().filter(|row| row.plan.added && row.plan.cell.contender.name == "h2")
    {
        row.metrics.insert("load_ms".to_owned(), 9_000.0);
    }
    let result = analyse(&header(experiment.clone()), &longer);
    assert_eq!(result.gates, judged(experiment.clone(), &longer));
    assert_eq!(outcomes(&result.gates), outcomes(&before));
    assert_eq!(result.exploratory, Some(Exploratory { added: 180, planned: 14 }));
    let n = |verdicts: &crate::result::Verdicts| verdicts.pairs[0].comparison.n;
    assert_eq!(result.verdicts.iter().map(n).collect::<Vec<_>>(), [34, 34, 28]);
    // Of a run that stops early too: its looks are those that were planned.
    let sequential = Experiment { stopping: Stopping::Sequential, ..experiment };
    let result = analyse(&header(sequential), &longer);
    assert_eq!(result.verdicts.iter().map(n).collect::<Vec<_>>(), [34, 34, 28]);
}

#[test]
fn a_gate_that_names_what_is_not_there_is_told_what_there_is() {
    let judged = |gate: &str| check_gates(&gated(&[gate])).unwrap_err();
    let contender = judged("h3/h1 load_ms<1.05");
    assert!(contender.contains("`h3`") && contender.contains("h1, h1-tls, h2"), "{contender}");
    let metric = judged("h2/h1 lod_ms<1.05");
    assert!(
        metric.contains("did you mean `load_ms`?") && metric.contains("round_trips"),
        "{metric}"
    );
    let told = judged("h2/h1 mean_ms<1.05");
    assert!(
        told.contains("no workload here has") && told.contains("load_ms decides here"),
        "{told}"
    );
    assert_eq!(check_gates(&gated(&["h2/h1 connections:h2<1.05", "bytes>0.5"])), Ok(()));
}

#[test]
fn a_place_is_settled_when_its_gates_are_decided() {
    let settled = |factor: f64, trials: u32| {
        let mut experiment = gated(&["h2/h1 load_ms<1.05"]);
        experiment.stopping = Stopping::Sequential;
        experiment.links.iter_mut().for_each(|link| link.trials = 60);
        let mut rows = rows(&experiment, factor);
        rows.retain(|row| row.plan.block < trials);
        let name = experiment.workloads[0].name.clone();
        is_settled(&header(experiment), &rows, &name, "lan")
    };
    let first = looks(60, 0.1 / 3.0)[0].blocks;
    assert!(settled(1.3, first) && settled(0.9, first) && !settled(1.05, first));
    // The other pairs of the table need not be decided for that.
    assert!(!settled(1.3, first - 1));
}

/// One run, looked at as planned: the stages up to each look at which it is judged. It ends at `end` blocks, where the
/// time is up.
fn stages_of(logs: &[f64], looks: &[Look], error: f64, end: u32) -> Vec<Stage> {
    let reached = looks.iter().take_while(|look| look.blocks <= end).count();
    let between = usize::from(reached == 0 || looks[reached - 1].blocks < end);
    let stage = |look: &Look| {
        let logs = logs[..look.blocks.min(end) as usize].to_vec();
        let distribution = SignedRank::of(logs.len());
        let rank = distribution.rank_within(error * look.share);
        let level = Level { rank, error: distribution.error(rank) };
        Stage { paired: Paired::of_logs(logs), level, share: look.share }
    };
    looks.iter().take(reached + between).map(stage).collect()
}

/// ln(a / b) of blocks in which a and b are alike, about `centre`: half of the runs have outliers.
fn noise(random: &mut Random, blocks: u32, centre: f64) -> Vec<f64> {
    let heavy = random.next_fraction() < 0.5;
    let mut one = || {
        let log = 0.06 * (random.next_fraction() - 0.5);
        if heavy && random.next_fraction() < 0.1 { 10.0 * log } else { log }
    };
    (0..blocks).map(|_| centre + one() - one()).collect()
}

const BLOCKS: u32 = 30;

/// Where a run ends: at the most blocks, or in every other run at any number of blocks, because the time is up.
fn end(random: &mut Random) -> u32 {
    match random.next_fraction() {
        fraction if fraction < 0.5 => BLOCKS,
        _ => 1 + (random.next_fraction() * f64::from(BLOCKS - 1)) as u32,
    }
}

#[test]
fn ten_thousand_runs_until_decided_of_two_alike_find_a_difference_in_at_most_one_of_twenty() {
    let planned = looks(BLOCKS, 0.05);
    assert!(planned.len() >= 3, "{planned:?}");
    let rule = Rule { margin: 0.01, comparisons: 1 };
    let (mut detectable, mut different) = (Detectable::default(), 0);
    for run in 0..10_000 {
        let mut random = Seed(91).nth(run).random();
        let logs = noise(&mut random, BLOCKS, 0.0);
        let last = end(&mut random);
        let stops = planned.iter().map(|look| look.blocks.min(last));
        let verdict = stops
            .map(|blocks| rule.judge(&stages_of(&logs, &planned, 0.05, blocks), &mut detectable))
            .map(|finding| finding.verdict())
            .find(|verdict| *verdict != Verdict::Undecided);
        different += u32::from(matches!(verdict, Some(Verdict::Faster | Verdict::Slower)));
    }
    assert!(different <= 550, "{different} of 10,000 are found different");
    assert!(different >= 50, "{different} of 10,000: the noise does not try the rule");
}

#[test]
fn ten_thousand_runs_until_a_gate_is_decided_pass_or_fail_wrongly_in_at_most_one_of_twenty() {
    let gate: Gate = "load_ms<1.05".parse().unwrap();
    let planned = looks(BLOCKS, 0.1);
    let mut detectable = Detectable::default();
    let (mut passed, mut failed) = (0, 0);
    for run in 0..10_000 {
        let mut random = Seed(92).nth(run).random();
        // At the limit itself both outcomes are the most likely that a wrong one can be.
        let logs = noise(&mut random, BLOCKS, 1.05_f64.ln());
        let last = end(&mut random);
        let stops = planned.iter().map(|look| look.blocks.min(last));
        let outcome = stops
            .map(|blocks| paired(&stages_of(&logs, &planned, 0.1, blocks), 0.05, &mut detectable))
            .map(|evidence: RatioEvidence| gate.outcome(evidence.interval))
            .find(|outcome| *outcome != GateOutcome::Inconclusive);
        passed += u32::from(outcome == Some(GateOutcome::Passed));
        failed += u32::from(outcome == Some(GateOutcome::Failed));
    }
    assert!(passed <= 550 && failed <= 550, "{passed} pass and {failed} fail of 10,000");
    assert!(passed >= 50 && failed >= 50, "{passed} pass and {failed} fail of 10,000");
}
