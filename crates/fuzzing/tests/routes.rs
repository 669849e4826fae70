//! The routes of the origin's dictionary are routes: a fuzzer that is given a path which nothing answers only ever tries the 404.

use endpoint::{Accepted, EndPoint, SendBuf};
use fuzzing::end_points;
use std::path::Path;
use unit::Instant;

#[test]
fn each_route_of_the_dictionary_is_answered() {
    let routes = section("Routes");
    assert!(routes.len() > 10);
    for route in &routes {
        let status = status_of(&request(route));
        assert!(status == 101 || (200..300).contains(&status), "{route}: {status}");
    }
    for own in ["/page", "/stream", "/poll", "/api", "/double", "/image", "/ws"] {
        assert!(routes.iter().any(|route| route.starts_with(own)), "no route begins with {own}");
    }
}

#[test]
fn each_refused_route_of_the_dictionary_is_refused() {
    for route in section("Routes that are refused") {
        let status = status_of(&request(&route));
        assert!(status >= 300, "{route}: {status}");
    }
}

#[test]
fn each_request_of_the_dictionary_over_http2_has_a_path_that_is_answered() {
    let mut paths = 0;
    for entry in ["origin", "client"].iter().flat_map(|name| entries(name, "HTTP/2")) {
        // A literal `:path` of a GET, without Huffman coding (RFC 7541 §6.2.2).
        let Some(at) = entry.windows(3).position(|head| head == b"\x82\x86\x04") else { continue };
        let (length, rest) = entry[at + 3..].split_first().expect("a path");
        let path = std::str::from_utf8(&rest[..usize::from(*length)]).expect("ASCII");
        let status = status_of(&request(path));
        assert!((200..300).contains(&status), "{path}: {status}");
        paths += 1;
    }
    assert!(paths >= 10, "{paths} paths");
}

/// A request for a route, with what the route asks for.
fn request(route: &str) -> Vec<u8> {
    let path = route.split('?').next().unwrap_or_default();
    let (method, more) = match path {
        "/echo" | "/discard" => ("POST", "Content-Length: 1\r\n\r\nx"),
        _ if path.starts_with("/ws/") => (
            "GET",
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        ),
        _ => ("GET", "\r\n"),
    };
    format!("{method} {route} HTTP/1.1\r\nHost: a.test\r\n{more}").into_bytes()
}

/// The status with which the fuzzed origin answers.
fn status_of(request: &[u8]) -> u16 {
    let (mut origin, now) = (end_points::origin(0), Instant::ZERO);
    origin.handle_start(now);
    let at = ([10, 0, 0, 1], 80).into();
    let accepted = Accepted { listener: 0, local: at, remote: at };
    let socket = origin.handle_accepted(now, accepted).expect("a place");
    origin.handle_bytes(now, socket, request);
    let mut out = SendBuf::new();
    origin.poll_transmit(now, socket, &mut out, 1000);
    let answer = String::from_utf8_lossy(&out.to_vec()).into_owned();
    let status = answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    status.unwrap_or_else(|| panic!("no answer: {answer:?}"))
}

/// The entries of a section of the origin's dictionary, which are text.
fn section(heading: &str) -> Vec<String> {
    let text = |entry| String::from_utf8(entry).expect("a path");
    entries("origin", heading).into_iter().map(text).collect()
}

/// The entries of a dictionary below a heading: the comment that begins so.
fn entries(dictionary: &str, heading: &str) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/dictionaries");
    let text = std::fs::read_to_string(path.join(format!("{dictionary}.dict")));
    let text = text.expect("a dictionary");
    let is_heading = |line: &&str| {
        line.strip_prefix("# ").is_some_and(|title| title.split(':').next() == Some(heading))
    };
    let lines = text.lines().skip_while(|line| !is_heading(line)).skip(1);
    let entries: Vec<_> = lines
        .take_while(|line| !line.starts_with('#'))
        .filter_map(|line| line.strip_prefix('"')?.strip_suffix('"'))
        .map(unescaped)
        .collect();
    assert!(!entries.is_empty(), "{dictionary}.dict has no section {heading}");
    entries
}

/// The bytes of an entry: `\xNN` is a byte (libFuzzer's dictionaries).
fn unescaped(mut text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(first) = text.chars().next() {
        match text.strip_prefix("\\x") {
            Some(rest) => {
                bytes.push(u8::from_str_radix(&rest[..2], 16).expect("two digits"));
                text = &rest[2..];
            }
            None => {
                bytes.extend_from_slice(first.to_string().as_bytes());
                text = &text[first.len_utf8()..];
            }
        }
    }
    bytes
}
