//! Messages and their echoes through the whole lab: real sockets, a real link, rows as a user finds them.

use crate::bench::{Bench, records, trials_run_here};
use crate::near_side;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpListener;

/// Serial messages of the first workload.
const COUNT: u64 = 20;

const EXPERIMENT: &str = r#"name = "echo"
title = "messages one after another, and all at once"
question = "What does it cost that a frame leaves in two writes?"
baseline = "ws"
trials = 1
warmup = 0
[[workloads]]
kind = "echo"
pattern = "serial"
count = 20
[[workloads]]
kind = "echo"
pattern = "parallel"
count = 30
bytes = "1kB"
[[contenders]]
name = "ws"
transport = "ws"
[[contenders]]
name = "two-writes"
transport = "ws"
settings = { server_writes = 2 }
[[contenders]]
name = "nagle"
transport = "ws"
settings = { server_nodelay = false, server_writes = 2 }
[[contenders]]
name = "nagle-quickack"
transport = "ws"
settings = { server_nodelay = false, server_writes = 2, client_quickack = true }
[[contenders]]
name = "client-nagle"
transport = "ws"
settings = { client_nodelay = false, client_writes = 2 }
[[contenders]]
name = "deflate"
transport = "ws"
settings = { client_deflate = true, server_deflate = true }
[[contenders]]
name = "wss"
transport = "ws"
tls = "1.2"
[[contenders]]
name = "ws-h2"
transport = "ws-h2"
[[contenders]]
name = "ws-h3"
transport = "ws-h3"
settings = { terms = "as-shipped" }
[[contenders]]
name = "http"
transport = "http/1.1"
[[contenders]]
name = "https"
transport = "http/1.1"
tls = "1.3"
[[contenders]]
name = "h2"
transport = "h2"
[[contenders]]
name = "h3"
transport = "h3"
settings = { terms = "as-shipped" }
[[contenders]]
name = "spdy"
transport = "spdy/3.1"
tls = "1.2"
[[links]]
name = "rtt=20ms,down=10mbit,up=10mbit"
"#;

/// The last measured trial of each contender, and the result.
fn run(bench: &Bench) -> (Trials, Value) {
    bench.write("echo.toml", EXPERIMENT);
    let result = bench.race_whole("echo.toml", "run", &[]);
    let store = rusqlite::Connection::open(bench.path("run/rows.sqlite")).unwrap();
    let mut query =
        store.prepare("SELECT record FROM trials WHERE outcome = 'measured' ORDER BY key").unwrap();
    let record = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
    let records = query.query_map([], record).unwrap().map(|text| {
        let record: Value = serde_json::from_str(&text.unwrap()).unwrap();
        let cell = &record["plan"]["cell"];
        let name = |value: &Value| value.as_str().unwrap().to_owned();
        let key = (name(&cell["workload"]["pattern"]), name(&cell["contender"]["name"]));
        (key, record)
    });
    (Trials(records.collect()), result)
}

/// Records by the workload's pattern and the contender.
struct Trials(BTreeMap<(String, String), Value>);

impl Trials {
    fn of(&self, pattern: &str, contender: &str) -> &Value {
        &self.0[&(pattern.to_owned(), contender.to_owned())]
    }

    fn metric(&self, pattern: &str, contender: &str, name: &str) -> f64 {
        self.of(pattern, contender)["metrics"][name].as_f64().unwrap()
    }

    /// Packets of the serial messages, one way.
    fn packets(&self, contender: &str, way: &str) -> u64 {
        self.of("serial", contender)["packets"][way]["packets"].as_u64().unwrap()
    }
}

#[test]
fn echoes_take_their_round_trips_and_two_writes_are_two_packets_that_nagle_parts_by_an_acknowledgement()
 {
    if !trials_run_here() {
        return;
    }
    let (trials, result) = run(&Bench::new());
    // Every answer was looked at: a wrong one would stand here.
    assert_eq!(result["failures"], json!([]), "{result:#}");
    assert_eq!(result["verdicts"][0]["metric"], "total_ms");
    round_trips(&trials);
    packets(&trials);
    settings(&trials);
}

