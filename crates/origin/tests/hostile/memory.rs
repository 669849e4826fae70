//! What attacks may hold, by the weight of the process.

use super::alone;
use super::frames::{Frames, bomb, carried, streams};
use crate::bench::Bench;
use origin::Limits;
use std::time::Duration;
use testing::resident;

const PAGE: &str = "/page?images=100000&bytes=5000";

/// Checks that an attack makes the process grow by no more than `most` bytes.
fn weigh(name: &str, most: usize, attack: impl FnOnce(&mut Bench)) {
    let mut bench = Bench::new();
    let before = resident();
    attack(&mut bench);
    let grown = resident().saturating_sub(before);
    assert!(grown < most, "{name}: {grown} bytes");
}

#[test]
fn memory_that_is_scarce_is_not_spent_on_compression() {
    let _alone = alone();
    let mut bench = Bench::limited(Limits { held: 20_000_000, ..Limits::default() });
    let mut frames = Frames::with_window(65_535);
    frames.web_socket(1);
    let asked = frames.bytes.len();
    bomb().chunks(16_000).for_each(|part| frames.data(1, part));
    let first = bench.connect(&frames.bytes);
    let second = bench.connect(&frames.bytes[..asked]);
    let heads = [bench.hear(first).len(), bench.hear(second).len()];
    assert!(heads[0] > heads[1], "the first has Sec-WebSocket-Extensions: {heads:?}");
}

#[test]
fn attacks_hold_little_memory() {
    let _alone = alone();
    weigh("400 pages without credit", 8_000_000, |bench| {
        for connection in 0..4 {
            let mut frames = Frames::with_window(0);
            streams(100)
                .for_each(|id| frames.get(id, &format!("{PAGE}&seed={connection}{id}"), &[]));
            bench.connect(&frames.bytes);
        }
    });
    weigh("400 pages without credit for the connection", 8_000_000, |bench| {
        for connection in 0..4 {
            let mut frames = Frames::with_window(0x7fff_ffff);
            streams(100)
                .for_each(|id| frames.get(id, &format!("{PAGE}&seed={connection}{id}"), &[]));
            bench.connect(&frames.bytes);
        }
    });
    weigh("400 requests that refer to large fields", 8_000_000, |bench| {
        for _ in 0..4 {
            let mut frames = Frames::with_window(0);
            streams(100).for_each(|id| frames.large_fields(id));
            bench.connect(&frames.bytes);
        }
    });
    weigh("streams of large tokens without credit", 8_000_000, |bench| {
        let mut frames = Frames::with_window(0);
        streams(100).for_each(|id| frames.get(id, "/stream?count=100&bytes=65536&every_ms=0", &[]));
        bench.connect(&frames.bytes);
        bench.wait(Duration::from_secs(1));
    });
    weigh("a poll for all tokens at once", 4_000_000, |bench| {
        let mut frames = Frames::with_window(0);
        let path = "/poll?count=1000&bytes=65536&every_ms=0&after=0&since=0";
        streams(4).for_each(|id| frames.get(id, path, &[]));
        bench.connect(&frames.bytes);
    });
    weigh("400 polls for all tokens at once without credit", 8_000_000, |bench| {
        for _ in 0..4 {
            let mut frames = Frames::with_window(0);
            let path = "/poll?count=1000&bytes=65536&every_ms=0&after=0&since=0";
            streams(100).for_each(|id| frames.get(id, path, &[]));
            bench.connect(&frames.bytes);
        }
    });
    weigh("400 WebSockets with tokens without credit", 8_000_000, |bench| {
        for _ in 0..4 {
            let mut frames = Frames::with_window(0);
            streams(100)
                .for_each(|id| frames.token_socket(id, "count=10000&bytes=65536&every_ms=1"));
            bench.connect(&frames.bytes);
        }
        bench.wait(Duration::from_secs(1));
    });
    weigh("a million bytes of echo in frames of one", 16_000_000, |bench| {
        let mut frames = Frames::with_window(0);
        let head =
            [(":method", "POST"), (":scheme", "http"), (":path", "/echo"), (":authority", "a")];
        streams(10).for_each(|id| frames.head(id, false, &head));
        let socket = bench.connect(std::mem::take(&mut frames.bytes));
        for _ in 0..100 {
            streams(10).for_each(|id| frames.data(id, b"x"));
        }
        for _ in 0..1_000 {
            bench.say(socket, &frames.bytes);
        }
        assert_eq!(bench.connections(), 1);
    });
    weigh("a hundred messages that inflate to 16 MB each", 100_000_000, |bench| {
        let (bomb, mut frames) = (bomb(), Frames::with_window(65_535));
        streams(100).for_each(|id| frames.web_socket(id));
        streams(100).for_each(|id| bomb.chunks(16_000).for_each(|part| frames.data(id, part)));
        bench.connect(&frames.bytes);
        assert_eq!(bench.connections(), 1, "the WebSockets that held most were reset");
    });
}

/// Memory for one message of 16 MB.
fn scarce() -> [Limits; 2] {
    let limits = Limits::default();
    [Limits { held_by_peer: 20_000_000, ..limits }, Limits { held: 20_000_000, ..limits }]
}

#[test]
fn whoever_holds_most_is_ended_first() {
    let _alone = alone();
    // RFC 6455 §1.3, and a binary frame of a message without end, 16 MB long and masked with zeros.
    let upgrade =
        b"GET /ws/echo HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    let mut message = b"\x02\xff".to_vec();
    message.extend_from_slice(&16_000_000_u64.to_be_bytes());
    message.resize(message.len() + 4 + 16_000_000, 0);
    for limits in scarce() {
        let mut bench = Bench::limited(limits);
        let modest = bench.connect(b"GET /image/1?bytes=3 HTTP/1.1\r\nHost: a\r\n\r\n");
        let greedy: Vec<_> = (0..3).map(|_| bench.connect(upgrade)).collect();
        for socket in greedy {
            bench.say(socket, &message);
        }
        assert_eq!((bench.aborts(), bench.connections()), (2, 2), "16 MB are within 20 MB");
        bench.hear(modest);
        bench.say(modest, b"GET /image/1?bytes=3 HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(bench.hear(modest).starts_with(b"HTTP/1.1 200 OK\r\n"));
    }
}

#[test]
fn a_message_that_inflates_to_more_than_is_left_is_refused_before_it_does() {
    let _alone = alone();
    let bomb = bomb();
    for limits in scarce() {
        let mut bench = Bench::limited(limits);
        let before = resident();
        // Those opened later would get no compression.
        let sockets: Vec<_> = (0..10)
            .map(|_| {
                let mut frames = Frames::with_window(65_535);
                frames.web_socket(1);
                bench.connect(&frames.bytes)
            })
            .collect();
        let mut frames = Frames::with_window(65_535);
        frames.bytes.clear();
        bomb.chunks(16_000).for_each(|part| frames.data(1, part));
        for socket in &sockets {
            bench.say(*socket, &frames.bytes);
        }
        let answers =
            sockets.iter().map(|socket| carried(&bench.hear(*socket), 1)).collect::<Vec<_>>();
        // RFC 6455 §5.5.1, §7.4.1: Close with 1009.
        let refused = answers.iter().filter(|answer| answer.ends_with(b"\x88\x02\x03\xf1")).count();
        assert_eq!((refused, bench.aborts(), bench.connections()), (9, 0, 10));
        let grown = resident().saturating_sub(before);
        assert!(grown < 60_000_000, "{grown} bytes");
    }
}
