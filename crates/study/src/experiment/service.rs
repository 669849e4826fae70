//! Who answers a contender: a server that wirelap starts, or a service that runs already. Of the latter nothing is known but
//! where it listens and what it is called; the rule is that it is not touched.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The server of a contender that names none: wirelap's own.
pub const ORIGIN: &str = "origin";

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Server {
    /// One that wirelap starts for each trial: [`ORIGIN`], or another subject by its name.
    Named(String),
    /// One that runs already.
    Running(RunningService),
}

/// A service that runs already, on this machine or beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunningService {
    /// Where it listens: "127.0.0.1:3000", or with http:// or https:// before it, which says whether the port speaks TLS.
    pub at: String,
    /// What clients call it, in Host and in the certificate: "shop.test", or with a port, "shop.test:3000" (default: `at`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A PEM file of the authorities that its certificate is judged by (default: the system's).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// Whether any certificate is believed (default false).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
}

/// What a port is said to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortKind {
    /// No TLS.
    Clear,
    /// TLS.
    Tls,
}

impl Default for Server {
    fn default() -> Self {
        Self::Named(ORIGIN.to_owned())
    }
}

impl Server {
    /// Whether it is wirelap's own.
    pub fn is_origin(&self) -> bool {
        matches!(self, Self::Named(name) if name == ORIGIN)
    }
}

/// What is wrong with a service, and which of its keys says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceFault {
    /// The key in an experiment's file.
    pub key: &'static str,
    /// What is wrong with its value.
    pub words: String,
}

impl std::fmt::Display for ServiceFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.words)
    }
}

impl RunningService {
    /// The service at a place.
    pub fn new(at: String) -> Self {
        Self { at, name: None, ca: None, insecure: false }
    }

    /// What is wrong with it.
    pub fn check(&self) -> Result<(), ServiceFault> {
        self.check_place().map_err(|words| ServiceFault { key: "at", words })?;
        match &self.name {
            Some(name) if !is_name(name) => {
                let words = format!("`{name}` is no host name such as \"shop.test\"");
                Err(ServiceFault { key: "name", words })
            }
            _ => Ok(()),
        }
    }

    fn check_place(&self) -> Result<(), String> {
        let (_, place) = self.split();
        let Some((host, port)) = split_port(place) else {
            return Err(format!(
                "`{}` is not where a service listens, such as \"127.0.0.1:3000\"",
                self.at
            ));
        };
        if port == 0 {
            return Err(format!("`{}`: a service listens on a port from 1 to 65535", self.at));
        }
        let addresses = host_addresses(host);
        if addresses.is_empty() {
            return Err(format!(
                "`{host}` is neither an IP address nor localhost; give the address, and what clients call it as `name`"
            ));
        }
        if let Some(address) = addresses.iter().find(|address| !is_nearby(**address)) {
            return Err(format!(
                "{address} is not of this machine or of its private networks: the way to it would be measured with the link"
            ));
        }
        Ok(())
    }

    /// What the port is said to speak; None where nothing is said.
    pub fn port_kind(&self) -> Option<PortKind> {
        self.split().0
    }

    /// Where it listens; of localhost, both addresses that this may be.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let Some((host, port)) = split_port(self.split().1) else { return Vec::new() };
        host_addresses(host).into_iter().map(|address| SocketAddr::new(address, port)).collect()
    }

    /// Address and port in one, without a scheme.
    pub fn place(&self) -> &str {
        self.split().1
    }

    /// Why it cannot answer `what`, which is over QUIC.
    pub(super) fn no_udp(&self, what: impl std::fmt::Display) -> String {
        format!("{} is bridged by TCP, and `{what}` is over UDP", self.place())
    }

    /// What clients call it: the host of its URLs, without the port.
    pub fn host(&self) -> &str {
        let authority = self.authority();
        split_port(authority).map_or(authority, |(host, _)| host)
    }

    /// The port of its URLs; None: the scheme's own.
    pub fn port(&self) -> Option<u16> {
        split_port(self.authority()).map(|(_, port)| port)
    }

    /// Whether clients call it by an address, which no table of names can lead elsewhere.
    pub fn is_called_by_address(&self) -> bool {
        self.host().trim_matches(['[', ']']).parse::<IpAddr>().is_ok() || self.host() == LOCALHOST
    }

    fn authority(&self) -> &str {
        self.name.as_deref().unwrap_or(self.split().1)
    }

    fn split(&self) -> (Option<PortKind>, &str) {
        let kinds = [("http://", PortKind::Clear), ("https://", PortKind::Tls)];
        let found =
            kinds.iter().find_map(|(scheme, kind)| Some((*kind, self.at.strip_prefix(scheme)?)));
        match found {
            Some((kind, rest)) => (Some(kind), rest.trim_end_matches('/')),
            None => (None, &self.at),
        }
    }
}

