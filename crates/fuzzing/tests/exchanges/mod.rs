//! Real exchanges of our client and our origin, as scripts: what one end said is what a fuzzer plays to the other.

mod secured;

use endpoint::{Accepted, Action, Checked, EndPoint, SendBuf, SocketId};
use fuzzing::end_points as ends;
use fuzzing::script::{Step, write};
use std::collections::BTreeMap;
use std::time::Duration;
use unit::Instant;

/// The seeds of each target over an end point, by name.
pub(crate) fn all() -> BTreeMap<&'static str, BTreeMap<String, Vec<u8>>> {
    let mut all: BTreeMap<&'static str, BTreeMap<String, Vec<u8>>> = BTreeMap::new();
    for settings in 0..4_u8 {
        let protocol = ["http1", "http2", "spdy31", "spdy3"][usize::from(settings)];
        let config = || ends::config(settings);
        // Two servers speak SPDY: one version each.
        let version = if settings == 3 { 8 } else { 0 };
        let mut add = |target, own: &[u8], scripts: Scripts| {
            let first = [&[settings], own].concat();
            let seeds = all.entry(target).or_default();
            seeds.insert(protocol.to_owned(), [first, scripts.to_client].concat());
            let seeds = all.entry("origin").or_default();
            let name = format!("{protocol}_{target}");
            seeds.insert(name, [vec![version], scripts.to_server].concat());
        };
        add("client_page", &[], exchange(ends::page(config()), version));
        add("client_calls", &[], exchange(ends::three_calls(config()), version));
        add("client_echoes", &[], exchange(ends::three_echoes(config()), version));
        add("client_download", &[0], exchange(ends::download(config(), 0), version));
        let access = config();
        let engine = ends::engine(access.transport, access.tls);
        add("client_load", &[], exchange(engine, version));
        let synthetic = exchange(ends::synthetic_page(config()), version);
        let routes = exchange(ends::routes(config()), version);
        let seeds = all.entry("origin").or_default();
        for (name, scripts) in [("synthetic_page", synthetic), ("routes", routes)] {
            let seed = [vec![version], scripts.to_server].concat();
            seeds.insert(format!("{protocol}_{name}"), seed);
        }
    }
    for settings in 0..4_u8 {
        let name =
            ["plain", "deflate", "plain_parallel", "deflate_parallel"][usize::from(settings)];
        let scripts = exchange(ends::echoes(settings), 0);
        let seeds = all.entry("client_web_socket").or_default();
        seeds.insert(name.to_owned(), [vec![settings], scripts.to_client].concat());
        let seeds = all.entry("origin").or_default();
        seeds.insert(format!("web_socket_{name}"), [vec![0], scripts.to_server].concat());
    }
    let secured = secured::seeds(&all["origin"]);
    all.insert("origin_tls", secured);
    all
}

/// What each end met in an exchange.
struct Scripts {
    to_client: Vec<u8>,
    to_server: Vec<u8>,
}

/// One end, what it met so far, and its sockets by the number of the connection.
struct Side<E> {
    end_point: Checked<E>,
    script: Vec<u8>,
    /// None once closed.
    sockets: Vec<Option<SocketId>>,
    connects: Vec<SocketId>,
    wants_transmit: Vec<SocketId>,
    current: usize,
    is_finished: bool,
}

/// Runs a client against an origin with these settings until neither has anything to say.
fn exchange<E: EndPoint>(client: E, origin: u8) -> Scripts {
    let mut client = Side::new(client);
    let mut server = Side::new(ends::origin(origin));
    let mut now = Instant::ZERO;
    for _ in 0..ROUNDS {
        for socket in std::mem::take(&mut client.connects) {
            client.open(socket);
            client.end_point.handle_connected(now, socket, ADDRESS.into());
            client.settle();
            let at = ADDRESS.into();
            let accepted = Accepted { listener: 0, local: at, remote: at };
            let socket = server.end_point.handle_accepted(now, accepted).expect("a place");
            server.open(socket);
            server.settle();
        }
        let mut moved = pump(now, &mut client, &mut server);
        moved |= pump(now, &mut server, &mut client);
        if client.is_finished {
            break;
        }
        if !moved && client.connects.is_empty() {
            let times = [client.end_point.poll_timeout(), server.end_point.poll_timeout()];
            let Some(next) = times.into_iter().flatten().min() else { break };
            now = next.max(now);
            client.sleep(now);
            server.sleep(now);
        }
    }
    Scripts { to_client: client.script, to_server: server.script }
}

