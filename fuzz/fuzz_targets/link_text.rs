//! A link that can be read is read again from its canonical text; a trace file is read or refused.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("link_text").expect("a target of this name")(input));
