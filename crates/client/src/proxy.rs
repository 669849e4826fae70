//! Which requests go through an HTTP proxy: curl's rules. The one rule: nothing here connects.

use page::Scheme;
use std::fmt;
use std::net::IpAddr;

/// An HTTP proxy.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The value of Proxy-Authorization. It is printed nowhere.
    pub authorization: Option<String>,
}

/// The proxies of a client, by the scheme of what is fetched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// For http: requests name the whole URL (RFC 9112 §3.2.2).
    pub http: Option<Proxy>,
    /// For https: TLS runs in a tunnel (CONNECT).
    pub https: Option<Proxy>,
    /// Hosts that are reached without one.
    pub except: Exceptions,
}

impl Proxies {
    /// The proxy for `host` (IPv6 literals in brackets) under `scheme`.
    pub fn find(&self, scheme: Scheme, host: &str) -> Option<&Proxy> {
        let proxy = match scheme {
            Scheme::Http => self.http.as_ref(),
            Scheme::Https => self.https.as_ref(),
        };
        proxy.filter(|_| !self.except.has(host))
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// The hosts of `no_proxy`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exceptions(Vec<String>);

impl Exceptions {
    /// Reads `no_proxy` as curl does: names, addresses and networks (`10.0.0.0/8`), apart by commas or blanks; a name stands
    /// for the names below it, too, and `*` alone for every host.
    pub fn read(list: &str) -> Self {
        let entries = list.split([',', ' ', '\t']).filter(|entry| !entry.is_empty());
        Self(entries.map(str::to_ascii_lowercase).collect())
    }

    fn has(&self, host: &str) -> bool {
        if let [all] = &self.0[..]
            && all == "*"
        {
            return true;
        }
        let host = bare(host).to_ascii_lowercase();
        match host.parse::<IpAddr>() {
            Ok(address) => self.0.iter().any(|entry| holds(entry, address)),
            Err(_) => self.0.iter().any(|entry| is_below(entry, &host)),
        }
    }
}

/// Whether `host` is the name of `entry` or below it. A dot before the name or after it does not count.
fn is_below(entry: &str, host: &str) -> bool {
    let entry = entry.strip_prefix('.').unwrap_or(entry);
    let entry = entry.strip_suffix('.').unwrap_or(entry);
    let host = host.strip_suffix('.').unwrap_or(host);
    let above = host.strip_suffix(entry).filter(|_| !entry.is_empty());
    above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
}

/// Whether `entry` is `address`, or a network that it is in.
fn holds(entry: &str, address: IpAddr) -> bool {
    let (network, length) = match entry.split_once('/') {
        Some((network, length)) => (network, length.parse::<u32>().ok()),
        None => (entry, Some(u128::BITS)),
    };
    let (Ok(network), Some(length)) = (bare(network).parse::<IpAddr>(), length) else {
        return false;
    };
    let differing = match (network, address) {
        (IpAddr::V4(one), IpAddr::V4(other)) => {
            (one.to_bits() ^ other.to_bits()).leading_zeros().min(u32::BITS)
        }
        (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros(),
        _ => return false,
    };
    let all = if network.is_ipv4() { u32::BITS } else { u128::BITS };
    differing >= length.min(all)
}

fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_are_names_with_those_below_them_addresses_and_networks() {
        for (list, host, expected) in [
            ("example.org", "example.org", true),
            ("example.org", "www.Example.org.", true),
            (".example.org", "example.org", true),
            ("example.org", "badexample.org", false),
            ("example.org:80", "example.org", false),
            ("a, b\tc", "c", true),
            ("*", "anything", true),
            ("a,*", "anything", false),
            ("", "anything", false),
            ("10.0.0.0/8", "10.9.8.7", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/x", "10.0.0.0", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("0.0.1", "127.0.0.1", false),
            ("::1", "[::1]", true),
            ("[fe80::]/10", "[fe81::1]", true),
            ("0.0.0.0/0", "[::1]", false),
        ] {
            assert_eq!(Exceptions::read(list).has(host), expected, "{list}: {host}");
        }
    }

    #[test]
    fn each_scheme_has_its_proxy_and_its_credentials_are_not_shown() {
        let proxy = |host: &str| {
            let authorization = Some("Basic c2VjcmV0".to_owned());
            Some(Proxy { host: host.to_owned(), port: 3128, authorization })
        };
        let except = Exceptions::read("near");
        let proxies = Proxies { http: proxy("one"), https: proxy("other"), except };
        let found = |scheme, host| proxies.find(scheme, host).map(ToString::to_string);
        assert_eq!(found(Scheme::Http, "far").as_deref(), Some("one:3128"));
        assert_eq!(found(Scheme::Https, "far").as_deref(), Some("other:3128"));
        assert_eq!(found(Scheme::Https, "near"), None);
        assert!(!format!("{proxies:?}").contains("c2VjcmV0"));
    }
}
