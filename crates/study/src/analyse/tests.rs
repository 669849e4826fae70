use super::*;
use crate::calibration::{Calibration, RoundTripGauge, Spread};
use crate::comparison::Verdict;
use crate::experiment::{Overrides, Transport, builtin};
use crate::plan::{Surroundings, TrialPlan, trials};
use crate::published::Agreement;
use crate::record::{HostFacts, ROWS_SCHEMA, without_figures};
use crate::result::{MetricVerdict, Verdicts, result_schema};
use crate::schema_file;
use unit::Random;

/// `quick` as it is.
fn whole() -> Experiment {
    builtin()[0].toml.parse().unwrap()
}

/// `quick` with three contenders: h1, h1-tls and h2.
pub(super) fn quick() -> Experiment {
    let mut quick = whole();
    quick.contenders.retain(|contender| contender.transport != Transport::H3);
    quick
}

pub(super) fn header(experiment: Experiment) -> RunHeader {
    RunHeader {
        schema: ROWS_SCHEMA.to_owned(),
        version: "0.1.0".to_owned(),
        experiment,
        started_unix_ms: 1_234_567_890_123,
        host: HostFacts { kernel: "6.1".to_owned(), cores: 2, ..HostFacts::default() },
        command_line: vec!["wirelap".to_owned(), "race".to_owned(), "quick".to_owned()],
        shard: None,
        machines: Vec::new(),
        missing: Vec::new(),
    }
}

/// Load times as in the issue's table, with noise of about half a per cent.
fn load_ms(plan: &TrialPlan, random: &mut Random) -> f64 {
    let base = match (plan.cell.link.name.as_str(), plan.cell.contender.name.as_str()) {
        ("3g", "h1") => 4020.0,
        ("3g", "h1-tls") => 4420.0,
        ("3g", _) => 2410.0,
        ("wifi", "h2") => 190.0,
        ("wifi", _) => 340.0,
        _ => 30.0,
    };
    base * (1.0 + 0.02 * (random.next_fraction() - 0.5))
}

pub(super) fn measured(
    experiment: &Experiment,
    load_ms: impl Fn(&TrialPlan, &mut Random) -> f64,
) -> Vec<TrialRecord> {
    let mut random = Seed(4).random();
    let row = |plan: TrialPlan| {
        let load = load_ms(&plan, &mut random);
        let mut row = without_figures(plan, Outcome::Measured, 1_234_567_890_123);
        row.metrics = [("load_ms", load), ("rounds", 9.0), ("connections", 6.0)]
            .map(|(name, value)| (name.to_owned(), value))
            .into();
        row
    };
    trials(experiment, &Surroundings::default()).into_iter().map(row).collect()
}

pub(super) fn verdict_on<'r>(result: &'r RunResult, link: &str) -> &'r Verdicts {
    result.verdicts.iter().find(|verdict| verdict.link == link).unwrap()
}

fn is_of<'r>(link: &str, contender: &str) -> impl Fn(&&mut TrialRecord) -> bool + 'r {
    let (link, contender) = (link.to_owned(), contender.to_owned());
    move |row| row.plan.cell.link.name == link && row.plan.cell.contender.name == contender
}

#[test]
fn quick_has_trials_enough_that_the_rule_can_decide_every_pair() {
    let result = analyse(&header(whole()), &measured(&whole(), load_ms));
    for pair in result.verdicts.iter().flat_map(|verdicts| &verdicts.pairs) {
        assert_ne!(pair.comparison.verdict, Verdict::Undecided, "{pair:?}");
    }
    assert_eq!(result.family.comparisons, 18);
    assert!(result.family.error_spent <= 0.05);
}

