//! Calls through the whole lab: real sockets, a real link, rows as a user finds them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test's helpers fail with it, and say why it is left out"
)]

use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

const EXPERIMENT: &str = r#"name = "calls"
title = "3 calls, one after another"
question = "What does a new connection a call cost?"
baseline = "kept"
trials = 1
warmup = 0
[[workloads]]
kind = "calls"
pattern = "serial"
count = 3
bytes = 500
server_time = "20ms"
[[workloads]]
kind = "calls"
pattern = "staggered"
every = "10ms"
count = 5
bytes = 500
server_time = "uniform 30ms..50ms"
[[contenders]]
name = "kept"
transport = "http/1.1"
tls = "1.2"
[[contenders]]
name = "full"
transport = "http/1.1"
tls = "1.2"
settings = { keep_alive = false, resumption = false }
[[contenders]]
name = "resumed"
transport = "http/1.1"
tls = "1.2"
settings = { keep_alive = false, negotiation = "alpn" }
[[contenders]]
name = "h2-alpn"
transport = "h2"
settings = { negotiation = "alpn" }
[[contenders]]
name = "spdy"
transport = "spdy/3.1"
tls = "1.2"
settings = { negotiation = "alpn" }
[[contenders]]
name = "spdy-clear"
transport = "spdy/3.1"
tls = "none"
[[links]]
name = "rtt=40ms,down=10mbit,up=10mbit"
"#;

/// Runs the experiment; its trials as CSV tells them. None where this machine can run none.
fn result() -> Option<Value> {
    let folder =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("calls-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("calls.toml"), EXPERIMENT).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_wirelap"))
        .current_dir(&folder)
        .args(["race", "calls.toml", "--no-calibration", "--out", "run", "--json"])
        .output()
        .unwrap();
    if output.status.code() == Some(3) {
        eprintln!("left out: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::remove_dir_all(&folder).unwrap();
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// What the audit says of a trial whose link others kept from its core.
const BUSY: &str = "the machine was busy";

/// The medians of a cell's metrics; None, and said, where the busy machine left it none.
fn cell<'r>(result: &'r Value, workload: &str, contender: &str) -> Option<&'r Value> {
    let cells = result["cells"].as_array().unwrap();
    let cell = cells.iter().find(|cell| {
        cell["workload"]["pattern"] == workload && cell["contender"]["name"] == contender
    });
    let cell = cell.unwrap();
    if cell["trials"]["measured"] == 0 || cell["refused"].is_string() {
        eprintln!("unsupported: {workload} calls of {contender}: the machine is busy");
        return None;
    }
    Some(&cell["metrics"])
}

#[test]
fn calls_take_the_round_trips_that_their_connections_cost() {
    let Some(result) = result() else { return };
    for failure in result["failures"].as_array().unwrap() {
        let busy = failure["reason"].as_str().is_some_and(|why| why.starts_with(BUSY));
        assert!(failure["outcome"] == "invalid" && busy, "{failure:#}");
    }
    let told: &[(&str, &[(&str, f64)])] = &[
        // TCP and a full TLS 1.2 handshake: three round trips a connection; a resumed one has two.
        ("kept", &[("connections", 1.0), ("round_trips", 6.0)]),
        ("full", &[("connections", 3.0), ("round_trips", 12.0), ("resumed_connections", 0.0)]),
        (
            "resumed",
            &[
                ("connections", 3.0),
                ("round_trips", 10.0),
                ("resumed_connections", 2.0),
                ("connections:http/1.1", 3.0),
            ],
        ),
        ("h2-alpn", &[("connections:h2", 1.0)]),
        // The same connection whether or not it was known beforehand that it speaks SPDY, and one less TLS in clear.
        ("spdy", &[("connections:spdy/3.1", 1.0), ("round_trips", 6.0)]),
        ("spdy-clear", &[("connections:spdy/3.1", 1.0), ("round_trips", 4.0)]),
    ];
    for (contender, metrics) in told {
        if let Some(cell) = cell(&result, "serial", contender) {
            for (metric, value) in *metrics {
                assert_eq!(cell[metric]["median"], *value, "{contender}: {metric}");
            }
            // No call is quicker than its round trip and its server time.
            assert!(cell["mean_ms"]["median"].as_f64() >= Some(60.0));
            assert!(cell["total_ms"]["median"].as_f64() >= Some(3.0 * 60.0));
        }
        if let Some(cell) = cell(&result, "staggered", contender) {
            assert!(cell["mean_ms"]["median"].as_f64() >= Some(70.0));
            if *contender == "h2-alpn" {
                assert_eq!(cell["connections"]["median"], 1.0);
            }
        }
    }
    assert_eq!(result["verdicts"][0]["metric"], "mean_ms");
}
