//! How long a stop waits for whom, and connections that are not kept, in virtual time. With sockets: `endurance.rs`.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

use endpoint::{Action, SocketId};
use origin::{Limits, ListenerKind, Origin, OriginConfig, Parts, WallClock};
use proto::h1::KeepAlive;
use sim::{Host, Path, Scripted, Transcript, World};
use std::time::Duration;
use unit::Instant;
use wire::h2::{Frame, Setting, SettingId};

const ADDRESS: &str = "10.0.0.2:80";
const START: Instant = Instant::from_nanos(1_000_000_000);

struct Bench {
    world: World,
    origin: Host<Origin>,
    peer: Host<Scripted<Transcript>>,
}

impl Bench {
    fn new() -> Self {
        Self::of(KeepAlive::On)
    }

    fn of(keep_alive: KeepAlive) -> Self {
        Self::set(|usual| OriginConfig { keep_alive, ..usual })
    }

    fn set(change: impl FnOnce(OriginConfig) -> OriginConfig) -> Self {
        let wall_clock = WallClock { at: START, unix: Duration::from_secs(784_111_777) };
        let config = change(OriginConfig::new(vec![ListenerKind::Clear], wall_clock));
        let mut world = World::new(1);
        let origin = world.listen(ADDRESS, Origin::new(config, Parts::default()));
        let peer = world.host("10.0.0.1", Scripted::new(Transcript::default()));
        world.connect(peer, origin, Path::delay(Duration::ZERO));
        world.record_actions(origin);
        Self { world, origin, peer }
    }

    fn connect(&mut self, said: &[u8]) -> SocketId {
        let socket = self.world.with(self.peer, |peer| peer.connect(ADDRESS));
        self.wait(0);
        self.say(socket, said);
        socket
    }

    fn say(&mut self, socket: SocketId, said: &[u8]) {
        self.world.with(self.peer, |peer| peer.send(socket, said));
        self.wait(0);
    }

    fn heard(&mut self, socket: SocketId) -> Vec<u8> {
        self.world.with(self.peer, |peer| peer.script_mut().take_received(socket))
    }

    fn wait(&mut self, millis: u64) {
        self.world.run_for(Duration::from_millis(millis));
    }

    fn stop(&mut self) {
        self.world.stop(self.origin);
        self.wait(0);
    }

    fn connections(&self) -> usize {
        self.world.end_point(self.origin).connections()
    }

    fn has_finished(&mut self) -> bool {
        self.world.take_actions(self.origin).contains(&Action::Finish)
    }
}

/// A client's first bytes, and a request for this path where the window of its stream is 0.
fn asked(path: &str) -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    let (id, value) = (SettingId::INITIAL_WINDOW_SIZE, 0);
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

fn millis(span: Duration) -> u64 {
    span.as_millis() as u64
}

#[test]
fn a_peer_without_streams_that_ignores_goaway_is_not_waited_for() {
    let mut bench = Bench::new();
    let socket = bench.connect(&asked(""));
    bench.heard(socket);
    bench.stop();
    assert_eq!(goaways(&bench.heard(socket)), 1, "RFC 9113 §6.8: the first excludes nothing");
    assert!(!bench.has_finished(), "a request may be on its way");
    bench.wait(millis(Limits::default().drain_stall));
    assert_eq!(goaways(&bench.heard(socket)), 1, "the second names the last stream");
    assert!(bench.has_finished());
}

