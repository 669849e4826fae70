//! The peer's unidirectional streams, and what is said on ours.

use super::hand::{ByHand, GET, coded, section};
use super::*;
use wire::h3::{ErrorCode, Frame, StreamType};

/// A type that stands for nothing.
const UNKNOWN: StreamType = StreamType(0x21);

/// Streams that a client opens over a long life.
const MANY: u64 = 500;

#[test]
fn streams_of_unknown_types_are_no_error_however_many_come_one_after_another() {
    let ends: [fn(&mut ByHand, u64); 3] = [
        |hand, id| hand.server.handle_stream_reset(NOW, StreamId(id), 0),
        |hand, id| {
            hand.bytes(id, b"", Fin::Last);
        },
        // Its end is not told: reading was abandoned.
        |_, _| {},
    ];
    for (number, end) in ends.iter().enumerate() {
        let mut hand = ByHand::greeted(Settings::server());
        for id in (14..).step_by(4).take(MANY as usize) {
            hand.typed(id, UNKNOWN, b"anything");
            end(&mut hand, id);
        }
        assert_eq!(hand.closed_with(), None, "{number}");
        hand.frames(0, &[Frame::Headers(&section(&GET))], Fin::Last);
        assert!(matches!(hand.events[..], [Owned::Request(0, ..)]), "{:?}", hand.events);
    }
}

#[test]
fn later_pieces_of_a_stream_of_an_unknown_type_are_no_new_stream() {
    let mut hand = ByHand::greeted(Settings::server());
    // As many as the transport has open at a time. Their bytes would be types of critical streams, and of pushes.
    let open = [14, 18, 22, 26, 30, 34, 38, 42];
    for id in open {
        hand.typed(id, UNKNOWN, b"");
    }
    for id in open {
        hand.bytes(id, &[0, 1, 2, 3], Fin::More).bytes(id, &[1], Fin::More).bytes(
            id,
            &[1],
            Fin::Last,
        );
    }
    assert_eq!(hand.closed_with(), None);
}

#[test]
fn streams_that_never_say_their_type_end_the_connection() {
    let mut hand = ByHand::greeted(Settings::server());
    for id in (14..).step_by(4).take(MANY as usize) {
        // The first byte of two.
        hand.bytes(id, &[0x40], Fin::More);
    }
    assert_eq!(hand.closed_with(), Some(ErrorCode::EXCESSIVE_LOAD));
}

#[test]
fn max_push_id_grows_or_stays() {
    let code = |ids: &[u64]| {
        let mut hand = ByHand::greeted(Settings::server());
        let frames: Vec<_> = ids.iter().map(|&push| Frame::MaxPushId { push }).collect();
        hand.bytes(2, &coded(&frames), Fin::More).closed_with()
    };
    assert_eq!(code(&[0, 8, 8, 9]), None);
    assert_eq!(code(&[8, 7]), Some(ErrorCode::ID_ERROR));
}

/// What the server says on its decoder stream from now on.
fn decoder_stream(hand: &mut ByHand) -> Vec<u8> {
    let mut said = Vec::new();
    let mut out = SendBuf::new();
    while let Some(sent) = hand.server.poll_stream_transmit(NOW, &mut out, 1 << 16) {
        let bytes: Vec<u8> = std::iter::from_fn(|| out.take_piece()).flatten().collect();
        if sent.stream == StreamId(11) {
            said.extend(bytes);
        }
    }
    said
}

/// RFC 9204 §2.2.2.2: else the client never evicts what the request refers to.
#[test]
fn a_request_after_the_last_goaway_is_cancelled_for_qpack_too() {
    let mut hand = ByHand::greeted(Settings::server());
    hand.frames(0, &[Frame::Headers(&section(&GET))], Fin::Last);
    hand.server.shutdown(NOW);
    let due = hand.server.poll_timeout().unwrap();
    hand.server.handle_timeout(due);
    decoder_stream(&mut hand);
    hand.frames(4, &[Frame::Headers(&[2, 0, 0x80])], Fin::Last);
    assert_eq!(decoder_stream(&mut hand), [0x44]);
    assert_eq!(hand.reset_with(4), Some(ErrorCode::REQUEST_REJECTED));
}

#[test]
fn the_trailers_behind_a_head_that_is_too_large_are_cancelled_for_qpack() {
    for (fin, cancelled) in [(Fin::More, &[0x40][..]), (Fin::Last, &[])] {
        let settings = Settings { max_field_section_size: 200, ..Settings::server() };
        let mut hand = ByHand::greeted(settings);
        decoder_stream(&mut hand);
        let large = section(&[&GET[..], &[("x", "a value of some length")]].concat());
        hand.frames(0, &[Frame::Headers(&large)], fin);
        assert_eq!(decoder_stream(&mut hand), cancelled, "{fin:?}");
        assert_eq!(hand.closed_with(), None);
    }
}
