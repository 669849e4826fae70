//! Resumed sessions and early data (0-RTT) between our client and our origin in virtual time: round trips, what may go
//! early, rejection, Too Early (RFC 8470).

use crate::world::{Listener, Reply, START, Seen, Trusted, millis, ok};
use bytes::Bytes;
use client::{
    Bodies, Client, ClientConfig, FetchId, FetchList, FetchSpec, Offer, Protocol, Security,
    Transport,
};
use endpoint::{FastOpen, SocketId, SocketSettings};
use link::{LinkSpec, no_traces};
use origin::{ListenerKind, Origin, OriginConfig, Parts, UpstreamSettings, WallClock};
use proto::{Fields, Method, Status};
use secure::{Resumption, ServerTlsOptions};
use sim::{Connections, Ended, Host, Path, Script, Scripted, World};
use std::time::Duration;
use trace::{ConnectionRecord, EarlyData, FetchOutcome, FetchRecord, MadeAgain};
use transport::{AddressValidation, QuicSettings};

const SPDY_3: Transport =
    Transport { offer: Offer::Only(Protocol::Spdy3), security: Security::Tls };

/// What runs over TCP.
const OVER_TCP: [Transport; 4] = [Transport::H1_TLS, Transport::H2, Transport::SPDY, SPDY_3];

const ALL: [Transport; 5] =
    [Transport::H1_TLS, Transport::H2, Transport::SPDY, SPDY_3, Transport::H3];

/// Both sides' settings for one transport, and a link of 100 ms.
struct Bench {
    trusted: Trusted,
    transport: Transport,
    client: ClientConfig,
    quic: QuicSettings,
    fast_open: FastOpen,
}

impl Bench {
    fn new(transport: Transport, resumption: Resumption) -> Self {
        let name = transport.alpn().remove(0);
        let trusted = Trusted::with(&[&name], |options| ServerTlsOptions {
            resumption,
            tickets: 6,
            ..options
        });
        let client = trusted.resuming(transport, resumption);
        let (quic, fast_open) = (QuicSettings::default(), FastOpen::Off);
        Self { trusted, transport, client, quic, fast_open }
    }

    fn config(&self) -> OriginConfig {
        let wall_clock = WallClock { at: START, unix: Duration::from_secs(1_800_000_000) };
        let kind = match self.transport {
            Transport::H3 => ListenerKind::Quic(self.trusted.server.clone(), self.quic.clone()),
            _ => ListenerKind::Tls(self.trusted.server.clone()),
        };
        let mut config = OriginConfig::new(vec![kind], wall_clock);
        config.protocols = self.transport.offer.protocols().collect();
        config
    }

    fn origin(&self) -> Origin {
        Origin::new(self.config(), Parts::default())
    }

    /// An origin in this world, where this transport reaches it.
    fn listening(&self, world: &mut World, origin: Origin) -> Host<Origin> {
        match self.transport {
            Transport::H3 => {
                let far = world.host("10.0.0.2", origin);
                world.listen_datagrams(far, "10.0.0.2:443");
                far
            }
            _ => world.listen("10.0.0.2:443", origin),
        }
    }

    /// Fetches these at once, with what is remembered of earlier visits; tells when it began, too.
    fn visit(&self, specs: impl IntoIterator<Item = FetchSpec>) -> Visit {
        self.visit_over("rtt=100ms", specs)
    }

    fn visit_over(&self, link: &str, specs: impl IntoIterator<Item = FetchSpec>) -> Visit {
        let mut world = World::new(1);
        let mut config = self.client.clone();
        config.socket = SocketSettings { fast_open: self.fast_open, ..config.socket };
        let list = FetchList::new(specs, Bodies::Keep);
        let near = world.host("10.0.0.1", Client::new(config, list));
        let far = self.listening(&mut world, self.origin());
        world.connect(near, far, Path::link(LinkSpec::parse(link, no_traces).unwrap()));
        assert_eq!(world.run_until_finished(near), Ended::Finished);
        Visit(world.take(near).into_work())
    }

    /// A first visit, after which there are sessions.
    fn prime(&self) -> &Self {
        assert_eq!(self.visit([get(0)]).early_data(), [EarlyData::None]);
        self
    }
}

