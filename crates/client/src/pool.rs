//! Which request goes on which connection, and when another one is opened: a browser's rules.
//!
//! For each origin (scheme, host, port):
//! - A request takes the free connection that was used last. The most urgent request goes first, then the one asked
//!   for first.
//! - While none is free, a connection is opened for each waiting request: up to the limit for HTTP/1.1, one for
//!   HTTP/2. A waiting request takes the first connection that is ready.
//! - Where the server may choose HTTP/2, one connection is opened first, and its protocol awaited.
//! - After a failed connect, no other is begun until one has succeeded or the last connection is gone: a server that
//!   accepts only four is used with four. Where none is left, all waiting requests fail.
//! - Where the limit on all connections is reached, an idle one of another origin is closed.
//!
//! Connections are shared between hosts only where the client's configuration says that they are one (coalescing, RFC 9113
//! §9.1.1). The one rule: the pool decides; the
//! client opens, sends and reports the result.

use crate::{FetchId, PoolLimits};
use endpoint::ConnectionId;
use page::Scheme;
use std::collections::{BTreeSet, HashMap};
use transport::Protocol;

/// The origin whose connections are shared: scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    pub(crate) scheme: Scheme,
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// The index of an origin in the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct OriginId(usize);

/// The next step of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Open a connection, and report its number with `opened`.
    Open(OriginId),
    /// Send this request on this connection. It has left the queue.
    Send(FetchId, ConnectionId),
    /// Close this idle connection, because another origin needs one.
    Evict(ConnectionId),
}

#[derive(Debug)]
pub(crate) struct Pool {
    limits: PoolLimits,
    origins: Vec<Members>,
    index: HashMap<Origin, OriginId>,
    /// Origins that may have a next step.
    restless: BTreeSet<usize>,
    /// Origins that wait because the limit on all connections is reached.
    crowded: BTreeSet<usize>,
    total: usize,
}

#[derive(Debug)]
struct Members {
    origin: Origin,
    /// The protocol of its connections, once known.
    protocol: Option<Protocol>,
    waiting: BTreeSet<(u8, FetchId)>,
    members: Vec<Member>,
    attempts: Attempts,
}

/// The result of the latest attempts to connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempts {
    Succeed,
    Fail,
}

#[derive(Debug)]
struct Member {
    connection: ConnectionId,
    state: MemberState,
}

/// How many requests a connection takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemberState {
    /// Connecting or shaking hands.
    Opening,
    /// Takes this many more requests now.
    Open { available: usize, load: Load },
    /// Takes no more requests, ever.
    Draining,
}

/// Whether a connection has requests in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    Idle,
    Busy,
}

impl Pool {
    pub(crate) fn new(limits: PoolLimits) -> Self {
        Self {
            limits,
            origins: Vec::new(),
            index: HashMap::new(),
            restless: BTreeSet::new(),
            crowded: BTreeSet::new(),
            total: 0,
        }
    }

    /// The index of `origin`, which is added if it is new. `protocol`: what will be spoken, where known.
    pub(crate) fn enter(&mut self, origin: Origin, protocol: Option<Protocol>) -> OriginId {
        if let Some(&id) = self.index.get(&origin) {
            return id;
        }
        let id = OriginId(self.origins.len());
        self.index.insert(origin.clone(), id);
        self.origins.push(Members {
            origin,
            protocol,
            waiting: BTreeSet::new(),
            members: Vec::new(),
            attempts: Attempts::Succeed,
        });
        id
    }

    pub(crate) fn origin(&self, id: OriginId) -> &Origin {
        &self.origins[id.0].origin
    }

    /// Whether an origin has no connection and may have one.
    pub(crate) fn may_open(&self, id: OriginId) -> bool {
        self.origins[id.0].members.is_empty() && self.total < self.limits.total
    }

    /// Queues a request.
    pub(crate) fn wait(&mut self, id: OriginId, urgency: u8, fetch: FetchId) {
        self.origins[id.0].waiting.insert((urgency, fetch));
        self.restless.insert(id.0);
    }

    /// Removes a request from the queue.
    pub(crate) fn forget(&mut self, id: OriginId, urgency: u8, fetch: FetchId) {
        self.origins[id.0].waiting.remove(&(urgency, fetch));
    }

    /// Adds the connection that `Step::Open` asked for.
    pub(crate) fn opened(&mut self, id: OriginId, connection: ConnectionId) {
        self.origins[id.0].members.push(Member { connection, state: MemberState::Opening });
        self.total += 1;
        self.restless.insert(id.0);
    }

