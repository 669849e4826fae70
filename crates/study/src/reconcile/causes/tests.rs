mod windows;

use super::super::{Finding, Nagle, Parts, TrialLogs, reconcile};
use super::*;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use trace::{
    ConnectionRecord, FetchOutcome, FetchRecord, Passage, Phases, QuicMark, SpokenProtocol, UdpMark,
};

const MSS: u32 = 1448;
/// Of the server's bytes: they wrap within each log, and lie far from a SYN's empty acknowledgement.
const FIRST: u32 = u32::MAX - 500;
/// SYN and ACK, with the sequence number before the first byte's.
const SHAKEN: (u32, u32, u8) = (FIRST - 1, 0, SYN | ACK);
const NEAR: &str = "10.0.0.1:5000";
const FAR: &str = "10.0.0.2:443";

/// 100 ms of round trip, and 1 ms for a full segment.
fn link() -> LinkFacts {
    let rate = "12mbit".parse().ok();
    LinkFacts { rtt: Duration::from_millis(100), down: rate, up: rate }
}

fn at(ms: f64) -> Instant {
    Instant::from_nanos(1_000_000_000 + (ms * 1e6).round() as u64)
}

/// A log being written: times are those at which the sender's end hears or sends.
#[derive(Default)]
struct Log {
    packets: Vec<PacketRecord>,
    free: f64,
    sequence: u32,
    sent_up: u32,
    /// When the connection is ready and the request is sent.
    ready: f64,
}

impl Log {
    /// A connection from 0 ms, whose request comes to the server at `request` ms.
    fn begun(request: f64) -> Self {
        let mut log = Self { sequence: FIRST, sent_up: 1, ready: 100.0, ..Self::default() };
        log.packet((Direction::Up, 0.0), (0, 0, SYN), Some(50.0));
        log.up(request, 300, FIRST);
        log
    }

    /// A connection whose SYN comes to the server at each of `syns`, or does not; and its answers, which come or do not.
    /// It is ready at 1100 ms, and the request comes to the server at 1150 ms.
    fn shaken(syns: &[(f64, bool)], answers: &[(f64, bool)]) -> Self {
        let mut log = Self { sequence: FIRST, sent_up: 1, ready: 1100.0, ..Self::default() };
        let ways = [(Direction::Up, 50.0, (0, 0, SYN)), (Direction::Down, 0.0, SHAKEN)];
        for ((direction, before, mark), times) in ways.into_iter().zip([syns, answers]) {
            for (ms, comes) in times {
                let sent = ms - before;
                log.packet((direction, sent), mark, comes.then_some(sent + 50.0));
            }
        }
        log.up(1150.0, 300, FIRST);
        log
    }

    fn packet(
        &mut self,
        (direction, ms): (Direction, f64),
        mark: (u32, u32, u8),
        out: Option<f64>,
    ) {
        let (near, far): (SocketAddr, SocketAddr) = (NEAR.parse().unwrap(), FAR.parse().unwrap());
        let (source, destination) = match direction {
            Direction::Up => (near, far),
            Direction::Down => (far, near),
        };
        let (sequence, payload, flags) = mark;
        let passage = out.map(|out| {
            let sent = out - 50.0;
            let begun = sent - f64::from(payload + 52) / 1500.0;
            Passage {
                entered: at(ms.min(begun)),
                left_queue: at(begun),
                sent: at(sent),
                is_marked: false,
            }
        });
        self.packets.push(PacketRecord {
            at: at(ms),
            direction,
            index: 0,
            length: payload + 52,
            fate: out.map_or(Fate::QueueFull, |out| Fate::Delivered { at: at(out) }),
            passage,
            flow: Some(Flow { protocol: 6, source, destination }),
            tcp: Some(TcpMark { sequence, acknowledgement: 0, flags, payload }),
            udp: None,
        });
    }

    /// Something of the client's that the server hears at `ms`.
    fn up(&mut self, ms: f64, payload: u32, acknowledgement: u32) {
        let sequence = self.sent_up;
        self.sent_up += payload;
        self.packet((Direction::Up, ms - 50.0), (sequence, payload, 0x10), Some(ms));
        if let Some(tcp) = self.packets.last_mut().and_then(|packet| packet.tcp.as_mut()) {
            tcp.acknowledgement = acknowledgement;
        }
    }

