use super::super::{Finding, reconcile_subject};
use super::*;
use crate::metric;
use std::net::SocketAddr;
use trace::{
    Direction, Fate, FetchOutcome, Flow, Phases, Protocol, QuicMark, TcpMark, TlsVersion, UdpMark,
};

fn at(ms: u64) -> Instant {
    Instant::from_nanos(1_000_000_000 + ms * 1_000_000)
}

/// A trial of one fetch of 5,000 bytes over one connection, and all that was said of it.
struct World {
    protocol: Protocol,
    fetches: Vec<FetchRecord>,
    expected: BTreeMap<u32, u64>,
    reported_bytes: BTreeMap<u32, u64>,
    connections: Option<u64>,
    named: u64,
    resumed: Option<u64>,
    reported_tls: Vec<TlsVersion>,
    packets: Option<Vec<PacketRecord>>,
    since: Option<Instant>,
    server: Option<ServerLog>,
    key_log: Option<KeyLogFacts>,
}

fn packet(
    ms: u64,
    direction: Direction,
    flags: u8,
    (sequence, payload): (u32, u32),
) -> PacketRecord {
    let ends: [SocketAddr; 2] =
        ["10.77.0.1:40000".parse().unwrap(), "10.77.1.1:443".parse().unwrap()];
    let [source, destination] = match direction {
        Direction::Up => ends,
        Direction::Down => [ends[1], ends[0]],
    };
    PacketRecord {
        at: at(ms),
        direction,
        index: 0,
        length: payload + 40,
        fate: Fate::Delivered { at: at(ms) },
        passage: None,
        flow: Some(Flow { protocol: 6, source, destination }),
        tcp: Some(TcpMark { sequence, acknowledgement: 0, flags, payload }),
        udp: None,
    }
}

impl World {
    fn new() -> Self {
        let phases = Phases { last_byte: Some(at(100)), ..Phases::new(at(0)) };
        let fetch = FetchRecord {
            id: 0,
            url: "https://origin.test/files/5kB".to_owned(),
            method: "GET".to_owned(),
            connection: None,
            stream: 0,
            protocol: Protocol::Http2.into(),
            status: Some(200),
            pushed: false,
            hinted: false,
            cached: false,
            request_body_bytes: None,
            redirects: 0,
            made_again: Vec::new(),
            body_bytes: 5000,
            phases,
            outcome: FetchOutcome::Done,
        };
        let tls = TlsRecord {
            version: TlsVersion::V1_3,
            cipher: String::new(),
            alpn: "h2".to_owned(),
            resumed: false,
            early_data: trace::EarlyData::None,
        };
        let seen = ServerConnection {
            id: 1,
            protocol: Protocol::Http2.into(),
            tls: Some(tls),
            requests: 1,
            body_bytes: 5000,
        };
        let packets = vec![
            packet(0, Direction::Up, 0x02, (0, 0)),
            packet(50, Direction::Down, 0x10, (1, 3000)),
            packet(99, Direction::Down, 0x10, (3001, 2300)),
        ];
        Self {
            protocol: Protocol::Http2,
            fetches: vec![fetch],
            expected: [(0, 5000)].into(),
            reported_bytes: [(0, 5000)].into(),
            connections: Some(1),
            named: 1,
            resumed: Some(0),
            reported_tls: vec![TlsVersion::V1_3],
            packets: Some(packets),
            since: None,
            server: Some(ServerLog { connections: vec![seen] }),
            key_log: None,
        }
    }

    fn judged(&self) -> (Outcome, Vec<Evidence>) {
        let (finding, evidence) = self.found();
        (finding.outcome, evidence)
    }

    fn found(&self) -> (Finding, Vec<Evidence>) {
        reconcile_subject(&Case {
            protocol: self.protocol,
            beside: None,
            tls: Some(TlsVersion::V1_3),
            fetches: &self.fetches,
            expected: &self.expected,
            reported_bytes: &self.reported_bytes,
            connections: self.connections,
            named_connections: self.named,
            reported_tls: self.reported_tls.clone(),
            resumed: self.resumed,
            packets: self.packets.as_deref(),
            since: self.since,
            server: self.server.as_ref(),
            key_log: self.key_log.as_ref(),
        })
    }

