//! Sentences that a reader in a hurry would take for something else.

use crate::simulated::{Run, quick};
use report::{Colour, Style, terminal};
use study::outcome::Outcome;
use study::plan::TrialPlan;
use study::result::Exploratory;

const WIDE: Style = Style { colour: Colour::Off, width: 400 };

/// Every load takes a second, but for h2's, which takes `ratio` of it.
fn h2_over_all(ratio: f64) -> Run {
    let is_h2 = |plan: &TrialPlan| plan.cell.contender.name == "h2";
    Run::timed(quick(), move |plan| if is_h2(plan) { 1e3 * ratio } else { 1e3 })
}

fn line<'t>(text: &'t str, begins: &str) -> &'t str {
    text.lines().find(|line| line.starts_with(begins)).unwrap()
}

#[test]
fn a_tie_that_is_surely_slower_is_neither_folded_away_nor_called_the_same() {
    let run = h2_over_all(1.03);
    let text = terminal(&run.report(), WIDE);
    assert!(
        line(&text, "result ").ends_with(
            "On lan, wifi and 3g, all tie within 5 %, though slower: h2 1.03× [1.03, 1.03]"
        ),
        "{text}"
    );
    assert!(line(&text, "  h2 ").contains("1.03x [1.03, 1.03]  TIE"), "{text}");
    let page = report::html(&run.report());
    assert!(page.contains("though slower: h2 1.03×"));
    assert!(!page.contains("no difference that matters"));
    // What is faster by as little is no advice.
    let faster = terminal(&h2_over_all(0.97).report(), WIDE);
    assert!(line(&faster, "result ").ends_with(", all tie within 5 %"), "{faster}");
    // Half a per cent is nothing that anybody asks for.
    let level = h2_over_all(1.005);
    let text = terminal(&level.report(), WIDE);
    assert!(line(&text, "result ").ends_with("On lan, wifi and 3g, all tie within 5 %"), "{text}");
    assert!(line(&text, "3g ").contains("all  TIE within 5 %"), "{text}");
}

/// The ranking differs from link to link, and links that are their own figures have commas.
#[test]
fn links_that_say_the_same_share_a_clause_and_are_told_apart() {
    let mut experiment = quick();
    for (link, name) in experiment.links.iter_mut().zip(["4g", "4g,loss=1%", "3g,loss=1%"]) {
        (link.name, link.trials) = (name.to_owned(), 3);
    }
    let run = Run::timed(experiment, |plan| {
        let is_ahead = (plan.cell.contender.name == "h2") == (plan.cell.link.name == "4g");
        let noise = f64::from(plan.block);
        if is_ahead { 990.0 + noise } else { 1010.0 - noise }
    });
    let text = terminal(&run.report(), WIDE);
    let said = line(&text, "result ");
    let links = "On 4g and 4g,loss=1% and 3g,loss=1%, nothing is decided; 3 trials are too few";
    assert!(said.contains(links), "{said}");
    assert!(said.contains(" would do: wirelap race --again ./wirelap-quick-1 --trials "), "{said}");
}

#[test]
fn each_workload_has_a_line_with_its_result_and_the_report_names_what_comes_next() {
    let mut experiment = quick();
    let mut second = experiment.workloads[0].clone();
    second.name = "second".to_owned();
    experiment.workloads.push(second);
    let run = Run::timed(experiment, |plan| {
        let is_h2 = plan.cell.contender.name == "h2";
        let ratio = if plan.cell.workload.name == "second" { 1.5 } else { 0.5 };
        if is_h2 { 1e3 * ratio } else { 1e3 }
    });
    let text = terminal(&run.report(), WIDE);
    let results: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("result ")).collect();
    let first = &run.result.verdicts[0].workload;
    assert!(results[0].starts_with(&format!("result       {first}: On ")), "{text}");
    assert!(results[0].contains("h2 loads the page 0.5 s sooner than h1-tls"), "{text}");
    assert!(results[1].starts_with("result       second: On "), "{text}");
    assert!(results[1].contains("h2 is 0.5 s slower than h1-tls"), "{text}");
    let last = text.lines().last().unwrap();
    let report = "report       ./wirelap-quick-1/report.html";
    assert_eq!(last, format!("{report}      next  wirelap race my.har --links 4g,3g"));
    let none = terminal(&report::Report { next: None, ..run.report() }, WIDE);
    assert_eq!(none.lines().last(), Some(report), "nothing follows");
}

/// The table has clear text's row, too: a headline with h2's alone would read as if the other were decided.
#[test]
fn the_headline_names_everyone_who_is_undecided() {
    let swaying =
        |plan: &TrialPlan, names: &[&str]| match names.contains(&&*plan.cell.contender.name) {
            true => 1000.0 * [0.5, 1.5][plan.block as usize % 2],
            false => 1000.0,
        };
    let text =
        |names: &[&str]| terminal(&Run::timed(quick(), |plan| swaying(plan, names)).report(), WIDE);
    let both = text(&["h1-tls"]);
    let said = line(&both, "result ");
    assert!(said.contains("On lan, wifi and 3g, nothing is decided; about "), "{said}");
    let mixed = Run::timed(quick(), |plan| match &*plan.cell.link.name {
        "lan" => swaying(plan, &["h1"]),
        _ if plan.cell.contender.name == "h2" => 900.0,
        _ => swaying(plan, &["h1"]),
    });
    let mixed = terminal(&mixed.report(), WIDE);
    let said = line(&mixed, "result ");
    assert!(said.contains("; on lan, wifi and 3g, h1 is undecided; about "), "{said}");
    let one = text(&["h1"]);
    let said = line(&one, "result ");
    assert!(said.contains(" h2 ties with h1-tls within 5 %; "), "{said}");
    assert!(said.contains(", h1 is undecided; about "), "{said}");
}

