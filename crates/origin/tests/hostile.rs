//! What peers that mean no good can make the origin hold, in virtual time.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

use endpoint::{Action, SendBuf, SocketId};
use origin::{Limits, ListenerKind, Origin, OriginConfig, Parts, WallClock};
use page::Synthetic;
use proto::ws::{Agreed, Connection, DeflateParameters, MessageKind, Role};
use sim::{Host, Path, Scripted, Transcript, World};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use trace::Tracer;
use unit::{Instant, Seed};
use wire::Field;
use wire::h2::{Frame, Setting, SettingId};
use wire::hpack::Encoder;

const ADDRESS: &str = "10.0.0.2:80";
const START: Instant = Instant::from_nanos(1_000_000_000);
const PAGE: &str = "/page?images=100000&bytes=5000";

/// An origin and peers, no time apart.
struct Bench {
    world: World,
    origin: Host<Origin>,
    peer: Host<Scripted<Transcript>>,
}

impl Bench {
    fn new(limits: Limits) -> Self {
        let wall_clock = WallClock { at: START, unix: Duration::from_secs(784_111_777) };
        let listeners = vec![ListenerKind::Clear];
        let config = OriginConfig { limits, ..OriginConfig::new(listeners, wall_clock) };
        let mut world = World::new(1);
        let origin = world.listen(ADDRESS, Origin::new(config, Parts::default()));
        let peer = world.host("10.0.0.1", Scripted::new(Transcript::default()));
        world.connect(peer, origin, Path::delay(Duration::ZERO));
        world.record_actions(origin);
        Self { world, origin, peer }
    }

    fn connect(&mut self, said: &[u8]) -> SocketId {
        let socket = self.world.with(self.peer, |peer| peer.connect(ADDRESS));
        self.wait(Duration::ZERO);
        self.say(socket, said);
        socket
    }

    fn say(&mut self, socket: SocketId, said: &[u8]) {
        self.world.with(self.peer, |peer| peer.send(socket, said));
        self.wait(Duration::ZERO);
    }

    fn hear(&mut self, socket: SocketId) -> Vec<u8> {
        self.world.with(self.peer, |peer| peer.script_mut().take_received(socket))
    }

    fn wait(&mut self, span: Duration) {
        self.world.run_for(span);
    }

    fn connections(&self) -> usize {
        self.world.end_point(self.origin).connections()
    }

    fn aborts(&mut self) -> usize {
        let actions = self.world.take_actions(self.origin);
        actions.iter().filter(|action| matches!(action, Action::Abort(_))).count()
    }
}

/// The frames of a client, written by hand.
struct Frames {
    bytes: Vec<u8>,
    encoder: Encoder,
}

impl Frames {
    /// With a preface and this initial window.
    fn with_window(window: u32) -> Self {
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        let (id, value) = (SettingId::INITIAL_WINDOW_SIZE, window);
        Setting::encode_all(&[Setting { id, value }], &mut bytes);
        Frame::SettingsAck.encode(&mut bytes);
        Self { bytes, encoder: Encoder::new(4096) }
    }

    fn head(&mut self, stream: u32, end_stream: bool, fields: &[(&str, &str)]) {
        let mut block = Vec::new();
        self.encoder.begin(&mut block);
        for (name, value) in fields {
            let (name, value) = (name.as_bytes(), value.as_bytes());
            self.encoder.field(Field { name, value, sensitive: false }, &mut block);
        }
        let (end_headers, dependency, padding) = (true, None, None);
        let block = &block[..];
        Frame::Headers { stream, block, end_stream, end_headers, dependency, padding }
            .encode(&mut self.bytes);
    }

    fn get(&mut self, stream: u32, path: &str, more: &[(&str, &str)]) {
        let head = [(":method", "GET"), (":scheme", "http"), (":path", path), (":authority", "a")];
        self.head(stream, true, &[&head, more].concat());
    }

