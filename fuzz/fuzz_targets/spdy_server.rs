//! A SPDY server under arbitrary bytes in arbitrary pieces: it takes all of them, and what it says is
//! whole frames.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("spdy_server").expect("a target of this name")(input));
