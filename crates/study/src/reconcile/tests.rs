use super::*;
use proptest::prelude::*;
use std::net::SocketAddr;
use trace::{
    Direction, Fate, Flow, HeaderBytes, HeaderSize, Passage, Phases, Protocol, SpokenProtocol,
    TcpMark, TlsRecord, TlsVersion,
};
use unit::Instant;

fn at(ms: f64) -> Instant {
    Instant::from_nanos(1_000_000_000 + (ms * 1e6).round() as u64)
}

/// A fetch on `connection`: queued, sent, first byte, last byte.
fn fetch(id: u32, connection: u32, times: [f64; 4]) -> FetchRecord {
    FetchRecord {
        id,
        url: format!("https://far/{id}"),
        method: "GET".to_owned(),
        connection: Some(connection),
        stream: 0,
        protocol: Protocol::Http1.into(),
        status: Some(200),
        pushed: false,
        hinted: false,
        cached: false,
        request_body_bytes: None,
        redirects: 0,
        made_again: Vec::new(),
        body_bytes: 5000,
        phases: Phases {
            sent: Some(at(times[1])),
            first_byte: Some(at(times[2])),
            last_byte: Some(at(times[3])),
            ..Phases::new(at(times[0]))
        },
        outcome: FetchOutcome::Done,
    }
}

fn connection(id: u32, protocol: &str, times: [f64; 3]) -> ConnectionRecord {
    let remote = "10.0.0.2:443".to_owned();
    ConnectionRecord {
        protocol: SpokenProtocol::from_name(protocol),
        tls: Some(TlsRecord {
            version: TlsVersion::V1_3,
            cipher: String::new(),
            alpn: protocol.to_owned(),
            resumed: false,
            early_data: trace::EarlyData::None,
        }),
        connected: Some(at(times[1])),
        secured: Some(at(times[2])),
        requests: 1,
        rounds: 1,
        ..ConnectionRecord::begun(id, "far:443".to_owned(), remote, at(times[0]))
    }
}

struct Case {
    fetches: Vec<FetchRecord>,
    connections: Vec<ConnectionRecord>,
    packets: Option<Vec<PacketRecord>>,
    link: LinkFacts,
    server_time: BTreeMap<u32, Duration>,
}

impl Case {
    fn of(fetches: Vec<FetchRecord>, connections: Vec<ConnectionRecord>) -> Self {
        let rate = "1mbit".parse().ok();
        let link = LinkFacts { rtt: Duration::from_millis(100), down: rate, up: rate };
        let server_time = BTreeMap::new();
        Self { fetches, connections, packets: None, link, server_time }
    }

    fn finding(&self) -> Finding {
        reconcile(&TrialLogs {
            fetches: &self.fetches,
            connections: &self.connections,
            packets: self.packets.as_deref(),
            link: self.link,
            server_time: &self.server_time,
            nagle: Nagle { client: true, server: true },
        })
    }
}

/// A page over HTTP/1.1: connect and handshake, the document, then two images one after the other, 100 ms a wait.
fn one_connection() -> Case {
    let mut document = fetch(0, 0, [0.0, 201.0, 301.0, 311.0]);
    document.phases.connect_start = Some(at(0.0));
    document.phases.connected = Some(at(100.0));
    document.phases.secured = Some(at(200.0));
    let first = fetch(1, 0, [306.0, 312.0, 412.0, 452.0]);
    let second = fetch(2, 0, [306.0, 452.0, 552.0, 592.0]);
    Case::of(vec![document, first, second], vec![connection(0, "http/1.1", [0.0, 100.0, 200.0])])
}

