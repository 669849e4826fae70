//! A race in shards: each trial of the plan once, whatever happened to the shards on their way.

use crate::bench::{Bench, Ran, Running, SLOW, experiment, records, trials_run_here};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// A trial by cell, block and seed.
type Planned = (String, u64, u64);

/// The trials that `--dry-run -v` prints, by key and seed.
pub(crate) fn planned(dry_run: &Ran) -> BTreeSet<(String, u64)> {
    dry_run.said(0, &[]);
    let line = |line: &str| -> Option<(String, u64)> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, key, "seed", seed, ..] = words[..] else { return None };
        Some((key.to_owned(), seed.parse().ok()?))
    };
    dry_run.out.lines().filter_map(line).collect()
}

/// The first attempts in a run's folder, each with cell, block and seed.
pub(crate) fn first_attempts(folder: &Path) -> Vec<Planned> {
    let row = |record: &Value| {
        let plan = &record["plan"];
        let key = plan["key"].as_str().unwrap().to_owned();
        (key, plan["block"].as_u64().unwrap(), plan["seed"].as_u64().unwrap())
    };
    let rows = records(folder);
    rows.iter().map(row).filter(|(key, ..)| !key.contains('~')).collect()
}

/// Holds a merged run against the whole plan: every trial once.
pub(crate) fn assert_whole(bench: &Bench, experiment: &str, run: &str) {
    let plan = planned(&bench.run(&["race", experiment, "--dry-run", "-v"]));
    let rows = first_attempts(&bench.path(run));
    let set: BTreeSet<(String, u64)> =
        rows.iter().map(|(key, _, seed)| (key.clone(), *seed)).collect();
    assert_eq!(set, plan);
    assert_eq!(rows.len(), plan.len(), "no trial is there twice");
    for (key, block, _) in rows {
        assert!(key.ends_with(&format!("/{block}")), "{key} has block {block}");
    }
}

/// Waits until the run's folder has a row.
pub(crate) fn await_row(folder: &Path, is_ended: impl Fn() -> bool) {
    for _ in 0..5_000 {
        let file = folder.join("rows.sqlite");
        let rows = rusqlite::Connection::open_with_flags(
            &file,
            rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY,
        );
        let count = rows.and_then(|rows| {
            rows.query_row("SELECT count(*) FROM trials", [], |row| row.get::<_, u32>(0))
        });
        if count.is_ok_and(|count| count > 0) {
            return;
        }
        assert!(!is_ended(), "it ended without a row");
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("no row came into {}", folder.display());
}

#[test]
fn a_shard_that_was_killed_goes_on_and_all_shards_make_the_plan() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("tiny.toml", experiment(SLOW, 3));
    let shard = ["race", "tiny.toml", "--out", "all", "--serial", "--shard", "1/2"];
    let first: Running = bench.start(bench.wirelap(&shard));
    let folder = bench.path("all/shard-1-of-2");
    await_row(&folder, || !folder.exists() && bench.alive().is_empty());
    first.signal("KILL");
    first.end();
    let before = first_attempts(&folder).len();
    assert!((1..4).contains(&before), "{before} of 4 rows were there when it was killed");
    let incomplete = bench.run(&["merge", "all"]);
    incomplete.said(2, &["the run is not whole: no folder is of shard 2/2", "--partial"]);
    assert!(incomplete.err.contains("wirelap race --resume all/shard-1-of-2"), "{incomplete:?}");
    assert!(!bench.path("wirelap-tiny-1").exists(), "nothing was made");
    let again = bench.run(&shard);
    assert!(again.code == 0 || again.err.contains("no trial was measured"), "{again:?}");
    assert_eq!(first_attempts(&folder).len(), 4);
    // Once more does nothing.
    let rows = records(&folder);
    bench.run(&shard);
    assert_eq!(records(&folder), rows);
    let capture = bench.run(&[&shard[..], &["--capture"]].concat());
    let told = "--capture is for trials that run, and all of all/shard-1-of-2 have run";
    assert!(capture.err.contains(told), "{capture:?}");
    // A slip in a key is told before that nothing is left to run.
    let on = ["race", "--resume", "all/shard-1-of-2"];
    let slip = bench.run(&[&on[..], &["--capture=moon"]].concat());
    slip.said(2, &["no trial of tiny has a key that begins with `moon`"]);
    bench.run(&[&on[..], &["--capture"]].concat()).said(2, &["all of all/shard-1-of-2 have run"]);
    // The second is told by an engine.
    let auto = ["race", "tiny.toml", "--out", "all", "--serial", "--shard", "auto"];
    let mut task = bench.wirelap(&auto);
    task.envs([("SLURM_ARRAY_TASK_ID", "7"), ("SLURM_ARRAY_TASK_MIN", "6")]);
    task.envs([("SLURM_ARRAY_TASK_COUNT", "2"), ("SLURM_ARRAY_TASK_STEP", "1")]);
    let second = bench.start(task).end();
    assert!(second.code == 0 || second.err.contains("no trial was measured"), "{second:?}");
    bench.run(&["merge", "all", "--keep-bad", "--out", "run"]).raced();
    assert_whole(&bench, "tiny.toml", "run");
    let result: Value =
        serde_json::from_slice(&std::fs::read(bench.path("run/result.json")).unwrap()).unwrap();
    let machine = &result["machines"][0];
    assert_eq!((&machine["shards"], &machine["of"]), (&serde_json::json!([1, 2]), &2.into()));
    let report = std::fs::read_to_string(bench.path("run/report.html")).unwrap();
    assert!(report.contains(machine["name"].as_str().unwrap()), "the report names no machine");
    // The merged run is read as any run is.
    assert_eq!(
        bench.run(&["report", "run", "--json"]).out,
        std::fs::read_to_string(bench.path("run/result.json")).unwrap()
    );
    bench.run(&["race", "--resume", "run"]).said(2, &["run was merged from shards"]);
    bench.run(&["merge", "run"]).said(2, &["run is a whole run, and no shard of one"]);
    bench.run(&["merge", "all/shard-1-of-2", "all"]).said(2, &["is named twice"]);
    bench.shell(&[], "cp -r all/shard-1-of-2 copy").said(0, &[]);
    bench.run(&["merge", "copy", "all"]).said(2, &["copy and all/shard-1-of-2 are both shard 1/2"]);
    bench.run(&["race", "--resume", "all/shard-1-of-2", "--add", "2"]).said(2, &["is a shard"]);
    let other = bench.run(&[&shard[..], &["--seed", "9"]].concat());
    other.said(2, &["all/shard-1-of-2 holds another run: the experiment's seed is 1 and 9"]);
}

