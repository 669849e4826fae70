use super::check::{Check, Occurs, finding};
use super::*;
use crate::comparison::Verdict;
use crate::experiment::builtin;

pub(super) fn comparison(low: f64, high: f64) -> Comparison {
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
        verdict,
        ..Comparison::of_nothing()
    }
}

pub(super) fn experiment(name: &str) -> Experiment {
    builtin().iter().find(|builtin| builtin.name == name).unwrap().toml.parse().unwrap()
}

/// A run of which nothing is known.
pub(super) fn nothing(experiment: &Experiment) -> Ours<'_> {
    Ours {
        experiment,
        ask: &|_| None,
        ask_of: &|_, _| None,
        figures: &|_, _| None,
        profiled: &|_, _| None,
        time: &|_| None,
        differ: &|_| None,
    }
}

pub(super) fn verdicts(
    name: &str,
    ask: &dyn Fn(Question<'_>) -> Option<Comparison>,
) -> Vec<Agreement> {
    let experiment = experiment(name);
    let published =
        compare(experiment.published.unwrap(), &Ours { ask, ..nothing(&experiment) }).unwrap();
    published.findings.into_iter().map(|finding| finding.verdict).collect()
}

/// What `--fast` leaves runs in about three minutes; of the forty-one findings these need more: two that rest on a thousand
/// images, and two on the small and the medium file. One can never be judged, for nothing of ours can be switched there.
#[test]
fn fast_leaves_all_that_most_findings_rest_on() {
    use crate::experiment::{Extent, Overrides};
    let fast = Overrides { extent: Extent::Fast, ..Overrides::default() };
    let (mut all, mut not_run) = (0, Vec::new());
    for name in [
        "spdy-images",
        "twitter-api",
        "twitter-desktop",
        "twitter-conditions",
        "websocket-echo",
        "jvm-downloads",
        "jvm-many",
        "http3-loss",
        "h2-push",
        "first-paint",
        "lossy",
        "first-visit",
    ] {
        let experiment = experiment(name).with(&fast).unwrap();
        let there = |question: Question<'_>| {
            let link = experiment.links.iter().any(|link| link.name == question.link);
            let both = [question.a, question.b].map(|one| experiment.contender(one).is_some());
            link && both == [true; 2] && experiment.workload(question.workload).is_some()
        };
        let ours = Ours {
            ask: &|question| there(question).then(|| comparison(0.5, 0.9)),
            ask_of: &|_, question| there(question).then(|| comparison(0.5, 0.9)),
            figures: &|_, question| there(question).then(|| vec![1.0; 6]),
            ..nothing(&experiment)
        };
        let published = compare(experiment.published.unwrap(), &ours).unwrap();
        all += published.findings.len();
        let missing = published.findings.iter().enumerate().filter(|(_, finding)| finding.not_run);
        not_run.extend(missing.map(|(number, _)| (name, number)));
    }
    let needs_more =
        [("spdy-images", 0), ("spdy-images", 1), ("jvm-downloads", 0), ("jvm-downloads", 1)];
    assert_eq!((all, not_run), (41, needs_more.to_vec()));
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
fn of_many_that_were_not_run_only_the_number_is_told() {
    let vague = || Check::faster("vague", Some(&comparison(0.9, 1.3)));
    let found = |absent: usize| {
        let absent = (0..absent).map(|nth| Check::faster(&format!("x{nth}"), None));
        finding("f", &absent.chain([vague()]).collect::<Vec<_>>(), "").reason
    };
    assert_eq!(found(1), "x0: not run; vague: 1.082 [0.900, 1.300], on both sides of 1");
    assert_eq!(
        found(4),
        "vague: 1.082 [0.900, 1.300], on both sides of 1; 4 comparisons that it depends on were not run"
    );
}

#[test]
fn what_was_refused_is_told_from_what_was_not_run() {
    let refused = Comparison::of_nothing();
    let found = |check: Check| {
        let found = finding("f", &[check], "");
        (found.verdict, found.not_run, found.refused, found.reason)
    };
    let open = Agreement::CannotTell;
    assert_eq!(found(Check::faster("x", None)), (open, true, false, "x: not run".to_owned()));
    let none_counts = "x: no trial counts".to_owned();
    assert_eq!(found(Check::faster("x", Some(&refused))), (open, false, true, none_counts.clone()));
    assert_eq!(
        found(Check::occurs("x", Some(&[]), Occurs::Never)),
        (open, false, true, none_counts)
    );
    assert_eq!(found(Check::occurs("x", None, Occurs::Never)).3, "x: not run");
    // What is named twice is told once.
    let fast = comparison(0.5, 0.6);
    let twice = [Check::faster("x", Some(&fast)), Check::faster("x", Some(&fast))];
    assert_eq!(finding("f", &twice, "").reason, "x: 0.55 [0.50, 0.60]");
    let wide = found(Check::faster("x", Some(&comparison(0.9, 1.3))));
    assert_eq!((wide.0, wide.1, wide.2), (open, false, false));
    let checks: Vec<Check> = (0..4).map(|_| Check::alike("x", Some(&refused))).collect();
    assert_eq!(
        finding("f", &checks, "").reason,
        "4 comparisons that it depends on have no trial that counts"
    );
}

#[test]
fn what_was_measured_and_tells_nothing_says_why_in_the_digits_that_show_it() {
    let near = comparison(0.5187, 0.5284);
    let reason = |check: Check| finding("f", &[check], "").reason;
    assert_eq!(
        reason(Check::within("x", Some(&near), 0.52..0.83)),
        "x: 0.524 [0.519, 0.528], on both sides of 0.52"
    );
    let wide = comparison(0.3, 1.2);
    assert_eq!(
        reason(Check::about("x", Some(&wide), 0.5)),
        "x: 0.600 [0.300, 1.200], on both sides of 0.375 and of 0.625"
    );
    assert!(reason(Check::alike("x", Some(&wide))).ends_with(", neither a tie nor a difference"));
    let (a, b) = (comparison(0.718, 0.738), comparison(0.712, 0.7182));
    assert_eq!(
        reason(Check::smaller("a", Some(&a), "b", Some(&b))),
        "a: 0.728 [0.718, 0.738] against b: 0.715 [0.712, 0.718], the intervals overlap"
    );
    let any = comparison(0.0, f64::INFINITY);
    let few = Comparison { ratio: Some(Ratio(0.9)), verdict: Verdict::Undecided, ..any };
    assert_eq!(reason(Check::faster("x", Some(&few))), "x: 0.900, too few trials for an interval");
}

#[test]
fn what_was_not_run_leaves_every_finding_open() {
    for name in [
        "spdy-images",
        "twitter-api",
        "twitter-desktop",
        "twitter-conditions",
        "websocket-echo",
        "jvm-downloads",
        "jvm-many",
    ] {
        assert!(verdicts(name, &|_| None).iter().all(|verdict| *verdict == Agreement::CannotTell));
    }
}

/// Its section is between its heading and the next one.
#[test]
fn the_page_of_the_claims_has_every_finding_and_its_command() {
    const PAGE: &str = include_str!("../../../../docs/published.md");
    let mut seen = 0;
    for builtin in builtin() {
        let experiment: Experiment = builtin.toml.parse().unwrap();
        let Some(source) = experiment.published else { continue };
        let name = &builtin.name;
        assert!(PAGE.contains(&format!("`wirelap race {name}`")), "{name}");
        let (_, section) = PAGE.split_once(&format!("(`{name}`)\n")).unwrap();
        let section = section.split_once("\n## ").map_or(section, |(own, _)| own);
        let findings = compare(source, &nothing(&experiment)).unwrap().findings;
        for PublishedFinding { finding, .. } in &findings {
            assert!(section.contains(&format!("| {finding} |")), "{name}: {finding}");
        }
        assert_eq!(
            section.lines().filter(|line| line.starts_with("| ")).count(),
            findings.len() + 1
        );
        seen += 1;
    }
    assert_eq!(seen, 12);
}

#[test]
fn findings_that_are_set_beside_ours_are_those_of_the_published_file() {
    for (name, file) in [
        ("http3-loss", include_str!("../../../../experiments/published/http3-loss.toml")),
        ("lossy", include_str!("../../../../experiments/published/lossy.toml")),
        ("first-visit", include_str!("../../../../experiments/published/first-visit.toml")),
        ("first-paint", include_str!("../../../../experiments/published/first-paint.toml")),
    ] {
        let table: toml::Table = file.parse().unwrap();
        let experiment = experiment(name);
        let published = compare(experiment.published.unwrap(), &nothing(&experiment)).unwrap();
        assert_eq!(Some(published.title.as_str()), table["title"].as_str());
        assert!(published.conditions.contains_key("link"), "{name}");
        let judged: Vec<toml::Value> =
            published.findings.into_iter().map(|finding| finding.finding.into()).collect();
        assert_eq!(Some(&judged), table["expect"]["findings"].as_array());
    }
}

#[test]
fn every_question_names_what_its_experiment_has() {
    for name in ["spdy-images", "twitter-api", "websocket-echo", "jvm-downloads"] {
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
        let ask_of = |_: &str, question: Question<'_>| {
            asked.set(asked.get() + 1);
            known(question);
            None
        };
        let figures = |_: &str, question: Question<'_>| {
            known(question);
            None
        };
        let experiment = &experiment;
        let ours = Ours {
            experiment,
            ask: &ask,
            ask_of: &ask_of,
            figures: &figures,
            profiled: &|_, _| None,
            time: &|_| None,
            differ: &differ,
        };
        let published = compare(experiment.published.unwrap(), &ours).unwrap();
        assert!(asked.get() >= published.ratios.len() && !published.ratios.is_empty());
    }
}