#[test]
fn a_peer_that_neither_sends_nor_takes_a_byte_is_ended() {
    let mut bench = Bench::new();
    bench.connect(&asked("/image/1?bytes=9000"));
    bench.connect(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");
    bench.wait(5_000);
    bench.stop();
    bench.wait(millis(Limits::default().drain_stall) - 1);
    assert!(!bench.has_finished());
    // Our own GOAWAY was sent meanwhile.
    bench.wait(millis(Limits::default().drain_stall));
    assert!(bench.has_finished());
}

#[test]
fn a_peer_that_takes_a_byte_now_and_then_is_waited_for() {
    let mut bench = Bench::new();
    let socket = bench.connect(&asked("/image/1?bytes=9"));
    bench.stop();
    let mut update = Vec::new();
    Frame::WindowUpdate { stream: 1, increment: 1 }.encode(&mut update);
    for _ in 0..8 {
        bench.wait(1_000);
        bench.say(socket, &update);
        assert!(!bench.has_finished());
    }
    bench.say(socket, &update);
    assert!(bench.has_finished(), "the response is whole");
}

#[test]
fn a_response_that_the_server_itself_delays_is_waited_for() {
    let mut bench = Bench::new();
    let socket = bench.connect(b"GET /image/1?bytes=3&delay_ms=6000 HTTP/1.1\r\nHost: a\r\n\r\n");
    bench.stop();
    bench.wait(5_999);
    assert!(!bench.has_finished());
    bench.wait(1);
    assert!(bench.heard(socket).starts_with(b"HTTP/1.1 200 OK\r\n"));
    assert!(bench.has_finished());
}

#[test]
fn a_connection_that_is_not_kept_ends_once_every_response_is_sent() {
    let mut bench = Bench::of(KeepAlive::Off);
    let idle = bench.connect(&asked(""));
    let socket = bench.connect(&asked("/image/1?bytes=9"));
    bench.wait(1_000);
    assert_eq!(goaways(&bench.heard(socket)), 0, "its body waits for credit");
    let mut update = Vec::new();
    Frame::WindowUpdate { stream: 1, increment: 9 }.encode(&mut update);
    bench.say(socket, &update);
    assert_eq!(goaways(&bench.heard(socket)), 1);
    bench.wait(millis(Limits::default().drain_stall));
    assert_eq!(bench.connections(), 1, "the one without a request stays");
    assert_eq!(goaways(&bench.heard(idle)), 0);
}

#[test]
fn http1_says_in_its_first_response_that_a_connection_is_not_kept() {
    let request = b"GET /image/1?bytes=3 HTTP/1.1\r\nHost: a\r\n\r\n";
    for (keep_alive, closes) in [(KeepAlive::Off, true), (KeepAlive::On, false)] {
        let mut bench = Bench::of(keep_alive);
        let socket = bench.connect(request);
        let heard = String::from_utf8_lossy(&bench.heard(socket)).into_owned();
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
        let socket = bench.connect(&h1(path));
        assert!(answered(&bench.heard(socket), b"200"), "{path}");
        assert_eq!(bench.connections(), 2 * kept, "{path}");
        assert!(bench.heard(beside).is_empty());
    }
    let mut bench = Bench::set(|usual| OriginConfig { visits: true, ..usual });
    let socket = bench.connect(&asked("/visit?close"));
    let mut update = Vec::new();
    Frame::WindowUpdate { stream: 1, increment: 100 }.encode(&mut update);
    bench.say(socket, &update);
    assert_eq!(goaways(&bench.heard(socket)), 1);
    let mut bench = Bench::new();
    let socket = bench.connect(&h1("/visit?close"));
    assert!(answered(&bench.heard(socket), b"404"));
    assert_eq!(bench.connections(), 1, "it is a path as any other");
}

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
            let mut bench = Bench::new();
            let socket = bench.connect(if version == 1 { b"" } else { HTTP2 });
            let mut number = 0;
            let mut ask = |bench: &mut Bench| {
                bench.say(socket, &asked_again(version, number, path));
                number += 1;
            };
            for _ in 0..5 {
                ask(&mut bench);
                bench.wait(100);
            }
            bench.stop();
            let mut waited = 0;
            while !bench.has_finished() {
                ask(&mut bench);
                bench.wait(100);
                waited += 100;
                assert!(waited <= millis(limits.drain), "HTTP/{version} {path}");
            }
            // Requests that came before the second GOAWAY count as under way.
            let answers = delay + millis(limits.drain_stall) / 2;
            assert!(waited <= answers + 100, "HTTP/{version} {path}: {waited} ms");
            let heard = bench.heard(socket);
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
        bench.say(socket, &asked_again(version, 0, path));
        bench.stop();
        let mut waited = 0;
        while !bench.has_finished() {
            bench.say(socket, &asked_again(version, 1 + waited, path));
            bench.wait(100);
            waited += 1;
            assert!(waited <= 200, "HTTP/{version}");
        }
        assert_eq!(u64::from(waited) * 100, millis(Limits::default().drain), "HTTP/{version}");
    }
}

/// A client's first bytes.
const HTTP2: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";
