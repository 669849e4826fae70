//! Contenders that the command line asks for by name: they race in any experiment, and what they spoke can be
//! read from the rows.

use crate::bench::{Bench, HAR, experiment, outcomes, records, trials_run_here};
use rusqlite::Connection;
use serde_json::Value;
use std::collections::BTreeMap;

const ECHO: &str = "name = \"echo\"\ntitle = \"an echo\"\nquestion = \"does it run?\"\nbaseline = \"ws\"\n\
    trials = 1\nwarmup = 0\n[[workloads]]\nkind = \"echo\"\npattern = \"serial\"\ncount = 5\n\
    [[contenders]]\nname = \"ws\"\ntransport = \"ws\"\n\
    [[links]]\nname = \"rtt=20ms,down=20mbit,up=20mbit\"\n";

const LINK: &str = "rtt=20ms,down=20mbit,up=20mbit";

/// What the connections of a contender come to, by the view that users read them from.
#[derive(Debug, PartialEq)]
struct Seen {
    protocols: String,
    requests: i64,
    sent: i64,
    received: i64,
    heads_sent: [i64; 2],
    heads_received: [i64; 2],
    bodies: i64,
}

fn seen(rows: &Connection, contender: &str) -> Seen {
    let query = "SELECT group_concat(DISTINCT protocol), sum(requests), sum(bytes_sent), sum(bytes_received),
        sum(header_bytes_sent_plain), sum(header_bytes_sent),
        sum(header_bytes_received_plain), sum(header_bytes_received),
        (SELECT sum(body_bytes) FROM fetches WHERE contender = ?1)
      FROM connections WHERE contender = ?1";
    rows.query_row(query, [contender], |row| {
        Ok(Seen {
            protocols: row.get(0)?,
            requests: row.get(1)?,
            sent: row.get(2)?,
            received: row.get(3)?,
            heads_sent: [row.get(4)?, row.get(5)?],
            heads_received: [row.get(6)?, row.get(7)?],
            bodies: row.get(8)?,
        })
    })
    .unwrap()
}

fn metric(rows: &Connection, contender: &str, name: &str) -> f64 {
    let query = "SELECT value FROM metrics WHERE contender = ?1 AND metric = ?2";
    rows.query_row(query, [contender, name], |row| row.get(0)).unwrap()
}

/// How many trials there were, each of them measured.
fn ran(bench: &Bench) -> usize {
    let outcomes = outcomes(&bench.path("run"));
    for (key, outcome, reason) in &outcomes {
        assert_eq!(outcome, "measured", "{key}: {reason:?}");
    }
    outcomes.len()
}

#[test]
fn known_contenders_race_and_their_rows_tell_what_was_spoken() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::alone();
    let own = "[[contenders]]\nname = \"old-clear\"\ntransport = \"spdy/3\"\ntls = \"none\"\n";
    bench.write("tiny.toml", experiment(LINK, 1) + own);
    let contenders = "h1,h2-clear,spdy,spdy-clear,spdy-3,old-clear";
    bench.race_undisturbed("tiny.toml", "run", &["--contenders", contenders]);
    assert_eq!(ran(&bench), 6);
    let rows = Connection::open(bench.path("run/rows.sqlite")).unwrap();
    for (contender, protocol) in [
        ("h1", "http/1.1"),
        ("h2-clear", "h2"),
        ("spdy", "spdy/3.1"),
        ("spdy-clear", "spdy/3.1"),
        ("spdy-3", "spdy/3"),
        ("old-clear", "spdy/3"),
    ] {
        let seen = seen(&rows, contender);
        assert_eq!((seen.protocols.as_str(), seen.requests), (protocol, 4), "{contender}");
        let metric = |name: &str| metric(&rows, contender, name);
        let connections = metric(&format!("connections:{protocol}"));
        assert_eq!(metric("streams_per_connection"), 4.0 / connections);
        assert_eq!(metric("header_bytes_sent"), seen.heads_sent[1] as f64);
        if contender == "h1" {
            // All that was sent is heads, and all that came is heads and bodies.
            assert_eq!(seen.heads_sent, [seen.sent; 2]);
            assert_eq!(seen.heads_received, [seen.received - seen.bodies; 2]);
        } else {
            assert_eq!(connections, 1.0);
            for [plain, coded] in [seen.heads_sent, seen.heads_received] {
                assert!(coded > 40 && 2 * coded < plain, "{contender}: {seen:?}");
            }
            assert!(seen.heads_received[1] + seen.bodies < seen.received, "{contender}: {seen:?}");
        }
    }
}