/// A packet at 1 Mbit/s that comes out at `out`; where it does not it is lost behind the bottleneck.
fn packet(direction: Direction, sent: f64, out: Option<f64>, payload: (u32, u32)) -> PacketRecord {
    let near: SocketAddr = "10.0.0.1:5000".parse().unwrap();
    let far: SocketAddr = "10.0.0.2:443".parse().unwrap();
    let (source, destination) = match direction {
        Direction::Up => (near, far),
        Direction::Down => (far, near),
    };
    let (sequence, payload) = payload;
    let span = f64::from(payload + 40) / 125.0;
    let left_queue = out.map_or(sent, |out| out - 50.0 - span);
    let passage = Passage {
        entered: at(sent.min(left_queue)),
        left_queue: at(left_queue),
        sent: at(left_queue + span),
        is_marked: false,
    };
    PacketRecord {
        at: at(sent),
        direction,
        index: 0,
        length: payload + 40,
        fate: out.map_or(Fate::Lost, |out| Fate::Delivered { at: at(out) }),
        passage: Some(passage),
        flow: Some(Flow { protocol: 6, source, destination }),
        tcp: Some(TcpMark {
            sequence,
            acknowledgement: 0,
            flags: if payload == 0 { 0x02 } else { 0x18 },
            payload,
        }),
        udp: None,
    }
}

/// Over HTTP/2 the document promises a style sheet, which the page asks for at once; its head comes behind the document.
#[test]
fn what_was_pushed_waits_for_no_round_trip() {
    let document = fetch(0, 0, [0.0, 200.0, 300.0, 350.0]);
    let of_sheet = [310.0, 310.0, 400.0, 450.0];
    let figures = |pushed: bool| {
        let sheet = FetchRecord { pushed, ..fetch(1, 0, of_sheet) };
        let connections = vec![connection(0, "h2", [0.0, 100.0, 200.0])];
        let mut case = Case::of(vec![document.clone(), sheet], connections);
        case.link.rtt = Duration::from_millis(90);
        let metrics = case.finding().metrics;
        (metrics["rounds"], metrics["load_ms"])
    };
    assert_eq!([figures(true), figures(false)], [(1.0, 450.0), (2.0, 450.0)]);
}

#[test]
fn requests_in_turn_on_one_connection_wait_a_round_each() {
    let finding = one_connection().finding();
    assert_eq!(finding.outcome, Outcome::Measured);
    assert_eq!(finding.metrics["load_ms"], 592.0);
    assert_eq!(finding.metrics["first_byte_ms"], 301.0);
    assert_eq!(finding.metrics["rounds"], 3.0);
    assert_eq!(finding.metrics["round_trips"], 5.0);
    let parts = finding.parts.unwrap();
    let ms = |nanos: u64| nanos as f64 / 1e6;
    assert_eq!((ms(parts.connect_ns), ms(parts.tls_ns)), (100.0, 100.0));
    assert_eq!(ms(parts.request_ns), 300.0);
    assert_eq!(ms(parts.serialisation_ns), 90.0);
    assert_eq!(ms(parts.client_ns), 2.0);
    assert_eq!(ms(parts.total_ns()), 592.0);
}

#[test]
fn a_connection_a_request_waits_for_the_one_before_to_end() {
    let mut case = one_connection();
    case.connections.push(connection(1, "http/1.1", [312.0, 412.0, 512.0]));
    case.fetches[1] = fetch(1, 1, [306.0, 513.0, 613.0, 623.0]);
    case.fetches.pop();
    // The document ended at 311 ms and freed the only slot; the image had been known for 5 ms.
    let finding = case.finding();
    assert_eq!(finding.metrics["round_trips"], 6.0);
    let parts = finding.parts.unwrap();
    assert_eq!((parts.connect_ns, parts.tls_ns), (200_000_000, 200_000_000));
    assert_eq!((parts.client_ns, parts.total_ns()), (3_000_000, 623_000_000));
}