/// What a visit gave.
struct Visit(FetchList);

impl Visit {
    fn fetch(&self, id: u32) -> &FetchRecord {
        let fetch = self.0.records.fetches.iter().find(|fetch| fetch.id == id).unwrap();
        assert_eq!(fetch.outcome, FetchOutcome::Done, "{fetch:?}");
        fetch
    }

    /// Milliseconds until the first byte of an answer.
    fn first_byte(&self, id: u32) -> u128 {
        millis(self.fetch(id).phases.first_byte)
    }

    fn connections(&self) -> &[ConnectionRecord] {
        &self.0.records.connections
    }

    fn early_data(&self) -> Vec<EarlyData> {
        let tls = self.connections().iter().filter_map(|connection| connection.tls.as_ref());
        tls.map(|tls| tls.early_data).collect()
    }

    fn body(&self, id: u32) -> &[u8] {
        &self.0.answer(FetchId(id)).unwrap().body
    }
}

fn get(number: u32) -> FetchSpec {
    FetchSpec::get(format!("https://a.test/image/{number}?bytes=1000").parse().unwrap())
}

fn post() -> FetchSpec {
    let (method, body) = (Method::Post, Bytes::from_static(b"once"));
    FetchSpec { method, body, ..FetchSpec::get("https://a.test/echo".parse().unwrap()) }
}

#[test]
fn over_tcp_early_data_saves_a_round_trip_and_fast_open_another() {
    for transport in OVER_TCP {
        let mut bench = Bench::new(transport, Resumption::Early);
        let cold = bench.visit([get(0)]);
        assert_eq!(cold.first_byte(0), 300, "{transport:?}");
        let early = bench.visit([get(0)]);
        assert_eq!((early.first_byte(0), early.early_data()), (200, vec![EarlyData::Accepted]));
        bench.fast_open = FastOpen::On;
        let fast = bench.visit([get(0)]);
        assert_eq!((fast.first_byte(0), fast.early_data()), (100, vec![EarlyData::Accepted]));
        assert_eq!(fast.body(0).len(), 1000);
    }
}

#[test]
fn over_quic_early_data_saves_a_round_trip() {
    let bench = Bench::new(Transport::H3, Resumption::Early);
    assert_eq!(bench.visit([get(0)]).first_byte(0), 200);
    let early = bench.visit([get(0)]);
    assert_eq!((early.first_byte(0), early.early_data()), (100, vec![EarlyData::Accepted]));
    assert_eq!(early.body(0).len(), 1000);
}

#[test]
fn a_retry_costs_early_data_a_round_trip_and_nothing_else() {
    let mut bench = Bench::new(Transport::H3, Resumption::Early);
    bench.prime();
    // The token of the first visit was another origin's.
    bench.quic.address_validation = AddressValidation::ByRetry;
    let early = bench.visit([get(0)]);
    assert_eq!((early.first_byte(0), early.early_data()), (200, vec![EarlyData::Accepted]));
}

#[test]
fn a_resumed_session_without_early_data_saves_no_round_trip() {
    for transport in ALL {
        let bench = Bench::new(transport, Resumption::On);
        let cold = bench.visit([get(0)]).first_byte(0);
        let resumed = bench.visit([get(0)]);
        assert_eq!((resumed.first_byte(0), resumed.early_data()), (cold, vec![EarlyData::None]));
        assert!(resumed.connections()[0].tls.as_ref().unwrap().resumed, "{transport:?}");
    }
}

#[test]
fn there_is_a_ticket_for_each_connection() {
    let bench = Bench::new(Transport::H1_TLS, Resumption::Early);
    let second = bench.prime().visit((0..6).map(get));
    assert_eq!(second.early_data(), [EarlyData::Accepted; 6]);
    assert!((0..6).all(|id| second.first_byte(id) == 200));
}

#[test]
fn a_request_that_changes_something_waits_for_the_handshake() {
    for transport in ALL {
        let bench = Bench::new(transport, Resumption::Early);
        bench.prime();
        let visit = bench.visit([post(), get(1)]);
        // A handshake and the request's own round trip.
        let expected = if transport == Transport::H3 { 200 } else { 300 };
        assert_eq!(visit.first_byte(0), expected, "{transport:?}");
        assert_eq!(visit.body(0), b"once");
        let bodies = [0, 1].map(|id| visit.fetch(id).request_body_bytes);
        assert_eq!(bodies, [Some(4), Some(0)]);
        assert_eq!(visit.first_byte(1), expected - 100, "{transport:?}");
    }
}

