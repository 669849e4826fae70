//! What a peer may keep us waiting for.

use super::hand::{ByHand, GET, coded, section};
use super::*;
use std::time::Duration;
use wire::h3::{ErrorCode, Frame, FrameHeader, FrameKind, StreamType};

fn at(seconds: u64) -> Instant {
    NOW + Duration::from_secs(seconds)
}

/// Lets time pass until nothing is waited for before `until`.
fn pass(hand: &mut ByHand, until: Instant) {
    while let Some(due) = hand.server.poll_timeout().filter(|&due| due <= until) {
        hand.server.handle_timeout(due);
    }
    let events: Vec<Owned> =
        std::iter::from_fn(|| hand.server.poll_event(until).map(owned)).collect();
    hand.events.extend(events);
}

/// A server that has answered the request of stream 0 with this many bytes.
fn answering(bytes: usize) -> ByHand {
    let mut hand = ByHand::greeted(Settings::server());
    hand.frames(0, &[Frame::Headers(&section(&GET))], Fin::Last);
    let (stream, head) = (StreamId(0), ResponseHead::new(Status::OK));
    hand.server.respond(stream, &head, Fin::More).unwrap();
    hand.server.send(stream, vec![7; bytes].into(), Fin::Last).unwrap();
    hand
}

fn send(hand: &mut ByHand, now: Instant, limit: usize) -> Option<u64> {
    let sent = hand.server.poll_stream_transmit(now, &mut SendBuf::new(), limit);
    sent.map(|sent| sent.stream.0)
}

#[test]
fn settings_that_do_not_come_end_the_connection() {
    let mut hand = ByHand::new(Settings::server());
    pass(&mut hand, at(59));
    assert_eq!(hand.closed_with(), None);
    pass(&mut hand, at(60));
    assert_eq!(hand.closed_with(), Some(ErrorCode::MISSING_SETTINGS));
}

#[test]
fn a_connection_without_work_waits_for_nothing() {
    let mut hand = ByHand::greeted(Settings::server());
    assert_eq!(hand.server.poll_timeout(), None);
    hand.frames(0, &[Frame::Headers(&section(&GET))], Fin::Last);
    assert_eq!(hand.server.poll_timeout(), None);
}

#[test]
fn a_head_that_drips_is_given_up_and_its_neighbours_are_not() {
    let mut hand = ByHand::greeted(Settings::server());
    let head = coded(&[Frame::Headers(&section(&GET))]);
    for (second, byte) in head[..head.len() - 1].iter().enumerate() {
        let mut input = &[*byte][..];
        let now = at(second as u64);
        let event = hand.server.handle_stream(now, StreamId(0), &mut input, Fin::More);
        assert_eq!(event, None);
    }
    hand.frames(4, &[Frame::Headers(&section(&GET))], Fin::Last);
    pass(&mut hand, at(61));
    assert_eq!(hand.reset_with(0), Some(ErrorCode::REQUEST_INCOMPLETE));
    assert!(matches!(hand.events[..], [Owned::Request(4, ..)]), "{:?}", hand.events);
}

#[test]
fn frames_before_a_head_do_not_extend_its_time() {
    let mut hand = ByHand::greeted(Settings::server());
    let ignored = FrameHeader { kind: FrameKind(0x21), length: 1 << 30 };
    let mut bytes = Vec::new();
    ignored.encode(&mut bytes);
    hand.bytes(0, &bytes, Fin::More);
    for second in 0..60 {
        let mut input = &[0; 100][..];
        hand.server.handle_stream(at(second), StreamId(0), &mut input, Fin::More);
    }
    pass(&mut hand, at(60));
    assert_eq!(hand.reset_with(0), Some(ErrorCode::REQUEST_INCOMPLETE));
}

#[test]
fn a_section_that_waits_for_the_table_for_ever_is_given_up() {
    let mut hand = ByHand::greeted(Settings::server());
    hand.typed(6, StreamType::QPACK_ENCODER, &[]);
    // Required insert count 1, of a table that stays empty.
    hand.frames(0, &[Frame::Headers(&[2, 0, 0x80])], Fin::Last);
    pass(&mut hand, at(60));
    assert_eq!(hand.reset_with(0), Some(ErrorCode::REQUEST_INCOMPLETE));
    assert_eq!(hand.server.poll_timeout(), None);
}

#[test]
fn a_response_without_credit_is_given_up() {
    let mut hand = answering(1_000_000);
    while send(&mut hand, NOW, 1000) != Some(0) {}
    hand.server.handle_stream_blocked(StreamId(0));
    pass(&mut hand, at(59));
    assert_eq!(hand.reset_with(0), None);
    pass(&mut hand, at(60));
    assert_eq!(hand.reset_with(0), Some(ErrorCode::REQUEST_CANCELLED));
    let timed_out = Error::TimedOut { waiting_for: "flow-control credit" };
    assert_eq!(hand.events.last(), Some(&Owned::Reset(0, timed_out)));
}

#[test]
fn a_byte_of_credit_now_and_then_is_no_progress() {
    let mut hand = answering(1_000_000);
    for second in 0..60 {
        while send(&mut hand, at(second), 100) != Some(0) {}
        hand.server.handle_stream_blocked(StreamId(0));
        hand.server.handle_stream_writable(StreamId(0));
    }
    pass(&mut hand, at(60));
    assert_eq!(hand.reset_with(0), Some(ErrorCode::REQUEST_CANCELLED));
}

