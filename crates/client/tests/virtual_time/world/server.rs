//! A server that follows a test's script: one request, one reply.

use super::{Listener, Reply, Seen, Speaks, Unasked};
use bytes::Bytes;
use endpoint::{SendBuf, SocketError, SocketId};
use proto::schedule::RoundRobin;
use proto::{
    ConnectionState, Event, Fields, Fin, RequestHead, ResponseHead, Scheme, Status, StreamId, h1,
    h2, spdy,
};
use secure::{Layer, Tls};
use sim::{Connections, Script};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use trace::{HeaderBytes, Tracer};
use transport::ServerByteStream;
use unit::Instant;

pub(super) type Replies = Box<dyn FnMut(&Seen) -> Reply>;

pub(super) struct HttpServer {
    listener: Listener,
    replies: Replies,
    connections: BTreeMap<SocketId, Connection>,
    seen: Rc<RefCell<Vec<Seen>>>,
    /// Answers to come.
    late: Vec<(SocketId, StreamId, Vec<u8>)>,
    last_heard: Vec<u8>,
    /// Connections that are still to be reset.
    resets: usize,
}

struct Connection {
    layer: Layer,
    machine: Option<Box<dyn ServerByteStream>>,
    turns: usize,
    is_closed: bool,
}

impl HttpServer {
    pub(super) fn new(listener: Listener, replies: Replies) -> Self {
        Self {
            listener,
            replies,
            connections: BTreeMap::new(),
            seen: Rc::default(),
            late: Vec::new(),
            last_heard: Vec::new(),
            resets: 0,
        }
    }

    /// Resets so many of the first connections when their first bytes come.
    pub(super) fn reset_first(&mut self, count: usize) {
        self.resets = count;
    }

    /// The requests, as they come.
    pub(super) fn seen(&self) -> Rc<RefCell<Vec<Seen>>> {
        Rc::clone(&self.seen)
    }

    /// The last bytes that arrived.
    pub(super) fn last_heard(&self) -> &[u8] {
        &self.last_heard
    }

    /// What each connection counts of heads.
    pub(super) fn header_bytes(&self) -> Vec<HeaderBytes> {
        let machines = self.connections.values().filter_map(|far| far.machine.as_ref());
        machines.map(|machine| machine.header_bytes()).collect()
    }

    fn request(
        &mut self,
        sockets: &mut Connections,
        socket: SocketId,
        stream: StreamId,
        head: RequestHead,
    ) {
        let connection = self.connections.get_mut(&socket).unwrap();
        let turn = connection.turns;
        connection.turns += 1;
        let seen = Seen { at: sockets.now(), connection: socket.0, turn, head };
        let reply = (self.replies)(&seen);
        self.seen.borrow_mut().push(seen);
        self.reply(sockets, socket, stream, reply);
    }

    fn reply(
        &mut self,
        sockets: &mut Connections,
        socket: SocketId,
        stream: StreamId,
        reply: Reply,
    ) {
        let Some(connection) = self.connections.get_mut(&socket) else { return };
        let ok = |body: Vec<u8>| (Status::OK, Fields::new(), body);
        match reply {
            Reply::Whole(status, fields, body) => {
                connection.answer(stream, (status, fields, body), Fin::Last);
            }
            Reply::With(unasked, reply) => {
                for one in unasked {
                    self.send_unasked(sockets, socket, stream, one);
                }
                self.reply(sockets, socket, stream, *reply);
            }
            Reply::Late(after, body) => {
                sockets.wake_at(sockets.now() + after, self.late.len() as u64);
                self.late.push((socket, stream, body));
            }
            Reply::Half(body) => connection.answer(stream, ok(body), Fin::More),
            Reply::Cut(status, fields, body) => {
                connection.answer(stream, (status, fields, body), Fin::More);
                connection.close(sockets, socket);
            }
            Reply::Reset(after, body) => {
                connection.answer(stream, ok(body), Fin::More);
                connection.flush(sockets, socket);
                sockets.reset_at(sockets.now() + after, socket);
            }
            Reply::Beyond(body, more) => {
                connection.answer(stream, ok(body), Fin::Last);
                connection.raw(sockets, socket, more);
            }
            Reply::Silence => {}
            Reply::Close => connection.close(sockets, socket),
            Reply::GoAway => {
                let last = (stream.0 as u32).saturating_sub(2).to_be_bytes();
                let frame = [&[0, 0, 8, 7, 0, 0, 0, 0, 0], &last[..], &[0; 4]].concat();
                connection.raw(sockets, socket, &frame);
                connection.close(sockets, socket);
            }
            Reply::Violate => {
                connection.raw(sockets, socket, &[0, 0, 1, 0, 0, 0, 0, 0, 0, b'x']);
            }
            Reply::Refuse => {
                let stream = (stream.0 as u32).to_be_bytes();
                let frame = [&[0, 0, 4, 3, 0], &stream[..], &[0, 0, 0, 7]].concat();
                connection.raw(sockets, socket, &frame);
            }
        }
    }
}

