//! What machines count of heads, against each other in virtual time, against figures worked out by hand and
//! from the RFC, and against what nghttp prints of the same connection.

#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

mod support;

use bytes::Bytes;
use endpoint::SendBuf;
use proto::schedule::RoundRobin;
use proto::{
    ByteStreamConnection, ClientConnection, Connection, Event, Fin, RequestHead, ResponseHead,
    Scheme, ServerConnection, Status, h1, h2, spdy,
};
use std::net::TcpListener;
use std::process::Command;
use support::drive::drive;
use support::peers::run;
use support::site::Site;
use trace::{HeaderBytes, HeaderSize, Tracer};
use unit::Instant;

const NOW: Instant = Instant::from_nanos(1_000_000_000);

fn request(path: &str) -> RequestHead {
    let mut head = RequestHead::get(Scheme::Http, "www.example.com", path);
    head.fields.push(b"cache-control", b"no-cache");
    head
}

fn response() -> ResponseHead {
    let mut head = ResponseHead::new(Status::OK);
    head.fields.push(b"server", b"wirelap");
    head.fields.push(b"content-length", b"5");
    head
}

/// Everything that a connection has to say.
fn say(connection: &mut impl ByteStreamConnection) -> Vec<u8> {
    let mut out = SendBuf::new();
    while connection.wants_transmit() {
        connection.poll_transmit(NOW, &mut out, 16 * 1024);
    }
    out.to_vec()
}

/// Three requests and their answers; gives all bytes that went up and down.
fn exchange(
    client: &mut (impl ClientConnection + ByteStreamConnection),
    server: &mut (impl ServerConnection + ByteStreamConnection),
) -> (Vec<u8>, Vec<u8>) {
    let (mut up, mut down) = (Vec::new(), Vec::new());
    // HTTP/2's and SPDY's greetings, and what is said to them.
    for _ in 0..2 {
        up.extend(ask(client, server));
        down.extend(answer(server, client));
    }
    for path in ["/", "/a", "/b"] {
        client.request(NOW, &request(path), Fin::Last).unwrap();
        up.extend(ask(client, server));
        down.extend(answer(server, client));
    }
    (up, down)
}

/// Hands over what the client says; requests are answered.
fn ask(
    client: &mut impl ByteStreamConnection,
    server: &mut (impl ServerConnection + ByteStreamConnection),
) -> Vec<u8> {
    let said = say(client);
    let mut input = &said[..];
    while let Some(event) = server.handle_bytes(NOW, &mut input) {
        if let Event::Request { stream, .. } = event {
            server.respond(stream, &response(), Fin::More).unwrap();
            server.send(stream, Bytes::from_static(b"hello"), Fin::Last).unwrap();
        }
    }
    said
}

/// Hands over what the server says.
fn answer(
    server: &mut impl ByteStreamConnection,
    client: &mut impl ByteStreamConnection,
) -> Vec<u8> {
    let said = say(server);
    let mut input = &said[..];
    while client.handle_bytes(NOW, &mut input).is_some() {}
    said
}

/// What one side gave out the other took in.
fn agree(near: HeaderBytes, far: HeaderBytes) {
    assert_eq!(near.sent, far.received);
    assert_eq!(near.received, far.sent);
    assert!(near.sent.coded > 0 && near.received.coded > 0);
}

#[test]
fn heads_of_http_1_1_cost_what_they_are() {
    let mut client = h1::Client::new(NOW, h1::ClientSettings::default(), Tracer::off());
    let mut server = h1::Server::new(NOW, h1::ServerSettings::default(), Tracer::off());
    let (up, down) = exchange(&mut client, &mut server);
    agree(client.header_bytes(), server.header_bytes());
    let HeaderBytes { sent, received } = client.header_bytes();
    // Requests are heads alone; of the answers, five bytes each are a body.
    assert_eq!(sent, HeaderSize { plain: up.len() as u64, coded: up.len() as u64 });
    let heads = (down.len() - 3 * "hello".len()) as u64;
    assert_eq!(received, HeaderSize { plain: heads, coded: heads });
}

#[test]
fn blocks_of_http_2_cost_what_their_frames_hold() {
    let turns = || Box::new(RoundRobin::default());
    let mut client = h2::Client::new(NOW, h2::Settings::client(), turns(), Tracer::off());
    let mut server = h2::Server::new(NOW, h2::Settings::server(), turns(), Tracer::off());
    let (up, down) = exchange(&mut client, &mut server);
    agree(client.header_bytes(), server.header_bytes());
    let HeaderBytes { sent, received } = client.header_bytes();
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();
    assert_eq!(sent.coded, h2_blocks(&up[preface..]));
    assert_eq!(received.coded, h2_blocks(&down));
    let lines = |path: &str| {
        [":method: GET", ":scheme: http", ":authority: www.example.com", "cache-control: no-cache"]
            .iter()
            .map(|line| line.len() + 2)
            .sum::<usize>()
            + format!(":path: {path}\r\n").len()
    };
    assert_eq!(sent.plain as usize, lines("/") + lines("/a") + lines("/b"));
    let answer = ":status: 200\r\nserver: wirelap\r\ncontent-length: 5\r\n";
    assert_eq!(received.plain as usize, 3 * answer.len());
}

