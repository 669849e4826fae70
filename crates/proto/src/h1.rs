//! HTTP/1.1 connections (RFC 9112): one exchange after another on a byte stream.
//!
//! A server reads requests ahead while earlier ones are unanswered and sends the answers in their
//! order, whatever order they are given in. It answers what breaks the protocol by itself, with the
//! status that [`crate::Error::PeerViolation`] carries as its code, and then closes.
//!
//! Two things go beyond [`crate::Connection`], because a byte stream has no flow control of its own:
//! - back-pressure is reading no more. An end point asks `wants_read` after each batch of calls, and
//!   pauses its socket while it says no;
//! - [`Server::take_backlog`] gives back the bytes that arrived while reading ahead had reached its
//!   bound; [`Server::wants_shutdown`] tells when to send FIN while the peer may still be sending.
//!
//! ```
//! use proto::h1::{Server, ServerSettings};
//! use endpoint::SendBuf;
//! use proto::{ByteStreamConnection, Connection, Event, Fin, ResponseHead, ServerConnection, Status};
//! use unit::Instant;
//!
//! let now = Instant::ZERO;
//! let mut server = Server::new(now, ServerSettings::default(), trace::Tracer::off());
//! let arrived = b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n";
//! // What was held back comes first, then what the socket gave.
//! for bytes in [&server.take_backlog()[..], arrived] {
//!     let mut input = bytes;
//!     while let Some(event) = server.handle_bytes(now, &mut input) {
//!         if let Event::Request { stream, .. } = event {
//!             server.respond(stream, &ResponseHead::new(Status::OK), Fin::Last)?;
//!         }
//!     }
//! }
//! let mut out = SendBuf::new();
//! server.poll_transmit(now, &mut out, 64 * 1024);
//! assert_eq!(out.to_vec(), b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
//! assert!(server.wants_read() && !server.wants_shutdown());
//! # Ok::<(), proto::Misuse>(())
//! ```

mod body;
mod client;
mod connection;
mod head;
mod outgoing;
mod server;
mod settings;

pub use client::Client;
pub use server::{BufferPool, Server};
pub use settings::{ClientSettings, Expect, KeepAlive, ServerSettings};
pub use wire::h1::Limits;

#[cfg(test)]
mod tests;