#[test]
fn rejected_early_data_is_made_again_and_answered_once() {
    for transport in ALL {
        let bench = Bench::new(transport, Resumption::Early);
        bench.prime();
        // The same certificates, and a server that has forgotten every session.
        let forgetful = Bench { trusted: bench.trusted.forgotten(), ..bench };
        let visit = forgetful.visit((0..4).map(get).chain([post()]));
        assert!(visit.early_data().contains(&EarlyData::Rejected), "{transport:?}");
        let cold = if transport == Transport::H3 { 200 } else { 300 };
        for id in 0..4 {
            assert_eq!((visit.first_byte(id), visit.body(id).len()), (cold, 1000), "{transport:?}");
            let why = &visit.fetch(id).made_again;
            assert_eq!(why[..], [MadeAgain::EarlyDataRejected], "{transport:?}");
        }
        assert!(visit.fetch(4).made_again.is_empty(), "it waited for the handshake");
        assert_eq!(visit.body(4), b"once");
        let requests: u32 = visit.connections().iter().map(|c| c.requests).sum();
        assert_eq!(requests, 5, "{transport:?}");
    }
}

#[test]
fn too_early_is_heeded_after_the_handshake() {
    let answer = |status: u16| match status {
        425 => Reply::Whole(Status::TOO_EARLY, Fields::new(), b"wait".to_vec()),
        _ => ok(b"now"),
    };
    for transport in [Transport::H1_TLS, Transport::H2] {
        let bench = Bench::new(transport, Resumption::Early);
        bench.prime();
        let script = move |seen: &Seen| answer(if seen.turn == 0 { 425 } else { 200 });
        let mut far = crate::world::World::new(Listener::Tls(bench.trusted.server.clone()), script);
        let list = FetchList::new([get(0)], Bodies::Keep);
        let visit = Visit(far.run(Client::new(bench.client.clone(), list)).into_work());
        assert_eq!((visit.fetch(0).status, visit.body(0)), (Some(200), &b"now"[..]));
        assert_eq!(visit.fetch(0).made_again, [MadeAgain::TooEarly], "{transport:?}");
        assert_eq!(far.seen.len(), 2, "{transport:?}");
        // Without early data it is an answer like others.
        let bench = Bench::new(transport, Resumption::On);
        let script = move |_: &Seen| answer(425);
        let mut far = crate::world::World::new(Listener::Tls(bench.trusted.server.clone()), script);
        let list = FetchList::new([get(0)], Bodies::Keep);
        let visit = Visit(far.run(Client::new(bench.client.clone(), list)).into_work());
        assert_eq!((visit.fetch(0).status, far.seen.len()), (Some(425), 1), "{transport:?}");
        assert!(visit.fetch(0).made_again.is_empty(), "{transport:?}");
    }
}

/// An application behind an origin, 10 ms from it. It answers 425 to what came early, or to everything.
#[derive(Default)]
struct Application {
    refuses_all: bool,
    requests: Vec<String>,
}

impl Script for Application {
    fn handle_bytes(&mut self, connections: &mut Connections, socket: SocketId, bytes: &[u8]) {
        let request = String::from_utf8_lossy(bytes).into_owned();
        let answer = match self.refuses_all || is_early(&request) {
            true => "HTTP/1.1 425 Too Early\r\nContent-Length: 4\r\n\r\nwait",
            false => "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnow",
        };
        connections.send(socket, answer.as_bytes());
        self.requests.push(request);
    }
}

/// Whether a gateway says that a request came as early data (RFC 8470 §5.1).
fn is_early(request: &str) -> bool {
    request.to_ascii_lowercase().contains("\r\nearly-data: 1\r\n")
}