/// RFC 7541 C.4: the same fields in another order cost the same.
#[test]
fn the_examples_of_the_rfc_cost_what_the_rfc_says() {
    let turns = Box::new(RoundRobin::default());
    let mut client = h2::Client::new(NOW, h2::Settings::client(), turns, Tracer::off());
    let mut head = RequestHead::get(Scheme::Http, "www.example.com", "/");
    client.request(NOW, &head, Fin::Last).unwrap();
    assert_eq!(client.header_bytes().sent, HeaderSize { plain: 14 + 15 + 10 + 29, coded: 17 });
    head.fields.push(b"cache-control", b"no-cache");
    client.request(NOW, &head, Fin::Last).unwrap();
    assert_eq!(client.header_bytes().sent.coded, 17 + 12);
}

/// Bytes of header blocks in frames of HTTP/2 that bear neither priority nor padding.
fn h2_blocks(mut bytes: &[u8]) -> u64 {
    let mut blocks = 0;
    while let [a, b, c, kind, flags, _, _, _, _, rest @ ..] = bytes {
        let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        if *kind == 1 {
            assert_eq!(flags & 0x28, 0, "neither priority nor padding");
            blocks += length as u64;
        }
        bytes = &rest[length..];
    }
    blocks
}

#[test]
fn blocks_of_spdy_cost_what_their_frames_hold() {
    let turns = || Box::new(RoundRobin::default());
    let settings = spdy::Settings::client(spdy::Version::V3_1);
    let mut client = spdy::Client::new(NOW, settings, turns(), Tracer::off());
    let settings = spdy::Settings::server(spdy::Version::V3_1);
    let mut server = spdy::Server::new(NOW, settings, turns(), Tracer::off());
    let (up, down) = exchange(&mut client, &mut server);
    agree(client.header_bytes(), server.header_bytes());
    let HeaderBytes { sent, received } = client.header_bytes();
    // SYN_STREAM has ten bytes before its block, SYN_REPLY four (SPDY §2.6.1, §2.6.2).
    assert_eq!(sent.coded, spdy_blocks(&up, 1, 10));
    assert_eq!(received.coded, spdy_blocks(&down, 2, 4));
    // SPDY §2.6.10: a count, then each name and value with its length before it.
    let block = |pairs: &[&str]| 4 + pairs.iter().map(|text| 4 + text.len()).sum::<usize>();
    let ask = |path| {
        let pairs = [":host", "www.example.com", ":method", "GET", ":path", path, ":scheme"];
        let more = ["http", ":version", "HTTP/1.1", "cache-control", "no-cache"];
        block(&[&pairs[..], &more].concat())
    };
    assert_eq!(sent.plain as usize, ask("/") + ask("/a") + ask("/b"));
    let pairs = [":status", "200 OK", ":version", "HTTP/1.1", "server", "wirelap"];
    let answer = block(&[&pairs[..], &["content-length", "5"]].concat());
    assert_eq!(received.plain as usize, 3 * answer);
}

/// Bytes of header blocks in SPDY's control frames of one type.
fn spdy_blocks(mut bytes: &[u8], kind: u8, before: usize) -> u64 {
    let mut blocks = 0;
    while let [control, _, _, this, _, a, b, c, rest @ ..] = bytes {
        let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        if control & 0x80 != 0 && *this == kind {
            blocks += (length - before) as u64;
        }
        bytes = &rest[length..];
    }
    blocks
}

#[test]
fn nghttp_sees_the_bytes_that_our_server_counts() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let (tcp, _) = listener.accept().ok()?;
        let turns = Box::new(RoundRobin::default());
        let settings = h2::Settings::server();
        let mut server = h2::Server::new(support::drive::now(), settings, turns, Tracer::off());
        let mut site = Site::default();
        let _ = drive(&tcp, &mut server, |server, event| site.on_event(server, event));
        Some(server.header_bytes())
    });
    let mut nghttp = Command::new("nghttp");
    nghttp.args(["-nv", "-t", "30", "-H", "x-witness: nghttp"]);
    nghttp.args(["/", "/bytes/100", "/bytes/200"].map(|path| format!("{base}{path}")));
    let Some(output) = run(&mut nghttp, "apt-get install nghttp2-client") else { return };
    let log = String::from_utf8_lossy(&output.stdout);
    let counted = served.join().unwrap().expect("nghttp connected");
    let witness = seen_by_nghttp(&log);
    assert_eq!(counted.received, witness.sent, "{log}");
    assert_eq!(counted.sent, witness.received, "{log}");
    assert!(counted.received.plain > 3 * counted.received.coded / 2, "{log}");
}

/// nghttp prints a line a frame with its length, and a line a field.
fn seen_by_nghttp(log: &str) -> HeaderBytes {
    let mut seen = HeaderBytes::default();
    let mut asking = false;
    for line in log.lines() {
        let line = line.trim_end();
        if line.starts_with('[') {
            asking = line.contains("send HEADERS frame");
        }
        let number = |name: &str, radix| {
            let (_, rest) = line.split_once(name)?;
            usize::from_str_radix(rest.split([',', '>']).next()?, radix).ok()
        };
        let frame = (number("<length=", 10), number("flags=0x", 16));
        if let (true, (Some(length), Some(flags))) = (line.contains(" HEADERS frame"), frame) {
            // RFC 9113 §6.2: five bytes of priority.
            let block = length - if flags & 0x20 != 0 { 5 } else { 0 };
            if asking { seen.sent.count(0, block) } else { seen.received.count(0, block) }
        } else if let Some((_, field)) = line.split_once("recv (stream_id=") {
            let field = field.split_once(") ").expect("a field").1;
            seen.received.count(field.len() + 2, 0);
        } else if asking && line.starts_with("          ") && !line.trim().starts_with([';', '(']) {
            seen.sent.count(line.trim().len() + 2, 0);
        }
    }
    seen
}
