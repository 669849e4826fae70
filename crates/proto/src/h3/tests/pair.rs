//! A client and a server over a multiplexer in memory that keeps order within a stream and none between streams.

use super::*;
use crate::error::{Misuse, Refused};
use crate::multiplexed_connection::{EarlyData, TransportFacts};
use crate::schedule::{Incremental, Priority};
use proptest::prelude::*;
use std::collections::BTreeMap;
use unit::Seed;
use wire::h3::{FrameKind, SettingsList, parse_varint};

/// One direction's streams.
#[derive(Debug, Default)]
struct Wire {
    streams: BTreeMap<u64, (Vec<u8>, Fin)>,
}

struct Pair {
    client: Client,
    server: Server,
    up: Wire,
    down: Wire,
    seed: Seed,
    draws: u64,
    heard: Vec<Owned>,
    served: Vec<Owned>,
    closed: Option<u64>,
}

impl Pair {
    fn new(client_settings: Settings, server_settings: Settings, seed: u64) -> Self {
        Self {
            client: client(client_settings),
            server: server(server_settings),
            up: Wire::default(),
            down: Wire::default(),
            seed: Seed(seed),
            draws: 0,
            heard: Vec::new(),
            served: Vec::new(),
            closed: None,
        }
    }

    fn draw(&mut self, below: usize) -> usize {
        self.draws += 1;
        (self.seed.draw(self.draws) % below as u64) as usize
    }

    /// Moves one piece each way; tells whether anything moved.
    fn step(&mut self) -> bool {
        let limit = 1 + self.draw(2000);
        let sent = pull(&mut self.client, &mut self.up, limit);
        let answered = pull(&mut self.server, &mut self.down, limit);
        let (a, b) = (self.draw(64), 1 + self.draw(900));
        let arrived = deliver(&mut self.up, &mut self.server, (a, b), &mut self.served);
        let (a, b) = (self.draw(64), 1 + self.draw(900));
        let returned = deliver(&mut self.down, &mut self.client, (a, b), &mut self.heard);
        for closed in [
            act(&mut self.client, &mut self.up, &mut self.server),
            act(&mut self.server, &mut self.down, &mut self.client),
        ] {
            self.closed = self.closed.or(closed);
        }
        while let Some(event) = self.client.poll_event(NOW) {
            self.heard.push(owned(event));
        }
        while let Some(event) = self.server.poll_event(NOW) {
            self.served.push(owned(event));
        }
        sent || answered || arrived || returned
    }

    fn run(&mut self) {
        for _ in 0..100_000 {
            if !self.step() && !self.step() {
                return;
            }
        }
        panic!("it goes on for ever");
    }
}

fn pull(machine: &mut impl MultiplexedConnection, wire: &mut Wire, limit: usize) -> bool {
    let mut out = SendBuf::new();
    let Some(sent) = machine.poll_stream_transmit(NOW, &mut out, limit) else { return false };
    let (bytes, fin) = wire.streams.entry(sent.stream.0).or_insert((Vec::new(), Fin::More));
    assert_eq!(*fin, Fin::More, "bytes after the end of {}", sent.stream.0);
    bytes.extend(out.to_vec());
    *fin = sent.fin;
    true
}

/// Delivers a piece of some stream.
fn deliver(
    wire: &mut Wire,
    machine: &mut impl MultiplexedConnection,
    (pick, most): (usize, usize),
    events: &mut Vec<Owned>,
) -> bool {
    let ready: Vec<u64> =
        wire.streams.keys().copied().filter(|&id| machine.wants_read(StreamId(id))).collect();
    let Some(&id) = ready.get(pick % ready.len().max(1)) else { return false };
    let Some((bytes, fin)) = wire.streams.get_mut(&id) else { return false };
    if bytes.is_empty() && *fin == Fin::More {
        return ready.iter().any(|id| !wire.streams[id].0.is_empty());
    }
    let piece: Vec<u8> = bytes.drain(..most.min(bytes.len())).collect();
    let ends = bytes.is_empty() && *fin == Fin::Last;
    if ends {
        wire.streams.remove(&id);
    }
    events.extend(give(machine, id, &piece, if ends { Fin::Last } else { Fin::More }));
    true
}

