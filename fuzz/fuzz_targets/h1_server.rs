//! A server under arbitrary bytes in arbitrary pieces: it takes all of them, and what it says is responses.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("h1_server").expect("a target of this name")(input));
