//! `wirelap load` against real servers and against servers that stall, break and talk rubbish. The one rule: what it
//! says that it has asked is what the server says that it was asked.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stderr)]

mod agents;
#[allow(dead_code, reason = "the other tests of the program use the rest")]
#[path = "../commands/bench.rs"]
mod bench;
mod faults;
#[allow(dead_code, reason = "the attacks on a server use the rest")]
#[path = "../hostile/frames.rs"]
mod frames;
mod http3;
mod limits;
mod moved;
mod output;
mod peers;
mod rubbish;
mod stall;
#[path = "../get/started.rs"]
mod started;

use bench::Bench;
use serde_json::Value;

/// Runs a load to its end; its exit code and its result.
fn load(bench: &Bench, args: &[&str]) -> (i32, Value) {
    let ran = bench.run(&[&["load", "--json"], args].concat());
    assert!(!ran.err.contains("panicked"), "{ran:?}");
    (ran.code, serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}")))
}

/// Requests that were all answered, and how many.
fn answered(result: &Value) -> u64 {
    let whole = &result["whole"];
    assert_eq!(whole["requests"], whole["answers"], "{whole}");
    assert_eq!(whole["refused"], 0, "{whole}");
    whole["answers"].as_u64().unwrap()
}
