use super::*;
use crate::analyse;
use crate::experiment::{Experiment, builtin};
use crate::metric;
use crate::plan::{Surroundings, trials};
use crate::record::{ROWS_SCHEMA, without_figures};
use unit::Seed;

const OF: u32 = 4;

/// A shard's folder, header and rows.
type TestShard = (String, RunHeader, Vec<TrialRecord>);

/// A whole run of `quick` with noise of 10 %, some blocks of which were refused and ran again.
struct Whole {
    header: RunHeader,
    plan: Vec<TrialPlan>,
    rows: Vec<TrialRecord>,
}

impl Whole {
    fn new() -> Self {
        let experiment: Experiment = builtin()[0].toml.parse().unwrap();
        let plan = trials(&experiment, &Surroundings::default());
        let header = RunHeader {
            schema: ROWS_SCHEMA.to_owned(),
            version: "0.1.0".to_owned(),
            experiment,
            started_unix_ms: 1_795_291_086_123,
            host: HostFacts { cores: 2, ..HostFacts::default() },
            command_line: vec!["wirelap".to_owned(), "race".to_owned()],
            shard: None,
            machines: Vec::new(),
            missing: Vec::new(),
        };
        let mut random = Seed(7).random();
        let mut rows = Vec::new();
        for trial in &plan {
            let speed = 1.0 + 0.1 * f64::from(trial.cell.contender.name.len() as u32);
            let ms = 100.0 * speed * (0.9 + 0.2 * random.next_fraction());
            let took = |plan: TrialPlan| TrialRecord {
                metrics: [(metric::LOAD_MS.to_owned(), ms)].into(),
                ..without_figures(plan, Outcome::Measured, 0)
            };
            let is_refused = !trial.warmup && trial.block % 5 == 3;
            if is_refused {
                let reason = "the machine was busy: late".to_owned();
                rows.push(without_figures(trial.clone(), Outcome::Invalid { reason }, 0));
            }
            rows.push(took(if is_refused { trial.again() } else { trial.clone() }));
        }
        Self { header, plan, rows }
    }

    /// Its rows, dealt to shards. Each shard has the warm-ups of what it measures.
    fn shards(&self) -> Vec<TestShard> {
        let shard = |number| {
            let shard = Shard::new(number, OF).unwrap();
            let name = format!("node{number}");
            let keys: BTreeSet<String> =
                shard.part(&self.plan).into_iter().map(|trial| trial.key).collect();
            let mine = self.rows.iter().filter(|row| keys.contains(row.plan.first_key()));
            let rows = mine
                .map(|row| TrialRecord { machine: Some(name.clone()), ..row.clone() })
                .collect();
            let machine = MachineRun {
                name: name.clone(),
                boot: format!("boot {number}"),
                shard,
                host: self.header.host.clone(),
            };
            let header =
                RunHeader { shard: Some(shard), machines: vec![machine], ..self.header.clone() };
            (format!("shard-{number}"), header, rows)
        };
        (1..=OF).map(shard).collect()
    }

    fn merge(&self, shards: &[TestShard], terms: Terms) -> Result<Merged, MergeError> {
        let shards: Vec<ShardRows<'_>> =
            shards.iter().map(|(name, header, rows)| ShardRows { name, header, rows }).collect();
        merge(&shards, &self.plan, terms)
    }

    /// The error that `change` of the shards leads to.
    fn refused(&self, change: impl Fn(&mut Vec<TestShard>)) -> String {
        let mut shards = self.shards();
        change(&mut shards);
        self.merge(&shards, Terms::default()).unwrap_err().to_string()
    }
}

/// The result but for what names machines and times.
fn judged(header: &RunHeader, rows: &[TrialRecord]) -> String {
    let mut result = serde_json::to_value(analyse(header, rows)).unwrap();
    let fields = result.as_object_mut().unwrap();
    for named in ["host", "machines", "started", "command_line"] {
        fields.remove(named);
    }
    let about_machines = |warning: &Value| warning.as_str().unwrap().contains("was not calibrated");
    if let Some(Value::Array(warnings)) = fields.get_mut("warnings") {
        warnings.retain(|warning| !about_machines(warning));
    }
    if fields.get("warnings").is_some_and(|warnings| *warnings == Value::Array(Vec::new())) {
        fields.remove("warnings");
    }
    serde_json::to_string_pretty(&result).unwrap()
}

