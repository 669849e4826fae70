//! Transfers that break: what is gone on from, what begins anew and why, and that it ends.

use crate::bench::Bench;
use crate::server::{Request, Server, answer, content, get, is_whole, names, put, sha256};
use std::net::TcpStream;

const LENGTH: usize = 6 << 20;
const CUT: usize = 2 << 20;

/// What a server sends beside the body.
#[derive(Clone, Copy)]
struct Manners {
    fields: &'static str,
    ranges: bool,
}

/// Weak tag, no date.
const WEAK: Manners = Manners { fields: "ETag: W/\"a\"\r\n", ranges: true };
/// Tomcat's, Jetty's and Express's.
const WEAK_AND_DATED: Manners = Manners {
    fields: "ETag: W/\"a\"\r\nAccept-Ranges: bytes\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
             Date: Mon, 07 Nov 1994 08:49:37 GMT\r\n",
    ranges: true,
};
/// Puma's.
const UNDATED: Manners =
    Manners { fields: "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n", ranges: true };
const NO_RANGES: Manners = Manners { fields: "ETag: \"a\"\r\n", ranges: false };

/// Sends `CUT` bytes of what is asked for, then ends the connection.
fn breaking(manners: Manners, body: Vec<u8>) -> Server {
    Server::new(move |request, stream| send(manners, request, stream, &body))
}

fn send(manners: Manners, request: &Request, stream: &mut TcpStream, body: &[u8]) -> bool {
    let (fields, length) = (manners.fields, body.len());
    let from = request.from.filter(|_| manners.ranges);
    let head = match from {
        Some(from) => format!(
            "206 Partial Content\r\nContent-Range: bytes {from}-{}/{length}\r\nContent-Length: {}",
            length - 1,
            length - from
        ),
        None => format!("200 OK\r\nContent-Length: {length}"),
    };
    let from = from.unwrap_or(0);
    let end = (from + CUT).min(length);
    put(stream, format!("HTTP/1.1 {head}\r\n{fields}\r\n"))
        && put(stream, &body[from..end])
        && end == length
}

fn starts(server: &Server) -> Vec<Option<usize>> {
    server.seen().iter().map(|request| request.from).collect()
}

#[test]
fn bytes_that_are_thrown_away_do_not_reset_the_tries() {
    for (manners, why) in [(WEAK, "ETag is weak"), (NO_RANGES, "serves no ranges")] {
        let bench = Bench::new();
        let server = breaking(manners, content(LENGTH));
        let url = server.url("/file");
        get(&bench, &[&url, "--retry", "2"]).said(1, &[why, "beginning anew", "(tried 3 times)"]);
        assert!(!bench.path("file").exists());
        assert!(server.seen().len() <= 5, "{:?}", starts(&server));
    }
}

#[test]
fn nobody_is_told_to_go_on_from_bytes_of_a_server_without_ranges() {
    for (manners, goes_on) in [(NO_RANGES, false), (UNDATED, true)] {
        let bench = Bench::new();
        let body = content(LENGTH);
        bench.write("whole", &body);
        let digest = sha256(&bench, "whole");
        // It breaks off for ever: of what has ranges nothing comes the second time.
        let server = Server::new(move |request, stream| match request.from {
            Some(_) if manners.ranges => false,
            _ => send(manners, request, stream, &body),
        });
        let ran = get(&bench, &[&server.url("/file"), "--retry", "1", "--sha256", &digest]);
        assert_eq!(ran.code, 1, "{}", ran.err);
        assert_eq!(ran.err.contains("the same command goes on"), goes_on, "{}", ran.err);
    }
}

#[test]
fn a_weak_tag_beside_an_old_date_is_gone_on_from() {
    for manners in [WEAK_AND_DATED, UNDATED] {
        let bench = Bench::new();
        let server = breaking(manners, content(LENGTH));
        get(&bench, &[&server.url("/file")]).said(0, &[]);
        is_whole(&bench, "file", &content(LENGTH));
        assert_eq!(starts(&server), [None, Some(CUT), Some(2 * CUT)]);
    }
}

#[test]
fn with_a_digest_no_validator_is_needed() {
    let bench = Bench::new();
    bench.write("expected", content(LENGTH));
    let digest = sha256(&bench, "expected");
    let server = breaking(WEAK, content(LENGTH));
    get(&bench, &[&server.url("/file"), "--sha256", &digest]).said(0, &[&digest]);
    is_whole(&bench, "file", &content(LENGTH));
    assert_eq!(starts(&server), [None, Some(CUT), Some(2 * CUT)]);
}

