//! HTTP/3 raced: between other people's clients and servers, between theirs and ours, and between our own. It is carried,
//! seen on the link and vouched for. It is unsupported, with the way out, where curl is built without it.
use crate::bench::{Bench, outcomes, records, trials_run_here};
use std::ffi::OsString;
use std::path::PathBuf;

const RACE: &str = "name = \"http3\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"h3\"\ntrials = 1\nwarmup = 0\n\
    timeout = \"20s\"\n[[links]]\nname = \"rtt=10ms,down=20mbit,up=20mbit\"\n[[links]]\nname = \"none\"\n\
    [[workloads]]\nkind = \"download\"\nfiles = \"200kB\"\n\
    [[contenders]]\nname = \"h3\"\ntransport = \"h3\"\nclient = \"curl\"\nserver = \"caddy\"\n\
    [[contenders]]\nname = \"own-server\"\ntransport = \"h3\"\nclient = \"curl\"\n\
    [[contenders]]\nname = \"own-client\"\ntransport = \"h3\"\nserver = \"caddy\"\n";

const OWN_RACE: &str = "name = \"own\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"h2\"\ntrials = 1\nwarmup = 0\n\
    timeout = \"20s\"\n[[links]]\nname = \"rtt=40ms,down=20mbit,up=20mbit\"\n\
    [[workloads]]\nkind = \"page\"\nimages = 8\nbytes = \"2kB\"\n\
    [[workloads]]\nkind = \"calls\"\npattern = \"serial\"\ncount = 4\nbytes = \"1kB\"\n\
    [[contenders]]\nname = \"h2\"\ntransport = \"h2\"\n";

/// The search path with the current releases of curl and Caddy first; None where they are not installed.
pub(crate) fn path_of_current_releases() -> Option<OsString> {
    let current = testing::peers::current_releases();
    if !current.join("curl").exists() {
        return None;
    }
    Some(path_after(current))
}

/// The search path behind that folder.
fn path_after(folder: PathBuf) -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
    std::env::join_paths(folders).unwrap()
}

#[test]
fn http3_is_carried_and_vouched_for_where_both_ends_have_it() {
    if !trials_run_here() {
        return;
    }
    let Some(path) = path_of_current_releases() else {
        return testing::skip("curl with HTTP/3 is not installed: ./peers install");
    };
    let bench = Bench::new();
    bench.write("http3.toml", RACE);
    let mut race = bench.wirelap(&["race", "http3.toml", "--out", "out"]);
    race.env("PATH", path);
    bench.start(race).end().raced();
    // A busy machine may spoil a trial; it never makes one fail.
    for (key, outcome, reason) in outcomes(&bench.path("out")) {
        assert!(["measured", "invalid"].contains(&outcome.as_str()), "{key}: {reason:?}");
    }
    for record in records(&bench.path("out")) {
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

#[test]
fn our_own_ends_race_over_http3_by_name_with_one_round_trip_less_than_h2() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("own.toml", OWN_RACE);
    bench.race_whole("own.toml", "out", &["--contenders", "h2,h3"]);
    let mut measured = std::collections::BTreeSet::new();
    for record in records(&bench.path("out")) {
        match record["outcome"]["kind"].as_str().unwrap() {
            "measured" => {}
            // Of a block that ran again.
            "invalid" => continue,
            _ => panic!("{}", record["outcome"]),
        }
        let is_h3 = record["plan"]["cell"]["contender"]["name"] == "h3";
        let is_page = record["plan"]["cell"]["workload"]["kind"] == "page";
        measured.insert((is_h3, is_page));
        let connections = record["connections"].as_array().unwrap();
        assert_eq!(connections.len(), 1, "{record}");
        assert_eq!(connections[0]["protocol"], if is_h3 { "h3" } else { "h2" });
        assert_eq!(connections[0]["tls"]["version"], "TLSv1.3");
        assert_eq!(record["packets"]["connections"], 1);
        assert_eq!(record["packets"]["quic_connections"].as_u64().unwrap_or(0), u64::from(is_h3));
        // Handshakes: TCP and TLS each take one, QUIC takes one for both. Then the document and its images, or the calls.
        let requests = if is_page { 2.0 } else { 4.0 };
        let handshakes = if is_h3 { 1.0 } else { 2.0 };
        assert_eq!(record["metrics"]["round_trips"], requests + handshakes, "{record}");
        let parts = record["parts"].as_object().unwrap();
        let sum: u64 = parts.values().map(|part| part.as_u64().unwrap()).sum();
        let load = record["metrics"]["load_ms"].as_f64().unwrap();
        assert!((sum as f64 / 1e6 - load).abs() < 0.001, "{parts:?} {load}");
    }
    assert_eq!(measured.len(), 4, "both contenders' pages and calls: {measured:?}");
}

#[test]
fn http3_is_unsupported_where_curl_is_built_without_it() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("http3.toml", RACE);
    std::fs::create_dir(bench.path("bin")).unwrap();
    bench.write("bin/curl", "#!/bin/sh\necho 'curl 7.88.1 (x86_64-pc-linux-gnu) libcurl/7.88.1'\n");
    bench.command("chmod").args(["+x", "bin/curl"]).status().unwrap();
    let mut race = bench.wirelap(&["race", "http3.toml", "--out", "out"]);
    race.env("PATH", path_after(bench.path("bin")));
    bench.start(race).end().raced();
    for (key, outcome, reason) in rows_of(&bench, "h3") {
        assert_eq!(outcome, "unsupported", "{key}");
        assert!(reason.unwrap_or_default().contains("is built without HTTP/3"), "{key}");
    }
}