#[test]
fn requests_side_by_side_on_one_connection_wait_one_round_together() {
    let mut case = one_connection();
    case.connections[0].protocol = Protocol::Http2.into();
    case.fetches[1] = fetch(1, 0, [306.0, 306.0, 406.0, 446.0]);
    case.fetches[2] = fetch(2, 0, [306.0, 306.0, 407.0, 486.0]);
    let finding = case.finding();
    assert_eq!(finding.metrics["rounds"], 2.0);
    assert_eq!(finding.metrics["round_trips"], 4.0);
    assert_eq!(finding.parts.unwrap().total_ns(), 486_000_000);
}

/// Six images over h2, all known at 306 ms, of which a server that allows `streams` at a time answers so many every 100 ms.
fn images_over_h2(streams: u32) -> Case {
    let mut case = one_connection();
    case.connections[0].protocol = Protocol::Http2.into();
    case.fetches.truncate(1);
    case.fetches.extend((0..6).map(|nth| {
        let sent = 311.0 + 110.0 * f64::from(nth / streams);
        fetch(nth + 1, 0, [311.0, sent, sent + 100.0, sent + 110.0])
    }));
    case
}

#[test]
fn a_request_that_waits_for_a_stream_waits_for_the_one_before() {
    for (streams, waves) in [(1, 6.0), (2, 3.0), (3, 2.0), (6, 1.0)] {
        let finding = images_over_h2(streams).finding();
        assert_eq!(finding.metrics["rounds"], 1.0 + waves, "{streams} streams at a time");
        assert_eq!(finding.metrics["round_trips"], 3.0 + waves, "{streams} streams at a time");
        let parts = finding.parts.unwrap();
        assert_eq!(parts.request_ns, 100_000_000 * (1 + waves as u64), "{streams} streams");
    }
}

/// Over QUIC a server tells of each stream that it allows: with the answer, or when it has heard that the answer came.
#[test]
fn a_request_that_waits_for_max_streams_may_wait_a_round_trip_longer_than_for_the_one_before() {
    for (streams, waves, told_after) in
        [(1, 6), (2, 3), (3, 2), (6, 1)].into_iter().flat_map(|(s, w)| [(s, w, 1), (s, w, 0)])
    {
        let mut case = images_over_h2(streams);
        case.connections[0].protocol = Protocol::Http3.into();
        for (nth, image) in (0..).zip(&mut case.fetches[1..]) {
            let a_wave = f64::from(110 + 100 * told_after);
            let sent = 311.0 + a_wave * f64::from(nth / streams);
            *image = fetch(nth + 1, 0, [311.0, sent, sent + 100.0, sent + 110.0]);
            image.stream = 4 * u64::from(nth + 1);
            image.phases.allowed = (nth >= streams).then_some(at(sent));
        }
        let finding = case.finding();
        assert_eq!(finding.metrics["rounds"], 1.0 + f64::from(waves), "{streams} streams");
        let told = told_after * (waves - 1);
        let round_trips = 2 + 1 + waves + told;
        assert_eq!(finding.metrics["round_trips"], f64::from(round_trips), "{streams} streams");
        // A wait for MAX_STREAMS is no handshake.
        assert_eq!(finding.metrics["handshake_round_trips"], 2.0, "{streams} streams");
        let parts = finding.parts.unwrap();
        assert_eq!(parts.request_ns, 100_000_000 * (1 + waves + told) as u64, "{streams} streams");
        assert_eq!(parts.client_ns, 1_000_000, "{streams} streams");
    }
}

#[test]
fn a_request_that_the_client_sends_late_waits_for_no_stream() {
    let mut case = images_over_h2(6);
    // The client takes its time to send, and the first answer is there before the last request is.
    for image in &mut case.fetches[1..6] {
        image.phases.sent = Some(at(312.0));
    }
    case.fetches[1].phases.first_byte = Some(at(313.0));
    case.fetches[1].phases.last_byte = Some(at(313.0));
    case.fetches[6] = fetch(6, 0, [311.0, 314.0, 414.0, 425.0]);
    assert_eq!(case.finding().metrics["rounds"], 2.0);
}