    fn grade(&self, claim: Claim) -> Option<Grade> {
        self.judged().1.iter().find(|one| one.claim == claim).map(|one| one.grade)
    }

    fn server(&mut self) -> &mut ServerConnection {
        &mut self.server.as_mut().unwrap().connections[0]
    }
}

#[test]
fn claims_that_hold_are_graded_by_the_best_witness() {
    let mut world = World::new();
    assert_eq!(world.judged().0, Outcome::Measured);
    assert_eq!(world.grade(Claim::Protocol), Some(Grade::ServerLog));
    assert_eq!(world.grade(Claim::Connections), Some(Grade::Wire));
    assert_eq!(world.grade(Claim::Bytes), Some(Grade::Wire));
    assert_eq!(world.grade(Claim::Times), Some(Grade::Wire));
    assert_eq!(world.grade(Claim::Tls), Some(Grade::ServerLog));
    world.key_log = Some(KeyLogFacts::read("CLIENT_HANDSHAKE_TRAFFIC_SECRET aa bb\n"));
    assert_eq!(world.grade(Claim::Tls), Some(Grade::KeyLog));
    world.packets = None;
    assert_eq!(world.grade(Claim::Bytes), Some(Grade::ServerLog));
    assert_eq!(world.grade(Claim::Connections), Some(Grade::ServerLog));
    assert_eq!(world.grade(Claim::Times), None);
    world.server = None;
    for claim in [Claim::Protocol, Claim::Bytes, Claim::Connections, Claim::Resumed] {
        assert_eq!(world.grade(claim), Some(Grade::Unverified), "{claim}");
    }
    assert_eq!(world.judged().0, Outcome::Measured);
}

#[test]
fn a_claim_that_a_witness_contradicts_fails_the_trial() {
    type Change = fn(&mut World);
    let changes: [(&str, Change); 12] = [
        ("it spoke http/1.1", |w| w.fetches[0].protocol = Protocol::Http1.into()),
        ("the server saw http/1.1", |w| w.server().protocol = Protocol::Http1.into()),
        ("it spoke TLSv1.2", |w| w.reported_tls = vec![TlsVersion::V1_2]),
        ("the server saw TLSv1.2", |w| {
            w.server().tls.as_mut().unwrap().version = TlsVersion::V1_2;
        }),
        ("key log is of TLSv1.2", |w| w.key_log = Some(KeyLogFacts::read("CLIENT_RANDOM aa bb"))),
        ("opened 2 connections", |w| w.connections = Some(2)),
        ("its fetches name 2 connections", |w| (w.connections, w.named) = (None, 2)),
        ("the server saw 0", |w| w.resumed = Some(1)),
        ("has 4999 bytes", |w| w.reported_bytes = [(0, 4999)].into()),
        ("the link delivered only 3000", |w| w.packets.as_mut().unwrap().truncate(2)),
        ("after 60.0 ms, but the link had delivered only 3000", |w| {
            w.fetches[0].phases.last_byte = Some(at(60))
        }),
        ("the server sent 4999", |w| {
            w.packets = None;
            w.server().body_bytes = 4999;
        }),
    ];
    for (expected, change) in changes {
        let mut world = World::new();
        change(&mut world);
        let Outcome::Failed { reason } = world.judged().0 else { panic!("{expected}: not failed") };
        assert!(reason.contains(expected), "{reason}");
    }
}

#[test]
fn what_was_moved_to_warm_up_does_not_count_for_the_measured_work() {
    let mut world = World::new();
    world.since = Some(at(10));
    assert_eq!(world.judged().0, Outcome::Measured);
    world.since = Some(at(60));
    let Outcome::Failed { reason } = world.judged().0 else { panic!("not failed") };
    assert!(reason.contains("delivered only 2300"), "{reason}");
}

#[test]
fn what_a_warm_up_sent_again_is_not_of_the_measured_work() {
    let mut world = World::new();
    let again = |ms| packet(ms, Direction::Down, 0x10, (1, 700));
    world.packets.as_mut().unwrap().splice(1..1, [again(5), again(6), again(7)]);
    let retransmitted = |world: &World| world.found().0.metrics[metric::RETRANSMITTED];
    assert_eq!(retransmitted(&world), 2100.0);
    world.since = Some(at(10));
    assert_eq!(retransmitted(&world), 0.0);
    world.packets.as_mut().unwrap().push(again(100));
    assert_eq!(retransmitted(&world), 700.0);
    assert_eq!(world.found().0.packets.down.retransmitted, 2800, "the row has the whole log");
}

