//! Warm browsers: what they find of an earlier visit, as the server's log has it.

use super::{HEAD, assert_unsupported, contender, figure, has, race};
use crate::bench::Bench;
use serde_json::Value;

/// The files of the page beside its document.
const FILES: f64 = 7.0;

fn warm(transport: &str, settings: &str) -> String {
    format!("transport = \"{transport}\"\nclient = \"chromium\"\nsettings = {{ {settings} }}")
}

fn streams(row: &Value) -> Vec<&Value> {
    row["deliveries"].as_array().unwrap().iter().collect()
}

#[test]
fn a_warm_browser_finds_what_its_contender_asks_for() {
    if !has("chromium-headless-shell") {
        return;
    }
    let bench = Bench::alone();
    let contenders = [
        ("first", warm("h2", "temperature = \"open\"")),
        ("resumed", warm("h2", "temperature = \"resumed\"")),
        ("early", warm("h3", "temperature = \"early\"")),
        ("cache", warm("h2", "next_view = {}")),
        ("all", warm("h3", "next_view = {}, temperature = \"open\"")),
    ];
    let given = contenders.each_ref().map(|(name, rest)| (*name, rest.as_str()));
    let rows = race(&bench, &given, &[]);
    for (row, (name, _)) in rows.iter().zip(&contenders) {
        let is_cached = ["cache", "all"].contains(name);
        let fresh = row["metrics"].get("cache_fresh").and_then(Value::as_f64).unwrap_or(0.0);
        assert_eq!(fresh, if is_cached { FILES } else { 0.0 }, "{name}");
        // What came over the link was asked for, and the visit is no part of it.
        let asked = if is_cached { 1 } else { 1 + FILES as usize };
        assert_eq!(streams(row).len(), asked, "{name}");
        assert!(streams(row).iter().all(|stream| stream["path"] != "/visit"), "{name}");
        assert_eq!(figure(row, "connections"), 1.0, "{name}");
    }
    // Of the five only two began with a session, and no connection of the first and the last began with the work.
    assert_eq!(
        rows.iter().map(|row| figure(row, "resumed_connections")).collect::<Vec<_>>()[1..4],
        [1.0, 1.0, 0.0]
    );
}

#[test]
fn http3_is_found_by_alt_svc_and_carries_the_next_view() {
    if !has("chromium-headless-shell") {
        return;
    }
    let bench = Bench::alone();
    let found = warm("h3", "first_visit = \"alt-svc\"");
    let rows = race(&bench, &[("first", found.as_str())], &[]);
    assert!(figure(&rows[0], "next_load_ms") > figure(&rows[0], "next_first_byte_ms"));
    assert_eq!(rows[0]["fetches"][0]["protocol"], "h2");
    let next = rows[0]["settings"]["client next view spoke"].as_str().unwrap();
    assert!(next.contains("h3"), "{next}");
    assert_eq!(streams(&rows[0]).len(), 1 + FILES as usize);
}

#[test]
fn a_client_that_is_no_browser_makes_no_visit_and_says_so() {
    if !has("curl") {
        return;
    }
    for settings in ["temperature = \"open\"", "next_view = {}"] {
        let bench = Bench::alone();
        let rest = format!("transport = \"h2\"\nclient = \"curl\"\nsettings = {{ {settings} }}");
        let page = "[[workloads]]\nkind = \"page\"\nimages = 1\nbytes = 300\n";
        bench.write("browsers.toml", format!("{HEAD}{page}{}", contender("first", &rest)));
        assert_unsupported(&bench, "curl makes no visit before its work");
    }
}

#[test]
fn firefox_sends_no_early_data_and_keeps_no_cache_over_http3() {
    if !has("firefox-esr") {
        return;
    }
    for (settings, reason) in
        [("temperature = \"early\"", "full handshake"), ("next_view = {}", "a cached file")]
    {
        let bench = Bench::alone();
        let rest = format!("transport = \"h3\"\nclient = \"firefox\"\nsettings = {{ {settings} }}");
        let page = "[[workloads]]\nkind = \"page\"\nimages = 1\nbytes = 300\n";
        bench.write("browsers.toml", format!("{HEAD}{page}{}", contender("first", &rest)));
        assert_unsupported(&bench, reason);
    }
}