fn round_trips(trials: &Trials) {
    let serial = |contender: &str, metric: &str| trials.metric("serial", contender, metric);
    let rounds = COUNT as f64;
    // TCP, then for ws its own handshake: a TLS 1.2 handshake has two more. Extended CONNECT waits for
    // the server's SETTINGS, which is part of its own wait.
    for (contender, opening, protocol) in [
        ("http", 1.0, "http/1.1"),
        ("ws", 2.0, "ws"),
        ("deflate", 2.0, "ws"),
        ("wss", 4.0, "ws"),
        ("ws-h2", 3.0, "ws-h2"),
        ("ws-h3", 2.0, "ws-h3"),
        ("https", 2.0, "http/1.1"),
        ("h2", 2.0, "h2"),
        ("h3", 1.0, "h3"),
        ("spdy", 3.0, "spdy/3.1"),
    ] {
        assert_eq!(serial(contender, "round_trips"), opening + rounds, "{contender}");
        assert_eq!(serial(contender, &format!("connections:{protocol}")), 1.0, "{contender}");
        assert!(serial(contender, "open_ms") >= 20.0 * opening, "{contender}");
        assert!(serial(contender, "total_ms") >= 20.0 * (opening + rounds), "{contender}");
        assert!(serial(contender, "mean_ms") >= 20.0, "{contender}");
    }
    // Thirty requests over six connections, or thirty messages over one.
    assert_eq!(trials.metric("parallel", "http", "connections"), 6.0);
    assert_eq!(trials.metric("parallel", "ws", "connections"), 1.0);
    for ((_, contender), trial) in &trials.0 {
        let parts = trial["parts"].as_object().unwrap().values();
        let sum: u64 = parts.map(|part| part.as_u64().unwrap()).sum();
        let load = trial["metrics"]["load_ms"].as_f64().unwrap();
        assert!((sum as f64 / 1e6 - load).abs() < 1e-3, "{contender}: {sum} of {load}");
    }
}

/// The link's log tells, whatever the machine's clock did.
fn packets(trials: &Trials) {
    // One packet a message each way: acknowledgements travel with the next message.
    for way in ["up", "down"] {
        let count = trials.packets("ws", way);
        assert!((COUNT..COUNT + 15).contains(&count), "{way}: {count}");
    }
    // Header and payload are a packet each.
    for (contender, way) in [("two-writes", "down"), ("nagle", "down"), ("client-nagle", "up")] {
        let count = trials.packets(contender, way);
        assert!(count >= 2 * COUNT, "{contender}, {way}: {count}");
    }
    // Nagle's payload waits for an acknowledgement that carries nothing: a packet more than messages and answers need.
    for (contender, way) in [("nagle", "up"), ("nagle-quickack", "up"), ("client-nagle", "down")] {
        let count = trials.packets(contender, way);
        assert!(count >= 2 * COUNT, "{contender}, {way}: {count}");
    }
    // The log times what was held back. A busy machine hands acknowledgements over too late for all of it to be known, so
    // the bound is far below the 60 ms a message that a link of 20 ms and a delay of 40 ms make.
    let held = |contender: &str| {
        trials.of("serial", contender)["parts"]["held_ns"].as_u64().unwrap() as f64
            / (1e6 * COUNT as f64)
    };
    assert!(held("ws") < 1.0 && held("two-writes") < 1.0);
    for contender in ["nagle", "client-nagle"] {
        assert!(held(contender) >= 5.0, "{contender}: {}", held(contender));
    }
    // A thousand letters of six bits each are a quarter less when compressed.
    let bytes = |contender| trials.metric("parallel", contender, "bytes");
    assert!(bytes("deflate") < 0.9 * bytes("ws"));
}

fn settings(trials: &Trials) {
    let nodelay = |contender, side: &str| {
        trials.of("serial", contender)["settings"][format!("{side} socket nodelay")].clone()
    };
    for (contender, near, far) in
        [("ws", "true", "true"), ("nagle", "true", "false"), ("client-nagle", "false", "true")]
    {
        assert_eq!(
            (nodelay(contender, "near"), nodelay(contender, "far")),
            (near.into(), far.into())
        );
    }
    // QUIC's are read back at both ends, for a WebSocket as for requests.
    for end in ["near", "far"] {
        for contender in ["ws-h3", "h3"] {
            let said = &trials.of("serial", contender)["settings"];
            assert_eq!(said[format!("{end} quic congestion control")], "cubic", "{contender}");
            assert!(said[format!("{end} quic largest batch")].is_string(), "{contender}: {said}");
        }
    }
}

/// Answers each request on its connections with `body`.
pub(crate) fn answers(body: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut seen = Vec::new();
            let mut byte = [0];
            while stream.read(&mut byte).is_ok_and(|count| count == 1) {
                seen.push(byte[0]);
                if seen.ends_with(b"\r\n\r\n") {
                    seen.clear();
                    let length = body.len();
                    write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}")
                        .unwrap();
                }
            }
        }
    });
    port
}

