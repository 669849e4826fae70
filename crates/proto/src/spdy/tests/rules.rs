//! Single rules of the draft, by hand-made frames.

use super::*;
use crate::multiplex::{KeepAlive, Role};
use crate::schedule::Priority;
use crate::{
    ClientConnection, ConnectionState, Error, Event, Fields, Fin, Misuse, Refused, RequestHead,
    ResponseHead, Scheme, ServerConnection, Status, StreamId,
};
use bytes::Bytes;
use std::time::Duration;
use wire::spdy::{GoAwayCode, Persistence, Setting, SettingId};

fn v3_1() -> Settings {
    Settings::server(Version::V3_1)
}

fn ask(hand: &mut ByHand<Client>, fin: Fin) -> StreamId {
    let head = RequestHead::get(Scheme::Http, "a.test", "/");
    hand.subject.request(hand.now, &head, fin).unwrap()
}

fn settings(list: &[(SettingId, u32)]) -> Vec<u8> {
    let persistence = Persistence::Session;
    let list: Vec<_> = list.iter().map(|&(id, value)| Setting { id, value, persistence }).collect();
    let mut bytes = Vec::new();
    Setting::encode_all(&list, &mut bytes);
    bytes
}

#[test]
fn frames_for_a_stream_that_is_not_open_reset_it() {
    let mut hand = server(v3_1());
    assert_eq!(hand.data(1, b"x", false), []);
    assert_eq!(hand.resets(), [(1, ResetCode::INVALID_STREAM)]);
    let mut hand = server(v3_1());
    hand.headers(1, false, &[("x", "y")]);
    assert_eq!(hand.resets(), [(1, ResetCode::INVALID_STREAM)]);
    assert_eq!(hand.subject.state(), ConnectionState::Open);
}

#[test]
fn frames_after_the_end_of_the_stream_reset_it() {
    let mut hand = server(v3_1());
    hand.request(1, true, &[]);
    let seen = hand.data(1, b"x", false);
    assert!(format!("{seen:?}").contains("after the end"), "{seen:?}");
    assert_eq!(hand.resets(), [(1, ResetCode::STREAM_ALREADY_CLOSED)]);
}

#[test]
fn data_before_the_answer_and_a_second_answer_are_errors_of_the_stream() {
    let mut hand = client(Settings::client(Version::V3_1));
    let (first, second) = (ask(&mut hand, Fin::Last), ask(&mut hand, Fin::Last));
    hand.take();
    hand.data(first.0 as u32, b"x", false);
    assert_eq!(hand.resets(), [(1, ResetCode::PROTOCOL_ERROR)]);
    hand.reply(second.0 as u32, false, &[]);
    hand.reply(second.0 as u32, false, &[]);
    assert_eq!(hand.resets(), [(3, ResetCode::STREAM_IN_USE)]);
    assert_eq!(hand.subject.state(), ConnectionState::Open);
}

#[test]
fn identifiers_only_grow_and_have_the_openers_parity() {
    for (first, second) in [(5, 3), (5, 6), (5, 0)] {
        let mut hand = server(v3_1());
        hand.request(first, true, &[]);
        hand.request(second, true, &[]);
        assert_eq!(hand.goaway(), Some((5, GoAwayCode::PROTOCOL_ERROR.0)), "{second}");
        assert_eq!(hand.subject.state(), ConnectionState::Closed);
    }
    let mut hand = server(v3_1());
    hand.request(5, false, &[]);
    hand.request(5, false, &[]);
    assert_eq!(hand.resets(), [(5, ResetCode::PROTOCOL_ERROR)], "the same one again");
}

#[test]
fn a_request_without_its_five_names_is_answered_with_400() {
    let mut hand = server(v3_1());
    assert_eq!(hand.syn(1, true, &REQUEST[1..]), []);
    let frames = hand.take();
    assert_eq!(frames.len(), 1);
    assert_eq!(frames[0].0, "SYN_REPLY");
    let mut decoder = wire::spdy::Decoder::new();
    let mut status = Vec::new();
    let read = decoder.decode(&frames[0].1[4..], 1000, |field| {
        if field.name == b":status" {
            status = field.value.to_vec();
        }
    });
    assert!(read.is_ok());
    assert_eq!(status, b"400 Bad Request");
    // The state of the compression goes on.
    assert_eq!(hand.request(3, true, &[]).len(), 1);
}

