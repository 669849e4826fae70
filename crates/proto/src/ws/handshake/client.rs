//! The client's side of the opening handshake (RFC 6455 §4.1).

use super::{
    ACCEPT, Agreed, EXTENSIONS, KEY, PROTOCOL, UPGRADE, VERSION, VERSION_FIELD, Via, WEBSOCKET,
};
use super::{single, tokens};
use crate::{Error, Method, RequestHead, ResponseHead, Scope};
use wire::ws::{DeflateOffer, DeflateParameters, Key, accept, parse_extensions};

/// What a client offers and asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offer {
    /// Subprotocols, the preferred first.
    pub subprotocols: Vec<String>,
    /// Offers of compression, the preferred first; none for none.
    pub deflate: Vec<DeflateOffer>,
}

/// A client's opening handshake.
#[derive(Debug, Clone)]
pub struct ClientHandshake {
    via: Via,
    key: Key,
    offer: Offer,
}

impl ClientHandshake {
    /// A handshake with this nonce, which should be random (RFC 6455 §4.1).
    pub fn new(via: Via, key: Key, offer: Offer) -> Self {
        Self { via, key, offer }
    }

    /// Makes `head`, which names scheme, authority, path and fields of the caller's own (`Origin`,
    /// cookies), the request for a WebSocket there. Ask with [`crate::Fin::Last`] by Upgrade, which has
    /// no body until it is granted, and with [`crate::Fin::More`] by CONNECT.
    pub fn request(&self, mut head: RequestHead) -> RequestHead {
        match self.via {
            Via::Upgrade => {
                head.method = Method::Get;
                head.fields.push(UPGRADE.as_bytes(), WEBSOCKET.as_bytes());
                head.fields.push(KEY.as_bytes(), self.key.encode().as_bytes());
            }
            Via::Connect => {
                head.method = Method::Connect;
                head.protocol = Some(WEBSOCKET.into());
            }
        }
        head.fields.push(VERSION_FIELD.as_bytes(), VERSION.as_bytes());
        if !self.offer.subprotocols.is_empty() {
            let list = self.offer.subprotocols.join(", ");
            head.fields.push(PROTOCOL.as_bytes(), list.as_bytes());
        }
        if !self.offer.deflate.is_empty() {
            let list: Vec<String> = self.offer.deflate.iter().map(DeflateOffer::to_field).collect();
            head.fields.push(EXTENSIONS.as_bytes(), list.join(", ").as_bytes());
        }
        head
    }

    /// Reads the response. The error's code is the status where it is another one than is expected
    /// (the caller may follow a redirect or answer a challenge), else 1002.
    pub fn confirm(&self, head: &ResponseHead) -> Result<Agreed, Error> {
        let status = head.status.code();
        let is_agreed = match self.via {
            Via::Upgrade => status == 101,
            Via::Connect => (200..300).contains(&status),
        };
        if !is_agreed {
            return Err(violation(
                u64::from(status),
                "the server opens no WebSocket there (RFC 6455 §4.1)",
            ));
        }
        if self.via == Via::Upgrade {
            // The connection has dropped an Upgrade field that its Connection field does not name.
            let mut upgrades = tokens(&head.fields, UPGRADE);
            let is_websocket = |token: &[u8]| token.eq_ignore_ascii_case(WEBSOCKET.as_bytes());
            if !upgrades.next().is_some_and(is_websocket) || upgrades.next().is_some() {
                return Err(broken(
                    "101 says Connection: Upgrade and Upgrade: websocket (RFC 6455 §4.1)",
                ));
            }
            let expected = accept(self.key.encode().as_bytes());
            if single(&head.fields, ACCEPT) != Ok(Some(expected.as_bytes())) {
                return Err(broken("Sec-WebSocket-Accept answers the key (RFC 6455 §4.1)"));
            }
        }
        Ok(Agreed { subprotocol: self.subprotocol(head)?, deflate: self.deflate(head)? })
    }

    fn subprotocol(&self, head: &ResponseHead) -> Result<Option<String>, Error> {
        const RULE: &str = "the subprotocol is one of those offered (RFC 6455 §4.1)";
        let Some(chosen) = single(&head.fields, PROTOCOL).map_err(|()| broken(RULE))? else {
            return Ok(None);
        };
        let offered = self.offer.subprotocols.iter().find(|offered| offered.as_bytes() == chosen);
        offered.cloned().map(Some).ok_or(broken(RULE))
    }

    fn deflate(&self, head: &ResponseHead) -> Result<Option<DeflateParameters>, Error> {
        let mut extensions = Vec::new();
        for value in head.fields.all(EXTENSIONS.as_bytes()) {
            extensions.extend(
                parse_extensions(value)
                    .ok_or(broken("Sec-WebSocket-Extensions is a list (RFC 6455 §9.1)"))?,
            );
        }
        let [extension] = &extensions[..] else {
            return if extensions.is_empty() {
                Ok(None)
            } else {
                Err(broken("an extension is accepted once (RFC 7692 §5.1)"))
            };
        };
        let mut rule = "an extension is accepted that was offered (RFC 6455 §9.1)";
        for offer in &self.offer.deflate {
            match offer.confirm(extension) {
                Ok(agreed) => return Ok(Some(agreed)),
                Err(broken) => rule = broken,
            }
        }
        Err(broken(rule))
    }
}

fn broken(rule: &'static str) -> Error {
    violation(1002, rule)
}

fn violation(code: u64, rule: &'static str) -> Error {
    Error::PeerViolation { scope: Scope::Connection, code, rule }
}
