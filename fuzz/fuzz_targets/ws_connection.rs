//! Either end of a WebSocket under arbitrary bytes in arbitrary pieces: it takes all of them, tells the
//! same however they are cut, holds no more than its limit, and comes to its end.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("ws_connection").expect("a target of this name")(input));
