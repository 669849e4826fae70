//! Response heads: never a panic, and no value that could leave its line.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("h1_response").expect("a target of this name")(input));
