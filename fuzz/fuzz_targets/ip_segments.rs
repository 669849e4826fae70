//! Splitting any packet gives packets that parse, none larger than asked for, with all the payload of a
//! TCP one in order.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("ip_segments").expect("a target of this name")(input));