#[test]
fn quick_can_decide_every_pair_with_one_trial_on_each_link_invalid() {
    let mut rows = measured(&whole(), load_ms);
    for row in rows.iter_mut().filter(|row| row.plan.block == 3 && row.plan.order == 0) {
        row.outcome = Outcome::Invalid { reason: "late packets".to_owned() };
    }
    // A block is lost to the pairs of the contender that was invalid, and to no other.
    let result = analyse(&header(whole()), &rows);
    for pair in result.verdicts.iter().flat_map(|verdicts| &verdicts.pairs) {
        assert_ne!(pair.comparison.verdict, Verdict::Undecided, "{pair:?}");
    }
}

#[test]
fn the_table_of_the_issue_comes_out() {
    let result = analyse(&header(quick()), &measured(&quick(), load_ms));
    let slow = verdict_on(&result, "3g");
    let found: Vec<_> =
        slow.ranking.iter().map(|r| (r.contender.as_str(), r.comparison.verdict)).collect();
    assert_eq!(found, [("h2", Verdict::Faster), ("h1", Verdict::Faster)]);
    assert!((slow.ranking[0].saved_s.unwrap() - 2.01).abs() < 0.05);
    assert!((slow.ranking[0].comparison.ratio.unwrap().0 - 0.545).abs() < 0.01);
    let lan = verdict_on(&result, "lan");
    assert!(lan.pairs.iter().all(|pair| pair.comparison.verdict == Verdict::Tie));
    let cell = result.cells.iter().find(|cell| cell.link.name == "3g").unwrap();
    assert_eq!((cell.trials.measured, cell.metrics["load_ms"].n), (8, 8));
}

#[test]
fn the_result_file_has_the_documented_shape() {
    let result = analyse(&header(quick()), &measured(&quick(), load_ms));
    let json = serde_json::to_value(&result).unwrap();
    assert_eq!(json["schema"], "wirelap.result/1");
    assert_eq!(json["started"], "2009-02-13T23:31:30.123Z");
    let cell = &json["cells"][0];
    assert_eq!(cell["workload"]["kind"], "page");
    assert_eq!(cell["workload"]["images"], 50);
    assert_eq!(cell["contender"]["transport"], "http/1.1");
    assert_eq!(cell["link"]["name"], "lan");
    assert!(cell["metrics"]["load_ms"]["ci95"][1].is_number());
    let verdict = &json["verdicts"][2];
    assert_eq!((&verdict["link"], &verdict["baseline"]), (&"3g".into(), &"h1-tls".into()));
    assert_eq!(verdict["ranking"][0]["verdict"], "faster");
    assert!(verdict["ranking"][0]["ci95"][0].is_number());
    assert_eq!(verdict["pairs"].as_array().unwrap().len(), 3);
    assert_eq!(verdict["pairs"][0]["a"], "h1");
}

#[test]
fn rows_and_results_survive_json() {
    let mut rows = measured(&quick(), load_ms);
    rows[20].outcome = Outcome::Failed { reason: "reset".to_owned() };
    let text = serde_json::to_string(&rows).unwrap();
    // Not assert_eq: its output would be a hundred pages.
    assert!(serde_json::from_str::<Vec<TrialRecord>>(&text).unwrap() == rows);
    let header = header(quick());
    let text = serde_json::to_string(&header).unwrap();
    assert_eq!(serde_json::from_str::<RunHeader>(&text).unwrap(), header);
    for row in rows.iter_mut().filter(is_of("3g", "h1")) {
        row.outcome = Outcome::Failed { reason: "reset".to_owned() };
    }
    let result = analyse(&header, &rows);
    let text = serde_json::to_string(&result).unwrap();
    assert!(text.contains("\"inf\""));
    assert_eq!(serde_json::from_str::<RunResult>(&text).unwrap(), result);
}

#[test]
fn failed_trials_rank_as_the_slowest_and_are_listed() {
    let mut rows = measured(&quick(), load_ms);
    for row in rows.iter_mut().filter(is_of("3g", "h2")) {
        row.outcome = Outcome::Failed { reason: "connection reset".to_owned() };
    }
    let result = analyse(&header(quick()), &rows);
    let last = verdict_on(&result, "3g").ranking.last().unwrap();
    assert_eq!((last.contender.as_str(), last.comparison.verdict), ("h2", Verdict::Slower));
    assert_eq!(last.saved_s, None);
    assert_eq!((result.failures.len(), result.trials.failed), (8, 8));
    assert_eq!(result.failures[0].reason, "connection reset");
}

