//! The interface between an end point and its driver, and the order of the driver's calls. The one rule: the end point
//! decides, the driver only moves bytes and keeps time.
//!
//! As in quinn-proto there are four kinds of methods:
//!
//! - `handle_*` take input: bytes that arrived, changes of a socket, the passing of time.
//! - `poll_*` give output: actions on sockets, bytes to send, the time of the next `handle_timeout`.
//! - The end point's own commands (what to fetch, when to shut down) are called by its application, not by the driver.
//! - Queries (`wants_transmit`, `has_much_to_send`) change nothing.
//!
//! The order, which [`Checked`](crate::Checked) checks:
//!
//! 1. [`EndPoint::handle_start`] comes first, once.
//! 2. After every command, `handle_*`, `poll_transmit` and `poll_datagrams`, [`EndPoint::poll_action`] is called until it gives None,
//!    before the next `handle_*` or `poll_timeout`. Only the direct result of an action may come sooner: `poll_transmit`,
//!    and `handle_connected` or `handle_error` where a connect or a send succeeds or fails at once.
//! 3. `poll_transmit` and `poll_datagrams` are called for a socket after [`Action::Transmit`] named it, when the kernel
//!    can take its bytes, until they give nothing or `wants_transmit` is false. They are not called again before the next
//!    `Transmit`. Datagrams may go to the kernel later, in the order in which they were given.
//! 4. [`EndPoint::poll_timeout`] is called when nothing else is to be done; [`EndPoint::handle_timeout`] is called at that
//!    time or later, never before.
//! 5. A socket gets calls once it has its id (from `handle_accepted` or `handle_bound`) or `handle_connected` was called
//!    for it, and until `handle_error`, [`Action::Close`] or [`Action::Abort`]. A connect that fails gets
//!    `handle_error` alone. Nothing arrives after `handle_eof`.
//! 6. Nothing follows [`Action::Finish`].

use crate::datagram::{DatagramSettings, DatagramTransmit, ReceivedDatagrams};
use crate::send_buf::SendBuf;
use crate::socket::{SocketError, SocketId, SocketSettings};
use std::net::SocketAddr;
use unit::Instant;

/// A connection that a listener accepted.
#[derive(Debug, Clone, Copy)]
pub struct Accepted {
    /// Which of the driver's listeners, counted in the order in which they were given to it.
    pub listener: usize,
    /// This side's address.
    pub local: SocketAddr,
    /// The peer's address.
    pub remote: SocketAddr,
}

/// A datagram socket that the driver listens on.
#[derive(Debug, Clone, Copy)]
pub struct Bound {
    /// Which of the driver's listeners, counted in the order in which they were given to it.
    pub listener: usize,
    /// Its address.
    pub local: SocketAddr,
}

/// A request of the end point to its driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Connect a new stream socket under this id.
    Connect {
        /// Its id, chosen by the end point.
        socket: SocketId,
        /// The address to connect to.
        remote: SocketAddr,
        /// Its options.
        settings: SocketSettings,
    },
    /// Open a new datagram socket under this id. It is open at once; a failure is reported by `handle_error`.
    Bind {
        /// Its id, chosen by the end point.
        socket: SocketId,
        /// Its address; port 0 for any.
        local: SocketAddr,
        /// Its options.
        settings: DatagramSettings,
    },
    /// `poll_transmit`, or `poll_datagrams` for a datagram socket, would give bytes.
    Transmit(SocketId),
    /// Send what `poll_transmit` has already given, then FIN. Reading goes on. For stream sockets only.
    Shutdown(SocketId),
    /// Send what `poll_transmit` has already given, then close. The id is free for reuse at once, and gets no further
    /// calls.
    Close(SocketId),
    /// Close at once with RST. The id is free for reuse at once, and gets no further calls.
    Abort(SocketId),
    /// Stop reading this socket until `Resume`: back-pressure.
    Pause(SocketId),
    /// Read again.
    Resume(SocketId),
    /// Call `handle_drained` once a read of this socket has found nothing more. A paused socket is read when it is
    /// resumed. A socket that ends, fails or is closed first gets no such call.
    AwaitDrained(SocketId),
    /// The end point's work is over: the driver returns.
    Finish,
}