    fn down_at(&mut self, ms: f64, sequence: u32, payload: u32) -> f64 {
        self.free = self.free.max(ms) + f64::from(payload + 52) / 1500.0;
        let came = self.free + 50.0;
        self.packet((Direction::Down, ms), (sequence, payload, 0x10), Some(came));
        came
    }

    /// The next bytes, sent at `ms`; when they came.
    fn down(&mut self, ms: f64, payload: u32) -> f64 {
        let sequence = self.next(payload);
        self.down_at(ms, sequence, payload)
    }

    /// So many full segments, sent at 150 ms.
    fn flight(&mut self, segments: usize) {
        for _ in 0..segments {
            self.down(150.0, MSS);
        }
    }

    /// The next bytes, sent at `ms`, that find the queue full; their sequence number.
    fn dropped(&mut self, ms: f64, payload: u32) -> u32 {
        let sequence = self.next(payload);
        self.packet((Direction::Down, ms), (sequence, payload, 0x10), None);
        sequence
    }

    /// The next bytes, sent at `ms`, that are lost behind the bottleneck; their sequence number.
    fn lost(&mut self, ms: f64, payload: u32) -> u32 {
        let sequence = self.sequence;
        self.down(ms, payload);
        self.packets.last_mut().unwrap().fate = Fate::Lost;
        sequence
    }

    /// The bottleneck is a trace, which sends each of the packets so many at its own time.
    fn sent_at(&mut self, times: &[f64]) {
        let count = self.packets.len();
        for (packet, ms) in self.packets[count - times.len()..].iter_mut().zip(times) {
            let (entered, sent) = (packet.at, at(*ms));
            packet.passage = Some(Passage { entered, left_queue: sent, sent, is_marked: false });
            packet.fate = Fate::Delivered { at: at(ms + 50.0) };
        }
    }

    /// Takes the sequence numbers of the next bytes; gives the first.
    fn next(&mut self, payload: u32) -> u32 {
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(payload);
        sequence
    }

    /// The parts of a fetch on a connection ready at 100 ms: its first byte and its last. Those from its sending on are
    /// told: request, window growth, serialisation, loss recovery, server, client, in milliseconds.
    fn parts(self, protocol: &str, first: f64, last: f64, server: Option<u64>) -> [f64; 6] {
        let finding = self.finding(protocol, first, last, server);
        let parts: Parts = finding.parts.unwrap();
        assert_eq!(parts.total_ns(), (last * 1e6).round() as u64);
        assert_eq!((parts.connect_ns, parts.held_ns), (100_000_000, 0));
        let Parts {
            request_ns, window_ns, serialisation_ns, loss_ns, server_ns, client_ns, ..
        } = parts;
        [request_ns, window_ns, serialisation_ns, loss_ns, server_ns, client_ns]
            .map(|nanos| (nanos as f64 / 1e4).round() / 100.0)
    }

    fn finding(self, protocol: &str, first: f64, last: f64, server: Option<u64>) -> Finding {
        let fetch = FetchRecord {
            id: 0,
            url: String::new(),
            method: "GET".to_owned(),
            connection: Some(0),
            stream: 0,
            protocol: SpokenProtocol::from_name(protocol),
            status: Some(200),
            pushed: false,
            hinted: false,
            cached: false,
            request_body_bytes: None,
            redirects: 0,
            made_again: Vec::new(),
            body_bytes: 0,
            phases: Phases {
                sent: Some(at(self.ready)),
                first_byte: Some(at(first)),
                last_byte: Some(at(last)),
                ..Phases::new(at(0.0))
            },
            outcome: FetchOutcome::Done,
        };
        let connection = ConnectionRecord {
            protocol: SpokenProtocol::from_name(protocol),
            connected: Some(at(self.ready)),
            requests: 1,
            rounds: 1,
            ..ConnectionRecord::begun(0, "far:443".to_owned(), FAR.to_owned(), at(0.0))
        };
        let server = server.map(|ms| (0, Duration::from_millis(ms)));
        reconcile(&TrialLogs {
            fetches: &[fetch],
            connections: &[connection],
            packets: Some(&self.packets),
            link: link(),
            server_time: &server.into_iter().collect::<BTreeMap<_, _>>(),
            nagle: Nagle { client: false, server: false },
        })
    }