#[test]
fn invalid_trials_are_counted_and_do_not_speak() {
    let mut rows = measured(&quick(), load_ms);
    let first = rows.iter_mut().find(is_of("wifi", "h2")).unwrap();
    let warm = first.plan.warmup;
    assert!(warm, "a warm-up comes first");
    let row = rows.iter_mut().filter(|row| !row.plan.warmup).find(is_of("wifi", "h2")).unwrap();
    row.outcome = Outcome::Invalid { reason: "late packets".to_owned() };
    row.metrics.insert("load_ms".to_owned(), 1e9);
    let result = analyse(&header(quick()), &rows);
    let pair = &verdict_on(&result, "wifi").ranking[0].comparison;
    assert_eq!((pair.n, pair.verdict), (13, Verdict::Faster));
    assert_eq!(result.trials.invalid, 1);
    assert_eq!(result.failures[0].outcome, "invalid");
}

#[test]
fn what_cannot_run_here_gets_no_verdict_but_the_remedy() {
    let mut rows = measured(&quick(), load_ms);
    for row in rows.iter_mut().filter(|row| row.plan.cell.contender.name == "h2") {
        let (reason, remedy) = ("no such server".to_owned(), "apt install one".to_owned());
        row.outcome = Outcome::Unsupported { reason, remedy };
    }
    let result = analyse(&header(quick()), &rows);
    let last = verdict_on(&result, "3g").ranking.last().unwrap();
    assert_eq!(last.comparison.verdict, Verdict::Unsupported);
    assert_eq!(last.comparison.reason.as_deref(), Some("h2: no such server; apt install one"));
    assert_eq!(verdict_on(&result, "3g").ranking[0].comparison.verdict, Verdict::Faster);
}

#[test]
fn the_ranking_and_the_pairs_tell_the_same() {
    let result = analyse(&header(quick()), &measured(&quick(), load_ms));
    for verdicts in &result.verdicts {
        for ranked in &verdicts.ranking {
            let of =
                |a: &str, b: &str| verdicts.pairs.iter().find(|pair| pair.a == a && pair.b == b);
            let same = of(&ranked.contender, &verdicts.baseline).map(|p| p.comparison.verdict);
            let other = of(&verdicts.baseline, &ranked.contender);
            let other = other.map(|p| p.comparison.verdict.reversed());
            assert_eq!(same.or(other), Some(ranked.comparison.verdict));
        }
    }
}

#[test]
fn a_verdict_that_hangs_on_inferred_dependencies_is_withdrawn() {
    let toml = builtin()[0].toml.replace(
        "kind = \"page\"\nimages = 50\nbytes = \"5kB\"",
        "kind = \"har\"\nfile = \"my.har\"",
    );
    let mut experiment: Experiment = toml.parse().unwrap();
    experiment.contenders = quick().contenders;
    let agreeing = analyse(&header(experiment.clone()), &measured(&experiment, load_ms));
    assert_eq!(agreeing.family.comparisons, 9);
    assert_eq!(agreeing.verdicts.len(), 3);
    assert_eq!(verdict_on(&agreeing, "3g").ranking[0].comparison.verdict, Verdict::Faster);
    let rows = measured(&experiment, |plan, random| match plan.cell.workload.check_of {
        Some(_) => 1000.0 + random.next_fraction(),
        None => load_ms(plan, random),
    });
    let result = analyse(&header(experiment), &rows);
    let first = &verdict_on(&result, "3g").ranking[0].comparison;
    assert_eq!(first.verdict, Verdict::Undecided);
    assert_eq!(
        first.reason.as_deref(),
        Some("faster with inferred dependencies, tie with flat ones")
    );
    assert_eq!(verdict_on(&result, "lan").ranking[0].comparison.verdict, Verdict::Tie);
}

