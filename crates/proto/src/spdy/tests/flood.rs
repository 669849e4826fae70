//! Peers that make work for nothing: the session ends, and memory stays bounded.

use super::*;
use crate::{ConnectionState, Fin, ResponseHead, ServerConnection, Status, StreamId};
use bytes::Bytes;
use std::time::Duration;

/// Repeats an act until the server closes; fails where it never does.
fn until_closed(mut act: impl FnMut(&mut ByHand<Server>, u32)) -> ByHand<Server> {
    let mut hand = server(Settings::server(Version::V3_1));
    for turn in 0..30_000 {
        act(&mut hand, turn);
        if hand.subject.state() == ConnectionState::Closed {
            return hand;
        }
    }
    panic!("still open");
}

#[test]
fn rapid_reset_ends_the_session() {
    until_closed(|hand, turn| {
        let stream = turn * 2 + 1;
        hand.request(stream, true, &[]);
        hand.frame(Frame::ResetStream { stream, code: ResetCode::CANCEL });
    });
}

#[test]
fn resets_that_the_peer_makes_us_send_end_the_session() {
    until_closed(|hand, turn| {
        let stream = turn * 2 + 1;
        hand.request(stream, true, &[]);
        hand.frame(Frame::WindowUpdate { stream, increment: 0x7fff_ffff });
        hand.take();
    });
}

#[test]
fn resets_of_responses_that_were_made_cost_more() {
    // By the peer, and by us for the peer's fault.
    for by_peer in [true, false] {
        let mut resets = 0;
        until_closed(|hand, turn| {
            let stream = turn * 2 + 1;
            hand.request(stream, true, &[]);
            let id = StreamId(u64::from(stream));
            hand.subject.respond(id, &ResponseHead::new(Status::OK), Fin::More).unwrap();
            hand.subject.send(id, Bytes::from(vec![0; 65_536]), Fin::Last).unwrap();
            hand.frame(match by_peer {
                true => Frame::ResetStream { stream, code: ResetCode::CANCEL },
                false => Frame::WindowUpdate { stream, increment: 0x7fff_ffff },
            });
            resets = turn;
        });
        assert_eq!(resets, 200, "1,000 of 5 each");
    }
}

#[test]
fn requests_that_are_refused_without_end_end_the_session() {
    until_closed(|hand, turn| {
        hand.syn(turn * 2 + 1, true, &REQUEST[1..]);
        hand.take();
    });
}

#[test]
fn floods_of_pings_settings_and_empty_frames_end_the_session() {
    until_closed(|hand, _| {
        hand.frame(Frame::Ping(1));
        hand.take();
    });
    until_closed(|hand, _| {
        hand.give(&[0x80, 3, 0, 4, 0, 0, 0, 4, 0, 0, 0, 0]);
    });
    until_closed(|hand, turn| {
        if turn == 0 {
            hand.request(1, false, &[]);
        }
        hand.data(1, b"", false);
    });
    until_closed(|hand, _| {
        hand.give(&[0x80, 3, 0, 99, 0, 0, 0, 0]);
    });
    until_closed(|hand, turn| {
        if turn == 0 {
            hand.request(1, false, &[]);
        }
        hand.headers(1, false, &[]);
    });
}

#[test]
fn a_peer_that_does_not_read_its_pongs_is_bounded() {
    let limits = crate::spdy::Limits {
        replies: crate::Allowance { burst: u32::MAX, per_second: 1000 },
        queued_bytes: 10_000,
        ..Default::default()
    };
    let mut hand = server(Settings { limits, ..Settings::server(Version::V3_1) });
    for _ in 0..2_000 {
        hand.frame(Frame::Ping(1));
    }
    assert_eq!(hand.subject.state(), ConnectionState::Closed);
    assert!(hand.subject.session.queued_bytes() < 11_000);
}

#[test]
fn a_control_frame_without_end_ends_the_session_before_it_is_gathered() {
    let mut hand = server(Settings::server(Version::V3_1));
    hand.give(&[0x80, 3, 0, 1, 0, 0xff, 0xff, 0xff]);
    assert_eq!(hand.goaway(), Some((0, 1)));
}

