use super::*;
use crate::analyse;
use crate::experiment::{ClientSubject, Experiment, builtin};
use crate::outcome::Outcome;
use crate::plan::{Surroundings, trials};
use crate::record::{HostFacts, ROWS_SCHEMA, RunHeader, TrialRecord, without_figures};
use crate::schema_file;
use unit::Seed;

/// `priorities` on slow-4g with three contenders; each has a factor on the times of `figures`.
fn result(client: Option<&str>, figures: &[(&str, f64)], factors: [f64; 3]) -> RunResult {
    let toml = builtin().iter().find(|one| one.name == "priorities").unwrap().toml;
    let mut experiment: Experiment = toml.parse().unwrap();
    experiment.contenders.truncate(3);
    experiment.links.truncate(1);
    for contender in &mut experiment.contenders {
        let named = |name: &str| ClientSubject { name: name.to_owned(), warmup: 0 };
        contender.client = client.map(named);
    }
    let names: Vec<String> = experiment.contenders.iter().map(|one| one.name.clone()).collect();
    let mut random = Seed(5).random();
    let rows: Vec<TrialRecord> = trials(&experiment, &Surroundings::default())
        .into_iter()
        .map(|plan| {
            let place = names.iter().position(|name| *name == plan.cell.contender.name).unwrap();
            let factor = factors[place] * (1.0 + 0.004 * (random.next_fraction() - 0.5));
            let mut row = without_figures(plan, Outcome::Measured, 0);
            row.metrics =
                figures.iter().map(|(name, ms)| ((*name).to_owned(), ms * factor)).collect();
            row
        })
        .collect();
    let header = RunHeader {
        schema: ROWS_SCHEMA.to_owned(),
        version: "0.1.0".to_owned(),
        experiment,
        started_unix_ms: 0,
        host: HostFacts::default(),
        command_line: Vec::new(),
        shard: None,
        machines: Vec::new(),
        missing: Vec::new(),
    };
    analyse(&header, &rows)
}

const BROWSER: [(&str, f64); 5] = [
    (metric::FIRST_BYTE_MS, 450.0),
    (metric::SCRIPTS_MS, 800.0),
    (metric::FCP_MS, 1_000.0),
    (metric::LCP_MS, 2_000.0),
    (metric::LOAD_MS, 4_000.0),
];

fn error_of(check: &ModelCheck, name: &str) -> f64 {
    check.errors.iter().find(|one| one.metric == name).unwrap().median
}

#[test]
fn the_error_is_a_share_of_the_browsers_time_and_the_phase_of_a_miss_is_named() {
    // The first paint is 180 ms too early, although everything that it waits for came in time.
    let model = [
        (metric::FIRST_BYTE_MS, 450.0),
        (metric::SCRIPTS_MS, 800.0),
        (metric::FCP_MS, 820.0),
        (metric::LCP_MS, 1_900.0),
        (metric::LOAD_MS, 4_000.0),
    ];
    let same = [1.0, 1.5, 2.0];
    let check = check_model(&result(None, &model, same), &result(Some("chromium"), &BROWSER, same));
    assert_eq!((check.browser.as_str(), check.cells.len()), ("chromium", 3));
    assert!((error_of(&check, metric::FCP_MS) - 0.18).abs() < 0.01, "{:?}", check.errors);
    assert!((error_of(&check, metric::LCP_MS) - 0.05).abs() < 0.01, "{:?}", check.errors);
    assert!(error_of(&check, metric::LOAD_MS) < 0.01, "{:?}", check.errors);
    let missed = check.cells[0].missed_in.unwrap();
    assert_eq!(missed.phase, LoadPhase::FirstPaint);
    assert!((missed.times.browser_ms - 200.0).abs() < 5.0, "{missed:?}");
    assert!((missed.times.model_ms - 20.0).abs() < 5.0, "{missed:?}");
    // All three pairs in the same order.
    assert_eq!((check.order.decided, check.order.right), (3, 3));
}

#[test]
fn a_model_without_a_miss_names_no_phase() {
    let same = [1.0, 1.5, 2.0];
    let check =
        check_model(&result(None, &BROWSER, same), &result(Some("chromium"), &BROWSER, same));
    assert!(check.cells.iter().all(|cell| cell.missed_in.is_none()));
}

#[test]
fn a_pair_that_the_model_ties_or_turns_around_is_wrong_and_what_the_browser_ties_does_not_count() {
    // The browser: the first two tie, the third is slower than both. The model: the second is slower, the third ties the first.
    let model = result(None, &BROWSER, [1.0, 1.5, 1.0]);
    let browser = result(Some("chromium"), &BROWSER, [1.0, 1.0, 1.3]);
    let order = check_model(&model, &browser).order;
    assert_eq!((order.decided, order.right), (2, 0));
    let said: Vec<Verdict> = order.wrong.iter().map(|pair| pair.model).collect();
    assert_eq!(said, [Verdict::Tie, Verdict::Slower]);
    let turned = order.wrong.last().unwrap();
    assert_eq!(
        (turned.faster.as_str(), turned.slower.as_str()),
        ("h2 rfc9218", "h2 rfc9218 control")
    );
}

#[test]
fn what_only_one_of_them_has_is_not_compared() {
    let without: Vec<(&str, f64)> =
        BROWSER.into_iter().filter(|(name, _)| *name != metric::FCP_MS).collect();
    let same = [1.0, 1.5, 2.0];
    let model = result(None, &without, same);
    let check = check_model(&model, &result(Some("chromium"), &BROWSER, same));
    assert!(check.errors.iter().all(|one| one.metric != metric::FCP_MS), "{:?}", check.errors);
    assert_eq!(check.errors.len(), 2);
}

#[test]
fn the_schema_is_published() {
    schema_file::check("model-check.schema.json", &model_check_schema());
}