fn rows_of(bench: &Bench, contender: &str) -> Vec<(String, String, Option<String>)> {
    let mark = format!("/{contender}/");
    let rows = outcomes(&bench.path("out")).into_iter();
    let rows: Vec<_> = rows.filter(|(key, ..)| key.contains(&mark)).collect();
    assert!(!rows.is_empty(), "{contender}");
    rows
}

/// The trial was done, and its parts sum to its load time. A busy machine may refuse its times; what is counted holds.
fn was_done_in_parts(record: &serde_json::Value) {
    let kind = record["outcome"]["kind"].as_str().unwrap();
    assert!(["measured", "invalid"].contains(&kind), "{}", record["outcome"]);
    let parts = record["parts"].as_object().unwrap();
    let sum: u64 = parts.values().map(|part| part.as_u64().unwrap()).sum();
    let load = record["metrics"]["load_ms"].as_f64().unwrap();
    assert!((sum as f64 / 1e6 - load).abs() < 0.001, "{parts:?} {load}");
}

#[test]
fn a_connection_that_a_nat_rebinds_is_seen_as_one() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    // During the handshake an address may not change (RFC 9000 §9), and a busy machine may prolong that.
    bench.write(
        "own.toml",
        "name = \"own\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"h3\"\ntrials = 1\nwarmup = 0\n\
         [[links]]\nname = \"rtt=40ms,down=20mbit,up=20mbit,rebind=600ms\"\n\
         [[workloads]]\nkind = \"calls\"\npattern = \"serial\"\ncount = 24\nbytes = \"1kB\"\n\
         [[contenders]]\nname = \"h3\"\ntransport = \"h3\"\n",
    );
    bench.run(&["race", "own.toml", "--out", "out"]).raced();
    let records = records(&bench.path("out"));
    assert!(!records.is_empty());
    for record in records {
        was_done_in_parts(&record);
        // Serial calls take 40 ms each: the last are made after the rebinding.
        let fetches = record["fetches"].as_array().unwrap();
        let done = fetches.iter().filter(|fetch| fetch["outcome"] == "done").count();
        assert_eq!((fetches.len(), done), (24, 24), "{record}");
        was_rebound(&record);
        assert_eq!(record["packets"]["quic_connections"], 1);
        assert_eq!(record["connections"].as_array().unwrap().len(), 1, "{record}");
    }
}

