//! How long a stop waits for whom, and connections that are not kept, in virtual time. With sockets: `endurance.rs`.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

mod bench;

use bench::Bench;
use endpoint::Action;
use origin::{Limits, OriginConfig};
use proto::h1::KeepAlive;
use std::time::Duration;
use wire::h2::{Frame, Setting, SettingId};

/// A client's first bytes, and a request for this path where the window of its stream is 0.
fn asked(path: &str) -> Vec<u8> {
    asked_with_window(path, 0)
}

/// The same with a window of this many bytes.
fn asked_with_window(path: &str, value: u32) -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    let id = SettingId::INITIAL_WINDOW_SIZE;
    Setting::encode_all(&[Setting { id, value }], &mut bytes);
    Frame::SettingsAck.encode(&mut bytes);
    if !path.is_empty() {
        let mut block = b"\x82\x86\x04".to_vec();
        block.push(path.len() as u8);
        block.extend_from_slice(path.as_bytes());
        block.extend_from_slice(b"\x01\x01a");
        let (stream, end_stream, end_headers) = (1, true, true);
        let (block, dependency, padding) = (&block[..], None, None);
        Frame::Headers { stream, block, end_stream, end_headers, dependency, padding }
            .encode(&mut bytes);
    }
    bytes
}

/// How many GOAWAY frames without a text are among these bytes.
fn goaways(heard: &[u8]) -> usize {
    heard.windows(9).filter(|head| head[..5] == [0, 0, 8, 7, 0]).count()
}

const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Whose origin keeps connections or does not.
fn keeping(keep_alive: KeepAlive) -> Bench {
    Bench::set(|usual| OriginConfig { keep_alive, ..usual })
}

fn has_finished(bench: &mut Bench) -> bool {
    bench.take_actions().contains(&Action::Finish)
}

/// How long a connection that was just accepted is kept for its first request.
const FIRST_REQUEST: Duration = millis(100);

#[test]
fn a_connection_that_was_just_accepted_has_a_moment_for_its_first_request() {
    let get = b"GET /image/1?bytes=3 HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut bench = Bench::new();
    // Accepted too long ago, without a request; one with a half; two without; one that speaks HTTP/2.
    let old = bench.accept();
    bench.wait(FIRST_REQUEST * 2);
    let (half, late, silent) = (bench.connect(&get[..30]), bench.accept(), bench.accept());
    let multiplexed = bench.connect(HTTP2);
    let served = bench.connect(get);
    bench.take_actions();
    bench.stop();
    assert_eq!(bench.take_actions(), [Action::Close(old), Action::Close(served)]);
    bench.wait(FIRST_REQUEST / 2);
    bench.say(half, &get[30..]);
    bench.say(late, get);
    for socket in [half, late] {
        assert!(bench.hear(socket).starts_with(b"HTTP/1.1 200 OK\r\n"));
    }
    let actions = bench.take_actions();
    assert!(actions.contains(&Action::Close(half)) && actions.contains(&Action::Close(late)));
    assert_eq!(goaways(&bench.hear(multiplexed)), 0);
    bench.wait(FIRST_REQUEST / 2);
    assert!(bench.take_actions().contains(&Action::Close(silent)));
    assert_eq!(goaways(&bench.hear(multiplexed)), 1);
    bench.wait(Limits::default().drain_stall);
    assert!(has_finished(&mut bench));
}

#[test]
fn a_peer_without_streams_that_ignores_goaway_is_not_waited_for() {
    let mut bench = Bench::new();
    let socket = bench.connect(asked(""));
    bench.hear(socket);
    bench.wait(2 * FIRST_REQUEST);
    bench.stop();
    assert_eq!(goaways(&bench.hear(socket)), 1, "RFC 9113 §6.8: the first excludes nothing");
    assert!(!has_finished(&mut bench), "a request may be on its way");
    bench.wait(Limits::default().drain_stall);
    assert_eq!(goaways(&bench.hear(socket)), 1, "the second names the last stream");
    assert!(has_finished(&mut bench));
}

