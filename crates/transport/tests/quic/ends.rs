//! A client and a server of the toy protocol as end points.

use crate::toy::{Far, Near, Toy, ToyProtocol};
use endpoint::{
    Accepted, Action, Bound, DatagramTransmit, EndPoint, ReceivedDatagrams, SendBuf, SocketError,
    SocketId,
};
use proto::{Error, Event, Fin};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use transport::{
    Admission, Arrival, Failure, Handler, Lifetime, Negotiated, QuicConnection, QuicHandle,
    QuicRole, QuicSocket,
};
use unit::Instant;

const SOCKET: SocketId = SocketId(0);

/// What happened to a client's exchanges.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) now: Instant,
    /// When the first byte of an answer came, its last one, and how many there are, by stream.
    pub(crate) answers: BTreeMap<u64, Answer>,
    /// What to ask for as soon as the connection is ready.
    pub(crate) questions: Vec<u64>,
    pub(crate) failures: Vec<Failure>,
    /// Why connections ended; None for an orderly end.
    pub(crate) ends: Vec<Option<Error>>,
}

#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) first: Instant,
    pub(crate) last: Option<Instant>,
    pub(crate) bytes: usize,
}

impl<R: QuicRole<Machine = Toy, Protocol = ToyProtocol>> Handler<R> for Seen {
    fn handle_ready(&mut self, machine: &mut Toy, _: Negotiated<'_, ToyProtocol>) {
        // The streams that the peer allows are told after this.
        machine.limit = 100;
        for bytes in self.questions.drain(..) {
            machine.ask(bytes);
        }
    }

    fn handle_event(&mut self, _machine: &mut Toy, event: Event<'_>) {
        match event {
            Event::Data { stream, data, fin } => {
                let first = Answer { first: self.now, ..Answer::default() };
                let answer = self.answers.entry(stream.0).or_insert(first);
                answer.bytes += data.len();
                if fin == Fin::Last {
                    answer.last = Some(self.now);
                }
            }
            Event::Closed { error } => self.ends.push(error),
            _ => {}
        }
    }
}

/// One side: all connections of a UDP socket.
pub(crate) struct Side<R: QuicRole> {
    pub(crate) socket: QuicSocket,
    pub(crate) connections: BTreeMap<QuicHandle, QuicConnection<R>>,
    pub(crate) seen: Seen,
    actions: VecDeque<Action>,
    role: fn() -> R,
    /// Largest batch sent, in datagrams.
    pub(crate) largest_batch: usize,
    /// The first datagrams sent.
    pub(crate) first: Vec<u8>,
    /// The last ones.
    pub(crate) last: Vec<u8>,
    is_transmitting: bool,
    /// Whether it takes more connections.
    pub(crate) admission: Admission,
}

impl<R: QuicRole<Machine = Toy, Protocol = ToyProtocol>> Side<R> {
    fn new(socket: QuicSocket, role: fn() -> R) -> Self {
        Self {
            socket,
            connections: BTreeMap::new(),
            seen: Seen::default(),
            actions: VecDeque::new(),
            role,
            largest_batch: 0,
            first: Vec::new(),
            last: Vec::new(),
            is_transmitting: false,
            admission: Admission::Open,
        }
    }

    fn settle(&mut self, handle: QuicHandle) {
        let Some(connection) = self.connections.get_mut(&handle) else { return };
        if self.socket.settle(connection.link()) == Lifetime::Over {
            self.connections.remove(&handle);
        }
        self.transmit();
    }

    fn transmit(&mut self) {
        if !self.is_transmitting {
            self.is_transmitting = true;
            self.actions.push_back(Action::Transmit(SOCKET));
        }
    }

    pub(crate) fn handles(&self) -> Vec<QuicHandle> {
        self.connections.keys().copied().collect()
    }

    /// How many connections have a machine.
    pub(crate) fn connections_ready(&self) -> usize {
        self.connections.values().filter(|own| own.ready_machine().is_some()).count()
    }

    /// Gives a command to the machine of the only connection.
    pub(crate) fn command(&mut self, now: Instant, command: impl FnOnce(&mut Toy)) {
        let handle = self.handles()[0];
        let connection = self.connections.get_mut(&handle).unwrap();
        command(connection.machine().unwrap());
        self.seen.now = now;
        connection.drain_events(now, &mut self.seen);
        self.settle(handle);
    }
}