/// Carries out actions; gives the code of a close.
fn act(
    machine: &mut impl MultiplexedConnection,
    wire: &mut Wire,
    other: &mut impl MultiplexedConnection,
) -> Option<u64> {
    let mut closed = None;
    while let Some(action) = machine.poll_stream_action() {
        match action {
            StreamAction::Open { .. } | StreamAction::Read { .. } => {}
            StreamAction::Reset { stream, code } => {
                wire.streams.remove(&stream.0);
                other.handle_stream_reset(NOW, stream, code);
            }
            StreamAction::StopSending { stream, code } => {
                other.handle_stop_sending(NOW, stream, code);
            }
            StreamAction::Close { code, .. } => closed = Some(code),
        }
    }
    closed
}

fn body_of(events: &[Owned], id: u64) -> (Vec<u8>, Fin) {
    let mut all = (Vec::new(), Fin::More);
    for event in events {
        match event {
            Owned::Data(stream, data, fin) if *stream == id => {
                assert_eq!(all.1, Fin::More);
                all.0.extend_from_slice(data);
                all.1 = *fin;
            }
            Owned::Response(stream, _, fin) | Owned::Request(stream, _, fin) if *stream == id => {
                all.1 = *fin;
            }
            Owned::Trailers(stream, _) if *stream == id => all.1 = Fin::Last,
            _ => {}
        }
    }
    all
}

/// All that a machine sends now, by stream.
fn all_sent(machine: &mut impl MultiplexedConnection) -> BTreeMap<u64, Vec<u8>> {
    let mut wire = Wire::default();
    while pull(machine, &mut wire, 1 << 16) {}
    wire.streams.into_iter().map(|(id, (bytes, _))| (id, bytes)).collect()
}

/// The kinds of the frames of a stream.
fn kinds(mut bytes: &[u8]) -> Vec<u64> {
    let mut kinds = Vec::new();
    while let Some(kind) = parse_varint(&mut bytes) {
        let length = parse_varint(&mut bytes).unwrap() as usize;
        bytes = &bytes[length..];
        kinds.push(kind);
    }
    kinds
}