/// Connections and the application on them, without sockets and without a clock.
pub trait EndPoint {
    /// The driver begins. Always the first call, and the only one of its kind.
    fn handle_start(&mut self, _now: Instant) {}

    /// A listener accepted a connection: give it an id, or None to have it closed.
    fn handle_accepted(&mut self, _now: Instant, _accepted: Accepted) -> Option<SocketId> {
        None
    }

    /// A connect has succeeded, from this local address.
    fn handle_connected(&mut self, now: Instant, socket: SocketId, local: SocketAddr);

    /// Bytes arrived on a stream socket. All of them are taken.
    fn handle_bytes(&mut self, now: Instant, socket: SocketId, bytes: &[u8]);

    /// Direct receive: a buffer for what comes next on this stream socket, where the end point knows what that is
    /// without seeing it. The driver receives into it, which saves a copy, and reports by `handle_received`. None for
    /// `handle_bytes`.
    fn poll_receive_buffer(&mut self, _socket: SocketId) -> Option<&mut [u8]> {
        None
    }

    /// This many bytes arrived. They are at the start of the buffer that `poll_receive_buffer` gave.
    fn handle_received(&mut self, _now: Instant, _socket: SocketId, _bytes: usize) {}

    /// The driver listens on a datagram socket: give it an id, or None to have it closed.
    fn handle_bound(&mut self, _now: Instant, _bound: Bound) -> Option<SocketId> {
        None
    }

    /// Datagrams arrived. Empty ones are ignored.
    fn handle_datagrams(
        &mut self,
        _now: Instant,
        _socket: SocketId,
        _datagrams: ReceivedDatagrams,
    ) {
    }

    /// The peer will send nothing more on this stream socket.
    fn handle_eof(&mut self, now: Instant, socket: SocketId);

    /// The answer to [`Action::AwaitDrained`]: everything that had arrived on this socket has been handed in.
    fn handle_drained(&mut self, _now: Instant, _socket: SocketId) {}

    /// The socket (or the attempt to connect it) failed and is gone; its id is free.
    fn handle_error(&mut self, now: Instant, socket: SocketId, error: SocketError);

    /// Appends bytes to send on a stream socket. The last frame may exceed `limit`, because a frame is not cut.
    fn poll_transmit(&mut self, now: Instant, socket: SocketId, out: &mut SendBuf, limit: usize);

    /// Writes datagrams to send on a datagram socket into `out`, which is empty: at most `max_datagrams`, all to one
    /// destination, all of one size but the last. None where there is nothing to send now. What the kernel refuses is
    /// lost, as it may be on the path.
    fn poll_datagrams(
        &mut self,
        _now: Instant,
        _socket: SocketId,
        _out: &mut Vec<u8>,
        _max_datagrams: usize,
    ) -> Option<DatagramTransmit> {
        None
    }

    /// Whether this datagram socket, which has just received, has so much to send that `poll_datagrams` should be called before more
    /// is received: what it takes is in the processor's caches. A driver that sends at once need not ask.
    fn has_much_to_send(&self, _socket: SocketId) -> bool {
        false
    }

    /// Whether `poll_transmit`, which has just given bytes, may give more of them now. An end point that knows that it
    /// will not saves a call that brings nothing; it asks by `Action::Transmit` for what comes later.
    fn wants_transmit(&self, _socket: SocketId) -> bool {
        true
    }

    /// The time that `poll_timeout` returned has come.
    fn handle_timeout(&mut self, now: Instant);

    /// The driver is asked to stop; no more connections will be accepted. Take no new work, finish what was begun, then
    /// give `Action::Finish`. At the second call, abandon the work and finish at once.
    fn handle_stop(&mut self, now: Instant);

    /// After `handle_stop`: the peer has acknowledged bytes of this stream socket since the last call. A driver that
    /// cannot tell does not call it.
    fn handle_progress(&mut self, _now: Instant, _socket: SocketId) {}

    /// When to call `handle_timeout`; None for never.
    fn poll_timeout(&mut self) -> Option<Instant>;

    /// What the end point wants next.
    fn poll_action(&mut self) -> Option<Action>;
}
