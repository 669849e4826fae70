//! Peers that make work for nothing: each gets ENHANCE_YOUR_CALM, and memory stays bounded.

use super::*;
use crate::{
    ClientConnection, ConnectionState, Fin, RequestHead, ResponseHead, Scheme, ServerConnection,
    Status, StreamId,
};
use std::time::Duration;
use wire::h2::{Dependency, ErrorCode, FrameKind};

const CALM: Option<u32> = Some(ErrorCode::ENHANCE_YOUR_CALM.0);

/// Repeats an act until the server closes; fails where it never does.
fn until_closed(hand: &mut ByHand, most: u32, mut act: impl FnMut(&mut ByHand, u32)) {
    for turn in 0..most {
        act(hand, turn);
        if hand.server.state() == ConnectionState::Closed {
            return;
        }
    }
    panic!("still open after {most} turns");
}

#[test]
fn rapid_reset_ends_the_connection() {
    let mut hand = ByHand::greeted(Settings::server());
    until_closed(&mut hand, 3_000, |hand, turn| {
        let stream = turn * 2 + 1;
        hand.request(stream, true, &[]);
        hand.frame(Frame::ResetStream { stream, code: ErrorCode::CANCEL });
    });
    assert_eq!(hand.goaway(), CALM);
}

#[test]
fn resets_that_the_peer_makes_us_send_end_the_connection() {
    let mut hand = ByHand::greeted(Settings::server());
    until_closed(&mut hand, 3_000, |hand, turn| {
        let stream = turn * 2 + 1;
        hand.request(stream, true, &[]);
        // MadeYouReset: a window update that overflows makes the server reset the stream.
        hand.frame(Frame::WindowUpdate { stream, increment: 0x7fff_ffff });
        hand.take();
    });
}

#[test]
fn resets_of_responses_that_were_made_cost_more() {
    // By the peer, and by us for the peer's fault (MadeYouReset).
    for by_peer in [true, false] {
        let mut hand = ByHand::greeted(Settings::server());
        let mut resets = 0;
        until_closed(&mut hand, 3_000, |hand, turn| {
            let stream = turn * 2 + 1;
            hand.request(stream, true, &[]);
            let id = StreamId(u64::from(stream));
            hand.server.respond(id, &ResponseHead::new(Status::OK), Fin::More).unwrap();
            hand.server.send(id, vec![0; 65_536].into(), Fin::Last).unwrap();
            hand.frame(match by_peer {
                true => Frame::ResetStream { stream, code: ErrorCode::CANCEL },
                false => Frame::WindowUpdate { stream, increment: 0x7fff_ffff },
            });
            resets = turn;
        });
        assert_eq!(resets, 200, "1,000 of 5 each");
        assert_eq!(hand.goaway(), CALM);
    }
}

#[test]
fn a_cancelled_page_now_and_then_is_no_attack() {
    let mut hand = ByHand::greeted(Settings::server());
    for turn in 0..5_000 {
        let stream = turn * 2 + 1;
        hand.request(stream, true, &[]);
        hand.frame(Frame::ResetStream { stream, code: ErrorCode::CANCEL });
        hand.take();
        hand.now += Duration::from_millis(50);
    }
    assert_eq!(hand.server.state(), ConnectionState::Open);
}

#[test]
fn a_continuation_flood_ends_the_connection_within_a_header_list() {
    for fragment in [&[][..], &[b'x'; 16_000]] {
        let mut hand = ByHand::greeted(Settings::server());
        let (dependency, padding) = (None, None);
        let (end_stream, end_headers) = (false, false);
        hand.frame(Frame::Headers {
            stream: 1,
            block: &[],
            end_stream,
            end_headers,
            dependency,
            padding,
        });
        until_closed(&mut hand, 100, |hand, _| {
            hand.frame(Frame::Continuation { stream: 1, block: fragment, end_headers: false });
        });
        assert_eq!(hand.goaway(), CALM);
    }
}