#[test]
fn the_rows_that_gave_the_link_are_marked_and_the_others_are_not() {
    let count = |name| {
        let experiment = experiment(name);
        let ours = nothing(&experiment);
        let published = compare(experiment.published.unwrap(), &ours).unwrap();
        let given = published.ratios.iter().filter(|ratio| ratio.reconstructs).count();
        (published.ratios.len(), given)
    };
    // Two ratios a row with keep-alive, three of five rows used; four a row without; SPDY without against with, twice.
    assert_eq!(count("spdy-images"), (5 * 2 + 5 * 4 + 5 * 2, 3 * 2));
    assert_eq!(count("twitter-api"), (4, 2));
    assert_eq!(count("twitter-desktop"), (4, 0));
    assert_eq!(count("websocket-echo"), (2, 0));
    assert_eq!(count("jvm-downloads"), (1, 0));
}

#[test]
fn ratios_are_of_the_published_times() {
    let experiment = experiment("spdy-images");
    let ours = Ours { ask: &|_| Some(comparison(0.6, 0.6)), ..nothing(&experiment) };
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
    let ours = Ours { differ: &differ, ..nothing(&experiment) };
    let open = compare(Source::WebsocketEcho, &ours).unwrap().open_question.unwrap();
    assert!((open.excess_ms - 11.288).abs() < 1e-9);
    assert!(
        open.answer.starts_with("Cannot tell: none of 8 causes that were switched adds 11.3 ms"),
        "{}",
        open.answer
    );
    assert_eq!(open.answer.matches(". ").count(), 1, "two sentences: {}", open.answer);
    let judged: Vec<Explains> = open.causes.iter().map(|cause| cause.verdict).collect();
    use Explains::{Nothing, TooMuch};
    assert_eq!(judged, [Nothing, Nothing, TooMuch, Nothing, TooMuch, Nothing, Nothing, Nothing]);
}

