//! Our client with three echoes, under a hostile server.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("client_echoes").expect("a target of this name")(input));
