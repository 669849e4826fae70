//! A WebSocket's client against the origin, in virtual time: a delay each way, no sockets, no sleeps.

use crate::world::{DELAY, START, Trusted, config, millis};
use client::{
    ClientConfig, EchoSocket, Message, Pattern, Security, Transport, WebSocketClient,
    WebSocketConfig,
};
use origin::{ListenerKind, Origin, OriginConfig, Parts, WallClock, WebSocketSettings};
use proto::ws::{DeflateOffer, Writes};
use sim::{Ended, Path};
use std::time::Duration;
use trace::{Direction, FetchOutcome, FetchRecord};
use unit::Seed;

/// What a run leaves.
struct Ran {
    echo: EchoSocket,
    /// The lengths of what either side wrote at a time.
    up: Vec<usize>,
    down: Vec<usize>,
}

/// Drives a client of the origin to its end.
fn run(client: WebSocketClient<EchoSocket>, kind: ListenerKind, ws: WebSocketSettings) -> Ran {
    let wall_clock = WallClock { at: START, unix: Duration::from_secs(1_800_000_000) };
    let config = OriginConfig { web_socket: ws, ..OriginConfig::new(vec![kind], wall_clock) };
    let mut world = sim::World::new(1);
    let near = world.host("10.0.0.1", client);
    let far = world.listen("0.0.0.0:0", Origin::new(config, Parts::default()));
    world.connect(near, far, Path::delay(DELAY));
    world.record_packets();
    assert_eq!(world.run_until_finished(near), Ended::Finished);
    let lengths = |direction: Direction| {
        let sent = world.packets().iter().filter(|packet| packet.direction == direction);
        let payloads = sent.filter_map(|packet| packet.tcp).map(|tcp| tcp.payload as usize);
        payloads.filter(|&length| length > 0).collect()
    };
    let (up, down) = (lengths(Direction::Up), lengths(Direction::Down));
    Ran { echo: world.take(near).into_conversation(), up, down }
}

fn numbers(count: u32) -> Vec<Message> {
    let message = |n: u32| Message {
        text: n.to_string().into_bytes().into(),
        answer: (2 * n).to_string().into_bytes().into(),
    };
    (1..=count).map(message).collect()
}

fn own(writes: Writes, deflate: Option<DeflateOffer>) -> WebSocketConfig {
    let url = "http://a.test/ws/double".parse().unwrap();
    WebSocketConfig { url, deflate, writes, compression_level: 6, seed: Seed(4) }
}

fn clear() -> ClientConfig {
    config(Transport::H1)
}

fn speak(messages: Vec<Message>, pattern: Pattern) -> EchoSocket {
    let client =
        WebSocketClient::new(clear(), own(Writes::One, None), EchoSocket::new(messages, pattern));
    run(client, ListenerKind::Clear, WebSocketSettings::default()).echo
}

fn times(record: &FetchRecord) -> (u128, u128) {
    (millis(Some(record.phases.queued)), millis(record.phases.last_byte))
}

fn broken(record: &FetchRecord) -> &str {
    match &record.outcome {
        FetchOutcome::Failed(reason) => reason,
        FetchOutcome::Done => "",
    }
}

#[test]
fn opening_takes_two_round_trips_and_each_serial_message_one() {
    let echo = speak(numbers(3), Pattern::Serial);
    // TCP 100 ms, the handshake 100 ms; the first message was to be sent when all began.
    let all: Vec<_> = echo.records.fetches.iter().map(times).collect();
    assert_eq!(all, [(0, 200), (0, 300), (300, 400), (400, 500)]);
    assert!(echo.records.fetches.iter().all(|record| record.outcome == FetchOutcome::Done));
    assert_eq!(echo.records.fetches[0].status, Some(101));
    assert_eq!(echo.records.fetches[0].url, "ws://a.test/ws/double");
    let [connection] = &echo.records.connections[..] else { panic!("one connection") };
    assert_eq!((connection.requests, connection.rounds, connection.protocol.name()), (4, 4, "ws"));
    // The server's Close comes a round trip after the last answer.
    assert_eq!(millis(connection.closed), 600);
}

#[test]
fn parallel_messages_are_all_answered_a_round_trip_after_the_opening() {
    let echo = speak(numbers(1000), Pattern::Parallel);
    assert_eq!(echo.records.fetches.len(), 1001);
    assert!(echo.records.fetches[1..].iter().all(|record| times(record) == (0, 300)));
    assert_eq!(echo.records.connections[0].rounds, 2);
}

