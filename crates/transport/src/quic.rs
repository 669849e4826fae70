//! QUIC (RFC 9000) by quinn-proto, for either role. A [`QuicSocket`] is what one UDP socket carries; each of its
//! connections is a [`Link`] below a protocol's machine.

mod ack_only;
mod answered;
mod clock;
mod congestion;
mod connection;
mod end;
mod facts;
mod keep_alive;
mod link;
mod memory;
mod moves;
mod new_path;
mod observer;
mod port;
mod settings;
mod socket;
mod streams;
mod unproven;

pub use congestion::CongestionController;
pub use connection::QuicConnection;
pub use facts::{QuicFacts, QuicTally};
pub use link::Link as QuicLink;
pub use memory::ServerMemory;
pub use port::QuicPort;
pub use settings::{
    AddressValidation, Datagrams, Gso, ListeningSocket, MtuDiscovery, QuicSettings,
};
pub use socket::{Admission, Arrival, Lifetime, QuicHandle, QuicInput, QuicSocket};
