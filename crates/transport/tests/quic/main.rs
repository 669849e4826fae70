//! QUIC in virtual time: what takes how many round trips, the first round, slow start, Retry, loss, resets and ends.

#![allow(clippy::unwrap_used, reason = "the helpers of a test fail with it")]

mod datagrams;
mod ends;
mod keep_alive;
mod rebound;
mod spoofed;
mod toy;

use bytes::BytesMut;
use endpoint::ReceivedDatagrams;
use ends::Side;
use link::{LinkSpec, no_traces};
use proto::{Connection, Error, StreamId};
use secure::{
    Authority, AuthoritySpec, ClientTls, ClientTlsOptions, ServerTls, ServerTlsOptions, TlsError,
};
use sim::{Host, Path, World};
use std::time::Duration;
use toy::{ALPN, Far, Near};
use trace::{Direction, Fate};
use transport::{
    AddressValidation, Admission, Arrival, CongestionController, Failure, MtuDiscovery,
    QuicConnection, QuicSettings, QuicSocket,
};
use unit::{Instant, Seed};

const BEGIN: Instant = Instant::from_nanos(1_000_000_000);

struct Pair {
    world: World,
    near: Host<Side<Near>>,
    far: Host<Side<Far>>,
}

/// Equal datagrams from the first to the last.
fn settings() -> QuicSettings {
    QuicSettings {
        mtu_discovery: MtuDiscovery::Off,
        seed: Some(Seed(1)),
        ..QuicSettings::default()
    }
}

/// A client that asks for these numbers of bytes at once, over this link.
fn pair(link: &str, settings: &QuicSettings, questions: &[u64]) -> Pair {
    let authority = Authority::new(AuthoritySpec::default()).unwrap();
    trusting(&authority, &authority, link, settings, questions)
}

/// As `pair`, with a client that trusts this authority and a server with a certificate of the other one.
fn trusting(
    trusted: &Authority,
    authority: &Authority,
    link: &str,
    settings: &QuicSettings,
    questions: &[u64],
) -> Pair {
    let identity = authority.issue(&["far.test"]).unwrap();
    let server = ServerTls::new(ServerTlsOptions::new(vec![identity])).unwrap();
    let roots = vec![trusted.root_pem()];
    let client = ClientTls::new(ClientTlsOptions { roots, ..Default::default() }).unwrap();
    let near = QuicSocket::client(settings, client.for_quic(ALPN).unwrap());
    let far = QuicSocket::server(settings, server.for_quic(ALPN).unwrap());
    let mut world = World::new(1);
    let near = world.host("10.0.0.1", Side::near(near, "10.0.0.2:443", "far.test", questions));
    let far = world.host("10.0.0.2", Side::far(far));
    world.listen_datagrams(far, "10.0.0.2:443");
    world.connect(near, far, Path::link(LinkSpec::parse(link, no_traces).unwrap()));
    world.record_packets();
    Pair { world, near, far }
}

impl Pair {
    /// Runs until every answer is whole.
    fn run(&mut self, answers: usize) {
        let near = self.near;
        self.world.run_while(|world| {
            let seen = &world.end_point(near).seen;
            let whole = seen.answers.values().filter(|answer| answer.last.is_some()).count();
            whole < answers && world.now() < BEGIN + Duration::from_secs(300)
        });
    }

    /// Runs until both sides have nothing to do.
    fn run_out(&mut self) {
        self.world.run();
    }

    fn first_byte(&self) -> Duration {
        self.world.end_point(self.near).seen.answers[&0].first.since(BEGIN)
    }

    fn lost(&self) -> (usize, usize) {
        let down = self.world.packets().iter().filter(|p| p.direction == Direction::Down);
        let fates: Vec<Fate> = down.map(|packet| packet.fate).collect();
        (fates.iter().filter(|fate| **fate == Fate::QueueFull).count(), fates.len())
    }
}

