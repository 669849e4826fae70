//! WebSockets of the origin in virtual time: what waits, what stops, what is silent.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

use endpoint::{Action, SendBuf, SocketId};
use origin::{Limits, ListenerKind, Origin, OriginConfig, Parts, WallClock};
use proto::ws::{Agreed, CloseCode, CloseFrame, Connection, Event, MessageKind, Role, Settings};
use sim::{Connections, Host, Path, Script, Scripted, World};
use std::time::Duration;
use trace::Tracer;
use unit::{Instant, Seed};

const START: Instant = Instant::from_nanos(1_000_000_000);
const ADDRESS: &str = "10.0.0.2:80";
const REQUEST: &[u8] =
    b"GET /ws/echo HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// A WebSocket's client.
struct Client {
    head: Vec<u8>,
    connection: Connection,
    heard: Vec<Event>,
    /// Whether it sends what its connection has to say.
    answers: bool,
}

impl Client {
    fn flush(&mut self, sockets: &mut Connections, socket: SocketId) {
        let mut out = SendBuf::new();
        while self.answers && self.connection.wants_transmit() {
            self.connection.poll_transmit(sockets.now(), &mut out, 64 * 1024);
        }
        sockets.send(socket, &out.to_vec());
    }
}

impl Script for Client {
    fn handle_open(&mut self, sockets: &mut Connections, socket: SocketId) {
        sockets.send(socket, REQUEST);
    }

    fn handle_bytes(&mut self, sockets: &mut Connections, socket: SocketId, mut bytes: &[u8]) {
        if !self.head.ends_with(b"\r\n\r\n") {
            self.head.extend_from_slice(bytes);
            return;
        }
        while let Some(event) = self.connection.handle_bytes(sockets.now(), &mut bytes) {
            self.heard.push(event);
        }
        self.flush(sockets, socket);
    }
}

/// The origin and a client with a WebSocket, no time apart.
struct Pair {
    world: World,
    origin: Host<Origin>,
    client: Host<Scripted<Client>>,
    socket: SocketId,
}

impl Pair {
    fn open() -> Self {
        let wall_clock = WallClock { at: START, unix: Duration::from_secs(1_800_000_000) };
        let config = OriginConfig::new(vec![ListenerKind::Clear], wall_clock);
        let role = Role::Client { masks: Seed(3) };
        let connection =
            Connection::new(START, role, Settings::default(), &Agreed::default(), Tracer::off());
        let client = Client { head: Vec::new(), connection, heard: Vec::new(), answers: true };
        let mut world = World::new(1);
        let origin = world.listen(ADDRESS, Origin::new(config, Parts::default()));
        let client = world.host("10.0.0.1", Scripted::new(client));
        world.connect(client, origin, Path::delay(Duration::ZERO));
        world.receive_buffer(client, 64 * 1024);
        world.record_actions(origin);
        let socket = world.with(client, |client| client.connect(ADDRESS));
        let mut pair = Self { world, origin, client, socket };
        pair.wait(Duration::ZERO);
        let head = &pair.world.end_point(client).script().head;
        assert!(head.starts_with(b"HTTP/1.1 101 ") && head.ends_with(b"\r\n\r\n"));
        pair
    }

    fn wait(&mut self, span: Duration) {
        self.world.run_for(span);
    }

    /// What the client has heard since.
    fn heard(&mut self) -> Vec<Event> {
        self.world.with(self.client, |client| std::mem::take(&mut client.script_mut().heard))
    }

    /// Sends a message of 10,000 such bytes.
    fn send(&mut self, byte: u8) {
        let socket = self.socket;
        self.world.with(self.client, |client| {
            let connection = &mut client.script_mut().connection;
            connection.send(MessageKind::Binary, vec![byte; 10_000].into()).unwrap();
            client.command(|script, sockets| script.flush(sockets, socket));
        });
        self.wait(Duration::ZERO);
    }

    fn actions(&mut self) -> Vec<Action> {
        self.world.take_actions(self.origin)
    }

    fn connections(&self) -> usize {
        self.world.end_point(self.origin).connections()
    }
}

#[test]
fn a_peer_that_takes_no_answers_is_read_no_more_and_gets_them_all_in_the_end() {
    let mut pair = Pair::open();
    let socket = pair.socket;
    pair.world.with(pair.client, |client| client.pause(socket));
    pair.actions();
    let mut sent = 0;
    let paused = loop {
        assert!(sent < 1000, "the origin reads without end");
        pair.send(sent as u8);
        sent += 1;
        if pair.actions().contains(&Action::Pause(SocketId(0))) {
            break sent;
        }
    };
    assert_eq!(pair.heard(), []);
    pair.world.with(pair.client, |client| client.resume(socket));
    pair.wait(Duration::ZERO);
    let heard = pair.heard();
    assert_eq!(heard.len(), paused);
    for (index, event) in heard.into_iter().enumerate() {
        let data = vec![index as u8; 10_000].into();
        assert_eq!(event, Event::Message { kind: MessageKind::Binary, data });
    }
    assert!(pair.actions().contains(&Action::Resume(SocketId(0))));
}

#[test]
fn a_stop_is_told_to_websockets_and_waits_for_their_answer() {
    let mut pair = Pair::open();
    pair.world.with(pair.client, |client| client.script_mut().answers = false);
    pair.world.stop(pair.origin);
    pair.wait(Duration::ZERO);
    assert!(!pair.actions().contains(&Action::Finish));
    let frame = CloseFrame { code: CloseCode::GOING_AWAY, reason: String::new() };
    assert_eq!(pair.heard(), [Event::Close { frame: Some(frame) }]);
    let socket = pair.socket;
    pair.world.with(pair.client, |client| {
        client.script_mut().answers = true;
        client.command(|script, sockets| script.flush(sockets, socket));
    });
    pair.wait(Duration::ZERO);
    let actions = pair.actions();
    let left = |action: &Action| {
        *action == Action::Shutdown(SocketId(0)) || *action == Action::Close(SocketId(0))
    };
    assert!(actions.iter().any(left), "{actions:?}");
    // The client closes at the origin's FIN.
    assert!(actions.contains(&Action::Finish));
    assert_eq!(pair.connections(), 0);
}

#[test]
fn a_silent_websocket_lives_on_while_its_peer_answers_pings() {
    let mut pair = Pair::open();
    let limit = Limits::default().stall;
    for _ in 0..5 {
        pair.wait(limit / 2);
        let heard = pair.heard();
        assert!(matches!(heard[..], [Event::Ping { .. }]), "{heard:?}");
    }
    assert_eq!(pair.connections(), 1);
    pair.world.with(pair.client, |client| client.script_mut().answers = false);
    pair.wait(limit * 2);
    assert_eq!(pair.connections(), 0);
}
