//! What is found in HTML does not depend on how its bytes arrive.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("html_scan").expect("a target of this name")(input));
