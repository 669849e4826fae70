//! Servers that die, lie, stall and turn in circles: a clear error, nothing under the final name, and the next
//! run goes on.

use crate::bench::Bench;
use crate::server::{Server, answer, content, get, is_whole, names, put, sha256};
use std::time::Duration;

#[test]
fn a_body_that_is_cut_short_is_told_kept_and_gone_on_from() {
    let bench = Bench::new();
    let body = content(300_000);
    let honest = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (sent, is_honest) = (body.clone(), honest.clone());
    let server = Server::new(move |request, stream| {
        let whole = is_honest.load(std::sync::atomic::Ordering::SeqCst);
        answer(request, stream, ("\"a\"", &sent, if whole { usize::MAX } else { 100_000 }))
    });
    let url = server.url("/file");
    get(&bench, &[&url, "--retry", "0"]).said(
        1,
        &[
            &url,
            "ended in the middle of a response body",
            "100 kB are kept: the same command goes on",
        ],
    );
    assert_eq!(names(&bench), [".file.wirelap-note", ".file.wirelap-part"]);
    honest.store(true, std::sync::atomic::Ordering::SeqCst);
    let ran = get(&bench, &[&url]);
    ran.said(0, &["file: 300 kB in ", "/s over http/1.1, 100 kB of them from before"]);
    assert_eq!(ran.err.lines().count(), 1, "{ran:?}");
    is_whole(&bench, "file", &body);
    assert_eq!(server.seen()[1].from, Some(100_000));
}

#[test]
fn a_server_that_dies_again_and_again_is_asked_for_the_rest() {
    let bench = Bench::new();
    let body = content(250_000);
    let sent = body.clone();
    let server =
        Server::new(move |request, stream| answer(request, stream, ("\"a\"", &sent, 100_000)));
    get(&bench, &[&server.url("/file")]).said(0, &["trying again"]);
    is_whole(&bench, "file", &body);
    let from: Vec<_> = server.seen().iter().map(|request| request.from).collect();
    assert_eq!(from, [None, Some(100_000), Some(200_000)]);
}

#[test]
fn a_file_that_changes_between_two_tries_begins_anew() {
    let bench = Bench::new();
    let (old, new) = (content(200_000), content(150_000).into_iter().rev().collect::<Vec<_>>());
    let sent = new.clone();
    let server = Server::new(move |request, stream| match request.number {
        0 => answer(request, stream, ("\"old\"", &old, 120_000)),
        _ => answer(request, stream, ("\"new\"", &sent, usize::MAX)),
    });
    get(&bench, &[&server.url("/file")]).said(0, &["beginning anew"]);
    is_whole(&bench, "file", &new);
    assert_eq!(server.seen()[1].if_range.as_deref(), Some("\"old\""));
}

#[test]
fn a_server_without_ranges_is_asked_for_all_of_it() {
    let bench = Bench::new();
    let body = content(200_000);
    let sent = body.clone();
    let server = Server::new(move |request, stream| {
        let request = crate::server::Request { from: None, ..request.clone() };
        let count = if request.number == 0 { 90_000 } else { usize::MAX };
        answer(&request, stream, ("\"a\"", &sent, count))
    });
    get(&bench, &[&server.url("/file"), "--connections", "3"]).said(0, &["beginning anew"]);
    is_whole(&bench, "file", &body);
}

#[test]
fn lengths_that_lie_are_told() {
    let bench = Bench::new();
    let cases: [(&str, &str); 4] = [
        ("Content-Length: 100\r\n\r\nshort", "ended in the middle"),
        ("Content-Length: 5\r\nContent-Length: 9\r\n\r\nshort", "broke the protocol"),
        ("Content-Length: five\r\n\r\nshort", "broke the protocol"),
        ("Transfer-Encoding: chunked\r\n\r\n5\r\nshort\r\nxyz\r\n", "broke the protocol"),
    ];
    for (rest, words) in cases {
        let server = Server::new(move |_, stream| {
            put(stream, format!("HTTP/1.1 200 OK\r\n{rest}"));
            false
        });
        get(&bench, &[&server.url("/file"), "--retry", "1"]).said(1, &[words]);
        assert!(!bench.path("file").exists(), "{rest}");
    }
}

