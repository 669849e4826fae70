//! Streams of tokens as curl and Python's websockets receive them: whole, in order, each when it is due.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

mod support;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;
use support::{Folder, Serving, peer, run_text};
use testing::peers::{has, kept};

const QUERY: &str = "count=20&bytes=100&every_ms=50";

/// The ways to ask: protocol arguments and whether they go to the TLS port.
const WAYS: [(&str, bool); 3] =
    [("--http1.1", false), ("--http2-prior-knowledge", false), ("--http2", true)];

#[test]
fn curl_sees_each_token_when_it_is_due_over_every_protocol() {
    if !has("curl", "--version", "apt-get install curl") {
        return;
    }
    let site = Folder::new();
    let serving = Serving::start(&site.root());
    for (way, secured) in WAYS {
        for (format, mark) in [("sse", "data: 0 "), ("text", "0 ")] {
            let path = format!("/stream?{QUERY}&format={format}");
            let url = if secured { serving.tls_url(&path) } else { serving.url(&path) };
            let mut curl = Command::new("curl")
                .args(["-sSN", "-k", "--max-time", "20", way, &url])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let lines = BufReader::new(curl.stdout.take().unwrap()).lines();
            let tokens = lines.map(|line| (os::clock::now(), line.unwrap()));
            let tokens: Vec<_> = tokens.filter(|(_, line)| line.starts_with(mark)).collect();
            assert!(curl.wait().unwrap().success());
            assert_eq!(tokens.len(), 20, "{way} {format}");
            for (number, (at, line)) in tokens.iter().enumerate() {
                assert!(line.starts_with(&format!("{mark}{number} ")), "{way} {format}: {line}");
                // No token is there before its time. The first may have come late, by as much as a busy machine takes.
                let due = Duration::from_millis(50) * number as u32;
                let late = Duration::from_millis(500);
                assert!(at.since(tokens[0].0) + late >= due, "{way} {format}: token {number}");
            }
            assert!(
                tokens[19].0.since(tokens[0].0) >= Duration::from_millis(450),
                "{way} {format}"
            );
        }
    }
}

#[test]
fn a_poll_answers_with_the_next_token_and_then_with_none() {
    if !has("curl", "--version", "apt-get install curl") {
        return;
    }
    let site = Folder::new();
    let serving = Serving::start(&site.root());
    let query = "count=2&bytes=60&every_ms=300&seed=9";
    let ask = |more: &str| {
        let url = serving.url(&format!("/poll?{query}{more}"));
        run_text("curl", &["-sS", "-w", "%{http_code}", "--max-time", "20", &url])
    };
    let first = ask("");
    assert!(first.starts_with("0 0 ") && first.ends_with("\n200"), "{first}");
    let since = first.split(' ').nth(2).unwrap();
    let second = ask(&format!("&after=0&since={since}"));
    assert!(second.starts_with("0 1 ") && second.ends_with("\n200"), "{second}");
    let due: u64 = second.split(' ').nth(2).unwrap().parse().unwrap();
    assert_eq!(due - since.parse::<u64>().unwrap(), 300_000_000);
    assert_eq!(ask(&format!("&after=1&since={since}")), "204");
    assert!(ask("&after=1").ends_with("400"), "both, or neither");
}

#[test]
fn an_event_source_that_connects_again_gets_what_it_lacks_and_in_the_end_204() {
    if !has("curl", "--version", "apt-get install curl") {
        return;
    }
    let site = Folder::new();
    let serving = Serving::start(&site.root());
    let url = serving.url("/stream?count=3&bytes=60&every_ms=0");
    let ask = |last: &str| {
        let field = format!("Last-Event-ID: {last}");
        run_text("curl", &["-sS", "-w", "%{http_code}", "-H", &field, "--max-time", "20", &url])
    };
    let rest = ask("1");
    assert!(rest.starts_with("id: 2\ndata: 0 2 ") && rest.ends_with("\n\n200"), "{rest}");
    assert_eq!(ask("2"), "204");
}

#[test]
fn pythons_websockets_gets_every_token_in_order_as_it_is_due() {
    let Some(folder) = kept("python") else { return };
    let site = Folder::new();
    let serving = Serving::start(&site.root());
    let script = peer("stream_client.py");
    for base in [format!("ws://{}", serving.clear), format!("wss://{}", serving.tls)] {
        let said = run_text("python3", &[&script, &folder.display().to_string(), &base, QUERY]);
        assert_eq!(said.trim(), "20 in order spaced 1007", "{base}");
    }
}
