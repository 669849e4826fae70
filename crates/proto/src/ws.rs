//! WebSocket (RFC 6455) with permessage-deflate (RFC 7692), over any ordered stream of bytes.
//!
//! Two parts that know nothing of each other. The handshake is fields of a request and its response:
//! [`ClientHandshake`] and [`ServerHandshake`], over HTTP/1.1's Upgrade and over extended CONNECT (RFC 8441,
//! RFC 9220). What follows is a [`Connection`], whose bytes the stream's body carries: received body
//! bytes go into [`Connection::handle_bytes`], what [`Connection::poll_transmit`] gives is sent as body, and
//! where [`Connection::wants_end`] says so, this side's body ends.
//!
//! ```
//! use endpoint::SendBuf;
//! use proto::ws::{Agreed, Connection, Event, MessageKind, Role, Settings};
//! use unit::{Instant, Seed};
//!
//! let now = Instant::ZERO;
//! let agreed = Agreed::default();
//! let mut client = Connection::new(now, Role::Client { masks: Seed(7) }, Settings::default(), &agreed, trace::Tracer::off());
//! let mut server = Connection::new(now, Role::Server, Settings::default(), &agreed, trace::Tracer::off());
//! client.send(MessageKind::Text, "hello".into())?;
//! let mut out = SendBuf::new();
//! client.poll_transmit(now, &mut out, 64 * 1024);
//! let bytes = out.to_vec();
//! let mut input = &bytes[..];
//! let event = server.handle_bytes(now, &mut input);
//! assert_eq!(event, Some(Event::Message { kind: MessageKind::Text, data: "hello".into() }));
//! # Ok::<(), proto::Misuse>(())
//! ```

mod assembly;
mod coders;
mod connection;
mod handshake;
mod outgoing;
mod reader;
mod settings;

pub use connection::{Connection, Event};
pub use handshake::{Agreed, ClientHandshake, Offer, Refusal, ServerHandshake, Via, Wish};
pub use settings::{Role, Settings, Writes};
pub use wire::ws::{
    ClientWindow, CloseCode, CloseFrame, DeflateOffer, DeflateParameters, Key, WindowBits,
};

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageKind {
    /// UTF-8.
    Text,
    /// Bytes.
    Binary,
}

#[cfg(test)]
mod tests;