/// Programs that are nowhere: what uses them is unsupported, and the others race.
const DECLARED: [(&str, &str); 2] = [
    (
        "client",
        "command = [\"sh\", \"{here}/no.sh\", \"{lib}\"]\nplaces = { lib = \"{here}/lib\" }\n",
    ),
    ("server", "command = [\"./no-server\", \"{port}\"]\n"),
];

#[test]
fn shards_of_one_experiment_in_different_folders_are_merged() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let begun = |folder: &str, shard: &str| {
        std::fs::create_dir_all(bench.path(&format!("{folder}/subjects"))).unwrap();
        let mut tiny = experiment(SLOW, 2);
        for (role, command) in DECLARED {
            tiny.push_str(&format!(
                "[[contenders]]\nname = \"{role}\"\ntransport = \"http/1.1\"\n{role} = \"my-{role}\"\n"
            ));
            bench.write(
                &format!("{folder}/subjects/{role}.toml"),
                format!(
                    "name = \"my-{role}\"\nrole = \"{role}\"\ntransports = [\"http/1.1\"]\n{command}"
                ),
            );
        }
        bench.write(&format!("{folder}/tiny.toml"), tiny);
        let race =
            format!("cd {folder} && $W race tiny.toml --no-calibration --no-wait --shard {shard}");
        let ran = bench.shell(&[], &race);
        assert!(ran.code == 0 || ran.err.contains("no trial was measured"), "{ran:?}");
        format!("{folder}/wirelap-tiny-shards")
    };
    let (first, second) = (begun("a", "1/2"), begun("b", "2/2"));
    bench.run(&["merge", &first, &second, "--keep-bad", "--out", "run"]).raced();
    assert_whole(&bench, "a/tiny.toml", "run");
    // What is declared counts all the same, and is told before what is there twice or missing.
    for file in ["subjects/my-client.toml", "servers.json"] {
        let kept = format!("{second}/shard-2-of-2/inputs/{file}");
        let text = std::fs::read_to_string(bench.path(&kept)).unwrap();
        bench.write(&kept, text.replace("http/1.1", "h2"));
        let differ = format!("are not shards of one run: their files {file} differ");
        bench.shell(&[], &format!("rm -rf copy; cp -r {second}/shard-2-of-2 copy")).said(0, &[]);
        bench.run(&["merge", &first, &second, "--keep-bad"]).said(2, &[&differ]);
        bench.run(&["merge", &first, &second, "copy"]).said(2, &[&differ]);
        bench.write(&kept, text);
    }
}