    /// Sets the protocol of the origin's connections.
    pub(crate) fn learned(&mut self, id: OriginId, protocol: Protocol) {
        self.origins[id.0].protocol = Some(protocol);
        self.restless.insert(id.0);
    }

    /// Updates how many requests a connection takes.
    pub(crate) fn changed(&mut self, id: OriginId, connection: ConnectionId, state: MemberState) {
        let origin = &mut self.origins[id.0];
        let members = &mut origin.members;
        let Some(place) = members.iter().position(|member| member.connection == connection) else {
            return;
        };
        if members[place].state == state {
            return;
        }
        if members[place].state == MemberState::Opening {
            origin.attempts = Attempts::Succeed;
        }
        if matches!(state, MemberState::Open { load: Load::Idle, .. }) {
            // It may be closed for another origin.
            self.restless.extend(self.crowded.iter());
        }
        // The connection used last is the last in the list.
        let mut member = members.remove(place);
        member.state = state;
        members.push(member);
        self.restless.insert(id.0);
    }

    /// Removes a connection.
    pub(crate) fn closed(&mut self, id: OriginId, connection: ConnectionId) {
        let members = &mut self.origins[id.0].members;
        let before = members.len();
        members.retain(|member| member.connection != connection);
        self.total -= before - members.len();
        self.restless.extend(self.crowded.iter());
        self.restless.insert(id.0);
    }

    /// Removes a connection whose connect failed. Returns the requests that will get no connection.
    pub(crate) fn failed(&mut self, id: OriginId, connection: ConnectionId) -> Vec<FetchId> {
        self.closed(id, connection);
        let origin = &mut self.origins[id.0];
        if origin.members.iter().any(|member| member.state != MemberState::Draining) {
            origin.attempts = Attempts::Fail;
            return Vec::new();
        }
        self.waiting(id)
    }

    /// The waiting requests, in order.
    pub(crate) fn waiting(&self, id: OriginId) -> Vec<FetchId> {
        self.origins[id.0].waiting.iter().map(|&(_, fetch)| fetch).collect()
    }

    /// The next step; None until something changes.
    pub(crate) fn next_step(&mut self) -> Option<Step> {
        while let Some(&place) = self.restless.first() {
            if let Some(step) = self.step_of(place) {
                return Some(step);
            }
            self.restless.remove(&place);
        }
        None
    }

    fn step_of(&mut self, place: usize) -> Option<Step> {
        let origin = &mut self.origins[place];
        let &(_, fetch) = origin.waiting.first()?;
        if let Some(connection) = origin.take_stream() {
            origin.waiting.pop_first();
            return Some(Step::Send(fetch, connection));
        }
        if !origin.wants_another(self.limits.per_origin) {
            return None;
        }
        if self.total < self.limits.total {
            self.crowded.remove(&place);
            return Some(Step::Open(OriginId(place)));
        }
        self.crowded.insert(place);
        self.idle_elsewhere(place).map(Step::Evict)
    }

    /// An idle connection of another origin: the one there that was used longest ago.
    fn idle_elsewhere(&self, place: usize) -> Option<ConnectionId> {
        let others = self.origins.iter().enumerate().filter(|(other, _)| *other != place);
        let mut members = others.flat_map(|(_, origin)| &origin.members);
        let idle =
            |member: &&Member| matches!(member.state, MemberState::Open { load: Load::Idle, .. });
        members.find(idle).map(|member| member.connection)
    }
}

impl Members {
    /// Takes a stream of the connection that was used last, of those that have one free.
    fn take_stream(&mut self) -> Option<ConnectionId> {
        self.members.iter_mut().rev().find_map(|member| match &mut member.state {
            MemberState::Open { available, load } if *available > 0 => {
                *available -= 1;
                *load = Load::Busy;
                Some(member.connection)
            }
            _ => None,
        })
    }

    fn wants_another(&self, per_origin: usize) -> bool {
        if self.attempts == Attempts::Fail && !self.members.is_empty() {
            return false;
        }
        let count = |wanted: fn(&MemberState) -> bool| {
            self.members.iter().filter(|member| wanted(&member.state)).count()
        };
        let opening = count(|state| *state == MemberState::Opening);
        match self.protocol {
            Some(protocol) if !protocol.multiplexes() => {
                opening < self.waiting.len() && self.members.len() < per_origin
            }
            // A draining connection finishes its requests; its successor takes the others.
            Some(_) | None => count(|state| *state != MemberState::Draining) == 0,
        }
    }
}

#[cfg(test)]
mod tests;