#[test]
fn what_a_103_made_known_waited_for_the_document_before() {
    let mut case = one_connection();
    case.fetches[0].phases.first_byte = Some(at(701.0));
    case.fetches[0].phases.last_byte = Some(at(711.0));
    // The 103 came 100 ms after the request.
    let hinted = FetchRecord { hinted: true, ..fetch(1, 0, [301.0, 301.0, 821.0, 831.0]) };
    case.fetches = vec![case.fetches[0].clone(), hinted];
    case.connections = vec![connection(0, "h2", [0.0, 100.0, 200.0])];
    let finding = case.finding();
    assert_eq!(finding.metrics["rounds"], 2.0);
    assert_eq!(finding.metrics["round_trips"], 4.0);
    assert_eq!(finding.parts.unwrap().client_ns, 1_000_000);
}

#[test]
fn what_became_of_pushes_is_summed_up() {
    let mut case = one_connection();
    assert!(!case.finding().metrics.contains_key("pushes_used"));
    let pushes =
        trace::PushTally { used: 2, cancelled: 1, unused: 1, bytes: 900, wasted_bytes: 300 };
    (case.connections[0].pushed, case.connections[0].pushes) = (4, pushes);
    let mut metrics = case.finding().metrics;
    let hints = trace::HintTally { fetches: 3, used: 1, wasted_bytes: 50, connections: 0 };
    put_hints(&hints, &mut metrics);
    for (name, expected) in [
        ("pushed_streams", 4.0),
        ("pushes_used", 2.0),
        ("pushes_cancelled", 1.0),
        ("pushes_unused", 1.0),
        ("hinted_fetches", 3.0),
        ("hints_unused", 2.0),
        ("wasted_bytes", 350.0),
    ] {
        assert_eq!(metrics[name], expected, "{name}");
    }
}

#[test]
fn the_servers_time_is_told_from_the_round_trip() {
    let mut case = one_connection();
    case.fetches[2] = fetch(2, 0, [306.0, 452.0, 582.0, 592.0]);
    case.server_time.insert(2, Duration::from_millis(25));
    let parts = case.finding().parts.unwrap();
    assert_eq!((parts.server_ns, parts.request_ns), (25_000_000, 305_000_000));
    assert_eq!(parts.total_ns(), 592_000_000);
}

#[test]
fn idle_time_within_a_body_is_window_growth_or_loss_recovery() {
    let mut case = one_connection();
    // Of the last body's 40 ms the link was busy for the last 10: 1210 bytes and headers at 1 Mbit/s.
    let body = packet(Direction::Down, 540.0, Some(592.0), (1, 1210));
    let mut opened = packet(Direction::Up, 489.0, Some(539.0), (0, 0));
    opened.tcp = opened.tcp.map(|tcp| TcpMark { flags: 0x10, ..tcp });
    case.packets = Some(vec![opened, body.clone()]);
    let parts = case.finding().parts.unwrap();
    assert_eq!(parts.serialisation_ns, 10_000_000);
    assert_eq!(parts.window_ns, 80_000_000);
    // The lost packet passed the bottleneck until 540 ms of the client's clock.
    case.packets = Some(vec![packet(Direction::Down, 480.0, None, (1, 1210)), body]);
    let parts = case.finding().parts.unwrap();
    assert_eq!((parts.loss_ns, parts.window_ns), (30_000_000, 50_000_000));
    assert_eq!(parts.total_ns(), 592_000_000);
}

#[test]
fn the_time_on_a_lost_connection_is_loss_recovery_until_another_is_begun() {
    let mut case = one_connection();
    // The connection was lost under the last image, which was made again on a new one.
    case.connections.push(connection(1, "http/1.1", [700.0, 800.0, 900.0]));
    let again = FetchRecord {
        made_again: vec![trace::MadeAgain::ConnectionLost],
        ..fetch(2, 1, [306.0, 901.0, 1001.0, 1041.0])
    };
    case.fetches[2] = again;
    let finding = case.finding();
    assert_eq!(finding.metrics["fetches_made_again"], 1.0);
    let parts = finding.parts.unwrap();
    // From the end of the first image.
    assert_eq!(parts.loss_ns, 248_000_000);
    assert_eq!((parts.connect_ns, parts.tls_ns), (200_000_000, 200_000_000));
    assert_eq!(parts.total_ns(), 1_041_000_000);
}

