//! What the fuzz targets in `fuzz/` do with their input: a function each. They are a crate of the workspace so that a
//! plain `cargo test` runs every seed through its target (`tests/seeds.rs`), without a fuzzer and without nightly Rust.
//! docs/fuzzing.md lists them.
//!
//! A target over a codec or a machine reads its input as values (`arbitrary`). One over a whole end point reads it as a
//! [`script`], and a driver plays the network, the peer and the clock.
//!
//! ```
//! use fuzzing::script::{Step, write};
//!
//! let mut input = vec![0];
//! write(Step::Open, &mut input);
//! write(Step::Send(b"GET /small.html HTTP/1.1\r\nHost: a\r\n\r\n"), &mut input);
//! write(Step::Read, &mut input);
//! fuzzing::target("origin").expect("a target")(&input);
//! ```

mod codecs;
mod download;
mod driver;
mod heap;
#[cfg(test)]
mod held;
mod http_client;
pub mod quic;
pub mod reached;
pub mod script;
mod server;
mod tls;
mod tls_peer;
mod web_socket;

use arbitrary::{Arbitrary, Unstructured};

/// The end points under test, for the exchanges that seeds are made of.
pub mod end_points {
    pub use crate::download::{Written, download};
    pub use crate::http_client::{
        config, engine, page, routes, synthetic_page, three_calls, three_echoes,
    };
    pub use crate::server::origin;
    pub use crate::tls::origin as origin_over_tls;
    pub use crate::web_socket::echoes;
}

/// A target's function. It panics where the input finds a fault.
pub type Target = fn(&[u8]);

/// All targets, by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("cache_digest", codecs::cache_digest::run),
    ("casper", codecs::casper::run),
    ("client_calls", http_client::calls),
    ("client_download", download::run),
    ("client_echoes", http_client::echoes),
    ("client_load", http_client::load),
    ("client_page", http_client::page_load),
    ("client_web_socket", web_socket::run),
    ("h1_chunked", codecs::h1_chunked::run),
    ("h1_client", codecs::h1_client::run),
    ("h1_request", codecs::h1_request::run),
    ("h1_response", codecs::h1_response::run),
    ("h1_server", codecs::h1_server::run),
    ("h2_client", codecs::h2_client::run),
    ("h2_frames", codecs::h2_frames::run),
    ("h2_server", codecs::h2_server::run),
    ("h3_client", codecs::h3_client::run),
    ("h3_frames", codecs::h3_frames::run),
    ("h3_server", codecs::h3_server::run),
    ("har", codecs::har::run),
    ("hpack", codecs::hpack::run),
    ("html_scan", codecs::html_scan::run),
    ("ip_segments", codecs::ip_segments::run),
    ("link_text", codecs::link_text::run),
    ("origin", server::run),
    ("origin_quic", quic::origin),
    ("origin_tls", tls::run),
    ("pcapng", codecs::pcapng::run),
    ("qpack", codecs::qpack::run),
    ("quic_pair", quic::pair),
    ("spdy_block", codecs::spdy_block::run),
    ("spdy_client", codecs::spdy_client::run),
    ("spdy_encoder", codecs::spdy_encoder::run),
    ("spdy_frames", codecs::spdy_frames::run),
    ("spdy_server", codecs::spdy_server::run),
    ("ws_connection", codecs::ws_connection::run),
    ("ws_frames", codecs::ws_frames::run),
];

/// The target of this name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().find(|(known, _)| *known == name).map(|(_, run)| *run)
}

/// Reads an input as a value, as `libfuzzer_sys::fuzz_target` does; None where it is too short.
fn decode<'a, T: Arbitrary<'a>>(input: &'a [u8]) -> Option<T> {
    if input.len() < T::size_hint(0).0 {
        return None;
    }
    T::arbitrary_take_rest(Unstructured::new(input)).ok()
}
