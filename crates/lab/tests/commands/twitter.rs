//! `race twitter-desktop`, in small: Twitter4J's contenders make the experiment's calls, over what they are asked for.

use crate::bench::{Bench, all_outcomes, is_spoilt, outcomes, records, trials_run_here};
use serde_json::Value;

const EXPERIMENT: &str = include_str!("../../../../experiments/twitter-desktop.toml");

/// Each contender, the protocol that its calls have to go over, and the connections of three serial ones.
const CONTENDERS: [(&str, &str, f64); 5] = [
    ("twitter4j-4.0.2-spdy", "spdy/3.1", 1.0),
    ("twitter4j-4.0.7", "http/1.1", 3.0),
    ("twitter4j-4.0.7-kept", "http/1.1", 1.0),
    ("twitter4j-4.0.7-h2", "h2", 1.0),
    ("twitter4j-4.0.7-h2-fresh", "h2", 1.0),
];

/// Three calls of each kind, one trial, a server that answers soon, and calls so far apart that no handshake is raced:
/// OkHttp 1.5.1 now and then loses a call in such a race.
fn in_small() -> String {
    [
        ("count = 11", "count = 3"),
        ("trials = 8", "trials = 1"),
        ("server_time = \"89ms\"", "server_time = \"10ms\""),
        ("+89ms", "+10ms"),
        ("every = \"100ms\"", "every = \"500ms\""),
    ]
    .iter()
    .fold(EXPERIMENT.to_owned(), |text, (whole, small)| {
        assert!(text.contains(whole), "{whole}");
        text.replace(whole, small)
    })
}

#[test]
fn twitter4j_makes_the_published_calls_over_the_transport_that_each_contender_names() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("small.toml", in_small());
    let names = CONTENDERS.map(|(name, ..)| name).join(",");
    let words = ["--contenders", &names, "--baseline", CONTENDERS[0].0, "--links", "none"];
    bench.race_undisturbed("small.toml", "run", &words);
    assert_eq!(bench.alive(), [], "a process is left");
    assert_eq!(outcomes(&bench.path("run")).len(), CONTENDERS.len() * 2);
    for row in records(&bench.path("run")) {
        let name = row["plan"]["cell"]["contender"]["name"].as_str().unwrap();
        if row["outcome"]["kind"] == "unsupported" {
            assert_eq!(row["outcome"]["remedy"], "./peers install", "{row:#}");
            testing::skip(format!("{name}: {}", row["outcome"]["reason"]));
            continue;
        }
        assert_eq!(row["outcome"]["kind"], "measured", "{row:#}");
        assert_eq!(row["fetches"].as_array().unwrap().len(), 3, "{row:#}");
        let (_, protocol, connections) = CONTENDERS.iter().find(|(one, ..)| *one == name).unwrap();
        let evidence = row["evidence"].as_array().unwrap();
        let spoken = evidence.iter().find(|one| one["claim"] == "protocol").unwrap();
        assert_eq!(spoken["value"], *protocol, "{row:#}");
        assert!(["wire", "server_log"].map(Value::from).contains(&spoken["grade"]), "{row:#}");
        // Its start is told apart from its calls.
        let metric = |name: &str| row["metrics"][name].as_f64().unwrap();
        assert!(metric("startup_ms") > 0.0 && metric("mean_ms") >= 10.0, "{row:#}");
        // Of staggered calls a slow machine's handshakes may overlap: how many connections then is the library's affair.
        if row["plan"]["cell"]["workload"]["pattern"] == "serial" {
            assert_eq!(metric("connections"), *connections, "{row:#}");
        }
    }
}

#[test]
fn without_a_jvm_twitter4j_is_unsupported_and_the_run_is_not_a_failure() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("small.toml", in_small());
    let contenders = ["--contenders", "kept,twitter4j-4.0.7"];
    let words = [&["race", "small.toml"], &contenders[..], &["--links", "none", "--out", "run"]];
    let mut race = bench.wirelap(&words.concat());
    // Neither java nor what ./peers install brings is to be found.
    race.env("PATH", "/nowhere").env("XDG_CACHE_HOME", "/nowhere").env("HOME", "/nowhere");
    let ran = bench.start(race).end();
    ran.said(0, &[]);
    // A trial that others on the machine spoilt has run again, and counts then.
    let rows = all_outcomes(&bench.path("run"));
    let (spoilt, told): (Vec<_>, Vec<_>) =
        rows.iter().partition(|(_, outcome, reason)| is_spoilt(outcome, reason.as_deref()));
    for (key, outcome, reason) in &told {
        let expected = if key.contains("twitter4j") { "unsupported" } else { "measured" };
        assert_eq!(outcome, expected, "{key}: {reason:?}");
    }
    let trial = |key: &str| key.split('~').next().unwrap().to_owned();
    for (key, ..) in spoilt {
        assert!(told.iter().any(|(other, ..)| trial(other) == trial(key)), "{rows:?}");
    }
}
