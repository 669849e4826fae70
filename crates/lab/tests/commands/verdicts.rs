//! Whole runs whose verdict is known beforehand: planted slowness, a contender against itself, trials side by side
//! against trials alone, and a machine under load.

use crate::bench::{Bench, Load, outcomes, trials_run_here, unsupported};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use study::stats::{SignedRank, WalshAverages};

/// Calls one by one to a server that thinks 100 ms, and `slower` milliseconds more for contender `b`.
fn planted(slower: u32, trials: u32) -> String {
    format!(
        "name = \"planted\"\ntitle = \"\"\nquestion = \"\"\nbaseline = \"a\"\n\
         trials = {trials}\nwarmup = 0\n\
         [[workloads]]\nkind = \"calls\"\npattern = \"serial\"\ncount = 2\nbytes = 500\n\
         server_time = \"100ms\"\n\
         [[contenders]]\nname = \"a\"\ntransport = \"http/1.1\"\n\
         [[contenders]]\nname = \"b\"\ntransport = \"http/1.1\"\n\
         [contenders.settings]\nserver_time = \"{slower}ms\"\n\
         [[links]]\nname = \"rtt=10ms,down=5mbit,up=5mbit\"\n"
    )
}

fn race(bench: &Bench, name: &str, toml: &str, more: &[&str]) -> Value {
    let file = format!("{name}.toml");
    bench.write(&file, toml);
    let ran = bench.run(&[&["race", &file, "--out", name, "--json"], more].concat());
    ran.said(0, &[]);
    serde_json::from_str(&ran.out).unwrap()
}

fn of_b(result: &Value) -> &Value {
    &result["verdicts"][0]["ranking"][0]
}

#[test]
fn planted_slowness_is_found_as_what_it_is() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    // A call takes the server's 100 ms and a round trip or two of 10 ms: some 115 ms.
    for (slower, right, wrong) in [
        (0, "tie", ["faster", "slower"]),
        (2, "tie", ["faster", "slower"]),
        // Just about the margin: either may be said, and undecided too.
        (6, "", ["faster", "faster"]),
        (24, "slower", ["faster", "tie"]),
    ] {
        let result = race(&bench, &format!("by{slower}"), &planted(slower, 8), &[]);
        let told = of_b(&result);
        let verdict = told["verdict"].as_str().unwrap();
        assert!(!wrong.contains(&verdict), "{slower} ms: {told:#}");
        if !right.is_empty() && verdict != right {
            // Whoever shares the machine may have made it undecided, never wrong.
            assert_eq!(verdict, "undecided", "{slower} ms: {told:#}");
            unsupported("a verdict: the machine is too busy for links to keep their times");
        }
    }
}

#[test]
fn a_run_that_may_stop_early_does_so_where_the_difference_is_clear() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let toml = planted(60, 40);
    let result = race(&bench, "early", &toml, &["--sequential"]);
    let told = of_b(&result);
    if told["verdict"] != "slower" {
        assert_eq!(told["verdict"], "undecided", "{told:#}");
        return unsupported("a verdict: the machine is too busy for links to keep their times");
    }
    let ran = outcomes(&bench.path("early")).len();
    assert!(ran < 60, "{ran} of 80 trials");
    // Resumed, it knows that all is decided.
    bench.run(&["race", "--resume", "early"]).said(0, &[]);
    assert_eq!(outcomes(&bench.path("early")).len(), ran);
}