/// Moves what `from` wants to say. False where it says nothing.
fn pump<A: EndPoint, B: EndPoint>(now: Instant, from: &mut Side<A>, to: &mut Side<B>) -> bool {
    let mut moved = false;
    for number in 0..from.sockets.len() {
        let Some(socket) = from.sockets[number] else { continue };
        while from.wants_transmit.contains(&socket) && !from.is_finished {
            let mut out = SendBuf::new();
            from.end_point.poll_transmit(now, socket, &mut out, 16 * 1024);
            if out.is_empty() || !from.end_point.wants_transmit(socket) {
                from.wants_transmit.retain(|other| *other != socket);
            }
            from.settle();
            if !out.is_empty() {
                write(Step::Transmit(16 * 1024), &mut from.script);
                to.hear(now, number, &out.to_vec());
                moved = true;
            }
        }
    }
    moved
}

impl<E: EndPoint> Side<E> {
    fn new(end_point: E) -> Self {
        let mut side = Self {
            end_point: Checked::new(end_point),
            script: Vec::new(),
            sockets: Vec::new(),
            connects: Vec::new(),
            wants_transmit: Vec::new(),
            current: 0,
            is_finished: false,
        };
        side.end_point.handle_start(Instant::ZERO);
        side.settle();
        side
    }

    fn open(&mut self, socket: SocketId) {
        write(Step::Open, &mut self.script);
        self.current = self.sockets.len();
        self.sockets.push(Some(socket));
    }

    /// Hands in bytes of a connection that is still open.
    fn hear(&mut self, now: Instant, number: usize, bytes: &[u8]) {
        let Some(socket) = self.sockets[number].filter(|_| !self.is_finished) else { return };
        if self.current != number {
            self.current = number;
            let mut open: Vec<_> = self.sockets.iter().flatten().collect();
            open.sort();
            let index = open.iter().position(|other| **other == socket).unwrap_or_default();
            write(Step::Select(index as u8), &mut self.script);
        }
        write(Step::Send(bytes), &mut self.script);
        for piece in bytes.chunks(4096) {
            let mut piece = piece;
            while !piece.is_empty() && !self.is_finished && self.sockets[number].is_some() {
                if let Some(buffer) = self.end_point.poll_receive_buffer(socket) {
                    let length = piece.len().min(buffer.len());
                    buffer[..length].copy_from_slice(&piece[..length]);
                    piece = &piece[length..];
                    self.end_point.handle_received(now, socket, length);
                } else {
                    self.end_point.handle_bytes(now, socket, piece);
                    piece = &[];
                }
                self.settle();
            }
        }
    }

    fn sleep(&mut self, now: Instant) {
        write(Step::Sleep(SLEEP), &mut self.script);
        if !self.is_finished && self.end_point.poll_timeout().is_some_and(|at| at <= now) {
            self.end_point.handle_timeout(now);
            self.settle();
        }
    }

    fn settle(&mut self) {
        while !self.is_finished
            && let Some(action) = self.end_point.poll_action()
        {
            match action {
                Action::Connect { socket, .. } => self.connects.push(socket),
                Action::Transmit(socket) => self.wants_transmit.push(socket),
                Action::Close(socket) | Action::Abort(socket) => {
                    for open in self.sockets.iter_mut().filter(|open| **open == Some(socket)) {
                        *open = None;
                    }
                    self.wants_transmit.retain(|other| *other != socket);
                }
                Action::Finish => self.is_finished = true,
                _ => {}
            }
        }
    }
}

/// How long each script sleeps where neither end has anything to say.
const SLEEP: Duration = Duration::from_secs(1);

/// More than any of the exchanges takes.
const ROUNDS: usize = 200;

const ADDRESS: ([u8; 4], u16) = ([10, 0, 0, 1], 80);
