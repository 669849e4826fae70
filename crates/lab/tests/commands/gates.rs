//! `race --gate`: contenders of one run that are held to a limit, until it is decided, and more trials afterwards.

use crate::bench::{Bench, Ran, SLOW, await_idle_cores, experiment, trials_run_here};
use std::fs;

/// One page by two clients, of which `new` opens a connection for each request.
const TWO: &str = "name = \"two\"\ntitle = \"old and new\"\nquestion = \"is new as fast as old?\"\n\
     baseline = \"old\"\ntrials = 8\nwarmup = 0\n\
     [[workloads]]\nkind = \"page\"\nimages = 7\nbytes = \"1kB\"\n\
     [[contenders]]\nname = \"old\"\ntransport = \"http/1.1\"\n\
     [[contenders]]\nname = \"new\"\ntransport = \"http/1.1\"\nsettings = { keep_alive = false }\n\
     [[links]]\nname = \"path\"\nfigures = \"rtt=300ms,down=2mbit,up=2mbit\"\n";

/// Races until others on the machine spoil too little to withhold the judgement; None where they do so three times in a row.
fn race(bench: &Bench, out: &str, more: &[&str]) -> Option<Ran> {
    for _ in 0..3 {
        let ran = bench.run(&[&["race", "two.toml", "--out", out], more].concat());
        if !ran.out.contains("the audit refused") {
            return Some(ran);
        }
        fs::remove_dir_all(bench.path(out)).unwrap();
        await_idle_cores();
    }
    testing::skip("gates of races: others on the machine spoil the trials");
    None
}

#[test]
fn a_gate_of_a_race_passes_fails_or_is_inconclusive() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::alone();
    bench.write("two.toml", TWO);
    let files = ["--junit", "gates.xml", "--markdown", "summary.md"];
    let Some(passed) =
        race(&bench, "passed", &[&["--gate", "old/new load_ms<0.95"][..], &files].concat())
    else {
        return;
    };
    passed.said(0, &[]);
    assert!(passed.out.contains("old/new load_ms<0.95: 1 passed"), "{passed:?}");
    let summary = fs::read_to_string(bench.path("summary.md")).unwrap();
    assert!(summary.contains("| **passed** |"), "{summary}");

    let gates = ["--gate", "load_ms<1.05", "--gate", "new/old connections<1.01"];
    let Some(failed) = race(&bench, "failed", &[&gates[..], &files].concat()) else { return };
    assert_eq!(failed.code, 1, "{failed:?}");
    assert!(failed.out.contains("FAILED page-7x1kB, path, new over old: "), "{failed:?}");
    let xml = fs::read_to_string(bench.path("gates.xml")).unwrap();
    assert_eq!(
        (xml.matches("<failure").count(), xml.matches("<testcase").count()),
        (2, 2),
        "{xml}"
    );
    // The report tells the gates of its run, and adding trials turns none of them.
    assert!(bench.run(&["report", "failed"]).out.contains("load_ms<1.05: 1 failed"));
    let added = bench.run(&["race", "--resume", "failed", "--add", "2"]);
    assert!(added.code == 1 && added.out.contains("exploratory"), "{added:?}");
    let csv = bench.run(&["report", "failed", "--csv"]).out;
    let place = csv.lines().next().unwrap().split(',').position(|name| name == "added").unwrap();
    let is_added = |line: &&str| line.split(',').nth(place) == Some("true");
    assert!(csv.lines().filter(is_added).count() >= 4, "{csv}");
    let page = fs::read_to_string(bench.path("failed/report.html")).unwrap();
    assert!(page.contains("added after the 8 planned"));

    let two = ["--trials", "2", "--gate", "load_ms<1.05", "--inconclusive", "fail"];
    let Some(open) = race(&bench, "open", &two) else { return };
    assert!(open.code == 4 && open.out.contains("2 trials give no interval at 95.0"), "{open:?}");
}

#[test]
fn a_race_until_decided_ends_at_a_look() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::alone();
    bench.write("two.toml", TWO);
    let gate = ["--gate", "load_ms<1.05", "--until-decided", "2m"];
    let Some(ran) = race(&bench, "run", &gate) else { return };
    assert!(ran.code == 1 && ran.err.contains("judged after"), "{ran:?}");
    let result = fs::read_to_string(bench.path("run/result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&result).unwrap();
    let trials = result["trials"]["measured"].as_u64().unwrap();
    assert!((10..60).contains(&trials), "{trials} trials");
}

/// How many trials that will be, the first blocks show: the dry run names the limit, and no trials that there are not.
#[test]
fn the_dry_run_of_a_race_until_decided_names_its_limit() {
    let bench = Bench::new();
    let ran = bench.run(&["race", "quick", "--links", "4g", "--until-decided", "10m", "--dry-run"]);
    ran.said(0, &[]);
    let plan = "warm-ups, then as many trials as decide, 600 s at most; baseline h1-tls";
    assert!(ran.out.contains(plan) && !ran.out.contains("0 blocks"), "{ran:?}");
}

#[test]
fn a_gate_on_what_is_not_there_is_refused_before_anything_runs() {
    let bench = Bench::new();
    bench.write("two.toml", TWO);
    let refused = |gate: &str| bench.run(&["race", "two.toml", "--out", "run", "--gate", gate]);
    refused("nwe/old load_ms<1.05").said(2, &["`nwe`", "old, new", "did you mean `new`?"]);
    refused("new/old lod_ms<1.05").said(2, &["`lod_ms`", "did you mean `load_ms`?", "round_trips"]);
    refused("new/old load_ms=1.05").said(2, &["neither < nor >"]);
    assert!(!bench.path("run").exists());
    bench.run(&["race", "two.toml", "--add", "3"]).said(2, &["--resume"]);
    let both = ["race", "two.toml", "two.toml", "--junit", "x.xml"];
    bench.run(&both).said(2, &["--junit names one file"]);
}

#[test]
fn a_run_that_is_interrupted_after_its_first_blocks_plans_with_the_time_of_all_of_them() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("tiny.toml", experiment(SLOW, 3));
    bench.run(&["race", "tiny.toml", "--out", "run", "--serial", "--until-decided", "5s"]).raced();
    // As if it had ended when the first blocks had run, before it planned the others.
    let rows = rusqlite::Connection::open(bench.path("run/rows.sqlite")).unwrap();
    rows.execute("DELETE FROM trials WHERE warmup = 0", []).unwrap();
    let header: String = rows.query_row("SELECT header FROM run", [], |row| row.get(0)).unwrap();
    let mut header: serde_json::Value = serde_json::from_str(&header).unwrap();
    header["experiment"]["links"][0]["trials"] = 0.into();
    rows.execute("UPDATE run SET header = ?1", [header.to_string()]).unwrap();
    drop(rows);
    let again = bench.run(&["race", "--resume", "run", "--serial"]);
    assert!(again.err.contains("a round of all contenders takes "), "{again:?}");
    assert!(!again.err.contains("at most 1000 trials each"), "{again:?}");
}