/// Of a run with too few trials for any answer, a quiet machine is not enough.
#[test]
fn a_refused_run_is_made_again_with_enough_trials() {
    let told = |trials: u32, refused: fn(&TrialPlan) -> bool| {
        let mut experiment = quick();
        experiment.links.iter_mut().for_each(|link| link.trials = trials);
        let busy = || Outcome::Invalid { reason: "late".to_owned() };
        let run = Run::of(experiment, |plan| refused(plan).then(busy));
        terminal(&run.report(), WIDE)
    };
    let whole = told(12, |_| true);
    let said = line(&whole, "result ");
    assert!(said.ends_with("on a quiet machine: wirelap race --again ./wirelap-quick-1"), "{said}");
    let short = told(3, |_| true);
    let said = line(&short, "result ");
    assert!(said.ends_with(" wirelap race --again ./wirelap-quick-1 --trials 7"), "{said}");
}

/// The other trials of a cell whose first blocks were refused or failed do not run.
#[test]
fn planned_trials_that_did_not_run_are_told() {
    let run = Run::of(quick(), |_| None);
    let mut rows = run.rows.clone();
    rows.retain(|row| row.plan.block < 4 || row.plan.cell.link.name != "3g");
    let result = study::analyse(&crate::simulated::header(quick()), &rows);
    let run = Run { result, rows, ..run };
    let text = terminal(&run.report(), WIDE);
    let trials = "84 of 108 trials measured, 0 invalid, 0 failed, 24 not run, ";
    assert!(text.contains(trials), "{text}");
    assert!(report::html(&run.report()).contains(trials));
    assert!(report::json(&run.result).contains("\"not_run\": 8"));
}

/// What was refused is counted over attempts, once and in one wording.
#[test]
fn refused_attempts_are_one_count_in_one_wording() {
    let is_late = |plan: &TrialPlan| {
        plan.cell.contender.name == "h2" && plan.block < 2 && plan.cell.link.name == "3g"
    };
    let mut run = Run::of(quick(), |plan| {
        is_late(plan).then(|| Outcome::Invalid { reason: "late".to_owned() })
    });
    let text = terminal(&run.report(), WIDE);
    assert!(text.contains("    the audit refused 2 of 12 attempts: late\n"), "{text}");
    assert!(text.contains(" trials measured, 2 invalid, 0 failed"), "{text}");
    let cell = run.result.cells.iter_mut().find(|cell| cell.audited.invalid == 2).unwrap();
    (cell.audited.trials, cell.audited.invalid) = (14, 4);
    let text = terminal(&run.report(), WIDE);
    let refused = "the audit refused 4 of 14 attempts; 2 of 12 trials stay without a figure: late";
    assert!(text.contains(refused), "{text}");
    let trials = text.lines().find(|line| line.contains(" trials measured, ")).unwrap();
    assert!(trials.contains("2 invalid, 0 failed"), "{text}");
    assert!(trials.ends_with("; the audit refused 4 of 110 attempts"), "{text}");
    assert!(!text.contains("attempts were invalid"), "{text}");
}

#[test]
fn what_the_audit_refused_of_a_contender_is_told_once_in_its_row() {
    let run = Run::of(quick(), |plan| {
        let is_refused = plan.cell.contender.name == "h2" && plan.cell.link.name == "3g";
        is_refused.then(|| Outcome::Invalid { reason: "late".to_owned() })
    });
    let refused = "the audit refused 12 of 12 attempts: too many for a figure";
    let text = terminal(&run.report(), WIDE);
    assert!(text.contains(&format!("    {refused}: late\n")), "{text}");
    assert_eq!(text.matches(refused).count(), 1, "{text}");
}

/// The baseline's row has its reason, and each other one its own.
#[test]
fn who_was_refused_does_not_repeat_what_was_refused_of_the_baseline() {
    let late = |_: &TrialPlan| Some(Outcome::Invalid { reason: "late".to_owned() });
    let run = Run::of(quick(), late);
    for text in [terminal(&run.report(), WIDE), report::html(&run.report())] {
        assert!(!text.contains("h1-tls: the audit refused"), "{text}");
    }
}