/// What a run comes to in which each client takes so long for a file of a size, uses so much heap, and so on: the verdicts
/// on the six findings.
fn downloads(
    time: impl Fn(&str, &str) -> f64,
    collects: impl Fn(&str) -> f64,
    other: impl Fn(&str, &str) -> f64,
) -> Vec<Agreement> {
    let experiment = experiment("jvm-downloads");
    let about = |ratio: f64| Some(comparison(ratio * 0.99, ratio * 1.01));
    let ask_of = |metric: &str, q: Question<'_>| match metric {
        "wall_without_client_ms" => about(time(q.workload, q.a) / time(q.workload, q.b)),
        _ => about(other(metric, q.a) / other(metric, q.b)),
    };
    let figures = |metric: &str, q: Question<'_>| {
        let counted = match (metric, q.workload) {
            ("gc_count", "download-30MB") => collects(q.a),
            ("startup_ms", "download-80kB") => other(metric, q.a),
            ("transfer_ms", "download-80kB") => 50.0,
            other => panic!("{other:?}"),
        };
        Some(vec![counted; 6])
    };
    let ours = Ours { ask_of: &ask_of, figures: &figures, ..nothing(&experiment) };
    let published = compare(Source::JvmDownloads, &ours).unwrap();
    published.findings.into_iter().map(|finding| finding.verdict).collect()
}

/// As it was published.
fn published_time(workload: &str, client: &str) -> f64 {
    match (workload, client) {
        ("download-80kB", "curl") => 0.2,
        (_, "commons-httpclient-3") => 1.0,
        ("download-30MB", "apache-asyncclient-4") => 1.1,
        ("download-30MB", "curl") => 1.2,
        (_, "jdk-urlconnection") => 3.0,
        (_, "apache-asyncclient-4") => 1.5,
        (_, "finagle-6" | "dispatch-0.10") => 1.6,
        _ => 1.4,
    }
}

