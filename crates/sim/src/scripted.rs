//! An end point for tests: a peer whose behaviour is a few lines, bytes in and bytes out.

use crate::agenda::Agenda;
use endpoint::{Accepted, Action, EndPoint, SendBuf, SocketError, SocketId, SocketSettings};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use unit::Instant;

/// What a [`Scripted`] end point does when something happens. It acts by the commands of its [`Connections`].
pub trait Script {
    /// A connection was accepted, or a connect has succeeded.
    fn handle_open(&mut self, _connections: &mut Connections, _socket: SocketId) {}

    /// Bytes arrived.
    fn handle_bytes(&mut self, connections: &mut Connections, socket: SocketId, bytes: &[u8]);

    /// The peer sends nothing more. The connection is closed unless the script says otherwise.
    fn handle_eof(&mut self, connections: &mut Connections, socket: SocketId) {
        connections.close(socket);
    }

    /// The connection failed and is gone.
    fn handle_error(
        &mut self,
        _connections: &mut Connections,
        _socket: SocketId,
        _error: SocketError,
    ) {
    }

    /// A time that the script asked for by [`Connections::wake_at`] has come.
    fn handle_wake(&mut self, _connections: &mut Connections, _token: u64) {}
}

/// An end point that follows a script. It accepts every connection.
#[derive(Debug)]
pub struct Scripted<S> {
    script: S,
    connections: Connections,
}

/// The connections of a [`Scripted`] end point. Their ids count up and are not used again.
#[derive(Debug)]
pub struct Connections {
    now: Instant,
    open: BTreeMap<SocketId, Connection>,
    next: usize,
    actions: VecDeque<Action>,
    agenda: Agenda<Step>,
}

#[derive(Debug, Default)]
struct Connection {
    out: SendBuf,
    is_open: bool,
    is_told: bool,
    ending: Option<Ending>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Shutdown,
    Close,
}

/// What is to be done at its time.
#[derive(Debug)]
enum Step {
    Send(SocketId, Vec<u8>),
    Close(SocketId),
    Reset(SocketId),
    Wake(u64),
}

impl<S: Script> Scripted<S> {
    /// An end point that follows `script`.
    pub fn new(script: S) -> Self {
        let connections = Connections {
            now: Instant::ZERO,
            open: BTreeMap::new(),
            next: 0,
            actions: VecDeque::new(),
            agenda: Agenda::new(),
        };
        Self { script, connections }
    }

    /// The script.
    pub fn script(&self) -> &S {
        &self.script
    }

    /// The script, for changes.
    pub fn script_mut(&mut self) -> &mut S {
        &mut self.script
    }

    /// Runs a command of the script's own on its connections.
    pub fn command<T>(&mut self, command: impl FnOnce(&mut S, &mut Connections) -> T) -> T {
        command(&mut self.script, &mut self.connections)
    }

    /// Consumes the end point and gives its script.
    pub fn into_script(self) -> S {
        self.script
    }
}

impl<S> std::ops::Deref for Scripted<S> {
    type Target = Connections;
    fn deref(&self) -> &Connections {
        &self.connections
    }
}

impl<S> std::ops::DerefMut for Scripted<S> {
    fn deref_mut(&mut self) -> &mut Connections {
        &mut self.connections
    }
}

impl Connections {
    /// The time of the last call.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Begins a connection. Bytes sent before it is connected wait.
    ///
    /// # Panics
    /// Where `remote` is no address with a port.
    pub fn connect(&mut self, remote: &str) -> SocketId {
        self.connect_with(remote, SocketSettings::default())
    }

    /// The same with these settings.
    ///
    /// # Panics
    /// Where `remote` is no address with a port.
    pub fn connect_with(&mut self, remote: &str, settings: SocketSettings) -> SocketId {
        let remote: SocketAddr =
            remote.parse().unwrap_or_else(|_| panic!("{remote}: no address with a port"));
        let socket = self.add(Connection::default());
        self.actions.push_back(Action::Connect { socket, remote, settings });
        socket
    }

