//! Whole runs: what they write, that it can be written again, and that they agree with each other.

use crate::bench::{Bench, HAR, experiment, outcomes, trials_run_here};
use serde_json::Value;
use std::fs;
use std::time::Duration;

#[test]
fn a_report_written_again_is_the_same_to_the_byte() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("tiny.toml", experiment("lan", 2));
    let raced = bench.run(&["race", "tiny.toml", "--out", "run", "--json"]);
    raced.raced();
    let result = fs::read_to_string(bench.path("run/result.json")).unwrap();
    assert_eq!(raced.out, result);
    let value: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(
        (&value["schema"], &value["experiment"]),
        (&"wirelap.result/1".into(), &"tiny".into())
    );
    let html = fs::read_to_string(bench.path("run/report.html")).unwrap();
    for name in ["result.json", "report.html"] {
        fs::remove_file(bench.path("run").join(name)).unwrap();
    }
    assert_eq!(bench.run(&["report", "run", "--json"]).out, result);
    assert_eq!(fs::read_to_string(bench.path("run/result.json")).unwrap(), result);
    assert_eq!(fs::read_to_string(bench.path("run/report.html")).unwrap(), html);
    let text = bench.run(&["report", "run"]).out;
    assert!(text.contains(" of 4 trials measured") && !text.contains('\x1b'), "{text}");
    let csv = bench.run(&["report", "run", "--csv"]).out;
    let first_attempts = csv.lines().filter(|line| !line.contains('~')).count();
    assert_eq!(first_attempts, 1 + 4, "{csv}");
    assert!(csv.starts_with("key,workload,link,contender"), "{csv}");
}

#[test]
fn a_recorded_page_runs_in_little_memory_and_is_reported_without_its_file() {
    if !trials_run_here() {
        return;
    }
    const MOST: u64 = 200_000_000;
    let bench = Bench::new();
    bench.write("page.har", HAR);
    let command = [
        "race",
        "page.har",
        "--links",
        "rtt=20ms,down=20mbit,up=20mbit",
        "--trials",
        "2",
        "--out",
        "run",
    ];
    let mut running = bench.start(bench.wirelap(&command));
    let mut peak = 0;
    while running.child.try_wait().unwrap().is_none() {
        let resident = |(pid, _): &(u32, String)| resident_bytes(*pid);
        peak = peak.max(bench.alive().iter().map(resident).sum());
        std::thread::sleep(Duration::from_millis(10));
    }
    running.end().raced();
    assert!(peak > 1_000_000, "nothing was seen running");
    assert!(peak < MOST, "runner, workers and their sides took {peak} bytes together");
    fs::remove_file(bench.path("page.har")).unwrap();
    let result = fs::read_to_string(bench.path("run/result.json")).unwrap();
    assert_eq!(bench.run(&["report", "run", "--json"]).out, result);
    fs::remove_dir_all(bench.path("run/inputs")).unwrap();
    let ran = bench.run(&["report", "run", "--json"]);
    ran.said(0, &[]);
    assert_eq!(ran.out, result);
}

/// The resident set of a process with what it shares with others counted in part, in bytes.
fn resident_bytes(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) * 1024
}

#[test]
fn other_seeds_never_reverse_a_pair() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::alone();
    // Twenty-one rounds on six connections against two on one: the winner is not in doubt.
    let many = experiment("rtt=100ms,down=2mbit,up=2mbit", 8).replace("images = 3", "images = 120");
    bench.write("pair.toml", many);
    let (mut verdicts, mut invalid) = (Vec::new(), 0);
    for seed in ["11", "12"] {
        let ran = bench.run(&["race", "pair.toml", "--seed", seed, "--out", seed, "--json"]);
        ran.raced();
        let result: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(result["seed"].to_string(), seed);
        let pair = &result["verdicts"][0]["pairs"][0];
        // Whichever stands first: h2's side of it.
        let turned = pair["a"] == "h1";
        verdicts.push(match (pair["verdict"].as_str().unwrap(), turned) {
            ("faster", true) => "slower".to_owned(),
            ("slower", true) => "faster".to_owned(),
            (verdict, _) => verdict.to_owned(),
        });
        invalid += outcomes(&bench.path(seed)).iter().filter(|row| row.1 == "invalid").count();
    }
    let is_said = |word: &str| verdicts.iter().any(|verdict| verdict == word);
    assert!(!is_said("slower"), "{verdicts:?}");
    if invalid > 2 {
        return testing::skip("verdicts: the machine is too busy for links to keep their times");
    }
    assert!(is_said("faster"), "{verdicts:?}");
}

#[test]
fn a_run_with_trace_files_goes_on_and_is_reported_without_them() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    fs::create_dir(bench.path("lab")).unwrap();
    // One opportunity a millisecond is 12 Mbit/s. Beside the experiment's file, not here.
    bench.write("lab/lte.trace", "1\n2\n3\n");
    bench.write("lab/trace.toml", experiment("rtt=10ms,trace=lte.trace", 1));
    bench.write("here.trace", "2\n4\n");
    let links = ["--links", "rtt=10ms,trace=lte.trace", "--links", "rtt=20ms,trace_up=here.trace"];
    bench.run(&[&["race", "lab/trace.toml", "--out", "run"][..], &links].concat()).raced();
    assert!(outcomes(&bench.path("run")).iter().all(|(_, outcome, _)| outcome != "failed"));
    for file in ["lab/lte.trace", "here.trace"] {
        fs::remove_file(bench.path(file)).unwrap();
    }
    let rows = rusqlite::Connection::open(bench.path("run/rows.sqlite")).unwrap();
    rows.execute("DELETE FROM trials WHERE contender = 'h1'", []).unwrap();
    drop(rows);
    fs::create_dir(bench.path("elsewhere")).unwrap();
    let mut command = bench.wirelap(&["race", "--resume", "../run"]);
    command.current_dir(bench.path("elsewhere"));
    let ran = bench.start(command).end();
    ran.raced();
    assert!(
        ran.out.contains("mean 12.000 Mbit/s") && ran.out.contains(" of 4 trials measured"),
        "{ran:?}"
    );
    assert_eq!(outcomes(&bench.path("run")).len(), 4);
}

#[test]
fn a_link_that_no_packet_passes_fails_its_trials_in_time() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let dead = experiment("rtt=1ms,down=1mbit,up=1mbit,loss=100%", 1);
    bench.write("dead.toml", dead.replace("warmup = 0", "warmup = 0\ntimeout = \"1s\""));
    let ran = bench.run(&["race", "dead.toml", "--out", "run"]);
    ran.raced();
    assert!(ran.out.contains("0 of 2 trials measured") || ran.out.contains("2 failed"), "{ran:?}");
}
