//! A link that can be read is read again from its canonical text; a trace file is read or refused.

use crate::{decode, reached};
use link::{LinkSpec, Schedule, no_traces};

pub(crate) fn run(input: &[u8]) {
    let Some(text) = decode::<&str>(input) else { return };
    if Schedule::parse(text).is_ok() {
        reached::note_value();
    }
    if let Ok(spec) = LinkSpec::parse(text, no_traces) {
        reached::note_value();
        assert_eq!(LinkSpec::parse(&spec.canonical(), no_traces).as_ref(), Ok(&spec), "{text}");
    }
}
