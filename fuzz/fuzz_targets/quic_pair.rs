//! Our client and our origin over HTTP/3 and a bad path.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("quic_pair").expect("a target of this name")(input));