#[test]
fn a_wrong_answer_fails_its_message_by_rule_and_no_other() {
    let mut messages = numbers(3);
    messages[1].answer = "5".into();
    let echo = speak(messages, Pattern::Serial);
    let reasons: Vec<_> = echo.records.fetches.iter().map(broken).collect();
    let rule = "an answer is its message's echo: `4` came back where `5` belongs";
    assert_eq!(reasons, ["", "", rule, ""]);
}

#[test]
fn a_server_that_closes_fails_all_messages_that_are_left_with_its_reason() {
    let mut messages = numbers(3);
    messages[1].text = "four".into();
    let echo = speak(messages, Pattern::Serial);
    let reasons: Vec<_> = echo.records.fetches.iter().map(broken).collect();
    assert_eq!(reasons[..2], ["", ""]);
    assert_eq!(reasons.len(), 4);
    for reason in &reasons[2..] {
        assert!(
            reason.ends_with("it closed the WebSocket with 1007: a decimal number is expected")
        );
    }
}

#[test]
fn a_place_without_a_websocket_fails_the_opening_and_every_message() {
    let url = "http://a.test/api?bytes=1".parse().unwrap();
    let own = WebSocketConfig { url, ..own(Writes::One, None) };
    let talk = EchoSocket::new(numbers(2), Pattern::Parallel);
    let client = WebSocketClient::new(clear(), own, talk);
    let echo = run(client, ListenerKind::Clear, WebSocketSettings::default()).echo;
    assert_eq!(echo.records.fetches.len(), 3);
    for record in &echo.records.fetches {
        assert!(broken(record).contains("the server opens no WebSocket there"), "{record:?}");
    }
}

#[test]
fn either_side_writes_header_and_payload_apart_where_it_is_set_to_clear_and_secured() {
    let trusted = Trusted::new(&["http/1.1"]);
    for secured in [false, true] {
        let writes = |client: Writes, server: Writes| {
            let (config, kind) = match secured {
                false => (clear(), ListenerKind::Clear),
                true => {
                    let tls = Transport { security: Security::Tls, ..Transport::H1 };
                    (trusted.config(tls), ListenerKind::Tls(trusted.server.clone()))
                }
            };
            let talk = EchoSocket::new(numbers(5), Pattern::Serial);
            let client = WebSocketClient::new(config, own(client, None), talk);
            let ws = WebSocketSettings { writes: server, ..WebSocketSettings::default() };
            let Ran { echo, up, down } = run(client, kind, ws);
            assert!(echo.records.fetches.iter().all(|record| record.outcome == FetchOutcome::Done));
            (up, down)
        };
        let whole = writes(Writes::One, Writes::One);
        let (up, _) = writes(Writes::Two, Writes::One);
        let (_, down) = writes(Writes::One, Writes::Two);
        // Five messages and a Close with its code, each in two.
        assert_eq!(
            (up.len(), down.len()),
            (whole.0.len() + 6, whole.1.len() + 6),
            "{up:?} {down:?}"
        );
        if !secured {
            assert_eq!(up[1..5], [6, 1, 6, 1]);
            assert_eq!(down[1..5], [2, 1, 2, 1]);
        }
    }
}

#[test]
fn messages_are_compressed_where_both_sides_want_it_and_else_not() {
    let long = "a".repeat(1000);
    let bytes = |client: Option<DeflateOffer>, server: Option<DeflateOffer>| {
        let text: bytes::Bytes = long.clone().into();
        let messages = vec![Message { text: text.clone(), answer: text }; 3];
        let url = "http://a.test/ws/echo".parse().unwrap();
        let own = WebSocketConfig { url, ..own(Writes::One, client) };
        let client = WebSocketClient::new(clear(), own, EchoSocket::new(messages, Pattern::Serial));
        let ws = WebSocketSettings { deflate: server, ..WebSocketSettings::default() };
        let echo = run(client, ListenerKind::Clear, ws).echo;
        assert!(echo.records.fetches.iter().all(|record| record.outcome == FetchOutcome::Done));
        echo.records.connections[0].bytes_received
    };
    let offer = Some(DeflateOffer::default());
    assert!(bytes(offer, offer) < 500);
    for (client, server) in [(None, offer), (offer, None), (None, None)] {
        assert!(bytes(client, server) > 3000);
    }
}

#[test]
fn patience_ends_with_the_whole_and_names_the_time() {
    let mut config = clear();
    config.timeouts.whole = Some(Duration::from_millis(350));
    let talk = EchoSocket::new(numbers(3), Pattern::Serial);
    let client = WebSocketClient::new(config, own(Writes::One, None), talk);
    let echo = run(client, ListenerKind::Clear, WebSocketSettings::default()).echo;
    let reasons: Vec<_> = echo.records.fetches.iter().map(broken).collect();
    let late = "the fetch was not done within 350 ms";
    assert_eq!(reasons, ["", "", late, late]);
}
