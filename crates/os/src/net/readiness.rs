//! When a server is ready: asked of the kernel's socket tables, so that no probing connection is made.

use std::fs;
use std::time::Duration;

/// What to wait for before the near program starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ready {
    /// For nothing.
    AtOnce,
    /// Until far listens anywhere, or has a UDP socket bound; not longer than this, and then go on.
    Listening(Duration),
    /// Until far listens on this TCP or UDP port; not longer than this, and then give up.
    Port(u16, Duration),
}

impl Ready {
    pub(crate) fn limit(self) -> Duration {
        match self {
            Self::AtOnce => Duration::ZERO,
            Self::Listening(limit) | Self::Port(_, limit) => limit,
        }
    }
}

/// The ports that somebody listens on in this thread's network namespace, or has bound with UDP.
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

/// TCP_LISTEN (include/net/tcp_states.h).
const TCP: &str = "0A";
/// A UDP socket without a peer is told as TCP_CLOSE.
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
        assert_eq!(port_of("  sl  local_address rem_address   st", TCP), None);
    }
}
