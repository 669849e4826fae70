//! What a peer can make a server hold or do for nothing.

use super::hand::{ByHand, GET, coded, section};
use super::*;
use crate::h3::Limits;
use crate::multiplexed_connection::StreamAction;
use wire::h3::{ErrorCode, Frame, StreamType};

/// The streams that a flood got through before the connection was closed, and the code of that.
fn flood(hand: &mut ByHand, mut attack: impl FnMut(&mut ByHand, u64)) -> (u64, ErrorCode) {
    for number in 0..100_000 {
        attack(hand, 4 * number);
        if let Some(code) = hand.closed_with() {
            return (number, code);
        }
    }
    panic!("a flood that is not stopped");
}

fn request() -> Vec<u8> {
    coded(&[Frame::Headers(&section(&GET))])
}

#[test]
fn requests_that_are_reset_at_once_end_the_connection() {
    let mut hand = ByHand::greeted(Settings::server());
    let (streams, code) = flood(&mut hand, |hand, id| {
        hand.bytes(id, &request(), Fin::More);
        hand.server.handle_stream_reset(NOW, StreamId(id), ErrorCode::REQUEST_CANCELLED.0);
    });
    assert_eq!((streams, code), (1000, ErrorCode::EXCESSIVE_LOAD));
}

#[test]
fn resets_of_responses_that_were_made_cost_more() {
    let mut hand = ByHand::greeted(Settings::server());
    let (streams, code) = flood(&mut hand, |hand, id| {
        hand.bytes(id, &request(), Fin::Last);
        let stream = StreamId(id);
        hand.server.respond(stream, &ResponseHead::new(Status::OK), Fin::More).unwrap();
        hand.server.send(stream, vec![0; 65_536].into(), Fin::Last).unwrap();
        hand.server.handle_stop_sending(NOW, stream, ErrorCode::REQUEST_CANCELLED.0);
    });
    assert_eq!((streams, code), (200, ErrorCode::EXCESSIVE_LOAD));
}

#[test]
fn priorities_of_requests_that_never_come_end_the_connection() {
    let mut hand = ByHand::greeted(Settings::server());
    let (updates, code) = flood(&mut hand, |hand, id| {
        let update = Frame::PriorityUpdate { stream: id, value: b"u=1" };
        hand.bytes(2, &coded(&[update]), Fin::More);
    });
    assert!(updates > 1_000, "a browser that says much is served: {updates}");
    assert_eq!(code, ErrorCode::EXCESSIVE_LOAD);
}

#[test]
fn streams_given_up_before_their_first_byte_are_counted_and_stay_given_up() {
    for stop in [false, true] {
        let mut hand = ByHand::greeted(Settings::server());
        let (streams, code) = flood(&mut hand, |hand, id| {
            let (stream, code) = (StreamId(id), ErrorCode::REQUEST_CANCELLED.0);
            match stop {
                true => hand.server.handle_stop_sending(NOW, stream, code),
                false => hand.server.handle_stream_reset(NOW, stream, code),
            }
            hand.bytes(id, &request(), Fin::Last);
        });
        assert_eq!((streams, code), (1000, ErrorCode::EXCESSIVE_LOAD));
        let requests = hand.events.iter().any(|event| matches!(event, Owned::Request(..)));
        assert!(!requests, "bytes after the end of their stream are ignored");
    }
}

#[test]
fn a_reset_that_overtakes_an_older_request_does_not_void_it() {
    let mut hand = ByHand::greeted(Settings::server());
    hand.server.handle_stream_reset(NOW, StreamId(8), ErrorCode::REQUEST_CANCELLED.0);
    hand.bytes(4, &request(), Fin::Last).bytes(0, &request(), Fin::Last);
    assert!(
        matches!(hand.events[..], [Owned::Request(4, ..), Owned::Request(0, ..)]),
        "{:?}",
        hand.events
    );
}

#[test]
fn requests_after_the_last_goaway_are_counted() {
    let mut hand = ByHand::greeted(Settings::server());
    hand.bytes(0, &request(), Fin::Last);
    hand.server.shutdown(NOW);
    let due = hand.server.poll_timeout().unwrap();
    hand.server.handle_timeout(due);
    let (streams, code) = flood(&mut hand, |hand, id| {
        hand.bytes(id + 4, &request(), Fin::Last);
    });
    assert_eq!((streams, code), (1000, ErrorCode::EXCESSIVE_LOAD));
}

#[test]
fn a_peer_that_does_not_read_our_decoder_stream_is_told_to_go() {
    let limits = Limits { queued_bytes: 64, ..Limits::default() };
    let mut hand = ByHand::greeted(Settings { limits, ..Settings::server() });
    hand.actions();
    hand.server.handle_stream_blocked(StreamId(11));
    let (streams, code) = flood(&mut hand, |hand, id| {
        // Stream cancellations (RFC 9204 §4.4.2) for the decoder stream.
        hand.bytes(id, &request()[..5], Fin::More);
        hand.server.handle_stream_reset(NOW, StreamId(id), ErrorCode::REQUEST_CANCELLED.0);
    });
    assert_eq!(code, ErrorCode::EXCESSIVE_LOAD);
    assert!(streams <= 65, "{streams}");
}

#[test]
fn streams_that_wait_for_the_table_are_bounded_and_leave_nothing_behind() {
    let settings = Settings::server();
    let most = settings.qpack_blocked_streams as u64;
    let mut hand = ByHand::greeted(settings);
    hand.typed(6, StreamType::QPACK_ENCODER, &[]);
    let blocked = coded(&[Frame::Headers(&[2, 0, 0x80])]);
    // Those that are given up make place for others.
    for id in 0..3 * most {
        hand.bytes(4 * id, &blocked, Fin::Last);
        hand.server.handle_stop_sending(NOW, StreamId(4 * id), ErrorCode::REQUEST_CANCELLED.0);
    }
    assert_eq!(hand.closed_with(), None);
    for id in 3 * most..4 * most {
        hand.bytes(4 * id, &blocked, Fin::Last);
    }
    assert_eq!(hand.closed_with(), None);
    hand.bytes(16 * most, &blocked, Fin::Last);
    assert_eq!(hand.closed_with(), Some(ErrorCode::QPACK_DECOMPRESSION_FAILED));
}

#[test]
fn a_peer_that_closes_our_critical_stream_is_told_to_go() {
    for stream in [3, 7, 11] {
        let mut hand = ByHand::greeted(Settings::server());
        hand.server.handle_stop_sending(NOW, StreamId(stream), 0);
        let closed = |action: StreamAction| match action {
            StreamAction::Close { code, .. } => Some(ErrorCode(code)),
            _ => None,
        };
        let code = hand.actions().into_iter().find_map(closed);
        assert_eq!(code, Some(ErrorCode::CLOSED_CRITICAL_STREAM));
    }
}
