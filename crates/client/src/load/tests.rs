//! The engine in virtual time, against servers that are a few lines each.

mod closed;
mod faults;
mod open;

use super::*;
use crate::Transport;
use endpoint::{Action, EndPoint, SendBuf, SocketError, SocketId};
use proto::{Fields, Method};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;
use unit::Instant;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

/// What a server does with a connect, or with a request.
#[derive(Debug, Clone, PartialEq)]
enum Deed {
    Connected,
    /// These bytes come.
    Says(Vec<u8>),
    Ends,
    Breaks(SocketError),
}

/// A server: when it does what.
trait Peer {
    /// How the nth connect ends.
    fn connect(&mut self, now: Instant, _nth: usize) -> (Instant, Deed) {
        (now + ms(1), Deed::Connected)
    }

    /// What follows on the nth request of all, which is so many on its connection.
    fn request(
        &mut self,
        now: Instant,
        nth: usize,
        on_its_connection: usize,
    ) -> Vec<(Instant, Deed)>;
}

/// An engine, its server and the time.
struct World<P> {
    load: Load,
    peer: P,
    now: Instant,
    agenda: BinaryHeap<Reverse<(Instant, u64, usize, u64)>>,
    deeds: BTreeMap<u64, Deed>,
    /// The present life of each socket, and requests on it.
    lives: BTreeMap<usize, (u64, usize)>,
    connects: usize,
    requests: usize,
    entries: u64,
    finished: bool,
}

impl<P: Peer> World<P> {
    fn run(plan: LoadPlan, peer: P) -> (Tally, P) {
        let mut world = Self::new(plan, peer);
        world.go();
        (world.load.into_tally(), world.peer)
    }

    fn new(plan: LoadPlan, peer: P) -> Self {
        Self {
            load: Load::new(plan),
            peer,
            now: Instant::ZERO + Duration::from_secs(1),
            agenda: BinaryHeap::new(),
            deeds: BTreeMap::new(),
            lives: BTreeMap::new(),
            connects: 0,
            requests: 0,
            entries: 0,
            finished: false,
        }
    }

    fn go(&mut self) {
        self.load.handle_start(self.now);
        for _ in 0..20_000_000 {
            self.act();
            if self.finished || !self.step() {
                return;
            }
        }
        panic!("the engine spins");
    }

    /// Goes on to whatever comes next.
    fn step(&mut self) -> bool {
        let due = self.load.poll_timeout().map(|due| due.max(self.now));
        let next = self.agenda.peek().map(|Reverse((at, ..))| *at);
        match (due, next) {
            (None, None) => false,
            (Some(due), next) if next.is_none_or(|next| due < next) => {
                self.now = due;
                self.load.handle_timeout(self.now);
                true
            }
            _ => {
                let Some(Reverse((at, entry, socket, life))) = self.agenda.pop() else {
                    return false;
                };
                self.now = at;
                let deed = self.deeds.remove(&entry).unwrap();
                self.happen(SocketId(socket), life, deed);
                true
            }
        }
    }

    fn happen(&mut self, socket: SocketId, life: u64, deed: Deed) {
        if self.lives.get(&socket.0).map(|(life, _)| *life) != Some(life) {
            return;
        }
        let local = ([10, 0, 0, 1], 50_000).into();
        match deed {
            Deed::Connected => self.load.handle_connected(self.now, socket, local),
            Deed::Says(bytes) => self.load.handle_bytes(self.now, socket, &bytes),
            Deed::Ends => self.load.handle_eof(self.now, socket),
            Deed::Breaks(error) => {
                self.lives.remove(&socket.0);
                self.load.handle_error(self.now, socket, error);
            }
        }
    }

    fn plan(&mut self, socket: SocketId, (at, deed): (Instant, Deed)) {
        let life = self.lives[&socket.0].0;
        self.entries += 1;
        self.deeds.insert(self.entries, deed);
        self.agenda.push(Reverse((at, self.entries, socket.0, life)));
    }

    fn act(&mut self) {
        while let Some(action) = self.load.poll_action() {
            match action {
                Action::Connect { socket, .. } => {
                    self.entries += 1;
                    self.lives.insert(socket.0, (self.entries, 0));
                    let outcome = self.peer.connect(self.now, self.connects);
                    self.connects += 1;
                    self.plan(socket, outcome);
                }
                Action::Transmit(socket) => self.transmit(socket),
                Action::Close(socket) | Action::Abort(socket) => {
                    self.lives.remove(&socket.0);
                }
                Action::Finish => self.finished = true,
                other => panic!("{other:?}"),
            }
        }
    }

    fn transmit(&mut self, socket: SocketId) {
        loop {
            let mut out = SendBuf::new();
            self.load.poll_transmit(self.now, socket, &mut out, 64 * 1024);
            if out.is_empty() {
                return;
            }
            let text = String::from_utf8(out.to_vec()).unwrap();
            for _ in text.matches("\r\n\r\n") {
                let count = &mut self.lives.get_mut(&socket.0).unwrap().1;
                let own = *count;
                *count += 1;
                let deeds = self.peer.request(self.now, self.requests, own);
                self.requests += 1;
                for deed in deeds {
                    self.plan(socket, deed);
                }
            }
        }
    }
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn target(path: &str) -> Target {
    let exchange =
        Exchange::Http { method: Method::Get, fields: Fields::new(), body: Default::default() };
    Target { url: format!("http://10.0.0.2{path}").parse().unwrap(), exchange, weight: 1 }
}

fn plan() -> LoadPlan {
    let tls = secure::ClientTls::new(Default::default()).unwrap();
    LoadPlan::new(vec![target("/")], Access::new(Transport::H1, tls))
}

fn milliseconds(part: &Part, quantile: f64) -> f64 {
    part.latency.histogram().value_at_quantile(quantile) as f64 / 1e6
}

/// A server that serves one request after another, in the order of their coming, and stands still at times.
struct Queue {
    /// How long a request takes.
    service: Duration,
    /// From when to when nothing happens.
    stall: (Instant, Instant),
    free: Instant,
}

impl Queue {
    fn new(service: Duration, stall: (Instant, Instant)) -> Self {
        Self { service, stall, free: Instant::ZERO }
    }

    /// When a request that comes now is answered.
    fn serve(&mut self, now: Instant) -> Instant {
        let mut begin = now.max(self.free);
        if begin + self.service > self.stall.0 && begin < self.stall.1 {
            begin = self.stall.1;
        }
        self.free = begin + self.service;
        self.free
    }
}

impl Peer for Queue {
    fn request(&mut self, now: Instant, _nth: usize, _own: usize) -> Vec<(Instant, Deed)> {
        vec![(self.serve(now), Deed::Says(OK.to_vec()))]
    }
}
