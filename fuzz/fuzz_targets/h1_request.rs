//! A request head is found at the same place however it is cut, and what is read is written and read again.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("h1_request").expect("a target of this name")(input));