    /// A request with 14 fields of 3,900 bytes, of one byte each where the dynamic table has the field.
    fn large_fields(&mut self, stream: u32) {
        let mut block = b"\x82\x86\x04\x05/page\x01\x01a".to_vec();
        if stream == 1 {
            // RFC 7541 §6.2.1, and 3,900 as an integer of 7 bits (§5.1).
            block.extend_from_slice(b"\x40\x01x\x7f\xbd\x1d");
            block.extend_from_slice(&[b'y'; 3_900]);
        }
        // The newest entry of the dynamic table.
        block.extend_from_slice(&[0xBE; 14]);
        let (end_stream, end_headers, dependency, padding) = (true, true, None, None);
        let block = &block[..];
        Frame::Headers { stream, block, end_stream, end_headers, dependency, padding }
            .encode(&mut self.bytes);
    }

    fn data(&mut self, stream: u32, data: &[u8]) {
        let (end_stream, padding) = (false, None);
        Frame::Data { stream, data, end_stream, padding }.encode(&mut self.bytes);
    }

    fn web_socket(&mut self, stream: u32) {
        let deflate = ("sec-websocket-extensions", "permessage-deflate");
        self.web_socket_at(stream, "/ws/echo", &[deflate]);
    }

    /// A WebSocket that asks for tokens by its first message, masked with zeros.
    fn token_socket(&mut self, stream: u32, query: &str) {
        self.web_socket_at(stream, "/ws/stream", &[]);
        let mut message = vec![0x81, 0x80 | query.len() as u8, 0, 0, 0, 0];
        message.extend_from_slice(query.as_bytes());
        self.data(stream, &message);
    }

    fn web_socket_at(&mut self, stream: u32, path: &str, more: &[(&str, &str)]) {
        let head = [
            (":method", "CONNECT"),
            (":protocol", "websocket"),
            (":scheme", "http"),
            (":path", path),
            (":authority", "a"),
            ("sec-websocket-version", "13"),
        ];
        self.head(stream, false, &[&head, more].concat());
    }
}

fn streams(count: u32) -> impl Iterator<Item = u32> {
    (0..count).map(|index| 2 * index + 1)
}

/// A frame of a message that inflates to 16 MB and does not end.
fn bomb() -> Vec<u8> {
    let agreed = Agreed { deflate: Some(DeflateParameters::default()), ..Agreed::default() };
    let role = Role::Client { masks: Seed(3) };
    let mut client = Connection::new(START, role, Default::default(), &agreed, Tracer::off());
    client.send(MessageKind::Binary, vec![0; 16_000_000].into()).unwrap();
    let mut out = SendBuf::new();
    client.poll_transmit(START, &mut out, usize::MAX);
    let mut frame = out.to_vec();
    assert_eq!(frame[0], 0xC2, "one compressed binary frame");
    frame[0] = 0x42;
    frame
}

/// One test weighs the process: all wait for each other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of this process that lie in memory.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// Checks that an attack makes the process grow by no more than `most` bytes.
fn weigh(name: &str, most: usize, attack: impl FnOnce(&mut Bench)) {
    let mut bench = Bench::new(Limits::default());
    let before = resident();
    attack(&mut bench);
    let grown = resident().saturating_sub(before);
    assert!(grown < most, "{name}: {grown} bytes");
}

