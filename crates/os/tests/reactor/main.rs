//! The reactor over real sockets on loopback, against the standard library's.
#![allow(unsafe_code, reason = "libc calls that a test needs")]
#![allow(clippy::unwrap_used, reason = "a test's own machinery may panic")]

#[macro_use]
#[path = "../script/mod.rs"]
mod script;

mod connections;
mod drained;
mod flow;
mod listeners;
mod runs;
mod timers;

use endpoint::{Action, SocketId, SocketSettings};
use os::error::Os;
use os::reactor::{Backend, Reactor, ReactorSettings, Stop};
use std::net::SocketAddr;
use std::time::Duration;

/// The only socket of a client.
const SOCKET: SocketId = SocketId(0);

fn reactor(backend: Backend, stop: Stop) -> Result<Reactor, Os> {
    Reactor::new(ReactorSettings { backend, ..ReactorSettings::default() }, stop)
}

fn lonely(backend: Backend) -> Result<Reactor, Os> {
    reactor(backend, Stop::new()?)
}

fn connect_to(remote: SocketAddr, connect_timeout: Duration) -> Action {
    let settings = SocketSettings { connect_timeout, ..SocketSettings::default() };
    Action::Connect { socket: SOCKET, remote, settings }
}
