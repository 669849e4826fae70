//! Streams of tokens through the whole lab: real sockets, a real link, rows as a user finds them.

use crate::bench::{Bench, trials_run_here};
use crate::near_side;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const EXPERIMENT: &str = r#"name = "stream"
title = "tokens as they come"
question = "Who shows the first token soonest?"
baseline = "h1"
trials = 1
warmup = 0
[[workloads]]
kind = "stream"
count = 60
bytes = "200B"
every = "20ms"
server_time = "100ms"
streams = 2
[[contenders]]
name = "h1"
transport = "http/1.1"
[[contenders]]
name = "chunked"
transport = "http/1.1"
settings = { delivery = "chunked" }
[[contenders]]
name = "poll"
transport = "http/1.1"
settings = { delivery = "long-polling" }
[[contenders]]
name = "h2"
transport = "h2"
[[contenders]]
name = "h3"
transport = "h3"
settings = { terms = "as-shipped" }
[[contenders]]
name = "ws"
transport = "ws"
[[contenders]]
name = "curl"
transport = "http/1.1"
client = "curl"
[[contenders]]
name = "nginx"
transport = "http/1.1"
server = "nginx"
[[links]]
name = "clean"
figures = "rtt=40ms,down=10mbit,up=10mbit"
[[links]]
name = "lossy"
figures = "rtt=220ms,down=10mbit,up=10mbit,loss=8%"
"#;

/// Trials by link and contender.
struct Trials(BTreeMap<(String, String), Value>);

impl Trials {
    fn of(&self, link: &str, contender: &str) -> &Value {
        &self.0[&(link.to_owned(), contender.to_owned())]
    }

    fn metric(&self, link: &str, contender: &str, name: &str) -> f64 {
        let trial = self.of(link, contender);
        let value = trial["metrics"][name].as_f64();
        value.unwrap_or_else(|| panic!("{contender} on {link} has no {name}: {trial:#}"))
    }
}

/// The last attempt of every trial. On a busy machine the audit refuses trials, whose figures stand in their rows all the
/// same.
fn run(bench: &Bench) -> Trials {
    bench.write("stream.toml", EXPERIMENT);
    let ran = bench.run(&["race", "stream.toml", "--out", "run"]);
    let store = rusqlite::Connection::open(bench.path("run/rows.sqlite"));
    let store = store.unwrap_or_else(|error| panic!("{error}: {}", ran.err));
    let mut query = store.prepare("SELECT record FROM trials ORDER BY key").unwrap();
    let record = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
    let records = query.query_map([], record).unwrap().map(|text| {
        let record: Value = serde_json::from_str(&text.unwrap()).unwrap();
        let cell = &record["plan"]["cell"];
        let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
        ((name(&cell["link"]), name(&cell["contender"])), record)
    });
    Trials(records.collect())
}

#[test]
fn tokens_come_as_they_are_due_and_losses_on_the_link_are_found_as_stalls() {
    if !trials_run_here() {
        return;
    }
    let trials = run(&Bench::new());
    for ((link, contender), trial) in &trials.0 {
        // Every token was looked at: a wrong one would have failed its trial.
        assert_ne!(trial["outcome"]["kind"], "failed", "{contender} on {link}: {trial:#}");
    }
    let clean = |contender: &str, name: &str| trials.metric("clean", contender, name);
    // TCP, the request or what opens a WebSocket and the request; TLS 1.3 one more, but not in QUIC.
    for (contender, round_trips) in
        [("h1", 2.0), ("chunked", 2.0), ("poll", 2.0), ("h2", 3.0), ("h3", 2.0), ("ws", 3.0)]
    {
        let first = clean(contender, "first_token_ms");
        let least = 40.0 * round_trips + 100.0;
        assert!(first >= least, "{contender}: {first} for {least}");
        assert!(clean(contender, "latency_p50_ms") >= 20.0, "{contender}");
        assert!(clean(contender, "total_ms") >= least + 59.0 * 20.0, "{contender}");
    }
    for contender in ["h1", "chunked", "h2", "h3", "ws"] {
        let gap = clean(contender, "gap_p50_ms");
        assert!((10.0..30.0).contains(&gap), "{contender}: {gap}");
        assert_eq!(
            clean(contender, "connections"),
            if ["h2", "h3", "ws"].contains(&contender) { 1.0 } else { 2.0 }
        );
    }
    assert!(clean("poll", "latency_p99_ms") >= 40.0, "what comes due while no poll waits is late");
    // What is lost waits until it is sent again, which takes a round trip of 220 ms at least.
    for contender in ["h1", "chunked", "h2", "h3", "ws"] {
        let lossy = |name: &str| trials.metric("lossy", contender, name);
        assert!(lossy("stalls") >= 1.0, "{contender}");
        assert!(lossy("gap_p99_ms") >= 200.0, "{contender}");
        if trials.of("clean", contender)["outcome"]["kind"] == "measured" {
            assert_eq!(clean(contender, "stalls"), 0.0, "{contender}");
        }
    }
    unsupported(&trials);
}

/// Other people's clients and servers say why they have no figures.
fn unsupported(trials: &Trials) {
    for (contender, words) in
        [("curl", "not for streams"), ("nginx", "streams are made by a program")]
    {
        let outcome = trials.of("clean", contender)["outcome"].to_string();
        assert!(outcome.contains("unsupported") && outcome.contains(words), "{outcome}");
    }
}

#[test]
fn a_server_that_sends_something_else_makes_a_failed_trial_that_names_the_rule() {
    let port = crate::echo::answers("id: 0\ndata: hello\n\n");
    let experiment: study::experiment::Experiment = EXPERIMENT.parse().unwrap();
    let root: page::Url = format!("http://origin.test:{port}/").parse().unwrap();
    let stream =
        json!({"name": 0, "count": 2, "bytes": 60, "every_ms": [5, 5], "delay_ms": 0, "seed": 1});
    let task = json!({"Stream": {"root": root, "seed": 1, "streams": [stream]}});
    let outcome = near_side::outcome(experiment.contender("h1").unwrap(), &task);
    let study::outcome::Outcome::Failed { reason } = outcome else { panic!("{outcome:?}") };
    assert!(reason.ends_with("token 0 of stream 0: its text has another form"), "{reason}");
}
