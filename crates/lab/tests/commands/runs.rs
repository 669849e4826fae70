//! Whole runs: what they write, that it can be written again, and that they agree with each other.

use crate::bench::{Bench, HAR, experiment, trials_run_here};
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
    raced.said(0, &[]);
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
    assert!(text.contains("4/4 trials") && !text.contains('\x1b'), "{text}");
    let csv = bench.run(&["report", "run", "--csv"]).out;
    assert_eq!(csv.lines().count(), 1 + 4, "{csv}");
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
    running.end().said(0, &[]);
    assert!(peak > 1_000_000, "nothing was seen running");
    assert!(peak < MOST, "runner, workers and their sides took {peak} octets together");
    fs::remove_file(bench.path("page.har")).unwrap();
    let result = fs::read_to_string(bench.path("run/result.json")).unwrap();
    assert_eq!(bench.run(&["report", "run", "--json"]).out, result);
    fs::remove_dir_all(bench.path("run/inputs")).unwrap();
    let ran = bench.run(&["report", "run", "--json"]);
    ran.said(0, &[]);
    assert_eq!(ran.out, result);
}

/// The resident set of a process with what it shares with others counted in part, in octets.
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
    let bench = Bench::new();
    // Thirteen rounds on six connections against two rounds on one: the winner is not in doubt.
    let many = experiment("rtt=60ms,down=2mbit,up=2mbit", 6).replace("images = 3", "images = 40");
    bench.write("pair.toml", many);
    let mut verdicts = Vec::new();
    for seed in ["11", "12"] {
        let ran = bench.run(&["race", "pair.toml", "--seed", seed, "--out", seed, "--json"]);
        ran.said(0, &[]);
        let result: Value = serde_json::from_str(&ran.out).unwrap();
        for verdict in result["verdicts"].as_array().unwrap() {
            for pair in verdict["pairs"].as_array().unwrap() {
                assert_eq!((&pair["a"], &pair["b"]), (&"h1".into(), &"h2".into()), "{pair}");
                verdicts.push(pair["verdict"].as_str().unwrap().to_owned());
            }
        }
    }
    assert_eq!(verdicts.len(), 2);
    let both = |word: &str| verdicts.iter().any(|verdict| verdict == word);
    assert!(!(both("faster") && both("slower")), "{verdicts:?}");
    assert!(!verdicts.iter().all(|verdict| verdict == "undecided"), "{verdicts:?}");
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
    ran.said(0, &[]);
    assert!(ran.out.contains("0/2 trials") || ran.out.contains("2 failed"), "{ran:?}");
}
