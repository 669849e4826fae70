//! The contract between an end point and its driver.
//!
//! An [`EndPoint`] is many connections and what they are for: our client and our server are end points. A driver owns
//! the sockets and the clock: the reactor in `os`, the simulator in `sim`. This crate holds what they say to each other,
//! and nothing that either of them does with it.
//!
//! ```
//! use endpoint::SendBuf;
//!
//! let mut out = SendBuf::new();
//! out.put(b"HTTP/1.1 200 OK\r\n\r\n");
//! out.put_shared(bytes::Bytes::from_static(b"hello"));
//! assert_eq!(out.len(), 24);
//! out.advance(19);
//! assert_eq!(out.to_vec(), b"hello");
//! ```

mod checked;
mod datagram;
mod end_point;
mod send_buf;
mod socket;

pub use checked::Checked;
pub use datagram::{DatagramSettings, DatagramTransmit, Ecn, ReceivedDatagrams};
pub use end_point::{Accepted, Action, Bound, EndPoint};
pub use send_buf::{FilePart, SendBuf};
pub use socket::{
    Acks, CongestionControl, ConnectionId, FastOpen, Nagle, Pacing, SocketError, SocketId,
    SocketSettings,
};
