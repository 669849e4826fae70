use super::*;
use crate::comparison::{Comparison, Verdict};
use crate::experiment::Experiment;
use crate::outcome::Outcome;
use crate::plan::{Surroundings, TrialPlan, trials};
use crate::record::{HostFacts, ROWS_SCHEMA, RunHeader, TrialRecord, without_figures};
use serde_json::{Value, json};
use std::path::Path;
use unit::{Random, Seed};

/// How a load of a case ended; a number is its time.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Load {
    Took(f64),
    Failed,
    Invalid,
}

/// Loads of both pages, and the settings that their verdict depends on.
#[derive(Debug, Clone)]
struct Case {
    name: &'static str,
    runs: u32,
    margin: f64,
    /// Block, attempt, page, end.
    loads: Vec<(u32, u32, TimerSide, Load)>,
}

/// What the noise of a case is made of.
struct Noise {
    name: &'static str,
    runs: u32,
    /// B over A.
    ratio: f64,
    /// Standard deviation of a load's logarithm.
    spread: f64,
    failed: f64,
    invalid: f64,
}

const QUIET: Noise =
    Noise { name: "", runs: 12, ratio: 1.0, spread: 0.01, failed: 0.0, invalid: 0.0 };

impl Noise {
    fn case(&self, seed: u64) -> Case {
        let mut random = Seed(seed).child("timer").child(self.name).random();
        let mut loads = Vec::new();
        for block in 0..self.runs {
            for attempt in 0..MOST_ATTEMPTS {
                let both =
                    [TimerSide::A, TimerSide::B].map(|side| (side, self.load(side, &mut random)));
                loads.extend(both.map(|(side, load)| (block, attempt, side, load)));
                if both.iter().all(|(_, load)| *load != Load::Invalid) {
                    break;
                }
            }
        }
        Case { name: self.name, runs: self.runs, margin: 0.05, loads }
    }

    fn load(&self, side: TimerSide, random: &mut Random) -> Load {
        let (fate, took) = (random.next_fraction(), normal(random) * self.spread);
        let ratio = if side == TimerSide::B { self.ratio } else { 1.0 };
        match fate {
            f if f < self.invalid => Load::Invalid,
            f if f < self.invalid + self.failed => Load::Failed,
            // As coarse as browsers tell the time.
            _ => Load::Took((ratio * 1_000.0 * took.exp() * 10.0).round() / 10.0),
        }
    }
}

fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.next_fraction()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.next_fraction()).cos()
}

/// Every kind of case three times, with other draws.
fn cases() -> Vec<Case> {
    let kinds = [
        Noise { name: "no difference", ..QUIET },
        Noise { name: "ten per cent", ratio: 1.1, ..QUIET },
        Noise { name: "ten per cent faster", ratio: 1.0 / 1.1, ..QUIET },
        Noise { name: "three per cent", ratio: 1.03, spread: 0.03, ..QUIET },
        Noise { name: "noise", ratio: 1.05, spread: 0.2, ..QUIET },
        Noise { name: "five blocks", runs: 5, ratio: 1.3, ..QUIET },
        Noise { name: "one block", runs: 1, ..QUIET },
        Noise { name: "failures", failed: 0.1, ..QUIET },
        Noise { name: "many failures", failed: 0.6, ..QUIET },
        Noise { name: "all failed", failed: 1.0, ..QUIET },
        Noise { name: "invalid loads", runs: 20, ratio: 1.1, invalid: 0.1, ..QUIET },
        Noise { name: "half invalid", runs: 20, invalid: 0.55, ..QUIET },
        Noise { name: "all invalid", invalid: 1.0, ..QUIET },
        Noise { name: "invalid and failed", runs: 16, invalid: 0.15, failed: 0.1, ..QUIET },
        Noise { name: "forty blocks", runs: 40, ratio: 1.02, spread: 0.06, ..QUIET },
    ];
    let mut cases: Vec<Case> =
        (0..3).flat_map(|seed| kinds.iter().map(move |kind| kind.case(seed))).collect();
    // Beyond the exact distribution.
    cases.push(Noise { name: "130 blocks", runs: 130, ratio: 1.02, spread: 0.1, ..QUIET }.case(0));
    // One page is refused much more often than the other.
    let mut unlike = Noise { name: "unlike", runs: 30, ..QUIET }.case(0);
    for load in unlike.loads.iter_mut().filter(|load| load.0 % 3 == 0 && load.2 == TimerSide::B) {
        load.3 = Load::Invalid;
    }
    cases.push(unlike);
    cases.push(Case { margin: 0.2, ..Noise { name: "wide margin", ratio: 1.1, ..QUIET }.case(0) });
    cases.push(Case { name: "nothing", runs: 12, margin: 0.05, loads: Vec::new() });
    cases
}

