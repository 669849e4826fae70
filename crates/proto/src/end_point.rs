//! What a reactor drives: an end point, which is many connections and what they are for. Our client
//! and our server are end points; sockets, files and clocks stay with the driver.
//!
//! The end point names its sockets: it gives an id to each accepted one and asks for connects under
//! ids of its own choosing (small, dense, reused: the driver keeps a table by them). Datagram
//! sockets join this contract with HTTP/3: one socket there is many connections, and a transmit
//! carries its destination, ECN mark and segment size.

use crate::send_buf::SendBuf;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use unit::Instant;

/// A stream socket, by the end point's own number for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SocketId(pub usize);

/// A connection that a listener took.
#[derive(Debug, Clone, Copy)]
pub struct Accepted {
    /// Which of the driver's listeners, counted in the order they were given to it.
    pub listener: usize,
    /// This side's address.
    pub local: SocketAddr,
    /// The peer's address.
    pub remote: SocketAddr,
}

/// What a socket is set to before it connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketSettings {
    /// Bytes that may wait unsent in the kernel before the socket counts as writable
    /// (TCP_NOTSENT_LOWAT): the smaller, the later the scheduler decides.
    pub unsent_low_water: u32,
    /// TCP_CONGESTION.
    pub congestion_control: CongestionControl,
    /// TCP_NODELAY, the other way round.
    pub nagle: Nagle,
    /// TCP_QUICKACK.
    pub acks: Acks,
    /// TCP_FASTOPEN_CONNECT of what connects, TCP_FASTOPEN of what listens.
    pub fast_open: FastOpen,
    /// How long a connect may take.
    pub connect_timeout: Duration,
}

impl Default for SocketSettings {
    fn default() -> Self {
        Self {
            unsent_low_water: 16 * 1024,
            congestion_control: CongestionControl::Host,
            nagle: Nagle::Off,
            acks: Acks::Delayed,
            fast_open: FastOpen::Off,
            connect_timeout: Duration::from_secs(30),
        }
    }
}

/// What holds a socket back while the path is full, by the kernel's name for it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CongestionControl {
    /// The route's choice, else the host's.
    #[default]
    Host,
    /// This one.
    Named(String),
    /// This one on addresses of loopback, between which there is no path whose capacity were to be found; the host's
    /// elsewhere.
    OnLoopback(String),
}

impl CongestionControl {
    /// What a socket is told that listens at `address` or connects to it; None leaves it as it is.
    pub fn at(&self, address: IpAddr) -> Option<&str> {
        match self {
            Self::Host => None,
            Self::Named(name) => Some(name),
            Self::OnLoopback(name) => address.to_canonical().is_loopback().then_some(name),
        }
    }
}

/// Whether a small segment waits until what was sent before it is acknowledged (RFC 9293 §3.7.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Nagle {
    /// It goes at once. Whole frames are written at once here, and Nagle's wait would be measured as the protocol's.
    #[default]
    Off,
    /// It waits.
    On,
}

/// Whether the first bytes may go with the SYN (RFC 7413).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FastOpen {
    /// They follow the handshake.
    #[default]
    Off,
    /// They go with the SYN where the server's cookie is known. A socket then counts as connected before anybody has
    /// answered.
    On,
}

/// When received bytes are acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Acks {
    /// As the kernel thinks fit: with the next segment that goes there, else after a while (RFC 9293 §3.8.6.3).
    #[default]
    Delayed,
    /// As soon as they are read.
    Quick,
}

/// Why a socket failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketError {
    /// Nobody listens there.
    Refused,
    /// The peer reset the connection.
    Reset,
    /// No answer in time.
    TimedOut,
    /// There is no way there.
    Unreachable,
    /// The process, or the system, has no more descriptors.
    NoDescriptors,
    /// Every local port towards that address is in use.
    NoPorts,
    /// Any other refusal of the system, by its errno.
    Os(i32),
}

