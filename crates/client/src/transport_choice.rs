//! The protocol of a contender, and whether its connections use TLS.

use crate::{ClientConfig, KeepAlive, Priorities, Push, Raises};
use page::{Scheme, Url};
use proto::{h1, h2, spdy};
use std::rc::Rc;
use transport::{ClientSecurity, ClientSettings, Offer, Protocol};

/// A protocol and its security.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Transport {
    /// The versions of HTTP, and how both sides agree on one.
    pub offer: Offer,
    /// Whether the URL's scheme is followed.
    pub security: Security,
}

/// Whether connections use TLS. The same page is raced in the clear and over TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Security {
    /// As the URL says.
    AsUrl,
    /// Never; https URLs are fetched as http ones.
    Clear,
    /// Always; http URLs are fetched as https ones.
    Tls,
}

impl Transport {
    /// HTTP/1.1 in the clear.
    pub const H1: Self = Self { offer: Offer::Only(Protocol::Http1), security: Security::Clear };
    /// HTTP/1.1 over TLS.
    pub const H1_TLS: Self = Self { offer: Offer::Only(Protocol::Http1), security: Security::Tls };
    /// HTTP/2 over TLS.
    pub const H2: Self = Self { offer: Offer::Only(Protocol::Http2), security: Security::Tls };
    /// HTTP/2 in the clear, by prior knowledge.
    pub const H2_CLEAR: Self =
        Self { offer: Offer::Only(Protocol::Http2), security: Security::Clear };
    /// HTTP/3.
    pub const H3: Self = Self { offer: Offer::Only(Protocol::Http3), security: Security::Tls };
    /// SPDY/3.1 over TLS.
    pub const SPDY: Self = Self { offer: Offer::Only(Protocol::Spdy31), security: Security::Tls };
    /// SPDY/3 over TLS.
    pub const SPDY_3: Self = Self { offer: Offer::Only(Protocol::Spdy3), security: Security::Tls };
    /// As a browser: the URL decides about TLS, and the server chooses the protocol.
    pub const BROWSER: Self =
        Self { offer: Offer::OrHttp1(Protocol::Http2), security: Security::AsUrl };

    /// The names to offer by ALPN, best first.
    pub fn alpn(self) -> Vec<String> {
        self.offer.alpn()
    }

    /// What a connection for a WebSocket offers. By extended CONNECT (RFC 8441, RFC 9220) it is one over HTTP/2 or
    /// HTTP/3 where that alone is offered; else RFC 6455's handshake is one of HTTP/1.1.
    pub fn web_socket_offer(self) -> Offer {
        match self.offer {
            Offer::Only(Protocol::Http2 | Protocol::Http3) => self.offer,
            _ => Offer::Only(Protocol::Http1),
        }
    }

    /// The scheme under which a URL with the scheme `asked` is fetched.
    pub(crate) fn scheme(self, asked: Scheme) -> Scheme {
        match self.security {
            Security::AsUrl => asked,
            Security::Clear => Scheme::Http,
            Security::Tls => Scheme::Https,
        }
    }

    /// The URL under which a contender fetches `asked`.
    pub(crate) fn requested(self, asked: &Url) -> Url {
        Url { scheme: self.scheme(asked.scheme), ..asked.clone() }
    }

    /// The protocol under `scheme`, where it is known before a server has answered.
    pub(crate) fn known(self, scheme: Scheme) -> Option<Protocol> {
        match scheme {
            Scheme::Http => Some(self.offer.in_the_clear()),
            Scheme::Https => self.offer.known(),
        }
    }
}

/// The settings of all connections of a client, with `offer` in place of its transport's own.
pub(crate) fn connection_settings(config: &ClientConfig, offer: Offer) -> Rc<ClientSettings> {
    let keep_alive = match config.keep_alive {
        KeepAlive::On => h1::KeepAlive::On,
        KeepAlive::Off => h1::KeepAlive::Off,
    };
    let priority_signal = match config.priorities {
        Priorities::Browser if config.raises == Raises::PriorityUpdate => h2::PrioritySignal::Both,
        Priorities::Browser => h2::PrioritySignal::Dependencies,
        Priorities::Field | Priorities::Silent => h2::PrioritySignal::Silent,
    };
    let groups = match config.priorities {
        Priorities::Browser => config.browser.groups(),
        Priorities::Field | Priorities::Silent => &[],
    };
    let group = |group: &page::Group| {
        let page::Group { stream, parent, weight } = *group;
        h2::Group { stream, parent, weight }
    };
    let groups = groups.iter().map(group).collect();
    let enable_push = config.push == Push::Taken;
    Rc::new(ClientSettings {
        offer,
        handshake_timeout: Some(config.timeouts.connect),
        h1: h1::ClientSettings { keep_alive, ..Default::default() },
        h2: h2::Settings { priority_signal, groups, enable_push, ..config.h2.clone() },
        h3: config.h3.clone(),
        spdy: spdy::Settings { enable_push, ..config.spdy.clone() },
    })
}

/// The security of a connection to a host's port under `scheme`.
pub(crate) fn security<'c>(
    config: &'c ClientConfig,
    scheme: Scheme,
    host: &'c str,
    port: u16,
) -> ClientSecurity<'c> {
    match scheme {
        Scheme::Http => ClientSecurity::Clear,
        Scheme::Https => ClientSecurity::Tls { settings: &config.tls, server_name: host, port },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_server_chooses_nothing_is_known_beforehand_but_in_the_clear() {
        let known = |scheme| Transport::BROWSER.known(scheme);
        assert_eq!([known(Scheme::Https), known(Scheme::Http)], [None, Some(Protocol::Http1)]);
        assert_eq!(Transport::H2.known(Scheme::Https), Some(Protocol::Http2));
        assert_eq!(Transport::H2_CLEAR.known(Scheme::Http), Some(Protocol::Http2));
    }
}