#[test]
fn a_recorded_page_is_raced_over_spdy_by_name() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::alone();
    bench.write("page.har", HAR);
    let contenders = ["--contenders", "spdy,spdy-clear", "--baseline", "spdy"];
    let cells = [&contenders[..], &["--links", LINK, "--trials", "1"]].concat();
    bench.race_undisturbed("page.har", "run", &cells);
    // With dependencies inferred, and flat.
    assert_eq!(ran(&bench), 4);
    let rows = Connection::open(bench.path("run/rows.sqlite")).unwrap();
    for contender in ["spdy", "spdy-clear"] {
        // Two hosts, and a resource of each.
        let seen = seen(&rows, contender);
        assert_eq!((seen.protocols.as_str(), seen.requests), ("spdy/3.1", 2 * 2), "{contender}");
        assert_eq!(metric(&rows, contender, "connections:spdy/3.1"), 2.0);
    }
    let told = bench.run(&["report", "run"]).out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains(
            "protocols spdy 2 connections, SPDY/3.1, one for each request, headers compressed to "
        ),
        "{told}"
    );
    assert!(
        told.contains(
            "; spdy-clear 2 connections, SPDY/3.1, one for each request, headers compressed to "
        ),
        "{told}"
    );
    let page = std::fs::read_to_string(bench.path("run/report.html")).unwrap();
    assert!(page.contains("Protocols and connections") && page.contains("2 connections, SPDY/3.1"));
}

#[test]
fn a_har_is_raced_over_three_protocols_and_two_links_from_one_command() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::alone();
    bench.write("page.har", HAR);
    let lossy = format!("{LINK},loss=1%");
    let cells =
        ["--contenders", "h1-tls,h2,h3", "--links", LINK, "--links", &lossy, "--trials", "2"];
    let result = bench.race_whole("page.har", "run", &cells);
    // With dependencies inferred, and flat: twice on each link.
    let mut measured = BTreeMap::<(String, String), u32>::new();
    for record in records(&bench.path("run")) {
        match record["outcome"]["kind"].as_str().unwrap() {
            "measured" => {}
            // Of a block that ran again.
            "invalid" => continue,
            _ => panic!("{}", record["outcome"]),
        }
        let cell = &record["plan"]["cell"];
        let name = |what: &str| cell[what]["name"].as_str().unwrap().to_owned();
        let (contender, link) = (name("contender"), name("link"));
        let spoken = match &*contender {
            "h1-tls" => "http/1.1",
            other => other,
        };
        // Two hosts, and a resource of each.
        let connections = record["connections"].as_array().unwrap();
        assert_eq!(connections.len(), 2, "{contender}: {connections:?}");
        for connection in connections {
            assert_eq!(connection["protocol"], spoken, "{connection}");
            assert_eq!(connection["tls"]["version"], "TLSv1.3", "{connection}");
        }
        let is_h3 = contender == "h3";
        let over_quic = record["packets"]["quic_connections"].as_u64().unwrap_or(0);
        assert_eq!(over_quic, if is_h3 { 2 } else { 0 }, "{contender}");
        let fetches = record["fetches"].as_array().unwrap();
        let bodies: Vec<_> = fetches.iter().map(|fetch| fetch["body_bytes"].as_u64()).collect();
        assert_eq!(bodies, [Some(2000), Some(3000)], "{contender}: {fetches:?}");
        *measured.entry((link, contender)).or_default() += 1;
    }
    let cells = [LINK, &lossy].map(|link| ["h1-tls", "h2", "h3"].map(|name| (link, name)));
    for (link, name) in cells.into_iter().flatten() {
        assert!(measured[&(link.to_owned(), name.to_owned())] >= 4, "{link} {name}: {measured:?}");
    }
    told_of_each_pair(&bench, &result, &[LINK, &lossy]);
}

/// A verdict on each pair of three contenders, in the result, on the terminal and in the page, which says why it is none yet.
fn told_of_each_pair(bench: &Bench, result: &Value, links: &[&str]) {
    let verdicts = result["verdicts"].as_array().unwrap();
    let told = bench.run(&["report", "run"]).out.split_whitespace().collect::<Vec<_>>().join(" ");
    let page = std::fs::read_to_string(bench.path("run/report.html")).unwrap();
    for link in links {
        let verdict = verdicts.iter().find(|verdict| verdict["link"] == *link).unwrap();
        let pairs: Vec<_> = verdict["pairs"].as_array().unwrap().iter().collect();
        let named: Vec<_> = pairs.iter().map(|pair| [&pair["a"], &pair["b"]]).collect();
        assert_eq!(named, [["h1-tls", "h2"], ["h1-tls", "h3"], ["h2", "h3"]], "{link}");
        for pair in pairs {
            // Two blocks decide nothing.
            assert_eq!(pair["verdict"], "undecided", "{pair}");
            assert!(pair["ratio"].as_f64().unwrap() > 0.0, "{pair}");
            let reason = pair["reason"].as_str().unwrap();
            assert!(reason.starts_with("2 blocks are too few"), "{reason}");
            assert!(told.contains(reason) || pair["a"] != "h1-tls", "{reason}: {told}");
        }
        assert!(told.contains(link) && page.contains(link), "{told}");
    }
    for (terminal, html) in [
        ("2 trials are too few", "2 blocks are too few"),
        ("h1-tls 2 connections, HTTP/1.1, one for each request", "2 connections, HTTP/1.1"),
        ("h2 2 connections, HTTP/2, one for each request", "2 connections, HTTP/2"),
        ("h3 2 connections, HTTP/3, one for each request", "2 connections, HTTP/3"),
    ] {
        assert!(told.contains(terminal), "{terminal}: {told}");
        assert!(page.contains(html), "{html}");
    }
}