/// What passes between two trials is not the run's time: it may have been interrupted there.
#[test]
fn the_time_of_the_trials_has_no_pause_in_it() {
    let told = |run: &Run| {
        let text = terminal(&run.report(), WIDE);
        text.lines().find(|line| line.contains(" trials measured, ")).unwrap().to_owned()
    };
    let whole = Run::of(quick(), |_| None);
    let mut resumed = Run::of(quick(), |_| None);
    let half = resumed.rows.len() / 2;
    resumed.rows[half..].iter_mut().for_each(|row| row.started_unix_ms += 540_000);
    assert_eq!(told(&resumed), told(&whole));
}

#[test]
fn too_many_refused_are_not_told_as_some_and_what_their_reasons_share_is_said_once() {
    let busy = |plan: &TrialPlan| {
        let is_refused = plan.cell.contender.name == "h2" && plan.cell.link.name == "3g";
        let what = match plan.block {
            0..4 => "the client handled an event too late",
            4..8 => "the link sent a packet too late",
            _ => return None,
        };
        let reason = format!("the machine was busy: {what}");
        is_refused.then_some(Outcome::Invalid { reason })
    };
    let mut run = Run::of(quick(), busy);
    let cell = run.result.cells.iter_mut().find(|cell| cell.audited.invalid == 8).unwrap();
    let many = "the audit refused 10 of 14 attempts: too many for a figure";
    (cell.audited.trials, cell.audited.invalid) = (14, 10);
    cell.refused = Some(many.to_owned());
    let text = terminal(&run.report(), WIDE);
    let told = "the machine was busy: the client handled an event too late; the link sent a packet too late";
    assert!(text.contains(&format!("    {many}: {told}\n")), "{text}");
}

#[test]
fn no_number_of_trials_detects_every_difference() {
    let text = terminal(&h2_over_all(1.0).report(), WIDE);
    assert!(text.contains("(detectable: under 0.1 %)"), "{text}");
    assert!(!text.contains(" 0 %)"), "{text}");
}

#[test]
fn too_few_trials_for_all_comparisons_together_do_not_read_as_differences_that_fell() {
    let mut experiment = quick();
    experiment.links.iter_mut().for_each(|link| link.trials = 8);
    let run = Run::of(experiment, |_| None);
    let text = terminal(&run.report(), WIDE);
    let together = text.lines().find(|line| line.contains("comparisons together: ")).unwrap();
    assert!(
        together.contains(": 8 trials per contender are too few to show it for any of "),
        "{together}"
    );
    assert!(together.ends_with(" would do") && !together.contains("still stand"), "{together}");
}

#[test]
fn differences_with_too_few_trials_are_told_from_those_that_fell() {
    let mut experiment = quick();
    experiment.links.iter_mut().for_each(|link| link.trials = 14);
    experiment.links[2].trials = 7;
    let run = Run::of(experiment, |_| None);
    let text = terminal(&run.report(), WIDE);
    let together = text.lines().find(|line| line.contains("comparisons together: ")).unwrap();
    assert!(together.contains(" differences still stand; "), "{together}");
    let few = "; the other 3 have too few trials for that: 9 per contender would do";
    assert!(together.ends_with(few), "{together}");
}

#[test]
fn trials_that_were_added_are_counted_over_all_cells_and_planned_ones_by_cell() {
    let mut run = Run::of(quick(), |_| None);
    run.result.exploratory = Some(Exploratory { added: 12, planned: 8 });
    let markdown = report::race_markdown(&run.result);
    let told = "12 trials of all cells were added after the 8 planned for each cell had been judged: the confidence of \
                the intervals no longer holds";
    assert!(markdown.contains(told), "{markdown}");
}

#[test]
fn the_summary_for_a_ci_system_tells_of_what_was_not_measured_and_why() {
    let run = Run::troubled();
    let mut result = run.result.clone();
    result.warnings.push("the links were not kept".to_owned());
    let (markdown, junit) = (report::race_markdown(&result), report::race_junit(&result));
    assert!(markdown.contains("\n**the links were not kept**\n"), "{markdown}");
    let mut not_measured = 0;
    for cell in &run.result.cells {
        let (all, failed) = (cell.trials.all(), cell.trials.failed);
        if cell.trials.measured < all && cell.workload.check_of.is_none() {
            not_measured += 1;
            let told = format!("{} of {all} measured", cell.trials.measured);
            assert!(markdown.contains(&told) && junit.contains(&told), "{markdown}\n{junit}");
            let told = format!(", {failed} failed");
            assert!(failed == 0 || markdown.contains(&told), "{markdown}");
        }
    }
    assert!(not_measured > 0);
    for one in run.result.verdicts.iter().flat_map(|table| &table.ranking) {
        let reason = one.comparison.reason.iter();
        assert!(reason.into_iter().all(|reason| junit.contains(reason.as_str())), "{junit}");
    }
}

#[test]
fn a_connection_for_each_request_is_told() {
    let mut run = Run::of(quick(), |_| None);
    assert!(!terminal(&run.report(), WIDE).contains("one for each request"));
    for row in run.rows.iter_mut().filter(|row| row.plan.cell.contender.name == "h1") {
        row.connections.iter_mut().for_each(|connection| connection.requests = 1);
    }
    let text = terminal(&run.report(), WIDE);
    assert!(text.contains("h1 6 connections, HTTP/1.1, one for each request; h1-tls 6"), "{text}");
}
