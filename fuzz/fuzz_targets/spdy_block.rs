//! SPDY header blocks: any bytes give fields within the limit or an error, and what is written is read.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("spdy_block").expect("a target of this name")(input));
