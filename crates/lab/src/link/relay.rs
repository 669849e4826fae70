//! A TCP relay as an end point: for each accepted connection it opens one to the listener's service. The one rule: bytes,
//! FIN and RST of one side are passed on to the other without delay.
//!
//! - Bytes wait in a bounded queue. While it is full the side that fills it is not read, so that its window closes.
//! - A FIN is passed on behind the bytes before it, and the other direction stays open.
//! - A reset, and a service that cannot be reached, becomes a reset of the other side.

use endpoint::{Accepted, Action, EndPoint, Nagle, SendBuf, SocketError, SocketId, SocketSettings};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;
use unit::Instant;

/// Where the connections of one listener go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Route {
    /// The service, as the user named it.
    pub(crate) service: String,
    /// Its addresses, tried in this order.
    pub(crate) addresses: Vec<SocketAddr>,
}

/// Where accepted connections go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Targets {
    /// Each listener's to its route, in the listeners' order.
    Routes(Vec<Route>),
    /// To the address that the client asked for, which this process's namespace reaches elsewhere: a proxy in the path.
    AsAsked {
        /// The most bytes that wait of one connection and direction.
        buffer: usize,
    },
}

/// Is called when a service cannot be reached, once until it can be again.
pub(crate) type OnUnreachable = Box<dyn FnMut(&Route, SocketError)>;

/// Relays connections.
pub(crate) struct Relay {
    /// By the number of their listener; of a proxy one for each address that was asked for.
    routes: Vec<Route>,
    is_proxy: bool,
    /// A queue of so many bytes is full.
    full: usize,
    /// Services to which the last connection failed. Several routes may lead to one.
    unreachable: BTreeSet<String>,
    on_unreachable: OnUnreachable,
    /// By socket; None where an id is free.
    sides: Vec<Option<Side>>,
    free: Vec<SocketId>,
    actions: VecDeque<Action>,
}

/// One of the two sockets of a relayed connection.
struct Side {
    other: SocketId,
    phase: Phase,
    /// Bytes of the other side, to be sent here.
    queue: SendBuf,
    /// Not read, because the other side's queue is full.
    paused: bool,
    /// The peer has sent its FIN.
    ended: bool,
    /// Our FIN.
    fin: Fin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// This address of the route is being tried.
    Connecting {
        route: usize,
        address: usize,
    },
    Open,
}

/// How far the FIN that a side is to send has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fin {
    /// The other side still sends.
    NotDue,
    /// It follows the queue.
    Due,
    Sent,
}

/// What waits between two given addresses at most, in bytes.
const FULL: usize = 128 * 1024;

/// What relayed sockets are set to: nothing waits for more (Nagle), and little lies unsent in the kernel.
pub(crate) fn socket_settings() -> SocketSettings {
    SocketSettings { nagle: Nagle::Off, unsent_low_water: 64 * 1024, ..SocketSettings::default() }
}

impl Relay {
    /// Relays what the driver's listeners take to `targets`.
    pub(crate) fn new(targets: Targets, on_unreachable: OnUnreachable) -> Self {
        let (routes, is_proxy, full) = match targets {
            Targets::Routes(routes) => (routes, false, FULL),
            Targets::AsAsked { buffer } => (Vec::new(), true, buffer),
        };
        Self {
            routes,
            is_proxy,
            full,
            unreachable: BTreeSet::new(),
            on_unreachable,
            sides: Vec::new(),
            free: Vec::new(),
            actions: VecDeque::new(),
        }
    }

    /// The number of the route that an accepted connection takes.
    fn route_of(&mut self, accepted: &Accepted) -> usize {
        if !self.is_proxy {
            return accepted.listener;
        }
        let asked = accepted.local;
        let known = self.routes.iter().position(|route| route.addresses[..] == [asked]);
        known.unwrap_or_else(|| {
            self.routes.push(Route { service: asked.to_string(), addresses: vec![asked] });
            self.routes.len() - 1
        })
    }

    fn add(&mut self, side: Side) -> SocketId {
        match self.free.pop() {
            Some(id) => {
                self.sides[id.0] = Some(side);
                id
            }
            None => {
                self.sides.push(Some(side));
                SocketId(self.sides.len() - 1)
            }
        }
    }

    fn side(&mut self, socket: SocketId) -> Option<&mut Side> {
        self.sides.get_mut(socket.0)?.as_mut()
    }

    fn remove(&mut self, socket: SocketId) {
        if self.sides[socket.0].take().is_some() {
            self.free.push(socket);
        }
    }

    /// Tries address number `address` of a route; false where there is none such.
    fn connect(&mut self, socket: SocketId, route: usize, address: usize) -> bool {
        let Some(&remote) = self.routes[route].addresses.get(address) else { return false };
        if let Some(side) = self.side(socket) {
            side.phase = Phase::Connecting { route, address };
        }
        self.actions.push_back(Action::Connect { socket, remote, settings: socket_settings() });
        true
    }

