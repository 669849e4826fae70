//! A client and the servers that it talks to, in virtual time: a delay each way, no sockets, no sleeps.

#![allow(dead_code, reason = "each test file uses what it needs")]
#![allow(unreachable_pub, reason = "a test's module is nobody's library")]
#![allow(clippy::unwrap_used, reason = "the helpers of a test fail with it")]

use bytes::Bytes;
use client::{Client, ClientConfig, FetchSpec, Place, Transport, Work};
use endpoint::{Action, EndPoint, SendBuf, SocketError, SocketId};
use proto::schedule::RoundRobin;
use proto::{
    ConnectionState, Event, Fields, Fin, RequestHead, ResponseHead, Scheme, ServerConnection,
    Status, StreamId, h1, h2, spdy,
};
use secure::{
    Authority, AuthoritySpec, ClientTls, ClientTlsOptions, Layer, ServerTls, ServerTlsOptions, Tls,
};
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::time::Duration;
use trace::{HeaderBytes, Tracer};
use unit::Instant;

/// One way.
pub const DELAY: Duration = Duration::from_millis(50);

/// What a server does with a request.
pub enum Reply {
    /// Answers at once.
    Whole(Status, Fields, Vec<u8>),
    /// Answers after a while.
    Late(Duration, Vec<u8>),
    /// Pushes the answer to another path first, where the client lets it.
    Push(&'static str, Vec<u8>),
    /// Sends the head, half of the body, and nothing more.
    Half(Vec<u8>),
    /// Sends the head, half of the body, and closes the connection.
    Cut(Status, Fields, Vec<u8>),
    /// Answers at once, and goes on after the end of the body.
    Beyond(Vec<u8>, &'static [u8]),
    /// Says nothing.
    Silence,
    /// Closes the connection.
    Close,
    /// GOAWAY: this request and later ones are not processed. Then closes.
    GoAway,
    /// RST_STREAM with REFUSED_STREAM.
    Refuse,
    /// A DATA frame on the connection itself, which RFC 9113 §6.1 forbids.
    Violate,
}

pub fn ok(body: &[u8]) -> Reply {
    Reply::Whole(Status::OK, Fields::new(), body.to_vec())
}

pub fn redirect(status: u16, to: &str) -> Reply {
    Reply::Whole(Status::new(status).unwrap(), Fields::new().with("Location", to), b"moved".into())
}

/// A request as a server saw it.
#[derive(Debug, Clone)]
pub struct Seen {
    pub at: Instant,
    /// Number of the connection, in the order of opening.
    pub connection: usize,
    /// Number of the request on it.
    pub turn: usize,
    pub head: RequestHead,
}

/// What listens at every address.
#[derive(Clone)]
pub enum Listener {
    /// HTTP/1.1 or prior-knowledge HTTP/2 in the clear.
    Clear(Speaks),
    /// TLS with these settings; ALPN decides.
    Tls(ServerTls),
    /// TCP answers, and nothing more.
    Mute,
    /// Nobody listens.
    Refused,
    /// Not even TCP answers.
    Void,
}

#[derive(Clone, Copy)]
pub enum Speaks {
    Http1,
    /// One request a connection (`Connection: close`).
    Http1Once,
    Http2,
    Spdy(spdy::Version),
}

type Script = Box<dyn FnMut(&Seen) -> Reply>;

pub struct World {
    pub now: Instant,
    listener: Listener,
    script: Script,
    agenda: BTreeMap<(Instant, u64), Happening>,
    order: u64,
    by_socket: HashMap<SocketId, usize>,
    connections: Vec<Far>,
    /// What the servers saw.
    pub seen: Vec<Seen>,
    /// Bytes that reach the client at a time.
    pub piece: usize,
    /// The most connections that were open at a time.
    pub most_open: usize,
    open: usize,
    finished: bool,
    /// What the client sent last, in the clear or not.
    pub last_sent: Vec<u8>,
    /// Whether sockets take no more bytes.
    pub deaf: Rc<Cell<bool>>,
    /// Sockets whose client wants to know when they are drained.
    awaited: Vec<SocketId>,
}

enum Happening {
    Connected(usize),
    Refused(usize),
    Up(usize, Vec<u8>),
    UpEnd(usize),
    Down(usize, Vec<u8>),
    DownEnd(usize),
    Answer(usize, StreamId, Vec<u8>),
}

struct Far {
    socket: Option<SocketId>,
    layer: Layer,
    machine: Option<Box<dyn ServerConnection>>,
    turns: usize,
    closed: bool,
}

impl World {
    pub fn new(listener: Listener, script: impl FnMut(&Seen) -> Reply + 'static) -> Self {
        Self {
            now: Instant::from_nanos(1_000_000_000),
            listener,
            script: Box::new(script),
            agenda: BTreeMap::new(),
            order: 0,
            by_socket: HashMap::new(),
            connections: Vec::new(),
            seen: Vec::new(),
            piece: usize::MAX,
            most_open: 0,
            open: 0,
            finished: false,
            last_sent: Vec::new(),
            deaf: Rc::default(),
            awaited: Vec::new(),
        }
    }

    /// Connections that were begun.
    pub fn opened(&self) -> usize {
        self.connections.len()
    }

    /// Connections that the client has not closed.
    pub fn still_open(&self) -> usize {
        self.open
    }

    /// Drives `client` to its end.
    pub fn run<W: Work + std::fmt::Debug>(&mut self, client: &mut Client<W>) {
        client.handle_start(self.now);
        self.go_on(client);
    }

    /// Drives a `client` that was started already to its end.
    pub fn go_on<W: Work + std::fmt::Debug>(&mut self, client: &mut Client<W>) {
        for _ in 0..1_000_000 {
            if self.finished || self.act(client) {
                return;
            }
            let happens = self.agenda.first_key_value().map(|((at, _), _)| *at);
            if happens.is_none_or(|at| at > self.now)
                && let Some(socket) = self.awaited.pop()
            {
                if self.by_socket.contains_key(&socket) {
                    client.handle_drained(self.now, socket);
                }
                continue;
            }
            let wakes = client.poll_timeout();
            match (happens, wakes) {
                (None, None) => panic!("the client waits for nothing: {client:?}"),
                (Some(at), wakes) if wakes.is_none_or(|wakes| at <= wakes) => {
                    self.now = self.now.max(at);
                    let (_, happening) = self.agenda.pop_first().unwrap();
                    self.happen(client, happening);
                }
                (_, Some(wakes)) => {
                    self.now = self.now.max(wakes);
                    client.handle_timeout(self.now);
                }
                (Some(_), None) => unreachable!(),
            }
        }
        panic!("the client never ends");
    }

    /// What each server counts of heads.
    pub fn header_bytes(&self) -> Vec<HeaderBytes> {
        let machines = self.connections.iter().filter_map(|far| far.machine.as_ref());
        machines.map(|machine| machine.header_bytes()).collect()
    }

    fn plan(&mut self, after: Duration, happening: Happening) {
        self.agenda.insert((self.now + after, self.order), happening);
        self.order += 1;
    }

    fn act<W: Work>(&mut self, client: &mut Client<W>) -> bool {
        while let Some(action) = client.poll_action() {
            match action {
                Action::Connect { socket, .. } => self.connect(socket),
                Action::Transmit(_) if self.deaf.get() => {}
                Action::Transmit(socket) => loop {
                    let mut out = SendBuf::new();
                    client.poll_transmit(self.now, socket, &mut out, 16_384);
                    if out.is_empty() {
                        break;
                    }
                    let far = self.by_socket[&socket];
                    self.last_sent = bytes(&out);
                    self.plan(DELAY, Happening::Up(far, bytes(&out)));
                },
                Action::Shutdown(socket) | Action::Close(socket) | Action::Abort(socket) => {
                    let far = self.by_socket.remove(&socket).unwrap();
                    self.connections[far].socket = None;
                    self.open -= 1;
                    self.plan(DELAY, Happening::UpEnd(far));
                }
                Action::Pause(_) | Action::Resume(_) => {}
                Action::AwaitDrained(socket) => self.awaited.push(socket),
                Action::Bind { .. } => panic!("{action:?} in this world"),
                Action::Finish => return true,
            }
        }
        false
    }

    fn connect(&mut self, socket: SocketId) {
        let far = self.connections.len();
        let (layer, machine) = match &self.listener {
            Listener::Clear(speaks) => (Layer::Clear, Some(self.machine(*speaks))),
            Listener::Tls(settings) => (Layer::secured(Tls::server(settings).unwrap()), None),
            Listener::Mute | Listener::Refused | Listener::Void => (Layer::Clear, None),
        };
        self.connections.push(Far {
            socket: Some(socket),
            layer,
            machine,
            turns: 0,
            closed: false,
        });
        assert!(self.by_socket.insert(socket, far).is_none(), "{socket:?} is in use");
        self.open += 1;
        self.most_open = self.most_open.max(self.open);
        match self.listener {
            Listener::Refused => self.plan(2 * DELAY, Happening::Refused(far)),
            Listener::Void => {}
            _ => self.plan(2 * DELAY, Happening::Connected(far)),
        }
    }

    fn machine(&self, speaks: Speaks) -> Box<dyn ServerConnection> {
        match speaks {
            Speaks::Http1 | Speaks::Http1Once => {
                let keep_alive = match speaks {
                    Speaks::Http1Once => h1::KeepAlive::Off,
                    _ => h1::KeepAlive::On,
                };
                let settings = h1::ServerSettings {
                    keep_alive,
                    keep_alive_timeout: None,
                    ..Default::default()
                };
                Box::new(h1::Server::new(self.now, settings, Tracer::off()))
            }
            Speaks::Http2 => {
                let (settings, turns) = (h2::Settings::server(), Box::new(RoundRobin::new()));
                Box::new(h2::Server::new(self.now, settings, turns, Tracer::off()))
            }
            Speaks::Spdy(version) => {
                let (settings, turns) =
                    (spdy::Settings::server(version), Box::new(RoundRobin::new()));
                Box::new(spdy::Server::new(self.now, settings, turns, Tracer::off()))
            }
        }
    }

    fn happen<W: Work>(&mut self, client: &mut Client<W>, happening: Happening) {
        let now = self.now;
        match happening {
            Happening::Connected(far) => {
                if let Some(socket) = self.connections[far].socket {
                    client.handle_connected(now, socket, "10.0.0.1:50000".parse().unwrap());
                }
            }
            Happening::Refused(far) => {
                if let Some(socket) = self.connections[far].socket.take() {
                    self.by_socket.remove(&socket);
                    self.open -= 1;
                    client.handle_error(now, socket, SocketError::Refused);
                }
            }
            Happening::Down(far, bytes) => {
                for piece in bytes.chunks(self.piece) {
                    if let Some(socket) = self.connections[far].socket {
                        receive(client, now, (socket, piece));
                    }
                    if self.act(client) {
                        self.finished = true;
                        return;
                    }
                }
            }
            Happening::DownEnd(far) => {
                if let Some(socket) = self.connections[far].socket {
                    client.handle_eof(now, socket);
                }
            }
            Happening::Up(far, bytes) => self.serve(far, &bytes),
            Happening::UpEnd(far) => self.connections[far].closed = true,
            Happening::Answer(far, stream, body) => {
                self.answer(far, stream, (Status::OK, Fields::new(), body), Fin::Last);
                self.flush(far);
            }
        }
    }

    /// Bytes have reached the server.
    fn serve(&mut self, far: usize, bytes: &[u8]) {
        if self.connections[far].closed || matches!(self.listener, Listener::Mute) {
            return;
        }
        let mut plain = Vec::new();
        let mut cipher = bytes;
        let layer = &mut self.connections[far].layer;
        while let Ok(Some(part)) = layer.handle_bytes(&mut cipher) {
            plain.extend_from_slice(part);
        }
        if self.connections[far].machine.is_none() && !self.connections[far].layer.is_handshaking()
        {
            let agreed = self.connections[far].layer.negotiated().unwrap();
            let speaks = if agreed.alpn == Some(b"h2") { Speaks::Http2 } else { Speaks::Http1 };
            self.connections[far].machine = Some(self.machine(speaks));
        }
        let mut rest = &plain[..];
        while let Some(machine) = &mut self.connections[far].machine
            && let Some(event) = machine.handle_bytes(self.now, &mut rest)
        {
            match event {
                Event::Request { stream, head, .. } => self.request(far, stream, head),
                Event::Data { stream, data, .. } => {
                    let length = data.len();
                    if let Some(machine) = &mut self.connections[far].machine {
                        machine.consume(stream, length);
                    }
                }
                _ => {}
            }
            if self.connections[far].closed {
                return;
            }
        }
        self.flush(far);
    }

    fn request(&mut self, far: usize, stream: StreamId, head: RequestHead) {
        let turn = self.connections[far].turns;
        self.connections[far].turns += 1;
        let seen = Seen { at: self.now, connection: far, turn, head };
        let reply = (self.script)(&seen);
        self.seen.push(seen);
        match reply {
            Reply::Whole(status, fields, body) => {
                self.answer(far, stream, (status, fields, body), Fin::Last);
            }
            Reply::Push(path, body) => {
                self.push(far, stream, path, body.clone());
                self.answer(far, stream, (Status::OK, Fields::new(), body), Fin::Last);
            }
            Reply::Late(after, body) => self.plan(after, Happening::Answer(far, stream, body)),
            Reply::Half(body) => {
                self.answer(far, stream, (Status::OK, Fields::new(), body), Fin::More);
            }
            Reply::Cut(status, fields, body) => {
                self.answer(far, stream, (status, fields, body), Fin::More);
                self.close(far);
            }
            Reply::Beyond(body, more) => {
                self.answer(far, stream, (Status::OK, Fields::new(), body), Fin::Last);
                self.raw(far, more);
            }
            Reply::Silence => {}
            Reply::Close => self.close(far),
            Reply::GoAway => {
                let last = (stream.0 as u32).saturating_sub(2).to_be_bytes();
                let frame = [&[0, 0, 8, 7, 0, 0, 0, 0, 0], &last[..], &[0; 4]].concat();
                self.raw(far, &frame);
                self.close(far);
            }
            Reply::Violate => self.raw(far, &[0, 0, 1, 0, 0, 0, 0, 0, 0, b'x']),
            Reply::Refuse => {
                let stream = (stream.0 as u32).to_be_bytes();
                let frame = [&[0, 0, 4, 3, 0], &stream[..], &[0, 0, 0, 7]].concat();
                self.raw(far, &frame);
            }
        }
    }

    fn push(&mut self, far: usize, parent: StreamId, path: &str, body: Vec<u8>) {
        let Some(machine) = &mut self.connections[far].machine else { return };
        let head = RequestHead::get(Scheme::Http, "a.test", path);
        if let Ok(stream) = machine.promise(parent, &head) {
            self.answer(far, stream, (Status::OK, Fields::new(), body), Fin::Last);
        }
    }

    fn answer(
        &mut self,
        far: usize,
        stream: StreamId,
        (status, fields, body): (Status, Fields, Vec<u8>),
        fin: Fin,
    ) {
        let Some(machine) = &mut self.connections[far].machine else { return };
        let mut head = ResponseHead { status, fields };
        let sent = if fin == Fin::Last { body.len() } else { body.len() / 2 };
        head.fields.push(b"content-length", body.len().to_string().as_bytes());
        let _ = machine.respond(stream, &head, Fin::More);
        let _ = machine.send(stream, Bytes::from(body).slice(..sent), fin);
    }

    fn raw(&mut self, far: usize, frame: &[u8]) {
        self.flush(far);
        let mut out = SendBuf::new();
        let mut once = Some(frame);
        self.connections[far].layer.poll_transmit(&mut out, 16_384, |plain, _| {
            plain.put(once.take().unwrap_or_default());
        });
        self.plan(DELAY, Happening::Down(far, bytes(&out)));
    }

    fn close(&mut self, far: usize) {
        self.flush(far);
        self.connections[far].closed = true;
        self.plan(DELAY, Happening::DownEnd(far));
    }

    fn flush(&mut self, far: usize) {
        let connection = &mut self.connections[far];
        if connection.closed {
            return;
        }
        let mut out = SendBuf::new();
        let (now, machine) = (self.now, &mut connection.machine);
        connection.layer.poll_transmit(&mut out, usize::MAX / 2, |plain, room| {
            if let Some(machine) = machine {
                machine.poll_transmit(now, plain, room);
            }
        });
        let over = machine.as_ref().is_some_and(|m| m.state() == ConnectionState::Closed);
        if !out.is_empty() {
            self.plan(DELAY, Happening::Down(far, bytes(&out)));
        }
        if over {
            self.connections[far].closed = true;
            self.plan(DELAY, Happening::DownEnd(far));
        }
    }
}

/// Bytes reach the client as a driver brings them: into its own room, where it has some.
fn receive<W: Work>(client: &mut Client<W>, now: Instant, (socket, mut bytes): (SocketId, &[u8])) {
    while let Some(room) = client.poll_receive_buffer(socket).filter(|room| !room.is_empty()) {
        let count = room.len().min(bytes.len());
        room[..count].copy_from_slice(&bytes[..count]);
        bytes = &bytes[count..];
        if count > 0 {
            client.handle_received(now, socket, count);
        }
        if bytes.is_empty() {
            return;
        }
    }
    client.handle_bytes(now, socket, bytes);
}

/// An authority for a.test and b.test, and TLS settings for both sides.
pub struct Trusted {
    pub server: ServerTls,
    authority: Authority,
}

impl Trusted {
    pub fn new(alpn: &[&str]) -> Self {
        let authority = Authority::new(AuthoritySpec::default()).unwrap();
        let identity = authority.issue(&["a.test", "b.test"]).unwrap();
        let alpn = alpn.iter().map(|&name| name.to_owned()).collect();
        let options = ServerTlsOptions { alpn, ..ServerTlsOptions::new(vec![identity]) };
        Self { server: ServerTls::new(options).unwrap(), authority }
    }

    pub fn config(&self, transport: Transport) -> ClientConfig {
        config_with(
            transport,
            ClientTlsOptions {
                roots: vec![self.authority.root_pem()],
                alpn: transport.alpn(),
                ..Default::default()
            },
        )
    }
}

/// A client's settings, all hosts at one address.
pub fn config(transport: Transport) -> ClientConfig {
    config_with(transport, ClientTlsOptions { alpn: transport.alpn(), ..Default::default() })
}

pub fn config_with(transport: Transport, tls: ClientTlsOptions) -> ClientConfig {
    let mut config = ClientConfig::new(transport, ClientTls::new(tls).unwrap());
    config.hosts.insert_everyone(Place::Address([10, 0, 0, 2].into()));
    config
}

/// `count` fetches of `http://a.test/0` and so on.
pub fn fetches(count: usize) -> Vec<FetchSpec> {
    (0..count).map(|n| FetchSpec::get(format!("http://a.test/{n}").parse().unwrap())).collect()
}

/// What waits in `out`, in one piece.
fn bytes(out: &SendBuf) -> Vec<u8> {
    out.chunks().collect::<Vec<_>>().concat()
}

/// Milliseconds from the beginning.
pub fn millis(at: Option<Instant>) -> u128 {
    at.unwrap().since(Instant::from_nanos(1_000_000_000)).as_millis()
}
