//! The whole origin behind TLS, under a hostile peer.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("origin_tls").expect("a target of this name")(input));
