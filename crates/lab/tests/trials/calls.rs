//! Calls through the whole lab: real sockets, a real link, rows as a user finds them.

use crate::bench::{Bench, trials_run_here};

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
[[contenders]]
name = "spdy-closed"
transport = "spdy/3.1"
tls = "1.2"
settings = { server_keep_alive = false, resumption = false }
[[links]]
name = "rtt=40ms,down=10mbit,up=10mbit"
"#;

#[test]
fn calls_take_the_round_trips_that_their_connections_cost() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("calls.toml", EXPERIMENT);
    let result = bench.race_whole("calls.toml", "run", &[]);
    assert_eq!(result["failures"], serde_json::json!([]), "{result:#}");
    let median = |workload: &str, contender: &str, metric: &str| {
        let cells = result["cells"].as_array().unwrap();
        let cell = cells.iter().find(|cell| {
            cell["workload"]["pattern"] == workload && cell["contender"]["name"] == contender
        });
        cell.unwrap()["metrics"][metric]["median"].as_f64()
    };
    let serial = |contender, metric| median("serial", contender, metric).unwrap();
    // TCP and a full TLS 1.2 handshake: three round trips a connection; a resumed one has two.
    assert_eq!((serial("kept", "connections"), serial("kept", "round_trips")), (1.0, 6.0));
    assert_eq!((serial("full", "connections"), serial("full", "round_trips")), (3.0, 12.0));
    assert_eq!((serial("resumed", "connections"), serial("resumed", "round_trips")), (3.0, 10.0));
    // The server ends each connection after its answer; the client opens the next when it has something to ask.
    assert_eq!(serial("spdy-closed", "connections"), 3.0);
    assert_eq!(
        (serial("full", "resumed_connections"), serial("resumed", "resumed_connections")),
        (0.0, 2.0)
    );
    assert_eq!(
        (serial("h2-alpn", "connections:h2"), serial("resumed", "connections:http/1.1")),
        (1.0, 3.0)
    );
    // The same connection whether or not it was known beforehand that it speaks SPDY, and one less TLS in clear.
    assert_eq!((serial("spdy", "connections:spdy/3.1"), serial("spdy", "round_trips")), (1.0, 6.0));
    assert_eq!(
        (serial("spdy-clear", "connections:spdy/3.1"), serial("spdy-clear", "round_trips")),
        (1.0, 4.0)
    );
    // No call is quicker than its round trip and its server time.
    for contender in ["kept", "full", "resumed", "h2-alpn", "spdy", "spdy-clear"] {
        assert!(serial(contender, "mean_ms") >= 60.0);
        assert!(serial(contender, "total_ms") >= 3.0 * 60.0);
        assert!(median("staggered", contender, "mean_ms").unwrap() >= 70.0);
    }
    assert_eq!(median("staggered", "h2-alpn", "connections"), Some(1.0));
    assert_eq!(result["verdicts"][0]["metric"], "mean_ms");
}