impl Case {
    fn run(&self) -> TimerRun {
        let row = |&(block, attempt, page, load): &(u32, u32, TimerSide, Load)| TimerRow {
            block,
            attempt,
            order: u32::from(page == TimerSide::B),
            page,
            url: String::new(),
            outcome: match load {
                Load::Took(_) => TimerOutcome::Measured,
                Load::Failed => TimerOutcome::Failed { reason: "time-out".to_owned() },
                Load::Invalid => TimerOutcome::Invalid { reason: "hidden".to_owned() },
            },
            metrics: match load {
                Load::Took(ms) => [(metric::LOAD_MS.to_owned(), ms)].into(),
                Load::Failed | Load::Invalid => BTreeMap::new(),
            },
            first_paint: None,
            protocol: None,
            resources: 1,
            cached: 0,
        };
        let page = |name: &str| TimedPage { name: name.to_owned(), url: format!("/{name}") };
        TimerRun {
            schema: TIMER_SCHEMA.to_owned(),
            version: "0".to_owned(),
            started: "2026-01-01T00:00:00Z".to_owned(),
            timer: "http://127.0.0.1/timer".to_owned(),
            user_agent: String::new(),
            pages: TimedPages { a: page("A"), b: page("B") },
            settings: TimerSettings {
                runs: self.runs,
                metric: metric::LOAD_MS.to_owned(),
                margin: self.margin,
                seed: 1,
                cache: TimerCache::Cold,
                timeout_ms: 30_000,
                settle_ms: 300,
                width: 1024,
                height: 768,
            },
            stopped: false,
            rows: self.loads.iter().map(row).collect(),
        }
    }

    /// What `race` says of the same rows, of a contender B against a baseline A.
    fn raced(&self) -> Comparison {
        let toml = format!(
            "name = 'timer'\ntitle = 't'\nquestion = 'q'\nbaseline = 'A'\nmargin = {}\n\
             [[contenders]]\nname = 'B'\ntransport = 'h2'\n[[contenders]]\nname = 'A'\ntransport = 'h2'\n\
             settings = {{ initial_window = 11 }}\n\
             [[workloads]]\nkind = 'page'\nimages = 1\nbytes = 5000\n\
             [[links]]\nname = 'lan'\ntrials = {}\nwarmup = 0\n",
            self.margin, self.runs
        );
        let experiment: Experiment = toml.parse().unwrap();
        let plan = trials(&experiment, &Surroundings::default());
        let header = RunHeader {
            schema: ROWS_SCHEMA.to_owned(),
            version: "0".to_owned(),
            experiment,
            started_unix_ms: 0,
            host: HostFacts::default(),
            command_line: Vec::new(),
            shard: None,
            machines: Vec::new(),
            missing: Vec::new(),
        };
        let record = |&(block, attempt, page, load): &(u32, u32, TimerSide, Load)| {
            let name = if page == TimerSide::A { "A" } else { "B" };
            let is_it = |plan: &&TrialPlan| plan.block == block && plan.cell.contender.name == name;
            let mut trial = plan.iter().find(is_it).unwrap().clone();
            (0..attempt).for_each(|_| trial = trial.again());
            match load {
                Load::Failed => {
                    without_figures(trial, Outcome::Failed { reason: "time-out".to_owned() }, 0)
                }
                Load::Invalid => {
                    without_figures(trial, Outcome::Invalid { reason: "hidden".to_owned() }, 0)
                }
                Load::Took(ms) => TrialRecord {
                    metrics: [(metric::LOAD_MS.to_owned(), ms)].into(),
                    ..without_figures(trial, Outcome::Measured, 0)
                },
            }
        };
        let records: Vec<TrialRecord> = self.loads.iter().map(record).collect();
        crate::analyse(&header, &records).verdicts[0].pairs[0].comparison.clone()
    }

