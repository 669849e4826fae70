//! The end point: all connections of one thread, their timers, and shutdown.

use crate::budget::{Excess, PeerAddress};
use crate::config::{ListenerKind, OriginConfig};
use crate::connection::{Connection, Spec};
use crate::shared::{Parts, Shared};
use crate::timers::{Key, Timers};
use endpoint::{Accepted, Action, EndPoint, SendBuf, SocketError, SocketId};
use slab::Slab;
use std::collections::VecDeque;
use std::net::SocketAddr;
use unit::Instant;

/// Our server, without sockets.
#[derive(Debug)]
pub struct Origin {
    shared: Shared,
    connections: Slab<Connection>,
    timers: Timers,
    actions: VecDeque<Action>,
    /// How many connections were accepted so far.
    serial: u64,
    stop: Stop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// The origin runs.
    Never,
    /// The origin is stopping: requests in progress may take until then.
    By(Instant),
    /// `Action::Finish` was given.
    Done,
}

impl Origin {
    /// An origin without connections.
    pub fn new(config: OriginConfig, parts: Parts) -> Self {
        Self {
            shared: Shared::new(config, parts),
            connections: Slab::new(),
            timers: Timers::default(),
            actions: VecDeque::new(),
            serial: 0,
            stop: Stop::Never,
        }
    }

    /// The number of open connections.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Runs after every call that may have changed a connection.
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
        if let Some(mut connection) = self.connections.try_remove(place) {
            connection.close_account(&mut self.shared);
        }
        self.finish_when_empty();
    }

    /// Resets the connections that hold most, while all of them, or those of this peer, hold too much.
    fn keep_within_budgets(&mut self, now: Instant, peer: PeerAddress) {
        let limits = self.shared.config.limits.budgets();
        while let Some(excess) = self.shared.budgets.excess(peer, limits) {
            let counts =
                |connection: &Connection| excess == Excess::Thread || connection.peer == peer;
            let candidates = self.connections.iter().filter(|(_, connection)| counts(connection));
            let most = candidates.max_by_key(|(_, connection)| connection.held());
            let Some((place, _)) = most else { return };
            self.abort(now, SocketId(place));
        }
    }

    /// Before a new connection is added: forgets what was queued for closed ones.
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

    fn handle_alarm(&mut self, now: Instant, at: Instant, key: Key) {
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
            connection.close_account(&mut self.shared);
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
        let (serial, peer) = (self.serial + 1, accepted.remote.ip().into());
        let connection = Connection::accept(now, Spec { serial, peer, tls }, &self.shared).ok()?;
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
            let peer = connection.peer;
            self.settle(socket);
            self.keep_within_budgets(now, peer);
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
            connection.close_account(&mut self.shared);
            self.finish_when_empty();
        }
    }

    fn poll_transmit(&mut self, now: Instant, socket: SocketId, out: &mut SendBuf, limit: usize) {
        if let Some(connection) = self.connections.get_mut(socket.0) {
            connection.poll_transmit(now, &mut self.shared, out, limit);
            // The driver calls until there are no bytes; then the next action is due.
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
        while let Some((at, key)) = self.timers.pop(now) {
            self.handle_alarm(now, at, key);
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
