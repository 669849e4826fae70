//! What a client offers to speak, and what may come of it.

use crate::protocol::Protocol;

/// The protocols that a client offers.
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

impl Offer {
    /// What is offered by ALPN, best first.
    pub fn protocols(self) -> &'static [Protocol] {
        match self {
            Self::Http1 => &[Protocol::Http1],
            Self::Http2 => &[Protocol::Http2],
            Self::Spdy => &[Protocol::Spdy31],
            Self::Spdy3 => &[Protocol::Spdy3],
            Self::NegotiateSpdy => &[Protocol::Spdy31, Protocol::Http1],
            Self::NegotiateSpdy3 => &[Protocol::Spdy3, Protocol::Http1],
            Self::Negotiate => &[Protocol::Http2, Protocol::Http1],
        }
    }

    /// The names to offer by ALPN, best first.
    pub fn alpn(self) -> Vec<String> {
        self.protocols().iter().map(|protocol| protocol.alpn().to_owned()).collect()
    }

    /// What is spoken in the clear, where nothing is negotiated.
    pub fn in_the_clear(self) -> Protocol {
        self.known().unwrap_or(Protocol::Http1)
    }

    /// What is spoken over TLS, where that is known before the server has answered.
    pub fn known(self) -> Option<Protocol> {
        match *self.protocols() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// What a TLS handshake decided, from the name that the server chose; None where that was not offered.
    pub fn agreed(self, alpn: Option<&[u8]>) -> Option<Protocol> {
        let chosen = match alpn {
            Some(name) => Protocol::from_alpn(name)?,
            // A server without ALPN speaks HTTP/1.1 (RFC 7301 §3.2 leaves it to the application).
            None => Protocol::Http1,
        };
        self.protocols().contains(&chosen).then_some(chosen)
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
            let offered = offer.alpn();
            for name in ["http/1.1", "h2", "spdy/3.1", "spdy/3", "h3"] {
                let agreed = offer.agreed(Some(name.as_bytes())).map(Protocol::name);
                let expected = offered.iter().any(|own| own == name).then_some(name);
                assert_eq!(agreed, expected, "{offer:?}");
            }
            // A server without ALPN gets HTTP/1.1 or nothing.
            let silent = offer.agreed(None).map(Protocol::name);
            let knows_it = offered.iter().any(|own| own == "http/1.1");
            assert_eq!(silent, knows_it.then_some("http/1.1"), "{offer:?}");
        }
    }

    #[test]
    fn one_offered_name_is_known_beforehand() {
        for offer in OFFERS {
            match &offer.alpn()[..] {
                [only] => {
                    assert_eq!(offer.known().map(Protocol::name), Some(&**only));
                    assert_eq!(offer.in_the_clear().name(), only);
                }
                _ => assert_eq!((offer.known(), offer.in_the_clear()), (None, Protocol::Http1)),
            }
        }
    }
}
