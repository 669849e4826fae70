//! Frames out of arbitrary bytes in arbitrary pieces: a header is the same however it is cut, an error stands within
//! its frame, and what is read can be written and read again.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("h3_frames").expect("a target of this name")(input));
