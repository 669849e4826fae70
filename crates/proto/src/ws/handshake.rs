//! The opening handshake as fields of a request and its response, by HTTP/1.1's Upgrade (RFC 6455 §4)
//! and by extended CONNECT (RFC 8441 §5, RFC 9220). The one rule: nothing here sends anything.

mod client;
mod server;

pub use client::{ClientHandshake, Offer};
pub use server::{Refusal, ServerHandshake, Wish};

use crate::Fields;
use wire::ws::DeflateParameters;

const VERSION: &str = "13";
const WEBSOCKET: &str = "websocket";
const UPGRADE: &str = "upgrade";
const KEY: &str = "sec-websocket-key";
const ACCEPT: &str = "sec-websocket-accept";
const VERSION_FIELD: &str = "sec-websocket-version";
const PROTOCOL: &str = "sec-websocket-protocol";
const EXTENSIONS: &str = "sec-websocket-extensions";

/// How a WebSocket is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// GET with `Upgrade: websocket`, answered with 101: HTTP/1.1.
    Upgrade,
    /// CONNECT with `:protocol = websocket`, answered with 200: HTTP/2 and HTTP/3.
    Connect,
}

/// What both sides have agreed on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agreed {
    /// The subprotocol chosen, where one was.
    pub subprotocol: Option<String>,
    /// How messages are compressed, where they may be.
    pub deflate: Option<DeflateParameters>,
}

/// The tokens of a list field, over all its lines (RFC 9110 §5.6.1).
fn tokens<'f>(fields: &'f Fields, name: &'f str) -> impl Iterator<Item = &'f [u8]> {
    fields
        .all(name.as_bytes())
        .flat_map(|value| value.split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|token| !token.is_empty())
}

/// The one value of a field that may be there once; the error is that it is there more often.
fn single<'f>(fields: &'f Fields, name: &'f str) -> Result<Option<&'f [u8]>, ()> {
    let mut values = fields.all(name.as_bytes());
    let first = values.next();
    if values.next().is_some() { Err(()) } else { Ok(first) }
}