    /// Whether a connection is neither closed nor failed.
    pub fn is_open(&self, socket: SocketId) -> bool {
        self.open.contains_key(&socket)
    }

    /// The number of bytes that were sent and that the driver has not asked for yet.
    pub fn unsent(&self, socket: SocketId) -> usize {
        self.open.get(&socket).map_or(0, |connection| connection.out.len())
    }

    /// Sends bytes. Like every other command it has no effect on a closed connection.
    pub fn send(&mut self, socket: SocketId, bytes: &[u8]) {
        if let Some(connection) =
            self.open.get_mut(&socket).filter(|connection| connection.ending.is_none())
        {
            connection.out.put(bytes);
            self.tell(socket);
        }
    }

    /// Sends bytes at a later time.
    pub fn send_at(&mut self, at: Instant, socket: SocketId, bytes: &[u8]) {
        self.agenda.plan(at, Step::Send(socket, bytes.to_vec()));
    }

    /// Sends FIN after the bytes sent so far. Receiving goes on.
    pub fn shutdown(&mut self, socket: SocketId) {
        self.end(socket, Ending::Shutdown);
    }

    /// Closes the connection after the bytes sent so far.
    pub fn close(&mut self, socket: SocketId) {
        self.end(socket, Ending::Close);
    }

    /// The same at a later time.
    pub fn close_at(&mut self, at: Instant, socket: SocketId) {
        self.agenda.plan(at, Step::Close(socket));
    }

    /// Closes the connection with RST.
    pub fn reset(&mut self, socket: SocketId) {
        if self.open.remove(&socket).is_some() {
            self.actions.push_back(Action::Abort(socket));
        }
    }

    /// The same at a later time.
    pub fn reset_at(&mut self, at: Instant, socket: SocketId) {
        self.agenda.plan(at, Step::Reset(socket));
    }

    /// Stops reading until `resume`.
    pub fn pause(&mut self, socket: SocketId) {
        self.actions.push_back(Action::Pause(socket));
    }

    /// Reads again.
    pub fn resume(&mut self, socket: SocketId) {
        self.actions.push_back(Action::Resume(socket));
    }

    /// Has [`Script::handle_wake`] called at this time, with this token.
    pub fn wake_at(&mut self, at: Instant, token: u64) {
        self.agenda.plan(at, Step::Wake(token));
    }

    fn add(&mut self, connection: Connection) -> SocketId {
        let socket = SocketId(self.next);
        self.next += 1;
        self.open.insert(socket, connection);
        socket
    }

    fn end(&mut self, socket: SocketId, ending: Ending) {
        let Some(connection) = self.open.get_mut(&socket) else { return };
        if connection.ending != Some(Ending::Close) {
            connection.ending = Some(ending);
        }
        self.end_where_all_is_sent(socket);
    }

    /// A close sends only what `poll_transmit` has already given. So it waits until everything has been given.
    fn end_where_all_is_sent(&mut self, socket: SocketId) {
        let Some(connection) = self
            .open
            .get(&socket)
            .filter(|connection| connection.is_open && connection.out.is_empty())
        else {
            return;
        };
        match connection.ending {
            Some(Ending::Close) => {
                self.open.remove(&socket);
                self.actions.push_back(Action::Close(socket));
            }
            Some(Ending::Shutdown) => self.actions.push_back(Action::Shutdown(socket)),
            None => {}
        }
    }

    fn tell(&mut self, socket: SocketId) {
        let Some(connection) = self.open.get_mut(&socket) else { return };
        if connection.is_open
            && !connection.out.is_empty()
            && !std::mem::replace(&mut connection.is_told, true)
        {
            self.actions.push_back(Action::Transmit(socket));
        }
    }
}

impl<S: Script> EndPoint for Scripted<S> {
    fn handle_start(&mut self, now: Instant) {
        self.connections.now = now;
    }

