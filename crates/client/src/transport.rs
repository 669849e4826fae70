//! What a contender speaks, and the only place where protocol machines are made: a further protocol
//! is a further arm here.

use crate::config::{ClientConfig, KeepAlive, Priorities};
use page::Scheme;
use proto::schedule::RoundRobin;
use proto::{ClientConnection, h1, h2, spdy};
use trace::Tracer;
use unit::Instant;

/// What is spoken, over what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Transport {
    /// Which version of HTTP, and how both sides come to it.
    pub offer: Offer,
    /// Whether the URL's scheme is kept.
    pub security: Security,
}

/// Which version of HTTP the client offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Offer {
    /// HTTP/1.1 alone.
    Http1,
    /// HTTP/2 alone: by ALPN over TLS, by prior knowledge in the clear (RFC 9113 §3.3).
    Http2,
    /// SPDY/3.1 alone: by ALPN over TLS, by prior knowledge in the clear.
    Spdy,
    /// SPDY/3 alone, likewise.
    Spdy3,
    /// SPDY/3.1 or HTTP/1.1 over TLS as the server likes, as clients did before HTTP/2; HTTP/1.1 in the clear.
    NegotiateSpdy,
    /// SPDY/3 or HTTP/1.1, likewise.
    NegotiateSpdy3,
    /// HTTP/2 or HTTP/1.1 over TLS as the server likes (ALPN); HTTP/1.1 in the clear.
    Negotiate,
}

/// Whether connections are secured: the same page is raced in the clear and over TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Security {
    /// As the URL says.
    AsUrl,
    /// Never; https URLs are fetched as http ones.
    Clear,
    /// Always; http URLs are fetched as https ones.
    Tls,
}

/// A version of HTTP, once it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// HTTP/1.1 (RFC 9112).
    Http1,
    /// HTTP/2 (RFC 9113).
    Http2,
    /// SPDY/3.1.
    Spdy,
    /// SPDY/3: as SPDY/3.1 but for the session's window, which it does not have.
    Spdy3,
}

impl Transport {
    /// HTTP/1.1 in the clear.
    pub const H1: Self = Self { offer: Offer::Http1, security: Security::Clear };
    /// HTTP/1.1 over TLS.
    pub const H1_TLS: Self = Self { offer: Offer::Http1, security: Security::Tls };
    /// HTTP/2 over TLS.
    pub const H2: Self = Self { offer: Offer::Http2, security: Security::Tls };
    /// HTTP/2 in the clear, by prior knowledge.
    pub const H2_CLEAR: Self = Self { offer: Offer::Http2, security: Security::Clear };
    /// SPDY/3.1 over TLS.
    pub const SPDY: Self = Self { offer: Offer::Spdy, security: Security::Tls };
    /// SPDY/3 over TLS.
    pub const SPDY_3: Self = Self { offer: Offer::Spdy3, security: Security::Tls };
    /// As a browser does: what URL and server say.
    pub const BROWSER: Self = Self { offer: Offer::Negotiate, security: Security::AsUrl };

    /// The names to offer by ALPN, best first.
    pub fn alpn(self) -> Vec<String> {
        let names: &[&str] = match self.offer {
            Offer::Http1 => &["http/1.1"],
            Offer::Http2 => &["h2"],
            Offer::Spdy => &["spdy/3.1"],
            Offer::Spdy3 => &["spdy/3"],
            Offer::NegotiateSpdy => &["spdy/3.1", "http/1.1"],
            Offer::NegotiateSpdy3 => &["spdy/3", "http/1.1"],
            Offer::Negotiate => &["h2", "http/1.1"],
        };
        names.iter().map(|&name| name.to_owned()).collect()
    }

    /// The scheme that a URL's is fetched under.
    pub(crate) fn scheme(self, asked: Scheme) -> Scheme {
        match self.security {
            Security::AsUrl => asked,
            Security::Clear => Scheme::Http,
            Security::Tls => Scheme::Https,
        }
    }

    /// What will be spoken under `scheme`, where that is known before anybody has answered.
    pub(crate) fn known(self, scheme: Scheme) -> Option<Protocol> {
        match (self.offer, scheme) {
            (Offer::Http1, _) => Some(Protocol::Http1),
            (Offer::Http2, _) => Some(Protocol::Http2),
            (Offer::Spdy, _) => Some(Protocol::Spdy),
            (Offer::Spdy3, _) => Some(Protocol::Spdy3),
            (_, Scheme::Http) => Some(Protocol::Http1),
            (Offer::Negotiate | Offer::NegotiateSpdy | Offer::NegotiateSpdy3, Scheme::Https) => {
                None
            }
        }
    }

