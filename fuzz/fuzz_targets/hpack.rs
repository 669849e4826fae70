//! A decoder under arbitrary blocks: it never gives more than the limit, and what it gives can be coded
//! and read again.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("hpack").expect("a target of this name")(input));
