//! SPDY/3.1 and SPDY/3 (draft-mbelshe-httpbis-spdy-00 and its successor; cited as "SPDY §…" by the
//! sections of the former): both roles of a session, with priorities 0 to 7 and server push.
//!
//! [`Client`] and [`Server`] speak at once: whether the bytes below are TLS with ALPN `spdy/3.1` or
//! `spdy/3`, or a clear connection with prior knowledge, is the driver's business. Which stream sends
//! the next DATA frame is asked of a [`crate::schedule::Scheduler`] when the frame is written.
//!
//! ```
//! use endpoint::SendBuf;
//! use proto::{ClientConnection, ByteStreamConnection, Connection, Event, Fin, RequestHead, Scheme};
//! use proto::{schedule::RoundRobin, spdy::{Client, Server, Settings, Version}};
//! use {trace::Tracer, unit::Instant};
//!
//! let now = Instant::ZERO;
//! let turns = || Box::new(RoundRobin::default());
//! let mut client = Client::new(now, Settings::client(Version::V3_1), turns(), Tracer::off());
//! let mut server = Server::new(now, Settings::server(Version::V3_1), turns(), Tracer::off());
//! let stream = client.request(now, &RequestHead::get(Scheme::Http, "a.test", "/"), Fin::Last)?;
//! let mut out = SendBuf::new();
//! client.poll_transmit(now, &mut out, 65_536);
//! let bytes = out.to_vec();
//! let event = server.handle_bytes(now, &mut &bytes[..]);
//! assert!(matches!(event, Some(Event::Request { stream: s, fin: Fin::Last, .. }) if s == stream));
//! # Ok::<(), proto::Refused>(())
//! ```

mod framing;
mod head;
mod head_out;
mod headers;
mod pushes;
mod receive;
mod role;
mod settings;
#[cfg(test)]
mod tests;

pub use crate::multiplex::{KeepAlive, Limits};
pub use role::{Client, Server};
pub use settings::{Settings, Version};
pub use wire::spdy::{Effort, Persistence, Setting, SettingId};