    /// The same over UDP, which shows neither numbers nor acknowledgements. A SYN is an Initial.
    fn over_quic(mut self) -> Self {
        for packet in &mut self.packets {
            let tcp = packet.tcp.take().unwrap();
            let is_initial = tcp.flags & SYN != 0;
            let payload = if is_initial { 1200 } else { tcp.payload.max(30) };
            packet.length = payload + if is_initial { 28 } else { 52 };
            let quic = is_initial.then_some(QuicMark { sender: 7 });
            packet.udp = Some(UdpMark { payload, quic, receiver: None });
            packet.flow = packet.flow.map(|flow| Flow { protocol: 17, ..flow });
        }
        self
    }

    /// Rounds of so many full segments from 150 ms on, each as soon as the first of the one before is acknowledged. When
    /// the last byte came.
    fn rounds(&mut self, rounds: &[usize]) -> f64 {
        let (mut from, mut last) = (150.0, 0.0);
        for segments in rounds {
            let acknowledged = self.sequence.wrapping_add(MSS);
            let first = self.down(from, MSS);
            last = (1..*segments).fold(first, |_, _| self.down(from + 1.0, MSS));
            from = first + 50.1;
            self.up(from, 0, acknowledged);
        }
        last
    }
}

/// Ten segments of other fetches go out at once; the window is closed until they are acknowledged. After
/// it has opened, the eleventh goes out so many milliseconds later.
fn closed_window(later: f64) -> (Log, f64) {
    let mut log = Log::begun(150.0);
    log.flight(10);
    log.up(251.0, 0, FIRST.wrapping_add(2 * MSS));
    let came = log.down(251.0 + later, MSS);
    (log, came)
}

#[test]
fn what_a_paced_sender_spreads_over_the_round_trip_waits_for_its_window() {
    let mut log = Log::begun(150.0);
    log.flight(9);
    // The last of the window comes 10 ms later, on a round trip of 100 ms.
    let came = log.down(160.0, MSS);
    let [_, window, serialisation, loss, server, client] = log.parts("h2", 201.0, came, None);
    assert!(window > 0.5 && serialisation > 9.0, "{window} {serialisation}");
    assert_eq!((loss, server, client), (0.0, 0.0, 0.0));
}

#[test]
fn a_multiplexed_answer_behind_a_closed_window_waits_for_it_to_grow_and_not_for_the_server() {
    let (log, came) = closed_window(0.2);
    // 100 ms of round trip, eleven segments, and idle from 210 to 301.2 ms.
    let [request, window, serialisation, loss, server, client] = log.parts("h2", came, came, None);
    assert_eq!((request, serialisation, loss, server, client), (100.0, 11.0, 0.0, 0.0, 0.0));
    assert_eq!(window, 91.2);
}

#[test]
fn a_server_that_comes_late_to_its_open_window_took_the_rest() {
    let (log, came) = closed_window(30.0);
    let [_, window, _, _, server, _] = log.parts("h2", came, came, None);
    assert_eq!((window, server), (91.0, 30.0));
}

#[test]
fn a_window_is_told_within_a_body_too() {
    let (log, came) = closed_window(0.2);
    let [request, window, serialisation, _, server, client] = log.parts("h2", 201.0, came, None);
    assert_eq!((request, serialisation, server, client), (100.0, 11.0, 0.0, 0.0));
    assert_eq!(window, 91.2);
}

#[test]
fn credit_that_the_client_gives_is_a_wait_for_the_client() {
    let mut log = Log::begun(150.0);
    log.down(150.0, 700);
    log.up(260.0, 13, FIRST);
    let came = log.down(262.0, 700);
    let [_, window, _, _, server, _] = log.parts("h2", came, came, None);
    // From 200.5 to 310 ms, but for the credit's own 65 bytes; the server took two more.
    assert_eq!((window, server), (109.46, 2.0));
}

