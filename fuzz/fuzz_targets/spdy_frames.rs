//! A SPDY frame that is read can be written and read again.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("spdy_frames").expect("a target of this name")(input));
