//! Sentences that a reader in a hurry would take for something else.

use crate::simulated::{Run, quick};
use report::{Colour, Style, terminal};
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
    assert!(together.contains(": 8 trials per contender cannot show it for any of "), "{together}");
    assert!(together.ends_with(" could") && !together.contains("still stand"), "{together}");
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
    assert!(together.contains(" of them have too few trials to show it, "), "{together}");
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
fn a_connection_for_each_request_is_told() {
    let mut run = Run::of(quick(), |_| None);
    assert!(!terminal(&run.report(), WIDE).contains("one for each request"));
    for row in run.rows.iter_mut().filter(|row| row.plan.cell.contender.name == "h1") {
        row.connections.iter_mut().for_each(|connection| connection.requests = 1);
    }
    let text = terminal(&run.report(), WIDE);
    assert!(text.contains("h1 6 connections, HTTP/1.1, one for each request; h1-tls 6"), "{text}");
}