#[test]
fn list_names_the_contenders_that_race_takes() {
    let bench = Bench::new();
    let listed: Value = serde_json::from_str(&bench.run(&["list", "--json"]).out).unwrap();
    let names: Vec<&str> = listed["contenders"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|c| c["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "h1",
            "h1-tls",
            "h2",
            "h2-clear",
            "h3",
            "spdy",
            "spdy-clear",
            "spdy-3",
            "ws",
            "wss",
            "ws-h2",
            "ws-h3"
        ]
    );
    assert!(bench.run(&["list"]).out.contains("  spdy-3        spdy/3 over TLS 1.3"));
}

#[test]
fn what_goes_over_tls_is_fetched_as_https_in_rows_views_har_and_page() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::alone();
    let contenders = "h1,h2-clear,h1-tls,h2,spdy,h3";
    bench.write("tiny.toml", experiment(LINK, 1));
    bench.race_undisturbed("tiny.toml", "run", &["--contenders", contenders]);
    bench.write("echo.toml", ECHO);
    bench.race_undisturbed("echo.toml", "echo", &["--contenders", "ws,wss"]);
    let scheme = |contender: &str| match contender {
        "h1" | "h2-clear" => "http",
        "ws" => "ws",
        "wss" => "wss",
        _ => "https",
    };
    let mut seen = std::collections::BTreeSet::new();
    for run in ["run", "echo"] {
        for record in records(&bench.path(run)) {
            let contender = record["plan"]["cell"]["contender"]["name"].as_str().unwrap();
            for fetch in record["fetches"].as_array().unwrap() {
                let url = fetch["url"].as_str().unwrap();
                assert_eq!(url.split("://").next(), Some(scheme(contender)), "{contender}: {url}");
                seen.insert(contender.to_owned());
            }
        }
        let rows = Connection::open(bench.path(run).join("rows.sqlite")).unwrap();
        let mut query = rows.prepare("SELECT contender, url FROM fetches").unwrap();
        let viewed = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        for (contender, url) in viewed.map(Result::<(String, String), _>::unwrap) {
            assert_eq!(url.split("://").next(), Some(scheme(&contender)), "{contender}: {url}");
        }
    }
    let h2 = crate::bench::outcomes(&bench.path("run")).into_iter().map(|(key, ..)| key);
    let key = h2.into_iter().find(|key| key.contains("/h2/")).unwrap();
    bench
        .run(&["report", "run", "--har", "h2.har", "--trial", &key])
        .said(0, &["wrote h2.har: the trial ", &key]);
    let har: Value = serde_json::from_slice(&std::fs::read(bench.path("h2.har")).unwrap()).unwrap();
    let entries = har["log"]["entries"].as_array().unwrap();
    let is_secure =
        |entry: &Value| entry["request"]["url"].as_str().unwrap().starts_with("https://");
    assert!(entries.len() == 4 && entries.iter().all(is_secure), "{har:#}");
    let page = std::fs::read_to_string(bench.path("run/report.html")).unwrap();
    assert!(page.contains("https://origin.test/") && page.contains("http://origin.test/"));
    let missing = bench.run(&["report", "run", "--har", "no.har", "--trial", "page/none/h2"]);
    missing.said(2, &["no trial page/none/h2", "/h2-clear"]);
    let nowhere = bench.run(&["report", "run", "--har", "none/no.har", "--trial", &key]);
    assert_eq!(nowhere.said(2, &["none/no.har"]).out, "", "the error stands alone");
    assert!(!bench.path("no.har").exists());
    let all: Vec<&str> = seen.iter().map(String::as_str).collect();
    assert_eq!(all, ["h1", "h1-tls", "h2", "h2-clear", "h3", "spdy", "ws", "wss"]);
}