#[test]
fn the_order_of_rows_changes_nothing() {
    let mut rows = measured(&quick(), load_ms);
    let before = analyse(&header(quick()), &rows);
    Seed(8).random().shuffle(&mut rows);
    assert_eq!(analyse(&header(quick()), &rows), before);
}

#[test]
fn of_two_rows_with_one_key_the_later_counts() {
    let mut rows = measured(&quick(), load_ms);
    let mut again = rows.iter().find(|row| !row.plan.warmup).unwrap().clone();
    again.outcome = Outcome::Failed { reason: "the second time".to_owned() };
    rows.push(again);
    let result = analyse(&header(quick()), &rows);
    assert_eq!((result.trials.all(), result.trials.failed), (108, 1));
}

#[test]
fn the_median_trial_is_one_of_the_cell_and_near_its_median() {
    let rows = measured(&quick(), load_ms);
    let result = analyse(&header(quick()), &rows);
    for cell in &result.cells {
        let trial = cell.median_trial.as_ref().unwrap();
        let row = rows.iter().find(|row| row.plan.key == trial.key).unwrap();
        assert_eq!(row.plan.cell.id(), cell.id());
        let summary = cell.metrics["load_ms"];
        assert!((trial.load_ms - summary.median).abs() < 0.01 * summary.median);
        assert_eq!((trial.rounds, trial.connections), (Some(9), 6));
    }
}

#[test]
fn a_run_without_rows_has_a_result_that_says_so() {
    let result = analyse(&header(quick()), &[]);
    assert!(result.cells.iter().all(|cell| cell.metrics.is_empty()));
    let reason = result.verdicts[0].pairs[0].comparison.reason.clone();
    assert_eq!(reason.as_deref(), Some("there is no block in which both ran"));
}

#[test]
fn the_published_schema_of_results_is_up_to_date() {
    schema_file::check("result.schema.json", &result_schema());
}

fn refuse(row: &mut TrialRecord) {
    row.outcome = Outcome::Invalid { reason: "late packets".to_owned() };
}

#[test]
fn a_block_that_ran_again_counts_with_its_last_attempt_and_the_rate_with_all() {
    let mut rows = measured(&quick(), load_ms);
    let block: Vec<TrialRecord> = rows
        .iter()
        .filter(|row| !row.plan.warmup && row.plan.cell.link.name == "wifi" && row.plan.block == 4)
        .cloned()
        .collect();
    let first = rows.iter_mut().filter(|row| !row.plan.warmup && row.plan.block == 4);
    first.filter(|row| row.plan.cell.link.name == "wifi").take(1).for_each(refuse);
    let before = analyse(&header(quick()), &rows);
    assert_eq!(before.trials.invalid, 1);
    rows.extend(block.into_iter().map(|row| TrialRecord { plan: row.plan.again(), ..row }));
    let after = analyse(&header(quick()), &rows);
    assert_eq!((after.trials.invalid, after.trials.all()), (0, before.trials.all()));
    assert!(verdict_on(&after, "wifi").pairs.iter().all(|pair| pair.comparison.n == 14));
    let audited: Vec<_> = after.cells.iter().filter(|cell| cell.link.name == "wifi").collect();
    assert!(audited.iter().all(|cell| cell.audited.trials == 15));
    assert_eq!(audited.iter().map(|cell| cell.audited.invalid).sum::<u32>(), 1);
}