#[test]
fn a_run_is_made_again_from_its_folder_alone() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    race(&bench, "first", &planted(3, 2), &["--seed", "77"]);
    std::fs::remove_file(bench.path("first.toml")).unwrap();
    bench.run(&["race", "--again", "first", "--out", "second"]).said(0, &[]);
    let plans = |folder: &str| -> Vec<(String, String)> {
        let rows = rusqlite::Connection::open(bench.path(folder).join("rows.sqlite")).unwrap();
        let mut query = rows
            .prepare("SELECT key, seed FROM trials WHERE key NOT LIKE '%~%' ORDER BY key")
            .unwrap();
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    };
    assert_eq!(plans("first"), plans("second"));
    let header = |folder: &str| -> Value {
        let rows = rusqlite::Connection::open(bench.path(folder).join("rows.sqlite")).unwrap();
        let text: String = rows.query_row("SELECT header FROM run", [], |row| row.get(0)).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    assert_eq!(header("first")["experiment"], header("second")["experiment"]);
    assert_eq!(header("second")["experiment"]["seed"], 77);
    assert!(header("second")["host"]["more"]["net.ipv4.tcp_rmem"].is_string());
    let nothing = bench.run(&["race", "--again", "nowhere"]);
    nothing.said(2, &["nowhere", "is not there"]);
}

/// The deciding figure of every measured trial that counts, by key.
fn figures(folder: &Path) -> BTreeMap<String, f64> {
    let rows = rusqlite::Connection::open(folder.join("rows.sqlite")).unwrap();
    let sql = "SELECT key, value FROM metrics WHERE metric = 'load_ms' AND outcome = 'measured'";
    let mut query = rows.prepare(sql).unwrap();
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn trials_side_by_side_tie_with_the_same_trials_alone() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let toml = crate::bench::experiment("rtt=200ms,down=2mbit,up=2mbit", 8);
    race(&bench, "beside", &toml, &[]);
    race(&bench, "alone", &toml, &["--serial"]);
    let (beside, alone) = (figures(&bench.path("beside")), figures(&bench.path("alone")));
    let logs: Vec<f64> =
        beside.iter().filter_map(|(key, beside)| Some((beside / alone.get(key)?).ln())).collect();
    if logs.len() < 8 {
        return unsupported("a verdict: the machine is too busy for links to keep their times");
    }
    let walsh = WalshAverages::of(&logs);
    let rank = SignedRank::of(logs.len()).rank_within(0.05);
    let interval = walsh.interval(rank);
    let margin = 0.05_f64.ln_1p();
    let told = format!("{interval:?} of {logs:?}");
    assert!(-margin <= interval.high && interval.low <= margin, "{told}");
    if interval.low < -margin || margin < interval.high {
        unsupported(&format!("a tie: the machine's load differed between the runs: {told}"));
    }
}

#[test]
fn the_a_a_experiment_tells_its_share_of_false_differences() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let command = [
        "race",
        "aa",
        "--links",
        "rtt=20ms,down=20mbit,up=20mbit",
        "--trials",
        "20",
        "--out",
        "aa",
    ];
    let ran = bench.run(&[&command[..], &["--json"]].concat());
    ran.said(0, &[]);
    let result: Value = serde_json::from_str(&ran.out).unwrap();
    let same = &result["same"];
    let comparisons = same["comparisons"].as_u64().unwrap_or(0);
    if comparisons < 3 {
        return unsupported("comparisons: the machine is too busy for links to keep their times");
    }
    assert!(comparisons <= 4 && same["blocks"] == 10, "{same:#}");
    assert!(same["differ"].as_u64() <= same["most"].as_u64(), "{same:#}");
    let text = bench.run(&["report", "aa"]).out;
    assert!(text.contains("comparisons with itself found to differ"), "{text}");
    assert!(text.contains("would show"), "{text}");
}

#[test]
fn load_on_every_core_gives_invalid_trials_or_wider_intervals_and_no_wrong_verdict() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let load = Load::begin(&bench);
    let (same, slower) = (
        race(&bench, "same-under-load", &planted(0, 8), &[]),
        race(&bench, "slower-under-load", &planted(24, 8), &[]),
    );
    drop(load);
    let verdict = of_b(&same)["verdict"].as_str().unwrap().to_owned();
    assert!(!["faster", "slower"].contains(&verdict.as_str()), "{:#}", of_b(&same));
    let verdict = of_b(&slower)["verdict"].as_str().unwrap().to_owned();
    assert!(!["faster", "tie"].contains(&verdict.as_str()), "{:#}", of_b(&slower));
}
