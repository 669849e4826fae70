//! A host: one end point, its addresses, listeners and sockets.

use crate::fault::{Attempt, ConnectionPlan, Cutter};
use crate::stream::EndId;
use endpoint::{Action, Checked, EndPoint, SocketId, SocketSettings};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::net::{IpAddr, SocketAddr};
use unit::Instant;

/// A host of a world whose end point is an `E`.
pub struct Host<E> {
    id: HostId,
    end_point: PhantomData<fn() -> E>,
}

/// A host of a world, with its end point's type erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostId(pub(crate) usize);

/// Counters of the stream sockets of a host's end point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SocketTally {
    /// Sockets that it asked for or accepted.
    pub opened: usize,
    /// Those that it has not closed and that have not failed.
    pub open: usize,
    /// The greatest number open at one time.
    pub most_open: usize,
    /// Bytes that the end point gave to send.
    pub bytes_given: u64,
}

/// The default size of a socket's receive buffer in bytes: more than any test's link has in flight.
const RECEIVE_BUFFER: usize = 4 * 1024 * 1024;

/// An end point that can be downcast to its own type.
pub(crate) trait Hosted: EndPoint + Any {}

impl<E: EndPoint + 'static> Hosted for Checked<E> {}

/// Decides the fate of each connect to a host.
pub(crate) type Plan = Box<dyn FnMut(&Attempt) -> ConnectionPlan>;

pub(crate) struct HostState {
    pub(crate) end_point: Box<dyn Hosted>,
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) listeners: Vec<Listener>,
    pub(crate) sockets: BTreeMap<SocketId, Socket>,
    pub(crate) tally: SocketTally,
    pub(crate) is_started: bool,
    pub(crate) is_stopping: bool,
    pub(crate) is_finished: bool,
    /// Whether its sockets take no more bytes.
    pub(crate) blocks_writes: bool,
    /// When it wants `handle_timeout`.
    pub(crate) wake: Option<Instant>,
    pub(crate) receive_buffer: usize,
    pub(crate) cutter: Cutter,
    pub(crate) plan: Option<Plan>,
    pub(crate) attempts: usize,
    /// The actions that it asked for, where they are recorded.
    pub(crate) actions: Option<Vec<Action>>,
}

#[derive(Debug)]
pub(crate) enum Listener {
    Stream { local: SocketAddr, settings: SocketSettings },
    Datagram { local: SocketAddr },
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Socket {
    Stream(EndId),
    Datagram { local: SocketAddr },
}

impl HostState {
    pub(crate) fn new<E: EndPoint + 'static>(end_point: E, cutter: Cutter) -> Self {
        Self {
            end_point: Box::new(Checked::new(end_point)),
            addresses: Vec::new(),
            listeners: Vec::new(),
            sockets: BTreeMap::new(),
            tally: SocketTally::default(),
            is_started: false,
            is_stopping: false,
            is_finished: false,
            blocks_writes: false,
            wake: None,
            receive_buffer: RECEIVE_BUFFER,
            cutter,
            plan: None,
            attempts: 0,
            actions: None,
        }
    }

    pub(crate) fn stream(&self, socket: SocketId) -> Option<EndId> {
        match self.sockets.get(&socket) {
            Some(Socket::Stream(end)) => Some(*end),
            _ => None,
        }
    }

    pub(crate) fn opens(&mut self, socket: SocketId, end: EndId) {
        self.sockets.insert(socket, Socket::Stream(end));
        self.tally.opened += 1;
        self.tally.open += 1;
        self.tally.most_open = self.tally.most_open.max(self.tally.open);
    }

    /// Frees the socket's id.
    pub(crate) fn release(&mut self, socket: SocketId) {
        if let Some(Socket::Stream(_)) = self.sockets.remove(&socket) {
            self.tally.open -= 1;
        }
    }

    /// The number of the listener that takes connects to `remote`. One at an unspecified address takes those to every
    /// address, one at port 0 those to every port.
    pub(crate) fn listener_for(&self, remote: SocketAddr) -> Option<usize> {
        let takes = |listener: &Listener| match listener {
            Listener::Stream { local, .. } => {
                (local.ip() == remote.ip() || local.ip().is_unspecified())
                    && (local.port() == remote.port() || local.port() == 0)
            }
            Listener::Datagram { .. } => false,
        };
        self.listeners.iter().position(takes)
    }

    /// Its first address of the same family as `remote`.
    pub(crate) fn address_towards(&self, remote: IpAddr) -> Option<IpAddr> {
        self.addresses.iter().copied().find(|own| own.is_ipv4() == remote.is_ipv4())
    }
}

impl fmt::Debug for HostState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostState")
            .field("addresses", &self.addresses)
            .field("listeners", &self.listeners)
            .field("sockets", &self.sockets)
            .finish_non_exhaustive()
    }
}

impl<E> Host<E> {
    pub(crate) fn new(id: HostId) -> Self {
        Self { id, end_point: PhantomData }
    }

    /// The same with the type erased.
    pub fn id(self) -> HostId {
        self.id
    }
}

impl<E> Clone for Host<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Host<E> {}

impl<E> fmt::Debug for Host<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)
    }
}

impl<E> From<Host<E>> for HostId {
    fn from(host: Host<E>) -> Self {
        host.id
    }
}
