//! The end: by either side, in time and not.

use super::*;
use crate::ws::{CloseCode, CloseFrame, MessageKind};
use crate::{ConnectionState, Error, Misuse};
use bytes::Bytes;
use std::time::Duration;

fn closed() -> Event {
    Event::Closed { error: None }
}

fn normal(reason: &str) -> Event {
    Event::Close { frame: Some(CloseFrame { code: CloseCode::NORMAL, reason: reason.to_owned() }) }
}

#[test]
fn a_close_by_the_client_is_answered_and_the_server_ends_the_stream_first() {
    let (mut client, mut server) = (client(), server());
    client.send(MessageKind::Text, "last".into()).unwrap();
    client.close(CloseCode::NORMAL, "done").unwrap();
    let events = hear(&mut server, &say(&mut client));
    assert_eq!(events[1..], [normal("done"), closed()]);
    assert!(!server.wants_end(), "its Close is still owed");
    let answer = say(&mut server);
    assert_eq!(close_code(&answer), Some(1000));
    assert!(server.wants_end());
    assert_eq!(hear(&mut client, &answer), [normal("")]);
    assert_eq!((client.state(), client.wants_end()), (ConnectionState::Draining, false));
    client.handle_eof(NOW);
    assert_eq!(hear(&mut client, b""), [closed()]);
    assert!(client.wants_end());
}

#[test]
fn a_close_by_the_server_is_answered_by_the_client_after_what_it_still_sends() {
    let (mut client, mut server) = (client(), server());
    server.close(CloseCode::GOING_AWAY, "").unwrap();
    client.send(MessageKind::Text, "on its way".into()).unwrap();
    let bytes = say(&mut server);
    assert!(matches!(hear(&mut client, &bytes)[..], [Event::Close { .. }]));
    let events = hear(&mut server, &say(&mut client));
    assert!(matches!(
        events[..],
        [Event::Message { .. }, Event::Close { .. }, Event::Closed { error: None }]
    ));
    assert!(server.wants_end());
}

#[test]
fn nothing_is_sent_after_close_and_nothing_that_follows_it_is_looked_at() {
    let mut server = server();
    let events = hear(&mut server, &[masked(0x88, b""), frame(0xff, b"nonsense")].concat());
    assert_eq!(events, [Event::Close { frame: None }, closed()]);
    assert_eq!(say(&mut server), frame(0x88, b""));
    for refused in [
        server.send(MessageKind::Text, Bytes::new()),
        server.ping(Bytes::new()),
        server.close(CloseCode::NORMAL, ""),
    ] {
        assert!(matches!(refused, Err(Misuse::OutOfOrder(_))));
    }
    assert!(hear(&mut server, b"more").is_empty());
}

#[test]
fn a_ping_after_our_close_is_not_answered() {
    let mut server = server();
    server.close(CloseCode::NORMAL, "").unwrap();
    assert_eq!(close_code(&say(&mut server)), Some(1000));
    assert_eq!(hear(&mut server, &masked(0x89, b"?")).len(), 1);
    assert!(!server.wants_transmit());
}

#[test]
fn a_peer_that_does_not_answer_close_is_waited_for_and_no_longer() {
    let mut server = server();
    server.close(CloseCode::NORMAL, "").unwrap();
    assert_eq!(server.poll_timeout(), None, "the time runs from when it is sent");
    say(&mut server);
    let deadline = server.poll_timeout().unwrap();
    assert_eq!(deadline, NOW + Settings::default().close_timeout);
    server.handle_timeout(deadline);
    let events = hear(&mut server, b"");
    assert!(matches!(events[..], [Event::Closed { error: Some(Error::TimedOut { .. }) }]));
    assert!(server.wants_end());
}

#[test]
fn a_server_that_does_not_end_the_stream_is_waited_for_and_no_longer() {
    let mut client = client();
    assert_eq!(hear(&mut client, &frame(0x88, &[3, 0xe8])).len(), 1);
    assert_eq!(say(&mut client).len(), 8);
    let deadline = client.poll_timeout().unwrap();
    client.handle_timeout(deadline);
    assert_eq!(hear(&mut client, b""), [closed()]);
}

#[test]
fn a_stream_that_ends_without_close_is_cut_off() {
    for close_first in [false, true] {
        let mut server = server();
        if close_first {
            server.close(CloseCode::NORMAL, "").unwrap();
        }
        server.handle_eof(NOW);
        let events = hear(&mut server, &masked(0x81, b"x"));
        assert!(matches!(
            events[..],
            [Event::Message { .. }, Event::Closed { error: Some(Error::Truncated { .. }) }]
        ));
    }
}

#[test]
fn a_silent_peer_is_asked_and_then_given_up() {
    let span = Duration::from_secs(10);
    let settings = Settings { ping_after: Some(span), ..Settings::default() };
    let mut server = server_with(settings, &Agreed::default());
    assert_eq!(server.poll_timeout(), Some(NOW + span));
    server.handle_timeout(NOW + span);
    assert_eq!(say(&mut server), frame(0x89, b""));
    let mut answer = &masked(0x8a, b"")[..];
    let heard = NOW + span * 3 / 2;
    assert!(server.handle_bytes(heard, &mut answer).is_some());
    assert_eq!(server.poll_timeout(), Some(heard + span));
    server.handle_timeout(heard + span);
    server.handle_timeout(heard + span * 2);
    let events = hear(&mut server, b"");
    assert!(matches!(events[..], [Event::Closed { error: Some(Error::TimedOut { .. }) }]));
}
