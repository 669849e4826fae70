//! What the codec of WebSocket reads is what it writes, and the other readers take anything.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("ws_frames").expect("a target of this name")(input));