/// A client that leaves out a part of what it sends has the server wait with the rest. That is all that it keeps.
#[test]
fn a_server_keeps_nothing_of_what_was_received_beside_a_datagram() {
    const ARENA: usize = 256 * 1024;
    let mut pair = pair("rtt=100ms", &settings(), &[100]);
    pair.world.run_until(BEGIN);
    let first = pair.world.end_point(pair.near).first.clone();
    let mut server = pair.world.take(pair.far).socket;
    let mut handle = |data: BytesMut| {
        let (remote, stride) = ("10.0.0.1:1".parse().unwrap(), data.len());
        let mut received = ReceivedDatagrams { remote, local: None, ecn: None, stride, data };
        server.handle_datagrams(BEGIN, &mut received, Admission::Open)
    };
    let opened = handle(BytesMut::from(&first[..]));
    assert!(matches!(opened, Some(Arrival::Opened(_))), "{opened:?}");
    let mut arena = BytesMut::zeroed(ARENA);
    arena[..first.len()].copy_from_slice(&first);
    let again = handle(arena.split_to(first.len()));
    assert!(matches!(again, Some(Arrival::Input(..))), "{again:?}");
    arena.clear();
    assert!(arena.try_reclaim(ARENA), "something of the arena is kept");
    drop((opened, again));
}

#[test]
fn the_first_byte_of_an_answer_takes_two_round_trips_and_a_third_with_a_retry() {
    let mut cold = pair("rtt=100ms", &settings(), &[1_000]);
    cold.run(1);
    assert_eq!(cold.first_byte(), Duration::from_millis(200));
    // The certificates go into three datagrams of any size, to an address that is not proven yet.
    let large = QuicSettings { initial_mtu: 1_448, ..settings() };
    let mut large = pair("rtt=100ms", &large, &[100]);
    large.run(5);
    assert_eq!(large.first_byte(), Duration::from_millis(200));
    let validation = AddressValidation::ByRetry;
    let retry = QuicSettings { address_validation: validation, ..settings() };
    let mut retry = pair("rtt=100ms", &retry, &[1_000]);
    retry.run(1);
    assert_eq!(retry.first_byte(), Duration::from_millis(300));
}

#[test]
fn the_first_round_has_ten_packets() {
    let mut pair = pair("rtt=100ms", &settings(), &[1_000_000]);
    pair.run(1);
    // The request arrives after 150 ms; the answer to its first acknowledgement begins 100 ms later.
    let first_round = BEGIN + Duration::from_millis(150)..BEGIN + Duration::from_millis(170);
    let is_of_it = |packet: &&trace::PacketRecord| {
        packet.direction == Direction::Down
            && first_round.contains(&packet.at)
            && packet.length > 1_000
    };
    assert_eq!(pair.world.packets().iter().filter(is_of_it).count(), 10);
}

/// Full datagrams of the answer in each of the first five rounds. A round ends when the server hears of its first datagram.
fn first_rounds(packets: &[trace::PacketRecord]) -> Vec<u32> {
    let came = |packet: &trace::PacketRecord| match packet.fate {
        Fate::Delivered { at } => Some(at),
        _ => None,
    };
    let of = |way| packets.iter().filter(move |packet| packet.direction == way);
    let full = || of(Direction::Down).filter(|packet| packet.length >= 1_300);
    // The handshake's full datagrams come before the request, which arrives after 150 ms.
    let mut from = BEGIN + Duration::from_millis(150);
    let round = |_| {
        let first = full().find(|packet| packet.at >= from).and_then(came).unwrap();
        let tells = of(Direction::Up).find(|packet| packet.at >= first).unwrap();
        let begun = std::mem::replace(&mut from, came(tells).unwrap());
        full().filter(|packet| (begun..from).contains(&packet.at)).count() as u32
    };
    (0..5).map(round).collect()
}

/// Ten segments and slow start (RFC 6928, RFC 9438 §4.10): 20 Mbit/s over 100 ms hold 170 packets.
#[test]
fn the_first_five_rounds_double_within_one_packet() {
    let settings = QuicSettings { initial_mtu: 1_472, ..settings() };
    for link in [
        "rtt=100ms,down=200mbit,up=200mbit,queue=9MB",
        "rtt=100ms,down=20mbit,up=20mbit,queue=250kB",
    ] {
        let mut pair = pair(link, &settings, &[2_000_000]);
        pair.run(1);
        let rounds = first_rounds(pair.world.packets());
        let alike =
            rounds.iter().zip([10_u32, 20, 40, 80, 160]).all(|(own, tcp)| own.abs_diff(tcp) <= 1);
        assert!(alike, "{link}: {rounds:?}");
    }
}

