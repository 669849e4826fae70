//! A link that can be read is read again from its canonical text; a trace file is read or refused.

use crate::decode;
use link::{LinkSpec, Schedule, no_traces};

pub(crate) fn run(input: &[u8]) {
    let Some(text) = decode::<&str>(input) else { return };
    let _ = Schedule::parse(text);
    if let Ok(spec) = LinkSpec::parse(text, no_traces) {
        assert_eq!(LinkSpec::parse(&spec.canonical(), no_traces).as_ref(), Ok(&spec), "{text}");
    }
}
