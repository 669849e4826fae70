//! Two ends over a path that loses datagrams, in virtual time: what each tells of its packets is what happened to them.

use crate::quic::link::{Link, Taken};
use crate::quic::settings::{AddressValidation, MtuDiscovery, QuicSettings};
use crate::quic::socket::{Admission, Arrival, QuicSocket};
use bytes::Bytes;
use endpoint::ReceivedDatagrams;
use quinn_proto::{Dir, Event as QuicEvent};
use secure::{
    Authority, AuthoritySpec, ClientTls, ClientTlsOptions, Resumption, ServerTls, ServerTlsOptions,
};
use std::cell::{Ref, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use trace::{Event, QuicFrame, QuicMetrics, QuicPacket, QuicPacketType, QuicSpace, Sink, Tracer};
use unit::{Instant, Seed};

const BEGIN: Instant = Instant::from_nanos(1_000_000_000);
const ONE_WAY: Duration = Duration::from_millis(25);
const NEAR: usize = 0;
const FAR: usize = 1;

type Number = (QuicSpace, u64);

/// What an end has told.
#[derive(Debug, Default)]
struct Told {
    sent: Vec<QuicPacket>,
    lost: Vec<Number>,
    metrics: Vec<QuicMetrics>,
    forgotten: u32,
}

#[derive(Debug, Default)]
struct Log(RefCell<Told>);

impl Sink for Log {
    fn record(&self, _at: Instant, _connection: u64, event: &Event<'_>) {
        let mut told = self.0.borrow_mut();
        assert_eq!(told.forgotten, 0, "{event:?} comes after the end");
        match event {
            Event::QuicPacketSent(packet) => told.sent.push((*packet).clone()),
            Event::QuicPacketLost { kind, number, .. } => told.lost.push((kind.space(), *number)),
            Event::QuicMetricsUpdated(metrics) => told.metrics.push(*metrics),
            Event::QuicForgotten => told.forgotten += 1,
            _ => {}
        }
    }
}

struct End {
    socket: QuicSocket,
    link: Option<Box<Link>>,
    log: Rc<Log>,
    address: SocketAddr,
    /// What it writes on the first stream as soon as it can.
    unsent: Vec<Bytes>,
}

impl End {
    fn new(socket: QuicSocket, address: &str, bytes: usize) -> Self {
        let unsent = vec![Bytes::from(vec![7; bytes])];
        let address = address.parse().unwrap();
        Self { socket, link: None, log: Rc::default(), address, unsent }
    }

    fn open(&mut self, now: Instant, mut link: Box<Link>) {
        link.trace_to(now, &Tracer::to(self.log.clone()));
        self.link = Some(link);
    }
}

/// Settings of both ends, with sessions that a client keeps.
struct Bench {
    client: ClientTls,
    server: ServerTls,
    settings: QuicSettings,
}

impl Bench {
    fn new() -> Self {
        let authority = Authority::new(AuthoritySpec::default()).unwrap();
        let identity = authority.issue(&["far.test"]).unwrap();
        let resumption = Resumption::Early;
        let server = ServerTlsOptions { resumption, ..ServerTlsOptions::new(vec![identity]) };
        let roots = vec![authority.root_pem()];
        let client = ClientTlsOptions { roots, resumption, ..Default::default() };
        let (client, server) = (ClientTls::new(client).unwrap(), ServerTls::new(server).unwrap());
        let (mtu_discovery, seed) = (MtuDiscovery::Off, Some(Seed(1)));
        let settings = QuicSettings { mtu_discovery, seed, ..QuicSettings::default() };
        Self { client, server, settings }
    }

    /// A connection on which both ends send so many bytes, over a path that loses one datagram in so many.
    fn connected(&self, bytes: usize, loses_one_in: u64, seed: u64) -> Path {
        let on = Tracer::to(Rc::new(Log::default()));
        let client = self.client.for_quic("toy").unwrap().observed_by(&on);
        let server = self.server.for_quic("toy").unwrap().observed_by(&on);
        let mut near = End::new(QuicSocket::client(&self.settings, client), "10.0.0.1:1", bytes);
        let far = End::new(QuicSocket::server(&self.settings, server), "10.0.0.2:443", bytes);
        let link = near.socket.connect(BEGIN, far.address, "far.test").unwrap();
        near.open(BEGIN, link);
        let (under_way, sent) = (BTreeMap::new(), 0);
        Path { now: BEGIN, ends: [near, far], under_way, sent, loses_one_in, seed: Seed(seed) }
    }
}

/// The path between them, and both.
struct Path {
    now: Instant,
    ends: [End; 2],
    /// Datagrams by the time at which they arrive: whom they go to, and their bytes.
    under_way: BTreeMap<(Instant, u64), (usize, Vec<u8>)>,
    sent: u64,
    loses_one_in: u64,
    seed: Seed,
}

impl Path {
    fn run(mut self) -> Self {
        let until = BEGIN + Duration::from_secs(60);
        loop {
            self.transmit(NEAR);
            self.transmit(FAR);
            let timeouts = self.ends.iter_mut().filter_map(|end| end.link.as_mut()?.poll_timeout());
            let arrival = self.under_way.keys().next().map(|(at, _)| *at);
            let Some(next) = timeouts.chain(arrival).min().filter(|at| *at < until) else {
                return self;
            };
            self.now = next.max(self.now);
            match arrival {
                Some(at) if at <= self.now => self.deliver(),
                _ => self.handle_timeouts(),
            }
        }
    }

    fn deliver(&mut self) {
        let Some((_, (to, bytes))) = self.under_way.pop_first() else { return };
        let remote = self.ends[1 - to].address;
        let end = &mut self.ends[to];
        let (stride, data) = (bytes.len(), bytes[..].into());
        let mut received = ReceivedDatagrams { remote, local: None, ecn: None, stride, data };
        match end.socket.handle_datagrams(self.now, &mut received, Admission::Open) {
            Some(Arrival::Opened(link)) => end.open(self.now, link),
            Some(Arrival::Input(_, input)) => {
                end.link.as_mut().unwrap().handle_input(self.now, input);
            }
            None => {}
        }
    }

    fn handle_timeouts(&mut self) {
        for link in self.ends.iter_mut().filter_map(|end| end.link.as_mut()) {
            if link.poll_timeout().is_some_and(|at| at <= self.now) {
                link.handle_timeout(self.now);
            }
        }
    }

    /// Sends what an end has. What it tells of is what it sends, datagram by datagram.
    fn transmit(&mut self, from: usize) {
        self.use_streams(from);
        let mut out = Vec::new();
        while self.ends[from].socket.poll_answer(&mut out).is_some() {
            self.carry(from, std::mem::take(&mut out));
        }
        loop {
            let end = &mut self.ends[from];
            let before = end.log.0.borrow().sent.len();
            let Some(link) = &mut end.link else { return };
            let is_sent = link.poll_transmit(self.now, &mut out, 1).is_some();
            end.socket.settle(link);
            let packets = end.log.0.borrow().sent[before..].to_vec();
            let told: u64 = packets.iter().map(|packet| packet.length).sum();
            assert_eq!(told, out.len() as u64, "what is told is what is sent: {packets:?}");
            if !is_sent {
                return;
            }
            self.carry(from, std::mem::take(&mut out));
        }
    }

    fn carry(&mut self, from: usize, bytes: Vec<u8>) {
        self.sent += 1;
        if !self.seed.draw(self.sent).is_multiple_of(self.loses_one_in) {
            self.under_way.insert((self.now + ONE_WAY, self.sent), (1 - from, bytes));
        }
    }

    fn use_streams(&mut self, of: usize) {
        let end = &mut self.ends[of];
        let Some(link) = &mut end.link else { return };
        let mut may_write = of == NEAR && link.has_early_data() && !end.unsent.is_empty();
        while let Some(event) = link.poll_event() {
            // A server may answer a client's hello at once (0.5-RTT).
            may_write |= matches!(event, QuicEvent::HandshakeDataReady) && of == FAR;
            may_write |= matches!(event, QuicEvent::Connected) && !end.unsent.is_empty();
        }
        while let Some(stream) = link.accept(Dir::Uni) {
            link.read(stream);
        }
        if may_write
            && let Some(stream) = link.open(Dir::Uni)
            && matches!(link.write(stream, &mut end.unsent), Taken::All)
        {
            link.finish(stream);
        }
    }

    fn told(&self, of: usize) -> Ref<'_, Told> {
        self.ends[of].log.0.borrow()
    }

    /// As many packets are told as lost as quinn-proto has taken for lost, and with as many bytes. A wrong one has other bytes.
    fn check_lost(&self, of: usize) {
        let (seed, told) = (self.seed, self.told(of));
        let stats = self.ends[of].link.as_ref().unwrap().quic.stats().path;
        assert_eq!(told.lost.len() as u64, stats.lost_packets, "{seed:?}, end {of}: {told:?}");
        let is_lost =
            |packet: &&QuicPacket| told.lost.contains(&(packet.kind.space(), packet.number));
        let bytes: u64 = told.sent.iter().filter(is_lost).map(in_flight).sum();
        assert_eq!(bytes, stats.lost_bytes, "{seed:?}, end {of}: {:?}", told.lost);
    }
}