/// RFC 9002 §7.7. The acknowledgements of a round come at once over this link: a sender that does not pace sends the 160 datagrams of
/// the fifth round within a millisecond. The pacer lets ten out at once, and the others at 1.25 windows a round trip.
#[test]
fn rounds_are_paced() {
    for controller in [CongestionController::Cubic, CongestionController::NewReno] {
        let settings = QuicSettings { congestion_controller: controller, ..settings() };
        let link = "rtt=100ms,down=1gbit,up=1gbit,queue=9MB";
        let mut pair = pair(link, &settings, &[500_000]);
        pair.run(1);
        // The request arrives after 150 ms.
        let answer_from = BEGIN + Duration::from_millis(150);
        let is_of_answer = |packet: &&trace::PacketRecord| {
            packet.direction == Direction::Down && packet.length > 1_000 && packet.at >= answer_from
        };
        let answer = pair.world.packets().iter().filter(is_of_answer);
        let sent: Vec<Instant> = answer.map(|packet| packet.at).collect();
        assert!(sent.len() > 300, "{controller:?}: {} datagrams", sent.len());
        let within = |first: &Instant| {
            let millisecond = *first..*first + Duration::from_millis(1);
            sent.iter().filter(|at| millisecond.contains(at)).count()
        };
        let most = sent.iter().map(within).max().unwrap();
        assert!(most <= 20, "{controller:?}: {most} datagrams within a millisecond");
    }
}

#[test]
fn slow_start_leaves_before_the_queue_overflows() {
    for controller in [CongestionController::Cubic, CongestionController::NewReno] {
        let settings = QuicSettings { congestion_controller: controller, ..settings() };
        let link = "rtt=100ms,down=20mbit,up=20mbit,queue=250000B";
        let mut pair = pair(link, &settings, &[5_000_000]);
        pair.run(1);
        let (lost, sent) = pair.lost();
        assert!(lost * 100 <= sent * 2, "{controller:?}: {lost} of {sent} lost");
        let took = pair.world.now().since(BEGIN);
        // 5 MB take 2 s at 20 Mbit/s; growth to that rate takes some round trips.
        assert!(took < Duration::from_millis(4_000), "{controller:?}: {took:?}");
    }
}

/// A peer that is asked to acknowledge each 64th packet does it after 25 ms at the latest: each round is longer by that at most.
#[test]
fn fewer_acknowledgements_do_not_end_slow_start_on_an_empty_path() {
    let took = |ack_threshold| {
        let settings = QuicSettings { ack_threshold: Some(ack_threshold), ..settings() };
        let mut pair = pair("rtt=50ms,down=1gbit,up=1gbit,queue=9MB", &settings, &[10_000_000]);
        pair.run(1);
        pair.world.now().since(BEGIN)
    };
    let (many, few) = (took(2), took(64));
    assert!(
        few < many.mul_f64(1.5),
        "{few:?}, with an acknowledgement of each second one {many:?}"
    );
}

#[test]
fn answers_are_whole_over_a_link_that_loses_packets() {
    for controller in
        [CongestionController::Cubic, CongestionController::NewReno, CongestionController::Bbr]
    {
        let settings = QuicSettings { congestion_controller: controller, ..settings() };
        let questions = [200_000; 10];
        let mut pair = pair("rtt=40ms,down=20mbit,up=20mbit,loss=3%", &settings, &questions);
        pair.run(questions.len());
        let seen = &pair.world.end_point(pair.near).seen;
        let bytes: Vec<usize> = seen.answers.values().map(|answer| answer.bytes).collect();
        assert_eq!(bytes, [200_000; 10], "{controller:?}");
    }
}

/// How long an answer of so many bytes takes over this link, which also tells the controller's name.
fn time_of(controller: CongestionController, link: &str, bytes: u64) -> (Duration, &'static str) {
    let settings = QuicSettings { congestion_controller: controller, ..settings() };
    let mut pair = pair(link, &settings, &[bytes]);
    pair.run(1);
    let far = pair.far;
    let name = pair.world.with(far, |far| {
        far.connections.values_mut().next().unwrap().link().facts().congestion_control
    });
    (pair.world.now().since(BEGIN), name)
}