#[test]
fn slow_starts_overshoot_is_loss_recovery_from_the_queues_last_byte_to_the_repetitions_first() {
    let mut log = Log::begun(150.0);
    log.flight(10);
    let missing = [log.dropped(150.0, MSS), log.dropped(150.0, MSS)];
    log.up(251.0, 0, FIRST.wrapping_add(10 * MSS));
    let _ = log.down_at(300.0, missing[0], MSS);
    // Sent anew while the second is missing, and then that one.
    log.down(310.0, MSS);
    let came = log.down_at(420.0, missing[1], MSS);
    let [request, window, serialisation, loss, server, client] = log.parts("h2", 201.0, came, None);
    assert_eq!((request, serialisation, window, server, client), (100.0, 13.0, 0.0, 0.0, 0.0));
    assert_eq!(loss, came - 100.0 - 113.0);
}

#[test]
fn a_drop_says_nothing_of_waits_that_were_over_before_it() {
    let (mut log, _) = closed_window(0.2);
    let missing = log.dropped(260.0, MSS);
    let came = log.down_at(400.0, missing, MSS);
    let [_, window, _, loss, server, _] = log.parts("h2", came, came, None);
    assert_eq!((window, loss, server), (91.2, 147.8, 0.0));
}

#[test]
fn a_request_that_was_dropped_is_loss_recovery_and_not_the_server() {
    for (is_quic, protocol) in [(false, "http/1.1"), (true, "h3")] {
        let mut log = Log::begun(450.0);
        log.packet((Direction::Up, 100.0), (1, 300, 0x18), None);
        // What the handshake ends with comes after the drop.
        log.down(105.0, 50);
        let came = log.down(480.5, 700);
        let log = if is_quic { log.over_quic() } else { log };
        let [request, window, _, loss, server, _] = log.parts(protocol, came, came, None);
        // The server thought from 450 to 480.5 ms.
        assert_eq!((request, window, server), (100.0, 0.0, 30.5), "{protocol}");
        assert!(loss > 295.0, "{protocol}: {loss}");
    }
}

#[test]
fn a_later_request_is_the_servers_although_one_before_it_was_dropped_and_sent_again() {
    for is_quic in [false, true] {
        let mut log = Log::begun(250.0);
        log.packet((Direction::Up, 100.0), (1, 300, 0x18), None);
        log.down(250.0, 700);
        log.up(700.0, 300, log.sequence);
        let came = log.down(900.0, 700);
        let log = if is_quic { log.over_quic() } else { log };
        let [_, _, _, loss, server, _] = log.parts("h3", 301.0, came, None);
        assert!(loss < 200.0 && server >= 200.0, "{is_quic}: {loss} {server}");
    }
}

#[test]
fn a_handshakes_lost_packets_are_loss_recovery_and_none_of_its_round_trips() {
    let lost_syn = Log::shaken(&[(50.0, false), (1050.0, true)], &[(1050.0, true)]);
    let lost_answer = Log::shaken(&[(50.0, true)], &[(50.0, false), (1050.0, true)]);
    let asked_again =
        Log::shaken(&[(50.0, true), (1050.0, true)], &[(50.0, false), (1050.0, true)]);
    for log in [lost_syn, lost_answer, asked_again] {
        for is_quic in [false, true] {
            let mut log = Log { packets: log.packets.clone(), ..log };
            let came = log.down(1150.0, 700);
            let log = if is_quic { log.over_quic() } else { log };
            // The 100 ms of the connect are what a connect takes where nothing is lost.
            let [request, window, _, loss, server, client] = log.parts("h3", came, came, None);
            assert_eq!((request, window, server, client), (100.0, 0.0, 0.0, 0.0), "{is_quic}");
            assert!((998.0..=1000.0).contains(&loss), "{is_quic}: {loss}");
        }
    }
}