impl HttpServer {
    fn send_unasked(
        &mut self,
        sockets: &mut Connections,
        socket: SocketId,
        stream: StreamId,
        unasked: Unasked,
    ) {
        let Some(connection) = self.connections.get_mut(&socket) else { return };
        match unasked {
            Unasked::Push(path, body) => {
                let head = connection.promised(path);
                if let Some(pushed) = connection.promise(stream, &head) {
                    connection.answer(pushed, (Status::OK, Fields::new(), body), Fin::Last);
                }
            }
            Unasked::LatePush(after, path, body) => {
                let head = connection.promised(path);
                if let Some(pushed) = connection.promise(stream, &head) {
                    sockets.wake_at(sockets.now() + after, self.late.len() as u64);
                    self.late.push((socket, pushed, body));
                }
            }
            Unasked::Promise(head) => {
                let _promised = connection.promise(stream, &head);
            }
            Unasked::Hints(links) => {
                let mut head = ResponseHead::new(Status::EARLY_HINTS);
                for link in links {
                    head.fields.push(b"link", link.as_bytes());
                }
                if let Some(machine) = &mut connection.machine {
                    let _said = machine.inform(stream, &head);
                }
            }
            Unasked::Raw(bytes) => connection.raw(sockets, socket, &bytes),
        }
    }
}

impl Script for HttpServer {
    fn handle_open(&mut self, sockets: &mut Connections, socket: SocketId) {
        let (layer, machine) = match &self.listener {
            Listener::Clear(speaks) => (Layer::Clear, Some(machine(sockets.now(), *speaks))),
            Listener::Tls(settings) => (Layer::secured(Tls::server(settings).unwrap()), None),
            Listener::Mute | Listener::Refused | Listener::Void => (Layer::Clear, None),
        };
        let connection = Connection { layer, machine, turns: 0, is_closed: false };
        self.connections.insert(socket, connection);
    }

    fn handle_bytes(&mut self, sockets: &mut Connections, socket: SocketId, bytes: &[u8]) {
        self.last_heard = bytes.to_vec();
        let connection = self.connections.get_mut(&socket).unwrap();
        if connection.is_closed || matches!(self.listener, Listener::Mute) {
            return;
        }
        if self.resets > 0 {
            self.resets -= 1;
            connection.is_closed = true;
            return sockets.reset_at(sockets.now(), socket);
        }
        let plain = connection.decrypt(sockets.now(), bytes);
        let mut rest = &plain[..];
        loop {
            let connection = self.connections.get_mut(&socket).unwrap();
            if connection.is_closed {
                return;
            }
            let Some(machine) = &mut connection.machine else { break };
            match machine.handle_bytes(sockets.now(), &mut rest) {
                None => break,
                Some(Event::Request { stream, head, .. }) => {
                    self.request(sockets, socket, stream, *head);
                }
                Some(Event::Data { stream, data, .. }) => {
                    let length = data.len();
                    machine.consume(stream, length);
                }
                Some(_) => {}
            }
        }
        self.connections.get_mut(&socket).unwrap().flush(sockets, socket);
    }

    fn handle_eof(&mut self, sockets: &mut Connections, socket: SocketId) {
        self.connections.get_mut(&socket).unwrap().is_closed = true;
        sockets.close(socket);
    }

    fn handle_error(&mut self, _wires: &mut Connections, socket: SocketId, _error: SocketError) {
        if let Some(connection) = self.connections.get_mut(&socket) {
            connection.is_closed = true;
        }
    }

