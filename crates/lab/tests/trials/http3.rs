//! HTTP/3 between other people's clients and servers: carried, seen on the link and vouched for where a curl is at
//! hand that has it, and unsupported with the way out where none is, or where an end is wirelap's own.
use crate::bench::{Bench, outcomes, records, trials_run_here};
use serde_json::Value;
use std::process::Command;

const RACE: &str = "name = \"http3\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"h3\"\ntrials = 1\nwarmup = 0\n\
    timeout = \"20s\"\n[[links]]\nname = \"rtt=10ms,down=20mbit,up=20mbit\"\n[[links]]\nname = \"none\"\n\
    [[workloads]]\nkind = \"download\"\nfiles = \"200kB\"\n\
    [[contenders]]\nname = \"h3\"\ntransport = \"h3\"\nclient = \"curl\"\nserver = \"caddy\"\n\
    [[contenders]]\nname = \"own-server\"\ntransport = \"h3\"\nclient = \"curl\"\n\
    [[contenders]]\nname = \"own-client\"\ntransport = \"h3\"\nserver = \"caddy\"\n";

/// What the program says of itself; None where it is not there.
fn told(program: &str, argument: &str) -> Option<String> {
    let output = Command::new(program).arg(argument).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn http3_is_carried_and_vouched_for_where_both_ends_have_it() {
    if !trials_run_here() {
        return;
    }
    let Some(curl) = told("curl", "--version") else {
        return testing::skip("curl is not installed: ./peers install");
    };
    if told("caddy", "version").is_none() {
        return testing::skip("caddy is not installed: ./peers install");
    }
    let bench = Bench::new();
    bench.write("http3.toml", RACE);
    bench.run(&["race", "http3.toml", "--out", "out"]).raced();
    let of = |contender: &str| {
        let rows = outcomes(&bench.path("out")).into_iter();
        let mark = format!("/{contender}/");
        let rows: Vec<_> = rows.filter(|(key, ..)| key.contains(&mark)).collect();
        assert!(!rows.is_empty(), "{contender}");
        rows
    };
    for (contender, words) in
        [("own-server", "own server does not speak h3"), ("own-client", "not declared to speak h3")]
    {
        for (key, outcome, reason) in of(contender) {
            assert_eq!(outcome, "unsupported", "{key}");
            assert!(reason.unwrap_or_default().contains(words), "{key}");
        }
    }
    if !curl.contains(" HTTP3") {
        for (key, outcome, reason) in of("h3") {
            assert_eq!(outcome, "unsupported", "{key}");
            assert!(reason.unwrap_or_default().contains("is built without HTTP/3"), "{key}");
        }
        return testing::skip("this curl has no HTTP/3");
    }
    // A busy machine may spoil a trial; it never makes one fail.
    for (key, outcome, reason) in of("h3") {
        assert!(["measured", "invalid"].contains(&outcome.as_str()), "{key}: {reason:?}");
    }
    let of_h3 = |record: &Value| record["plan"]["cell"]["contender"]["name"] == "h3";
    for record in records(&bench.path("out")).into_iter().filter(of_h3) {
        assert_eq!(record["packets"]["quic_connections"], 1, "{record}");
        let graded = |claim: &str| {
            let evidence = record["evidence"].as_array().unwrap();
            let found = evidence.iter().find(|one| one["claim"] == claim).unwrap();
            (
                found["value"].as_str().unwrap().to_owned(),
                found["grade"].as_str().unwrap().to_owned(),
            )
        };
        assert_eq!(graded("protocol"), ("h3".to_owned(), "server_log".to_owned()));
        assert_eq!(graded("tls"), ("TLSv1.3".to_owned(), "key_log".to_owned()));
        assert_eq!(graded("connections"), ("1".to_owned(), "wire".to_owned()));
        assert_eq!(graded("bytes"), ("200000".to_owned(), "wire".to_owned()));
    }
}
