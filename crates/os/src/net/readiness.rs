//! When a server is ready, read from the kernel's socket tables. No probing connection is made.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// What to wait for before the near program starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitFor {
    /// Nothing.
    Nothing,
    /// Until far listens anywhere, or has a UDP socket bound. After this time the run goes on anyway.
    Listening(Duration),
    /// Until far listens on this TCP or UDP port. After this time the run fails.
    Port(u16, Duration),
}

impl WaitFor {
    pub(crate) fn limit(self) -> Duration {
        match self {
            Self::Nothing => Duration::ZERO,
            Self::Listening(limit) | Self::Port(_, limit) => limit,
        }
    }
}

/// The ports with a listener or a bound UDP socket in this thread's network namespace.
pub(crate) fn bound_ports() -> Vec<u16> {
    let mut ports = Vec::new();
    for (table, states) in [("tcp", TCP), ("tcp6", TCP), ("udp", UDP), ("udp6", UDP)] {
        // A kernel without IPv6 has no table of it.
        if let Ok(text) = fs::read_to_string(format!("/proc/thread-self/net/{table}")) {
            ports.extend(text.lines().filter_map(|line| port_of(line, states)));
        }
    }
    ports
}

/// What a server listens by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listening {
    /// A TCP socket that takes connections.
    Tcp,
    /// A UDP socket that is bound.
    Udp,
}

impl Listening {
    /// The kernel's tables of such sockets, and the state of a listening one in each.
    fn tables(self) -> ([&'static str; 2], &'static str) {
        match self {
            Self::Tcp => (["tcp", "tcp6"], TCP),
            Self::Udp => (["udp", "udp6"], UDP),
        }
    }
}

/// Whether a TCP socket listens on this address, or on all addresses, in this thread's network namespace. No connection
/// is made.
pub fn is_listened_on(address: SocketAddr) -> bool {
    listens(Listening::Tcp, address)
}

/// Whether a socket listens on this address, or on all addresses, in this thread's network namespace.
pub(crate) fn listens(listening: Listening, address: SocketAddr) -> bool {
    let (tables, state) = listening.tables();
    tables.iter().any(|table| {
        let text = fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap_or_default();
        text.lines().filter_map(|line| listener_of(line, state)).any(|(ip, port)| {
            let same = match (ip, address.ip()) {
                (IpAddr::V6(all), _) if all.is_unspecified() => true,
                (IpAddr::V6(ip), IpAddr::V4(wanted)) => ip.to_ipv4_mapped() == Some(wanted),
                (ip, wanted) => {
                    ip == wanted || ip.is_ipv4() == wanted.is_ipv4() && ip.is_unspecified()
                }
            };
            same && port == address.port()
        })
    })
}

/// The local address of a row in `state`. proc_net_tcp: the address is in words of 32 bits, each in the machine's byte
/// order.
fn listener_of(line: &str, state: &str) -> Option<(IpAddr, u16)> {
    let port = port_of(line, state)?;
    let digits = line.split_whitespace().nth(1)?.split(':').next()?;
    let word = |at: usize| {
        let word = u32::from_str_radix(digits.get(at * 8..at * 8 + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let ip = if digits.len() == 8 {
        IpAddr::from(word(0)?)
    } else {
        let bytes = [word(0)?, word(1)?, word(2)?, word(3)?].concat();
        IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?)
    };
    Some((ip, port))
}

/// TCP_LISTEN (include/net/tcp_states.h).
const TCP: &str = "0A";
/// A UDP socket without a peer is shown as TCP_CLOSE.
const UDP: &str = "07";

/// A row of proc_net_tcp: number, local address and port, remote, state.
fn port_of(line: &str, state: &str) -> Option<u16> {
    let mut columns = line.split_whitespace();
    let local = columns.nth(1)?;
    let is_bound = columns.nth(1)? == state;
    let port = local.rsplit_once(':').and_then(|(_, port)| u16::from_str_radix(port, 16).ok());
    port.filter(|_| is_bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listeners_count() {
        let listener = "   0: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000";
        let connection = "   1: 0100007F:1F91 0100007F:0050 01 00000000:00000000 00:00000000";
        assert_eq!(port_of(listener, TCP), Some(8080));
        assert_eq!(port_of(connection, TCP), None);
        let six =
            "   0: 0000000000000000FFFF000001004D0A:01BB 00000000000000000000000000000000:0000 0A";
        if cfg!(target_endian = "little") {
            let four = "   0: 01004D0A:01BB 00000000:0000 0A 00000000:00000000";
            assert_eq!(listener_of(four, TCP), Some(("10.77.0.1".parse().unwrap(), 443)));
            assert_eq!(listener_of(six, TCP), Some(("::ffff:10.77.0.1".parse().unwrap(), 443)));
        }
        let bound = "  12: 01004D0A:01BB 00000000:0000 07 00000000:00000000";
        assert_eq!(listener_of(bound, TCP), None);
        assert_eq!(listener_of(bound, UDP).map(|(_, port)| port), Some(443));
        assert_eq!(port_of("  sl  local_address rem_address   st", TCP), None);
    }
}
