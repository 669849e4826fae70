//! HTTP/3 by other people's servers: every workload that they serve over h2, they serve over h3, with the same bytes. HAProxy has
//! no files: it asks our origin behind it, and so passes on what a file server lacks. What a server cannot do is said.

use crate::bench::{Bench, outcomes, records, trials_run_here};
use crate::http3::path_of_current_releases;
use crate::recorded::{fetched, har, is_whole};
use crate::servers::contender;
use serde_json::Value;
use std::collections::BTreeMap;

const HEAD: &str = "name = \"h3\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"origin h3\"\ntrials = 1\n\
    warmup = 0\ntimeout = \"20s\"\n[[links]]\nname = \"rtt=10ms,down=20mbit,up=20mbit\"\n";

const FILES: &str = "[[workloads]]\nkind = \"har\"\nfile = \"page.har\"\ndependencies = \"inferred\"\n\
    [[workloads]]\nkind = \"page\"\nimages = 8\nbytes = \"20kB\"\n\
    [[workloads]]\nkind = \"calls\"\npattern = \"serial\"\ncount = 3\nbytes = \"2kB\"\n";

const PROGRAMS: &str = "[[workloads]]\nkind = \"stream\"\ncount = 20\nbytes = \"100B\"\nevery = \"10ms\"\n\
    [[workloads]]\nkind = \"echo\"\npattern = \"serial\"\ncount = 5\n\
    [[workloads]]\nkind = \"calls\"\npattern = \"serial\"\ncount = 2\nbytes = \"2kB\"\nserver_time = \"5ms\"\n";

/// Records by workload and contender.
type Rows = BTreeMap<(String, String), Value>;

/// Races `workloads` by `contenders` with the current releases of the servers; None where these are not installed.
fn race(workloads: &str, contenders: &[(&str, &str, &str, &str)]) -> Option<Rows> {
    let Some(path) = path_of_current_releases() else {
        testing::skip("nginx, Caddy and HAProxy with HTTP/3 are not installed: ./peers install");
        return None;
    };
    let bench = Bench::new();
    bench.write("page.har", har());
    let mut text = HEAD.to_owned() + workloads;
    for (name, server, transport, tls) in contenders {
        text += &contender(name, server, transport, tls);
    }
    bench.write("h3.toml", text);
    let mut race = bench.wirelap(&["race", "h3.toml", "--out", "run"]);
    race.env("PATH", path);
    bench.start(race).end().raced();
    assert_eq!(bench.alive(), [], "a server is left");
    let first = outcomes(&bench.path("run"));
    let rows = records(&bench.path("run")).into_iter().filter_map(|record| {
        let plan = &record["plan"];
        let is_first = first.iter().any(|(key, ..)| plan["key"] == **key);
        let name = |of: &str| plan["cell"][of]["name"].as_str().unwrap().to_owned();
        is_first.then(|| ((name("workload"), name("contender")), record.clone()))
    });
    Some(rows.collect())
}

fn outcome(record: &Value) -> (&str, String) {
    let outcome = &record["outcome"];
    (outcome["kind"].as_str().unwrap(), outcome.to_string())
}

#[test]
fn pages_recorded_pages_and_calls_come_over_http3_from_each_server_as_from_our_origin() {
    if !trials_run_here() {
        return;
    }
    let contenders = [
        ("origin h3", "origin", "h3", "1.3"),
        ("nginx h3", "nginx", "h3", "1.3"),
        ("caddy h3", "caddy", "h3", "1.3"),
        ("haproxy h3", "haproxy", "h3", "1.3"),
        ("haproxy h2", "haproxy", "h2", "1.3"),
        ("haproxy h1-tls", "haproxy", "http/1.1", "1.2"),
        ("haproxy h1", "haproxy", "http/1.1", "none"),
    ];
    let Some(rows) = race(FILES, &contenders) else { return };
    assert_eq!(rows.len(), 3 * contenders.len());
    for ((workload, name), row) in &rows {
        let (kind, words) = outcome(row);
        assert!(is_whole(kind), "{name}, {workload}: {words}");
        let own = &rows[&(workload.clone(), "origin h3".to_owned())];
        assert_eq!(fetched(row), fetched(own), "{name}, {workload}");
        let (.., server, transport, tls) = contenders.iter().find(|one| one.0 == name).unwrap();
        let connections = row["connections"].as_array().unwrap();
        assert!(connections.iter().all(|one| one["protocol"] == *transport), "{row:#}");
        if *server == "origin" {
            continue;
        }
        let settings = &row["settings"];
        assert_eq!(
            (&settings["server"], settings["server version"] != "unknown"),
            (&(*server).into(), true)
        );
        let bodies: u64 = fetched(own).iter().map(|(.., bytes)| bytes).sum();
        let logged = |fact: &str| settings[format!("server log: {fact}")].clone();
        assert_eq!(logged("requests"), fetched(own).len().to_string(), "{name}: {settings:#}");
        assert_eq!(logged("body bytes"), bodies.to_string(), "{name}: {settings:#}");
        // A server logs no connection that carried nothing.
        let carried = connections.iter().filter(|one| one["requests"] != 0).count().to_string();
        assert_eq!(logged(&format!("connections of {transport}")), carried, "{name}: {settings:#}");
        if *tls != "none" {
            assert_eq!(
                logged(&format!("connections over TLS {tls}")),
                carried,
                "{name}: {settings:#}"
            );
        }
    }
}

#[test]
fn a_proxy_passes_on_streams_echoes_and_server_times_over_http3_and_a_file_server_says_that_it_cannot()
 {
    if !trials_run_here() {
        return;
    }
    let contenders = [
        ("origin h3", "origin", "h3", "1.3"),
        ("haproxy h3", "haproxy", "h3", "1.3"),
        ("nginx h3", "nginx", "h3", "1.3"),
    ];
    let Some(rows) = race(PROGRAMS, &contenders) else { return };
    for ((workload, name), row) in &rows {
        let (kind, words) = outcome(row);
        if name == "nginx h3" {
            assert_eq!(kind, "unsupported", "{workload}: {words}");
            assert!(words.contains("a file server has files alone"), "{words}");
            assert!(words.contains("set the contender's server to \\\"origin\\\""), "{words}");
            continue;
        }
        assert!(is_whole(kind), "{name}, {workload}: {words}");
        // Tokens and echoes were compared byte by byte; TLS and QUIC open in one round trip.
        assert!(row["connections"].as_array().unwrap().iter().all(|one| one["protocol"] == "h3"));
    }
}
