//! WebSockets of the origin without sockets and in virtual time: what waits, what stops, what is silent.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

use endpoint::{Accepted, Action, EndPoint, SendBuf, SocketId};
use origin::{Limits, ListenerKind, Origin, OriginConfig, Parts, WallClock};
use proto::ws::{Agreed, CloseCode, CloseFrame, Connection, Event, MessageKind, Role, Settings};
use std::time::Duration;
use trace::Tracer;
use unit::{Instant, Seed};

const NOW: Instant = Instant::ZERO;
const REQUEST: &[u8] =
    b"GET /ws/echo HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

struct Near {
    origin: Origin,
    socket: SocketId,
    client: Connection,
}

impl Near {
    fn open() -> Self {
        let wall_clock = WallClock { at: NOW, unix: Duration::from_secs(1_800_000_000) };
        let config = OriginConfig::new(vec![ListenerKind::Clear], wall_clock);
        let mut origin = Origin::new(config, Parts::default());
        let any = ([127, 0, 0, 1], 80).into();
        let socket =
            origin.handle_accepted(NOW, Accepted { listener: 0, local: any, remote: any }).unwrap();
        origin.handle_bytes(NOW, socket, REQUEST);
        let role = Role::Client { masks: Seed(3) };
        let client =
            Connection::new(NOW, role, Settings::default(), &Agreed::default(), Tracer::off());
        let mut near = Self { origin, socket, client };
        let head = near.transmitted(NOW);
        assert!(head.starts_with(b"HTTP/1.1 101 ") && head.ends_with(b"\r\n\r\n"));
        near
    }

    /// Everything that the origin gives now.
    fn transmitted(&mut self, now: Instant) -> Vec<u8> {
        let mut out = SendBuf::new();
        loop {
            let before = out.len();
            self.origin.poll_transmit(now, self.socket, &mut out, 16 * 1024);
            if out.len() == before {
                return out.to_vec();
            }
        }
    }

    /// What the client hears of it.
    fn heard(&mut self, now: Instant) -> Vec<Event> {
        let bytes = self.transmitted(now);
        let mut input = &bytes[..];
        std::iter::from_fn(|| self.client.handle_bytes(now, &mut input)).collect()
    }

    /// The client's bytes, given to the origin.
    fn give(&mut self, now: Instant) {
        let mut out = SendBuf::new();
        while self.client.wants_transmit() {
            self.client.poll_transmit(now, &mut out, 64 * 1024);
        }
        for chunk in out.chunks() {
            self.origin.handle_bytes(now, self.socket, chunk);
        }
    }

    fn actions(&mut self) -> Vec<Action> {
        std::iter::from_fn(|| self.origin.poll_action()).collect()
    }
}

#[test]
fn a_peer_that_takes_no_answers_is_read_no_more_and_gets_them_all_in_the_end() {
    let mut near = Near::open();
    near.actions();
    let mut sent = 0;
    let paused = loop {
        assert!(sent < 1000, "the origin reads without end");
        near.client.send(MessageKind::Binary, vec![sent as u8; 10_000].into()).unwrap();
        near.give(NOW);
        sent += 1;
        if near.actions().contains(&Action::Pause(near.socket)) {
            break sent;
        }
    };
    let mut heard = Vec::new();
    for _ in 0..100 {
        heard.extend(near.heard(NOW));
    }
    assert_eq!(heard.len(), paused);
    for (index, event) in heard.into_iter().enumerate() {
        let data = vec![index as u8; 10_000].into();
        assert_eq!(event, Event::Message { kind: MessageKind::Binary, data });
    }
    assert!(near.actions().contains(&Action::Resume(near.socket)));
}

#[test]
fn a_stop_is_told_to_websockets_and_waits_for_their_answer() {
    let mut near = Near::open();
    near.origin.handle_stop(NOW);
    assert!(!near.actions().contains(&Action::Finish));
    let frame = CloseFrame { code: CloseCode::GOING_AWAY, reason: String::new() };
    assert_eq!(near.heard(NOW), [Event::Close { frame: Some(frame) }]);
    near.give(NOW);
    near.heard(NOW);
    let socket = near.socket;
    let left =
        |action: &Action| *action == Action::Shutdown(socket) || *action == Action::Close(socket);
    assert!(near.actions().iter().any(left));
    near.origin.handle_eof(NOW, socket);
    assert!(near.actions().contains(&Action::Finish) || near.origin.connections() == 0);
}

#[test]
fn a_silent_websocket_lives_on_while_its_peer_answers_pings() {
    let mut near = Near::open();
    let mut now = NOW;
    let limit = Limits::default().stall;
    for _ in 0..5 {
        now += limit / 2;
        near.origin.handle_timeout(now);
        assert!(matches!(near.heard(now)[..], [Event::Ping { .. }]));
        near.give(now);
    }
    // Then it answers no more.
    for _ in 0..4 {
        now += limit / 2;
        near.origin.handle_timeout(now);
        near.transmitted(now);
    }
    assert_eq!(near.origin.connections(), 0);
}
