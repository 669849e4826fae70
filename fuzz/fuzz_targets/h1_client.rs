//! A client under arbitrary bytes: after the end of input it is closed.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("h1_client").expect("a target of this name")(input));
