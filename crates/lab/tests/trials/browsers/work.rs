//! Calls and messages from a page.

use super::{HEAD, contender, figure, firefox, has, race_unhurried, record};
use crate::bench::{Bench, outcomes};
use serde_json::Value;

/// Races a browser over these transports, each with its TLS, and gives each one's record.
fn race(
    bench: &Bench,
    browser: &str,
    workload: &str,
    contenders: &[(&str, &str, &str)],
) -> Vec<Value> {
    let head = if browser == "firefox" { firefox::head() } else { HEAD.to_owned() };
    let mut text = format!("{head}[[workloads]]\n{workload}\n");
    for (name, transport, tls) in contenders {
        let rest = format!("transport = \"{transport}\"\ntls = \"{tls}\"\nclient = \"{browser}\"");
        text += &contender(name, &rest);
    }
    bench.write("browsers.toml", text);
    race_unhurried(bench, &[]);
    for (key, outcome, reason) in outcomes(&bench.path("run")) {
        assert_eq!(outcome, "measured", "{key}: {reason:?}");
    }
    contenders.iter().map(|(name, ..)| record(bench, name)).collect()
}

#[test]
fn chromium_makes_calls_over_every_protocol_that_it_speaks() {
    if !has("chromium-headless-shell") {
        return;
    }
    let bench = Bench::alone();
    let calls =
        "kind = \"calls\"\npattern = \"serial\"\ncount = 4\nbytes = 2000\nserver_time = \"20ms\"";
    let contenders = [
        ("first", "http/1.1", "none"),
        ("h1-tls", "http/1.1", "1.3"),
        ("h2", "h2", "1.3"),
        ("h3", "h3", "1.3"),
    ];
    for (row, (name, transport, _)) in
        race(&bench, "chromium", calls, &contenders).iter().zip(contenders)
    {
        let fetches = row["fetches"].as_array().unwrap();
        assert_eq!(fetches.len(), 4, "{name}");
        for fetch in fetches {
            assert_eq!((&fetch["status"], &fetch["body_bytes"]), (&200.into(), &2_000.into()));
            assert_eq!(fetch["protocol"], transport, "{name}");
        }
        // Nothing had passed over the link: the first call waits for its connection.
        assert!(figure(row, "first_ms") > figure(row, "rest_ms"), "{name}");
        // Round trip and server time.
        assert!(figure(row, "rest_ms") >= 60.0, "{name}");
        let resolution = row["settings"]["client clock resolution"].as_str().unwrap();
        assert!(resolution.ends_with(" ms"), "{resolution}");
    }
}

#[test]
fn chromium_sends_messages_over_web_sockets_and_as_requests() {
    if !has("chromium-headless-shell") {
        return;
    }
    let bench = Bench::alone();
    let echo = "kind = \"echo\"\npattern = \"serial\"\ncount = 5";
    let contenders = [
        ("first", "ws", "none"),
        ("wss", "ws", "1.3"),
        ("http", "http/1.1", "none"),
        ("h2", "h2", "1.3"),
    ];
    for (row, (name, transport, _)) in
        race(&bench, "chromium", echo, &contenders).iter().zip(contenders)
    {
        let fetches = row["fetches"].as_array().unwrap();
        let is_socket = transport == "ws";
        assert_eq!(fetches.len(), 5 + usize::from(is_socket), "{name}");
        // The opening is no message, but part of the first one's time and of the whole.
        assert_eq!(row["metrics"].get("open_ms").is_some(), is_socket, "{name}");
        assert!(figure(row, "rest_ms") >= 40.0 && figure(row, "first_ms") >= 80.0, "{name}");
        let statuses: Vec<&Value> = fetches.iter().map(|fetch| &fetch["status"]).collect();
        let expected = if is_socket { Value::Null } else { 200.into() };
        assert!(statuses[1..].iter().all(|status| **status == expected), "{name}: {statuses:?}");
    }
}

#[test]
fn firefox_makes_calls_over_what_it_speaks() {
    if !has("firefox-esr") || !has("certutil") {
        return;
    }
    let calls = "kind = \"calls\"\npattern = \"serial\"\ncount = 4\nbytes = 2000";
    let bench = Bench::alone();
    let contenders = [("first", "h2", "1.3"), ("h3", "h3", "1.3")];
    for (row, (name, transport, _)) in
        race(&bench, "firefox", calls, &contenders).iter().zip(contenders)
    {
        let fetches = row["fetches"].as_array().unwrap();
        assert_eq!(fetches.len(), 4, "{name}");
        let is_whole =
            |fetch: &Value| fetch["body_bytes"] == 2_000 && fetch["protocol"] == transport;
        assert!(fetches.iter().all(is_whole), "{name}: {fetches:#?}");
        assert!(figure(row, "first_ms") > figure(row, "rest_ms"), "{name}");
    }
}

#[test]
fn firefox_sends_messages_over_a_web_socket() {
    if !has("firefox-esr") || !has("certutil") {
        return;
    }
    let echo = "kind = \"echo\"\npattern = \"serial\"\ncount = 5";
    let bench = Bench::alone();
    let row = race(&bench, "firefox", echo, &[("first", "ws", "1.3")]).remove(0);
    assert_eq!(row["fetches"].as_array().unwrap().len(), 6);
    assert!(row["metrics"].get("open_ms").is_some());
}

#[test]
fn a_page_makes_no_calls_at_fixed_times_and_no_requests_of_ones_own() {
    if !has("chromium-headless-shell") {
        return;
    }
    let own = "requests = [{ method = \"POST\", url = \"http://origin.test/echo\", body = \"a\" }]";
    for (workload, reason) in [
        (
            "pattern = \"staggered\"\nevery = \"50ms\"\ncount = 2\nbytes = 10".to_owned(),
            "too coarse",
        ),
        (format!("pattern = \"serial\"\ncount = 1\nbytes = 10\n{own}"), "makes plain GETs"),
    ] {
        let bench = Bench::new();
        let rest = "transport = \"h2\"\nclient = \"chromium\"";
        let text = format!(
            "{HEAD}[[workloads]]\nkind = \"calls\"\n{workload}\n{}",
            contender("first", rest)
        );
        bench.write("browsers.toml", text);
        super::assert_unsupported(&bench, reason);
    }
}

#[test]
fn a_browsers_own_side_cannot_be_set() {
    if !has("chromium-headless-shell") {
        return;
    }
    let bench = Bench::new();
    let rest = "transport = \"ws\"\nclient = \"chromium\"\nsettings = { client_writes = 2 }";
    let echo = "[[workloads]]\nkind = \"echo\"\npattern = \"serial\"\ncount = 1\n";
    bench.write("browsers.toml", format!("{HEAD}{echo}{}", contender("first", rest)));
    super::assert_unsupported(&bench, "in its own way");
}
