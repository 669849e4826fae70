//! The end point: all connections of one thread, their timers, and the way out.

use crate::access::AccessLog;
use crate::buffer_pool::BufferPool;
use crate::config::{ListenerKind, OriginConfig};
use crate::connection::Connection;
use crate::files::Files;
use crate::policy::Policy;
use crate::response_cache::CachedResponse;
use crate::site::Site;
use crate::timers::{Key, Timers};
use crate::wall_clock::DateField;
use endpoint::{Accepted, Action, EndPoint, SendBuf, SocketError, SocketId};
use proto::{Fields, ResponseHead, Status};
use slab::Slab;
use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::rc::Rc;
use trace::Tracer;
use transport::ServerSettings;
use unit::Instant;

/// What an origin works with that belongs to its thread alone.
#[derive(Default)]
pub struct Parts {
    /// Static files; None serves none.
    pub files: Option<Box<dyn Files>>,
    /// Takes a record of each exchange.
    pub log: Option<Rc<dyn AccessLog>>,
    /// What is said beside the answers.
    pub policy: Option<Box<dyn Policy>>,
    /// For the events of the connections.
    pub tracer: Tracer,
}

/// Our server, without sockets.
#[derive(Debug)]
pub struct Origin {
    shared: Shared,
    connections: Slab<Connection>,
    timers: Timers,
    actions: VecDeque<Action>,
    /// Connections accepted so far.
    serial: u64,
    stop: Stop,
}

/// What all connections use.
pub(crate) struct Shared {
    pub(crate) config: OriginConfig,
    pub(crate) site: Site,
    pub(crate) log: Option<Rc<dyn AccessLog>>,
    pub(crate) policy: Option<Box<dyn Policy>>,
    pub(crate) tracer: Tracer,
    pub(crate) buffers: BufferPool,
    /// What all connections speak and are set to.
    pub(crate) transport: Rc<ServerSettings>,
    date: DateField,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// Nobody has asked.
    Never,
    /// Requests under way may take until then.
    By(Instant),
    /// The driver was told.
    Done,
}

impl Origin {
    /// An origin without connections.
    pub fn new(config: OriginConfig, parts: Parts) -> Self {
        let shared = Shared {
            site: Site::new(parts.files, config.table.clone()),
            date: DateField::new(config.wall_clock),
            transport: Rc::new(config.transport()),
            config,
            log: parts.log,
            policy: parts.policy,
            tracer: parts.tracer,
            buffers: BufferPool::default(),
        };
        Self {
            shared,
            connections: Slab::new(),
            timers: Timers::default(),
            actions: VecDeque::new(),
            serial: 0,
            stop: Stop::Never,
        }
    }

    /// Connections at the moment.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Follows every call that may have changed a connection.
    fn settle(&mut self, SocketId(place): SocketId) {
        let Some(connection) = self.connections.get_mut(place) else { return };
        let socket = SocketId(place);
        if connection.wants_transmit() {
            self.actions.push_back(Action::Transmit(socket));
        } else {
            match connection.next_step(socket) {
                Some(Action::Close(_)) => {
                    self.actions.push_back(Action::Close(socket));
                    return self.forget(place);
                }
                Some(step) => self.actions.push_back(step),
                None => {}
            }
        }
        if let Some(change) = connection.next_pause(socket) {
            self.actions.push_back(change);
        }
        connection.arm(place, &self.shared.config.limits, &mut self.timers);
    }

    fn forget(&mut self, place: usize) {
        self.connections.try_remove(place);
        self.finish_when_empty();
    }

    /// Before one more connection is there: forgets what those that are gone were promised.
    fn tidy(&mut self) {
        let connections = &self.connections;
        self.timers.tidy(connections.len(), |at, key| {
            let awaits = |connection: &Connection| {
                connection.serial == key.serial && connection.armed == Some(at)
            };
            connections.get(key.place).is_some_and(awaits)
        });
    }

    fn finish_when_empty(&mut self) {
        if matches!(self.stop, Stop::By(_)) && self.connections.is_empty() {
            self.stop = Stop::Done;
            self.actions.push_back(Action::Finish);
        }
    }

    fn handle_alarm(&mut self, now: Instant, (at, key): (Instant, Key)) {
        let Some(connection) = self.connections.get_mut(key.place) else { return };
        if connection.serial != key.serial || connection.armed != Some(at) {
            return;
        }
        connection.armed = None;
        let socket = SocketId(key.place);
        if connection.is_out_of_patience(now, &self.shared.config.limits) {
            return self.abort(now, socket);
        }
        connection.handle_timeout(now, &mut self.shared);
        self.settle(socket);
    }

