use super::check::{Check, finding};
use super::*;
use crate::experiment::builtin;
use crate::result::Verdict;

fn comparison(low: f64, high: f64) -> Comparison {
    let verdict = if low > 1.0 / 1.05 && high < 1.05 {
        Verdict::Tie
    } else if high < 1.0 {
        Verdict::Faster
    } else if low > 1.0 {
        Verdict::Slower
    } else {
        Verdict::Undecided
    };
    Comparison {
        n: 8,
        ratio: Some(Ratio((low * high).sqrt())),
        ci95: Some([Ratio(low), Ratio(high)]),
        confidence: 0.95,
        verdict,
        reason: None,
        trials_needed: None,
    }
}

fn experiment(name: &str) -> Experiment {
    builtin().iter().find(|builtin| builtin.name == name).unwrap().toml.parse().unwrap()
}

fn verdicts(name: &str, ask: &dyn Fn(Question<'_>) -> Option<Comparison>) -> Vec<Agreement> {
    let experiment = experiment(name);
    let published = compare(
        experiment.published.unwrap(),
        &Ours { experiment: &experiment, ask, differ: &|_| None },
    )
    .unwrap();
    published.findings.into_iter().map(|finding| finding.verdict).collect()
}

#[test]
fn an_interval_confirms_denies_or_leaves_open() {
    use Agreement::{CannotTell, Confirmed, NotConfirmed};
    let cases = [
        ((0.45, 0.55), Confirmed),
        ((0.30, 0.36), NotConfirmed),
        ((0.70, 0.80), NotConfirmed),
        ((0.30, 0.55), CannotTell),
        ((0.20, 0.90), CannotTell),
    ];
    for ((low, high), expected) in cases {
        let check = Check::about("half", Some(&comparison(low, high)), 0.5);
        assert_eq!(finding("f", &[check], "").verdict, expected, "{low} to {high}");
    }
    assert_eq!(finding("f", &[Check::faster("x", None)], "").verdict, CannotTell);
}

#[test]
fn one_check_that_denies_outweighs_all_that_confirm_and_names_itself_and_the_reason() {
    let checks = [
        Check::faster("good", Some(&comparison(0.4, 0.5))),
        Check::faster("bad", Some(&comparison(1.2, 1.3))),
        Check::faster("vague", Some(&comparison(0.9, 1.3))),
    ];
    let found = finding("f", &checks, "because");
    assert_eq!(found.verdict, Agreement::NotConfirmed);
    assert_eq!(found.reason, "bad: 1.25 [1.20, 1.30]. because");
}

#[test]
fn what_was_not_run_leaves_every_finding_open() {
    for name in ["spdy-images", "twitter-api", "websocket-echo"] {
        assert!(verdicts(name, &|_| None).iter().all(|verdict| *verdict == Agreement::CannotTell));
    }
}

#[test]
fn every_question_names_what_its_experiment_has() {
    for name in ["spdy-images", "twitter-api", "websocket-echo"] {
        let experiment = experiment(name);
        let asked = std::cell::Cell::new(0);
        let known = |question: Question<'_>| {
            assert!(experiment.workload(question.workload).is_some());
            assert!(experiment.links.iter().any(|link| link.name == question.link), "{question:?}");
            for contender in [question.a, question.b] {
                assert!(experiment.contender(contender).is_some(), "{question:?}");
            }
        };
        let ask = |question: Question<'_>| {
            asked.set(asked.get() + 1);
            known(question);
            None
        };
        let differ = |question: Question<'_>| {
            known(question);
            None
        };
        let ours = Ours { experiment: &experiment, ask: &ask, differ: &differ };
        let published = compare(experiment.published.unwrap(), &ours).unwrap();
        assert!(asked.get() >= published.ratios.len() && !published.ratios.is_empty());
    }
}

#[test]
fn the_rows_that_gave_the_link_are_marked_and_the_others_are_not() {
    let count = |name| {
        let experiment = experiment(name);
        let ours = Ours { experiment: &experiment, ask: &|_| None, differ: &|_| None };
        let published = compare(experiment.published.unwrap(), &ours).unwrap();
        let given = published.ratios.iter().filter(|ratio| ratio.reconstructs).count();
        (published.ratios.len(), given)
    };
    // Two ratios a row with keep-alive, three of five rows used; four a row without.
    assert_eq!(count("spdy-images"), (5 * 2 + 5 * 4, 3 * 2));
    assert_eq!(count("twitter-api"), (4, 2));
    assert_eq!(count("websocket-echo"), (2, 0));
}

#[test]
fn ratios_are_of_the_published_times() {
    let experiment = experiment("spdy-images");
    let ours =
        Ours { experiment: &experiment, ask: &|_| Some(comparison(0.6, 0.6)), differ: &|_| None };
    let published = compare(Source::SpdyImages, &ours).unwrap();
    let row =
        published.ratios.iter().find(|row| row.what == "spdy / https, N = 1000, keep-alive on");
    let row = row.unwrap();
    assert!((row.published - 3702.0 / 7341.0).abs() < 1e-12 && !row.reconstructs);
    assert!((row.error.unwrap() - (0.6 / (3702.0 / 7341.0) - 1.0)).abs() < 1e-9);
}

#[test]
fn the_open_question_asks_every_cause_for_the_published_excess() {
    let experiment = experiment("websocket-echo");
    let added = |ms: f64| Difference { estimate: ms, ci95: Some([ms - 0.1, ms + 0.1]) };
    let differ = |question: Question<'_>| {
        assert_eq!(question.b, "ws");
        Some(added(if question.a.ends_with("nagle-2-writes") { 57.5 } else { 0.0 }))
    };
    let ours = Ours { experiment: &experiment, ask: &|_| None, differ: &differ };
    let open = compare(Source::WebsocketEcho, &ours).unwrap().open_question.unwrap();
    assert!((open.excess_ms - 11.288).abs() < 1e-9);
    assert!(open.answer.starts_with("Cannot tell: no cause switched here adds 11.3 ms"));
    let told: Vec<Explains> = open.causes.iter().map(|cause| cause.verdict).collect();
    use Explains::{Nothing, TooMuch};
    assert_eq!(told, [Nothing, Nothing, TooMuch, Nothing, TooMuch, Nothing, Nothing, Nothing]);
}