#[test]
fn unequal_rates_of_invalid_trials_forbid_a_verdict() {
    let mut rows = measured(&quick(), load_ms);
    let of_h2 = rows.iter_mut().filter(|row| !row.plan.warmup).filter(is_of("wifi", "h2"));
    of_h2.take(6).for_each(refuse);
    let result = analyse(&header(quick()), &rows);
    let wifi = verdict_on(&result, "wifi");
    let pair =
        |a: &str, b: &str| &wifi.pairs.iter().find(|p| p.a == a && p.b == b).unwrap().comparison;
    let found = pair("h1", "h2");
    assert_eq!(found.verdict, Verdict::Undecided);
    assert_eq!(
        found.reason.as_deref(),
        Some(
            "the audit refused 0 of 14 attempts of h1 and 6 of 14 attempts of h2: one of the two disturbs \
             what is measured"
        )
    );
    assert!(found.ratio.is_some(), "the figures stay to be seen");
    assert_eq!(pair("h1", "h1-tls").verdict, Verdict::Tie);
}

#[test]
fn what_the_audit_refused_confirms_no_published_finding() {
    let experiment = || -> Experiment {
        builtin().iter().find(|one| one.name == "spdy-images").unwrap().toml.parse().unwrap()
    };
    let mut rows = measured(&experiment(), load_ms);
    let all = analyse(&header(experiment()), &rows).published.unwrap();
    assert!(all.findings.iter().all(|finding| !finding.refused && !finding.not_run));
    rows.iter_mut().filter(|row| row.plan.block % 2 == 0).for_each(refuse);
    let half = analyse(&header(experiment()), &rows).published.unwrap();
    assert!(half.findings.iter().all(|finding| finding.verdict == Agreement::CannotTell));
    let refused = half.findings.iter().filter(|finding| finding.refused).count();
    assert_eq!((refused, half.findings.len()), (4, 4), "{:?}", half.findings);
    assert!(half.ratios.iter().all(|ratio| ratio.ours.is_none()));
}

#[test]
fn a_cell_of_which_the_audit_refused_half_says_so_instead_of_giving_a_figure() {
    let mut rows = measured(&quick(), load_ms);
    for row in rows.iter_mut().filter(|row| row.plan.cell.link.name == "lan") {
        if row.plan.block % 2 == 0 {
            refuse(row);
        }
    }
    let result = analyse(&header(quick()), &rows);
    let lan: Vec<_> = result.cells.iter().filter(|cell| cell.link.name == "lan").collect();
    for cell in lan {
        let refused = cell.refused.as_deref().unwrap();
        assert_eq!(refused, "the audit refused 7 of 14 attempts: too many for a figure");
        assert!(cell.metrics.is_empty() && cell.median_trial.is_none() && cell.samples.is_none());
    }
    for pair in &verdict_on(&result, "lan").pairs {
        let found = &pair.comparison;
        assert_eq!((found.verdict, found.ratio, found.ci95), (Verdict::Undecided, None, None));
        assert!(found.reason.as_deref().unwrap().contains("too many for a figure"));
    }
}

#[test]
fn every_comparison_tells_its_p_values_and_what_it_would_have_found() {
    let result = analyse(&header(quick()), &measured(&quick(), load_ms));
    let tie = &verdict_on(&result, "lan").pairs[0].comparison;
    let detectable = tie.detectable.unwrap().0;
    assert!((1.0..1.05).contains(&detectable), "{detectable}");
    assert!(tie.p_tie.unwrap() < 0.01 && tie.p_holm.unwrap() > 0.05);
    let faster = &verdict_on(&result, "3g").ranking[0].comparison;
    assert!(faster.p.unwrap() < 0.01 && faster.p_holm.unwrap() <= 0.05, "{faster:?}");
    for pair in result.verdicts.iter().flat_map(|verdicts| &verdicts.pairs) {
        let found = &pair.comparison;
        if matches!(found.verdict, Verdict::Faster | Verdict::Slower) {
            assert!(found.p_holm.unwrap() <= 0.05, "{found:?}");
        }
    }
}

#[test]
fn a_cell_with_two_heaps_shows_both() {
    let rows = measured(&quick(), |plan, random| {
        let slow = plan.cell.contender.name == "h2" && plan.block % 3 == 0;
        load_ms(plan, random) * if slow { 1.6 } else { 1.0 }
    });
    let result = analyse(&header(quick()), &rows);
    for cell in result.cells.iter().filter(|cell| cell.link.name != "3g") {
        assert_eq!(cell.modes.is_some(), cell.contender.name == "h2", "{:?}", cell.modes);
    }
    let torn = result.cells.iter().find_map(|cell| cell.modes).unwrap();
    assert!((torn.high.centre / torn.low.centre - 1.6).abs() < 0.05);
}