#[test]
fn floods_of_frames_that_want_an_answer_end_the_connection() {
    let mut hand = ByHand::greeted(Settings::server());
    until_closed(&mut hand, 2_000, |hand, _| drop(hand.frame(Frame::Ping([7; 8]))));
    assert_eq!(hand.goaway(), CALM);

    let mut hand = ByHand::greeted(Settings::server());
    until_closed(&mut hand, 2_000, |hand, _| {
        let mut bytes = Vec::new();
        Setting::encode_all(&[], &mut bytes);
        hand.give(&bytes);
    });
    assert_eq!(hand.goaway(), CALM);
}

#[test]
fn floods_of_frames_without_effect_end_the_connection() {
    let dependency = Dependency { parent: 0, exclusive: false, weight: 1 };
    let header = FrameHeader { length: 0, kind: FrameKind(0x77), flags: 0, stream: 0 };
    let empty = Frame::Data { stream: 1, data: &[], end_stream: false, padding: None };
    for frame in [
        empty,
        Frame::Priority { stream: 9, dependency },
        Frame::PriorityUpdate { prioritised: 9, value: b"u=1" },
        Frame::WindowUpdate { stream: 0, increment: 1 },
        Frame::WindowUpdate { stream: 1, increment: 1 },
        Frame::PingAck(*b"unasked!"),
        Frame::Unknown { header, payload: &[] },
    ] {
        let mut hand = ByHand::greeted(Settings::server());
        hand.request(1, false, &[]);
        until_closed(&mut hand, 12_000, |hand, _| drop(hand.frame(frame)));
        assert_eq!(hand.goaway(), CALM, "{frame:?}");
    }
}

#[test]
fn endless_informational_responses_end_the_connection_and_some_for_each_response_do_not() {
    for answers in [false, true] {
        let mut near = client(Settings::client());
        let mut encoder = Encoder::new(4096);
        let mut greeting = Vec::new();
        Setting::encode_all(&[], &mut greeting);
        events(&mut near, Instant::ZERO, &greeting);
        let mut stream = None;
        let closed_at = (0..12_000).find(|_| {
            let (done, head) =
                (answers || stream.is_none(), RequestHead::get(Scheme::Http, "a", "/"));
            if done {
                stream = Some(near.request(Instant::ZERO, &head, Fin::Last).unwrap());
            }
            let mut bytes = Vec::new();
            let statuses: &[(&[u8], bool)] = match answers {
                true => &[(b"103", false), (b"103", false), (b"204", true)],
                false => &[(b"103", false)],
            };
            for (value, end_stream) in statuses {
                let mut block = Vec::new();
                encoder.begin(&mut block);
                encoder.field(Field { name: b":status", value, sensitive: false }, &mut block);
                let frame = Frame::Headers {
                    stream: stream.map_or(0, |stream| stream.0 as u32),
                    block: &block,
                    end_stream: *end_stream,
                    end_headers: true,
                    dependency: None,
                    padding: None,
                };
                frame.encode(&mut bytes);
            }
            events(&mut near, Instant::ZERO, &bytes);
            near.poll_transmit(Instant::ZERO, &mut SendBuf::new(), 1 << 20);
            near.state() == ConnectionState::Closed
        });
        assert_eq!(closed_at, (!answers).then_some(10_000));
    }
}

#[test]
fn a_peer_that_never_reads_cannot_make_the_queue_grow_without_end() {
    let mut settings = Settings::server();
    settings.limits.queued_bytes = 100_000;
    let mut hand = ByHand::greeted(settings);
    let mut head = ResponseHead::new(Status::OK);
    head.fields.push(b"x-long", &[b'v'; 1000]);
    until_closed(&mut hand, 3_000, |hand, turn| {
        hand.request(turn * 2 + 1, true, &[]);
        head.fields.push(b"etag", turn.to_string().as_bytes());
        let stream = StreamId(u64::from(turn * 2 + 1));
        let _ = hand.server.respond(stream, &head, Fin::Last);
    });
    assert!(hand.server.session.queued_bytes() < 200_000);
}

