//! Any file gives a page or an error, with and without dependencies; a page can be served and loaded.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("har").expect("a target of this name")(input));