#[test]
fn an_acknowledgement_that_was_dropped_is_no_loss_that_anybody_recovers_from() {
    for is_quic in [false, true] {
        let mut log = Log::begun(150.0);
        log.flight(10);
        log.packet((Direction::Up, 200.0), (301, 0, 0x10), None);
        log.up(251.0, 0, FIRST.wrapping_add(2 * MSS));
        let came = log.down(251.2, MSS);
        let log = if is_quic { log.over_quic() } else { log };
        let [_, window, _, loss, server, _] = log.parts("h3", 201.0, came, None);
        assert_eq!((loss, server), (0.0, 0.0), "{is_quic}");
        assert!(window > 90.0, "{is_quic}: {window}");
    }
}

#[test]
fn a_probe_for_a_larger_mtu_makes_no_other_datagram_less_than_full() {
    let mut log = Log::begun(150.0);
    log.down(150.0, 1700);
    let (rest, came) = closed_window(30.0);
    log.packets.extend(rest.packets.into_iter().skip(2));
    let [_, window, _, loss, server, _] = log.over_quic().parts("h3", 201.0, came, None);
    assert_eq!((loss, server), (0.0, 30.0));
    assert!(window > 89.0, "{window}");
}

#[test]
fn a_larger_datagram_is_the_full_one_from_the_second_that_comes() {
    let mut log = Log::begun(150.0);
    for payload in [1200, 1400, 1200, 1400, 1200] {
        log.down(150.0, payload);
    }
    let log = log.over_quic();
    let mut full = Full::of(&log.packets[0], 0);
    let taken: Vec<bool> = log.packets[2..].iter().map(|packet| full.takes(packet)).collect();
    assert_eq!(taken, [true, true, true, true, false]);
}

#[test]
fn a_traces_outage_is_serialisation_while_bytes_wait_for_it() {
    for is_quic in [false, true] {
        let mut log = Log::begun(150.0);
        log.flight(40);
        // Twenty packets pass, one a millisecond. Then the trace sends nothing for half a second.
        let times = (1..=40).map(|nth| f64::from(nth) + if nth > 20 { 650.0 } else { 150.0 });
        log.sent_at(&times.collect::<Vec<f64>>());
        let log = if is_quic { log.over_quic() } else { log };
        let [request, window, serialisation, loss, server, client] =
            log.parts("h3", 201.0, 740.0, None);
        assert_eq!((request, window, loss), (100.0, 0.0, 0.0), "{is_quic}");
        assert_eq!((server, client), (0.0, 0.0), "{is_quic}");
        assert_eq!(serialisation, 540.0, "{is_quic}");
    }
}

#[test]
fn an_acknowledgement_that_waits_for_a_traces_outage_keeps_the_link_busy() {
    let mut log = Log::begun(150.0);
    log.flight(10);
    log.up(251.0, 0, FIRST.wrapping_add(2 * MSS));
    log.sent_at(&[501.0]);
    let came = log.down(551.2, MSS);
    let [_, window, serialisation, _, server, _] = log.parts("h2", 201.0, came, None);
    // From 201 to 501 ms; ten packets came from 200 to 210 ms, and the eleventh at the end.
    assert_eq!((serialisation, server), (302.0, 0.0));
    assert_eq!(window, 100.2);
}

#[test]
fn what_is_lost_behind_the_bottleneck_kept_it_busy_and_ended_a_wait() {
    let mut log = Log::begun(150.0);
    log.flight(10);
    log.up(251.0, 0, FIRST.wrapping_add(2 * MSS));
    let lost = [log.lost(251.0, MSS), log.lost(251.0, MSS)];
    let _ = log.down_at(551.0, lost[0], MSS);
    let came = log.down_at(551.0, lost[1], MSS);
    let [_, window, serialisation, loss, server, _] = log.parts("h2", 201.0, came, None);
    assert_eq!((serialisation, server), (14.0, 0.0));
    assert_eq!((window, loss), (91.0, 298.0));
}

#[test]
fn a_server_that_thinks_is_the_server_whether_that_was_planned_or_not() {
    for (planned, protocol) in [(None, "h2"), (Some(300), "h2"), (None, "http/1.1")] {
        let mut log = Log::begun(150.0);
        let came = log.down(450.0, 700);
        let [request, window, _, loss, server, client] = log.parts(protocol, came, came, planned);
        assert_eq!((request, window, loss, client), (100.0, 0.0, 0.0, 0.0));
        assert!((299.0..=300.0).contains(&server), "{server}");
    }
}

