//! A client under a server that sends arbitrary bytes on arbitrary streams. It takes all of them, tells one end of a stream at most,
//! sends nothing on a stream that it has ended or abandoned, and is quiet once it is closed.
#![no_main]

use fuzzing::target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target("h3_client").expect("a target of this name")(input));