#[test]
fn a_digest_that_does_not_fit_the_parts_begins_anew_once() {
    let bench = Bench::new();
    let new: Vec<u8> = content(LENGTH).into_iter().rev().collect();
    bench.write("expected", &new);
    let digest = sha256(&bench, "expected");
    let (old, sent) = (content(LENGTH), new.clone());
    let server = Server::new(move |request, stream| match request.number {
        0 => send(WEAK, request, stream, &old),
        1 => answer(request, stream, ("W/\"a\"", &sent, usize::MAX)),
        _ => answer(
            &Request { from: None, ..request.clone() },
            stream,
            ("W/\"a\"", &sent, usize::MAX),
        ),
    });
    let url = server.url("/file");
    let ran = get(&bench, &[&url, "--sha256", &digest, "--json"]);
    ran.said(0, &["not of one version", "beginning anew"]);
    is_whole(&bench, "file", &new);
    assert_eq!(starts(&server), [None, Some(CUT), None]);
    let line: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(line["received"], 2 * LENGTH);
    // A digest that nothing fits ends it.
    let wrong = "0".repeat(64);
    let bench = Bench::new();
    let server = breaking(WEAK, content(LENGTH));
    get(&bench, &[&server.url("/file"), "--sha256", &wrong]).said(1, &["is not the file expected"]);
    assert!(server.seen().len() <= 6, "{:?}", starts(&server));
    assert_eq!(names(&bench), Vec::<String>::new());
}

#[test]
fn a_server_that_answers_if_range_with_all_of_the_same_is_asked_without() {
    let bench = Bench::new();
    let fields = "Accept-Ranges: bytes\r\nETag: \"a\"\r\n";
    let body = content(LENGTH);
    let server = Server::new(move |request, stream| {
        let ranges = request.if_range.is_none();
        send(Manners { fields, ranges }, request, stream, &body)
    });
    get(&bench, &[&server.url("/file")]).said(0, &["without a condition"]);
    is_whole(&bench, "file", &content(LENGTH));
    assert_eq!(starts(&server), [None, Some(CUT), Some(CUT), Some(2 * CUT)]);
}

#[test]
fn after_a_kill_it_is_told_why_it_begins_anew() {
    let bench = Bench::new();
    let server = breaking(WEAK, content(LENGTH));
    let url = server.url("/file");
    get(&bench, &["-s", &url, "--retry", "0"]).said(1, &[]);
    assert!(bench.path(".file.wirelap-part").exists());
    let again = get(&bench, &[&url, "--retry", "0"]);
    again.said(1, &["file: the server's ETag is weak", "beginning anew"]);
    get(&bench, &["-o", "file", &server.url("/other"), "--retry", "0"])
        .said(1, &["the partial file is of another URL", "beginning anew"]);
}

#[test]
fn a_length_that_is_only_promised_takes_no_space() {
    use std::os::unix::fs::MetadataExt;
    let bench = Bench::new();
    let server = Server::new(|_, stream| {
        put(stream, "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 4000000000\r\n\r\nabc");
        false
    });
    get(&bench, &[&server.url("/file"), "--retry", "0"]).said(1, &["ended in the middle"]);
    let part = std::fs::metadata(bench.path(".file.wirelap-part")).unwrap();
    assert_eq!(part.len(), 3);
    assert!(part.blocks() * 512 <= 1 << 20, "{} bytes are allocated", part.blocks() * 512);
}

#[test]
fn a_length_that_is_only_promised_is_reserved_in_steps() {
    use std::os::unix::fs::MetadataExt;
    let bench = Bench::new();
    let server = Server::new(|_, stream| {
        put(stream, "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 4000000000\r\n\r\n");
        put(stream, content(4 << 20));
        std::thread::sleep(std::time::Duration::from_secs(600));
        false
    });
    let running = bench.start(bench.wirelap(&["get", &server.url("/file")]));
    let part = bench.path(".file.wirelap-part");
    while std::fs::metadata(&part).map_or(0, |part| part.blocks()) == 0 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let allocated = std::fs::metadata(&part).unwrap().blocks() * 512;
    running.signal("KILL");
    running.end();
    assert!(allocated <= 80 << 20, "{allocated} bytes are allocated");
}
