//! A server under arbitrary bytes on arbitrary streams: it takes all of them, never sends on a stream that has ended,
//! and goes quiet once it is closed.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("h3_server").expect("a target of this name")(input));
