//! HTTP/2 (RFC 9113): both roles of a connection, with RFC 7540's priorities and RFC 9218's.
//!
//! [`Client`] and [`Server`] begin with the connection preface: whether the bytes below are TLS with
//! ALPN `h2` or a clear connection with prior knowledge is the driver's business. Which stream sends
//! the next DATA frame is asked of a [`crate::schedule::Scheduler`] when the frame is written.
//!
//! ```
//! use endpoint::SendBuf;
//! use proto::{ClientConnection, ByteStreamConnection, Connection, Event, Fin, RequestHead, Scheme};
//! use proto::{h2::{Client, Server, Settings}, schedule::RoundRobin};
//! use {trace::Tracer, unit::Instant};
//!
//! let now = Instant::ZERO;
//! let turns = || Box::new(RoundRobin::default());
//! let mut client = Client::new(now, Settings::client(), turns(), Tracer::off());
//! let mut server = Server::new(now, Settings::server(), turns(), Tracer::off());
//! let stream = client.request(now, &RequestHead::get(Scheme::Http, "a.test", "/"), Fin::Last)?;
//! let mut out = SendBuf::new();
//! client.poll_transmit(now, &mut out, 65_536);
//! let bytes = out.to_vec();
//! let event = server.handle_bytes(now, &mut &bytes[..]);
//! assert!(matches!(event, Some(Event::Request { stream: s, fin: Fin::Last, .. }) if s == stream));
//! # Ok::<(), proto::Refused>(())
//! ```

mod cache;
mod codec;
mod framing;
pub(crate) mod head;
pub(crate) mod head_out;
mod headers;
pub(crate) mod priority;
mod receive;
mod role;
mod settings;
#[cfg(test)]
mod tests;

pub use crate::multiplex::{KeepAlive, Limits};
pub use role::{Client, Server};
pub use settings::{Group, PrioritySignal, Settings};
