//! The load engine's hot paths one by one, for a counter of instructions: `load NAME TURNS` makes so many requests and
//! says nothing; without arguments it names the paths. `bench/instructions` holds the difference between two counts
//! against what is recorded.
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use client::Transport;
use client::load::{Access, Exchange, Load, LoadPlan, Target};
use endpoint::{Action, EndPoint, SendBuf, SocketId};
use proto::{Fields, Method};
use std::time::Duration;
use unit::Instant;

/// A name, what is spoken and what a turn does so many times.
type Path = (&'static str, fn(usize));

const PATHS: [Path; 2] = [("load http/1.1", load_h1), ("load h2", load_h2)];

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

/// An engine in a closed loop, its connections open, as a reactor drives it.
struct Driven {
    load: Load,
    sockets: Vec<SocketId>,
    now: Instant,
    out: SendBuf,
}

impl Driven {
    fn new(transport: Transport, connections: usize, streams: usize) -> Self {
        let body = Default::default();
        let exchange = Exchange::Http { method: Method::Get, fields: Fields::new(), body };
        let url = "http://127.0.0.1:8080/13B".parse().expect("a URL");
        let tls = secure::ClientTls::new(Default::default()).expect("settings of TLS");
        let targets = vec![Target { url, exchange, weight: 1 }];
        let plan = LoadPlan {
            connections,
            streams,
            ..LoadPlan::new(targets, Access::new(transport, tls))
        };
        let (load, now) = (Load::new(plan), Instant::from_nanos(1));
        let mut driven = Self { load, sockets: Vec::new(), now, out: SendBuf::new() };
        driven.load.handle_start(now);
        let mut sockets = Vec::new();
        while let Some(action) = driven.load.poll_action() {
            let Action::Connect { socket, .. } = action else { continue };
            sockets.push(socket);
        }
        for &socket in &sockets {
            driven.load.handle_connected(now, socket, ([127, 0, 0, 1], 50_000).into());
        }
        driven.sockets = sockets;
        driven
    }

    /// What one connection says, and its answer.
    fn turn(&mut self, socket: SocketId, answer: &[u8]) {
        while self.load.poll_action().is_some() {}
        self.out.clear();
        self.load.poll_transmit(self.now, socket, &mut self.out, 256 * 1024);
        assert!(!self.out.is_empty(), "every answer is followed by a request");
        self.now += Duration::from_micros(7);
        self.load.handle_bytes(self.now, socket, answer);
    }
}

fn load_h1(turns: usize) {
    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\nserver: floor\r\n\
        etag: \"123456-d-67890abc.12345678\"\r\nlast-modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
        accept-ranges: bytes\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: 13\r\n\r\nHello, world!";
    let mut driven = Driven::new(Transport::H1, 64, 1);
    for number in 0..turns {
        let socket = driven.sockets[number % driven.sockets.len()];
        driven.turn(socket, ANSWER);
    }
}

/// Answers by 32 at once; their fields are the static table's (RFC 7541 appendix A).
fn load_h2(turns: usize) {
    const AT_ONCE: usize = 32;
    let mut driven = Driven::new(Transport::H2_CLEAR, 1, AT_ONCE);
    let socket = driven.sockets[0];
    // SETTINGS, and the acknowledgement of the engine's own.
    driven.turn(socket, b"\0\0\0\x04\0\0\0\0\0\0\0\0\x04\x01\0\0\0\0");
    let (mut answers, mut stream) = (Vec::new(), 1_u32);
    for _ in 0..turns / AT_ONCE {
        answers.clear();
        for _ in 0..AT_ONCE {
            let id = stream.to_be_bytes();
            // :status 200, content-length 13.
            answers.extend_from_slice(b"\0\0\x06\x01\x04");
            answers.extend_from_slice(&id);
            answers.extend_from_slice(b"\x88\x0f\x0d\x0213");
            answers.extend_from_slice(b"\0\0\x0d\0\x01");
            answers.extend_from_slice(&id);
            answers.extend_from_slice(b"Hello, world!");
            stream += 2;
        }
        driven.turn(socket, &answers);
    }
}
