//! Where names lead. Nothing here asks a resolver: the caller knows or has found out.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

/// A map from host names to places; addresses written as such need no entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts {
    places: HashMap<String, Place>,
    everyone: Option<Place>,
}

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

    /// Where to connect for `host` (IPv6 literals in brackets) and `port`.
    pub fn find(&self, host: &str, port: u16) -> Option<SocketAddr> {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let place = self
            .places
            .get(&bare.to_ascii_lowercase())
            .copied()
            .or_else(|| bare.parse().ok().map(Place::Address))
            .or(self.everyone)?;
        Some(match place {
            Place::Address(address) => SocketAddr::new(address, port),
            Place::Socket(socket) => socket,
        })
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
}
