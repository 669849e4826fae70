//! A chunked body is the same however it is cut.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("h1_chunked").expect("a target of this name")(input));