#[test]
fn a_request_beyond_the_limit_is_refused_and_may_be_retried() {
    let mut hand = server(Settings { max_concurrent_streams: 1, ..v3_1() });
    hand.request(1, true, &[]);
    assert_eq!(hand.request(3, true, &[]), []);
    assert_eq!(hand.resets(), [(3, ResetCode::REFUSED_STREAM)]);
    let mut hand = client(Settings::client(Version::V3_1));
    let stream = ask(&mut hand, Fin::Last);
    let code = ResetCode::REFUSED_STREAM;
    let seen = hand.frame(Frame::ResetStream { stream: stream.0 as u32, code });
    assert!(format!("{seen:?}").contains("Unprocessed"), "{seen:?}");
}

#[test]
fn the_peers_limit_on_streams_is_kept() {
    let mut hand = client(Settings::client(Version::V3_1));
    assert_eq!(hand.subject.available_streams(), 100, "before the server has spoken");
    hand.give(&settings(&[(SettingId::MAX_CONCURRENT_STREAMS, 1)]));
    assert_eq!(hand.subject.available_streams(), 1);
    ask(&mut hand, Fin::Last);
    let head = RequestHead::get(Scheme::Http, "a.test", "/");
    assert_eq!(hand.subject.request(hand.now, &head, Fin::Last), Err(Refused::Full));
}

#[test]
fn a_ping_of_the_peer_is_echoed_and_an_echo_is_not() {
    let mut hand = server(v3_1());
    hand.frame(Frame::Ping(7));
    assert_eq!(hand.take(), [("PING", 7_u32.to_be_bytes().to_vec())]);
    hand.frame(Frame::Ping(8));
    assert_eq!(hand.take(), []);
}

#[test]
fn silence_is_broken_by_a_ping_and_ended_without_its_echo() {
    let (interval, timeout) = (Duration::from_secs(10), Duration::from_secs(3));
    let keep_alive = Some(KeepAlive { interval, timeout });
    let mut hand = client(Settings { keep_alive, ..Settings::client(Version::V3_1) });
    for turn in 0..2_u32 {
        hand.now = hand.subject.poll_timeout().unwrap();
        hand.subject.handle_timeout(hand.now);
        assert_eq!(hand.take(), [("PING", (2 * turn + 1).to_be_bytes().to_vec())]);
        if turn == 0 {
            assert_eq!(hand.frame(Frame::Ping(1)), []);
        }
    }
    hand.now += timeout;
    hand.subject.handle_timeout(hand.now);
    let seen = hand.give(&[]);
    assert!(format!("{seen:?}").contains("the answer to a PING"), "{seen:?}");
}

#[test]
fn reset_stream_returns_its_credit_to_the_session() {
    let window = 65_536;
    let mut hand = server(Settings { session_window: window, ..v3_1() });
    hand.request(1, false, &[]);
    hand.data(1, &[1; 60_000], false);
    assert_eq!(hand.take(), []);
    hand.frame(Frame::ResetStream { stream: 1, code: ResetCode::CANCEL });
    let update = [0_u32.to_be_bytes(), 60_000_u32.to_be_bytes()].concat();
    assert_eq!(hand.take(), [("WINDOW_UPDATE", update)]);
}

#[test]
fn the_session_has_a_window_in_spdy_3_1_and_none_in_spdy_3() {
    let body = vec![0; 40_000];
    for (version, closed) in [(Version::V3_1, true), (Version::V3, false)] {
        let small = Settings { session_window: 65_536, stream_window: 65_536, ..v3_1() };
        let mut hand = server(Settings { version, ..small });
        hand.request(1, false, &[]);
        hand.request(3, false, &[]);
        hand.data(1, &body, false);
        hand.data(3, &body, false);
        assert_eq!(hand.subject.state() == ConnectionState::Closed, closed, "{version:?}");
    }
    // And so when sending: a third stream waits for the session, or does not.
    for (version, sent) in [(Version::V3_1, 65_536), (Version::V3, 120_000)] {
        let mut hand = server(Settings { version, ..v3_1() });
        for stream in [1, 3, 5] {
            hand.request(stream, true, &[]);
            let name = StreamId(u64::from(stream));
            hand.subject.respond(name, &ResponseHead::new(Status::OK), Fin::More).unwrap();
            hand.subject.send(name, Bytes::from(body.clone()), Fin::Last).unwrap();
        }
        let frames = hand.take();
        let data = frames.iter().filter(|(name, _)| *name == "DATA");
        assert_eq!(data.map(|(_, payload)| payload.len() - 4).sum::<usize>(), sent);
    }
}

