//! Recorded pages by our own origin and by other people's servers: the same bytes, statuses and server times from each.

use crate::bench::{Bench, outcomes, record_of, trials_run_here};
use crate::servers::contender;
use serde_json::Value;
use std::fmt::Write;

pub(crate) const HEAD: &str = "name = \"recorded\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"origin h1\"\ntrials = 1\n\
    warmup = 0\ntimeout = \"20s\"\n[[workloads]]\nkind = \"har\"\nfile = \"page.har\"\ndependencies = \"inferred\"\n\
    [[links]]\nname = \"rtt=10ms,down=20mbit,up=20mbit\"\n";

/// Of an entry: its URL, method, status, type, bytes, wait in ms, and when it began.
struct Asked(&'static str, &'static str, u16, &'static str, u64, u64, u64);

/// Three hosts: answers that are files, that took their time, that need their query, that have no body.
const PAGE: &[Asked] = &[
    Asked("https://shop.test/", "GET", 200, "text/html", 9_000, 60, 0),
    Asked("https://cdn.test/app.js", "GET", 200, "text/javascript", 20_000, 0, 100),
    Asked("https://cdn.test/logo.png", "GET", 200, "image/png", 3_000, 0, 100),
    Asked("https://cdn.test/img?w=1", "GET", 200, "image/png", 4_000, 0, 110),
    Asked("https://cdn.test/img?w=2", "GET", 200, "image/png", 5_000, 0, 110),
    Asked("https://cdn.test/%7Ea%20b/[x]", "GET", 200, "image/png", 700, 0, 110),
    Asked("https://cdn.test/seen.css", "GET", 304, "text/css", 0, 0, 110),
    Asked("https://api.test/cart", "POST", 200, "application/json", 800, 40, 120),
    Asked("https://api.test/big.zip", "HEAD", 200, "application/zip", 30_000_000, 0, 120),
    Asked("https://api.test/poll", "GET", 200, "application/json", 10, 0, 42_000),
];

/// The file of [`PAGE`], as Playwright writes it: -1 for what it does not know.
pub(crate) fn har() -> String {
    let mut entries = String::new();
    for Asked(url, method, status, mime, bytes, wait, start) in PAGE {
        let length = match *method {
            "HEAD" => format!(r#"[{{"name":"content-length","value":"{bytes}"}}]"#),
            _ => "[]".to_owned(),
        };
        let size = if *method == "HEAD" { -1 } else { *bytes as i64 };
        let comma = if entries.is_empty() { "" } else { "," };
        write!(
            entries,
            r#"{comma}{{"startedDateTime":"2026-01-01T00:00:{:02}.{:03}Z","time":{},"request":{{"method":"{method}","url":"{url}"}},
"response":{{"status":{status},"headers":{length},"content":{{"mimeType":"{mime}"}},"bodySize":{size}}},
"timings":{{"wait":{wait},"receive":5}}}}"#,
            start / 1000,
            start % 1000,
            wait + 5
        )
        .unwrap();
    }
    format!(
        r#"{{"log":{{"pages":[{{"id":"p","startedDateTime":"2026-01-01T00:00:00.000Z","pageTimings":{{"onLoad":1400}}}}],"entries":[{entries}]}}}}"#
    )
}

/// What was fetched: URL without scheme, status and bytes.
pub(crate) fn fetched(record: &Value) -> Vec<(String, u64, u64)> {
    let one = |fetch: &Value| {
        let url = fetch["url"].as_str().unwrap().split_once("://").unwrap().1.to_owned();
        (url, fetch["status"].as_u64().unwrap(), fetch["body_bytes"].as_u64().unwrap())
    };
    let mut fetched: Vec<_> = record["fetches"].as_array().unwrap().iter().map(one).collect();
    fetched.sort();
    fetched
}