#[test]
fn a_thought_in_the_middle_of_an_answer_is_the_servers_although_acknowledgements_come_meanwhile() {
    let mut log = Log::begun(150.0);
    log.flight(3);
    // What was written so far ends here.
    let first = log.down(150.0, 500);
    log.up(252.0, 0, log.sequence);
    let came = log.down(450.0, 700);
    let [_, window, _, _, server, _] = log.parts("h2", first, came, None);
    assert_eq!(window, 0.0);
    assert!(server > 295.0, "{server}");
}

#[test]
fn what_has_come_and_is_not_read_is_the_clients() {
    let mut log = Log::begun(150.0);
    let came = log.down(150.0, 700);
    let [_, _, _, _, server, client] = log.parts("h2", came + 40.0, came + 40.0, None);
    assert_eq!((server, client), (0.0, 40.0));
}

#[test]
fn another_connections_packets_say_nothing_of_this_ones_wait() {
    let mut log = Log::begun(150.0);
    let came = log.down(450.0, 700);
    let mut other = Log { packets: Vec::new(), ..Log::begun(150.0) };
    other.flight(10);
    other.up(251.0, 0, FIRST.wrapping_add(2 * MSS));
    other.down(251.0, MSS);
    let elsewhere: SocketAddr = "10.0.0.3:443".parse().unwrap();
    for packet in &mut other.packets {
        let flow = packet.flow.as_mut().unwrap();
        *(if packet.direction == Direction::Up {
            &mut flow.destination
        } else {
            &mut flow.source
        }) = elsewhere;
    }
    log.packets.extend(other.packets);
    let [_, window, serialisation, _, server, _] = log.parts("h2", came, came, None);
    assert_eq!(window, 0.0);
    assert!(server + serialisation > 299.0, "{server} {serialisation}");
}

#[test]
fn the_first_rounds_are_counted_alike_over_tcp_and_over_quic() {
    let counted = [10, 20, 39, 80, 30];
    for is_quic in [false, true] {
        let mut log = Log::begun(150.0);
        // A ticket with the answer, and an answer's last bytes, are no full packets.
        log.down(150.0, 200);
        let came = log.rounds(&counted);
        log.down(came, 100);
        let log = if is_quic { log.over_quic() } else { log };
        let finding = log.finding(if is_quic { "h3" } else { "h2" }, 201.0, came, None);
        assert_eq!(finding.packets.first_rounds, counted.map(|packets| packets as u64));
    }
    let mut log = Log::begun(150.0);
    let came = log.rounds(&[10, 3]);
    let finding = log.finding("h2", 201.0, came, None);
    assert_eq!(finding.packets.first_rounds, [10, 3, 0, 0, 0]);
}

#[test]
fn a_load_over_quic_splits_into_handshake_request_window_growth_and_serialisation() {
    let mut log = Log::begun(150.0);
    let came = log.rounds(&[10, 20]);
    // The handshake takes 100 ms, the request 100 ms, the bottleneck 1 ms for each packet; in between the window is full.
    let [request, window, serialisation, loss, server, client] =
        log.over_quic().parts("h3", 201.0, came, None);
    assert_eq!((request, loss, server, client), (100.0, 0.0, 0.0, 0.0));
    assert!((29.0..30.5).contains(&serialisation) && window > 85.0, "{serialisation} {window}");
}

#[test]
fn the_probe_after_a_lost_tail_over_quic_is_loss_recovery_however_late_it_comes() {
    let mut log = Log::begun(150.0);
    log.flight(3);
    log.dropped(150.0, 700);
    log.up(253.0, 0, log.sequence);
    // RFC 9002 §6.2.1: a smoothed round trip, four variations, and the client's delay.
    let came = log.down(480.0, 700);
    let [request, window, _, loss, server, client] = log.over_quic().parts("h3", 201.0, came, None);
    assert_eq!((request, window, server, client), (100.0, 0.0, 0.0, 0.0));
    assert!(loss > 320.0, "{loss}");
}