#[test]
fn more_data_than_the_streams_credit_resets_the_stream() {
    let mut hand = server(Settings { stream_window: 65_536, ..v3_1() });
    hand.request(1, false, &[]);
    hand.data(1, &[0; 65_536], false);
    hand.data(1, b"x", false);
    assert_eq!(hand.resets(), [(1, ResetCode::FLOW_CONTROL_ERROR)]);
}

#[test]
fn a_new_initial_window_moves_open_streams() {
    let mut hand = server(Settings { version: Version::V3, ..v3_1() });
    hand.give(&settings(&[(SettingId::INITIAL_WINDOW_SIZE, 10)]));
    hand.request(1, true, &[]);
    hand.subject.respond(StreamId(1), &ResponseHead::new(Status::OK), Fin::More).unwrap();
    hand.subject.send(StreamId(1), Bytes::from(vec![0; 100]), Fin::Last).unwrap();
    hand.take();
    assert_eq!(hand.subject.unsent(StreamId(1)), 90);
    hand.give(&settings(&[(SettingId::INITIAL_WINDOW_SIZE, 30)]));
    hand.take();
    assert_eq!(hand.subject.unsent(StreamId(1)), 70);
    hand.frame(Frame::WindowUpdate { stream: 1, increment: 70 });
    hand.take();
    assert_eq!(hand.subject.unsent(StreamId(1)), 0);
}

#[test]
fn a_window_that_overflows_ends_its_stream_or_the_session() {
    let mut hand = server(v3_1());
    hand.request(1, true, &[]);
    hand.frame(Frame::WindowUpdate { stream: 1, increment: 0x7fff_ffff });
    assert_eq!(hand.resets(), [(1, ResetCode::FLOW_CONTROL_ERROR)]);
    hand.frame(Frame::WindowUpdate { stream: 0, increment: 0x7fff_ffff });
    assert_eq!(hand.goaway(), Some((1, 1)));
}

#[test]
fn a_goaway_frees_what_was_not_processed_and_closes_after_the_rest() {
    let mut hand = client(Settings::client(Version::V3_1));
    let first = ask(&mut hand, Fin::Last);
    ask(&mut hand, Fin::Last);
    let seen = hand.frame(Frame::GoAway { last: 1, code: GoAwayCode::OK });
    let text = format!("{seen:?}");
    assert!(text.contains("Draining") && text.contains("Unprocessed"), "{text}");
    assert_eq!(hand.subject.state(), ConnectionState::Draining);
    let seen = hand.reply(first.0 as u32, true, &[]);
    assert!(format!("{seen:?}").contains("Closed { error: None }"), "{seen:?}");
}

#[test]
fn a_server_that_shuts_down_finishes_and_ignores_what_comes_later() {
    let mut hand = server(v3_1());
    hand.request(1, true, &[]);
    hand.subject.shutdown(hand.now);
    assert_eq!(hand.goaway(), Some((1, 0)));
    assert_eq!(hand.request(3, false, &[("x", "y")]), []);
    assert_eq!(hand.data(3, b"late", true), []);
    assert_eq!(hand.resets(), []);
    hand.subject.respond(StreamId(1), &ResponseHead::new(Status::OK), Fin::Last).unwrap();
    assert_eq!(hand.subject.state(), ConnectionState::Closed);
}

