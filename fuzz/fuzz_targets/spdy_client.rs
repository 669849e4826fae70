//! A SPDY client with a request under way, that takes pushes, under arbitrary bytes: after the end of
//! input it is closed.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("spdy_client").expect("a target of this name")(input));
