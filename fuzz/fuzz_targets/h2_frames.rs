//! Arbitrary bytes as frames: what can be read is written alike.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("h2_frames").expect("a target of this name")(input));