#[test]
fn shards_that_cannot_be_are_refused_before_anything_is_made() {
    let bench = Bench::new();
    bench.write("tiny.toml", experiment("lan", 3));
    let refused = |shard: &str, more: &[&str], words: &[&str]| {
        bench.run(&[&["race", "tiny.toml", "--shard", shard], more].concat()).said(2, words);
    };
    refused("3/2", &[], &["`3/2` is no shard such as 3/8"]);
    refused("0/2", &[], &["no shard such as"]);
    refused("auto/x", &[], &["neither auto nor auto/N"]);
    refused("auto", &[], &["SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX, and neither is set"]);
    refused("1/4", &[], &["tiny has 3 blocks, and none for some of 4 shards", "3 shards at most"]);
    refused("1/2", &["--sequential"], &["cannot be used with"]);
    bench.write("early.toml", format!("stopping = \"sequential\"\n{}", experiment("lan", 20)));
    bench.run(&["race", "early.toml", "--shard", "1/2"]).said(2, &["may stop early"]);
    bench.run(&["merge", "nowhere"]).said(2, &["nowhere"]);
    bench.run(&["merge", "."]).said(2, &[". holds no shard"]);
    bench.write("rows.sqlite", "this is no run");
    bench.run(&["merge", "."]).said(2, &["damaged or is not a run's rows"]);
    for engine in ["slurm", "k8s"] {
        let claim: &[&str] = if engine == "k8s" { &["--image", "i", "--claim", "c"] } else { &[] };
        let words = [&[engine, "tiny.toml", "--shards", "4"], claim].concat();
        bench.run(&words).said(2, &["tiny has 3 blocks"]);
        for (flag, value, remedy) in [
            ("--json", None, "give it to `wirelap merge`"),
            ("--csv", None, "give it to `wirelap merge`"),
            ("--junit", Some("f"), "give it to `wirelap merge`"),
            ("--markdown", Some("f"), "give it to `wirelap merge`"),
            ("--bmf", Some("f"), "give it to `wirelap report`"),
            ("--add", Some("2"), "--trials"),
            ("--dry-run", None, "wirelap race --dry-run"),
            ("--with-browser", Some("chromium"), "--client"),
        ] {
            let words = [&[engine, "tiny.toml", "--shards", "3", flag], claim].concat();
            let words = words.into_iter().flat_map(|word| {
                [Some(word), value.filter(|_| word == flag)].into_iter().flatten()
            });
            let words: Vec<&str> = words.collect();
            bench.run(&words).said(2, &[flag, remedy]);
        }
        let help = bench.run(&[engine, "--help"]);
        assert!(help.out.contains("--trials") && !help.out.contains("--junit"), "{help:?}");
    }
    let left: Vec<_> = std::fs::read_dir(&bench.folder).unwrap().collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn the_dry_runs_of_all_shards_are_the_dry_run_of_the_whole() {
    let bench = Bench::new();
    let whole = planned(&bench.run(&["race", "quick", "--dry-run", "-v"]));
    let mut all = BTreeSet::new();
    for number in 1..=3 {
        let shard = format!("{number}/3");
        let mine = planned(&bench.run(&["race", "quick", "--dry-run", "-v", "--shard", &shard]));
        let counted = mine.iter().filter(|(key, _)| !key.contains("/w"));
        counted.for_each(|trial| assert!(all.insert(trial.clone()), "{trial:?} is of two shards"));
    }
    let counted: BTreeSet<_> = whole.into_iter().filter(|(key, _)| !key.contains("/w")).collect();
    assert_eq!(all, counted);
}

#[test]
fn a_job_array_and_an_indexed_job_are_printed() {
    let bench = Bench::new();
    let script = bench.run(&[
        "slurm",
        "quick",
        "--shards",
        "4",
        "--trials",
        "9",
        "--sbatch=--partition=quiet",
        "--links",
        "3g,loss=1%",
    ]);
    script.said(0, &[]);
    for line in [
        "#SBATCH --array=1-4",
        "#SBATCH --exclusive",
        "#SBATCH --partition=quiet",
        "exec wirelap race quick --trials 9 --links '3g,loss=1%' --out wirelap-quick-shards --shard \"$SLURM_ARRAY_TASK_ID/4\"",
    ] {
        assert!(script.out.lines().any(|one| one == line), "no {line:?} in {}", script.out);
    }
    bench.write("race.sbatch", &script.out);
    assert_eq!(bench.shell(&[], "sh -n race.sbatch").code, 0);
    let claim = ["--image", "registry.test/wirelap:1", "--claim", "runs"];
    let job =
        bench.run(&[&["k8s", "quick", "--shards", "4", "--links", "3g"], &claim[..]].concat());
    job.said(0, &[]);
    bench.write("job.yaml", &job.out);
    let read = "import json, yaml; print(json.dumps(yaml.safe_load(open('job.yaml'))))";
    let value = bench.start({
        let mut python = bench.command("python3");
        python.args(["-c", read]);
        python
    });
    let value = value.end();
    if value.err.contains("No module named") {
        return testing::skip("Python has no module yaml: python3 -m pip install pyyaml");
    }
    let job: Value = serde_json::from_str(&value.out).unwrap_or_else(|_| panic!("{value:?}"));
    assert_eq!((&job["kind"], &job["spec"]["completions"]), (&"Job".into(), &4.into()));
    let command = &job["spec"]["template"]["spec"]["containers"][0]["command"];
    let words = [
        "wirelap",
        "race",
        "quick",
        "--links",
        "3g",
        "--shard",
        "auto/4",
        "--out",
        "/runs/wirelap-quick-shards",
    ];
    assert_eq!(*command, serde_json::json!(words));
}
