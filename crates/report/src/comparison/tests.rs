use super::*;
use crate::{Colour, ComparisonLinks, Style, comparison_html};
use study::compare::{COMPARISON_SCHEMA, Unmatched};
use study::gate::{GateOutcome, GatePlace, GateResult};
use study::plan::CellId;

fn cell(contender: &str) -> CellId {
    let name = |text: &str| text.to_owned();
    CellId { workload: name("page|x"), link: name("3g"), contender: name(contender) }
}

fn comparison() -> RunComparison {
    let side = |median| Side { n: 8, failed: 0, median: Some(median) };
    let ratio = |value: f64| study::comparison::Ratio(value);
    let change = |contender: &str, value: f64, change| CellChange {
        cell: cell(contender),
        metric: "load_ms".to_owned(),
        a: side(4_000.0),
        b: side(4_000.0 * value),
        ratio: Some(ratio(value)),
        ci95: Some([ratio(value - 0.02), ratio(value + 0.02)]),
        change,
        reason: None,
    };
    let changes = vec![change("h1", 1.0, Change::Tie), change("<b>h2</b>", 1.2, Change::Higher)];
    let gates = [GateOutcome::Inconclusive, GateOutcome::Failed];
    let gates = changes.iter().zip(gates).map(|(change, outcome)| GateResult {
        gate: "load_ms<1.05".to_owned(),
        place: GatePlace {
            workload: change.cell.workload.clone(),
            link: change.cell.link.clone(),
            contender: change.cell.contender.clone(),
            against: None,
        },
        outcome,
        n: 8,
        ratio: change.ratio,
        interval: change.ci95,
        error: 0.02,
        reason: None,
        detectable: (outcome == GateOutcome::Inconclusive).then(|| [ratio(0.98), ratio(1.12)]),
        trials_needed: (outcome == GateOutcome::Inconclusive).then_some(40),
    });
    RunComparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        a: "before".to_owned(),
        b: "after".to_owned(),
        margin: 0.05,
        confidence: 0.95,
        warnings: vec!["after: The instrument was beyond its limits <here>.".to_owned()],
        differences: vec!["kernel: 6.1 before, 6.2 after".to_owned()],
        gates: gates.collect(),
        changes,
        unmatched: vec![Unmatched { cell: cell("h3"), only_in: "after".to_owned() }],
    }
}

#[test]
fn the_terminal_tells_every_change_and_what_each_gate_says() {
    let text = comparison_terminal(&comparison(), Style { colour: Colour::Off, width: 100 });
    assert!(text.contains("4.00 s -> 4.80 s  1.20x [1.18, 1.22]  HIGHER"), "{text}");
    assert!(text.contains("gate load_ms<1.05: 1 failed, 1 inconclusive"), "{text}");
    assert!(text.contains("FAILED page|x, 3g, <b>h2</b>: 1.20x"), "{text}");
    let unwrapped = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unwrapped.contains("below 0.980 or above 1.120 in 4 runs of 5"), "{text}");
    assert!(text.contains("only in after: page|x, 3g, h3"), "{text}");
}

#[test]
fn cells_of_one_run_alone_share_a_line_and_are_told_once() {
    let mut one = comparison();
    let gates = std::mem::take(&mut one.gates);
    one.unmatched.insert(0, Unmatched { cell: cell("h1"), only_in: "after".to_owned() });
    let text = comparison_terminal(&one, Style { colour: Colour::Off, width: 100 });
    assert!(text.contains("only in after: page|x, 3g, h1 and h3\n"), "{text}");
    // A gate that was asked of it has said so.
    one.gates = gates;
    assert!(one.gates.iter().any(|gate| gate.place.contender == "h1"));
    let text = comparison_terminal(&one, Style { colour: Colour::Off, width: 100 });
    assert!(text.contains("only in after: page|x, 3g, h3\n"), "{text}");
}

/// A gate's interval has a level of its own: the same ratio has another one among the changes.
#[test]
fn the_ratios_of_gates_are_headed_with_the_level_of_their_intervals() {
    let mut one = comparison();
    one.gates.iter_mut().for_each(|gate| gate.error = 0.0061);
    let markdown = comparison_markdown(&one);
    assert!(markdown.contains("| ratio and 98.7\u{a0}% interval |"), "{markdown}");
    let text = comparison_terminal(&one, Style { colour: Colour::Off, width: 400 });
    assert!(text.contains("Each gate's interval holds with at least 98.7 % by itself"), "{text}");
}

