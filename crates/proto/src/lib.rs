//! Sans-IO connections of the web's protocols, one module a protocol, all with one vocabulary.
//!
//! A connection takes bytes, commands and an absolute `now`, and gives events, bytes to send and
//! the time of its next time-out. It owns no socket and reads no clock, so the same machine runs
//! behind a reactor, in a test without sleeps, under a fuzzer and in virtual time.
//!
//! ```
//! use proto::{ByteStreamConnection, ClientConnection, Event, Fin, RequestHead, Scheme, h1};
//! use trace::Tracer;
//! use unit::Instant;
//!
//! let now = Instant::ZERO;
//! let mut client = h1::Client::new(now, h1::ClientSettings::default(), Tracer::off());
//! let request = RequestHead::get(Scheme::Http, "a.test", "/");
//! let stream = client.request(now, &request, Fin::Last)?;
//! let mut out = endpoint::SendBuf::new();
//! client.poll_transmit(now, &mut out, 65_536);
//! assert!(out.to_vec().starts_with(b"GET / HTTP/1.1\r\n"));
//! let mut input = &b"HTTP/1.1 204 No Content\r\n\r\n"[..];
//! let event = client.handle_bytes(now, &mut input);
//! assert!(matches!(event, Some(Event::Response { stream: s, fin: Fin::Last, .. }) if s == stream));
//! # Ok::<(), proto::Refused>(())
//! ```

mod authority;
mod connection;
mod error;
pub mod h1;
pub mod h2;
pub mod h3;
mod id_map;
mod message;
mod meter;
mod multiplex;
mod multiplexed_connection;
mod recent_blocks;
pub mod schedule;
pub mod spdy;
mod stream_id;
pub mod ws;

pub use connection::{
    ByteStreamConnection, ClientConnection, Connection, ConnectionState, CountOnly, DirectReceive,
    Event, Fin, Repeated, SendCredit, ServerConnection,
};
pub use error::{Error, Misuse, Refused, Scope};
pub use id_map::{IdHasher, IdMap};
pub use message::{Method, RequestHead, ResponseHead, Scheme, Status};
pub use meter::{Allowance, Meter};
pub use multiplexed_connection::{
    Backlog, EarlyData, MultiplexedConnection, StreamAction, StreamKind, StreamTransmit,
    TransportFacts,
};
pub use stream_id::StreamId;
pub use wire::{Field, Fields};

/// Requests that a server allows a client to have open at a time, where nobody sets another number. It is one for HTTP/2, HTTP/3 and
/// SPDY, so that they are compared on equal terms. RFC 9113 §6.5.2 and RFC 9114 §6.1 ask for 100 at least.
pub const SERVER_STREAMS: u32 = 100;
