//! The engine in virtual time, against servers that are a few lines each.

mod closed;
mod faults;
mod open;

use super::*;
use crate::Transport;
use endpoint::{SocketError, SocketId};
use proto::{Fields, Method};
use sim::{ConnectOutcome, ConnectionPlan, Connections, Host, Path, Script, Scripted};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use unit::Instant;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

/// What a server does about a request.
#[derive(Debug, Clone, PartialEq)]
enum Deed {
    /// It sends these bytes.
    Says(Vec<u8>),
    /// It closes the connection.
    Ends,
    /// It resets the connection.
    Resets,
}

/// A server: when it does what. Nothing but its own time passes between it and the engine.
trait Peer {
    /// How the nth connect ends.
    fn connect(&mut self, _nth: usize) -> ConnectOutcome {
        ConnectOutcome::AcceptAfter(ms(1))
    }

    /// What follows on the nth request of all, which is so many on its connection.
    fn request(
        &mut self,
        now: Instant,
        nth: usize,
        on_its_connection: usize,
    ) -> Vec<(Instant, Deed)>;
}

/// An engine and its server.
struct World<P> {
    world: sim::World,
    load: Host<Load>,
    server: Host<Scripted<Server<P>>>,
}

/// A peer as the simulator drives it.
struct Server<P> {
    peer: Rc<RefCell<P>>,
    /// What has come of the next request on each connection, and the requests before it.
    heard: BTreeMap<SocketId, (String, usize)>,
    requests: usize,
}

impl<P: Peer + 'static> World<P> {
    fn run(plan: LoadPlan, peer: P) -> (Tally, Rc<RefCell<P>>) {
        let mut world = Self::new(plan, peer);
        world.go();
        let peer = Rc::clone(&world.world.end_point(world.server).script().peer);
        (world.into_tally(), peer)
    }

    fn new(plan: LoadPlan, peer: P) -> Self {
        let peer = Rc::new(RefCell::new(peer));
        let mut world = sim::World::new(1);
        let load = world.host("10.0.0.1", Load::new(plan));
        let server = Server { peer: Rc::clone(&peer), heard: BTreeMap::new(), requests: 0 };
        let server = world.listen("0.0.0.0:0", Scripted::new(server));
        world.connect(load, server, Path::delay(Duration::ZERO));
        world.plan_connections(server, move |attempt| {
            let outcome = peer.borrow_mut().connect(attempt.number);
            ConnectionPlan { outcome, ..ConnectionPlan::default() }
        });
        Self { world, load, server }
    }

    fn go(&mut self) {
        self.world.run_until_finished(self.load);
    }

    fn connects(&self) -> usize {
        self.world.sockets(self.load).opened
    }

    fn requests(&self) -> usize {
        self.world.end_point(self.server).script().requests
    }

    fn into_tally(mut self) -> Tally {
        self.world.take(self.load).into_tally()
    }
}

impl<P: Peer> Script for Server<P> {
    fn handle_bytes(&mut self, sockets: &mut Connections, socket: SocketId, bytes: &[u8]) {
        let (heard, own) = self.heard.entry(socket).or_default();
        heard.push_str(&String::from_utf8_lossy(bytes));
        while let Some(end) = heard.find("\r\n\r\n") {
            heard.drain(..end + 4);
            let deeds = self.peer.borrow_mut().request(sockets.now(), self.requests, *own);
            *own += 1;
            self.requests += 1;
            for (at, deed) in deeds {
                match deed {
                    Deed::Says(bytes) => sockets.send_at(at, socket, &bytes),
                    Deed::Ends => sockets.close_at(at, socket),
                    Deed::Resets => sockets.reset_at(at, socket),
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
