//! Sans-IO connections of the web's protocols, one module a protocol, all with one vocabulary.
//!
//! A connection takes bytes, commands and an absolute `now`, and gives events, bytes to send and
//! the time of its next time-out. It owns no socket and reads no clock, so the same machine runs
//! behind a reactor, in a test without sleeps, under a fuzzer and in virtual time.
//!
//! ```
//! use proto::SendBuf;
//!
//! let mut out = SendBuf::new();
//! out.put(b"HTTP/1.1 200 OK\r\n\r\n");
//! out.put_shared(bytes::Bytes::from_static(b"hello"));
//! assert_eq!(out.len(), 24);
//! out.advance(19);
//! assert_eq!(out.to_vec(), b"hello");
//! ```

mod connection;
mod end_point;
mod error;
pub mod h1;
pub mod h2;
mod id_map;
mod message;
mod multiplex;
mod prepared;
pub mod schedule;
mod send_buf;
pub mod spdy;
pub mod ws;

pub use connection::{
    ClientConnection, Connection, ConnectionState, Event, Fin, Repeated, ServerConnection, StreamId,
};
pub use end_point::{
    Accepted, Acks, Action, CongestionControl, EndPoint, FastOpen, Nagle, SocketError, SocketId,
    SocketSettings,
};
pub use error::{Error, Misuse, Refused, Scope};
pub use id_map::{IdHasher, IdMap};
pub use message::{Method, RequestHead, ResponseHead, Scheme, Status};
pub use prepared::Prepared;
pub use send_buf::{FilePart, SendBuf};
pub use wire::{Field, Fields};