#[test]
fn a_control_frame_that_never_becomes_whole_is_given_up() {
    let mut hand = server(Settings::server(Version::V3_1));
    hand.give(&[0x80, 3, 0, 1, 0, 0, 0, 99, 0]);
    hand.now = hand.subject.poll_timeout().unwrap();
    hand.subject.handle_timeout(hand.now);
    let seen = hand.give(&[]);
    assert!(format!("{seen:?}").contains("the end of a control frame"), "{seen:?}");
}

#[test]
fn a_head_over_the_limit_is_answered_with_431_and_the_session_goes_on() {
    let limits = Settings { max_header_list_size: 1000, ..Settings::server(Version::V3_1) };
    let mut hand = server(limits);
    let long = "x".repeat(2000);
    assert_eq!(hand.request(1, true, &[("long", &long)]), []);
    assert_eq!(hand.take()[0].0, "SYN_REPLY");
    assert_eq!(hand.request(3, true, &[]).len(), 1);
}

#[test]
fn a_header_bomb_ends_the_session() {
    let mut hand = server(Settings::server(Version::V3_1));
    let bomb = "\u{1}".repeat(16 << 20);
    hand.request(1, true, &[("bomb", &bomb)]);
    assert_eq!(hand.goaway(), Some((1, 1)));
}

#[test]
fn trailers_without_end_end_their_stream_and_are_dropped() {
    let settings = Settings { max_header_list_size: 10_000, ..Settings::server(Version::V3_1) };
    let mut hand = server(settings);
    hand.request(1, false, &[]);
    let piece = "x".repeat(900);
    for turn in 0..11 {
        assert_eq!(hand.resets(), [], "after {turn}");
        hand.headers(1, false, &[(&format!("x-{turn}"), &piece)]);
    }
    assert_eq!(hand.resets(), [(1, ResetCode::FRAME_TOO_LARGE)]);
    assert!(hand.subject.session.framing.late.is_empty());
    assert_eq!(hand.subject.state(), ConnectionState::Open);
}

#[test]
fn what_breaks_the_session_does_so_a_byte_at_a_time_too() {
    let bomb = "\u{1}".repeat(4 << 20);
    let hand = || server(Settings::server(Version::V3_1));
    let mut scribe = hand();
    scribe.request(1, true, &[("bomb", &bomb)]);
    let bomb = std::mem::take(&mut scribe.sent);
    let mut noise = vec![0x80, 3, 0, 1, 1, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    noise.extend(*b"no header\n");
    for (bytes, last) in [
        (bomb, 1),
        (noise, 1),
        (vec![0x80, 3, 0, 1, 0, 0xff, 0xff, 0xff], 0),
        (vec![0x80, 3, 0, 8, 0, 1, 0, 1], 0),
        (vec![0, 0, 0, 0, 0, 0xff, 0xff, 0xff], 0),
        (vec![0x80, 3, 0, 6, 0, 0, 0, 5, 0, 0, 0, 1, 0], 0),
    ] {
        let mut hand = hand();
        for byte in bytes.chunks(1) {
            hand.give(byte);
        }
        assert_eq!(hand.goaway(), Some((last, 1)), "{bytes:x?}");
        assert_eq!(hand.subject.state(), ConnectionState::Closed);
    }
}

#[test]
fn a_body_that_gets_no_credit_is_given_up_in_time() {
    let mut hand = server(Settings::server(Version::V3_1));
    hand.request(1, true, &[]);
    hand.subject.respond(StreamId(1), &ResponseHead::new(Status::OK), Fin::More).unwrap();
    hand.subject.send(StreamId(1), Bytes::from(vec![0; 100_000]), Fin::Last).unwrap();
    hand.take();
    hand.now += Duration::from_secs(61);
    hand.subject.handle_timeout(hand.now);
    let seen = hand.give(&[]);
    assert!(format!("{seen:?}").contains("flow-control credit"), "{seen:?}");
}