#[test]
fn a_run_that_is_split_and_merged_has_the_same_result_to_the_byte() {
    let whole = Whole::new();
    let mut shards = whole.shards();
    let ways: [fn(&mut Vec<TestShard>); 3] =
        [|_| (), |shards| shards.reverse(), |shards| shards.rotate_left(1)];
    let before = judged(&whole.header, &whole.rows);
    assert!(before.contains("\"faster\"") || before.contains("\"slower\""), "nothing was decided");
    for way in ways {
        way(&mut shards);
        let merged = whole.merge(&shards, Terms::default()).unwrap();
        assert_eq!(judged(&merged.header, &merged.rows), before);
        let names = |rows: &[TrialRecord]| -> Vec<String> {
            let mut keys: Vec<String> = rows.iter().map(|row| row.plan.key.clone()).collect();
            keys.sort();
            keys
        };
        assert_eq!(names(&merged.rows), names(&whole.rows), "each row once");
    }
    // A figure that differs shows.
    let mut merged = whole.merge(&shards, Terms::default()).unwrap();
    let row = merged.rows.iter_mut().find(|row| !row.plan.warmup && !row.metrics.is_empty());
    *row.unwrap().metrics.get_mut(metric::LOAD_MS).unwrap() *= 3.0;
    assert_ne!(judged(&merged.header, &merged.rows), before);
}

#[test]
fn machines_are_named_with_what_they_ran() {
    let whole = Whole::new();
    let mut shards = whole.shards();
    // Two machines with one name, and one machine that ran two shards.
    for (nth, (_, header, rows)) in shards.iter_mut().enumerate() {
        header.machines[0].name = "ip-10-0-0-1".to_owned();
        header.machines[0].boot = format!("boot {}", nth / 2);
        rows.iter_mut().for_each(|row| row.machine = Some("ip-10-0-0-1".to_owned()));
    }
    let merged = whole.merge(&shards, Terms::default()).unwrap();
    let machines = analyse(&merged.header, &merged.rows).machines;
    let told: Vec<(&str, &[u32])> =
        machines.iter().map(|one| (one.name.as_str(), one.shards.as_slice())).collect();
    assert_eq!(told, [("ip-10-0-0-1", &[1, 2][..]), ("ip-10-0-0-1 (2)", &[3, 4][..])]);
    let attempts: u32 = machines.iter().map(|one| one.attempts).sum();
    let counted = whole.rows.iter().filter(|row| !row.plan.warmup).count();
    assert_eq!(attempts as usize, counted);
}

#[test]
fn shards_of_different_runs_are_refused_with_what_differs() {
    let whole = Whole::new();
    let refused = whole.refused(|shards| shards[1].1.experiment.seed = 2);
    assert_eq!(
        refused,
        "shard-1 and shard-2 are not shards of one run: the experiment's seed is 1 and 2"
    );
    let refused = whole.refused(|shards| shards[2].1.version = "0.2.0".to_owned());
    assert!(refused.ends_with("wirelap's version is 0.1.0 and 0.2.0"), "{refused}");
    let refused = whole.refused(|shards| {
        shards[2].1.host.more.insert(BUILD.to_owned(), "debug".to_owned());
    });
    assert!(refused.ends_with("build of wirelap is  and debug"), "{refused}");
    let refused = whole.refused(|shards| shards[2].1.experiment.links[0].trials += 1);
    assert!(refused.contains("the experiment's links 1 trials is 14 and 15"), "{refused}");
    let refused = whole.refused(|shards| drop(shards[2].1.experiment.contenders.pop()));
    assert!(refused.contains("the experiment's contenders are 4 and 3"), "{refused}");
    let refused = whole.refused(|shards| shards[3].1.shard = Shard::new(4, 5));
    assert!(refused.ends_with("the number of shards is 4 and 5"), "{refused}");
    let refused = whole.refused(|shards| shards[3].1.shard = None);
    assert_eq!(refused, "shard-4 is a whole run, and no shard of one");
    assert_eq!(whole.refused(Vec::clear), "there is no shard to merge");
    // Shards of two runs that have the same numbers: to leave one out would not help.
    let refused = whole.refused(|shards| {
        let mut other = shards[0].clone();
        other.1.experiment.seed = 2;
        shards.insert(1, other);
    });
    assert!(refused.ends_with("the experiment's seed is 1 and 2"), "{refused}");
}

