//! Single rules of the RFC, by hand-made frames.

use super::*;
use crate::{
    ClientConnection, ConnectionState, Fields, Fin, Misuse, Refused, RequestHead, ResponseHead,
    Scheme, ServerConnection, Status, StreamId,
};
use wire::h2::ErrorCode;

fn data<'a>(stream: u32, data: &'a [u8], end_stream: bool) -> Frame<'a> {
    Frame::Data { stream, data, end_stream, padding: None }
}

#[test]
fn reset_stream_returns_its_credit_to_the_connection() {
    let mut hand = ByHand::greeted(Settings::server());
    let before = hand.server.session.windows().outstanding();
    hand.request(1, false, &[]);
    hand.frame(data(1, &[1; 10_000], false));
    assert_eq!(hand.server.session.windows().outstanding(), 10_000);
    hand.frame(Frame::ResetStream { stream: 1, code: ErrorCode::CANCEL });
    hand.server.consume(StreamId(1), 10_000);
    assert_eq!(hand.server.session.windows().outstanding(), before);
    // Late DATA on a stream that we reset ourselves is ignored, and gives its credit back too.
    hand.request(3, false, &[]);
    hand.server.reset(hand.now, StreamId(3));
    assert_eq!(hand.frame(data(3, &[1; 5_000], false)), []);
    assert_eq!(hand.server.session.windows().outstanding(), 0);
    assert_eq!(hand.server.state(), ConnectionState::Open);
}

#[test]
fn padding_gives_its_credit_back_at_once() {
    let mut hand = ByHand::greeted(Settings::server());
    hand.request(1, false, &[]);
    let padded = Frame::Data { stream: 1, data: b"abc", end_stream: true, padding: Some(200) };
    assert_eq!(hand.frame(padded), [Owned::Data(1, b"abc".to_vec(), true)]);
    assert_eq!(hand.server.session.windows().outstanding(), 3);
    hand.server.consume(StreamId(1), 3);
    assert_eq!(hand.server.session.windows().outstanding(), 0);
}

#[test]
fn a_content_length_that_the_body_does_not_keep_resets_the_stream() {
    for body in [&b"ab"[..], b"abcd"] {
        let mut hand = ByHand::greeted(Settings::server());
        hand.request(1, false, &[("content-length", "3")]);
        let seen = hand.frame(data(1, body, true));
        assert!(format!("{seen:?}").contains("Content-Length"), "{seen:?}");
        assert_eq!(hand.take()[0].0, "RST_STREAM");
    }
    let mut hand = ByHand::greeted(Settings::server());
    assert_eq!(hand.request(1, true, &[("content-length", "3")]), []);
}

#[test]
fn splitting_the_bytes_differently_changes_no_event() {
    let mut hand = ByHand::greeted(Settings::server());
    hand.request(1, false, &[("x-name", "value"), ("cookie", "a=1")]);
    hand.frame(Frame::Data { stream: 1, data: &[5; 300], end_stream: false, padding: Some(9) });
    hand.frame(Frame::Ping(*b"12345678"));
    let trailer = hand.block(&[("x-sum", "1")]);
    let (head, tail) = trailer.split_at(1);
    let (dependency, padding) = (None, None);
    let (stream, end_stream, end_headers) = (1, true, false);
    hand.frame(Frame::Headers {
        stream,
        block: head,
        end_stream,
        end_headers,
        dependency,
        padding,
    });
    hand.frame(Frame::Continuation { stream: 1, block: tail, end_headers: true });
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
    let fresh = || {
        Server::new(
            Instant::ZERO,
            Settings::server(),
            Box::new(RoundRobin::default()),
            Tracer::off(),
        )
    };
    let whole = merge(events(&mut fresh(), Instant::ZERO, &bytes));
    assert_eq!(whole.len(), 3, "{whole:?}");
    for size in [1, 2, 3, 7, 10, 64] {
        let mut server = fresh();
        let chunks = bytes.chunks(size);
        let seen = chunks.flat_map(|chunk| events(&mut server, Instant::ZERO, chunk)).collect();
        assert_eq!(merge(seen), whole, "chunks of {size}");
    }
}

#[test]
fn commands_out_of_order_are_refused_and_send_nothing() {
    let mut hand = ByHand::greeted(Settings::server());
    hand.request(1, true, &[]);
    let ok = ResponseHead::new(Status::OK);
    let server = &mut hand.server;
    let out_of_order = |outcome| matches!(outcome, Err(Misuse::OutOfOrder(_)));
    assert!(out_of_order(server.send(StreamId(1), "x".into(), Fin::Last)));
    assert_eq!(server.respond(StreamId(9), &ok, Fin::Last), Err(Misuse::UnknownStream));
    let upper = ResponseHead { status: Status::OK, fields: Fields::new().with("bad name", "x") };
    assert!(matches!(server.respond(StreamId(1), &upper, Fin::Last), Err(Misuse::Unsendable(_))));
    assert!(!server.wants_transmit());
    server.respond(StreamId(1), &ok, Fin::More).unwrap();
    assert!(out_of_order(server.respond(StreamId(1), &ok, Fin::More)));
    server.send(StreamId(1), "x".into(), Fin::Last).unwrap();
    assert!(out_of_order(server.send(StreamId(1), "x".into(), Fin::Last)));
}