/// Numbers that stand for nothing (RFC 9114 §6.2.3, §7.2.4.1 and §7.2.8): a peer that does not ignore them is found.
#[test]
fn reserved_numbers_are_sent_as_a_setting_as_frames_and_as_a_stream() {
    const GREASE: u64 = 7;
    let reserved = wire::h3::reserved(GREASE);
    let settings = |usual: Settings| Settings { grease: Some(GREASE), ..usual };
    let mut client = client(settings(Settings::client()));
    client.request(NOW, &get("/a"), Fin::Last).unwrap();
    client.request(NOW, &get("/b"), Fin::Last).unwrap();
    let asked = all_sent(&mut client);
    let greeted = all_sent(&mut server(settings(Settings::server())));
    for (sent, first) in [(&asked, 2), (&greeted, 3)] {
        let types: Vec<u64> =
            (0..4).map(|nth| parse_varint(&mut &sent[&(first + 4 * nth)][..]).unwrap()).collect();
        assert_eq!(types, [0, 2, 3, reserved]);
        let mut control = &sent[&first][1..];
        assert_eq!(kinds(control)[..2], [FrameKind::SETTINGS.0, reserved]);
        parse_varint(&mut control).unwrap();
        let length = parse_varint(&mut control).unwrap() as usize;
        let list = SettingsList::parse(&control[..length]).unwrap();
        assert!(list.iter().any(|setting| (setting.id.0, setting.value) == (reserved, GREASE)));
    }
    // Before the first request alone.
    assert_eq!(kinds(&asked[&0]), [reserved, FrameKind::HEADERS.0]);
    assert_eq!(kinds(&asked[&4]), [FrameKind::HEADERS.0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever the order in which streams arrive, every body comes whole to its stream.
    #[test]
    fn requests_and_responses_survive_any_order_between_streams(
        seed in any::<u64>(),
        bodies in proptest::collection::vec((0..3000_usize, 0..5000_usize, any::<bool>()), 1..12),
        capacity in prop_oneof![Just(0_usize), Just(100), Just(4096)],
        blocked in 0..4_usize,
    ) {
        let bounds = |settings: Settings| Settings {
            qpack_table_capacity: capacity, qpack_blocked_streams: blocked, stream_window: 2000, ..settings
        };
        let mut pair = Pair::new(bounds(Settings::client()), bounds(Settings::server()), seed);
        for (at, &(up, ..)) in bodies.iter().enumerate() {
            let mut head = get(&format!("/{at}"));
            head.method = Method::Post;
            head.fields.push(b"x-number", at.to_string().as_bytes());
            head.fields.push(b"user-agent", b"a client of some name");
            let stream = pair.client.request(NOW, &head, Fin::More).unwrap();
            prop_assert_eq!(stream.0, at as u64 * 4);
            pair.client.send(stream, Bytes::from(vec![at as u8; up]), Fin::Last).unwrap();
            pair.step();
        }
        let mut answered = vec![false; bodies.len()];
        for _ in 0..200_000 {
            let moved = pair.step();
            let mut progress = false;
            for (at, &(_, down, trailers)) in bodies.iter().enumerate() {
                let stream = StreamId(at as u64 * 4);
                pair.server.consume(stream, usize::MAX);
                pair.client.consume(stream, usize::MAX);
                if !answered[at] && body_of(&pair.served, stream.0).1 == Fin::Last {
                    let mut head = ResponseHead::new(Status::OK);
                    head.fields.push(b"server", b"a server of some name");
                    pair.server.inform(stream, &ResponseHead::new(Status::new(103).unwrap())).unwrap();
                    pair.server.respond(stream, &head, Fin::More).unwrap();
                    let fin = if trailers { Fin::More } else { Fin::Last };
                    pair.server.send(stream, Bytes::from(vec![!(at as u8); down]), fin).unwrap();
                    if trailers {
                        pair.server.send_trailers(stream, &Fields::new().with("x-sum", "1")).unwrap();
                    }
                    answered[at] = true;
                    progress = true;
                }
            }
            if !moved && !progress && !pair.step() {
                break;
            }
        }
        for (at, &(up, down, _)) in bodies.iter().enumerate() {
            let id = at as u64 * 4;
            let request = body_of(&pair.served, id);
            prop_assert!(request == (vec![at as u8; up], Fin::Last), "request {at}: {} of {up}", request.0.len());
            let response = body_of(&pair.heard, id);
            prop_assert!(response == (vec![!(at as u8); down], Fin::Last), "response {at}: {} of {down}", response.0.len());
        }
        pair.server.shutdown(NOW);
        pair.run();
        prop_assert_eq!(pair.closed, Some(0x100));
        prop_assert_eq!(pair.heard.last(), Some(&Owned::Closed(None)));
    }
}

fn asked(paths: &[&str]) -> Pair {
    let mut pair = Pair::new(Settings::client(), Settings::server(), 7);
    for path in paths {
        pair.client.request(NOW, &get(path), Fin::Last).unwrap();
    }
    pair.run();
    pair
}

#[test]
fn an_urgent_response_overtakes_queued_bulk() {
    let mut pair = asked(&["/bulk", "/urgent"]);
    let urgent = Priority::Urgency { urgency: 0, incremental: Incremental::Whole };
    pair.client.prioritise(StreamId(4), urgent);
    pair.run();
    for id in [0, 4] {
        pair.server.respond(StreamId(id), &ResponseHead::new(Status::OK), Fin::More).unwrap();
        pair.server.send(StreamId(id), Bytes::from(vec![0; 10_000]), Fin::Last).unwrap();
    }
    let mut order = Vec::new();
    while let Some(sent) = pair.server.poll_stream_transmit(NOW, &mut SendBuf::new(), 1000) {
        order.push(sent.stream.0);
    }
    order.retain(|id| id % 4 == 0);
    let first_bulk = order.iter().position(|&id| id == 0).unwrap();
    assert!(order[..first_bulk].iter().all(|&id| id == 4) && first_bulk > 9, "{order:?}");
    assert!(order[first_bulk..].iter().all(|&id| id == 0), "{order:?}");
}

#[test]
fn an_answer_waits_for_nothing_that_is_lost_on_the_encoder_stream() {
    /// The server's second unidirectional stream.
    const ENCODER: u64 = 7;
    let mut pair = asked(&["/a", "/b"]);
    let mut head = ResponseHead::new(Status::OK);
    head.fields.push(b"date", b"Fri, 27 Nov 2026 10:30:00 GMT");
    for id in [0, 4] {
        pair.server.respond(StreamId(id), &head, Fin::Last).unwrap();
    }
    let mut lost = Vec::new();
    while pull(&mut pair.server, &mut pair.down, 2000) {
        let encoder = pair.down.streams.get_mut(&ENCODER).map(|(bytes, _)| std::mem::take(bytes));
        lost.extend(encoder.unwrap_or_default());
    }
    assert!(!lost.is_empty(), "nothing was inserted");
    pair.run();
    let is_answer = |event: &&Owned| matches!(event, Owned::Response(_, _, Fin::Last));
    assert_eq!(pair.heard.iter().filter(is_answer).count(), 2, "{:?}", pair.heard);
}

#[test]
fn a_stream_that_the_transport_cannot_take_is_passed_over() {
    let mut pair = asked(&["/a", "/b"]);
    for id in [0, 4] {
        pair.server.respond(StreamId(id), &ResponseHead::new(Status::OK), Fin::Last).unwrap();
    }
    pair.server.handle_stream_blocked(StreamId(0));
    let mut next = || {
        std::iter::from_fn(|| pair.server.poll_stream_transmit(NOW, &mut SendBuf::new(), 1000))
            .map(|sent| sent.stream.0)
            .find(|id| id % 4 == 0)
    };
    assert_eq!((next(), next()), (Some(4), None));
    pair.server.handle_stream_writable(StreamId(0));
    let sent = pair.server.poll_stream_transmit(NOW, &mut SendBuf::new(), 1000).unwrap();
    assert_eq!((sent.stream.0, sent.fin), (0, Fin::Last));
}

#[test]
fn a_goaway_lets_open_requests_finish_and_frees_later_ones_for_a_retry() {
    let mut pair = asked(&["/a"]);
    pair.server.shutdown(NOW);
    // Made before the first GOAWAY arrives: the server takes it.
    pair.client.request(NOW, &get("/under-way"), Fin::Last).unwrap();
    pair.run();
    assert!(matches!(pair.served.last(), Some(Owned::Request(4, ..))), "{:?}", pair.served);
    assert!(matches!(pair.heard.last(), Some(Owned::Draining(Some(_)))), "{:?}", pair.heard);
    assert_eq!(pair.client.available_streams(), 0);
    assert_eq!(pair.client.request(NOW, &get("/no"), Fin::Last), Err(Refused::Draining));

    let due = pair.server.poll_timeout().unwrap();
    pair.server.handle_timeout(due);
    pair.run();
    for id in [0, 4] {
        pair.server.respond(StreamId(id), &ResponseHead::new(Status::OK), Fin::Last).unwrap();
    }
    pair.run();
    for id in [0, 4] {
        let answer =
            |event: &Owned| matches!(event, Owned::Response(of, _, Fin::Last) if *of == id);
        assert!(pair.heard.iter().any(answer), "{id}");
    }
    assert_eq!((pair.closed, pair.heard.last()), (Some(0x100), Some(&Owned::Closed(None))));
}

#[test]
fn a_client_that_shuts_down_ends_the_connection_with_its_last_response_at_once() {
    let mut pair = asked(&["/a"]);
    pair.client.shutdown(NOW);
    pair.run();
    assert_eq!((pair.closed, pair.server.state()), (None, ConnectionState::Draining));
    pair.server.respond(StreamId(0), &ResponseHead::new(Status::OK), Fin::Last).unwrap();
    pair.run();
    assert_eq!((pair.closed, pair.heard.last()), (Some(0x100), Some(&Owned::Closed(None))));
}

#[test]
fn a_reset_reaches_the_other_side_and_frees_its_memory() {
    let mut pair = asked(&["/a", "/b"]);
    pair.client.reset(NOW, StreamId(0));
    pair.run();
    assert!(
        matches!(pair.served.last(), Some(Owned::Reset(0, Error::PeerReset { code: 0x10c, .. }))),
        "{:?}",
        pair.served
    );
    pair.server.reset(NOW, StreamId(4));
    pair.run();
    assert!(
        matches!(pair.heard.last(), Some(Owned::Reset(4, Error::PeerReset { code: 0x10c, .. }))),
        "{:?}",
        pair.heard
    );
}

/// RFC 9114 §4.1.1: only requests that the application never saw are rejected.
#[test]
fn a_client_does_not_repeat_a_request_whose_answer_cannot_be_sent() {
    let limit = Settings { max_field_section_size: 100, ..Settings::client() };
    let mut pair = Pair::new(limit, Settings::server(), 7);
    let stream = pair.client.request(NOW, &get("/"), Fin::Last).unwrap();
    pair.run();
    let mut head = ResponseHead::new(Status::OK);
    head.fields.push(b"x-long", &[b'v'; 200]);
    let refused = pair.server.respond(stream, &head, Fin::Last);
    assert!(matches!(refused, Err(Misuse::Unsendable(_))), "{refused:?}");
    pair.server.reset(NOW, stream);
    pair.run();
    let [.., Owned::Reset(0, error)] = &pair.heard[..] else { panic!("{:?}", pair.heard) };
    assert!(!error.is_unprocessed(), "{error:?}");
}

#[test]
fn a_client_keeps_the_whole_response_when_the_rest_of_its_upload_is_unwanted() {
    let mut pair = Pair::new(Settings::client(), Settings::server(), 7);
    let mut head = get("/");
    head.method = Method::Post;
    let stream = pair.client.request(NOW, &head, Fin::More).unwrap();
    pair.run();
    pair.server.respond(stream, &ResponseHead::new(Status::OK), Fin::Last).unwrap();
    while pull(&mut pair.server, &mut pair.down, 2000) {}
    pair.server.reset(NOW, stream);
    pair.run();
    let is_answer = |event: &&Owned| matches!(event, Owned::Response(0, _, Fin::Last));
    assert_eq!(pair.heard.iter().filter(is_answer).count(), 1, "{:?}", pair.heard);
    assert!(!pair.heard.iter().any(|event| matches!(event, Owned::Reset(..))), "{:?}", pair.heard);
}

#[test]
fn an_extended_connect_waits_for_the_servers_setting_and_opens_a_tunnel() {
    let mut head = get("/chat");
    (head.method, head.protocol) = (Method::Connect, Some("websocket".into()));
    let offer = Settings { enable_connect_protocol: true, ..Settings::server() };
    let mut pair = Pair::new(Settings::client(), offer, 1);
    assert_eq!(pair.client.request(NOW, &head, Fin::More), Err(crate::Refused::TooEarly));
    pair.run();
    let stream = pair.client.request(NOW, &head, Fin::More).unwrap();
    pair.run();
    pair.server.respond(stream, &ResponseHead::new(Status::OK), Fin::More).unwrap();
    pair.server.send(stream, Bytes::from_static(b"down"), Fin::More).unwrap();
    pair.client.send(stream, Bytes::from_static(b"up"), Fin::More).unwrap();
    pair.run();
    assert_eq!(body_of(&pair.served, 0), (b"up".to_vec(), Fin::More));
    assert_eq!(body_of(&pair.heard, 0), (b"down".to_vec(), Fin::More));
}

#[test]
fn a_plain_connect_opens_a_tunnel_of_data_both_ways_to_each_sides_end() {
    let mut pair = Pair::new(Settings::client(), Settings::server(), 3);
    let head = super::malformed::connect();
    let stream = pair.client.request(NOW, &head, Fin::More).unwrap();
    pair.run();
    assert_eq!(pair.served, [Owned::Request(0, head, Fin::More)]);
    pair.server.respond(stream, &ResponseHead::new(Status::OK), Fin::More).unwrap();
    for _ in 0..3 {
        pair.client.send(stream, Bytes::from_static(b"up "), Fin::More).unwrap();
        pair.server.send(stream, Bytes::from_static(b"down "), Fin::More).unwrap();
        pair.run();
    }
    assert_eq!(body_of(&pair.served, 0), (b"up up up ".to_vec(), Fin::More));
    assert_eq!(body_of(&pair.heard, 0), (b"down down down ".to_vec(), Fin::More));
    // One side has ended, and the other goes on.
    pair.client.send(stream, Bytes::new(), Fin::Last).unwrap();
    pair.run();
    assert_eq!(body_of(&pair.served, 0).1, Fin::Last);
    pair.server.send(stream, Bytes::from_static(b"more"), Fin::Last).unwrap();
    pair.run();
    assert_eq!(body_of(&pair.heard, 0), (b"down down down more".to_vec(), Fin::Last));
    assert_eq!(pair.closed, None);
}

#[test]
fn trailers_come_as_they_were_sent_both_ways() {
    let mut pair = Pair::new(Settings::client(), Settings::server(), 5);
    let mut head = get("/");
    head.method = Method::Post;
    let stream = pair.client.request(NOW, &head, Fin::More).unwrap();
    let asked = Fields::new().with("x-sum", "1").with("x-empty", "").with("x-sum", "2");
    pair.client.send(stream, Bytes::from_static(b"up"), Fin::More).unwrap();
    pair.client.send_trailers(stream, &asked).unwrap();
    pair.run();
    assert_eq!(body_of(&pair.served, 0), (b"up".to_vec(), Fin::Last));
    assert_eq!(pair.served.last(), Some(&Owned::Trailers(0, asked)));
    let answered = Fields::new().with("grpc-status", "0").with("grpc-message", "\u{fc}ber");
    pair.server.respond(stream, &ResponseHead::new(Status::OK), Fin::More).unwrap();
    pair.server.send(stream, Bytes::from_static(b"down"), Fin::More).unwrap();
    pair.server.send_trailers(stream, &answered).unwrap();
    pair.run();
    assert_eq!(body_of(&pair.heard, 0), (b"down".to_vec(), Fin::Last));
    assert_eq!(pair.heard.last(), Some(&Owned::Trailers(0, answered)));
}

#[test]
fn rejected_early_data_begins_anew_and_its_requests_may_be_retried() {
    let mut client = client(Settings::client());
    let sending = TransportFacts { early_data: EarlyData::Sending, max_datagram: None };
    client.handle_transport(NOW, sending);
    assert_eq!(client.request(NOW, &get("/"), Fin::Last), Ok(StreamId(0)));
    while client.poll_stream_transmit(NOW, &mut SendBuf::new(), 1000).is_some() {}
    client.handle_transport(NOW, TransportFacts { early_data: EarlyData::Rejected, ..sending });
    assert_eq!(client.poll_event(NOW).map(owned), Some(Owned::Reset(0, Error::Unprocessed)));
    assert_eq!(client.request(NOW, &get("/"), Fin::Last), Ok(StreamId(0)));
    let first = client.poll_stream_transmit(NOW, &mut SendBuf::new(), 1000).unwrap();
    assert_eq!(first.stream, StreamId(2), "SETTINGS go out again");
}

#[test]
fn datagrams_name_their_request() {
    let takes = |settings| Settings { datagrams: true, ..settings };
    let mut pair = Pair::new(takes(Settings::client()), takes(Settings::server()), 1);
    let facts = TransportFacts { early_data: EarlyData::None, max_datagram: Some(1200) };
    pair.client.handle_transport(NOW, facts);
    let stream = pair.client.request(NOW, &get("/"), Fin::More).unwrap();
    assert!(
        pair.client.send_datagram(stream, b"x").is_err(),
        "the server has not said that it takes any"
    );
    pair.run();
    assert!(pair.client.send_datagram(stream, &[0; 1200]).is_err());
    pair.client.send_datagram(stream, b"hello").unwrap();
    let datagram = pair.client.poll_datagram().unwrap();
    pair.server.handle_datagram(NOW, &datagram);
    assert_eq!(pair.server.receive_datagram(), Some((stream, Bytes::from_static(b"hello"))));
    pair.server.handle_datagram(NOW, &[]);
    assert_eq!(pair.server.state(), ConnectionState::Closed);
}

#[test]
fn what_qpacks_table_is_told_counts_with_the_heads_at_both_ends() {
    let mut pair = Pair::new(Settings::client(), Settings::server(), 9);
    // The server's SETTINGS allow a table.
    pair.run();
    let value = "v".repeat(300);
    let head = RequestHead { fields: Fields::new().with("x-long", value.as_str()), ..get("/") };
    let mut sent = vec![pair.client.header_bytes().sent.coded];
    for _ in 0..2 {
        pair.client.request(NOW, &head, Fin::Last).unwrap();
        pair.run();
        sent.push(pair.client.header_bytes().sent.coded);
    }
    assert_eq!(pair.client.header_bytes().sent, pair.server.header_bytes().received);
    let [first, second] = [sent[1] - sent[0], sent[2] - sent[1]];
    // Huffman's code has seven bits for a `v`; after that an index stands for the field.
    assert!((300 * 7 / 8..400).contains(&first) && second < 30, "{sent:?}");
}
