//! The whole origin over QUIC, under a client that has keys and breaks any rule.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("origin_quic").expect("a target of this name")(input));
