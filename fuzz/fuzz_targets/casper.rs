//! Anybody's CASPER cookies: what is read is bounded by the cookie's length, and written and read again.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("casper").expect("a target of this name")(input));