/// The bytes of a packet that congestion control counts: none of one that only acknowledges (RFC 9002 §2).
fn in_flight(packet: &QuicPacket) -> u64 {
    match packet.frames.iter().all(|frame| matches!(frame, QuicFrame::Ack(_))) {
        true => 0,
        false => packet.length,
    }
}

#[test]
fn each_packet_that_is_taken_for_lost_is_told_in_every_space() {
    let bench = Bench::new();
    let mut spaces = [BTreeSet::new(), BTreeSet::new()];
    for seed in 0..60 {
        let path = bench.connected(60_000, 5, seed).run();
        for (of, spaces) in spaces.iter_mut().enumerate() {
            path.check_lost(of);
            spaces.extend(path.told(of).lost.iter().map(|(space, _)| *space));
        }
    }
    assert!(spaces[FAR].contains(&QuicSpace::Initial), "{spaces:?}");
    assert!(spaces.iter().all(|spaces| spaces.contains(&QuicSpace::Application)), "{spaces:?}");
}

#[test]
fn packets_from_before_a_retry_are_never_told_as_lost() {
    let mut bench = Bench::new();
    bench.connected(2_000, u64::MAX, 1).run();
    bench.settings = QuicSettings {
        address_validation: AddressValidation::ByRetry,
        memory: Default::default(),
        ..bench.settings
    };
    let mut judged = 0;
    for seed in 0..20 {
        let path = bench.connected(60_000, 8, seed).run();
        path.check_lost(NEAR);
        let told = path.told(NEAR);
        let early = told.sent.iter().filter(|packet| packet.kind == QuicPacketType::ZeroRtt);
        judged += usize::from(early.count() > 1 && !told.lost.is_empty());
    }
    assert!(judged > 5, "{judged} connections with early data and losses");
}