#[test]
fn a_fetch_that_failed_fails_the_trial() {
    let mut case = one_connection();
    case.fetches[2].outcome = FetchOutcome::Failed("reset".to_owned());
    let reason = "1 of 3 fetches failed, the first https://far/2: reset".to_owned();
    assert_eq!(case.finding().outcome, Outcome::Failed { reason });
    let nothing = Case::of(Vec::new(), Vec::new()).finding();
    assert!(matches!(nothing.outcome, Outcome::Failed { .. }) && nothing.parts.is_none());
}

#[test]
fn an_answer_sooner_than_light_invalidates_the_trial() {
    let mut case = one_connection();
    case.link.rtt = Duration::from_millis(110);
    let reason = "an answer came after 100.000 ms, sooner than the link's round trip of 110.000 ms"
        .to_owned();
    assert_eq!(case.finding().outcome, Outcome::Invalid { reason });
}

/// The log of a connection on which `sizes` came down.
fn log(sizes: &[u32]) -> Vec<PacketRecord> {
    let mut packets = vec![packet(Direction::Up, 0.0, Some(50.0), (0, 0))];
    let mut sequence = u32::MAX - 1000;
    for &size in sizes {
        packets.push(packet(Direction::Down, 200.0, Some(300.0), (sequence, size)));
        sequence = sequence.wrapping_add(size);
    }
    packets
}

#[test]
fn bytes_that_never_crossed_the_link_fail_the_trial() {
    let mut case = one_connection();
    case.connections[0].bytes_received = 3001;
    case.packets = Some(log(&[1500, 1500]));
    assert!(matches!(case.finding().outcome, Outcome::Failed { .. }));
    case.connections[0].bytes_received = 3000;
    assert_eq!(case.finding().outcome, Outcome::Measured);
}

#[test]
fn bytes_that_the_client_never_counted_invalidate_the_trial() {
    let mut case = one_connection();
    case.packets = Some(log(&[1400; 100]));
    assert!(matches!(case.finding().outcome, Outcome::Invalid { .. }));
}

#[test]
fn bytes_that_come_after_the_client_has_ended_are_nobodys_fault() {
    let mut case = one_connection();
    let mut late = log(&[1400; 100]);
    late[1..].iter_mut().for_each(|packet| packet.fate = Fate::Delivered { at: at(593.0) });
    case.packets = Some(late);
    assert_eq!(case.finding().outcome, Outcome::Measured);
}

#[test]
fn a_request_handed_over_before_the_connection_is_ready_waits_for_it() {
    let mut case = one_connection();
    case.fetches[0].phases.sent = Some(at(0.0));
    let parts = case.finding().parts.unwrap();
    assert_eq!((parts.connect_ns, parts.tls_ns), (100_000_000, 100_000_000));
    assert_eq!((parts.request_ns, parts.total_ns()), (301_000_000, 592_000_000));
}

#[test]
fn connections_that_the_link_never_saw_invalidate_the_trial() {
    let mut case = one_connection();
    case.packets = Some(log(&[1500])[1..].to_vec());
    assert!(matches!(case.finding().outcome, Outcome::Invalid { .. }));
}

#[test]
fn bytes_sent_twice_count_once_also_where_sequence_numbers_wrap() {
    let mut packets = log(&[800, 800, 800]);
    packets.push(packets[2].clone());
    packets.push(PacketRecord { fate: Fate::QueueFull, ..packets[1].clone() });
    let down = summarise(&packets).down;
    assert_eq!((down.packets, down.payload, down.retransmitted), (5, 2400, 1600));
    assert_eq!((down.lost, down.queue_full), (0, 1));
    assert_eq!(summarise(&packets).connections, 1);
}