#[test]
fn a_draining_server_names_its_last_stream_after_the_echo() {
    let mut hand = ByHand::greeted(Settings::server());
    hand.request(1, true, &[]);
    hand.server.shutdown(hand.now);
    let frames = hand.take();
    assert_eq!(frames[0], ("GOAWAY", 0, [&[0x7f, 0xff, 0xff, 0xff][..], &[0; 4]].concat()));
    let Ok(echo) = <[u8; 8]>::try_from(&frames[1].2[..]) else { panic!("{frames:?}") };
    assert_eq!(hand.request(3, true, &[]).len(), 1, "it was under way");
    hand.frame(Frame::PingAck(echo));
    assert_eq!(hand.take(), [("GOAWAY", 0, vec![0, 0, 0, 3, 0, 0, 0, 0])]);
    assert_eq!(hand.request(5, true, &[]), [], "it came too late");
    for stream in [1, 3] {
        let ok = ResponseHead::new(Status::OK);
        hand.server.respond(StreamId(stream), &ok, Fin::Last).unwrap();
    }
    assert_eq!(hand.give(&[]), [Owned::Other("Closed { error: None }".into())]);
    assert_eq!(hand.server.state(), ConnectionState::Closed);
}

#[test]
fn a_client_may_retry_what_goaway_excludes() {
    let mut client = client(Settings::client());
    let head = RequestHead::get(Scheme::Http, "a", "/");
    for _ in 0..3 {
        client.request(Instant::ZERO, &head, Fin::Last).unwrap();
    }
    let mut bytes = Vec::new();
    Setting::encode_all(&[], &mut bytes);
    Frame::GoAway { last: 3, code: ErrorCode::NO_ERROR, debug: b"" }.encode(&mut bytes);
    let seen = format!("{:?}", events(&mut client, Instant::ZERO, &bytes));
    assert!(seen.contains("Draining { last: Some(StreamId(3)) }"), "{seen}");
    assert!(seen.contains("stream: StreamId(5), error: Unprocessed"), "{seen}");
    assert!(!seen.contains("stream: StreamId(3), error"), "{seen}");
    assert_eq!(client.request(Instant::ZERO, &head, Fin::Last), Err(Refused::Draining));
    assert_eq!(client.available_streams(), 0);
}

#[test]
fn a_client_fills_the_room_that_the_server_leaves() {
    let mut client = client(Settings::client());
    let mut bytes = Vec::new();
    let (id, value) = (wire::h2::SettingId::MAX_CONCURRENT_STREAMS, 2);
    Setting::encode_all(&[Setting { id, value }], &mut bytes);
    events(&mut client, Instant::ZERO, &bytes);
    let head = RequestHead::get(Scheme::Http, "a", "/");
    assert_eq!(client.available_streams(), 2);
    client.request(Instant::ZERO, &head, Fin::Last).unwrap();
    client.request(Instant::ZERO, &head, Fin::Last).unwrap();
    assert_eq!(client.request(Instant::ZERO, &head, Fin::Last), Err(Refused::Full));
    client.reset(Instant::ZERO, StreamId(1));
    assert_eq!(client.available_streams(), 1);
}

#[test]
fn a_promise_to_a_client_that_takes_none_is_fatal() {
    let mut client = client(Settings::client());
    client.request(Instant::ZERO, &RequestHead::get(Scheme::Http, "a", "/"), Fin::Last).unwrap();
    let mut bytes = Vec::new();
    Setting::encode_all(&[], &mut bytes);
    Frame::SettingsAck.encode(&mut bytes);
    let (end_headers, padding) = (true, None);
    let block = &[0x82, 0x84, 0x86];
    Frame::PushPromise { stream: 1, promised: 2, block, end_headers, padding }.encode(&mut bytes);
    let seen = format!("{:?}", events(&mut client, Instant::ZERO, &bytes));
    assert!(seen.contains("RFC 9113 §6.6"), "{seen}");
}

#[test]
fn the_smallest_table_between_two_blocks_is_signalled_before_the_last() {
    let mut settings = Vec::new();
    let id = wire::h2::SettingId::HEADER_TABLE_SIZE;
    Setting::encode_all(&[0, 4096].map(|value| Setting { id, value }), &mut settings);
    // RFC 7541 §4.2, §6.3: 0, then 4096.
    let signals = [0x20, 0x3f, 0xe1, 0x1f];

    let mut hand = ByHand::greeted(Settings::server());
    hand.request(1, true, &[]);
    hand.give(&settings);
    hand.server.respond(StreamId(1), &ResponseHead::new(Status::OK), Fin::Last).unwrap();
    let frames = hand.take();
    let block = frames.iter().find(|frame| frame.0 == "HEADERS").unwrap();
    assert!(block.2.starts_with(&signals), "{:x?}", block.2);

    let mut client = client(Settings::client());
    events(&mut client, Instant::ZERO, &settings);
    client.request(Instant::ZERO, &RequestHead::get(Scheme::Http, "a", "/"), Fin::Last).unwrap();
    let mut out = SendBuf::new();
    client.poll_transmit(Instant::ZERO, &mut out, 1 << 20);
    let frames = split(&out.to_vec());
    let block = frames.iter().find(|frame| frame.0 == "HEADERS").unwrap();
    assert!(block.2.starts_with(&signals), "{:x?}", block.2);
}

#[test]
fn a_small_limit_makes_a_small_frame_but_not_a_silly_one() {
    let mut hand = ByHand::greeted(Settings::server());
    hand.request(1, true, &[]);
    hand.server.respond(StreamId(1), &ResponseHead::new(Status::OK), Fin::More).unwrap();
    hand.server.send(StreamId(1), vec![0; 60_000].into(), Fin::Last).unwrap();
    let mut sizes = Vec::new();
    for limit in [200, 5_000, 40_000] {
        let mut out = SendBuf::new();
        hand.server.poll_transmit(hand.now, &mut out, limit);
        sizes.extend(split(&out.to_vec()).into_iter().filter(|f| f.0 == "DATA").map(|f| f.2.len()));
    }
    assert_eq!(sizes[..3], [1024, 4991, 16_384]);
}