#[test]
fn a_peer_that_neither_sends_nor_takes_a_byte_is_ended() {
    let mut bench = Bench::new();
    bench.connect(asked("/image/1?bytes=9000"));
    bench.connect(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");
    bench.wait(millis(5_000));
    bench.stop();
    bench.wait(Limits::default().drain_stall - millis(1));
    assert!(!has_finished(&mut bench));
    // Our own GOAWAY was sent meanwhile.
    bench.wait(Limits::default().drain_stall);
    assert!(has_finished(&mut bench));
}

#[test]
fn a_peer_that_broke_its_protocol_and_takes_nothing_is_ended_whatever_it_sends() {
    let mut bench = Bench::new();
    let credit = b"\0\0\x04\x08\0\0\0\0\0\x7f\0\0\0";
    let asked = asked_with_window("/image/1?bytes=1000000", 1_000_000);
    let socket = bench.connect_deaf([&asked[..], credit].concat());
    // DATA on stream 0 (RFC 9113 §6.1).
    bench.say(socket, b"\0\0\x01\0\0\0\0\0\0x");
    for _ in 0..10 {
        assert_eq!((bench.aborts(), bench.connections()), (0, 1), "the last bytes have some time");
        bench.say(socket, b"\0\0\x08\x06\0\0\0\0\0pingping");
        bench.wait(Limits::default().last_bytes / 10);
    }
    assert_eq!((bench.aborts(), bench.connections()), (1, 0));
}

#[test]
fn a_peer_that_takes_a_byte_now_and_then_is_waited_for() {
    let mut bench = Bench::new();
    let socket = bench.connect(asked("/image/1?bytes=9"));
    bench.stop();
    let mut update = Vec::new();
    Frame::WindowUpdate { stream: 1, increment: 1 }.encode(&mut update);
    for _ in 0..8 {
        bench.wait(millis(1_000));
        bench.say(socket, &update);
        assert!(!has_finished(&mut bench));
    }
    bench.say(socket, &update);
    assert!(has_finished(&mut bench), "the response is whole");
}

#[test]
fn a_response_that_the_server_itself_delays_is_waited_for() {
    let mut bench = Bench::new();
    let socket = bench.connect(b"GET /image/1?bytes=3&delay_ms=6000 HTTP/1.1\r\nHost: a\r\n\r\n");
    bench.stop();
    bench.wait(millis(5_999));
    assert!(!has_finished(&mut bench));
    bench.wait(millis(1));
    assert!(bench.hear(socket).starts_with(b"HTTP/1.1 200 OK\r\n"));
    assert!(has_finished(&mut bench));
}

#[test]
fn a_connection_that_is_not_kept_ends_once_every_response_is_sent() {
    let mut bench = keeping(KeepAlive::Off);
    let idle = bench.connect(asked(""));
    let socket = bench.connect(asked("/image/1?bytes=9"));
    bench.wait(millis(1_000));
    assert_eq!(goaways(&bench.hear(socket)), 0, "its body waits for credit");
    let mut update = Vec::new();
    Frame::WindowUpdate { stream: 1, increment: 9 }.encode(&mut update);
    bench.say(socket, &update);
    assert_eq!(goaways(&bench.hear(socket)), 1);
    bench.wait(Limits::default().drain_stall);
    assert_eq!(bench.connections(), 1, "the one without a request stays");
    assert_eq!(goaways(&bench.hear(idle)), 0);
}

#[test]
fn http1_says_in_its_first_response_that_a_connection_is_not_kept() {
    let request = b"GET /image/1?bytes=3 HTTP/1.1\r\nHost: a\r\n\r\n";
    for (keep_alive, closes) in [(KeepAlive::Off, true), (KeepAlive::On, false)] {
        let mut bench = keeping(keep_alive);
        let socket = bench.connect(request);
        let heard = String::from_utf8_lossy(&bench.hear(socket)).into_owned();
        assert_eq!(heard.to_lowercase().contains("\r\nconnection: close\r\n"), closes, "{heard}");
    }
}

#[test]
fn a_visit_closes_its_connection_where_it_asks_for_that_and_there_is_none_elsewhere() {
    let h1 = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes();
    let answered = |heard: &[u8], status: &[u8]| heard.windows(3).any(|three| three == status);
    for (path, kept) in
        [("/visit", 1), ("/visit?nth=2", 1), ("/visit?close", 0), ("/visit?close&nth=2", 0)]
    {
        let mut bench = Bench::set(|usual| OriginConfig { visits: true, ..usual });
        let beside = bench.connect(b"");
        let socket = bench.connect(h1(path));
        assert!(answered(&bench.hear(socket), b"200"), "{path}");
        assert_eq!(bench.connections(), 2 * kept, "{path}");
        assert!(bench.hear(beside).is_empty());
    }
    let mut bench = Bench::set(|usual| OriginConfig { visits: true, ..usual });
    let socket = bench.connect(asked("/visit?close"));
    let mut update = Vec::new();
    Frame::WindowUpdate { stream: 1, increment: 100 }.encode(&mut update);
    bench.say(socket, &update);
    assert_eq!(goaways(&bench.hear(socket)), 1);
    let mut bench = Bench::new();
    let socket = bench.connect(h1("/visit?close"));
    assert!(answered(&bench.hear(socket), b"404"));
    assert_eq!(bench.connections(), 1, "it is a path as any other");
}

/// How long a peer that always asks again waits in between.
const TURN: Duration = Duration::from_millis(100);

/// What a peer that always asks again says next, by its number.
fn asked_again(version: u8, number: u32, path: &str) -> Vec<u8> {
    if version == 1 {
        return format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes();
    }
    let mut block = b"\x82\x86\x04".to_vec();
    block.push(path.len() as u8);
    block.extend_from_slice(path.as_bytes());
    block.extend_from_slice(b"\x01\x01a");
    let (stream, end_stream, end_headers) = (2 * number + 1, true, true);
    let (block, dependency, padding) = (&block[..], None, None);
    let mut bytes = Vec::new();
    Frame::Headers { stream, block, end_stream, end_headers, dependency, padding }
        .encode(&mut bytes);
    bytes
}

#[test]
fn a_peer_that_always_asks_again_is_not_waited_for_longer_than_its_first_requests_take() {
    let limits = Limits::default();
    for version in [1, 2] {
        for (path, delay) in [("/image/1?bytes=0", 0), ("/image/1?bytes=0&delay_ms=700", 700)] {
            let delay = millis(delay);
            let mut bench = Bench::new();
            let socket = bench.connect(if version == 1 { b"" } else { HTTP2 });
            let mut number = 0;
            let mut ask = |bench: &mut Bench| {
                bench.say(socket, asked_again(version, number, path));
                number += 1;
            };
            for _ in 0..5 {
                ask(&mut bench);
                bench.wait(TURN);
            }
            bench.stop();
            let mut waited = Duration::ZERO;
            while !has_finished(&mut bench) {
                ask(&mut bench);
                bench.wait(TURN);
                waited += TURN;
                assert!(waited <= limits.drain, "HTTP/{version} {path}");
            }
            // Requests that came before the second GOAWAY count as under way.
            let answers = delay + limits.drain_stall / 2;
            assert!(waited <= answers + TURN, "HTTP/{version} {path}: {waited:?}");
            let heard = bench.hear(socket);
            let answered = match version {
                1 => heard.starts_with(b"HTTP/1.1 200 OK\r\n"),
                _ => goaways(&heard) == 2,
            };
            assert!(answered, "HTTP/{version} {path}");
        }
    }
}

#[test]
fn a_peer_that_asks_again_for_what_never_ends_has_the_time_for_requests_and_no_more() {
    for version in [1, 2] {
        let mut bench = Bench::new();
        let socket = bench.connect(if version == 1 { b"" } else { HTTP2 });
        // The server itself delays it, so that nobody is stalled.
        let path = "/image/1?bytes=3&delay_ms=60000";
        bench.say(socket, asked_again(version, 0, path));
        bench.stop();
        let mut waited = 0;
        while !has_finished(&mut bench) {
            bench.say(socket, asked_again(version, 1 + waited, path));
            bench.wait(TURN);
            waited += 1;
            assert!(waited <= 200, "HTTP/{version}");
        }
        assert_eq!(TURN * waited, Limits::default().drain, "HTTP/{version}");
    }
}

/// A client's first bytes.
const HTTP2: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";