#[test]
fn downloads_as_they_were_published_confirm_every_finding() {
    let verdicts = downloads(
        published_time,
        |client| f64::from(matches!(client, "finagle-6" | "dispatch-0.10")),
        |metric, client| match (metric, client) {
            ("heap_peak", "jdk-urlconnection") => 20.0,
            ("heap_peak", "apache-asyncclient-4") => 10.0,
            ("client_cpu_s_per_gib", "apache-asyncclient-4") => 1.0,
            ("client_cpu_s_per_gib", _) => 1.2,
            ("startup_ms", _) => 200.0,
            other => panic!("{other:?}"),
        },
    );
    assert_eq!(verdicts, [Agreement::Confirmed; 6]);
}

#[test]
fn of_the_small_file_overhead_decides_only_where_the_start_takes_longer_than_the_transfer() {
    let small = |startup_ms: f64| {
        downloads(
            published_time,
            |_| 0.0,
            move |metric, _| if metric == "startup_ms" { startup_ms } else { 1.0 },
        )[0]
    };
    assert_eq!([small(200.0), small(20.0)], [Agreement::Confirmed, Agreement::NotConfirmed]);
}

#[test]
fn the_handshake_is_the_cost_where_half_of_it_spared_shows() {
    let last = |resumed: f64| {
        let verdicts = verdicts("twitter-api", &move |q| {
            let ratio = if q.a == "plain-resumed" { resumed } else { 0.7 };
            Some(comparison(ratio - 0.01, ratio + 0.01))
        });
        verdicts[4]
    };
    assert_eq!([last(0.85), last(1.02)], [Agreement::Confirmed, Agreement::NotConfirmed]);
}

#[test]
fn where_system_calls_were_counted_zero_copy_needs_the_fewest_that_copy() {
    let experiment = experiment("jvm-downloads");
    let verdict = |calls: f64| {
        let profiled = |metric: &str, q: Question<'_>| {
            assert_eq!(q.workload, "download-30MB");
            let zero_copy = q.a == "apache-asyncclient-4";
            match metric {
                "system_calls_reading" | "system_calls_writing" if zero_copy => Some(calls),
                "system_calls_reading" | "system_calls_writing" => Some(3_700.0),
                other => panic!("{other}"),
            }
        };
        let ask_of = |_: &str, _: Question<'_>| Some(comparison(0.7, 0.8));
        let ours = Ours { ask_of: &ask_of, profiled: &profiled, ..nothing(&experiment) };
        compare(Source::JvmDownloads, &ours).unwrap().findings.swap_remove(5)
    };
    assert_eq!(verdict(100.0).verdict, Agreement::Confirmed);
    let many = verdict(8_000.0);
    assert_eq!(many.verdict, Agreement::NotConfirmed);
    assert!(many.reason.contains("16000 against 7400"), "{}", many.reason);
}

#[test]
fn fifty_files_are_judged_by_the_first_and_the_last_of_single_ones() {
    use Agreement::{CannotTell, Confirmed, NotConfirmed};
    let with = |ratio: f64| {
        let experiment = experiment("jvm-many");
        let ask_of = |metric: &str, q: Question<'_>| {
            assert_eq!((metric, q.workload), ("wall_without_client_ms", "download-50x80kB-1c"));
            assert_eq!((q.a, q.b, q.link), ("commons-httpclient-3", "jdk-urlconnection", "lan"));
            Some(comparison(ratio - 0.02, ratio + 0.02))
        };
        let ours = Ours { ask_of: &ask_of, ..nothing(&experiment) };
        compare(Source::JvmMany, &ours).unwrap().findings[0].verdict
    };
    assert_eq!([0.5, 0.95, 0.66].map(with), [Confirmed, NotConfirmed, CannotTell]);
}

#[test]
fn downloads_that_came_out_otherwise_deny_every_finding() {
    let even = downloads(|_, _| 1.0, |_| 0.0, |_, _| 1.0);
    // Nobody is ahead of anybody: an interval around one says neither.
    use Agreement::{CannotTell, NotConfirmed};
    let denied = [NotConfirmed; 5].into_iter().chain([CannotTell]);
    assert_eq!(even, denied.collect::<Vec<_>>());
    let slow_zero_copy =
        |_: &str, client: &str| if client == "apache-asyncclient-4" { 2.0 } else { 1.0 };
    let reversed = downloads(|w, c| 1.0 / published_time(w, c), |_| 1.0, slow_zero_copy);
    assert_eq!(reversed, [NotConfirmed; 6]);
}

