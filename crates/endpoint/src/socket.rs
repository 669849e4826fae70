//! What names a socket and a connection, and what a stream socket is set to.

use std::net::IpAddr;
use std::time::Duration;

/// A socket, by the end point's own number for it: small, dense and used again, since the driver keeps a table by it.
/// A stream socket carries one connection, a datagram socket many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SocketId(pub usize);

/// A connection, by the end point's own number for it. Over TCP it lives as long as its socket. Over QUIC many share a
/// socket, and one may change sockets (RFC 9000 §9). The driver never sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(pub usize);

/// What a stream socket is set to before it connects.
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
    /// SO_MAX_PACING_RATE.
    pub pacing: Pacing,
    /// TCP_FASTOPEN_CONNECT of what connects, TCP_FASTOPEN of what listens.
    pub fast_open: FastOpen,
    /// SO_KEEPALIVE: after so long a silence, and as often, TCP asks whether the peer still knows the connection. 75 questions without
    /// an answer end it. Whole seconds, at least one.
    pub keep_alive: Option<Duration>,
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
            pacing: Pacing::Host,
            fast_open: FastOpen::Off,
            keep_alive: None,
            connect_timeout: Duration::from_secs(30),
        }
    }
}

/// The congestion control, by the kernel's name for it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CongestionControl {
    /// The route's choice, else the host's.
    #[default]
    Host,
    /// This one.
    Named(String),
    /// This one for loopback addresses: between them there is no path whose capacity has to be found. The host's choice
    /// for all others.
    OnLoopback(String),
}

impl CongestionControl {
    /// The setting of a socket that listens at `address` or connects to it. None leaves the default.
    pub fn at(&self, address: IpAddr) -> Option<&str> {
        match self {
            Self::Host => None,
            Self::Named(name) => Some(name),
            Self::OnLoopback(name) => address.to_canonical().is_loopback().then_some(name),
        }
    }
}

/// Whether the kernel spreads what a congestion window allows over the round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pacing {
    /// As the host does: where the device has the queue discipline `fq`, or the congestion control paces by itself.
    #[default]
    Host,
    /// It does, at the rates of `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`.
    On,
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