#[test]
fn a_port_used_again_is_another_connection_and_a_syn_sent_again_is_not() {
    let mut packets = log(&[800]);
    let syn = packets.iter().position(|p| p.tcp.is_some_and(|tcp| tcp.flags == 0x02)).unwrap();
    packets.push(packets[syn].clone());
    assert_eq!(summarise(&packets).connections, 1);
    let mut again = packets[syn].clone();
    again.tcp = again.tcp.map(|tcp| TcpMark { sequence: tcp.sequence.wrapping_add(77), ..tcp });
    packets.push(again);
    assert_eq!(summarise(&packets).connections, 2);
}

fn any_fetch() -> impl Strategy<Value = FetchRecord> {
    let allowed = prop::option::of(0.0..1000.0_f64);
    let present = prop::array::uniform4(any::<bool>());
    (0..3_u32, prop::array::uniform4(0.0..1000.0_f64), allowed, present).prop_map(
        |(connection, times, allowed, present)| {
            let mut fetch = fetch(0, connection, times);
            let phases = &mut fetch.phases;
            phases.allowed = allowed.map(at);
            phases.sent = phases.sent.filter(|_| present[0]);
            phases.first_byte = phases.first_byte.filter(|_| present[1]);
            phases.last_byte = phases.last_byte.filter(|_| present[2]);
            fetch.connection = fetch.connection.filter(|_| present[3]);
            fetch
        },
    )
}

proptest! {
    #[test]
    fn the_parts_sum_to_the_load_time_whatever_the_rows_say(
        mut fetches in prop::collection::vec(any_fetch(), 1..12),
        opened in prop::collection::vec(prop::array::uniform3(0.0..1000.0_f64), 0..3),
        multiplexed: bool,
        drops in prop::collection::vec((0.0..1000.0_f64, prop::option::of(0.0..1000.0_f64)), 0..8),
    ) {
        (0..).zip(&mut fetches).for_each(|(id, fetch)| fetch.id = id);
        let protocol = if multiplexed { "h2" } else { "http/1.1" };
        let connections = (0..).zip(opened).map(|(id, times)| connection(id, protocol, times));
        let mut case = Case::of(fetches, connections.collect());
        let log = drops.iter().map(|&(at, out)| packet(Direction::Down, at, out, (1, 1460)));
        case.packets = Some(log.collect());
        let finding = case.finding();
        let load = finding.metrics["load_ms"];
        prop_assert_eq!(finding.parts.unwrap().total_ns() as f64 / 1e6, load);
    }
}

/// A WebSocket's opening and two serial messages: connect 100 ms, TLS 100 ms, handshake 100 ms, 100 ms each.
fn web_socket() -> (Vec<FetchRecord>, Vec<ConnectionRecord>) {
    let mut fetches = vec![
        fetch(0, 0, [0.0, 200.0, 300.0, 300.0]),
        fetch(1, 0, [0.0, 300.0, 400.0, 400.0]),
        fetch(2, 0, [400.0, 400.0, 500.0, 500.0]),
    ];
    fetches[0].status = Some(101);
    for message in &mut fetches[1..] {
        message.status = None;
    }
    (fetches, vec![connection(0, "ws", [0.0, 100.0, 200.0])])
}

#[test]
fn a_websockets_opening_is_a_round_of_its_own_and_the_parts_sum_to_the_whole() {
    let (fetches, connections) = web_socket();
    let finding = Case::of(fetches, connections).finding();
    assert_eq!(finding.outcome, Outcome::Measured);
    assert_eq!(finding.metrics[metric::ROUNDS], 3.0);
    assert_eq!(finding.metrics[metric::ROUND_TRIPS], 5.0);
    let parts = finding.parts.unwrap();
    assert_eq!(parts.total_ns(), 500_000_000);
    assert_eq!((parts.connect_ns, parts.tls_ns), (100_000_000, 100_000_000));
    assert_eq!((parts.request_ns, parts.client_ns), (300_000_000, 0));
}