    /// The case and what follows from it, as JSON.
    fn vector(&self) -> Value {
        let end = |load: Load| match load {
            Load::Took(ms) => json!(ms),
            Load::Failed => json!("failed"),
            Load::Invalid => json!("invalid"),
        };
        let loads: Vec<Value> = self
            .loads
            .iter()
            .map(|&(block, attempt, page, load)| json!([block, attempt, page, end(load)]))
            .collect();
        let result = self.run().judge();
        let load = result.metrics.iter().find(|one| one.metric == metric::LOAD_MS).unwrap();
        let median = |summary: Option<crate::stats::Summary>| summary.map(|summary| summary.median);
        json!({
            "name": self.name, "runs": self.runs, "margin": self.margin, "loads": loads,
            "comparison": result.verdict,
            "medians": [median(load.a), median(load.b)],
        })
    }
}

#[test]
fn the_timer_has_the_verdicts_of_race_on_the_same_rows() {
    let mut verdicts = BTreeSet::new();
    for case in cases() {
        let ours = case.run().judge().verdict;
        verdicts.insert(ours.verdict.word());
        assert_eq!(ours, case.raced(), "{}", case.name);
    }
    assert_eq!(Vec::from_iter(verdicts), ["faster", "slower", "tie", "undecided"]);
}

#[test]
fn what_is_planted_is_found() {
    let verdict = |name: &str| {
        let case = cases().into_iter().find(|case| case.name == name).unwrap();
        case.run().judge().verdict.verdict
    };
    assert_eq!(verdict("ten per cent"), Verdict::Slower);
    assert_eq!(verdict("ten per cent faster"), Verdict::Faster);
    assert_eq!(verdict("no difference"), Verdict::Tie);
    assert_eq!(verdict("wide margin"), Verdict::Tie);
    assert_eq!(verdict("all invalid"), Verdict::Undecided);
    assert_eq!(verdict("unlike"), Verdict::Undecided);
}

/// The page judges by a port of these statistics; its tests read the same file.
#[test]
fn the_committed_verdicts_are_those_of_the_rows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/timer/verdicts.json");
    let lines: Vec<String> = cases().iter().map(|case| case.vector().to_string()).collect();
    let wanted = format!("[\n{}\n]\n", lines.join(",\n"));
    #[expect(clippy::disallowed_methods, reason = "a switch of this test, not of the product")]
    let update = std::env::var("UPDATE_VECTORS").is_ok_and(|value| value == "1");
    if update {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &wanted).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == wanted,
        "vectors/timer/verdicts.json is out of date: UPDATE_VECTORS=1 cargo test -p study timer"
    );
}

#[test]
fn a_download_reads_back_as_it_was_written() {
    let run = cases()[0].run();
    let text = serde_json::to_string(&run).unwrap();
    assert_eq!(TimerRun::read(&text).unwrap(), run);
}

#[test]
fn what_no_timer_writes_is_refused_with_its_place() {
    let refused = |change: &dyn Fn(&mut TimerRun)| {
        let mut run = cases()[0].run();
        change(&mut run);
        TimerRun::read(&serde_json::to_string(&run).unwrap()).unwrap_err().to_string()
    };
    for (change, word) in [
        (
            &(|run: &mut TimerRun| run.schema = "wirelap.timer/9".to_owned())
                as &dyn Fn(&mut TimerRun),
            "wirelap.timer/9",
        ),
        (&|run| run.settings.runs = 0, "runs: 0"),
        (&|run| run.settings.metric = "speed".to_owned(), "`speed` is none of"),
        (&|run| run.settings.margin = 2.0, "margin: 2"),
        (&|run| run.pages.b.name = "A".to_owned(), "both pages are called `A`"),
        (&|run| run.rows[3].block = 99, "row 4: there is no block 99"),
        (&|run| run.rows[3].attempt = 3, "attempt 3"),
        (&|run| run.rows[1] = run.rows[0].clone(), "row 2: this load is there twice"),
        (&|run| run.rows[0].metrics.extend([("load_ms".to_owned(), -1.0)]), "-1 is no time"),
        (&|run| run.rows[0].metrics.extend([("x".to_owned(), 1.0)]), "`x` is no metric"),
    ] {
        let said = refused(change);
        assert!(said.contains(word), "{word}: {said}");
    }
    for text in ["", "[]", "{}", "{\"schema\": \"wirelap.timer/1\"}", "null"] {
        assert!(matches!(TimerRun::read(text), Err(TimerError::Shape(_))), "{text}");
    }
}

#[test]
fn the_schemas_of_the_timer_are_published() {
    crate::schema_file::check("timer.schema.json", &timer_schema());
    crate::schema_file::check("timer-result.schema.json", &result_schema());
}
