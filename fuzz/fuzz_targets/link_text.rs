//! A link that can be read is read again from its canonical text; a trace file is read or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use link::{LinkSpec, Schedule, no_traces};

fuzz_target!(|text: &str| {
    let _ = Schedule::parse(text);
    if let Ok(spec) = LinkSpec::parse(text, no_traces) {
        assert_eq!(LinkSpec::parse(&spec.canonical(), no_traces).as_ref(), Ok(&spec), "{text}");
    }
});
