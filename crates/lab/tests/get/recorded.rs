//! Servers as `bench/resume` has met them, played from what they answered to ranges and conditions.

use crate::bench::Bench;
use crate::server::{Request, Server, content, get, is_whole, put, sha256};
use serde_json::Value;
use std::net::TcpStream;

const LENGTH: usize = 300_000;
const CUT: usize = 100_000;

/// Answers as the server with these observations does. The first answer is cut.
fn played(observed: &Value) -> Server {
    let observed = observed.clone();
    Server::new(move |request, stream| send(&observed, request, stream))
}

fn send(observed: &Value, request: &Request, stream: &mut TcpStream) -> bool {
    let asked = match (request.from, &request.if_range, &request.if_unmodified_since) {
        (None, ..) => "plain",
        (_, Some(tag), _) if tag.starts_with('"') => "if_range_tag",
        (_, Some(_), _) => "if_range_date",
        (_, None, Some(_)) => "unmodified_since",
        (_, None, None) => "range",
    };
    let answer = &observed[asked];
    let body = content(LENGTH);
    let status = answer["status"].as_u64().unwrap();
    let (from, end) = match status {
        206 => (request.from.unwrap(), LENGTH),
        200 => (0, LENGTH),
        _ => (0, 0),
    };
    let mut head = format!("HTTP/1.1 {status} As Observed\r\nContent-Length: {}\r\n", end - from);
    for field in answer["fields"].as_array().unwrap() {
        let (name, value) = (field[0].as_str().unwrap(), field[1].as_str().unwrap());
        let value = match name.eq_ignore_ascii_case("content-range") {
            true if status == 206 => format!("bytes {from}-{}/{LENGTH}", LENGTH - 1),
            true => continue,
            false => value.to_owned(),
        };
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let cut = if request.number == 0 { CUT } else { end };
    put(stream, head + "\r\n") && put(stream, &body[from..cut]) && cut == end
}

/// One download with `flags`, and what it came to as `expected` has it.
fn comes_to(row: &Value, run: &str, flags: &[&str]) {
    let (name, expected) = (row["name"].as_str().unwrap(), &row[run]);
    let bench = Bench::new();
    let server = played(&row["observed"]);
    let ran = get(&bench, &[&[&server.url("/file"), "--json"], flags].concat());
    ran.said(0, &[]);
    is_whole(&bench, "file", &content(LENGTH));
    let line: Value = serde_json::from_str(&ran.out).unwrap();
    let received = match expected["outcome"].as_str().unwrap() {
        "resumed" => LENGTH,
        _ => LENGTH + CUT,
    };
    assert_eq!(line["received"], received, "{name}, {run}: {ran:?}");
    let why = expected["why"].as_str().unwrap();
    assert!(ran.err.contains(why), "{name}, {run}: {ran:?}");
}

#[test]
fn servers_are_gone_on_from_as_they_were_observed() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/resume/servers.json");
    let all: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let servers = all["servers"].as_array().unwrap();
    assert!(servers.len() >= 25, "{}", servers.len());
    let bench = Bench::new();
    bench.write("expected", content(LENGTH));
    let digest = sha256(&bench, "expected");
    // They pause before the second try, so they run side by side.
    std::thread::scope(|scope| {
        for row in servers {
            let digest = &digest;
            scope.spawn(move || {
                comes_to(row, "alone", &[]);
                comes_to(row, "digest", &["--sha256", digest]);
            });
        }
    });
}
