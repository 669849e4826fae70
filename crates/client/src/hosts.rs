//! The addresses of host names. Nothing here does DNS: the caller gives addresses, or a [`Resolver`] that finds them.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// A map from host names to addresses. IP addresses as host names need no entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts {
    addresses: HashMap<String, HostAddress>,
    default: Option<HostAddress>,
    resolver: Option<Resolver>,
}

/// Gives the addresses of a name, best first; empty where it has none. The call blocks the client's whole event loop, so
/// resolve beforehand and answer from the results where that matters.
#[derive(Clone)]
pub struct Resolver(Arc<Ask>);

type Ask = dyn Fn(&str) -> Vec<IpAddr> + Send + Sync;

impl Resolver {
    /// A resolver that calls `ask`.
    pub fn new(ask: impl Fn(&str) -> Vec<IpAddr> + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}

impl PartialEq for Resolver {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Resolver {}

/// Where connections for a host go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostAddress {
    /// This address, with the port of the URL.
    Address(IpAddr),
    /// This address and port; the port of the URL is ignored.
    Socket(SocketAddr),
}

impl Hosts {
    /// No entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends connections for `host` to `address`.
    pub fn insert(&mut self, host: &str, address: HostAddress) {
        self.addresses.insert(host.to_ascii_lowercase(), address);
    }

    /// Sends connections for every host without an entry to `address`.
    pub fn insert_default(&mut self, address: HostAddress) {
        self.default = Some(address);
    }

    /// Asks `resolver` for every host that has neither an entry nor a default.
    pub fn ask(&mut self, resolver: Resolver) {
        self.resolver = Some(resolver);
    }

    /// The first address for `host` (IPv6 literals in brackets) and `port`.
    pub fn find(&self, host: &str, port: u16) -> Option<SocketAddr> {
        self.find_all(host, port).first().copied()
    }

    /// All addresses to try for `host` and `port`, best first.
    pub fn find_all(&self, host: &str, port: u16) -> Vec<SocketAddr> {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let address = self
            .addresses
            .get(&bare.to_ascii_lowercase())
            .copied()
            .or_else(|| bare.parse().ok().map(HostAddress::Address))
            .or(self.default);
        match (address, &self.resolver) {
            (Some(HostAddress::Address(address)), _) => vec![SocketAddr::new(address, port)],
            (Some(HostAddress::Socket(socket)), _) => vec![socket],
            (None, Some(Resolver(ask))) => {
                ask(bare).into_iter().map(|address| SocketAddr::new(address, port)).collect()
            }
            (None, None) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_goes_before_a_literal_and_a_literal_before_everyone() {
        let mut hosts = Hosts::new();
        assert_eq!(hosts.find("far", 80), None);
        assert_eq!(hosts.find("[::1]", 80), Some("[::1]:80".parse().unwrap()));
        hosts.insert("Far", HostAddress::Address([10, 0, 0, 2].into()));
        hosts.insert_default(HostAddress::Socket("10.0.0.9:8443".parse().unwrap()));
        assert_eq!(hosts.find("far", 80), Some("10.0.0.2:80".parse().unwrap()));
        assert_eq!(hosts.find("10.0.0.3", 81), Some("10.0.0.3:81".parse().unwrap()));
        assert_eq!(hosts.find("other", 443), Some("10.0.0.9:8443".parse().unwrap()));
    }

    #[test]
    fn the_resolver_is_asked_for_names_that_nobody_knows() {
        let mut hosts = Hosts::new();
        hosts.insert("near", HostAddress::Address([10, 0, 0, 1].into()));
        hosts.ask(Resolver::new(|name| match name {
            "far" => vec![[10, 0, 0, 2].into(), [10, 0, 0, 3].into()],
            _ => Vec::new(),
        }));
        let both = ["10.0.0.2:80", "10.0.0.3:80"].map(|text| text.parse().unwrap());
        assert_eq!(hosts.find_all("far", 80), both);
        assert_eq!(hosts.find("near", 80), Some("10.0.0.1:80".parse().unwrap()));
        assert_eq!(hosts.find("nobody", 80), None);
    }
}
