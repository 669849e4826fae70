//! An end point that does what a test's closure says, and fails the test where the reactor breaks the order of calls.
#![allow(dead_code, reason = "each test binary uses a part")]

use endpoint::{
    Accepted, Action, Checked, EndPoint, SendBuf, SocketError, SocketId, SocketSettings,
};
use os::error::Os;
use os::reactor::{Backend, Reactor, ReactorSettings, Stop};
use os::tcp::{Listener, Sharing};
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;
use unit::Instant;

/// What the reactor told.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Seen {
    Accepted(SocketId),
    Connected(SocketId),
    Bytes(SocketId, Vec<u8>),
    Eof(SocketId),
    Drained(SocketId),
    Failed(SocketId, SocketError),
    Timeout,
    Stop,
}

/// What the closure works with.
#[derive(Default)]
pub(crate) struct Desk {
    pub(crate) actions: VecDeque<Action>,
    pub(crate) outgoing: HashMap<SocketId, SendBuf>,
    pub(crate) timeout: Option<Instant>,
    /// Bytes given to `poll_transmit`'s callers, and how often it was called.
    pub(crate) given: usize,
    pub(crate) asked: usize,
    /// The largest `limit` given.
    pub(crate) limit: usize,
    /// The latest.
    pub(crate) latest_limit: usize,
}

impl Desk {
    pub(crate) fn send(&mut self, socket: SocketId, bytes: &[u8]) {
        self.outgoing.entry(socket).or_default().put(bytes);
        self.actions.push_back(Action::Transmit(socket));
    }

    pub(crate) fn act(&mut self, action: Action) {
        self.actions.push_back(action);
    }
}

pub(crate) struct Script<F> {
    pub(crate) desk: Desk,
    next: usize,
    handle: F,
}

/// An end point for one run. It does nothing at its start.
pub(crate) fn scripted<F: FnMut(&mut Desk, Seen)>(handle: F) -> Checked<Script<F>> {
    scripted_from(Desk::default(), handle)
}

/// An end point for one run. At its start it does what stands on `desk`.
pub(crate) fn scripted_from<F: FnMut(&mut Desk, Seen)>(
    desk: Desk,
    handle: F,
) -> Checked<Script<F>> {
    Checked::new(Script { desk, next: 0, handle })
}

/// What a client begins with.
pub(crate) fn desk_with(action: Action) -> Desk {
    let mut desk = Desk::default();
    desk.act(action);
    desk
}

impl<F: FnMut(&mut Desk, Seen)> EndPoint for Script<F> {
    fn handle_accepted(&mut self, _now: Instant, _accepted: Accepted) -> Option<SocketId> {
        let socket = SocketId(self.next);
        self.next += 1;
        (self.handle)(&mut self.desk, Seen::Accepted(socket));
        Some(socket)
    }

    fn handle_connected(&mut self, _now: Instant, socket: SocketId, _local: SocketAddr) {
        (self.handle)(&mut self.desk, Seen::Connected(socket));
    }

    fn handle_bytes(&mut self, _now: Instant, socket: SocketId, bytes: &[u8]) {
        (self.handle)(&mut self.desk, Seen::Bytes(socket, bytes.to_vec()));
    }

    fn handle_eof(&mut self, _now: Instant, socket: SocketId) {
        (self.handle)(&mut self.desk, Seen::Eof(socket));
    }

    fn handle_drained(&mut self, _now: Instant, socket: SocketId) {
        (self.handle)(&mut self.desk, Seen::Drained(socket));
    }

    fn handle_error(&mut self, _now: Instant, socket: SocketId, error: SocketError) {
        (self.handle)(&mut self.desk, Seen::Failed(socket, error));
    }

    fn poll_transmit(&mut self, _now: Instant, socket: SocketId, out: &mut SendBuf, limit: usize) {
        self.desk.limit = self.desk.limit.max(limit);
        self.desk.latest_limit = limit;
        self.desk.asked += 1;
        if let Some(outgoing) = self.desk.outgoing.get_mut(&socket) {
            let first = outgoing.chunks().next().unwrap_or_default();
            let count = first.len().min(limit);
            out.put(&first[..count]);
            outgoing.advance(count);
            self.desk.given += count;
        }
    }

    fn wants_transmit(&self, socket: SocketId) -> bool {
        self.desk.outgoing.get(&socket).is_some_and(|outgoing| !outgoing.is_empty())
    }

    fn handle_timeout(&mut self, _now: Instant) {
        self.desk.timeout = None;
        (self.handle)(&mut self.desk, Seen::Timeout);
    }

    fn handle_stop(&mut self, _now: Instant) {
        (self.handle)(&mut self.desk, Seen::Stop);
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        self.desk.timeout
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.desk.actions.pop_front()
    }
}

/// A reactor that listens on a free port of loopback.
pub(crate) fn listening(backend: Backend) -> Result<(Reactor, SocketAddr, Stop), Os> {
    let stop = Stop::new()?;
    let linger = Duration::from_secs(5);
    let settings = ReactorSettings { backend, linger, ..ReactorSettings::default() };
    let mut reactor = Reactor::new(settings, stop.clone())?;
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = Listener::bind(any, Sharing::Found, &SocketSettings::default())?;
    let address = listener.local();
    reactor.listen(listener)?;
    Ok((reactor, address, stop))
}

/// Whether the kernel has `backend`. Where it does not, the test is skipped.
pub(crate) fn is_there(backend: Backend) -> bool {
    let Err(error) = backend.probe() else { return true };
    testing::skip(format_args!("{error} ({})", error.remedy().unwrap_or("?")));
    false
}

/// Makes a test of each function, for each backend.
#[macro_export]
macro_rules! with_each_backend {
    ($($name:ident)*) => {
        mod epoll {
            $(#[test] fn $name() { super::$name(os::reactor::Backend::Epoll) })*
        }
        mod io_uring {
            $(#[test] fn $name() {
                if $crate::script::is_there(os::reactor::Backend::IoUring) {
                    super::$name(os::reactor::Backend::IoUring)
                }
            })*
        }
    };
}