/// An A/A experiment of `comparisons` comparisons over one link, of noise that is nothing like a normal's: a block's
/// mood, a quarter of all trials slower, and now and then one that takes three times as long.
fn same_against_same(comparisons: u32) -> crate::result::SameAgainstSame {
    let mut experiment = quick();
    experiment.links.truncate(1);
    experiment.links[0].warmup = 0;
    experiment.links[0].trials = 10 * comparisons;
    experiment.contenders.truncate(1);
    let mut other = experiment.contenders[0].clone();
    other.name = "b".to_owned();
    experiment.contenders[0].name = "a".to_owned();
    experiment.contenders.push(other);
    experiment.baseline = "a".to_owned();
    experiment.same = Some(10);
    let rows = measured(&experiment, |plan, random| {
        let mood = 1.0 + 0.3 * Seed(plan.seed).random().next_fraction();
        let slower = if random.next_fraction() < 0.25 { 1.2 } else { 1.0 };
        let outlier = if random.next_fraction() < 0.02 { 3.0 } else { 1.0 };
        100.0 * mood * slower * outlier * (0.2 * random.next_fraction()).exp()
    });
    // Only what A/A reads: the whole run's own comparison has all blocks in it.
    super::same::same(&experiment, &Rows::of(&rows)).unwrap()
}

#[test]
fn ten_thousand_simulated_comparisons_with_itself_differ_in_five_per_cent() {
    let found = same_against_same(10_000);
    assert_eq!(found.comparisons, 10_000);
    assert!((found.expected - 0.0488).abs() < 1e-4);
    assert!((0.045..0.055).contains(&found.share), "{} differ", found.differ);
    assert!(found.false_verdicts <= found.differ);
}

#[test]
fn an_a_a_experiment_without_a_complete_comparison_knows_nothing() {
    let found = same_against_same(0);
    assert_eq!((found.comparisons, found.differ, found.ci95), (0, 0, [0.0, 1.0]));
}

#[test]
fn an_a_a_experiment_tells_how_many_are_too_many() {
    let found = same_against_same(200);
    assert_eq!((found.comparisons, found.most, found.blocks), (200, 16, 10));
    assert!(found.differ <= found.most, "{}", found.differ);
    assert!(found.ci95[0] <= found.share && found.share <= found.ci95[1]);
    assert_eq!(found.places.len(), 1);
    assert!(found.places[0].detectable.unwrap().0 > 1.05);
}

#[test]
fn what_a_run_covered_is_not_said_to_be_uncovered() {
    let experiment = quick();
    let mut rows = measured(&experiment, load_ms);
    let not_covered = |experiment: &Experiment, rows: &[TrialRecord]| {
        analyse(&header(experiment.clone()), rows).not_covered
    };
    let all = not_covered(&experiment, &rows);
    assert_eq!(all, ["loss", "warm cache", "several origins", "CPU of a real browser"]);
    rows[3].link.down.lost = 1;
    assert_eq!(not_covered(&experiment, &rows), all[1..]);
    // Of calls and messages by a browser: there are no paints.
    rows[3]
        .settings
        .insert(crate::record::CLIENT_CLOCK_RESOLUTION.to_owned(), "0.005 ms".to_owned());
    assert_eq!(not_covered(&experiment, &rows), all[1..3]);
}