#[test]
fn what_is_there_twice_or_not_planned_is_refused() {
    let whole = Whole::new();
    let refused = whole.refused(|shards| {
        let copy = ("copy".to_owned(), shards[1].1.clone(), shards[1].2.clone());
        shards.push(copy);
    });
    assert!(refused.starts_with("shard-2 and copy are both shard 2/4"), "{refused}");
    // The same rows under another shard's name.
    let refused = whole.refused(|shards| shards[0].2 = shards[1].2.clone());
    assert!(refused.contains(" is of shard 2/4"), "{refused}");
    let refused = whole.refused(|shards| shards[0].2[9].plan.seed = 99);
    assert!(refused.contains("differs from the plan in cell, block or seed 99"), "{refused}");
    let refused = whole.refused(|shards| shards[0].2[9].plan.key = "page/moon/h2/0".to_owned());
    assert!(refused.contains("page/moon/h2/0 is of no trial of the plan"), "{refused}");
    let measured = |rows: &[TrialRecord]| rows.iter().position(|row| !row.plan.warmup).unwrap();
    let refused = whole.refused(|shards| {
        let nth = measured(&shards[0].2);
        shards[0].2[nth].machine = Some("another".to_owned());
    });
    assert!(refused.contains("two machines ran the block of "), "{refused}");
}

#[test]
fn what_is_missing_is_refused_by_name_or_named_in_the_result() {
    let whole = Whole::new();
    let refused = whole.refused(|shards| drop(shards.remove(1)));
    assert_eq!(refused, "the run is not whole: no folder is of shard 2/4");
    let lose = |shards: &mut Vec<TestShard>| {
        let lost = |row: &TrialRecord| row.plan.key == "page-50x5kB/lan/h2/2";
        shards.iter_mut().for_each(|(_, _, rows)| rows.retain(|row| !lost(row)));
    };
    let refused = whole.refused(lose);
    let seed = whole.plan.iter().find(|one| one.key == "page-50x5kB/lan/h2/2").unwrap().seed;
    let named = format!("no row is there of page-50x5kB/lan/h2/2 (block 2, seed {seed}) in shard-");
    assert!(refused.contains(&named), "{refused}");
    let mut shards = whole.shards();
    lose(&mut shards);
    let merged = whole.merge(&shards, Terms { partial: true, ..Terms::default() }).unwrap();
    let result = analyse(&merged.header, &merged.rows);
    assert_eq!(result.warnings[0], "One planned trial is missing: page-50x5kB/lan/h2/2.");
}

#[test]
fn a_shard_whose_machine_was_too_busy_is_refused_unless_it_is_wanted() {
    let whole = Whole::new();
    let spoil = |shards: &mut Vec<TestShard>| {
        let reason = "the machine was busy: the link let a packet out too late".to_owned();
        for row in shards[2].2.iter_mut().filter(|row| row.plan.order < 2) {
            row.outcome = Outcome::Invalid { reason: reason.clone() };
        }
    };
    let refused = whole.refused(spoil);
    assert!(
        refused.starts_with("shard-3 is a bad shard: its machine was too busy for "),
        "{refused}"
    );
    let mut shards = whole.shards();
    spoil(&mut shards);
    assert!(whole.merge(&shards, Terms { keep_bad: true, ..Terms::default() }).is_ok());
}