#[test]
fn headers_after_the_head_become_trailers() {
    let mut hand = server(v3_1());
    hand.request(1, false, &[]);
    hand.data(1, b"body", false);
    assert_eq!(hand.headers(1, false, &[("x-one", "1")]), []);
    let seen = hand.headers(1, true, &[("x-two", "2")]);
    let text = format!("{seen:?}");
    assert!(text.contains("Trailers") && text.contains("x-one") && text.contains("x-two"));
    // Also where DATA ends the stream, as node-spdy does it.
    hand.request(3, false, &[]);
    hand.headers(3, false, &[("x-one", "1")]);
    let seen = hand.data(3, b"body", true);
    assert_eq!(seen[0], Owned::Data(3, b"body".to_vec(), false));
    assert!(format!("{:?}", seen[1]).contains("x-one"), "{seen:?}");
    hand.request(5, false, &[]);
    hand.headers(5, false, &[("x-one", "1")]);
    let seen = hand.data(5, b"", true);
    assert!(format!("{seen:?}").contains("Trailers"), "{seen:?}");
    assert_eq!(hand.resets(), []);
}

#[test]
fn a_priority_is_told_until_the_request_has_gone() {
    let mut hand = client(Settings::client(Version::V3_1));
    let streams: Vec<_> = (0..3).map(|_| ask(&mut hand, Fin::Last)).collect();
    hand.subject.prioritise(streams[1], Priority::Level(6));
    let frames = hand.take();
    let levels: Vec<u8> = frames.iter().map(|(_, payload)| payload[8] >> 5).collect();
    assert_eq!(levels, [3, 6, 3]);
    hand.subject.prioritise(streams[1], Priority::Level(0));
    assert_eq!(hand.take(), []);
}

#[test]
fn a_content_length_that_the_body_does_not_keep_resets_the_stream() {
    for body in [&b"ab"[..], b"abcd"] {
        let mut hand = server(v3_1());
        hand.request(1, false, &[("content-length", "3")]);
        let seen = hand.data(1, body, true);
        assert!(format!("{seen:?}").contains("Content-Length"), "{seen:?}");
        assert_eq!(hand.resets(), [(1, ResetCode::PROTOCOL_ERROR)]);
    }
}

#[test]
fn persisted_settings_come_back_in_the_next_session() {
    let server_says = Settings { persistence: Persistence::Persist, ..v3_1() };
    let turns = || Box::new(RoundRobin::default());
    let mut far = Server::new(Instant::ZERO, server_says, turns(), Tracer::off());
    let mut out = SendBuf::new();
    far.poll_transmit(Instant::ZERO, &mut out, 1000);
    let mut hand = client(Settings::client(Version::V3_1));
    hand.give(&out.to_vec());
    let persisted = hand.subject.persisted().to_vec();
    assert_eq!(persisted.len(), 2);
    let settings = Settings { persisted, ..Settings::client(Version::V3_1) };
    let mut next = Client::new(Instant::ZERO, settings, turns(), Tracer::off());
    let mut out = SendBuf::new();
    next.poll_transmit(Instant::ZERO, &mut out, 1000);
    // Our own settings go before persisted ones that the client returns.
    let frames = split(&out.to_vec());
    assert_eq!((frames[0].0, word(&frames[0].1, 0)), ("SETTINGS", 2));
    // CLEAR forgets.
    let list = settings_list(&[(SettingId::ROUND_TRIP_TIME, 5)]);
    let mut clear = list.clone();
    clear[4] = wire::spdy::FLAG_CLEAR_SETTINGS;
    hand.give(&clear);
    assert_eq!(hand.subject.persisted(), []);
}

fn settings_list(list: &[(SettingId, u32)]) -> Vec<u8> {
    settings(list)
}

#[test]
fn what_is_told_back_is_marked_and_not_taken_for_the_clients_own() {
    let id = SettingId::MAX_CONCURRENT_STREAMS;
    let kept = |id, value| Setting { id, value, persistence: Persistence::Persist };
    let persisted = vec![kept(SettingId::CURRENT_CWND, 42), kept(id, 7)];
    let list = Settings { persisted, ..Settings::client(Version::V3_1) }.first(Role::Client);
    let cwnd = list.iter().find(|setting| setting.id == SettingId::CURRENT_CWND).unwrap();
    assert_eq!((cwnd.value, cwnd.persistence), (42, Persistence::Persisted));
    assert_eq!(list.iter().filter(|setting| setting.id == id).count(), 1);
    let mut hand = server(v3_1());
    let mut bytes = Vec::new();
    let persistence = Persistence::Persisted;
    let told = Setting { id: SettingId::INITIAL_WINDOW_SIZE, value: 1, persistence };
    Setting::encode_all(&[told], &mut bytes);
    hand.give(&bytes);
    assert_eq!(hand.subject.session.framing.peer.initial_window, 65_536);
}

