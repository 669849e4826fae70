//! One connection's stack, once for both roles: what carries it (a byte stream, with TLS or without, or QUIC), ALPN, and the
//! protocol's machine.
//!
//! Bytes go in, events come out through a [`Handler`], bytes to send come from [`Connection::poll_transmit`]. An
//! application gives its commands to the machine once the connection is ready. It never sees TLS. Like every machine
//! here, a connection owns no socket and reads no clock.
//!
//! ```
//! use std::rc::Rc;
//! use proto::{Event, Fin, RequestHead, Scheme};
//! use transport::{
//!     Client, ClientMachine, ClientSecurity, ClientSettings, ClientSpec, Connection, Handler, Negotiated, Offer,
//!     Protocol,
//! };
//! use unit::Instant;
//!
//! /// Asks for `/` as soon as the connection is ready, and counts the bytes of the response's body.
//! struct Get(Option<usize>);
//!
//! impl Handler<Client> for Get {
//!     fn handle_ready(&mut self, machine: &mut ClientMachine, _: Negotiated<'_, Protocol>) {
//!         let request = RequestHead::get(Scheme::Http, "a.test", "/");
//!         machine.request(Instant::ZERO, &request, Fin::Last).expect("a fresh connection takes a request");
//!     }
//!     fn handle_event(&mut self, _: &mut ClientMachine, event: Event<'_>) {
//!         if let Event::Data { data, .. } = event {
//!             self.0 = Some(data.len());
//!         }
//!     }
//! }
//!
//! let settings = Rc::new(ClientSettings::new(Offer::Only(Protocol::Http1)));
//! let spec = ClientSpec { security: ClientSecurity::Clear, settings, tracer: Default::default() };
//! let mut connection = Connection::<Client>::open(Instant::ZERO, spec)?;
//! let mut get = Get(None);
//! connection.handle_connected(Instant::ZERO, &mut get)?;
//! let mut sent = endpoint::SendBuf::new();
//! connection.poll_transmit(Instant::ZERO, &mut sent, 65_536);
//! assert!(sent.to_vec().starts_with(b"GET / HTTP/1.1\r\n"));
//! connection.handle_bytes(Instant::ZERO, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", &mut get)?;
//! assert_eq!(get.0, Some(2));
//! # Ok::<(), transport::Failure>(())
//! ```

mod byte_stream;
mod client;
mod connection;
mod failure;
mod offer;
mod protocol;
mod quic;
mod recognise;
mod role;
mod server;
mod status;
mod tunnel;

pub use byte_stream::StreamConnection;
pub use client::{
    Client, ClientByteStream, ClientMachine, ClientMultiplexed, ClientSecurity, ClientSettings,
    ClientSpec,
};
pub use connection::Connection;
pub use failure::Failure;
pub use offer::Offer;
pub use protocol::{NoMachine, Protocol};
pub use quic::{
    AddressValidation, Admission, Arrival, CongestionController, Datagrams, Gso, Lifetime,
    ListeningSocket, MtuDiscovery, QuicConnection, QuicFacts, QuicHandle, QuicInput, QuicLink,
    QuicPort, QuicSettings, QuicSocket, QuicTally, ServerMemory,
};
pub use role::{Handler, QuicRole, Role};
pub use server::{
    BufferPools, Decisions, Server, ServerByteStream, ServerMachine, ServerMultiplexed,
    ServerProtocol, ServerSettings, ServerSpec,
};
pub use status::{Negotiated, Phase, Timings, Traffic, Truncation};
pub use tunnel::{Tunnel, TunnelFailure};

#[cfg(test)]
mod tests;
