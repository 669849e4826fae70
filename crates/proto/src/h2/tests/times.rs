//! Time-outs in virtual time, and what is traced.

use super::*;
use crate::h2::KeepAlive;
use crate::{
    ClientConnection, ConnectionState, Fin, RequestHead, ResponseHead, Scheme, ServerConnection,
    Status, StreamId,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

#[test]
fn settings_that_nobody_acknowledges_end_the_connection() {
    let mut near = client(Settings::client());
    let due = near.poll_timeout().unwrap();
    assert_eq!(due, Instant::ZERO + Settings::client().settings_timeout);
    near.handle_timeout(due);
    let seen = format!("{:?}", events(&mut near, due, &[]));
    assert!(seen.contains("RFC 9113 §6.5.3"), "{seen}");
    assert_eq!(near.poll_timeout(), None);
}

#[test]
fn a_silent_peer_is_asked_and_given_up() {
    let (interval, timeout) = (Duration::from_secs(10), Duration::from_secs(3));
    let keep_alive = Some(KeepAlive { interval, timeout });
    let mut hand = ByHand::greeted(Settings { keep_alive, ..Settings::server() });
    let heard = hand.now;
    assert_eq!(hand.server.poll_timeout(), Some(heard + interval));
    hand.now = heard + interval;
    hand.server.handle_timeout(hand.now);
    let asked = hand.take();
    let Ok(echo) = <[u8; 8]>::try_from(&asked[0].2[..]) else { panic!("{asked:?}") };
    assert_eq!(asked[0].0, "PING");
    hand.now += Duration::from_secs(1);
    hand.frame(Frame::PingAck(echo));
    assert_eq!(hand.server.poll_timeout(), Some(heard + 2 * interval));

    hand.now += interval;
    hand.server.handle_timeout(hand.now);
    assert_eq!(hand.take().len(), 1, "asked again");
    hand.now += timeout;
    hand.server.handle_timeout(hand.now);
    let seen = format!("{:?}", hand.give(&[]));
    assert!(seen.contains("the answer to a PING"), "{seen}");
}

#[test]
fn a_peer_that_gives_the_connection_no_credit_loses_it_in_the_end() {
    let mut hand = ByHand::greeted(Settings::server());
    let mut wide = Vec::new();
    let (id, value) = (wire::h2::SettingId::INITIAL_WINDOW_SIZE, 1 << 20);
    Setting::encode_all(&[Setting { id, value }], &mut wide);
    hand.give(&wide);
    hand.request(1, true, &[]);
    hand.server.respond(StreamId(1), &ResponseHead::new(Status::OK), Fin::More).unwrap();
    hand.server.send(StreamId(1), vec![0; 100_000].into(), Fin::Last).unwrap();
    let sent: usize = hand.take().iter().filter(|f| f.0 == "DATA").map(|f| f.2.len()).sum();
    assert_eq!(sent, 65_535);
    assert!(!hand.server.wants_transmit());
    hand.now = hand.server.poll_timeout().expect("the stall is watched");
    hand.server.handle_timeout(hand.now);
    assert_eq!(hand.server.state(), ConnectionState::Closed);
    let seen = format!("{:?}", hand.give(&[]));
    assert!(seen.contains("flow-control credit"), "{seen}");
}

#[test]
fn a_byte_of_credit_now_and_then_does_not_hold_a_stream() {
    let mut hand = ByHand::greeted(Settings::server());
    hand.request(1, true, &[]);
    hand.server.respond(StreamId(1), &ResponseHead::new(Status::OK), Fin::More).unwrap();
    hand.server.send(StreamId(1), vec![0; 100_000].into(), Fin::Last).unwrap();
    hand.take();
    let mut heard = String::new();
    for _ in 0..7 {
        for stream in [0, 1] {
            heard += &format!("{:?}", hand.frame(Frame::WindowUpdate { stream, increment: 1 }));
        }
        hand.take();
        hand.now += Duration::from_secs(10);
        hand.server.handle_timeout(hand.now);
    }
    heard += &format!("{:?}", hand.give(&[]));
    assert!(heard.contains("flow-control credit"), "{heard}");
}

#[test]
fn a_slow_reader_that_goes_on_is_no_stall() {
    let mut hand = ByHand::greeted(Settings::server());
    hand.request(1, true, &[]);
    hand.server.respond(StreamId(1), &ResponseHead::new(Status::OK), Fin::More).unwrap();
    hand.server.send(StreamId(1), vec![0; 300_000].into(), Fin::Last).unwrap();
    hand.take();
    for _ in 0..40 {
        for stream in [0, 1] {
            assert_eq!(hand.frame(Frame::WindowUpdate { stream, increment: 4_000 }), []);
        }
        hand.take();
        hand.now += Duration::from_secs(10);
        hand.server.handle_timeout(hand.now);
        assert_eq!(hand.server.state(), ConnectionState::Open);
    }
    assert_eq!(hand.server.unsent(StreamId(1)), 300_000 - 65_535 - 40 * 4_000);
}

#[test]
fn credit_in_time_stops_the_watch() {
    let mut hand = ByHand::greeted(Settings::server());
    hand.request(1, true, &[]);
    hand.server.respond(StreamId(1), &ResponseHead::new(Status::OK), Fin::More).unwrap();
    hand.server.send(StreamId(1), vec![0; 100_000].into(), Fin::Last).unwrap();
    hand.take();
    let due = hand.server.poll_timeout().expect("the stall is watched");
    for stream in [0, 1] {
        hand.frame(Frame::WindowUpdate { stream, increment: 100_000 });
    }
    hand.take();
    hand.now = due;
    hand.server.handle_timeout(due);
    assert_eq!(hand.give(&[]), []);
    assert_eq!((hand.server.state(), hand.server.poll_timeout()), (ConnectionState::Open, None));
}

#[test]
fn a_header_block_that_never_ends_is_given_up() {
    let mut hand = ByHand::greeted(Settings::server());
    let (dependency, padding, end_stream, end_headers) = (None, None, true, false);
    let block = &[0x82];
    hand.frame(Frame::Headers { stream: 1, block, end_stream, end_headers, dependency, padding });
    hand.now = hand.server.poll_timeout().expect("it is watched");
    hand.server.handle_timeout(hand.now);
    let seen = format!("{:?}", hand.give(&[]));
    assert!(seen.contains("the end of a header block"), "{seen}");
}

#[derive(Default)]
struct Log(RefCell<Vec<String>>);

impl trace::Sink for Log {
    fn record(&self, _at: Instant, connection: u64, event: &trace::Event<'_>) {
        let line = match event {
            trace::Event::FrameCreated { stream, frame, .. } => format!("-> {frame} {stream}"),
            trace::Event::FrameParsed { stream, frame, .. } => format!("<- {frame} {stream}"),
            trace::Event::HeaderBlock { stream, .. } => format!("block {stream}"),
            trace::Event::StreamReset { stream, code } => format!("reset {stream} {code}"),
            other => format!("{other:?}"),
        };
        assert_eq!(connection, 4);
        self.0.borrow_mut().push(line);
    }
}

#[test]
fn the_tracer_hears_of_every_frame_in_order() {
    let log = Rc::new(Log::default());
    let tracer = Tracer::to(log.clone()).for_connection(4);
    let turns = Box::new(RoundRobin::default());
    let mut near = Client::new(Instant::ZERO, Settings::client(), turns, tracer);
    near.request(Instant::ZERO, &RequestHead::get(Scheme::Http, "a", "/"), Fin::Last).unwrap();
    let mut bytes = Vec::new();
    Setting::encode_all(&[], &mut bytes);
    let data = Frame::Data { stream: 1, data: b"early", end_stream: true, padding: None };
    data.encode(&mut bytes);
    events(&mut near, Instant::ZERO, &bytes);
    assert_eq!(
        *log.0.borrow(),
        [
            "-> SETTINGS 0",
            "-> WINDOW_UPDATE 0",
            "block 1",
            "-> HEADERS 1",
            "<- SETTINGS 0",
            "ConnectionReady { protocol: \"h2\" }",
            "-> SETTINGS 0",
            "<- DATA 1",
            "-> RST_STREAM 1",
            "reset 1 1",
        ]
    );
}