/// The verdicts on the first call, and on those after it, where a call takes so long and SPDY's later ones this part of
/// the others'.
fn calls(first_ms: f64, rest_ms: f64, later: f64) -> [Agreement; 2] {
    let experiment = experiment("twitter-desktop");
    let ask_of = |metric: &str, q: Question<'_>| {
        assert_eq!((metric, q.a, q.b), ("rest_ms", "spdy", "kept"));
        Some(comparison(later - 0.002, later + 0.002))
    };
    let figures = |metric: &str, _: Question<'_>| {
        Some(vec![if metric == "first_ms" { first_ms } else { rest_ms }; 8])
    };
    let ours = Ours { ask_of: &ask_of, figures: &figures, ..nothing(&experiment) };
    let published = compare(Source::TwitterDesktop, &ours).unwrap();
    let ratio = &published.ratios[0];
    assert_eq!((ratio.ours, ratio.trials), (Some(Ratio(first_ms / rest_ms)), 8));
    assert!((ratio.published - 1357.0 / 168.0).abs() < 1e-9);
    let of = |start: &str| {
        published.findings.iter().find(|one| one.finding.contains(start)).unwrap().verdict
    };
    [of("the first call is slow"), of("from the second call on")]
}

#[test]
fn first_and_later_calls_are_judged_apart_and_a_tie_refutes_three_per_cent() {
    use Agreement::{CannotTell, Confirmed, NotConfirmed};
    assert_eq!(calls(1357.0, 168.0, 0.96), [Confirmed, Confirmed]);
    assert_eq!(calls(168.0, 168.0, 0.999), [NotConfirmed, NotConfirmed]);
    assert_eq!(calls(1357.0, 168.0, 0.981), [Confirmed, CannotTell]);
}

#[test]
fn bad_conditions_are_two_links_and_a_gain_of_more_than_thirty_per_cent_refutes_the_sentence() {
    use Agreement::{CannotTell, Confirmed, NotConfirmed};
    let with = |lossy: f64, edge: f64| {
        verdicts("twitter-conditions", &move |question| {
            assert_eq!((question.a, question.b), ("spdy", "plain"));
            let ratio = if question.link == "edge" { edge } else { lossy };
            Some(comparison(ratio - 0.02, ratio + 0.02))
        })
    };
    assert_eq!(with(0.8, 0.75), [Confirmed]);
    assert_eq!(with(0.8, 0.4), [NotConfirmed]);
    assert_eq!(with(0.8, 0.7), [CannotTell]);
}

#[test]
fn what_is_counted_is_open_where_trials_are_few_or_differ() {
    let judged = |counts: &[f64], expected| {
        finding("f", &[Check::occurs("x", Some(counts), expected)], "").verdict
    };
    use Agreement::{CannotTell, Confirmed, NotConfirmed};
    assert_eq!(judged(&[2.0; 6], Occurs::Always), Confirmed);
    assert_eq!(judged(&[0.0; 6], Occurs::Always), NotConfirmed);
    assert_eq!(judged(&[0.0; 6], Occurs::Never), Confirmed);
    assert_eq!(judged(&[1.0; 6], Occurs::Never), NotConfirmed);
    assert_eq!(judged(&[0.0; 5], Occurs::Never), CannotTell);
    assert_eq!(judged(&[0.0, 0.0, 0.0, 0.0, 0.0, 1.0], Occurs::Never), CannotTell);
}

#[test]
fn what_loss_and_a_proxy_do_is_judged_by_three_links() {
    use Agreement::{CannotTell, Confirmed, NotConfirmed};
    let with = |none: f64, loss: f64, proxy: f64| {
        verdicts("http3-loss", &move |question| {
            let ratio = match question.link {
                "10mbit" => none,
                "10mbit-loss" => loss,
                "10mbit-loss-proxy" => proxy,
                other => panic!("{other}"),
            };
            assert_eq!((question.a, question.b), ("h3", "h2"));
            Some(comparison(ratio * 0.98, ratio * 1.02))
        })
    };
    assert_eq!(with(1.0, 0.4, 0.9), [Confirmed, Confirmed, Confirmed, CannotTell]);
    assert_eq!(with(1.0, 1.5, 1.2), [NotConfirmed, NotConfirmed, NotConfirmed, CannotTell]);
    assert_eq!(with(0.4, 0.4, 0.4), [Confirmed, CannotTell, CannotTell, CannotTell]);
    assert_eq!(verdicts("http3-loss", &|_| None), [CannotTell; 4]);
}