impl Bench {
    /// Asks an origin for what its application answers. Gives the application's requests, too.
    fn visit_application(&self, refuses_all: bool) -> (Visit, Vec<String>) {
        let mut world = World::new(1);
        let application = Application { refuses_all, ..Application::default() };
        let application = world.listen("10.0.0.3:8000", Scripted::new(application));
        let mut config = self.config();
        config.upstream = Some(UpstreamSettings::new("10.0.0.3:8000".parse().unwrap()));
        let far = self.listening(&mut world, Origin::new(config, Parts::default()));
        let url = "https://a.test/application".parse().unwrap();
        let list = FetchList::new([FetchSpec::get(url)], Bodies::Keep);
        let near = world.host("10.0.0.1", Client::new(self.client.clone(), list));
        for (one, other, link) in
            [(near.id(), far.id(), "rtt=100ms"), (far.id(), application.id(), "rtt=10ms")]
        {
            world.connect(one, other, Path::link(LinkSpec::parse(link, no_traces).unwrap()));
        }
        assert_eq!(world.run_until_finished(near), Ended::Finished);
        let visit = Visit(world.take(near).into_work());
        (visit, world.take(application).into_script().requests)
    }
}

#[test]
fn too_early_of_an_application_behind_a_gateway_is_heeded_over_every_transport() {
    for transport in ALL {
        let bench = Bench::new(transport, Resumption::Early);
        bench.prime();
        let (visit, requests) = bench.visit_application(false);
        assert_eq!(visit.early_data(), [EarlyData::Accepted], "{transport:?}");
        assert_eq!((visit.fetch(0).status, visit.body(0)), (Some(200), &b"now"[..]));
        assert_eq!(visit.fetch(0).made_again, [MadeAgain::TooEarly], "{transport:?}");
        let early: Vec<bool> = requests.iter().map(|request| is_early(request)).collect();
        assert_eq!(early, [true, false], "{transport:?}: {requests:?}");
        // Without early data it is an answer like others.
        let bench = Bench::new(transport, Resumption::On);
        bench.prime();
        let (visit, requests) = bench.visit_application(true);
        assert_eq!((visit.fetch(0).status, visit.body(0)), (Some(425), &b"wait"[..]));
        assert_eq!((requests.len(), is_early(&requests[0])), (1, false), "{transport:?}");
        assert!(visit.fetch(0).made_again.is_empty(), "{transport:?}");
        // Nor is a second refusal heeded, of a request that came after the handshake.
        let bench = Bench::new(transport, Resumption::Early);
        bench.prime();
        let (visit, requests) = bench.visit_application(true);
        assert_eq!((visit.fetch(0).status, visit.body(0)), (Some(425), &b"wait"[..]));
        assert_eq!(visit.fetch(0).made_again, [MadeAgain::TooEarly], "{transport:?}");
        assert_eq!(requests.len(), 2, "{transport:?}: {requests:?}");
    }
}

#[test]
fn early_data_survives_loss() {
    for transport in ALL {
        let bench = Bench::new(transport, Resumption::Early);
        bench.prime();
        let visit = bench.visit_over("rtt=40ms,loss=5%", (0..20).map(get));
        for id in 0..20 {
            assert_eq!(visit.fetch(id).body_bytes, 1000, "{transport:?}");
        }
    }
}

#[test]
fn a_token_of_an_earlier_visit_frees_early_answers_from_the_amplification_limit() {
    let bench = Bench::new(Transport::H3, Resumption::Early);
    let mut world = World::new(1);
    let far = world.host("10.0.0.2", bench.origin());
    world.listen_datagrams(far, "10.0.0.2:443");
    // RFC 9000 §8.1: three times what a client of an unproven address has sent is less than this.
    let spec = FetchSpec::get("https://a.test/image/0?bytes=9000".parse().unwrap());
    let mut visit = || {
        let began = world.now();
        let list = FetchList::new([spec.clone()], Bodies::Keep);
        let near = world.host("10.0.0.1", Client::new(bench.client.clone(), list));
        world.connect(near, far, Path::link(LinkSpec::parse("rtt=100ms", no_traces).unwrap()));
        assert_eq!(world.run_until_finished(near), Ended::Finished);
        let visit = Visit(world.take(near).into_work());
        visit.fetch(0).phases.last_byte.unwrap().since(began).as_millis()
    };
    assert_eq!([visit(), visit()], [200, 100]);
}
