//! Where names lead. Nothing here asks the network: the caller knows, has found out, or hands in who finds out.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// A map from host names to places; addresses written as such need no entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts {
    places: HashMap<String, Place>,
    everyone: Option<Place>,
    resolver: Option<Resolver>,
}

/// Finds out the addresses of a name, best first; none where there is none. The client waits for it, with all
/// that it does: whoever minds asks beforehand, and answers from what was said.
#[derive(Clone)]
pub struct Resolver(Arc<Ask>);

type Ask = dyn Fn(&str) -> Vec<IpAddr> + Send + Sync;

impl Resolver {
    /// Who is asked.
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
pub enum Place {
    /// To this address, at the port of the URL.
    Address(IpAddr),
    /// To this address and port, whatever the URL says.
    Socket(SocketAddr),
}

impl Hosts {
    /// Nobody known.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends connections for `host` to `place`.
    pub fn insert(&mut self, host: &str, place: Place) {
        self.places.insert(host.to_ascii_lowercase(), place);
    }

    /// Sends connections for every host without an entry to `place`.
    pub fn insert_everyone(&mut self, place: Place) {
        self.everyone = Some(place);
    }

    /// Has `resolver` asked for every host without an entry.
    pub fn ask(&mut self, resolver: Resolver) {
        self.resolver = Some(resolver);
    }

    /// Where to connect for `host` (IPv6 literals in brackets) and `port`.
    pub fn find(&self, host: &str, port: u16) -> Option<SocketAddr> {
        self.find_all(host, port).first().copied()
    }

    /// Everywhere that one can connect for `host` and `port`, best first.
    pub fn find_all(&self, host: &str, port: u16) -> Vec<SocketAddr> {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let place = self
            .places
            .get(&bare.to_ascii_lowercase())
            .copied()
            .or_else(|| bare.parse().ok().map(Place::Address))
            .or(self.everyone);
        match (place, &self.resolver) {
            (Some(Place::Address(address)), _) => vec![SocketAddr::new(address, port)],
            (Some(Place::Socket(socket)), _) => vec![socket],
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
        hosts.insert("Far", Place::Address([10, 0, 0, 2].into()));
        hosts.insert_everyone(Place::Socket("10.0.0.9:8443".parse().unwrap()));
        assert_eq!(hosts.find("far", 80), Some("10.0.0.2:80".parse().unwrap()));
        assert_eq!(hosts.find("10.0.0.3", 81), Some("10.0.0.3:81".parse().unwrap()));
        assert_eq!(hosts.find("other", 443), Some("10.0.0.9:8443".parse().unwrap()));
    }

    #[test]
    fn the_resolver_is_asked_for_names_that_nobody_knows() {
        let mut hosts = Hosts::new();
        hosts.insert("near", Place::Address([10, 0, 0, 1].into()));
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