#[test]
fn a_stream_with_credit_that_waits_for_urgent_ones_is_not_stalled() {
    let mut hand = answering(1_000_000);
    while send(&mut hand, NOW, 1000) != Some(0) {}
    hand.server.handle_stream_blocked(StreamId(0));
    let urgent = section(&[&GET[..], &[("priority", "u=0")]].concat());
    hand.frames(4, &[Frame::Headers(&urgent)], Fin::Last);
    hand.server.respond(StreamId(4), &ResponseHead::new(Status::OK), Fin::More).unwrap();
    hand.server.send(StreamId(4), vec![7; 1_000_000].into(), Fin::Last).unwrap();
    // It has no credit for five seconds, and then no turn.
    hand.server.handle_stream_writable(StreamId(0));
    pass(&mut hand, at(5));
    for second in 6..100 {
        assert_eq!(send(&mut hand, at(second), 2000), Some(4));
        pass(&mut hand, at(second));
    }
    let is_reset = |action| matches!(action, StreamAction::Reset { .. });
    assert!(!std::iter::from_fn(|| hand.server.poll_stream_action()).any(is_reset));
    hand.server.reset(at(100), StreamId(4));
    assert_eq!(send(&mut hand, at(100), 1000), Some(0));
    hand.server.handle_stream_blocked(StreamId(0));
    assert_eq!(hand.reset_with(0), None);
    // 1000 bytes were no progress: the five seconds count.
    pass(&mut hand, at(154));
    assert_eq!(hand.reset_with(0), None);
    pass(&mut hand, at(155));
    assert_eq!(hand.reset_with(0), Some(ErrorCode::REQUEST_CANCELLED));
}

#[test]
fn a_slow_reader_that_gets_on_keeps_its_response() {
    let mut hand = answering(10_000_000);
    for second in 0..600 {
        while send(&mut hand, at(second), 1000) != Some(0) {}
        hand.server.handle_stream_blocked(StreamId(0));
        pass(&mut hand, at(second));
        hand.server.handle_stream_writable(StreamId(0));
    }
    assert_eq!(hand.reset_with(0), None);
    assert!(matches!(hand.events[..], [Owned::Request(0, ..), ..]));
}

#[test]
fn last_bytes_that_the_transport_cannot_send_are_given_up() {
    let mut hand = answering(1000);
    while send(&mut hand, NOW, 10_000) != Some(0) {}
    hand.server.handle_stream_blocked(StreamId(0));
    pass(&mut hand, at(60));
    assert_eq!(hand.reset_with(0), Some(ErrorCode::REQUEST_CANCELLED));

    let mut hand = answering(1000);
    while send(&mut hand, NOW, 10_000) != Some(0) {}
    hand.server.handle_stream_blocked(StreamId(0));
    hand.server.handle_stream_writable(StreamId(0));
    pass(&mut hand, at(60));
    assert_eq!(hand.reset_with(0), None);
}

#[test]
fn a_peer_that_acknowledges_nothing_is_given_up() {
    let mut hand = answering(1_000_000);
    while send(&mut hand, NOW, 1000) != Some(0) {}
    // The congestion window is full: the machine is not asked again.
    pass(&mut hand, at(60));
    assert_eq!(hand.closed_with(), Some(ErrorCode::EXCESSIVE_LOAD));
    let timed_out = Error::TimedOut { waiting_for: "flow-control credit" };
    assert_eq!(hand.events.last(), Some(&Owned::Closed(Some(timed_out))));
}

#[test]
fn a_drained_server_refuses_only_what_comes_after_its_second_goaway() {
    let mut hand = ByHand::greeted(Settings::server());
    hand.server.shutdown(NOW);
    hand.frames(0, &[Frame::Headers(&section(&GET))], Fin::Last);
    assert!(matches!(hand.events[..], [Owned::Request(0, ..)]), "{:?}", hand.events);
    pass(&mut hand, at(1));
    hand.frames(4, &[Frame::Headers(&section(&GET))], Fin::Last);
    assert_eq!(hand.reset_with(4), Some(ErrorCode::REQUEST_REJECTED));
    assert_eq!(hand.events.len(), 1, "{:?}", hand.events);
    hand.server.respond(StreamId(0), &ResponseHead::new(Status::OK), Fin::Last).unwrap();
    assert_eq!(hand.closed_with(), Some(ErrorCode::NO_ERROR));
}

#[test]
fn a_client_that_goes_away_is_still_served_what_it_has_asked_for() {
    let mut hand = ByHand::greeted(Settings::server());
    hand.bytes(2, &coded(&[Frame::GoAway { id: 0 }]), Fin::More);
    assert_eq!(hand.closed_with(), None);
    assert_eq!(hand.server.state(), ConnectionState::Draining);
    // Sent before the GOAWAY, and overtaken by it.
    hand.frames(0, &[Frame::Headers(&section(&GET))], Fin::Last);
    assert!(
        matches!(hand.events[..], [Owned::Draining(None), Owned::Request(0, ..)]),
        "{:?}",
        hand.events
    );
    hand.server.respond(StreamId(0), &ResponseHead::new(Status::OK), Fin::Last).unwrap();
    assert_eq!(hand.closed_with(), None);
    pass(&mut hand, at(1));
    assert_eq!(hand.closed_with(), Some(ErrorCode::NO_ERROR));
    assert_eq!(
        (hand.events.last(), hand.server.poll_timeout()),
        (Some(&Owned::Closed(None)), None)
    );
}
