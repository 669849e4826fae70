//! The hot paths one by one, for a counter of instructions: `paths NAME TURNS` takes a path so many times and says
//! nothing; without arguments it names the paths. The difference between two counts of turns is a path's own cost:
//! `bench/instructions` takes it under callgrind and holds it against what is recorded.
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use bytes::Bytes;
use endpoint::{Accepted, EndPoint, SendBuf, SocketId};
use link::{Link, LinkSpec, no_traces};
use origin::{
    File, FileFacts, Files, FilesError, Found, ListenerKind, Origin, OriginConfig, Parts, WallClock,
};
use std::hint::black_box;
use std::rc::Rc;
use std::time::Duration;
use trace::Direction;
use unit::{ByteSize, Instant, Seed};
use wire::hpack::{Decoder, Encoder};
use wire::{Field, ws};

const NOW: Instant = Instant::ZERO;

/// A name and what a turn does so many times.
type Path = (&'static str, fn(usize));

const PATHS: [Path; 7] = [
    ("origin http/1.1", origin_h1),
    ("origin http/1.1 many", origin_h1_many),
    ("origin h2", origin_h2),
    ("hpack encode", hpack_encode),
    ("hpack decode", hpack_decode),
    ("ws mask", ws_mask),
    ("link forward", link_forward),
];

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    match &asked[..] {
        [name, turns] => {
            let path = PATHS.iter().find(|(known, _)| known == name).expect("a path's name");
            path.1(turns.parse().expect("a number of turns"));
        }
        _ => PATHS.iter().for_each(|(name, _)| println!("{name}")),
    }
}

/// A folder with one small file in memory.
struct Folder(Rc<dyn File>);

struct Small;

impl Files for Folder {
    fn find(&self, _now: Instant, _path: &str) -> Result<Found, FilesError> {
        Ok(Found::File(Rc::clone(&self.0)))
    }
}

impl File for Small {
    fn facts(&self) -> FileFacts {
        FileFacts { length: 13, modified: 784_111_777, modified_nanos: 1, identity: 2 }
    }

    fn read(&self, _offset: u64, _length: usize) -> Option<Bytes> {
        Some(Bytes::from_static(b"Hello, world!"))
    }

    fn fresh_until(&self) -> Option<Instant> {
        Some(NOW + Duration::from_secs(1))
    }
}

fn origin() -> (Origin, SocketId) {
    let clock = WallClock { at: NOW, unix: Duration::from_secs(784_111_777) };
    let parts = Parts { files: Some(Box::new(Folder(Rc::new(Small)))), ..Parts::default() };
    let mut origin = Origin::new(OriginConfig::new(vec![ListenerKind::Clear], clock), parts);
    let socket = accept(&mut origin);
    (origin, socket)
}

fn accept(origin: &mut Origin) -> SocketId {
    let any = ([127, 0, 0, 1], 80).into();
    let accepted = Accepted { listener: 0, local: any, remote: any };
    origin.handle_accepted(NOW, accepted).expect("a connection is free")
}

/// Bytes in, bytes out, as a reactor does it.
fn turn(origin: &mut Origin, socket: SocketId, bytes: &[u8], out: &mut SendBuf) {
    origin.handle_bytes(NOW, socket, bytes);
    while origin.poll_action().is_some() {}
    origin.poll_transmit(NOW, socket, out, 128 * 1024);
    while origin.poll_action().is_some() {}
    assert!(!out.is_empty(), "every request has an answer");
    out.clear();
}

const REQUEST: &[u8] =
    b"GET /13B HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: a client\r\nAccept: */*\r\n\r\n";

fn origin_h1(turns: usize) {
    let (mut origin, socket) = origin();
    let mut out = SendBuf::new();
    for _ in 0..turns {
        turn(&mut origin, socket, REQUEST, &mut out);
    }
}