#[test]
fn the_cpu_of_a_browser_is_covered_where_one_paints_whatever_the_experiment() {
    for name in ["quick", "spdy-images", "pages", "first-paint", "priorities"] {
        let toml = builtin().iter().find(|one| one.name == name).unwrap().toml;
        let experiment: Experiment = toml.parse().unwrap();
        let client = Some("chromium".to_owned());
        let overrides = Overrides { client, ..Overrides::default() };
        let painted = experiment.with(&overrides).unwrap();
        let mut rows = measured(&painted, load_ms);
        let said = "CPU of a real browser".to_owned();
        let not_covered =
            |rows: &[TrialRecord]| analyse(&header(painted.clone()), rows).not_covered;
        assert!(not_covered(&rows).contains(&said), "{name}");
        rows.iter_mut().for_each(|row| {
            row.metrics.insert(crate::metric::FCP_MS.to_owned(), 1.0);
        });
        assert!(!not_covered(&rows).contains(&said), "{name}");
    }
}

#[test]
fn a_machine_too_busy_for_times_still_gives_counts_and_says_so_first() {
    let mut rows = measured(&quick(), load_ms);
    for row in &mut rows {
        let h2 = row.plan.cell.contender.name == "h2";
        row.metrics.insert("round_trips".to_owned(), if h2 { 4.0 } else { 11.0 });
        row.metrics.insert("retransmitted_bytes".to_owned(), 0.0);
        if row.plan.cell.link.name == "3g" {
            let reason = "the machine was busy: the link let a packet out too late".to_owned();
            row.outcome = Outcome::Invalid { reason };
        }
    }
    let result = analyse(&header(quick()), &rows);
    let table = verdict_on(&result, "3g");
    assert!(table.ranking.iter().all(|one| one.comparison.verdict == Verdict::Undecided));
    let found = |result: &RunResult, contender: &str, metric: &str| {
        let all = verdict_on(result, "3g").metrics.clone();
        let one = all.into_iter().find(|one| one.contender == contender && one.metric == metric);
        one.map(|one| one.verdict)
    };
    assert_eq!(found(&result, "h2", "round_trips"), Some(MetricVerdict::Less));
    assert_eq!(found(&result, "h1", "round_trips"), Some(MetricVerdict::Same));
    assert_eq!(found(&result, "h2", "retransmitted_bytes"), Some(MetricVerdict::Same));
    let warning = &result.warnings[0];
    assert!(
        warning.starts_with("The audit refused 24 of 24 attempts of 3 of 9 cells (on 3g)"),
        "{warning}"
    );
    // A trial that is invalid for what it did tells nothing of its counts either.
    for row in rows.iter_mut().filter(is_of("3g", "h2")) {
        let reason = "h2 was asked for, and client and server came to speak http/1.1".to_owned();
        row.outcome = Outcome::Invalid { reason };
    }
    assert_eq!(found(&analyse(&header(quick()), &rows), "h2", "round_trips"), None);
}

#[test]
fn an_instrument_beyond_its_limits_is_told_before_any_figure() {
    let mut header = header(quick());
    let error = Spread { p50_us: 20.0, p99_us: 400.0 };
    let trip = RoundTripGauge { rtt_ms: 10.0, pings: 300, unanswered: 0, error };
    let calibration =
        Calibration { spare_cpu: 0.97, round_trips: vec![trip], ..Calibration::default() };
    header.host.calibration = Some(calibration);
    let result = analyse(&header, &measured(&quick(), load_ms));
    assert_eq!(
        result.warnings,
        [
            "The instrument was beyond its limits before the run: error of a round trip of 10 ms: median 20 µs, limit 15 µs, \
          p99 400 µs, limit 50 µs; is the machine busy? One round trip in a hundred is off by 400 µs or more; each \
          trial was audited by itself."
        ]
    );
    // 0 µs would say nothing.
    let trip = RoundTripGauge { error: Spread { p50_us: 20.0, p99_us: 0.4 }, ..trip };
    let fine = Calibration { spare_cpu: 0.97, round_trips: vec![trip], ..Calibration::default() };
    header.host.calibration = Some(fine);
    let warnings = analyse(&header, &measured(&quick(), load_ms)).warnings;
    assert!(warnings[0].ends_with("limit 15 µs; is the machine busy?"), "{warnings:?}");
}
