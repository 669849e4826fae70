//! Header blocks that are compressed by fields: what is written is read again by zlib, over and over, past
//! the end of the window.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("spdy_encoder").expect("a target of this name")(input));