/// The same by 1024 connections in turn: with `--cache-sim=yes`, misses tell how much of a connection a request touches.
fn origin_h1_many(turns: usize) {
    const CONNECTIONS: usize = 1024;
    let (mut origin, first) = origin();
    let mut out = SendBuf::new();
    let mut sockets = vec![first];
    sockets.resize_with(CONNECTIONS, || accept(&mut origin));
    for socket in sockets.into_iter().cycle().take(turns) {
        turn(&mut origin, socket, REQUEST, &mut out);
    }
}

/// Requests by 32 at once, each a HEADERS frame of fields that the static table names (RFC 7541 appendix A).
fn origin_h2(turns: usize) {
    const AT_ONCE: usize = 32;
    let (mut origin, socket) = origin();
    let mut out = SendBuf::new();
    let mut opening =
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00".to_vec();
    // A window of the connection that the answers do not fill.
    opening.extend_from_slice(b"\x00\x00\x04\x08\x00\x00\x00\x00\x00\x7f\x00\x00\x00");
    turn(&mut origin, socket, &opening, &mut out);
    let block = b"\x82\x86\x04\x04/13B\x01\x0e127.0.0.1:8080";
    let mut bytes = Vec::new();
    let mut stream: u32 = 1;
    for _ in 0..turns / AT_ONCE {
        bytes.clear();
        for _ in 0..AT_ONCE {
            bytes.extend_from_slice(&[0, 0, block.len() as u8, 1, 0x5]);
            bytes.extend_from_slice(&stream.to_be_bytes());
            bytes.extend_from_slice(block);
            stream += 2;
        }
        turn(&mut origin, socket, &bytes, &mut out);
    }
}

/// An answer's fields; `number` makes one of them new each time.
fn fields(number: usize, mut each: impl FnMut(Field<'_>)) {
    let etag = (number as u64).to_be_bytes();
    let fields: [(&[u8], &[u8]); 7] = [
        (b":status", b"200"),
        (b"date", b"Sun, 06 Nov 1994 08:49:37 GMT"),
        (b"server", b"wirelap"),
        (b"etag", &etag),
        (b"last-modified", b"Sun, 06 Nov 1994 08:49:37 GMT"),
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-length", b"13"),
    ];
    for (name, value) in fields {
        each(Field { name, value, sensitive: false });
    }
}

fn hpack_encode(turns: usize) {
    let mut encoder = Encoder::new(4096);
    let mut block = Vec::new();
    for number in 0..turns {
        block.clear();
        encoder.begin(&mut block);
        fields(number, |field| encoder.field(field, &mut block));
        black_box(&block);
    }
}

fn hpack_decode(turns: usize) {
    let (mut encoder, mut decoder) = (Encoder::new(4096), Decoder::new(4096));
    let mut blocks = [Vec::new(), Vec::new()];
    for (number, block) in blocks.iter_mut().enumerate() {
        encoder.begin(block);
        fields(number, |field| encoder.field(field, block));
    }
    // The first block fills the table, the second stands for all that follow.
    for block in std::iter::once(&blocks[0]).chain(std::iter::repeat_n(&blocks[1], turns)) {
        let read = decoder.decode(block, 16 * 1024, |field| {
            black_box(field);
        });
        read.expect("a block of our own");
    }
}

fn ws_mask(turns: usize) {
    let mut bytes = vec![b'a'; 1024];
    for _ in 0..turns {
        ws::mask(&mut bytes, [0x37, 0xfa, 0x21, 0x3d], 1);
        black_box(&bytes);
    }
}

fn link_forward(turns: usize) {
    let spec = LinkSpec::parse("rtt=60ms,down=1gbit,up=1gbit", no_traces).expect("a link");
    let mut link = Link::new(&spec, Seed(1));
    let mut now = NOW;
    for number in 0..turns {
        black_box(link.handle_packet(now, Direction::Down, number, ByteSize(1500)));
        while let Some(delivery) = link.poll_deliver(now) {
            black_box(delivery.packet);
        }
        now += Duration::from_micros(13);
    }
}
