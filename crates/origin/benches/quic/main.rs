//! Our origin over QUIC, for a counter of instructions: `quic NAME TURNS` has it answer so many requests and says nothing;
//! without arguments it names the paths. Only what [`servers_turn`] calls is the server's: `bench/instructions` has callgrind count
//! that alone. The paths of quinn-proto are a server of a fixed answer, with nothing but quinn-proto and rustls.
//!
//! Client and server exchange datagrams in virtual time, with a round trip of [`ROUND_TRIP`].
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

mod bare;
mod client;

use bare::BareServer;
use bytes::Bytes;
use client::{Client, Habits};
use endpoint::{Action, Bound, DatagramTransmit, EndPoint, ReceivedDatagrams, SocketId};
use origin::{
    AccessLog, AccessRecord, File, FileFacts, Files, FilesError, Found, ListenerKind, Origin,
    OriginConfig, Parts, WallClock,
};
use secure::{Authority, AuthoritySpec, ClientTls, ClientTlsOptions, QuicClientTls};
use secure::{Resumption, ServerTls, ServerTlsOptions};
use std::hint::black_box;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use transport::QuicSettings;
use unit::{Instant, Seed};

const BEGIN: Instant = Instant::from_nanos(1_000_000_000);
const ROUND_TRIP: Duration = Duration::from_micros(200);

/// The port of the first client.
const FIRST_PORT: u16 = 50_000;

/// Datagrams of a batch: as many as one call can send.
const BATCH: usize = 45;

/// What is asked for: bytes of the answer, requests at a time, by what clients and of what server.
type Path = (&'static str, Work, fn(&Tls, usize) -> Box<dyn EndPoint>);

#[derive(Clone, Copy)]
struct Work {
    bytes: usize,
    connections: usize,
    /// Requests that a connection has under way.
    at_once: usize,
    habits: Habits,
}

const ONE: Work = Work { bytes: 13, connections: 1, at_once: 1, habits: Habits::USUAL };
/// As h2load sends a request.
const PADDED: Work = Work { habits: Habits { pads: true, ..Habits::USUAL }, ..ONE };
const SMALL: Work = Work { at_once: 32, ..ONE };
/// As the row of `bench/run` has it: what a request needs has left the processor's caches when the next one comes.
const CROWD: Work = Work { connections: 32, ..SMALL };
/// No request comes again soon.
const NAMES: Work = Work { habits: Habits { names: 100, ..Habits::USUAL }, ..SMALL };
const CROWD_NAMES: Work = Work { connections: 32, ..NAMES };
const UNACKNOWLEDGED: Work =
    Work { habits: Habits { acknowledges: false, ..Habits::USUAL }, ..SMALL };
const MIDDLE: Work = Work { bytes: 100_000, at_once: 8, ..ONE };
const LARGE: Work = Work { bytes: 1_000_000, ..ONE };

const PATHS: [Path; 16] = [
    ("origin h3 one", ONE, origin),
    ("origin h3 one padded", PADDED, origin),
    ("origin h3", SMALL, origin),
    ("origin h3 many", CROWD, origin),
    ("origin h3 names", NAMES, origin),
    ("origin h3 names many", CROWD_NAMES, origin),
    ("origin h3 logged", SMALL, logging),
    ("origin h3 logged many", CROWD, logging),
    ("origin h3 unacknowledged", UNACKNOWLEDGED, origin),
    ("origin h3 100 kB", MIDDLE, origin),
    ("origin h3 1 MB", LARGE, origin),
    ("quinn-proto one", ONE, bare),
    ("quinn-proto", SMALL, bare),
    ("quinn-proto many", CROWD, bare),
    ("quinn-proto 100 kB", MIDDLE, bare),
    ("quinn-proto 1 MB", LARGE, bare),
];

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    match &asked[..] {
        [name, turns] => {
            let path = PATHS.iter().find(|(known, ..)| known == name).expect("a path's name");
            let (_, work, server) = path;
            run(*work, *server, turns.parse().expect("a number of turns"));
        }
        _ => PATHS.iter().for_each(|(name, ..)| println!("{name}")),
    }
}

fn run(work: Work, server: fn(&Tls, usize) -> Box<dyn EndPoint>, turns: usize) {
    let tls = Tls::new();
    let mut server = server(&tls, work.bytes);
    let local = SocketAddr::from(([10, 0, 0, 2], 443));
    let socket = server.handle_bound(BEGIN, Bound { listener: 0, local }).expect("a socket");
    let clients = (0..work.connections)
        .map(|number| {
            let from = SocketAddr::from(([10, 0, 0, 1], FIRST_PORT + number as u16));
            Client::new(BEGIN, Arc::clone(&tls.client), [from, local], work.habits)
        })
        .collect();
    let mut world = World { now: BEGIN, server, socket, clients };
    world.run_until(|client| client.is_connected);
    world.clients.iter_mut().for_each(Client::greet);
    let round = work.connections * work.at_once;
    assert!(turns >= round && turns.is_multiple_of(round), "requests come in rounds of {round}");
    for _ in 0..turns / round {
        for client in &mut world.clients {
            (0..work.at_once).for_each(|_| client.ask());
        }
        world.run_until(|client| client.answered == client.asked);
    }
    let received: u64 = world.clients.iter().map(|client| client.received).sum();
    let least = (turns * work.bytes) as u64;
    assert!(received >= least, "{received} of {least} bytes");
}

struct World {
    now: Instant,
    server: Box<dyn EndPoint>,
    socket: SocketId,
    /// By their ports.
    clients: Vec<Client>,
}

