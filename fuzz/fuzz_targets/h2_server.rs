//! A server after the preface under arbitrary bytes in arbitrary pieces: it takes all of them, what it
//! says is whole frames, and what it keeps is bounded.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("h2_server").expect("a target of this name")(input));