#[test]
fn what_spdy_cannot_say_is_refused_before_it_is_sent() {
    let mut hand = server(v3_1());
    hand.request(1, true, &[]);
    let early = ResponseHead::new(Status::new(103).unwrap());
    assert!(matches!(hand.subject.inform(StreamId(1), &early), Err(Misuse::Unsendable(_))));
    let mut bad = ResponseHead::new(Status::OK);
    bad.fields.push(b"x", b"nul\0nul");
    let outcome = hand.subject.respond(StreamId(1), &bad, Fin::Last);
    assert!(matches!(outcome, Err(Misuse::Unsendable(_))));
    let mut near = client(Settings::client(Version::V3_1));
    let head = RequestHead::get(Scheme::Http, "", "/");
    let outcome = near.subject.request(near.now, &head, Fin::Last);
    assert!(matches!(outcome, Err(Refused::Unsendable(_))));
    assert_eq!((hand.take(), near.take()), (vec![], vec![]));
}

#[test]
fn unknown_frames_are_ignored_and_other_versions_are_not() {
    let mut hand = server(v3_1());
    let credential = [0x80, 3, 0, 10, 0, 0, 0, 3, 1, 2, 3];
    assert_eq!(hand.give(&credential), []);
    assert_eq!(hand.give(&[0x80, 3, 0xf0, 0, 0, 0, 0, 0]), []);
    let mut syn = vec![0x80, 2, 0, 1, 1, 0, 0, 10];
    syn.extend([0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(hand.give(&syn), []);
    assert_eq!(hand.resets(), [(1, ResetCode::UNSUPPORTED_VERSION)]);
    hand.give(&[0x80, 2, 0, 6, 0, 0, 0, 4, 0, 0, 0, 1]);
    assert_eq!(hand.goaway().map(|(_, status)| status), Some(1));
}

#[test]
fn the_end_of_input_amid_a_frame_or_a_stream_is_told() {
    let mut hand = server(v3_1());
    hand.give(&[0x80, 3, 0]);
    hand.subject.handle_eof(hand.now);
    let error = Some(Error::Truncated { within: "a frame" });
    assert_eq!(hand.give(&[]), [Owned::Other(format!("{:?}", Event::Closed { error }))]);
    let mut hand = server(v3_1());
    hand.subject.handle_eof(hand.now);
    assert_eq!(hand.give(&[]), [Owned::Other("Closed { error: None }".to_owned())]);
}

#[test]
fn splitting_the_bytes_differently_changes_no_event() {
    let mut hand = server(v3_1());
    hand.request(1, false, &[("x-name", "value"), ("cookie", "a=1")]);
    hand.data(1, &[5; 300], false);
    hand.frame(Frame::Ping(1));
    hand.headers(1, true, &[("x-sum", "1")]);
    let bytes = std::mem::take(&mut hand.sent);
    let merge = |events: Vec<Owned>| {
        let mut merged: Vec<Owned> = Vec::new();
        for event in events {
            match (merged.last_mut(), event) {
                (Some(Owned::Data(_, all, fin)), Owned::Data(_, more, last)) => {
                    all.extend(more);
                    *fin = last;
                }
                (_, event) => merged.push(event),
            }
        }
        merged
    };
    let mut whole = server(v3_1());
    let expected = merge(whole.give(&bytes));
    assert_eq!(expected.len(), 3, "{expected:?}");
    for size in [1, 2, 3, 7, 64] {
        let mut other = server(v3_1());
        let seen: Vec<_> = bytes.chunks(size).flat_map(|piece| other.give(piece)).collect();
        assert_eq!(merge(seen), expected, "pieces of {size}");
    }
}

#[test]
fn trailers_go_out_behind_the_body() {
    let mut hand = server(v3_1());
    hand.request(1, true, &[]);
    hand.subject.respond(StreamId(1), &ResponseHead::new(Status::OK), Fin::More).unwrap();
    hand.subject.send(StreamId(1), Bytes::from_static(b"body"), Fin::More).unwrap();
    hand.subject.send_trailers(StreamId(1), &Fields::new().with("x", "y")).unwrap();
    let names: Vec<_> = hand.take().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["SYN_REPLY", "DATA", "HEADERS"]);
}