/// The link's NAT had no mapping any more for what the far side sent to the old port.
fn was_rebound(record: &serde_json::Value) {
    assert!(record["link"]["down"]["blocked"].as_u64().unwrap() > 0, "{}", record["link"]);
}

#[test]
fn over_tcp_what_a_nat_cuts_is_made_again_on_another_connection() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    // The page takes two seconds, and the ports change in the middle of its images.
    bench.write(
        "own.toml",
        "name = \"own\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"h3\"\ntrials = 1\nwarmup = 0\n\
         timeout = \"20s\"\n[[links]]\nname = \"rtt=40ms,down=5mbit,up=5mbit,rebind=1400ms\"\n\
         [[workloads]]\nkind = \"page\"\nimages = 60\nbytes = \"20kB\"\n\
         [[contenders]]\nname = \"h3\"\ntransport = \"h3\"\n",
    );
    bench.run(&["race", "own.toml", "--contenders", "h1-tls,h2,spdy,h3", "--out", "out"]).raced();
    let records = records(&bench.path("out"));
    let contenders: std::collections::BTreeSet<_> = records
        .iter()
        .map(|record| record["plan"]["cell"]["contender"]["name"].clone())
        .map(|name| name.to_string())
        .collect();
    assert_eq!(contenders.len(), 4, "{contenders:?}");
    for record in records {
        was_done_in_parts(&record);
        was_rebound(&record);
        let reason = record["outcome"]["reason"].as_str().unwrap_or_default();
        for word in ["the client counts", "sooner than the link's"] {
            assert!(!reason.contains(word), "client and link differ: {reason}");
        }
        let fetches = record["fetches"].as_array().unwrap();
        assert_eq!(fetches.len(), 61);
        assert!(fetches.iter().all(|fetch| fetch["outcome"] == "done"));
        let images = fetches.iter().filter(|fetch| fetch["body_bytes"] == 20_000).count();
        assert_eq!(images, 60, "no byte of a lost response counts");
        let again =
            fetches.iter().filter(|fetch| fetch["made_again"][0] == "connection-lost").count();
        let told = record["settings"]["near fetches made again"].as_str();
        if record["plan"]["cell"]["contender"]["name"] == "h3" {
            assert_eq!((again, told), (0, None), "QUIC migrates");
            assert_eq!(record["packets"]["quic_connections"], 1);
            assert_eq!(record["connections"].as_array().unwrap().len(), 1, "{record}");
        } else {
            assert!(again > 0, "{record}");
            assert_eq!(told, Some(again.to_string().as_str()));
            assert_eq!(record["metrics"]["fetches_made_again"], again as f64);
        }
    }
}

#[test]
fn over_3g_the_report_says_that_h2_waited_for_a_handshake_more_than_h3_did() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write(
        "own.toml",
        "name = \"own\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"h2\"\ntrials = 7\nwarmup = 0\n\
         [[links]]\nname = \"3g\"\n[[workloads]]\nkind = \"page\"\nimages = 6\nbytes = \"1kB\"\n\
         [[contenders]]\nname = \"h2\"\ntransport = \"h2\"\n[[contenders]]\nname = \"h3\"\ntransport = \"h3\"\n",
    );
    let result = bench.race_whole("own.toml", "out", &[]);
    // The verdict comes first: on a busy machine there may be none.
    let told = bench.run(&["report", "out"]).out.split_whitespace().collect::<Vec<_>>().join(" ");
    if result["verdicts"][0]["pairs"][0]["verdict"] != "slower" {
        return testing::skip(format!("the machine was too busy for a verdict: {told}"));
    }
    let (_, waits) = told.split_once("waits: h2's median trial takes ").unwrap();
    let (total, parts) = waits.split_once(" longer than h3's: ").unwrap();
    let (handshakes, rest) = parts.split_once(" in handshakes (2 round trips against 1)").unwrap();
    let millis = |text: &str| text.strip_suffix(" ms").unwrap().parse::<f64>().unwrap();
    // TLS's own round trip of 300 ms, of which QUIC has none beside its own.
    assert!((200.0..600.0).contains(&millis(handshakes)), "{total}; {handshakes}; {rest}");
}