#[test]
fn a_run_that_failed_has_no_ratio() {
    let mut failed = comparison();
    let endless = study::comparison::Ratio(f64::INFINITY);
    let nothing = study::comparison::Ratio(0.0);
    let sides = [Side { n: 8, failed: 8, median: None }, failed.changes[1].b];
    failed.gates.clear();
    for (nth, ratio) in [endless, nothing].into_iter().enumerate() {
        let change = &mut failed.changes[nth];
        (change.ratio, change.ci95) = (Some(ratio), Some([ratio; 2]));
        (change.a, change.b) = (sides[1 - nth], sides[nth]);
    }
    failed.changes.iter_mut().for_each(|one| one.change = Change::Failed);
    let text = comparison_terminal(&failed, Style { colour: Colour::Off, width: 100 });
    assert!(text.contains("Of 2 figures 1 failed in before and 1 failed in after\n"), "{text}");
    assert!(text.contains("4.80 s -> failed"), "{text}");
    assert!(text.contains("failed -> 4.80 s"), "{text}");
    assert!(!text.contains("inf") && !text.contains("0.00"), "{text}");
    let told = [
        comparison_markdown(&failed),
        comparison_html(&failed, &ComparisonLinks::default(), "0.1.0"),
    ];
    assert!(told.iter().all(|text| !text.contains("inf×") && !text.contains("0.000×")), "{told:?}");
}

/// Such runs have a median of the trials that were measured.
#[test]
fn a_run_of_which_most_trials_failed_counts_as_failed_in_that_run() {
    let mut failed = comparison();
    failed.gates.clear();
    for (one, failures) in failed.changes.iter_mut().zip([(6, 0), (6, 1)]) {
        (one.a.failed, one.b.failed) = failures;
        (one.change, one.ratio, one.ci95) = (Change::Failed, None, None);
        one.reason = Some("before: 6 of 8 trials failed: reset".to_owned());
    }
    let text = comparison_terminal(&failed, Style { colour: Colour::Off, width: 100 });
    assert!(text.contains("Of 2 figures 1 failed in before and 1 failed in both\n"), "{text}");
    assert!(text.contains("h1, load_ms: before: 6 of 8 trials failed: reset"), "{text}");
}

#[test]
fn the_page_draws_every_change_and_takes_no_markup_from_names() {
    let links = ComparisonLinks { a: Some("../a/report.html".to_owned()), b: None };
    let page = comparison_html(&comparison(), &links, "0.1.0");
    assert!(page.contains("<a href=\"../a/report.html\">") && page.matches("<a ").count() == 1);
    assert!(page.contains("class=\"higher\"") && page.contains("class=\"tie\""), "{page}");
    assert_eq!(page.matches("class=\"forest\"").count(), 2);
    assert!(page.contains("&lt;b&gt;h2&lt;/b&gt;") && !page.contains("<b>h2"));
    assert!(page.contains("1 higher and 1 level; gates: 1 failed, 1 inconclusive"), "{page}");
}

#[test]
fn markdown_keeps_names_in_their_cells() {
    let text = comparison_markdown(&comparison());
    assert!(text.contains("| page\\|x | load\\_ms | 3g | &lt;b&gt;h2&lt;/b&gt; | 4.00"), "{text}");
    let gate = "| load\\_ms&lt;1.05 | page\\|x | 3g | &lt;b&gt;h2&lt;/b&gt; | **failed** | 1.20× ";
    assert!(text.contains(gate), "{text}");
    assert!(text.contains("about 40 trials of each would decide"), "{text}");
}

#[test]
fn junit_has_a_case_a_cell_a_failure_for_each_failed_gate_and_skips_the_inconclusive() {
    let xml = comparison_junit(&comparison());
    assert!(xml.starts_with("<?xml"));
    let suite = "<testsuite name=\"load_ms&lt;1.05\" tests=\"2\" failures=\"1\" skipped=\"1\">";
    assert!(xml.contains(suite), "{xml}");
    assert!(xml.contains("<skipped message=\"inconclusive: 1.00× "), "{xml}");
    assert_eq!((xml.matches("<testcase").count(), xml.matches("<failure").count()), (2, 1));
    let none = RunComparison { gates: Vec::new(), ..comparison() };
    assert_eq!(comparison_junit(&none).matches("<failure").count(), 0);
}

#[test]
fn warnings_of_the_runs_are_in_every_form() {
    let comparison = comparison();
    let text = comparison_terminal(&comparison, Style { colour: Colour::Off, width: 100 });
    assert!(text.contains("WARNING after: The instrument was beyond its limits <here>."), "{text}");
    let summary = comparison_markdown(&comparison);
    assert!(summary.contains("**after: The instrument was beyond its limits &lt;here&gt;.**"));
    let page = comparison_html(&comparison, &ComparisonLinks::default(), "0.1.0");
    let place = page.find("beyond its limits &lt;here&gt;").unwrap();
    assert!(place < page.find("What changed").unwrap());
}
