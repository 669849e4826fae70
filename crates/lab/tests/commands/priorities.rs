//! `serve --priorities` and `--policy`: an urgent response overtakes queued bulk over `link 3g`, by the policy that was
//! asked for, and does not where the policy says so.
//!
//! The client and the witness of what leaves the origin are `peers/overtake.py`, which shares no code with wirelap.

use crate::bench::{Bench, trials_run_here};
use serde_json::Value;

/// 3g: round trip, and what its queue of 60 kB and the bytes allowed below take at 1.6 Mbit/s, in milliseconds.
const LOADED_ROUND_TRIP: f64 = 300.0 + 60.0 * 8.0 / 1.6 + ALLOWED as f64 * 8.0 / 1600.0;

/// Bytes of bulk that may leave between the urgent request and its answer.
const ALLOWED: u64 = 16_000;

/// Slack for a busy machine, in milliseconds: far less than the two seconds that the bulk takes.
const SLACK: f64 = 150.0;

/// What was seen of an urgent response beside 600 kB of bulk.
#[derive(Debug)]
struct Seen {
    bulk_after_request: u64,
    first_byte_ms: f64,
}

impl Seen {
    fn overtakes(&self) -> bool {
        self.bulk_after_request <= ALLOWED && self.first_byte_ms <= LOADED_ROUND_TRIP + SLACK
    }

    fn waits(&self) -> bool {
        self.bulk_after_request > 300_000 && self.first_byte_ms > 1_500.0
    }
}

/// Serves by `policy`, to a client that ranks its requests by `signals`.
fn race(bench: &Bench, policy: &str, signals: &str) -> Seen {
    bench.write("bulk.bin", vec![7; 600_000]);
    bench.write("urgent.txt", vec![b'u'; 5_000]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/overtake.py");
    let serve = format!("$W serve . --threads 1 {policy} --listen 0.0.0.0:80 > served");
    let far = format!("python3 {script} witness 80 > witness & exec {serve}");
    let ran = bench.shell(
        &[],
        &format!(
            "$W link --no-calibration 3g --ready-port 80 --far \"sh -c '{far}'\" -- \
            timeout 30 python3 {script} client far 80 {signals}"
        ),
    );
    ran.said(0, &[]);
    let client: Value = serde_json::from_str(&ran.out).unwrap();
    let witness = std::fs::read_to_string(bench.path("witness")).unwrap();
    let witness: Value = serde_json::from_str(witness.lines().last().unwrap()).unwrap();
    Seen {
        bulk_after_request: witness["bulk_after_request"].as_u64().unwrap(),
        first_byte_ms: client["first_byte_ms"].as_f64().unwrap(),
    }
}

#[test]
fn an_urgent_response_overtakes_queued_bulk_where_the_policy_heeds_the_client() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::alone();
    let heeding =
        [("auto", "fields"), ("auto", "tree"), ("rfc9218", "fields"), ("rfc7540", "tree")];
    for (policy, signals) in heeding {
        let seen = race(&bench, &format!("--priorities {policy}"), signals);
        assert!(seen.overtakes(), "{policy} with {signals}: {seen:?}");
    }
    // Fifo heeds nobody, and RFC 9218 no dependencies: the bulk goes first.
    for (policy, signals) in [("fifo", "fields"), ("fifo", "tree"), ("rfc9218", "tree")] {
        let seen = race(&bench, &format!("--priorities {policy}"), signals);
        assert!(seen.waits(), "{policy} with {signals}: {seen:?}");
    }
}

#[test]
fn the_flag_goes_before_the_policy_file() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::alone();
    bench.write("policy.toml", "priorities = \"fifo\"\n");
    let seen = race(&bench, "--policy policy.toml", "fields");
    assert!(seen.waits(), "{seen:?}");
    let seen = race(&bench, "--policy policy.toml --priorities rfc9218", "fields");
    assert!(seen.overtakes(), "{seen:?}");
}

#[test]
fn a_rule_of_the_servers_overtakes_whatever_the_client_says() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::alone();
    bench.write("policy.toml", "[[rules]]\npath = \"/urgent*\"\nurgency = 0\n");
    // Without the rule the bulk goes first with both.
    for (policy, signals) in [("fifo", "fields"), ("rfc9218", "tree")] {
        let more = format!("--policy policy.toml --priorities {policy}");
        let seen = race(&bench, &more, signals);
        assert!(seen.overtakes(), "{policy} with {signals}: {seen:?}");
    }
}

#[test]
fn a_wrong_policy_is_told_with_its_place_before_anything_listens() {
    let bench = Bench::new();
    let serve = |more: &str| bench.shell(&[], &format!("$W serve . --listen 127.0.0.1:0 {more}"));
    serve("--priorities lifo").said(2, &["lifo", "round-robin"]);
    bench.write("policy.toml", "# mine\npriorities = \"lifo\"\n");
    serve("--policy policy.toml").said(2, &["policy.toml:2:14", "lifo", "round-robin"]);
    bench.write("policy.toml", "priority = \"fifo\"\n");
    serve("--policy policy.toml").said(2, &["policy.toml:1:1", "unknown field", "priorities"]);
    bench.write("policy.toml", "[[rules]]\npush = [\"/policy.toml\", \"/none.css\"]\n");
    serve("--policy policy.toml").said(2, &["policy.toml:2:25", "/none.css", "404", "delivery.md"]);
    bench.write("policy.toml", "[[rules]]\npath = \"/***\"\n");
    serve("--policy policy.toml").said(2, &["policy.toml:2:8", "star"]);
    serve("--policy missing.toml").said(2, &["missing.toml", "check the path"]);
    serve("--policy pusj").said(2, &["no policy is called `pusj`", "did you mean `push`?", "none"]);
}