/// Two of a hundred packets are lost by chance, not by a queue that overflows: CUBIC takes them for congestion, and is left
/// with a window of about 1.2 / sqrt(0.02) packets (RFC 9438 §5.1); BBR keeps to the rate that it measures.
#[test]
fn over_a_link_that_loses_packets_by_chance_bbr_is_faster_than_cubic() {
    let link = "rtt=60ms,down=10mbit,up=10mbit,loss=2%,queue=150kB";
    let (cubic, name) = time_of(CongestionController::Cubic, link, 5_000_000);
    assert_eq!(name, "cubic");
    let (bbr, name) = time_of(CongestionController::Bbr, link, 5_000_000);
    assert_eq!(name, "bbr");
    println!("cubic {cubic:?}, bbr {bbr:?}");
    assert!(2 * bbr < cubic, "bbr {bbr:?}, cubic {cubic:?}");
}

#[test]
fn a_machine_is_asked_for_one_batch_at_a_time_and_batches_are_large() {
    let mut pair = pair("rtt=10ms", &settings(), &[20_000_000]);
    pair.run(1);
    let far = pair.world.end_point(pair.far);
    let connection = far.connections.values().next().unwrap();
    let asked = &connection.ready_machine().unwrap().asked_for;
    let most = asked.iter().copied().max().unwrap();
    assert!(most <= 64 * 1_200, "{most}");
    assert!(far.largest_batch > 40, "{}", far.largest_batch);
}

#[test]
fn a_stream_that_is_reset_takes_no_other_with_it() {
    let mut pair = pair("rtt=20ms,down=10mbit,up=10mbit", &settings(), &[1_000_000, 300_000]);
    let near = pair.near;
    pair.world.run_while(|world| world.end_point(near).seen.answers.is_empty());
    let now = pair.world.now();
    pair.world.with(near, |near| near.command(now, |toy| toy.reset(now, StreamId(0))));
    pair.run(1);
    let answers = &pair.world.end_point(near).seen.answers;
    assert!(answers[&0].bytes < 100_000, "{}", answers[&0].bytes);
    assert_eq!((answers[&4].bytes, answers[&4].last.is_some()), (300_000, true));
}

/// RFC 9002 §7: no more is in flight than the congestion window, where a peer allows more of many streams at once, too. What
/// flow control kept back of them is handed over then without asking how much may go.
#[test]
fn what_flow_control_kept_back_stays_within_the_congestion_window() {
    let settings = QuicSettings { stream_window: 16_000, ..settings() };
    let mut pair = pair("rtt=100ms", &settings, &[40_000; 10]);
    let (near, far) = (pair.near, pair.far);
    pair.world.run_while(|world| world.end_point(near).connections_ready() == 0);
    let now = pair.world.now();
    pair.world.with(near, |near| near.command(now, |toy| toy.is_waiting = true));
    // One stream a second: too little for the window to grow by.
    for _ in 0..20 {
        pair.world.run_for(Duration::from_secs(1));
        let now = pair.world.now();
        pair.world.with(near, |near| {
            near.command(now, |toy| {
                toy.ask(40_000);
            })
        });
    }
    pair.world.run_for(Duration::from_secs(1));
    let facts = |pair: &mut Pair| {
        let link =
            |far: &mut Side<Far>| far.connections.values_mut().next().unwrap().link().facts();
        pair.world.with(far, link)
    };
    let window = facts(&mut pair).congestion_window;
    // All that the peer has allowed has come, and nothing is in flight.
    let (now, before) = (pair.world.now(), pair.world.packets().len());
    let read = |toy: &mut toy::Toy| (0..30).for_each(|number| toy.read_again(StreamId(4 * number)));
    pair.world.with(near, |near| near.command(now, read));
    // Before the first acknowledgement comes back.
    pair.world.run_until(now + Duration::from_millis(149));
    let sent = pair.world.packets()[before..].iter();
    let sent = sent.filter(|packet| packet.direction == Direction::Down);
    let bytes: u64 = sent.map(|packet| packet.length as u64 - 28).sum();
    // What goes beside it, and a datagram more or less.
    let allowed = window - 1_200..=window + 520 + 1_200;
    assert!(allowed.contains(&bytes), "{bytes} of a window of {window}");
    pair.run(30);
    let answers = &pair.world.end_point(near).seen.answers;
    assert!(answers.values().all(|answer| answer.bytes == 40_000), "{answers:?}");
}

