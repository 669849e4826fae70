//! The load engine under a hostile server.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("client_load").expect("a target of this name")(input));
