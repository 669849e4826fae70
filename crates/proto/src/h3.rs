//! HTTP/3 (RFC 9114): both roles of a connection over a transport with streams of its own.
//!
//! [`Client`] and [`Server`] name QUIC's streams, read their bytes and say which stream sends next; they see no
//! packet. Which stream that is, is asked of a [`crate::schedule::Scheduler`] when the transport can take bytes. Pushes
//! are refused: MAX_PUSH_ID is never sent.
//!
//! ```
//! use endpoint::SendBuf;
//! use proto::h3::{Client, Settings};
//! use proto::schedule::RoundRobin;
//! use proto::{ClientConnection, Fin, MultiplexedConnection, RequestHead, Scheme, StreamId, StreamKind};
//! use {trace::Tracer, unit::Instant};
//!
//! let now = Instant::ZERO;
//! let mut client = Client::new(now, Settings::client(), Box::new(RoundRobin::default()), Tracer::off());
//! client.handle_stream_limit(StreamKind::Bidirectional, 100);
//! let stream = client.request(now, &RequestHead::get(Scheme::Https, "a.test", "/"), Fin::Last)?;
//! assert_eq!(stream, StreamId(0));
//! let mut out = SendBuf::new();
//! let control = client.poll_stream_transmit(now, &mut out, 1200).expect("SETTINGS come first");
//! assert_eq!(control.stream, StreamId(2));
//! # Ok::<(), proto::Refused>(())
//! ```

mod buffers;
mod command;
mod control;
mod frame_queue;
mod lifecycle;
mod message;
mod outputs;
mod receive;
mod released;
mod repeat;
mod role;
mod session;
mod settings;
mod stream;
mod streams;
#[cfg(test)]
mod tests;
mod traced;
mod transmit;

pub use crate::multiplex::guard::Limits;
pub use buffers::BufferPool;
pub use role::{Client, Server};
pub use settings::{PeerSettings, Settings};
pub use wire::h3::ErrorCode;
