//! Trials of the real program as their rows tell them: real sockets, real links, real servers, and far sides that break
//! their protocol. Each file is one kind of work or of far side.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stderr)]

#[allow(dead_code, reason = "the other tests of the program use the rest")]
#[path = "../commands/bench.rs"]
mod bench;
mod broken_peers;
mod browser_needs;
mod browsers;
mod calls;
mod echo;
mod equal_terms;
mod first_visit;
mod h3_servers;
mod http3;
mod quic_settings;

mod near_side;
mod next_view;
mod policies;
mod recorded;
mod recorded_sites;
mod servers;
mod services;
mod six_images;
mod split_tcp;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../get/started.rs"]
mod started;
mod stream;
mod temperatures;