#[test]
fn a_server_that_answers_the_same_to_every_message_makes_a_failed_trial_that_names_the_rule() {
    let port = answers("4");
    let experiment: study::experiment::Experiment = EXPERIMENT.parse().unwrap();
    let url = |path: &str| {
        let url = format!("http://origin.test:{port}{path}");
        serde_json::to_value(url.parse::<page::Url>().unwrap()).unwrap()
    };
    let message = |text: &str, answer: &str| {
        json!({"text": text, "answer": answer, "posted": false,
            "url": url(&format!("/double?number={text}"))})
    };
    let task = json!({"Echo": {"pattern": "serial", "socket": url("/ws/double"), "seed": 1,
        "messages": [message("2", "4"), message("3", "6")]}});
    let outcome = near_side::outcome(experiment.contender("http").unwrap(), &task);
    let study::outcome::Outcome::Failed { reason } = outcome else { panic!("{outcome:?}") };
    assert!(reason.starts_with("1 of 2 fetches failed"), "{reason}");
    assert!(
        reason.ends_with("an answer is its message's echo: `4` came back where `6` belongs"),
        "{reason}"
    );
}

/// Four page views of three messages each, by these contenders: name, transport, TLS and server.
fn over_page_views(baseline: &str, contenders: &[(&str, &str, &str, &str)]) -> String {
    let mut text = format!(
        "name = \"others\"\ntitle = \"messages over page views\"\nquestion = \"q\"\nbaseline = \"{baseline}\"\ntrials = 1\n\
         warmup = 0\n[[workloads]]\nkind = \"echo\"\npattern = \"serial\"\ncount = 12\nviews = 4\n\
         [[links]]\nname = \"rtt=10ms,down=10mbit,up=10mbit\"\n"
    );
    for (name, transport, tls, server) in contenders {
        text.push_str(&format!(
            "[[contenders]]\nname = \"{name}\"\ntransport = \"{transport}\"\ntls = \"{tls}\"\nserver = \"{server}\"\n"
        ));
    }
    text
}

#[test]
fn each_page_view_opens_its_websocket_anew_with_other_peoples_servers_too() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let contenders = [
        ("ws", "ws", "none", "origin"),
        ("http", "http/1.1", "none", "origin"),
        ("ws-node", "ws", "none", "node-ws"),
        ("wss-node", "ws", "1.2", "node-ws"),
        ("http-node", "http/1.1", "none", "node-ws"),
        ("ws-python", "ws", "none", "python-websockets"),
        ("files", "http/1.1", "none", "nginx"),
    ];
    bench.write("others.toml", over_page_views("ws", &contenders));
    bench.race_undisturbed("others.toml", "run", &[]);
    opened_for_each_view(&bench);
}

#[test]
fn jetty_answers_messages_in_the_clear_over_tls_and_as_requests() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let contenders = [
        ("ws-jetty", "ws", "none", "jetty-12-server"),
        ("wss-jetty", "ws", "1.3", "jetty-12-server"),
        ("http-jetty", "http/1.1", "none", "jetty-12-server"),
    ];
    bench.write("others.toml", over_page_views("ws-jetty", &contenders));
    // One at a time: the start of its JVM would disturb those beside it.
    bench.race_undisturbed("others.toml", "run", &["--serial"]);
    opened_for_each_view(&bench);
}

/// Each WebSocket's page view opened its own; requests went over the connection that was there. Each message was counted once.
fn opened_for_each_view(bench: &Bench) {
    for row in records(&bench.path("run")) {
        let name = row["plan"]["cell"]["contender"]["name"].as_str().unwrap();
        let reason = row["outcome"]["reason"].as_str().unwrap_or_default().to_owned();
        if name == "files" {
            assert!(reason.contains("echoes are answered by a program"), "{row:#}");
            continue;
        }
        if row["outcome"]["kind"] == "unsupported" {
            assert_eq!(row["outcome"]["remedy"], "./peers install", "{row:#}");
            testing::skip(format!("{name}: {reason}"));
            continue;
        }
        assert_eq!(row["outcome"]["kind"], "measured", "{row:#}");
        // Requests go on over the connection that is there.
        let connections = if name.starts_with("http") { 1.0 } else { 4.0 };
        assert_eq!(row["metrics"]["connections"], connections, "{row:#}");
        let fetches = row["fetches"].as_array().unwrap();
        let openings = if name.starts_with("http") { 0 } else { 4 };
        assert_eq!(fetches.len(), 12 + openings, "{row:#}");
        let ids: BTreeSet<u64> = fetches.iter().map(|one| one["id"].as_u64().unwrap()).collect();
        assert_eq!(ids.len(), fetches.len(), "each is counted once: {row:#}");
    }
}