#[test]
fn memory_that_is_scarce_is_not_spent_on_compression() {
    let _alone = alone();
    let mut bench = Bench::new(Limits { held: 20_000_000, ..Limits::default() });
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
        let socket = bench.connect(&std::mem::take(&mut frames.bytes));
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

#[test]
fn a_page_made_as_it_is_sent_is_the_page() {
    let _alone = alone();
    let target = "/page?images=20000&bytes=7&seed=9&image_delay_ms=3";
    let html = target.parse::<Synthetic>().unwrap().html();
    let mut bench = Bench::new(Limits::default());
    let socket = bench.connect(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
    let heard = bench.hear(socket);
    let heard = String::from_utf8(heard).unwrap();
    assert!(heard.contains(&format!("content-length: {}\r\n", html.len())));
    assert!(heard.ends_with(&format!("\r\n\r\n{html}")));
}

/// Takes DATA apart; gives what a stream has carried.
fn carried(mut heard: &[u8], wanted: u32) -> Vec<u8> {
    let mut data = Vec::new();
    while heard.len() >= 9 {
        let length =
            usize::from(heard[0]) << 16 | usize::from(heard[1]) << 8 | usize::from(heard[2]);
        let stream = u32::from_be_bytes([heard[5], heard[6], heard[7], heard[8]]);
        if (heard[3], stream) == (0, wanted) {
            data.extend_from_slice(&heard[9..9 + length]);
        }
        heard = &heard[9 + length..];
    }
    data
}

fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    Frame::WindowUpdate { stream, increment }.encode(&mut bytes);
    bytes
}

#[test]
fn a_poll_made_as_it_is_sent_has_each_token_whole_and_no_more_than_it_may() {
    let _alone = alone();
    for (query, lines) in [
        ("count=1000&bytes=65536&every_ms=0&after=0&since=0", 4),
        ("count=1000&bytes=100&every_ms=0&after=9&since=0", 990),
        ("count=3&bytes=70&every_ms=0", 3),
    ] {
        let mut bench = Bench::new(Limits::default());
        let socket =
            bench.connect(format!("GET /poll?{query} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        let heard = String::from_utf8(bench.hear(socket)).unwrap();
        let (head, body) = heard.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
        let stream: page::SyntheticStream = query.parse().unwrap();
        let tokens: Vec<_> =
            body.lines().map(|line| (line, page::Token::parse(line).unwrap())).collect();
        assert_eq!(tokens.len(), lines, "{query}");
        for ((line, token), number) in tokens.iter().zip(tokens[0].1.number..) {
            assert_eq!((token.number, *line), (number, token.text(stream.bytes).as_str()));
        }
    }
}

#[test]
fn what_waited_for_credit_comes_whole_once_there_is_some() {
    let _alone = alone();
    let target = "/page?images=3000&seed=4";
    let html = target.parse::<Synthetic>().unwrap().html();
    let mut frames = Frames::with_window(0);
    frames.get(1, target, &[]);
    frames.get(3, "/stream?count=5&bytes=60000&every_ms=0", &[]);
    let head = [(":method", "POST"), (":scheme", "http"), (":path", "/echo"), (":authority", "a")];
    frames.head(5, false, &head);
    (0..10_000_u32).for_each(|index| frames.data(5, &[index as u8]));
    let mut bench = Bench::new(Limits::default());
    let socket = bench.connect(&frames.bytes);
    assert_eq!(carried(&bench.hear(socket), 1), b"");
    bench.say(socket, &window_update(0, 1_000_000));
    let mut heard = Vec::new();
    for increment in [1, 1, 100, 5_000, 400_000] {
        for stream in [1, 3, 5] {
            bench.say(socket, &window_update(stream, increment));
        }
        heard.extend(bench.hear(socket));
    }
    assert_eq!(carried(&heard, 1), html.as_bytes());
    assert!(carried(&heard, 3).len() > 5 * 60_000);
    let echoed: Vec<u8> = (0..10_000_u32).map(|index| index as u8).collect();
    assert_eq!(carried(&heard, 5), echoed);
}

#[test]
fn tokens_of_a_web_socket_come_whole_however_credit_comes() {
    let _alone = alone();
    // In pieces, by one byte first, before the tokens are due and after, and by SETTINGS.
    for increments in [&[1_u32, 400_000][..], &[700, 1, 1, 5_000, 100_000, 300_000], &[0, 500_000]]
    {
        let mut frames = Frames::with_window(0);
        frames.token_socket(1, "count=100&bytes=3000&every_ms=2");
        let mut bench = Bench::new(Limits::default());
        let socket = bench.connect(&frames.bytes);
        bench.say(socket, &window_update(0, 1_000_000));
        let mut heard = bench.hear(socket);
        for &increment in increments {
            bench.wait(Duration::from_millis(3));
            match increment {
                0 => {
                    let mut bytes = Vec::new();
                    let (id, value) = (SettingId::INITIAL_WINDOW_SIZE, 5);
                    Setting::encode_all(&[Setting { id, value }], &mut bytes);
                    bench.say(socket, &bytes);
                }
                _ => bench.say(socket, &window_update(1, increment)),
            }
            heard.extend(bench.hear(socket));
        }
        bench.wait(Duration::from_secs(1));
        heard.extend(bench.hear(socket));
        let body = carried(&heard, 1);
        // RFC 6455 §5.2: a text, and two bytes for its length.
        let frames: Vec<_> = body.chunks(4 + 3_000).collect();
        assert_eq!((body.len(), frames.len()), (100 * 3_004, 100), "{increments:?}");
        for (number, frame) in frames.into_iter().enumerate() {
            assert!(frame.starts_with(b"\x81\x7e\x0b\xb8"));
            let token = page::Token::parse(std::str::from_utf8(&frame[4..]).unwrap()).unwrap();
            assert_eq!(token.number as usize, number);
        }
    }
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
        let mut bench = Bench::new(limits);
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
        let mut bench = Bench::new(limits);
        let before = resident();
        // Those opened later would get no compression.
        let sockets: Vec<_> = (0..10)
            .map(|_| {
                let mut frames = Frames::with_window(65_535);
                frames.web_socket(1);
                bench.connect(&frames.bytes)
            })
            .collect();
        let mut frames = Frames { bytes: Vec::new(), ..Frames::with_window(65_535) };
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

#[test]
fn a_target_longer_than_8_kib_is_refused() {
    let _alone = alone();
    let mut bench = Bench::new(Limits::default());
    let path = "x".repeat(7_900);
    let said = |path: &str| format!("GET /{path} HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes();
    let socket = bench.connect(&said(&path));
    assert!(bench.hear(socket).starts_with(b"HTTP/1.1 404 "));
    let mut frames = Frames::with_window(65_535);
    frames.get(1, &format!("/{}", "x".repeat(8_200)), &[]);
    let socket = bench.connect(&frames.bytes);
    let heard = bench.hear(socket);
    assert_eq!(carried(&heard, 1), b"This target is too long.\n");
}

#[test]
fn pipelined_streams_are_sent_whole_each_in_its_turn() {
    let _alone = alone();
    let mut bench = Bench::new(Limits::default());
    let stream = "/stream?count=20&bytes=60000&every_ms=0&format=text";
    let said: String =
        (0..30).map(|_| format!("GET {stream} HTTP/1.1\r\nHost: a\r\n\r\n")).collect();
    let socket = bench.connect(said.as_bytes());
    let mut heard = &bench.hear(socket)[..];
    // Between heads, chunks (RFC 9112 §7.1).
    let mut text = Vec::new();
    while let Some(end) = heard.windows(2).position(|pair| pair == b"\r\n") {
        let line = std::str::from_utf8(&heard[..end]).unwrap();
        heard = &heard[end + 2..];
        if let Ok(length @ 1..) = usize::from_str_radix(line, 16) {
            text.extend_from_slice(&heard[..length]);
            heard = &heard[length + 2..];
        }
    }
    let text = String::from_utf8(text).unwrap();
    let whole = text.lines().filter(|line| line.starts_with("0 ") && line.len() == 60_000);
    assert_eq!(whole.count(), 30 * 20, "sent in pieces, and after those before them");
}

#[test]
fn many_bodies_of_one_connection_come_whole_where_the_peer_reads() {
    let _alone = alone();
    let page = "/page?images=3000&seed=4";
    let html = page.parse::<Synthetic>().unwrap().html();
    let mut frames = Frames::with_window(0x7fff_ffff);
    frames.bytes.extend(window_update(0, 0x7fff_0000));
    for id in streams(30) {
        let stream = "/stream?count=20&bytes=60000&every_ms=0&format=text";
        frames.get(id, if id % 4 == 1 { page } else { stream }, &[]);
    }
    let mut bench = Bench::new(Limits::default());
    let socket = bench.connect(&frames.bytes);
    let heard = bench.hear(socket);
    for id in streams(30) {
        let body = carried(&heard, id);
        if id % 4 == 1 {
            assert!(body == html.as_bytes(), "{} bytes of {id}", body.len());
        } else {
            let text = String::from_utf8(body).unwrap();
            let whole = text.lines().filter(|line| line.len() == 60_000).count();
            assert_eq!((whole, text.lines().count()), (20, 20), "tokens of {id}");
        }
    }
}