    /// What a TLS handshake decided, from the name that the server chose; None where it does not suit.
    pub(crate) fn agreed(self, alpn: Option<&[u8]>) -> Option<Protocol> {
        match (self.offer, alpn) {
            (Offer::Http2 | Offer::Negotiate, Some(b"h2")) => Some(Protocol::Http2),
            (Offer::Spdy | Offer::NegotiateSpdy, Some(b"spdy/3.1")) => Some(Protocol::Spdy),
            (Offer::Spdy3 | Offer::NegotiateSpdy3, Some(b"spdy/3")) => Some(Protocol::Spdy3),
            (Offer::Http2 | Offer::Spdy | Offer::Spdy3, _) => None,
            // A server without ALPN speaks HTTP/1.1 (RFC 7301 §3.2 leaves it to the application).
            (_, Some(b"http/1.1") | None) => Some(Protocol::Http1),
            _ => None,
        }
    }
}

impl Protocol {
    /// As records have it.
    pub fn recorded(self) -> trace::Protocol {
        match self {
            Self::Http1 => trace::Protocol::Http1,
            Self::Http2 => trace::Protocol::Http2,
            Self::Spdy => trace::Protocol::Spdy31,
            Self::Spdy3 => trace::Protocol::Spdy3,
        }
    }

    /// Its ALPN name.
    pub fn name(self) -> &'static str {
        self.recorded().name()
    }

    /// Whether one connection carries many requests at a time.
    pub(crate) fn multiplexes(self) -> bool {
        self.recorded().multiplexes()
    }

    /// A machine that speaks it.
    pub(crate) fn machine(
        self,
        now: Instant,
        config: &ClientConfig,
        tracer: Tracer,
    ) -> Box<dyn ClientConnection> {
        match self {
            Self::Http1 => {
                let keep_alive = match config.keep_alive {
                    KeepAlive::On => h1::KeepAlive::On,
                    KeepAlive::Off => h1::KeepAlive::Off,
                };
                let settings = h1::ClientSettings { keep_alive, ..Default::default() };
                Box::new(h1::Client::new(now, settings, tracer))
            }
            Self::Http2 => {
                let priority_signal = match config.priorities {
                    Priorities::Chromium => h2::PrioritySignal::Dependencies,
                    Priorities::Field | Priorities::Silent => h2::PrioritySignal::Silent,
                };
                let settings = h2::Settings { priority_signal, ..config.h2.clone() };
                // Uploads take turns; what is asked for is the server's to order.
                Box::new(h2::Client::new(now, settings, Box::new(RoundRobin::new()), tracer))
            }
            Self::Spdy | Self::Spdy3 => {
                let version = match self {
                    Self::Spdy3 => spdy::Version::V3,
                    _ => spdy::Version::V3_1,
                };
                let settings = spdy::Settings { version, ..config.spdy.clone() };
                let turns = Box::new(RoundRobin::new());
                Box::new(spdy::Client::new(now, settings, turns, tracer))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFERS: [Offer; 7] = [
        Offer::Http1,
        Offer::Http2,
        Offer::Spdy,
        Offer::Spdy3,
        Offer::Negotiate,
        Offer::NegotiateSpdy,
        Offer::NegotiateSpdy3,
    ];

    #[test]
    fn what_a_server_may_choose_is_what_was_offered() {
        for offer in OFFERS {
            let transport = Transport { offer, security: Security::Tls };
            let offered = transport.alpn();
            for name in ["http/1.1", "h2", "spdy/3.1", "spdy/3", "h3"] {
                let agreed = transport.agreed(Some(name.as_bytes())).map(Protocol::name);
                let expected = offered.iter().any(|own| own == name).then_some(name);
                assert_eq!(agreed, expected, "{offer:?}");
            }
            // A server without ALPN gets HTTP/1.1 or nothing.
            let silent = transport.agreed(None).map(Protocol::name);
            let knows_it = offered.iter().any(|own| own == "http/1.1");
            assert_eq!(silent, knows_it.then_some("http/1.1"), "{offer:?}");
        }
    }

    #[test]
    fn one_offered_name_is_known_beforehand() {
        for offer in OFFERS {
            let transport = Transport { offer, security: Security::AsUrl };
            let known = |scheme| transport.known(scheme).map(Protocol::name);
            match &transport.alpn()[..] {
                [only] => {
                    assert_eq!([known(Scheme::Https), known(Scheme::Http)], [Some(&**only); 2]);
                }
                _ => assert_eq!(
                    [known(Scheme::Https), known(Scheme::Http)],
                    [None, Some("http/1.1")]
                ),
            }
        }
    }
}