/// HTTP/3 leaves a stream unread while QPACK waits for instructions, and while the application takes nothing.
#[test]
fn a_reset_is_told_of_a_stream_that_the_machine_does_not_read() {
    let mut pair = pair("rtt=100ms", &settings(), &[1_000]);
    let (near, far) = (pair.near, pair.far);
    pair.world.run_while(|world| world.end_point(far).connections.is_empty());
    pair.world.with(far, |far| far.command(BEGIN, |toy| toy.is_waiting = true));
    // The question is on its way, and no acknowledgement of it has come.
    let sent = BEGIN + Duration::from_millis(101);
    pair.world.run_while(|world| world.now() < sent);
    let now = pair.world.now();
    pair.world.with(near, |near| near.command(now, |toy| toy.reset(now, StreamId(0))));
    let latest = now + Duration::from_millis(51);
    let resets = |world: &World| {
        let connection = world.end_point(far).connections.values().next().unwrap();
        connection.ready_machine().unwrap().resets.clone()
    };
    pair.world.run_while(|world| resets(world).is_empty() && world.now() < latest);
    assert_eq!(resets(&pair.world), [(0, 7)]);
    // It is told once, and what came before it is void.
    pair.world.with(far, |far| far.command(latest, |toy| toy.read_again(StreamId(0))));
    assert_eq!(resets(&pair.world).len(), 1);
    let connection = pair.world.end_point(far).connections.values().next().unwrap();
    assert!(connection.ready_machine().unwrap().unsent.is_empty());
}

#[test]
fn a_connection_that_is_closed_in_good_order_is_no_error_and_is_forgotten() {
    let mut pair = pair("rtt=20ms", &settings(), &[1_000]);
    let (near, far) = (pair.near, pair.far);
    pair.run(1);
    let now = pair.world.now();
    pair.world.with(near, |near| near.command(now, |toy| toy.shutdown(now)));
    pair.world.run_while(|world| world.now() < now + Duration::from_millis(15));
    assert_eq!(pair.world.end_point(far).seen.ends, [None]);
    pair.run_out();
    assert!(pair.world.end_point(near).connections.is_empty());
    assert!(pair.world.end_point(far).connections.is_empty());
}

#[test]
fn a_connection_is_forgotten_three_seconds_after_its_end_however_long_the_round_trip_is() {
    // The client hears of the end after 2 s, and three probe time-outs are more than 12 s.
    let mut pair = pair("rtt=4s", &settings(), &[1_000]);
    let far = pair.far;
    pair.run(1);
    let now = pair.world.now();
    pair.world.with(far, |far| far.connections.values_mut().next().unwrap().close());
    pair.world.with(far, |far| far.command(now, |_| {}));
    pair.world.run_while(|world| !world.end_point(far).connections.is_empty());
    let kept = pair.world.now().since(now);
    assert!((2_900..=3_100).contains(&kept.as_millis()), "{kept:?}");
}

#[test]
fn a_peer_that_is_gone_ends_the_connection_after_the_idle_time_out() {
    let idle_timeout = Duration::from_secs(5);
    let mut pair = pair("rtt=20ms", &QuicSettings { idle_timeout, ..settings() }, &[1_000]);
    pair.run(1);
    let near = pair.near;
    pair.world.run_while(|world| world.end_point(near).seen.ends.is_empty());
    let ends = &pair.world.end_point(near).seen.ends;
    assert!(matches!(ends[..], [Some(Error::TimedOut { .. })]), "{ends:?}");
    let idle = pair.world.now().since(BEGIN);
    assert!((5_000..5_300).contains(&idle.as_millis()), "{idle:?}");
}

#[test]
fn a_certificate_that_is_not_trusted_is_told_with_its_remedy() {
    let ours = Authority::new(AuthoritySpec::default()).unwrap();
    let theirs = AuthoritySpec { seed: Seed(7), ..AuthoritySpec::default() };
    let theirs = Authority::new(theirs).unwrap();
    let mut pair = trusting(&ours, &theirs, "rtt=20ms", &settings(), &[1_000]);
    pair.run_out();
    let failures = &pair.world.end_point(pair.near).seen.failures;
    assert!(
        matches!(failures[..], [Failure::Handshake(TlsError::Untrusted { .. })]),
        "{failures:?}"
    );
    // The server hears of it by an alert.
    let failures = &pair.world.end_point(pair.far).seen.failures;
    assert!(matches!(failures[..], [Failure::Handshake(TlsError::Alert { .. })]), "{failures:?}");
}

