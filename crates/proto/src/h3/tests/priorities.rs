//! What a client says of a request's rank before the request is there (RFC 9218 §7).

use super::hand::{ByHand, GET, coded, section};
use super::*;
use wire::h3::{Frame, StreamType};

fn update(stream: u64) -> Vec<u8> {
    coded(&[Frame::PriorityUpdate { stream, value: b"u=0" }])
}

fn request() -> Vec<u8> {
    coded(&[Frame::Headers(&section(&GET))])
}

/// Answers the requests of streams 0 and 4, and gives the one whose bytes go first.
fn first_of(hand: &mut ByHand) -> u64 {
    for id in [0, 4] {
        hand.server.respond(StreamId(id), &ResponseHead::new(Status::OK), Fin::More).unwrap();
        hand.server.send(StreamId(id), vec![0; 10_000].into(), Fin::Last).unwrap();
    }
    std::iter::from_fn(|| hand.server.poll_stream_transmit(NOW, &mut SendBuf::new(), 1000))
        .map(|sent| sent.stream.0)
        .find(|id| id % 4 == 0)
        .unwrap()
}

#[test]
fn a_priority_update_amid_a_head_ranks_the_response() {
    for cut in [1, 5, request().len() - 1] {
        let mut hand = ByHand::greeted(Settings::server());
        hand.bytes(0, &request(), Fin::Last);
        let head = request();
        let (begun, rest) = head.split_at(cut);
        hand.bytes(4, begun, Fin::More).bytes(2, &update(4), Fin::More);
        hand.bytes(4, rest, Fin::Last);
        assert_eq!(first_of(&mut hand), 4, "{cut}");
    }
}

#[test]
fn a_priority_update_behind_a_blocked_head_ranks_the_response() {
    let mut hand = ByHand::greeted(Settings::server());
    hand.bytes(0, &request(), Fin::Last);
    let mut blocked = section(&GET);
    (blocked[0], blocked[1]) = (2, 0);
    blocked.push(0x80);
    hand.frames(4, &[Frame::Headers(&blocked)], Fin::Last).bytes(2, &update(4), Fin::More);
    // The capacity, and `x: y`.
    let entry = [0x3f, 0xbd, 0x01, 0x41, b'x', 0x01, b'y'];
    hand.typed(6, StreamType::QPACK_ENCODER, &entry);
    assert_eq!(first_of(&mut hand), 4);
}

/// RFC 9218 §7: the frame goes before the field, wherever it overtakes it.
#[test]
fn a_priority_update_amid_a_head_goes_before_its_field() {
    let mut hand = ByHand::greeted(Settings::server());
    hand.bytes(0, &request(), Fin::Last);
    let head = coded(&[Frame::Headers(&section(&[&GET[..], &[("priority", "u=7")]].concat()))]);
    hand.bytes(4, &head[..9], Fin::More).bytes(2, &update(4), Fin::More);
    hand.bytes(4, &head[9..], Fin::Last);
    assert_eq!(first_of(&mut hand), 4);
}

#[test]
fn a_request_that_does_not_come_leaves_nothing_of_its_priority() {
    let code = wire::h3::ErrorCode::REQUEST_CANCELLED.0;
    let ends: [fn(&mut ByHand, u64); 4] = [
        |hand, code| hand.server.handle_stream_reset(NOW, StreamId(4), code),
        |hand, code| hand.server.handle_stop_sending(NOW, StreamId(4), code),
        |hand, code| {
            hand.bytes(4, &request()[..5], Fin::More);
            hand.server.handle_stream_reset(NOW, StreamId(4), code);
        },
        // Refused: it comes after the last GOAWAY.
        |hand, _| {
            hand.server.shutdown(NOW);
            let due = hand.server.poll_timeout().unwrap();
            hand.server.handle_timeout(due);
            hand.bytes(4, &request(), Fin::Last);
        },
    ];
    for (number, end) in ends.iter().enumerate() {
        let mut hand = ByHand::greeted(Settings::server());
        hand.bytes(0, &request(), Fin::Last).bytes(2, &update(4), Fin::More);
        assert_eq!(hand.server.priorities_kept(), 1);
        end(&mut hand, code);
        assert_eq!(hand.server.priorities_kept(), 0, "{number}");
    }
}

#[test]
fn a_priority_of_another_request_does_not_keep_a_small_response_from_its_release() {
    let mut hand = ByHand::greeted(Settings::server());
    hand.bytes(2, &update(400), Fin::More).bytes(0, &request(), Fin::Last);
    hand.server.respond(StreamId(0), &ResponseHead::new(Status::OK), Fin::Last).unwrap();
    assert!(hand.server.release(StreamId(0)));
    // One that the client has ranked goes by its rank.
    hand.actions();
    hand.bytes(2, &update(4), Fin::More).bytes(4, &request(), Fin::Last);
    hand.server.respond(StreamId(4), &ResponseHead::new(Status::OK), Fin::Last).unwrap();
    assert!(!hand.server.release(StreamId(4)));
}