#[test]
fn a_cell_is_vouched_for_by_the_weakest_of_its_trials() {
    let of = |grade| Evidence { claim: Claim::Tls, value: String::new(), grade };
    let all = [of(Grade::KeyLog), of(Grade::ServerLog), of(Grade::KeyLog)];
    let expected = GradedClaim { claim: Claim::Tls, grade: Grade::ServerLog };
    assert_eq!(weakest(all.iter()), [expected]);
}

#[test]
fn a_key_log_tells_each_handshake_once() {
    let text = "# a comment\nCLIENT_RANDOM aa 1\nCLIENT_HANDSHAKE_TRAFFIC_SECRET bb 2\n\
                SERVER_HANDSHAKE_TRAFFIC_SECRET bb 3\nCLIENT_HANDSHAKE_TRAFFIC_SECRET cc 4\nrubbish\n";
    let facts = KeyLogFacts::read(text);
    assert_eq!(facts.handshakes, [(TlsVersion::V1_2, 1), (TlsVersion::V1_3, 2)].into());
}

/// A datagram of `payload` bytes, with a handshake's packet of a connection that its sender calls `sender`.
fn datagram(ms: u64, direction: Direction, (payload, sender): (u32, Option<u64>)) -> PacketRecord {
    let like = packet(ms, direction, 0, (0, payload));
    let quic = sender.map(|sender| QuicMark { sender });
    let flow = like.flow.map(|flow| Flow { protocol: 17, ..flow });
    PacketRecord { flow, tcp: None, udp: Some(UdpMark { payload, quic, receiver: None }), ..like }
}

/// The same trial over HTTP/3, with the server's log where it keeps one.
fn over_quic(server: bool) -> World {
    let mut world = World::new();
    world.protocol = Protocol::Http3;
    world.fetches[0].protocol = Protocol::Http3.into();
    world.server().protocol = Protocol::Http3.into();
    if !server {
        world.server = None;
    }
    world.packets = Some(vec![
        datagram(0, Direction::Up, (1200, Some(7))),
        // The same handshake goes on, from the same socket.
        datagram(60, Direction::Up, (1200, Some(7))),
        datagram(61, Direction::Down, (1200, Some(9))),
        datagram(90, Direction::Down, (5000, None)),
    ]);
    world
}

#[test]
fn http3_is_vouched_for_by_quic_on_the_link_and_by_the_server() {
    let world = over_quic(true);
    assert_eq!(world.judged().0, Outcome::Measured);
    assert_eq!(world.grade(Claim::Protocol), Some(Grade::ServerLog));
    for claim in [Claim::Connections, Claim::Bytes, Claim::Times] {
        assert_eq!(world.grade(claim), Some(Grade::Wire), "{claim}");
    }
    let alone = over_quic(false);
    assert_eq!(alone.judged().0, Outcome::Measured);
    assert_eq!(alone.grade(Claim::Protocol), Some(Grade::Wire));
}

#[test]
fn another_protocol_below_than_the_one_asked_for_is_seen_on_the_link() {
    let said = |world: &World| world.judged().0.reason().unwrap_or_default().to_owned();
    let mut tcp = over_quic(true);
    tcp.packets = World::new().packets;
    assert_eq!(said(&tcp), "h3 was asked for, but the link saw 1 TCP connections begin");
    let mut none = over_quic(true);
    none.packets = Some(vec![datagram(90, Direction::Down, (6000, None))]);
    assert_eq!(said(&none), "h3 was asked for, but the link saw no QUIC connection begin");
    let mut quic = World::new();
    quic.packets = over_quic(true).packets;
    assert_eq!(said(&quic), "h2 was asked for, but the link saw 1 QUIC connections begin");
    let mut two = over_quic(true);
    two.packets.as_mut().unwrap().push(datagram(5, Direction::Up, (1200, Some(8))));
    assert_eq!(said(&two), "the client says that it opened 1 connection, but the link saw 2");
}
