//! The application server behind this origin: it answers what no file here answers, over HTTP/1.1 in the clear. The one
//! rule: a request has one connection at a time, and a connection one request.
//!
//! A session begins a request and passes bytes on; the origin drives the sockets. What comes back are events by the
//! number of the request.

mod connection;
mod fields;

use bytes::{Bytes, BytesMut};
use connection::{Connection, Step};
use endpoint::{Action, SendBuf, SocketError, SocketId, SocketSettings};
pub(crate) use fields::{can_be_passed_on, ends_here, forwarded_request, forwarded_response};
use proto::{Fin, RequestHead, ResponseHead};
use slab::Slab;
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use transport::{ClientSettings, Offer, Protocol};
use unit::Instant;

/// The settings of an application server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamSettings {
    /// Its address.
    pub address: SocketAddr,
    /// Connections at a time, of each thread. Further requests wait.
    pub connections: usize,
    /// Requests that may wait, of each thread. Further ones are answered 503.
    pub waiting: usize,
    /// For a connection. Without one the request is answered 502.
    pub connect_timeout: Duration,
    /// Without a byte of a response that is awaited. The request is answered 504, or reset where its response has begun. A request
    /// that waits for a connection this long is answered 503.
    pub silence: Duration,
}

impl UpstreamSettings {
    /// The defaults for this address.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            connections: 64,
            waiting: 1024,
            connect_timeout: Duration::from_secs(5),
            silence: Duration::from_secs(60),
        }
    }
}

/// A request: the client's connection that it came on, and its number in the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RequestId {
    pub(crate) connection: u64,
    number: u64,
}

/// What has come of a request.
#[derive(Debug)]
pub(crate) enum UpstreamEvent {
    /// An informational response.
    Informational(ResponseHead),
    /// The head of the response, and whether a body follows.
    Response(ResponseHead, Fin),
    /// A piece of its body.
    Data(Bytes, Fin),
    /// Bytes of the request's body went to the application.
    Sent,
    /// There is no response, or no more of it.
    Failed(UpstreamFailure),
}

/// Why a request has no response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UpstreamFailure {
    /// The application server cannot be reached.
    Unreachable(SocketError),
    /// It broke off, or broke HTTP's rules.
    Broken,
    /// It said nothing for too long.
    Silent,
    /// No connection to it was free for too long.
    Busy,
}

/// Up to so many bytes of a request's body are joined while they wait.
const PIECE: usize = 16 * 1024;

/// A request whose response is not complete.
#[derive(Debug)]
struct Request {
    head: RequestHead,
    /// What its connection has not taken of its body.
    upload: VecDeque<BytesMut>,
    upload_end: Fin,
    /// When it came.
    begun: Instant,
    /// Its connection; None while it waits for one.
    place: Option<usize>,
    /// Whether it went out a second time.
    is_repeated: bool,
}

/// The requests of a thread and their connections.
#[derive(Debug)]
pub(crate) struct Upstream {
    settings: UpstreamSettings,
    transport: Rc<ClientSettings>,
    connections: Slab<Connection>,
    /// Connections without a request, the one used last at the end.
    idle: Vec<usize>,
    requests: HashMap<RequestId, Request>,
    /// In the order in which they came.
    waiting: VecDeque<RequestId>,
    next: u64,
    actions: VecDeque<Action>,
    events: VecDeque<(RequestId, UpstreamEvent)>,
    /// The number of the first socket; the others follow at [`SOCKET_STRIDE`].
    first_socket: usize,
}

/// Sockets of the application's side lie between those of the clients' side.
pub(crate) const SOCKET_STRIDE: usize = 2;

impl Upstream {
    /// No connections yet.
    pub(crate) fn new(settings: UpstreamSettings, first_socket: usize) -> Self {
        Self {
            settings,
            transport: Rc::new(ClientSettings::new(Offer::Only(Protocol::Http1))),
            connections: Slab::new(),
            idle: Vec::new(),
            requests: HashMap::new(),
            waiting: VecDeque::new(),
            next: 0,
            actions: VecDeque::new(),
            events: VecDeque::new(),
            first_socket,
        }
    }

    /// Begins a request that came on a client's connection. None where too many wait.
    pub(crate) fn begin(
        &mut self,
        now: Instant,
        connection: u64,
        head: RequestHead,
        fin: Fin,
    ) -> Option<RequestId> {
        if self.waiting.len() >= self.settings.waiting {
            return None;
        }
        let id = RequestId { connection, number: self.next };
        self.next += 1;
        let (upload, upload_end) = (VecDeque::new(), fin);
        let request =
            Request { head, upload, upload_end, begun: now, place: None, is_repeated: false };
        self.requests.insert(id, request);
        self.waiting.push_back(id);
        self.assign(now);
        Some(id)
    }

