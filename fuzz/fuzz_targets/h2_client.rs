//! A client that has asked and sends a body, under arbitrary bytes in arbitrary pieces: it takes all of
//! them and gives no stream more than one end.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("h2_client").expect("a target of this name")(input));