#[test]
fn a_server_that_refuses_is_told_with_the_codes_name() {
    let mut pair = pair("rtt=100ms", &settings(), &[1_000]);
    pair.world.with(pair.far, |far| far.admission = Admission::Full);
    pair.run_out();
    let failures = &pair.world.end_point(pair.near).seen.failures;
    let refused = Failure::PeerClosed { code: 0x2, name: "CONNECTION_REFUSED" };
    assert_eq!(failures[..], [refused]);
}

#[test]
fn a_close_is_told_with_its_codes_name() {
    let mut pair = pair("rtt=100ms", &settings(), &[1_000]);
    pair.run(1);
    let now = pair.world.now();
    pair.world.with(pair.far, |far| far.command(now, |toy| toy.close(0x107)));
    pair.run_out();
    let ends = &pair.world.end_point(pair.near).seen.ends;
    let name = "of the toy";
    assert_eq!(ends[..], [Some(proto::Error::PeerClosed { code: 0x107, name })]);
}

#[test]
fn what_was_negotiated_and_how_long_it_took_is_told() {
    let mut pair = pair("rtt=100ms", &settings(), &[1_000]);
    pair.run(1);
    let near = pair.world.end_point(pair.near);
    let connection = near.connections.values().next().unwrap();
    let mut record = trace::ConnectionRecord::begun(0, String::new(), String::new(), BEGIN);
    connection.complete(&mut record);
    let tls = record.tls.as_ref().unwrap();
    assert_eq!((&tls.version, &*tls.alpn, tls.resumed), (&trace::TlsVersion::V1_3, ALPN, false));
    assert!(tls.cipher.starts_with("TLS_"), "{}", tls.cipher);
    assert_eq!(record.secured, Some(BEGIN + Duration::from_millis(100)));
    assert!(record.bytes_received > 1_000 && record.bytes_sent > 1_200, "{record:?}");
}

/// RFC 9000 §3.5: a stopped stream is reset. Its machine has forgotten one that it has handed over.
#[test]
fn a_stopped_stream_that_flow_control_keeps_back_gives_its_place_back() {
    let settings = QuicSettings { stream_window: 1_000, ..settings() };
    let mut pair = pair("rtt=20ms", &settings, &[3_000; 100]);
    let near = pair.near;
    pair.world.run_while(|world| world.end_point(near).connections_ready() == 0);
    let now = pair.world.now();
    pair.world.with(near, |near| near.command(now, |toy| toy.is_waiting = true));
    pair.world.run_for(Duration::from_secs(1));
    let limit = |pair: &Pair| {
        let near = pair.world.end_point(pair.near);
        near.connections.values().next().unwrap().ready_machine().unwrap().limit
    };
    assert_eq!(limit(&pair), 100);
    let now = pair.world.now();
    let stop = |toy: &mut toy::Toy| (0..100).for_each(|nth| toy.reset(now, StreamId(4 * nth)));
    pair.world.with(near, |near| near.command(now, stop));
    pair.world.run_for(Duration::from_secs(1));
    assert_eq!(limit(&pair), 200);
}

/// The bytes of the token in a client's first datagram (RFC 9000 §17.2.2).
fn token_length(datagram: &[u8]) -> usize {
    let destination = usize::from(datagram[5]);
    let source = usize::from(datagram[6 + destination]);
    let token = &datagram[7 + destination + source..];
    usize::from(token[0] & 0x3f) << (8 * usize::from(token[0] >> 6))
}

/// RFC 9000 §8.1.3: a client does not send a token to another server than the one that it is from.
#[test]
fn a_token_goes_to_the_port_that_it_came_from_alone() {
    let mut pair = pair("rtt=20ms", &settings(), &[1_000]);
    pair.run(1);
    pair.world.run_for(Duration::from_secs(1));
    let now = pair.world.now();
    let mut socket = pair.world.take(pair.near).socket;
    for (port, has_token) in [(444, false), (443, true)] {
        let link = socket.connect(now, ([10, 0, 0, 2], port).into(), "far.test").unwrap();
        let mut first = Vec::new();
        QuicConnection::new(now, Near, link).poll_transmit(now, &mut first, 1).unwrap();
        assert_eq!(token_length(&first) > 0, has_token, "{port}");
    }
}
