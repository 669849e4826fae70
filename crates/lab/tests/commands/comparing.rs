//! Two runs against each other, and the gates that a CI system holds them to.

use crate::bench::{Bench, experiment, trials_run_here};
use std::fs;

/// The tiny experiment over a path of its own figures.
fn over(figures: &str) -> String {
    experiment("path", 8) + &format!("figures = \"{figures}\"\n")
}

#[test]
fn a_slower_path_fails_a_gate_and_one_like_it_passes() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::alone();
    bench.write("before.toml", over("rtt=40ms,down=5mbit,up=5mbit"));
    bench.write("after.toml", over("rtt=160ms,down=5mbit,up=5mbit"));
    // A gate passes or fails only where trials enough speak.
    bench.race_whole("before.toml", "one", &[]);
    bench.race_whole("before.toml", "two", &["--seed", "7"]);
    bench.race_whole("after.toml", "slow", &[]);

    let gate = ["--gate", "load_ms<+50%", "--gate", "connections<1.01"];
    let same = bench.run(&[&["compare", "one", "two"][..], &gate].concat());
    assert!(same.out.contains("differs: seed: 1 before, 7 after"), "{same:?}");
    same.said(0, &[]);
    assert!(same.out.contains("gate connections<1.01: 2 passed"), "{same:?}");

    let files = ["--junit", "gates.xml", "--markdown", "summary.md"];
    let slow = bench.run(&[&["compare", "one", "slow"][..], &gate, &files].concat());
    assert!(slow.out.contains("link path has other figures"), "{slow:?}");
    slow.said(1, &[]);
    for part in ["HIGHER", "gate load_ms<1.5: 2 failed"] {
        assert!(slow.out.contains(part), "no {part} in {slow:?}");
    }
    let xml = fs::read_to_string(bench.path("gates.xml")).unwrap();
    assert_eq!(xml.matches("<failure").count(), 2, "{xml}");
    let summary = fs::read_to_string(bench.path("summary.md")).unwrap();
    assert_eq!(summary.matches("| **failed** |").count(), 2, "{summary}");
    assert!(
        fs::read_to_string(bench.path("slow/compare.html")).unwrap().contains("class=\"forest\"")
    );

    let json: serde_json::Value =
        serde_json::from_str(&bench.run(&["compare", "one", "slow", "--json"]).out).unwrap();
    // Round trips make most of it, four times as long; serialisation stays as it was.
    let ratio = json["changes"][0]["ratio"].as_f64().unwrap();
    assert!((2.0..4.0).contains(&ratio), "{json:#}");
}

#[test]
fn a_gate_on_nothing_is_a_slip_and_not_a_success() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::alone();
    bench.write("tiny.toml", experiment("rtt=50ms,down=50mbit,up=50mbit", 2));
    bench.race_whole("tiny.toml", "run", &[]);
    bench
        .run(&["compare", "run", "run", "--gate", "lod_ms<1.05"])
        .said(2, &["no trial that counts has the metric `lod_ms`", "did you mean `load_ms`?"]);
    bench
        .run(&["compare", "run", "run", "--gate", "load_ms=1.05"])
        .said(2, &["neither < nor >", "load_ms<1.05"]);
    bench.run(&["compare", "run", "ghost"]).said(2, &["ghost/rows.sqlite is not there"]);
    bench
        .run(&["compare", "run", "run", "--gate", "h2/h1 load_ms<1.05"])
        .said(2, &["names contenders", "wirelap race --gate"]);
    // Two trials on a side can never be sure of anything: no gate passes or fails by them.
    for same in ["run", "run/", "./run"] {
        bench.run(&["compare", "run", same]).said(2, &["are one run", "name two runs"]);
    }
    fs::create_dir(bench.path("copy")).unwrap();
    fs::copy(bench.path("run/rows.sqlite"), bench.path("copy/rows.sqlite")).unwrap();
    let gate = ["compare", "run", "copy", "--gate", "load_ms<1.5", "--junit", "gates.xml"];
    let ran = bench.run(&gate);
    assert!(ran.code == 0 && ran.out.contains("2 inconclusive"), "{ran:?}");
    assert_eq!(ran.out.matches("2 trials give no").count(), 2, "{ran:?}");
    let xml = fs::read_to_string(bench.path("gates.xml")).unwrap();
    assert_eq!((xml.matches("<skipped").count(), xml.matches("<failure").count()), (2, 0), "{xml}");
    assert_eq!(bench.run(&[&gate[..], &["--inconclusive", "fail"]].concat()).code, 4);
}