    /// Adds to the body of a request.
    pub(crate) fn send(&mut self, now: Instant, id: RequestId, data: &[u8], fin: Fin) {
        let Some(request) = self.requests.get_mut(&id) else { return };
        // Many short pieces would cost more than their bytes.
        match request.upload.back_mut().filter(|last| last.len() + data.len() <= PIECE) {
            Some(last) => last.extend_from_slice(data),
            None if data.is_empty() => {}
            None => request.upload.push_back(data.into()),
        }
        request.upload_end = fin;
        if let Some(place) = request.place {
            self.settle(now, place);
        }
    }

    /// Bytes of a request's body that have not gone to the application.
    pub(crate) fn unsent(&self, id: RequestId) -> usize {
        let Some(request) = self.requests.get(&id) else { return 0 };
        let queued: usize = request.upload.iter().map(BytesMut::len).sum();
        let connection = request.place.and_then(|place| self.connections.get(place));
        queued + connection.map_or(0, Connection::unsent)
    }

    /// Bytes of the response's body have gone on to the client.
    pub(crate) fn consume(&mut self, now: Instant, id: RequestId, bytes: usize) {
        let Some(place) = self.place_of(id) else { return };
        if let Some(connection) = self.connections.get_mut(place) {
            connection.consume(now, bytes);
            self.settle(now, place);
        }
    }

    /// Nobody waits for the response any more.
    pub(crate) fn cancel(&mut self, now: Instant, id: RequestId) {
        let place = self.place_of(id);
        self.requests.remove(&id);
        self.waiting.retain(|other| *other != id);
        if let Some(place) = place {
            self.abort(place);
            self.assign(now);
        }
    }

    fn place_of(&self, id: RequestId) -> Option<usize> {
        self.requests.get(&id)?.place
    }

    fn socket_of(&self, place: usize) -> SocketId {
        SocketId(self.first_socket + place * SOCKET_STRIDE)
    }

    /// The connection of a socket; None for a socket of the clients' side.
    pub(crate) fn find(&self, socket: SocketId) -> Option<usize> {
        let offset = socket.0.checked_sub(self.first_socket)?;
        (offset % SOCKET_STRIDE == 0).then_some(offset / SOCKET_STRIDE)
    }

    /// Gives waiting requests a connection, where one is free or may be opened.
    fn assign(&mut self, now: Instant) {
        while let Some(id) = self.waiting.front().copied() {
            if self.requests.get(&id).is_some_and(|request| request.is_repeated) {
                // They are likely to be closed just now as well: it gets a new one.
                std::mem::take(&mut self.idle).into_iter().for_each(|place| self.abort(place));
            }
            let place = match self.idle.pop() {
                Some(place) => place,
                None if self.connections.len() < self.settings.connections => {
                    let Some(place) = self.open(now) else { return };
                    place
                }
                None => return,
            };
            self.waiting.pop_front();
            if let Some(request) = self.requests.get_mut(&id) {
                request.place = Some(place);
            }
            if let Some(connection) = self.connections.get_mut(place) {
                connection.request = Some(id);
            }
            self.settle(now, place);
        }
    }

    fn open(&mut self, now: Instant) -> Option<usize> {
        let connection = Connection::open(now, Rc::clone(&self.transport), self.settings.silence)?;
        let place = self.connections.insert(connection);
        let connect_timeout = self.settings.connect_timeout;
        let settings = SocketSettings { connect_timeout, ..SocketSettings::default() };
        let (socket, remote) = (self.socket_of(place), self.settings.address);
        self.actions.push_back(Action::Connect { socket, remote, settings });
        Some(place)
    }

    /// Runs after every call that may have changed a connection.
    fn settle(&mut self, now: Instant, place: usize) {
        let socket = self.socket_of(place);
        let Some(connection) = self.connections.get_mut(place) else { return };
        let request = connection.request.and_then(|id| self.requests.get_mut(&id));
        if let Some(request) = request {
            connection.feed(now, request);
        }
        let id = connection.request;
        while let (Some(id), Some(event)) = (id, connection.events.pop_front()) {
            self.events.push_back((id, event));
        }
        self.actions.extend(connection.poll_pause(socket));
        match connection.step() {
            Step::Transmit => self.actions.push_back(Action::Transmit(socket)),
            Step::Wait => {}
            Step::Idle => {
                self.actions.extend(connection.poll_pause(socket));
                self.release(place);
                self.idle.push(place);
                self.assign(now);
            }
            Step::Over => {
                self.release(place);
                self.connections.remove(place);
                self.actions.push_back(Action::Close(socket));
                self.assign(now);
            }
            Step::Failed(failure) => {
                self.fail(place, failure);
                self.abort(place);
                self.assign(now);
            }
        }
    }