#[test]
fn a_datagram_that_is_kept_back_is_told_when_it_goes() {
    // The third datagram of a server's first flight is more than three times what the client has sent.
    let mut bench = Bench::new();
    bench.settings.initial_mtu = 1_448;
    let mut path = bench.connected(20_000, u64::MAX, 1);
    path.transmit(NEAR);
    path.now += ONE_WAY;
    path.deliver();
    // It tells of no more than it sends.
    path.transmit(FAR);
    assert!(path.ends[FAR].link.as_ref().unwrap().kept_back.is_some());
    let path = path.run();
    path.check_lost(FAR);
    assert_eq!(path.told(FAR).lost, []);
}

#[test]
fn no_round_trip_time_is_told_before_the_first_sample() {
    let path = Bench::new().connected(2_000, u64::MAX, 1).run();
    for of in [NEAR, FAR] {
        let told = path.told(of);
        assert_eq!((told.metrics[0].min_rtt, told.metrics[0].smoothed_rtt), (None, None));
        let first =
            told.metrics.iter().find_map(|metrics| metrics.min_rtt.zip(metrics.smoothed_rtt));
        assert_eq!(first, Some((2 * ONE_WAY, 2 * ONE_WAY)));
        assert!(told.metrics.last().unwrap().min_rtt.is_some());
    }
}

#[test]
fn the_last_thing_that_is_told_of_a_connection_is_that_it_is_forgotten() {
    let mut path = Bench::new().connected(2_000, u64::MAX, 1).run();
    let end = &mut path.ends[NEAR];
    assert_eq!(end.log.0.borrow().forgotten, 0);
    end.link = None;
    assert_eq!(end.log.0.borrow().forgotten, 1);
}