const LOCALHOST: &str = "localhost";

/// `host:port`, where the host of an IPv6 address has brackets.
fn split_port(text: &str) -> Option<(&str, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let bracketed = host.starts_with('[') && host.ends_with(']');
    let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    (digits && !host.is_empty() && (bracketed || !host.contains(':')))
        .then(|| Some((host, port.parse().ok()?)))
        .flatten()
}

fn host_addresses(host: &str) -> Vec<IpAddr> {
    if host == LOCALHOST {
        return vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    }
    host.trim_start_matches('[').trim_end_matches(']').parse().into_iter().collect()
}

/// Loopback, and what RFC 1918, RFC 3927 and RFC 4193 keep for networks of one's own: containers are there.
fn is_nearby(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local(),
    }
}

/// A host name, an IP address among them, with a port or without.
fn is_name(text: &str) -> bool {
    let host = split_port(text).map_or(text, |(host, _)| host);
    let is_char = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    !host.is_empty()
        && (host.bytes().all(is_char) || bare.parse::<Ipv6Addr>().is_ok())
        && host.len() <= LONGEST_NAME
}

/// RFC 1035 §2.3.4.
const LONGEST_NAME: usize = 253;

#[cfg(test)]
mod tests {
    use super::*;

    fn service(at: &str, name: Option<&str>) -> RunningService {
        RunningService { name: name.map(str::to_owned), ..RunningService::new(at.to_owned()) }
    }

    #[test]
    fn a_service_is_called_by_its_place_unless_it_has_a_name() {
        let plain = service("127.0.0.1:3000", None);
        assert_eq!(
            (plain.host(), plain.port(), plain.port_kind()),
            ("127.0.0.1", Some(3000), None)
        );
        assert!(plain.check().is_ok() && plain.is_called_by_address());
        let named = service("https://[::1]:3443/", Some("shop.test"));
        assert_eq!((named.host(), named.port()), ("shop.test", None));
        assert_eq!(named.port_kind(), Some(PortKind::Tls));
        assert_eq!(named.addresses(), ["[::1]:3443".parse().unwrap()]);
        assert!(named.check().is_ok() && !named.is_called_by_address());
        let ported = service("http://localhost:1", Some("shop.test:81"));
        assert_eq!((ported.host(), ported.port()), ("shop.test", Some(81)));
        assert_eq!(ported.addresses().len(), 2);
    }

    #[test]
    fn what_cannot_be_bridged_to_is_refused() {
        for (at, word) in [
            ("3000", "not where a service listens"),
            ("127.0.0.1", "not where a service listens"),
            ("127.0.0.1:0", "from 1 to 65535"),
            ("127.0.0.1:99999", "not where a service listens"),
            ("shop.test:80", "give the address"),
            ("93.184.216.34:80", "not of this machine"),
            ("ftp://127.0.0.1:21", "not where a service listens"),
        ] {
            let error = service(at, None).check().unwrap_err();
            assert!(error.key == "at" && error.words.contains(word), "{at}: {error}");
        }
        assert_eq!(service("127.0.0.1:1", Some("a b")).check().unwrap_err().key, "name");
        assert!(service("172.17.0.2:80", Some("[::1]:80")).check().is_ok());
    }
}
