//! The client against servers in virtual time: no sockets, no clock.

#![allow(clippy::unwrap_used, reason = "the helpers of a test fail with it")]

mod calls;
mod download;
mod draining;
mod early;
mod echo_requests;
mod faults;
mod first_visit;
mod goldens;
mod hints;
mod http3;
mod lost;
mod page;
mod pool;
mod push;
mod quic_packets;
mod recorded;
mod simulated;
mod spoken;
mod stream;
mod stream_faults;
mod urgencies;
mod views;
mod web_socket;
mod world;
mod writes;
