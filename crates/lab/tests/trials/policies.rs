//! Delivery policies as a contender's setting: they reach the origin, and stand in rows, results and reports.

use crate::bench::{Bench, records, trials_run_here};
use crate::six_images::six_images;

/// A contender with this policy, in the words of an experiment's file.
fn contender(name: &str, server: &str, policy: &str) -> String {
    format!(
        "[[contenders]]\nname = \"{name}\"\ntransport = \"h2\"\nserver = \"{server}\"\n\
         settings = {{ policy = {policy} }}\n"
    )
}

#[test]
fn a_policy_reaches_the_origin_and_stands_in_rows_result_and_report() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("later.toml", "[[rules]]\ntype = \"image/*\"\nurgency = 6\n");
    let keys = "{ rules = [{ path = \"/image/*\", urgency = 1 }, { push = [\"/none.css\"] }] }";
    let experiment = [
        six_images("none"),
        contender("none", "origin", "\"none\""),
        contender("hints", "origin", "\"early-hints\""),
        contender("file", "origin", "\"later.toml\""),
        contender("keys", "origin", keys),
        contender("over-quic", "origin", "\"later.toml\"").replace("\"h2\"", "\"h3\""),
        contender("foreign", "nginx", "\"push\""),
    ];
    bench.write("policies.toml", experiment.concat());
    let result = bench.race_whole("policies.toml", "run", &[]);
    let folder = bench.path("run");
    assert!(folder.join("inputs/later.toml").is_file(), "the run's folder is whole by itself");
    let failures = result["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 1, "{failures:#?}");
    assert_eq!(failures[0]["outcome"], "unsupported");
    let reason = failures[0]["reason"].as_str().unwrap();
    assert!(reason.contains("cannot be given a `policy`"), "{reason}");
    let settings: Vec<_> = result["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell["contender"]["settings"]["policy"].clone())
        .collect();
    assert!(settings.contains(&"later.toml".into()), "{settings:?}");
    for record in records(&folder) {
        let name = record["plan"]["cell"]["contender"]["name"].as_str().unwrap();
        if record["outcome"]["kind"] == "invalid" {
            continue;
        }
        let deliveries = record["deliveries"].as_array().cloned().unwrap_or_default();
        if name == "foreign" {
            assert!(deliveries.is_empty());
            continue;
        }
        assert_eq!(deliveries.len(), 7, "{name}: the page and its images");
        let decided = deliveries.iter().filter_map(|one| one["decided"]["urgency"].as_u64());
        let decided: Vec<u64> = decided.collect();
        let (policy, expected) = match name {
            "none" => ("none", vec![]),
            "hints" => ("early-hints", vec![]),
            "file" | "over-quic" => ("later.toml", vec![6; 6]),
            _ => ("{", vec![1; 6]),
        };
        assert_eq!(decided, expected, "{name}");
        let told = &record["settings"];
        assert!(told["policy"].as_str().unwrap().starts_with(policy), "{name}: {told:#}");
        let signals = deliveries.iter().map(|one| one["asked"].as_array().unwrap().len());
        assert!(signals.sum::<usize>() > 0, "{name}: {deliveries:#?}");
    }
    let rows = rusqlite::Connection::open(folder.join("rows.sqlite")).unwrap();
    let query =
        "SELECT count(*) FROM deliveries WHERE first_byte_ms > 0 AND ended_ms >= first_byte_ms";
    let laid_out: i64 = rows.query_row(query, [], |row| row.get(0)).unwrap();
    assert!(laid_out >= 35, "{laid_out}");
    let report = std::fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(report.contains("later.toml"), "among the settings");
}

#[test]
fn a_fault_in_a_policy_is_told_with_its_place_before_anything_runs() {
    let bench = Bench::new();
    let (images, prefix) = (six_images("a"), contender("a", "origin", ""));
    let line = images.lines().count() + prefix.lines().count();
    let race = |policy: &str| {
        bench.write("wrong.toml", [images.clone(), contender("a", "origin", policy)].concat());
        bench.run(&["race", "wrong.toml", "--dry-run"])
    };
    let at = |column| format!("wrong.toml, line {line}, column {column}");
    race("\"pusj\"").said(2, &[&at(23), "did you mean `push`?"]);
    race("{ push = { place = \"first\" } }").said(2, &[&at(42), "interleaved"]);
    race("\"mine.toml\"").said(2, &["mine.toml", "check the path"]);
    bench.write("mine.toml", "[learned]\npush = \"everything\"\n");
    race("\"mine.toml\"").said(2, &["mine.toml:2:8", "blocking-assets, all"]);
}