    fn handle_accepted(&mut self, now: Instant, _accepted: Accepted) -> Option<SocketId> {
        self.connections.now = now;
        let socket = self.connections.add(Connection { is_open: true, ..Connection::default() });
        self.script.handle_open(&mut self.connections, socket);
        Some(socket)
    }

    fn handle_connected(&mut self, now: Instant, socket: SocketId, _local: SocketAddr) {
        self.connections.now = now;
        if let Some(connection) = self.connections.open.get_mut(&socket) {
            connection.is_open = true;
        }
        self.connections.tell(socket);
        self.connections.end_where_all_is_sent(socket);
        self.script.handle_open(&mut self.connections, socket);
    }

    fn handle_bytes(&mut self, now: Instant, socket: SocketId, bytes: &[u8]) {
        self.connections.now = now;
        self.script.handle_bytes(&mut self.connections, socket, bytes);
    }

    fn handle_eof(&mut self, now: Instant, socket: SocketId) {
        self.connections.now = now;
        self.script.handle_eof(&mut self.connections, socket);
    }

    fn handle_error(&mut self, now: Instant, socket: SocketId, error: SocketError) {
        self.connections.now = now;
        self.connections.open.remove(&socket);
        self.script.handle_error(&mut self.connections, socket, error);
    }

    fn poll_transmit(&mut self, now: Instant, socket: SocketId, out: &mut SendBuf, limit: usize) {
        self.connections.now = now;
        let Some(connection) = self.connections.open.get_mut(&socket) else { return };
        let mut left = limit.min(connection.out.len());
        for chunk in connection.out.chunks() {
            let length = left.min(chunk.len());
            out.put(&chunk[..length]);
            left -= length;
        }
        connection.out.advance(limit);
        connection.is_told = !connection.out.is_empty();
        self.connections.end_where_all_is_sent(socket);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.connections.now = now;
        while let Some(step) = self.connections.agenda.pop(now) {
            match step {
                Step::Send(socket, bytes) => self.connections.send(socket, &bytes),
                Step::Close(socket) => self.connections.close(socket),
                Step::Reset(socket) => self.connections.reset(socket),
                Step::Wake(token) => self.script.handle_wake(&mut self.connections, token),
            }
        }
    }

    fn handle_stop(&mut self, now: Instant) {
        self.connections.now = now;
        self.connections.actions.push_back(Action::Finish);
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        self.connections.agenda.next_at()
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.connections.actions.pop_front()
    }
}

/// A script that keeps what it receives and sends nothing by itself.
#[derive(Debug, Default)]
pub struct Transcript {
    received: BTreeMap<SocketId, Vec<u8>>,
    ended: BTreeMap<SocketId, Option<SocketError>>,
}

impl Transcript {
    /// The bytes received on a connection.
    pub fn received(&self, socket: SocketId) -> &[u8] {
        self.received.get(&socket).map_or(&[], Vec::as_slice)
    }

    /// The bytes received on a connection since the last call.
    pub fn take_received(&mut self, socket: SocketId) -> Vec<u8> {
        self.received.remove(&socket).unwrap_or_default()
    }

    /// How a connection ended: by FIN, or by an error. None while it is open.
    pub fn ended(&self, socket: SocketId) -> Option<Result<(), SocketError>> {
        self.ended.get(&socket).map(|error| error.map_or(Ok(()), Err))
    }
}

impl Script for Transcript {
    fn handle_bytes(&mut self, _connections: &mut Connections, socket: SocketId, bytes: &[u8]) {
        self.received.entry(socket).or_default().extend_from_slice(bytes);
    }

    fn handle_eof(&mut self, connections: &mut Connections, socket: SocketId) {
        self.ended.insert(socket, None);
        connections.close(socket);
    }

    fn handle_error(
        &mut self,
        _connections: &mut Connections,
        socket: SocketId,
        error: SocketError,
    ) {
        self.ended.insert(socket, Some(error));
    }
}
