//! A decoder and an encoder under arbitrary sections and instructions: a decoder never gives more than the limit, what
//! it gives can be coded and read again, and an encoder that believes a lying decoder stays whole.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("qpack").expect("a target of this name")(input));
