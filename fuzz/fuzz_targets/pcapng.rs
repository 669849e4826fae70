//! Whatever reads as a block is written and read again as the same one.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("pcapng").expect("a target of this name")(input));