    fn abort(&mut self, now: Instant, SocketId(place): SocketId) {
        if let Some(mut connection) = self.connections.try_remove(place) {
            connection.cut_off(now, &mut self.shared);
            self.actions.push_back(Action::Abort(SocketId(place)));
            self.finish_when_empty();
        }
    }

    fn abort_all(&mut self, now: Instant) {
        let places: Vec<usize> = self.connections.iter().map(|(place, _)| place).collect();
        for place in places {
            self.abort(now, SocketId(place));
        }
        self.finish_when_empty();
    }
}

impl EndPoint for Origin {
    fn handle_accepted(&mut self, now: Instant, accepted: Accepted) -> Option<SocketId> {
        if self.connections.len() >= self.shared.config.limits.connections {
            return None;
        }
        let tls = match self.shared.config.listeners.get(accepted.listener)? {
            ListenerKind::Clear => None,
            ListenerKind::Tls(settings) => Some(settings),
        };
        let connection = Connection::accept(now, self.serial + 1, &self.shared, tls).ok()?;
        self.tidy();
        self.serial += 1;
        let place = self.connections.insert(connection);
        self.connections[place].arm(place, &self.shared.config.limits, &mut self.timers);
        Some(SocketId(place))
    }

    fn handle_connected(&mut self, _now: Instant, _socket: SocketId, _local: SocketAddr) {
        debug_assert!(false, "an origin asks for no connects");
    }

    fn handle_bytes(&mut self, now: Instant, socket: SocketId, bytes: &[u8]) {
        if let Some(connection) = self.connections.get_mut(socket.0) {
            connection.handle_bytes(now, &mut self.shared, bytes);
            self.settle(socket);
        }
    }

    fn handle_eof(&mut self, now: Instant, socket: SocketId) {
        if let Some(connection) = self.connections.get_mut(socket.0) {
            connection.handle_eof(now, &mut self.shared);
            self.settle(socket);
        }
    }

    fn handle_error(&mut self, now: Instant, socket: SocketId, _error: SocketError) {
        if let Some(mut connection) = self.connections.try_remove(socket.0) {
            connection.cut_off(now, &mut self.shared);
            self.finish_when_empty();
        }
    }

    fn poll_transmit(&mut self, now: Instant, socket: SocketId, out: &mut SendBuf, room: usize) {
        if let Some(connection) = self.connections.get_mut(socket.0) {
            connection.poll_transmit(now, &mut self.shared, out, room);
            // The driver comes back until there is nothing; then it is time for the next step.
            if !connection.wants_transmit() {
                self.settle(socket);
            } else {
                if let Some(change) = connection.next_pause(socket) {
                    self.actions.push_back(change);
                }
                connection.arm(socket.0, &self.shared.config.limits, &mut self.timers);
            }
        }
    }

    fn wants_transmit(&self, socket: SocketId) -> bool {
        self.connections.get(socket.0).is_some_and(Connection::wants_transmit)
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(alarm) = self.timers.pop(now) {
            self.handle_alarm(now, alarm);
        }
        if matches!(self.stop, Stop::By(at) if at <= now) {
            self.abort_all(now);
        }
    }

    fn handle_stop(&mut self, now: Instant) {
        if self.stop != Stop::Never {
            return self.abort_all(now);
        }
        self.stop = Stop::By(now + self.shared.config.limits.drain);
        let places: Vec<usize> = self.connections.iter().map(|(place, _)| place).collect();
        for place in places {
            if let Some(connection) = self.connections.get_mut(place) {
                connection.shutdown(now, &mut self.shared);
                self.settle(SocketId(place));
            }
        }
        self.finish_when_empty();
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        match (self.timers.next(), self.stop) {
            (Some(timer), Stop::By(at)) => Some(timer.min(at)),
            (None, Stop::By(at)) => Some(at),
            (timer, _) => timer,
        }
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }
}

impl Shared {
    /// The head of a response that is kept, with this second's date.
    pub(crate) fn cached_head(
        &mut self,
        now: Instant,
        cached: &CachedResponse,
    ) -> Rc<ResponseHead> {
        let second = self.config.wall_clock.seconds(now);
        cached.head(second, |fields| self.head(now, cached.status(), fields))
    }

    /// A response head with the fields that every answer gets.
    pub(crate) fn head(&mut self, now: Instant, status: Status, fields: &Fields) -> ResponseHead {
        let mut head = ResponseHead::new(status);
        head.fields.push(b"date", self.date.at(now).as_bytes());
        head.fields.push(b"server", self.config.server.as_bytes());
        for field in fields.iter() {
            head.fields.push_field(field);
        }
        head
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("config", &self.config).finish_non_exhaustive()
    }
}
