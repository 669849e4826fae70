//! The four temperatures of a contender through the whole lab: what an earlier visit saves, and what really happened.

use crate::bench::{Bench, records, trials_run_here};
use crate::six_images::{median, six_images};

/// Request round trips, and those of opening: TCP's, TLS's.
const OVER_TCP: [(&str, f64); 4] = [("cold", 4.0), ("resumed", 4.0), ("early", 3.0), ("open", 2.0)];

/// QUIC opens in one, and in none with early data.
const OVER_QUIC: [(&str, f64); 4] =
    [("cold", 3.0), ("resumed", 3.0), ("early", 2.0), ("open", 2.0)];

#[test]
fn each_temperature_is_what_really_happened() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let mut experiment = six_images("h1-cold");
    for (name, transport) in [("h1", "http/1.1"), ("h2", "h2"), ("spdy", "spdy/3.1"), ("h3", "h3")]
    {
        for (temperature, _) in OVER_TCP {
            experiment.push_str(&format!(
                "[[contenders]]\nname = \"{name}-{temperature}\"\ntransport = \"{transport}\"\ntls = \"1.3\"\n\
                 settings = {{ temperature = \"{temperature}\" }}\n"
            ));
        }
    }
    bench.write("temperatures.toml", &experiment);
    let result = bench.race_whole("temperatures.toml", "run", &[]);
    assert_eq!(result["failures"], serde_json::json!([]), "{result:#}");
    let median = |contender: &str, metric: &str| median(&result, contender, metric);
    let rows = records(&bench.path("run"));
    // Connections that carried a request.
    let used = |contender: &str| {
        let is_its = |row: &&serde_json::Value| {
            row["outcome"]["kind"] == "measured"
                && row["plan"]["cell"]["contender"]["name"] == contender
        };
        let connections = rows.iter().rfind(is_its).unwrap()["connections"].as_array().unwrap();
        connections.iter().filter(|one| one["requests"] != 0).count() as f64
    };
    for name in ["h1", "h2", "spdy", "h3"] {
        let all = if name == "h3" { OVER_QUIC } else { OVER_TCP };
        for (temperature, expected) in all {
            let contender = format!("{name}-{temperature}");
            let connections = median(&contender, "connections");
            let resumed = median(&contender, "resumed_connections");
            let early = median(&contender, "early_accepted_connections");
            let open = median(&contender, "open_connections");
            // HTTP/1.1 may begin a connection for an image that another then takes: it has nothing to send early, and its
            // handshake may never end.
            let used = used(&contender);
            assert!(used == connections || name == "h1" && used == connections - 1.0, "{used}");
            let is_resumed = (used..=connections).contains(&resumed);
            let found = match temperature {
                "cold" => early == 0.0 && open == 0.0 && resumed < connections,
                "resumed" => is_resumed && early == 0.0 && open == 0.0,
                "early" => is_resumed && early == used && open == 0.0,
                _ => open == connections && resumed < connections,
            };
            assert!(found, "{contender}: {connections} {used} {resumed} {early} {open}");
            // HTTP/1.1 opens more connections for the images, at the cost of a handshake, or serves them one by one.
            if name != "h1" {
                assert_eq!(median(&contender, "round_trips"), expected, "{contender}");
            }
        }
        let round_trips =
            |temperature: &str| median(&format!("{name}-{temperature}"), "round_trips");
        assert!(round_trips("early") < round_trips("resumed"), "{name}");
        assert!(round_trips("open") < round_trips("early") || name == "h3", "{name}");
    }
}
