//! The server's side of the opening handshake (RFC 6455 §4.2).

use super::{
    ACCEPT, Agreed, EXTENSIONS, KEY, PROTOCOL, UPGRADE, VERSION, VERSION_FIELD, Via, WEBSOCKET,
};
use super::{single, tokens};
use crate::{Fields, Method, RequestHead, ResponseHead, Status};
use wire::ws::{DeflateOffer, Key, accept, parse_extensions};

/// What a server wants of a WebSocket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    /// Subprotocols that it speaks, the preferred first.
    pub subprotocols: Vec<String>,
    /// What compression shall be like where a client offers it; None declines it.
    pub deflate: Option<DeflateOffer>,
}

/// A request for a WebSocket that follows the rules. Whether its `Origin` and authority are welcome
/// (RFC 6455 §10.2) is for the application to tell, by the head that it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerHandshake {
    via: Via,
    /// What Sec-WebSocket-Accept says.
    accept: String,
    subprotocols: Vec<String>,
    deflate: Vec<DeflateOffer>,
}

/// Why a request opens no WebSocket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It does not ask for one: 426, or whatever else the application has there.
    NotAsked,
    /// It asks in a version that is not spoken here: 426 with the one that is (RFC 6455 §4.4).
    UnknownVersion,
    /// It breaks this rule: 400.
    Broken(&'static str),
}

impl ServerHandshake {
    /// Reads a request head.
    pub fn read(head: &RequestHead) -> Result<Self, Refusal> {
        let via = match (&head.method, head.protocol.as_deref()) {
            (Method::Connect, Some(WEBSOCKET)) => Via::Connect,
            (Method::Get, None) if asks_upgrade(&head.fields) => Via::Upgrade,
            _ => return Err(Refusal::NotAsked),
        };
        // RFC 6455 §4.2.1, §4.4
        match single(&head.fields, VERSION_FIELD) {
            Ok(Some(version)) if version == VERSION.as_bytes() => {}
            Ok(Some(_)) => return Err(Refusal::UnknownVersion),
            _ => {
                return Err(Refusal::Broken(
                    "Sec-WebSocket-Version is there once (RFC 6455 §4.2.1)",
                ));
            }
        }
        let accept = match via {
            Via::Upgrade => single(&head.fields, KEY)
                .ok()
                .flatten()
                .filter(|key| Key::is_encoded(key))
                .map(accept)
                .ok_or(Refusal::Broken("Sec-WebSocket-Key has 16 bytes (RFC 6455 §4.2.1)"))?,
            // RFC 8441 §5: key and its answer are not used.
            Via::Connect => String::new(),
        };
        let subprotocols = tokens(&head.fields, PROTOCOL)
            .map(|token| String::from_utf8(token.to_vec()))
            .collect::<Result<_, _>>()
            .map_err(|_| Refusal::Broken("a subprotocol is a token (RFC 6455 §4.1)"))?;
        Ok(Self { via, accept, subprotocols, deflate: read_deflate(&head.fields)? })
    }

    /// Subprotocols that the client speaks, the preferred first.
    pub fn subprotocols(&self) -> &[String] {
        &self.subprotocols
    }

    /// The response that opens the WebSocket, and what is agreed on with it. Respond with
    /// [`crate::Fin::More`].
    pub fn accept(&self, wish: &Wish) -> (ResponseHead, Agreed) {
        let status = match self.via {
            Via::Upgrade => SWITCHING_PROTOCOLS,
            Via::Connect => Status::OK,
        };
        let mut head = ResponseHead::new(status);
        if self.via == Via::Upgrade {
            head.fields.push(UPGRADE.as_bytes(), WEBSOCKET.as_bytes());
            head.fields.push(ACCEPT.as_bytes(), self.accept.as_bytes());
        }
        let spoken = |name: &&String| self.subprotocols.contains(name);
        let subprotocol = wish.subprotocols.iter().find(spoken).cloned();
        if let Some(name) = &subprotocol {
            head.fields.push(PROTOCOL.as_bytes(), name.as_bytes());
        }
        let deflate = match (&wish.deflate, self.deflate.first()) {
            (Some(wish), Some(offer)) => Some(offer.agree(wish)),
            _ => None,
        };
        if let Some(parameters) = &deflate {
            head.fields.push(EXTENSIONS.as_bytes(), parameters.to_field().as_bytes());
        }
        (head, Agreed { subprotocol, deflate })
    }
}

impl Refusal {
    /// The response's head. A body may follow.
    pub fn head(self) -> ResponseHead {
        match self {
            // RFC 9110 §15.5.22: 426 names what is to be upgraded to.
            Self::NotAsked => ResponseHead {
                status: UPGRADE_REQUIRED,
                fields: Fields::new().with(UPGRADE, WEBSOCKET),
            },
            Self::UnknownVersion => ResponseHead {
                status: UPGRADE_REQUIRED,
                fields: Fields::new().with(UPGRADE, WEBSOCKET).with(VERSION_FIELD, VERSION),
            },
            Self::Broken(_) => ResponseHead::new(BAD_REQUEST),
        }
    }

    /// Why, in words.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotAsked => {
                "This is a WebSocket: ask for it with Upgrade: websocket (RFC 6455 §4.1)."
            }
            Self::UnknownVersion => "WebSocket is spoken in version 13 here (RFC 6455 §4.4).",
            Self::Broken(rule) => rule,
        }
    }
}

const SWITCHING_PROTOCOLS: Status = status(101);
const BAD_REQUEST: Status = status(400);
const UPGRADE_REQUIRED: Status = status(426);

const fn status(code: u16) -> Status {
    match Status::new(code) {
        Some(status) => status,
        None => panic!("a status code has three digits"),
    }
}

/// The connection has dropped an Upgrade field that its Connection field does not name.
fn asks_upgrade(fields: &Fields) -> bool {
    tokens(fields, UPGRADE).any(|token| token.eq_ignore_ascii_case(WEBSOCKET.as_bytes()))
}

/// The offers of compression that can be met. Unknown extensions are passed over (RFC 6455 §9.1).
fn read_deflate(fields: &Fields) -> Result<Vec<DeflateOffer>, Refusal> {
    let mut offers = Vec::new();
    for value in fields.all(EXTENSIONS.as_bytes()) {
        let extensions = parse_extensions(value)
            .ok_or(Refusal::Broken("Sec-WebSocket-Extensions is a list (RFC 6455 §9.1)"))?;
        offers.extend(extensions.iter().filter_map(DeflateOffer::of));
    }
    Ok(offers)
}
