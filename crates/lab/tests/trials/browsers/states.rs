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

/// Payload towards the client, by the link's log. TCP's is counted once however often it was sent.
fn payload(row: &Value) -> f64 {
    row["packets"]["down"]["payload"].as_f64().unwrap()
}

/// Connections that began, by the link's log.
fn begun(row: &Value) -> u64 {
    row["packets"]["connections"].as_u64().unwrap()
}

/// What came from the cache.
fn cached(row: &Value) -> f64 {
    row["metrics"].get("cache_fresh").and_then(Value::as_f64).unwrap_or(0.0)
}

/// The pieces of each body are all of it, one after another.
fn prove_pieces(row: &Value) {
    for stream in streams(row) {
        let pieces = stream["pieces"].as_array().unwrap();
        let number = |of: &Value, name: &str| of[name].as_u64().unwrap();
        let times = pieces.iter().flat_map(|one| [number(one, "from"), number(one, "until")]);
        let whole = [number(stream, "first_byte")].into_iter().chain(times);
        let whole: Vec<u64> = whole.chain([number(stream, "ended")]).collect();
        assert!(whole.is_sorted(), "{stream:#}");
        let sent: u64 = pieces.iter().map(|one| number(one, "bytes")).sum();
        assert!(sent >= number(stream, "bytes"), "{stream:#}");
    }
}

/// Over TCP, where each of the link's bytes is counted once: a cold browser, and what each state spares it.
fn prove_states(rows: &[Value]) {
    let [cold, open, resumed, cache] = rows else { panic!("{} rows", rows.len()) };
    for row in [cold, open, resumed] {
        assert_eq!((cached(row), streams(row).len() as f64), (0.0, 1.0 + FILES));
    }
    assert_eq!((cached(cache), streams(cache).len()), (FILES, 1));
    prove_pieces(cold);
    for row in rows {
        assert!(streams(row).iter().all(|stream| stream["path"] != "/visit"));
        assert_eq!(figure(row, "connections"), 1.0);
        assert!(begun(row) >= 1);
    }
    // The visit and the work had the one connection.
    assert_eq!(begun(open), 1);
    let with_session = rows.iter().map(|row| figure(row, "resumed_connections"));
    assert_eq!(with_session.collect::<Vec<_>>()[1..], [0.0, 1.0, 0.0]);
    // A resumed handshake has no certificate, of 300 bytes at least.
    assert!(payload(resumed) + 300.0 < payload(cold), "{} {}", payload(resumed), payload(cold));
    assert!(payload(cache) < payload(cold) / 5.0, "{} {}", payload(cache), payload(cold));
}

#[test]
fn a_warm_chromium_finds_what_its_contender_asks_for() {
    if !has("chromium-headless-shell") {
        return;
    }
    let bench = Bench::alone();
    let contenders = [
        ("first", warm("h2", "")),
        ("open", warm("h2", "temperature = \"open\"")),
        ("resumed", warm("h2", "temperature = \"resumed\"")),
        ("cache", warm("h2", "next_view = {}")),
    ];
    prove_states(&race(
        &bench,
        &contenders.each_ref().map(|(name, rest)| (*name, rest.as_str())),
        &[],
    ));
}

#[test]
fn a_warm_firefox_finds_what_its_contender_asks_for() {
    if !has("firefox-esr") || !has("certutil") {
        return;
    }
    let bench = Bench::alone();
    let firefox = |settings: &str| warm("h2", settings).replace("chromium", "firefox");
    let contenders = [
        ("first", firefox("")),
        ("open", firefox("temperature = \"open\"")),
        ("resumed", firefox("temperature = \"resumed\"")),
        ("cache", firefox("next_view = {}")),
    ];
    let given = contenders.each_ref().map(|(name, rest)| (*name, rest.as_str()));
    prove_states(&super::firefox::race(&bench, &given));
}

#[test]
fn chromium_is_warm_over_http3_too() {
    if !has("chromium-headless-shell") {
        return;
    }
    let bench = Bench::alone();
    let contenders = [
        ("first", warm("h3", "")),
        ("early", warm("h3", "temperature = \"early\"")),
        ("all", warm("h3", "next_view = {}, temperature = \"open\"")),
    ];
    let given = contenders.each_ref().map(|(name, rest)| (*name, rest.as_str()));
    let rows = race(&bench, &given, &[]);
    // Without early data the trial of that name would be invalid.
    let with_session = rows.iter().map(|row| figure(row, "resumed_connections"));
    assert_eq!(with_session.collect::<Vec<_>>()[..2], [0.0, 1.0]);
    assert_eq!(rows.iter().map(cached).collect::<Vec<_>>(), [0.0, 0.0, FILES]);
    assert_eq!(streams(&rows[2]).len(), 1);
    assert_eq!(begun(&rows[2]), 1, "the next view has the connection of the first");
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
        let bench = Bench::new();
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
        let bench = Bench::new();
        let rest = format!("transport = \"h3\"\nclient = \"firefox\"\nsettings = {{ {settings} }}");
        let page = "[[workloads]]\nkind = \"page\"\nimages = 1\nbytes = 300\n";
        bench.write("browsers.toml", format!("{HEAD}{page}{}", contender("first", &rest)));
        assert_unsupported(&bench, reason);
    }
}
