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

/// When the file was modified last.
const MODIFIED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
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
    for (manners, has_tag) in [(WEAK_AND_DATED, true), (UNDATED, false)] {
        let bench = Bench::new();
        let server = breaking(manners, content(LENGTH));
        get(&bench, &[&server.url("/file")]).said(0, &[]);
        is_whole(&bench, "file", &content(LENGTH));
        assert_eq!(starts(&server), [None, Some(CUT), Some(2 * CUT)]);
        for request in &server.seen()[1..] {
            let conditions = (&request.if_range, &request.if_unmodified_since);
            let date = Some(MODIFIED.to_owned());
            // If-Range takes no date where there is a tag (RFC 9110 §13.1.5).
            let expected = if has_tag { (&None, &date) } else { (&date, &None) };
            assert_eq!(conditions, expected, "{request:?}");
        }
    }
}

/// What a server says of a second version.
const NEXT: &str = "ETag: W/\"b\"\r\nLast-Modified: Mon, 07 Nov 1994 08:49:37 GMT\r\n\
                    Date: Tue, 08 Nov 1994 08:49:37 GMT\r\n";

/// Breaks off the first answer, of a dated version with a weak tag. From then on it has another version, and `changed`
/// answers requests with a condition; those without get the whole of it, or the range.
fn changing(
    changed: impl Fn(&Request, &mut TcpStream, &[u8]) -> bool + Send + Sync + 'static,
) -> (Server, Vec<u8>) {
    let (old, new) = (content(LENGTH), content(LENGTH).into_iter().rev().collect::<Vec<u8>>());
    let sent = new.clone();
    let server = Server::new(move |request, stream| {
        let next = Manners { fields: NEXT, ranges: true };
        match (request.number, &request.if_unmodified_since) {
            (0, _) => send(WEAK_AND_DATED, request, stream, &old),
            (_, Some(_)) => changed(request, stream, &sent),
            (_, None) if request.from.is_some() => send(next, request, stream, &sent),
            _ => {
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n{NEXT}\r\n");
                put(stream, head) && put(stream, &sent)
            }
        }
    });
    (server, new)
}

#[test]
fn a_412_and_then_another_version_begins_anew() {
    let bench = Bench::new();
    let (server, new) = changing(|_, stream, _| {
        put(stream, "HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n")
    });
    let ran = get(&bench, &[&server.url("/file")]);
    ran.said(0, &["it answered 412 to If-Unmodified-Since", "it has changed on the server"]);
    is_whole(&bench, "file", &new);
    assert_eq!(starts(&server), [None, Some(CUT), Some(CUT), None]);
    let dates: Vec<_> =
        server.seen().into_iter().map(|request| request.if_unmodified_since).collect();
    assert_eq!(dates, [None, Some(MODIFIED.to_owned()), None, None]);
}

#[test]
fn a_part_without_the_date_or_with_another_one_is_not_added() {
    let of_length = |length: usize| format!("bytes {CUT}-{}/{length}", LENGTH - 1);
    let changed = "it has changed on the server";
    for (range, fields, why) in [
        // The same tag, weak: it does not name single bytes.
        (of_length(LENGTH), "ETag: W/\"a\"\r\n", "names no version by which its parts"),
        (of_length(LENGTH), "", "names no version by which its parts"),
        (of_length(LENGTH), NEXT, changed),
        (of_length(LENGTH), "Last-Modified: Mon, 07 Nov 1994 08:49:37 GMT\r\n", changed),
        (of_length(LENGTH + 1), WEAK_AND_DATED.fields, changed),
    ] {
        let bench = Bench::new();
        let (server, new) = changing(move |request, stream, body| {
            let length = LENGTH - CUT;
            let head = format!(
                "HTTP/1.1 206 Partial Content\r\nContent-Range: {range}\r\nContent-Length: {length}\r\n{fields}\r\n"
            );
            assert_eq!(request.if_unmodified_since.as_deref(), Some(MODIFIED));
            put(stream, head) && put(stream, &body[CUT..])
        });
        get(&bench, &[&server.url("/file")]).said(0, &[why, "beginning anew"]);
        is_whole(&bench, "file", &new);
        assert_eq!(starts(&server), [None, Some(CUT), None]);
    }
}

#[test]
fn a_part_that_was_not_asked_for_is_not_added_whatever_its_date() {
    for (from, to) in [(CUT + 1, LENGTH - 1), (CUT - 1, LENGTH - 1), (0, LENGTH - 1)] {
        let bench = Bench::new();
        let (server, _new) = changing(move |_, stream, body| {
            let head = format!(
                "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {from}-{to}/{LENGTH}\r\nContent-Length: {}\r\n{}\r\n",
                to + 1 - from,
                WEAK_AND_DATED.fields
            );
            put(stream, head) && put(stream, &body[from..=to])
        });
        let asked = format!("it was asked for the bytes from {CUT} on and answered with");
        get(&bench, &[&server.url("/file"), "--retry", "1"]).said(1, &[&asked]);
        assert!(!bench.path("file").exists());
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
fn the_next_run_says_why_it_begins_anew() {
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
