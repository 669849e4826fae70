//! Our WebSocket client under a hostile server.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("client_web_socket").expect("a target of this name")(input));