#[test]
fn parallel_messages_all_waited_for_the_opening() {
    let (mut fetches, connections) = web_socket();
    fetches[2] = fetch(2, 0, [0.0, 300.0, 401.0, 401.0]);
    let finding = Case::of(fetches, connections).finding();
    assert_eq!((finding.metrics[metric::ROUNDS], finding.metrics[metric::ROUND_TRIPS]), (2.0, 4.0));
    assert_eq!(finding.parts.unwrap().total_ns(), 401_000_000);
}

#[test]
fn messages_have_their_own_times_and_the_opening_is_told_apart() {
    let (fetches, connections) = web_socket();
    let metrics = echo_metrics(&fetches, &connections);
    assert_eq!((metrics[metric::TOTAL_MS], metrics[metric::OPEN_MS]), (500.0, 300.0));
    assert_eq!((metrics[metric::MEAN_MS], metrics[metric::MAX_MS]), (250.0, 400.0));
    assert_eq!((metrics[metric::FIRST_MS], metrics[metric::REST_MS]), (400.0, 100.0));
    // As requests, what opens is the connection.
    let requests = [fetch(0, 0, [0.0, 200.0, 300.0, 300.0])];
    assert_eq!(echo_metrics(&requests, &connections)[metric::OPEN_MS], 200.0);
    assert!(echo_metrics(&[], &connections).is_empty());
}

#[test]
fn a_wrong_echo_fails_the_trial_and_names_the_rule() {
    let (mut fetches, connections) = web_socket();
    let rule = "an answer is its message's echo: `5` came back where `4` belongs";
    fetches[2].outcome = FetchOutcome::Failed(rule.to_owned());
    let Outcome::Failed { reason } = Case::of(fetches, connections).finding().outcome else {
        panic!("a wrong echo is no measurement");
    };
    assert!(reason.starts_with("1 of 3 fetches failed") && reason.ends_with(rule), "{reason}");
}

#[test]
fn the_connections_tell_what_was_really_spoken() {
    let heads = |plain, coded| HeaderSize { plain, coded };
    let mut first = connection(0, "spdy/3.1", [0.0, 50.0, 100.0]);
    first.requests = 5;
    first.pushed = 2;
    first.headers = Some(HeaderBytes { sent: heads(900, 300), received: heads(1200, 200) });
    let mut second = connection(1, "spdy/3.1", [0.0, 50.0, 100.0]);
    second.headers = Some(HeaderBytes { sent: heads(100, 90), received: heads(200, 110) });
    if let Some(tls) = &mut second.tls {
        tls.resumed = true;
    }
    // It never came to a protocol.
    let mut third = connection(2, "", [0.0, 50.0, 100.0]);
    (third.requests, third.headers) = (0, Some(HeaderBytes::default()));
    let mut case = Case::of(Vec::new(), vec![first, second, third]);
    let metrics = case.finding().metrics;
    let told = [
        (metric::CONNECTIONS, 3.0),
        ("connections:spdy/3.1", 2.0),
        (metric::STREAMS_PER_CONNECTION, 4.0),
        (metric::PUSHED, 2.0),
        (metric::RESUMED, 1.0),
        (metric::HEADERS_SENT, 390.0),
        (metric::HEADERS_SENT_PLAIN, 1000.0),
        (metric::HEADERS_RECEIVED, 310.0),
        (metric::HEADERS_RECEIVED_PLAIN, 1400.0),
    ];
    for (name, value) in told {
        assert_eq!(metrics.get(name), Some(&value), "{name}");
    }
    // What one of them does not tell is not made up.
    case.connections[1].headers = None;
    assert_eq!(case.finding().metrics.get(metric::HEADERS_SENT), None);
}