    fn handle_wake(&mut self, sockets: &mut Connections, token: u64) {
        let (socket, stream, body) = self.late[token as usize].clone();
        let Some(connection) = self.connections.get_mut(&socket) else { return };
        connection.answer(stream, (Status::OK, Fields::new(), body), Fin::Last);
        connection.flush(sockets, socket);
    }
}

impl Connection {
    /// The plaintext of what arrived. Where it ends the handshake, what was agreed on decides who speaks.
    fn decrypt(&mut self, now: Instant, mut bytes: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        while let Ok(Some(part)) = self.layer.handle_bytes(&mut bytes) {
            plain.extend_from_slice(part);
        }
        if self.machine.is_none()
            && let Some(agreed) = self.layer.negotiated()
        {
            let speaks = if agreed.alpn == Some(b"h2") { Speaks::Http2 } else { Speaks::Http1 };
            self.machine = Some(machine(now, speaks));
        }
        plain
    }

    /// The request that a push of `path` answers.
    fn promised(&self, path: &str) -> RequestHead {
        let scheme = match &self.layer {
            Layer::Clear => Scheme::Http,
            _ => Scheme::Https,
        };
        RequestHead::get(scheme, "a.test", path)
    }

    fn promise(&mut self, parent: StreamId, head: &RequestHead) -> Option<StreamId> {
        self.machine.as_mut()?.promise(parent, head).ok()
    }

    fn answer(&mut self, stream: StreamId, answer: (Status, Fields, Vec<u8>), fin: Fin) {
        let Some(machine) = &mut self.machine else { return };
        let (status, fields, body) = answer;
        let mut head = ResponseHead { status, fields };
        let sent = if fin == Fin::Last { body.len() } else { body.len() / 2 };
        head.fields.push(b"content-length", body.len().to_string().as_bytes());
        let _ = machine.respond(stream, &head, Fin::More);
        let _ = machine.send(stream, Bytes::from(body).slice(..sent), fin);
    }

    /// Sends bytes that the machine knows nothing of.
    fn raw(&mut self, sockets: &mut Connections, socket: SocketId, frame: &[u8]) {
        self.flush(sockets, socket);
        let mut out = SendBuf::new();
        let mut once = Some(frame);
        self.layer.poll_transmit(&mut out, 16_384, |plain, _| {
            plain.put(once.take().unwrap_or_default());
        });
        sockets.send(socket, &out.to_vec());
    }

    fn close(&mut self, sockets: &mut Connections, socket: SocketId) {
        self.flush(sockets, socket);
        self.is_closed = true;
        sockets.close(socket);
    }

    fn flush(&mut self, sockets: &mut Connections, socket: SocketId) {
        if self.is_closed {
            return;
        }
        let mut out = SendBuf::new();
        let (now, machine) = (sockets.now(), &mut self.machine);
        self.layer.poll_transmit(&mut out, usize::MAX / 2, |plain, limit| {
            if let Some(machine) = machine {
                machine.poll_transmit(now, plain, limit);
            }
        });
        let is_over = machine.as_ref().is_some_and(|m| m.state() == ConnectionState::Closed);
        sockets.send(socket, &out.to_vec());
        if is_over {
            self.is_closed = true;
            sockets.close(socket);
        }
    }
}

fn machine(now: Instant, speaks: Speaks) -> Box<dyn ServerByteStream> {
    match speaks {
        Speaks::Http1 | Speaks::Http1Once => {
            let keep_alive = match speaks {
                Speaks::Http1Once => h1::KeepAlive::Off,
                _ => h1::KeepAlive::On,
            };
            let settings =
                h1::ServerSettings { keep_alive, keep_alive_timeout: None, ..Default::default() };
            Box::new(h1::Server::new(now, settings, Tracer::off()))
        }
        Speaks::Http2 => {
            let (settings, turns) = (h2::Settings::server(), Box::new(RoundRobin::default()));
            Box::new(h2::Server::new(now, settings, turns, Tracer::off()))
        }
        Speaks::Spdy(version) => {
            let (settings, turns) =
                (spdy::Settings::server(version), Box::new(RoundRobin::default()));
            Box::new(spdy::Server::new(now, settings, turns, Tracer::off()))
        }
    }
}
