//! Anybody's cache digests: what is read is bounded by the field's length, and written and read again.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("cache_digest").expect("a target of this name")(input));