impl std::fmt::Display for SocketError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused => f.write_str("connection refused"),
            Self::Reset => f.write_str("connection reset by peer"),
            Self::TimedOut => f.write_str("connection timed out"),
            Self::Unreachable => f.write_str("no route to the host"),
            Self::NoDescriptors => f.write_str("no more descriptors"),
            Self::NoPorts => f.write_str("no local port is left"),
            Self::Os(errno) => write!(f, "{}", std::io::Error::from_raw_os_error(*errno)),
        }
    }
}

/// What the end point wants of its driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Connect a new socket under this id.
    Connect {
        /// The id that it shall have.
        socket: SocketId,
        /// Where to.
        remote: SocketAddr,
        /// Its options.
        settings: SocketSettings,
    },
    /// `poll_transmit` would give bytes for this socket.
    Transmit(SocketId),
    /// Send what is owed (what `poll_transmit` has already given), then FIN; go on reading.
    Shutdown(SocketId),
    /// Send what is owed (what `poll_transmit` has already given), then close. The id is free for reuse
    /// at once, and gets no further calls.
    Close(SocketId),
    /// Close at once with RST. The id is free for reuse at once, and gets no further calls.
    Abort(SocketId),
    /// Read no more from this socket until `Resume`: back-pressure.
    Pause(SocketId),
    /// Read on.
    Resume(SocketId),
    /// The end point's work is over: the driver returns.
    Finish,
}

/// Many connections and what they are for, without sockets.
pub trait EndPoint {
    /// A listener took a connection: name it, or refuse it with None (it is closed then).
    fn handle_accepted(&mut self, now: Instant, accepted: Accepted) -> Option<SocketId>;

    /// A connect asked for has succeeded, from this local address.
    fn handle_connected(&mut self, now: Instant, socket: SocketId, local: SocketAddr);

    /// Bytes arrived. All of them are taken.
    fn handle_bytes(&mut self, now: Instant, socket: SocketId, bytes: &[u8]);

    /// Room for what comes next on this socket, where the end point knows what that is without seeing it: the
    /// driver receives into it, which saves a copy, and tells by `handle_filled`. None for `handle_bytes`.
    fn poll_room(&mut self, _socket: SocketId) -> Option<&mut [u8]> {
        None
    }

    /// So many bytes arrived, and stand in the room that `poll_room` gave.
    fn handle_filled(&mut self, _now: Instant, _socket: SocketId, _bytes: usize) {}

    /// The peer will send nothing more.
    fn handle_eof(&mut self, now: Instant, socket: SocketId);

    /// The socket (or the attempt to connect it) failed and is gone; its id is free.
    fn handle_error(&mut self, now: Instant, socket: SocketId, error: SocketError);

    /// Appends bytes to send, about `room` at most. Called when the socket can take them, after
    /// `Action::Transmit` and from then on until it gives nothing, or `wants_transmit` says that it would.
    fn poll_transmit(&mut self, now: Instant, socket: SocketId, out: &mut SendBuf, room: usize);

    /// Whether `poll_transmit`, which has just given bytes, may give more of them now. Who knows that it will not
    /// spares itself a call that brings nothing; it asks by `Action::Transmit` for what comes later.
    fn wants_transmit(&self, _socket: SocketId) -> bool {
        true
    }

    /// The time that `poll_timeout` told has come.
    fn handle_timeout(&mut self, now: Instant);

    /// The driver is asked to stop; no more connections will be accepted. Take no new work, finish
    /// what was begun, then give `Action::Finish`. Told again: give it up and finish at once.
    fn handle_stop(&mut self, now: Instant);

    /// When to call `handle_timeout`.
    fn poll_timeout(&mut self) -> Option<Instant>;

    /// What the end point wants next. Called until None after every other call.
    fn poll_action(&mut self) -> Option<Action>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_loopback_get_its_congestion_control() {
        let control = CongestionControl::OnLoopback("reno".to_owned());
        for here in ["127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(control.at(here.parse().unwrap()), Some("reno"), "{here}");
        }
        for elsewhere in
            ["192.0.2.1", "128.0.0.1", "0.0.0.0", "::", "2001:db8::1", "::ffff:192.0.2.1"]
        {
            assert_eq!(control.at(elsewhere.parse().unwrap()), None, "{elsewhere}");
        }
    }
}