#[test]
fn a_part_that_answers_another_range_is_refused() {
    let bench = Bench::new();
    let body = content(100_000);
    let server = Server::new(move |request, stream| match request.from {
        None => answer(request, stream, ("\"a\"", &body, 40_000)),
        Some(_) => put(
            stream,
            "HTTP/1.1 206 Partial Content\r\nETag: \"a\"\r\nContent-Range: bytes 0-9/100000\r\nContent-Length: 10\r\n\r\n0123456789",
        ),
    });
    get(&bench, &[&server.url("/file")]).said(1, &["asked for the bytes from 40000 on"]);
    assert!(!bench.path("file").exists());
}

#[test]
fn a_body_without_a_length_ends_with_its_connection() {
    let bench = Bench::new();
    let body = content(70_000);
    let sent = body.clone();
    let server = Server::new(move |_, stream| {
        put(stream, "HTTP/1.1 200 OK\r\n\r\n");
        put(stream, &sent);
        false
    });
    get(&bench, &[&server.url("/file")]).said(0, &[]);
    is_whole(&bench, "file", &body);
}

#[test]
fn a_link_that_dies_is_noticed_and_the_rest_fetched_anew() {
    let bench = Bench::new();
    let body = content(200_000);
    let sent = body.clone();
    let server = Server::new(move |request, stream| match request.number {
        0 => {
            answer(request, stream, ("\"a\"", &sent, 80_000));
            // Nothing more comes, and nobody says so.
            std::thread::sleep(Duration::from_secs(600));
            false
        }
        _ => answer(request, stream, ("\"a\"", &sent, usize::MAX)),
    });
    get(&bench, &[&server.url("/file"), "--stall-timeout", "300ms"])
        .said(0, &["nothing came from"]);
    is_whole(&bench, "file", &body);
    assert_eq!(server.seen()[1].from, Some(80_000));
}

#[test]
fn redirects_are_followed_and_circles_are_told() {
    let bench = Bench::new();
    let server = Server::new(|request, stream| {
        let to = match request.path.as_str() {
            "/one" => "/two",
            "/two" => "/one",
            "/far" => "/file",
            path if path.starts_with("/deep") => {
                return put(
                    stream,
                    format!("HTTP/1.1 302 Found\r\nLocation: {path}x\r\nContent-Length: 0\r\n\r\n"),
                );
            }
            _ => return answer(request, stream, ("\"a\"", b"there", usize::MAX)),
        };
        put(stream, format!("HTTP/1.1 301 Moved\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"))
    });
    get(&bench, &[&server.url("/one")]).said(1, &["circle", "/one"]);
    get(&bench, &[&server.url("/deep"), "--max-redirs", "4"]).said(1, &["more than 4 redirects"]);
    get(&bench, &[&server.url("/far")]).said(0, &["far: 5 B in "]);
    is_whole(&bench, "far", b"there");
    assert_eq!(names(&bench), ["far"]);
}

#[test]
fn http_errors_are_errors_and_passing_ones_are_tried_again() {
    let bench = Bench::new();
    let server = Server::new(|request, stream| match (request.path.as_str(), request.number) {
        ("/busy", 0 | 1) => {
            put(stream, "HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 4\r\n\r\nbusy")
        }
        ("/busy", _) => answer(request, stream, ("\"a\"", b"there", usize::MAX)),
        _ => put(stream, "HTTP/1.1 404 Nothing\r\nContent-Length: 9\r\n\r\nnot found"),
    });
    get(&bench, &[&server.url("/busy")]).said(0, &["503 Service Unavailable; trying again"]);
    is_whole(&bench, "busy", b"there");
    get(&bench, &[&server.url("/gone")]).said(1, &["the server answered 404 Not Found"]);
    get(&bench, &[&server.url("/gone"), "-s"]).said(1, &[]).err.is_empty().then_some(()).unwrap();
    assert_eq!(names(&bench), ["busy"]);
    assert_eq!(server.seen().len(), 5);
}