    /// The request of a connection is answered.
    fn release(&mut self, place: usize) {
        let connection = self.connections.get_mut(place);
        if let Some(id) = connection.and_then(|connection| connection.request.take()) {
            self.requests.remove(&id);
        }
    }

    /// The request of a connection has no response from it. Where the server has closed a connection that was kept, just
    /// when the request went there, it goes out once more (RFC 9110 §9.2.2).
    fn fail(&mut self, place: usize, failure: UpstreamFailure) {
        let Some(connection) = self.connections.get_mut(place) else { return };
        let Some(id) = connection.request.take() else { return };
        let was_kept = connection.was_kept_until_now();
        let Some(request) = self.requests.get_mut(&id) else { return };
        let is_whole = request.upload.is_empty() && !connection.has_body;
        let may_repeat = was_kept && !request.is_repeated && is_whole;
        if may_repeat && failure == UpstreamFailure::Broken && request.head.method.is_safe() {
            (request.is_repeated, request.place) = (true, None);
            return self.waiting.push_front(id);
        }
        self.requests.remove(&id);
        self.events.push_back((id, UpstreamEvent::Failed(failure)));
    }

    fn abort(&mut self, place: usize) {
        if self.connections.try_remove(place).is_some() {
            self.idle.retain(|other| *other != place);
            self.actions.push_back(Action::Abort(self.socket_of(place)));
        }
    }

    pub(crate) fn handle_connected(&mut self, now: Instant, place: usize) {
        if let Some(connection) = self.connections.get_mut(place) {
            connection.handle_connected(now);
            self.settle(now, place);
        }
    }

    pub(crate) fn handle_bytes(&mut self, now: Instant, place: usize, bytes: &[u8]) {
        if let Some(connection) = self.connections.get_mut(place) {
            connection.handle_bytes(now, bytes);
            if connection.request.is_none() {
                // Nobody has asked for them: the connection ends.
                self.idle.retain(|other| *other != place);
            }
            self.settle(now, place);
        }
    }

    pub(crate) fn handle_eof(&mut self, now: Instant, place: usize) {
        if let Some(connection) = self.connections.get_mut(place) {
            connection.handle_eof(now);
            self.idle.retain(|other| *other != place);
            self.settle(now, place);
        }
    }

    pub(crate) fn handle_error(&mut self, now: Instant, place: usize, error: SocketError) {
        let failure = match self.connections.get(place) {
            Some(connection) if connection.is_connected() => UpstreamFailure::Broken,
            _ => UpstreamFailure::Unreachable(error),
        };
        self.fail(place, failure);
        self.idle.retain(|other| *other != place);
        self.connections.try_remove(place);
        self.assign(now);
    }

    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        place: usize,
        out: &mut SendBuf,
        limit: usize,
    ) {
        if let Some(connection) = self.connections.get_mut(place) {
            connection.poll_transmit(now, out, limit);
            if !connection.is_transmitting() {
                self.settle(now, place);
            }
        }
    }

    pub(crate) fn wants_transmit(&self, place: usize) -> bool {
        self.connections.get(place).is_some_and(Connection::is_transmitting)
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        while self.waits_until().is_some_and(|at| at <= now)
            && let Some(id) = self.waiting.pop_front()
        {
            self.requests.remove(&id);
            self.events.push_back((id, UpstreamEvent::Failed(UpstreamFailure::Busy)));
        }
        let is_due = |(place, connection): (usize, &mut Connection)| {
            (connection.poll_timeout()? <= now).then_some(place)
        };
        let due: Vec<usize> = self.connections.iter_mut().filter_map(is_due).collect();
        for place in due {
            if let Some(connection) = self.connections.get_mut(place) {
                connection.handle_timeout(now);
                self.settle(now, place);
            }
        }
    }

    pub(crate) fn poll_timeout(&mut self) -> Option<Instant> {
        let of_connections =
            self.connections.iter_mut().filter_map(|(_, connection)| connection.poll_timeout());
        of_connections.min().into_iter().chain(self.waits_until()).min()
    }

    /// Until when the first of the requests waits that have no connection.
    fn waits_until(&self) -> Option<Instant> {
        let first = self.requests.get(self.waiting.front()?)?;
        Some(first.begun + self.settings.silence)
    }

    pub(crate) fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    pub(crate) fn poll_event(&mut self) -> Option<(RequestId, UpstreamEvent)> {
        self.events.pop_front()
    }
}