#[test]
fn a_header_bomb_is_answered_with_431_and_never_copied() {
    let mut hand = ByHand::greeted(Settings::server());
    // One entry of 2900 bytes in the table, then 12,000 references to it: 35 MB of header list.
    let mut block = hand.block(&[
        (":method", "GET"),
        (":scheme", "http"),
        (":path", "/"),
        ("x-bomb", &"b".repeat(2900)),
    ]);
    block.extend(std::iter::repeat_n(0x80 | 62, 12_000));
    let (end_stream, end_headers) = (true, true);
    let (dependency, padding) = (None, None);
    let block = &block;
    let seen = hand.frame(Frame::Headers {
        stream: 1,
        block,
        end_stream,
        end_headers,
        dependency,
        padding,
    });
    assert_eq!(seen, [], "the application never hears of it");
    let kinds: Vec<_> = hand.take().into_iter().map(|(kind, ..)| kind).collect();
    assert_eq!(kinds, ["HEADERS", "RST_STREAM"]);
    assert_eq!(hand.request(3, true, &[]).len(), 1, "the compression state is still in step");
}

#[test]
fn streams_above_the_limit_are_refused_and_the_rest_go_on() {
    let mut hand = ByHand::greeted(Settings { max_concurrent_streams: 2, ..Settings::server() });
    assert_eq!(hand.request(1, true, &[]).len(), 1);
    assert_eq!(hand.request(3, true, &[]).len(), 1);
    assert_eq!(hand.request(5, true, &[]), []);
    let refused = ErrorCode::REFUSED_STREAM.0.to_be_bytes().to_vec();
    assert_eq!(hand.take(), [("RST_STREAM", 5, refused)]);
    hand.server.respond(StreamId(1), &ResponseHead::new(Status::OK), Fin::Last).unwrap();
    assert_eq!(hand.request(7, true, &[]).len(), 1);
}

#[test]
fn a_peer_that_gives_no_credit_loses_the_stream_in_the_end() {
    let mut hand = ByHand::greeted(Settings::server());
    let mut zero = Vec::new();
    let (id, value) = (wire::h2::SettingId::INITIAL_WINDOW_SIZE, 0);
    Setting::encode_all(&[Setting { id, value }], &mut zero);
    hand.give(&zero);
    hand.request(1, true, &[]);
    hand.server.respond(StreamId(1), &ResponseHead::new(Status::OK), Fin::More).unwrap();
    hand.server.send(StreamId(1), vec![0; 10_000].into(), Fin::Last).unwrap();
    hand.take();
    let patience = Settings::server().stall_timeout;
    assert_eq!(hand.server.poll_timeout(), Some(hand.now + patience));
    hand.now += patience;
    hand.server.handle_timeout(hand.now);
    let seen = hand.give(&[]);
    assert!(format!("{seen:?}").contains("flow-control credit"), "{seen:?}");
    assert_eq!(hand.take()[0].0, "RST_STREAM");
    assert_eq!(hand.server.unsent(StreamId(1)), 0);
}

#[test]
fn credit_in_driblets_ends_the_connection() {
    let mut hand = ByHand::greeted(Settings::server());
    let mut zero = Vec::new();
    let (id, value) = (wire::h2::SettingId::INITIAL_WINDOW_SIZE, 0);
    Setting::encode_all(&[Setting { id, value }], &mut zero);
    hand.give(&zero);
    hand.request(1, true, &[]);
    hand.server.respond(StreamId(1), &ResponseHead::new(Status::OK), Fin::More).unwrap();
    hand.server.send(StreamId(1), vec![0; 50_000].into(), Fin::Last).unwrap();
    until_closed(&mut hand, 12_000, |hand, _| {
        hand.frame(Frame::WindowUpdate { stream: 1, increment: 1 });
        hand.take();
    });
}

#[test]
fn copying_long_names_over_and_over_ends_the_connection() {
    let mut hand = ByHand::greeted(Settings::server());
    let mut block = hand.block(&[(":method", "GET"), (&"n".repeat(2900), "v")]);
    // Literals that take their name from the newest entry and are not indexed.
    block.extend([0x0f, 62 - 15, 0].repeat(4_000));
    let (dependency, padding, end_stream, end_headers) = (None, None, true, true);
    let block = &block;
    hand.frame(Frame::Headers { stream: 1, block, end_stream, end_headers, dependency, padding });
    assert_eq!(hand.goaway(), CALM);
}