#[test]
fn nobody_listening_is_told_after_the_tries() {
    let bench = Bench::new();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/file");
    get(&bench, &[&url, "--retry", "1"])
        .said(1, &["connection refused; is a server listening there?", "(tried twice)"]);
    get(&bench, &["http://no-such-host.invalid/file"])
        .said(1, &["no-such-host.invalid is not known"]);
    assert_eq!(names(&bench), Vec::<String>::new());
}

#[test]
fn a_wrong_checksum_leaves_nothing_and_a_right_one_the_file() {
    let bench = Bench::new();
    let server = Server::new(|request, stream| {
        let body = content(if request.path == "/b" { 70_000 } else { 50_000 });
        answer(request, stream, ("\"a\"", &body, usize::MAX))
    });
    bench.write("same", content(50_000));
    let right = sha256(&bench, "same");
    std::fs::remove_file(bench.path("same")).unwrap();
    let (url, wrong) = (server.url("/a"), "0".repeat(64));
    bench.write("a", "the old one");
    get(&bench, &[&url, "--sha256", &wrong]).said(1, &["is not the file expected", &right, &wrong]);
    is_whole(&bench, "a", b"the old one");
    get(&bench, &[&url, "--sha256", &right]).said(0, &[&right]);
    is_whole(&bench, "a", &content(50_000));
    // One of two is wrong: the other one stands.
    std::fs::remove_file(bench.path("a")).unwrap();
    bench.write("sums", format!("{right}  a\n{right}  b\n"));
    get(&bench, &[&url, &server.url("/b"), "--checksums", "sums"]).said(1, &["b is not the file"]);
    assert_eq!(names(&bench), ["a", "sums"]);
}

#[test]
fn json_tells_each_file_on_a_line() {
    let bench = Bench::new();
    let body = content(120_000);
    let server = Server::new(move |request, stream| match request.path.as_str() {
        "/gone" => put(stream, "HTTP/1.1 404 Nothing\r\nContent-Length: 0\r\n\r\n"),
        _ => {
            let count = if request.from.is_none() { 50_000 } else { usize::MAX };
            answer(request, stream, ("\"a\"", &body, count))
        }
    });
    let ran = get(&bench, &["--json", "-s", &server.url("/file"), &server.url("/gone")]);
    ran.said(1, &[]);
    let lines: Vec<serde_json::Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["ok"], true);
    assert_eq!(lines[0]["bytes"], 120_000);
    assert_eq!(lines[0]["retries"], 1);
    assert_eq!(lines[0]["protocol"], "http/1.1");
    assert_eq!(lines[0]["sha256"], sha256(&bench, "file"));
    assert!(lines[0]["total_ms"].as_f64().unwrap() > 0.0);
    assert_eq!(lines[1]["error"], "the server answered 404 Not Found");
    assert_eq!(lines[1]["file"], serde_json::Value::Null);
}

#[test]
fn streams_get_the_bytes_as_they_come() {
    let bench = Bench::new();
    let body = content(150_000);
    let sent = body.clone();
    let server = Server::new(move |request, stream| {
        let count = if request.number == 0 { 60_000 } else { usize::MAX };
        answer(request, stream, ("\"a\"", &sent, count))
    });
    let url = server.url("/file");
    let ran =
        bench.shell(&[], &format!("$W get -s -o - {url} > copy; $W get -s -o /dev/null {url}"));
    ran.said(0, &[]);
    is_whole(&bench, "copy", &body);
    assert!(
        std::fs::metadata("/dev/null").unwrap().file_type()
            != std::fs::metadata(bench.path("copy")).unwrap().file_type()
    );
    // A reader that goes away is no reason to go on.
    let ran = bench.shell(&[], &format!("$W get -s -o - {url} | head -c 1 > first; wc -c < first"));
    assert_eq!(ran.out.trim(), "1", "{ran:?}");
}