    /// Sends the FIN that is due where nothing is before it any more, and closes both sides when both have ended.
    fn pass_on_end(&mut self, socket: SocketId) {
        let Some(side) = self.side(socket) else { return };
        let is_next = side.phase == Phase::Open && side.queue.is_empty();
        if side.fin != Fin::Due || !is_next {
            return;
        }
        side.fin = Fin::Sent;
        let (ended, other) = (side.ended, side.other);
        self.actions.push_back(Action::Shutdown(socket));
        if ended && self.side(other).is_some_and(|other| other.fin == Fin::Sent) {
            for socket in [socket, other] {
                self.actions.push_back(Action::Close(socket));
                self.remove(socket);
            }
        }
    }

    /// Resets the side that is left, and forgets both.
    fn break_off(&mut self, failed: SocketId, other: SocketId) {
        self.actions.push_back(Action::Abort(other));
        self.remove(failed);
        self.remove(other);
    }
}

impl EndPoint for Relay {
    fn handle_accepted(&mut self, _now: Instant, accepted: Accepted) -> Option<SocketId> {
        let route = self.route_of(&accepted);
        let side = |other, phase| Side {
            other,
            phase,
            queue: SendBuf::new(),
            paused: false,
            ended: false,
            fin: Fin::NotDue,
        };
        // Which socket is the other one is known when both have an id.
        let client = self.add(side(SocketId(0), Phase::Open));
        let service = self.add(side(client, Phase::Connecting { route, address: 0 }));
        self.side(client)?.other = service;
        if self.connect(service, route, 0) {
            return Some(client);
        }
        self.remove(client);
        self.remove(service);
        None
    }

    fn handle_connected(&mut self, _now: Instant, socket: SocketId, _local: SocketAddr) {
        let Some(side) = self.side(socket) else { return };
        let before = std::mem::replace(&mut side.phase, Phase::Open);
        if !side.queue.is_empty() {
            self.actions.push_back(Action::Transmit(socket));
        }
        if let Phase::Connecting { route, .. } = before {
            self.unreachable.remove(&self.routes[route].service);
        }
        self.pass_on_end(socket);
    }

    fn handle_bytes(&mut self, _now: Instant, socket: SocketId, bytes: &[u8]) {
        let Some(other) = self.side(socket).map(|side| side.other) else { return };
        let full = self.full;
        let Some(to) = self.side(other) else { return };
        to.queue.put(bytes);
        let (is_open, is_full) = (to.phase == Phase::Open, to.queue.len() >= full);
        if is_open {
            self.actions.push_back(Action::Transmit(other));
        }
        if let Some(from) = self.side(socket)
            && is_full
            && !from.paused
        {
            from.paused = true;
            self.actions.push_back(Action::Pause(socket));
        }
    }

    fn handle_eof(&mut self, _now: Instant, socket: SocketId) {
        let Some(side) = self.side(socket) else { return };
        side.ended = true;
        let other = side.other;
        if let Some(to) = self.side(other) {
            to.fin = Fin::Due;
        }
        self.pass_on_end(other);
    }

    fn handle_error(&mut self, _now: Instant, socket: SocketId, error: SocketError) {
        let Some(side) = self.side(socket) else { return };
        let (other, phase) = (side.other, side.phase);
        if let Phase::Connecting { route, address } = phase {
            if self.connect(socket, route, address + 1) {
                return;
            }
            let route = &self.routes[route];
            if self.unreachable.insert(route.service.clone()) {
                (self.on_unreachable)(route, error);
            }
        }
        self.break_off(socket, other);
    }

    fn poll_transmit(&mut self, _now: Instant, socket: SocketId, out: &mut SendBuf, limit: usize) {
        let resume = self.full / 2;
        let Some(side) = self.side(socket) else { return };
        side.queue.move_to(out, limit);
        // A queue that was full takes bytes again when half of it has left.
        let (has_space, other) = (side.queue.len() <= resume, side.other);
        if let Some(from) = self.side(other)
            && has_space
            && from.paused
        {
            from.paused = false;
            if !from.ended {
                self.actions.push_back(Action::Resume(other));
            }
        }
        self.pass_on_end(socket);
    }

    fn wants_transmit(&self, socket: SocketId) -> bool {
        let side = self.sides.get(socket.0).and_then(Option::as_ref);
        side.is_some_and(|side| !side.queue.is_empty())
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn handle_stop(&mut self, _now: Instant) {
        self.actions.push_back(Action::Finish);
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        None
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }
}

#[cfg(test)]
#[path = "relay_tests.rs"]
mod tests;
