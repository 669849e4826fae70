//! The protocols that a client offers, and how one of them is chosen.

use crate::protocol::Protocol;
use std::iter;

/// The protocols that a client offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Offer {
    /// This one alone: by ALPN over TLS, by prior knowledge in the clear (RFC 9113 §3.3).
    Only(Protocol),
    /// Over TLS this one or HTTP/1.1, as the server chooses (ALPN); so do browsers. In the clear HTTP/1.1.
    OrHttp1(Protocol),
}

impl Offer {
    /// What is offered by ALPN, best first.
    pub fn protocols(self) -> impl Iterator<Item = Protocol> {
        let (best, other) = match self {
            Self::Only(protocol) | Self::OrHttp1(protocol @ Protocol::Http1) => (protocol, None),
            Self::OrHttp1(protocol) => (protocol, Some(Protocol::Http1)),
        };
        iter::once(best).chain(other)
    }

    /// The names to offer by ALPN, best first.
    pub fn alpn(self) -> Vec<String> {
        self.protocols().map(|protocol| protocol.alpn().to_owned()).collect()
    }

    /// The protocol in the clear, where nothing is negotiated.
    pub fn in_the_clear(self) -> Protocol {
        self.known().unwrap_or(Protocol::Http1)
    }

    /// The protocol over TLS, where it is known before the server has answered.
    pub fn known(self) -> Option<Protocol> {
        let mut offered = self.protocols();
        let best = offered.next();
        if offered.next().is_none() { best } else { None }
    }

    /// The protocol of the ALPN name that the server chose; None where it was not offered.
    pub fn agreed(self, alpn: Option<&[u8]>) -> Option<Protocol> {
        let chosen = match alpn {
            Some(name) => Protocol::from_alpn(name)?,
            // A server without ALPN speaks HTTP/1.1 (RFC 7301 §3.2 leaves it to the application).
            None => Protocol::Http1,
        };
        self.protocols().find(|offered| *offered == chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offers() -> impl Iterator<Item = Offer> {
        Protocol::ALL.into_iter().flat_map(|one| [Offer::Only(one), Offer::OrHttp1(one)])
    }

    #[test]
    fn what_a_server_may_choose_is_what_was_offered() {
        for offer in offers() {
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
        for offer in offers() {
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