impl World {
    fn run_until(&mut self, is_done: impl Fn(&Client) -> bool) {
        while !self.clients.iter().all(&is_done) {
            let sent = self.clients.iter_mut().map(|client| client.transmit(self.now, BATCH));
            let asked: Vec<_> = sent.flatten().collect();
            self.now += ROUND_TRIP / 2;
            let is_silent = asked.is_empty();
            let answers = servers_turn(&mut *self.server, self.socket, self.now, asked);
            self.now += ROUND_TRIP / 2;
            if is_silent && answers.is_empty() {
                let times = self.clients.iter_mut().map(Client::poll_timeout);
                let times = times.chain([self.server.poll_timeout()]);
                let next = times.flatten().min().expect("somebody waits");
                self.now = self.now.max(next);
            }
            for (transmit, bytes) in &answers {
                let client = usize::from(transmit.remote.port() - FIRST_PORT);
                self.clients[client].handle_datagrams(self.now, transmit, bytes);
            }
            self.clients.iter_mut().for_each(|client| client.settle(self.now));
        }
    }
}

/// The server's turn, as a reactor does it: gives what it sends.
#[inline(never)]
fn servers_turn(
    server: &mut dyn EndPoint,
    socket: SocketId,
    now: Instant,
    received: Vec<ReceivedDatagrams>,
) -> Vec<(DatagramTransmit, Vec<u8>)> {
    let mut sent = Vec::new();
    for datagrams in received {
        server.handle_datagrams(now, socket, datagrams);
        while server.poll_action().is_some() {}
        if server.has_much_to_send(socket) {
            make_datagrams(server, socket, now, &mut sent);
        }
    }
    if server.poll_timeout().is_some_and(|at| at <= now) {
        server.handle_timeout(now);
        while server.poll_action().is_some() {}
    }
    make_datagrams(server, socket, now, &mut sent);
    black_box(sent)
}

/// Takes batches as long as the server has some.
fn make_datagrams(
    server: &mut dyn EndPoint,
    socket: SocketId,
    now: Instant,
    sent: &mut Vec<(DatagramTransmit, Vec<u8>)>,
) {
    loop {
        let mut batch = Vec::with_capacity(64 * 1024);
        let Some(transmit) = server.poll_datagrams(now, socket, &mut batch, BATCH) else { return };
        sent.push((transmit, batch));
        while server.poll_action().is_some_and(|action| matches!(action, Action::Transmit(_))) {}
    }
}

/// Both sides' settings.
struct Tls {
    client: Arc<QuicClientTls>,
    server: ServerTls,
}

impl Tls {
    fn new() -> Self {
        let authority = Authority::new(AuthoritySpec::default()).expect("the default authority");
        let identity = authority.issue(&["a.test"]).expect("a certificate");
        let roots = vec![authority.root_pem()];
        let resumption = Resumption::Off;
        let client = ClientTls::new(ClientTlsOptions { roots, resumption, ..Default::default() });
        let client = client.and_then(|client| client.for_quic("h3")).expect("TLS 1.3");
        let server = ServerTls::new(ServerTlsOptions::new(vec![identity]));
        Self { client, server: server.expect("the default settings") }
    }
}

fn bare(tls: &Tls, bytes: usize) -> Box<dyn EndPoint> {
    Box::new(BareServer::new(&tls.server, &vec![b'a'; bytes]))
}

fn origin(tls: &Tls, bytes: usize) -> Box<dyn EndPoint> {
    origin_with(tls, bytes, None)
}

/// As [`origin`], but each request is the application's: with a log no response is sent again by the machine alone.
fn logging(tls: &Tls, bytes: usize) -> Box<dyn EndPoint> {
    origin_with(tls, bytes, Some(Rc::new(Unread)))
}

fn origin_with(tls: &Tls, bytes: usize, log: Option<Rc<dyn AccessLog>>) -> Box<dyn EndPoint> {
    let clock = WallClock { at: BEGIN, unix: Duration::from_secs(784_111_777) };
    let file = Rc::new(Held(Bytes::from(vec![b'a'; bytes])));
    let parts = Parts { files: Some(Box::new(Folder(file))), log, ..Parts::default() };
    let quic = QuicSettings { seed: Some(Seed(1)), ..QuicSettings::default() };
    let listener = ListenerKind::Quic(tls.server.clone(), quic);
    Box::new(Origin::new(OriginConfig::new(vec![listener], clock), parts))
}

/// Reads nothing of what it is told.
struct Unread;

impl AccessLog for Unread {
    fn record(&self, _record: &AccessRecord<'_>) {}
}

/// A folder with one file in memory.
struct Folder(Rc<dyn File>);

impl Files for Folder {
    fn find(&self, _now: Instant, _path: &str) -> Result<Found, FilesError> {
        Ok(Found::File(Rc::clone(&self.0)))
    }
}

struct Held(Bytes);

impl File for Held {
    fn facts(&self) -> FileFacts {
        let length = self.0.len() as u64;
        FileFacts { length, modified: 784_111_777, modified_nanos: 1, identity: 2 }
    }

    fn read(&self, offset: u64, length: usize) -> Option<Bytes> {
        let start = usize::try_from(offset).ok()?.min(self.0.len());
        Some(self.0.slice(start..(start + length).min(self.0.len())))
    }

    fn is_held(&self) -> bool {
        // As files of `serve` are.
        self.0.len() <= 256 * 1024
    }

    fn fresh_until(&self) -> Option<Instant> {
        Some(BEGIN + Duration::from_secs(3600))
    }
}
