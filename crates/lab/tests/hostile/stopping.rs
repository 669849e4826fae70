//! SIGTERM to a server that is under attack: who is served comes to a good end, and nobody else holds it for long.

use crate::bench::{Bench, Running};
use crate::frames::{END_HEADERS, END_STREAM, preface, request};
use crate::process::eventually;
use crate::served::{BIG, Secured, Served};
use os::reactor::Backend;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// What the page of limits promises for requests that are under way (docs/security.md).
const STATED: Duration = Duration::from_secs(10);

/// Allowed on a busy machine. The server that waits for a reader who stands still would take two minutes (`--stall-timeout`).
const ALLOWED: Duration = Duration::from_secs(60);

#[test]
fn a_stop_under_attack_finishes_honest_transfers_and_ends_in_time() {
    let bench = Bench::new();
    let mut served = Served::start(&bench, "--verbose --listen-quic 127.0.0.1:0");
    let quic = served.await_quic();
    let url = |path: &str| format!("https://{quic}{path}");
    let held = Held::open(&served);
    let quic_peers = [
        // Idle between two requests, and in the middle of a gigabyte.
        quic_peer(&bench, &url("/a.txt"), &["--rate", "5"]),
        quic_peer(&bench, &url("/image/1?bytes=1073741824"), &["-m", "4"]),
    ];
    served.await_line("h3 GET ");
    let ticks = served.process.ticks();
    eventually("the server sends the gigabyte", || served.process.ticks() > ticks + 5);
    let mut honest = served.connect();
    honest.write_all(b"GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut body = vec![0; BIG / 10];
    honest.read_exact(&mut body).unwrap();
    let tokens = url("/stream?count=20&bytes=10000&every_ms=100&format=text");
    let get = ["get", "-k", "--http3", "-o", "tokens", &tokens];
    let streaming = bench.start(bench.wirelap(&get));
    eventually("tokens come", || !names(&bench, "tokens").is_empty());
    // From now on these two say and acknowledge nothing.
    quic_peers.iter().for_each(|peer| peer.signal("STOP"));

    served.terminate();
    let stopped = Instant::now();
    let length = read_slowly(honest, body);
    assert_eq!(length, BIG, "the transfer that was under way is whole");
    let ran = streaming.end();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(fs::metadata(bench.path("tokens")).unwrap().len() >= 200_000);
    served.has_ended();
    let took = stopped.elapsed();
    eprintln!("serve ended {took:?} after SIGTERM; {STATED:?} are stated");
    assert!(took < ALLOWED, "{took:?}");

    drop(held);
    for peer in quic_peers {
        peer.signal("CONT");
        peer.signal("INT");
        let ran = peer.end();
        let result: Value = serde_json::from_str(&ran.out).unwrap();
        assert!(result["connects"]["opened"].as_u64().unwrap() >= 2, "{result:#}");
    }
}

#[test]
fn requests_that_came_before_the_stop_are_answered() {
    let bench = Bench::new();
    for (reactor, backend) in [("epoll", Backend::Epoll), ("io-uring", Backend::IoUring)] {
        if let Err(error) = backend.probe() {
            testing::skip(format_args!("{error}"));
            continue;
        }
        let served = Served::start(&bench, &format!("--reactor {reactor}"));
        let mut asked = Vec::new();
        served.stands_still(|| {
            asked.extend((0..200).map(|_| {
                let mut stream = served.connect();
                stream.write_all(b"GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
                stream
            }));
            served.terminate();
        });
        for mut stream in asked {
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 200 "), "{reactor}: {answer:?}");
        }
        served.has_ended();
    }
}

/// Peers that take no part in the end: they read nothing, or have nothing to ask for and answer no GOAWAY.
struct Held {
    _clear: Vec<TcpStream>,
    _secured: Vec<Secured>,
}

impl Held {
    fn open(served: &Served) -> Self {
        let said = |bytes: &[u8]| {
            let mut stream = served.connect();
            stream.write_all(bytes).unwrap();
            stream
        };
        let mut asked = preface();
        for index in 0..50 {
            asked.extend(request(2 * index + 1, "/big.bin", END_STREAM | END_HEADERS));
        }
        let mut clear = Vec::new();
        for _ in 0..5 {
            clear.push(said(b"GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n"));
            clear.push(said(&asked));
            clear.push(said(&preface()));
            clear.push(said(b""));
            clear.push(said(b"GET /half HTTP"));
        }
        let secured = (0..5).map(|_| {
            let mut secured = served.connect_securely();
            secured.send(b"GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n");
            secured
        });
        Self { _secured: secured.collect(), _clear: clear }
    }
}

/// A load over two connections of HTTP/3, which goes on until it is suspended.
fn quic_peer(bench: &Bench, url: &str, more: &[&str]) -> Running {
    let load = ["load", "--json", "-k", "--http3", "-c", "2", "-d", "60s", url];
    bench.start(bench.wirelap(&[&load, more].concat()))
}

fn names(bench: &Bench, prefix: &str) -> Vec<String> {
    let entries = fs::read_dir(&bench.folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(prefix)).collect()
}

/// Reads the rest of a response, within about a second. The length of its body.
fn read_slowly(mut stream: TcpStream, mut all: Vec<u8>) -> usize {
    let mut piece = vec![0; BIG / 200];
    loop {
        match stream.read(&mut piece).unwrap() {
            0 => break,
            length => all.extend_from_slice(&piece[..length]),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let head = all.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    all.len() - head - 4
}