/// Races [`PAGE`] by `contenders`, each a name, a server, a transport and a TLS version.
fn race(contenders: &[(String, &str, &str, &str)]) -> Bench {
    let bench = Bench::new();
    bench.write("page.har", har());
    let mut text = HEAD.to_owned();
    for (name, server, transport, tls) in contenders {
        text += &contender(name, server, transport, tls);
    }
    bench.write("recorded.toml", text);
    bench.run(&["race", "recorded.toml", "--out", "run"]).raced();
    bench
}

/// Whether the page was fetched as it should be. What its times are worth on a busy machine is not asked here.
pub(crate) fn is_whole(outcome: &str) -> bool {
    matches!(outcome, "measured" | "invalid")
}

#[test]
fn a_head_stays_a_head_and_a_304_a_304_over_every_transport() {
    if !trials_run_here() {
        return;
    }
    let contenders = [("h1", "http/1.1", "none"), ("h2", "h2", "1.3"), ("spdy", "spdy/3.1", "1.3")]
        .map(|(name, transport, tls)| (format!("origin {name}"), "origin", transport, tls));
    let bench = race(&contenders);
    for (key, outcome, reason) in outcomes(&bench.path("run")) {
        assert!(is_whole(&outcome), "{key}: {outcome}: {reason:?}");
    }
    let own = |path: &str, status, bytes| (path.to_owned(), status, bytes);
    let expected = [
        own("api.test/big.zip", 200, 0),
        own("api.test/cart", 200, 800),
        own("cdn.test/%7Ea%20b/[x]", 200, 700),
        own("cdn.test/app.js", 200, 20_000),
        own("cdn.test/img?w=1", 200, 4_000),
        own("cdn.test/img?w=2", 200, 5_000),
        own("cdn.test/logo.png", 200, 3_000),
        own("cdn.test/seen.css", 304, 0),
        own("shop.test/", 200, 9_000),
    ];
    for (name, ..) in &contenders {
        let row = record_of(&bench.path("run"), name);
        assert_eq!(fetched(&row), expected, "{name}");
        // The recorded load took 1.4 s, and a poll came 42 s after it began.
        let took = row["duration_ms"].as_f64().unwrap();
        assert!(took < 10_000.0, "{name}: {took} ms");
    }
    let told = bench.run(&["race", "recorded.toml", "--dry-run"]).out;
    for words in [
        "The recorded load took 1.40 s, up to onLoad.",
        "1 request began after onLoad, and is left out.",
        "1 request is a HEAD, and is answered with the recorded Content-Length.",
        "1 request is answered 304, as on a visit with the file in the cache.",
        "it names 3 hosts.",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    // The name stands before the first sentence alone.
    assert_eq!(told.matches("page.har: ").count(), 1, "{told}");
}

#[test]
fn other_people_s_servers_give_the_recorded_page_that_the_origin_gives() {
    if !trials_run_here() {
        return;
    }
    let ways = [("h1", "http/1.1", "none"), ("h1-tls", "http/1.1", "1.3"), ("h2", "h2", "1.3")];
    let mut contenders = vec![("origin h1".to_owned(), "origin", "http/1.1", "none")];
    for server in ["nginx", "h2o", "caddy"] {
        let of = |(way, transport, tls)| (format!("{server} {way}"), server, transport, tls);
        contenders.extend(ways.map(of));
    }
    contenders.push(("apache h2".to_owned(), "apache", "h2", "1.3"));
    let bench = race(&contenders);
    let rows = outcomes(&bench.path("run"));
    let own = fetched(&record_of(&bench.path("run"), "origin h1"));
    assert_eq!(own.len(), 9);
    for (name, server, transport, _) in &contenders {
        let (_, outcome, reason) =
            rows.iter().find(|(key, ..)| key.contains(&format!("/{name}/"))).unwrap();
        let reason = reason.clone().unwrap_or_default();
        if *server == "apache" {
            assert_eq!(outcome, "unsupported", "{reason}");
            assert!(reason.contains("no `[[each]]` of hosts"), "{reason}");
            continue;
        }
        if outcome == "unsupported" {
            testing::skip(format!("{name}: {reason}"));
            continue;
        }
        assert!(is_whole(outcome), "{name}: {outcome}: {reason}");
        let row = record_of(&bench.path("run"), name);
        assert_eq!(fetched(&row), own, "{name}");
        // The document's server time passes through their proxy.
        let fetches = row["fetches"].as_array().unwrap();
        let document = fetches.iter().find(|fetch| fetch["id"] == 0).unwrap();
        let at = |phase: &str| document["phases"][phase].as_f64().unwrap();
        let waited = at("first_byte") - at("sent");
        assert!(waited >= 60e6, "{name}: {waited} ns");
        if *server == "origin" {
            continue;
        }
        let settings = &row["settings"];
        assert_eq!(settings["server"], *server, "{name}");
        assert_eq!(settings["server log: requests"], "9", "{name}: {settings:#}");
        let bodies: u64 = own.iter().map(|(.., bytes)| bytes).sum();
        assert_eq!(settings["server log: body bytes"], bodies.to_string(), "{name}");
        let spoken = format!("server log: connections of {transport}");
        // A server logs no connection that carried nothing.
        let carried = row["connections"].as_array().unwrap().iter();
        let carried = carried.filter(|connection| connection["requests"] != 0).count();
        assert_eq!(settings[spoken], carried.to_string(), "{name}: {settings:#}");
    }
    assert_eq!(bench.alive(), [], "a server is left");
}

#[test]
fn hosts_that_shared_a_connection_in_the_recording_share_one_again_where_that_is_asked_for() {
    if !trials_run_here() {
        return;
    }
    let entry = |host: &str, start: u64| {
        format!(
            r#"{{"startedDateTime":"2026-01-01T00:00:00.{start:03}Z","time":20,"connection":"7",
"request":{{"method":"GET","url":"https://{host}/"}},
"response":{{"status":200,"httpVersion":"h2","bodySize":900,"content":{{"mimeType":"text/html"}}}},
"timings":{{"wait":15,"receive":5}}}}"#
        )
    };
    let entries = [entry("shop.test", 0), entry("cdn.test", 30), entry("img.test", 40)].join(",");
    let bench = Bench::new();
    bench.write(
        "page.har",
        format!(
            r#"{{"log":{{"pages":[{{"id":"p","startedDateTime":"2026-01-01T00:00:00.000Z","pageTimings":{{"onLoad":200}}}}],"entries":[{entries}]}}}}"#
        ),
    );
    for (hosts, expected) in [("recorded", 1.0), ("apart", 3.0)] {
        let head = HEAD.replace("[[links]]", &format!("hosts = \"{hosts}\"\n[[links]]"));
        let contenders = [("origin h1", "http/1.1"), ("h2", "h2"), ("h3", "h3")]
            .map(|(name, transport)| contender(name, "origin", transport, "1.3"));
        bench.write("recorded.toml", head + &contenders.concat());
        bench.run(&["race", "recorded.toml", "--out", hosts]).raced();
        let rows = rusqlite::Connection::open(bench.path(hosts).join("rows.sqlite")).unwrap();
        let mut all = rows.prepare("SELECT record FROM trials").unwrap();
        let texts = all.query_map([], |row| row.get::<_, String>(0)).unwrap();
        for text in texts {
            let row: Value = serde_json::from_str(&text.unwrap()).unwrap();
            let name = row["plan"]["cell"]["contender"]["name"].as_str().unwrap();
            assert_eq!(fetched(&row).len(), 3, "{hosts}, {name}: {}", row["outcome"]);
            // HTTP/1.1 never shares.
            let expected = if name == "origin h1" { 3.0 } else { expected };
            assert_eq!(row["metrics"]["connections"], expected, "{hosts}, {name}");
        }
    }
}