impl Side<Near> {
    /// A client that connects and asks for these numbers of bytes.
    pub(crate) fn near(
        mut socket: QuicSocket,
        remote: &str,
        name: &str,
        questions: &[u64],
    ) -> Self {
        let begin = Instant::from_nanos(1_000_000_000);
        let link = socket.connect(begin, remote.parse().unwrap(), name).unwrap();
        let mut side = Self::new(socket, || Near);
        side.seen.questions = questions.to_vec();
        let handle = link.handle();
        let mut opened = QuicConnection::new(begin, Near, link);
        opened.handle_opened(begin, &mut side.seen).unwrap();
        side.connections.insert(handle, opened);
        let (local, settings) = (SocketAddr::from(([0, 0, 0, 0], 0)), Default::default());
        side.actions.push_back(Action::Bind { socket: SOCKET, local, settings });
        side.settle(handle);
        side
    }
}

impl Side<Far> {
    pub(crate) fn far(socket: QuicSocket) -> Self {
        Self::new(socket, || Far)
    }
}

impl<R: QuicRole<Machine = Toy, Protocol = ToyProtocol>> EndPoint for Side<R> {
    fn handle_accepted(&mut self, _now: Instant, _accepted: Accepted) -> Option<SocketId> {
        None
    }

    fn handle_connected(&mut self, _now: Instant, _socket: SocketId, _local: SocketAddr) {}

    fn handle_bytes(&mut self, _now: Instant, _socket: SocketId, _bytes: &[u8]) {}

    fn handle_eof(&mut self, _now: Instant, _socket: SocketId) {}

    fn handle_error(&mut self, _now: Instant, _socket: SocketId, error: SocketError) {
        panic!("{error}");
    }

    fn handle_bound(&mut self, _now: Instant, _bound: Bound) -> Option<SocketId> {
        Some(SOCKET)
    }

    fn handle_datagrams(&mut self, now: Instant, _socket: SocketId, mut came: ReceivedDatagrams) {
        self.seen.now = now;
        while let Some(arrival) = self.socket.handle_datagrams(now, &mut came, self.admission) {
            let handle = match arrival {
                Arrival::Opened(link) => {
                    let handle = link.handle();
                    let mut opened = QuicConnection::new(now, (self.role)(), link);
                    opened.handle_opened(now, &mut self.seen).unwrap();
                    self.connections.insert(handle, opened);
                    handle
                }
                Arrival::Input(handle, input) => {
                    let Some(connection) = self.connections.get_mut(&handle) else { continue };
                    if let Err(failure) = connection.handle_input(now, input, &mut self.seen) {
                        self.seen.failures.push(failure);
                    }
                    handle
                }
            };
            self.settle(handle);
        }
        if self.socket.has_answer() {
            self.transmit();
        }
    }

    fn poll_transmit(&mut self, _: Instant, _: SocketId, _: &mut SendBuf, _: usize) {}

    fn poll_datagrams(
        &mut self,
        now: Instant,
        _socket: SocketId,
        out: &mut Vec<u8>,
        max_datagrams: usize,
    ) -> Option<DatagramTransmit> {
        if let Some(answer) = self.socket.poll_answer(out) {
            return Some(answer);
        }
        for handle in self.handles() {
            let connection = self.connections.get_mut(&handle)?;
            if let Some(transmit) = connection.poll_transmit(now, out, max_datagrams) {
                if self.first.is_empty() {
                    self.first.clone_from(out);
                }
                self.last.clone_from(out);
                let size = transmit.segment_size.unwrap_or(out.len());
                self.largest_batch = self.largest_batch.max(out.len().div_ceil(size));
                return Some(transmit);
            }
        }
        self.is_transmitting = false;
        None
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.seen.now = now;
        for handle in self.handles() {
            let Some(connection) = self.connections.get_mut(&handle) else { continue };
            if connection.poll_timeout().is_none_or(|at| at > now) {
                continue;
            }
            if let Err(failure) = connection.handle_timeout(now, &mut self.seen) {
                self.seen.failures.push(failure);
            }
            self.settle(handle);
        }
    }

    fn handle_stop(&mut self, _now: Instant) {}

    fn poll_timeout(&mut self) -> Option<Instant> {
        self.connections.values_mut().filter_map(QuicConnection::poll_timeout).min()
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }
}
