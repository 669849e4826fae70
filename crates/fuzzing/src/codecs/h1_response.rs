//! Response heads: never a panic, and no value that could leave its line.

use crate::reached;
use wire::Fields;
use wire::h1::{self, FramingFields, HeadScanner, Limits, ResponseParts};

pub(crate) fn run(bytes: &[u8]) {
    let Ok(Some(end)) = HeadScanner::new(Limits::default()).scan(bytes) else { return };
    let mut scratch = h1::field_scratch();
    let Ok(parts) = h1::parse_response(&bytes[..end], &mut scratch) else { return };
    reached::note_value();
    assert!((100..1000).contains(&parts.status));
    let mut framing = FramingFields::new();
    let mut fields = Fields::new();
    for field in parts.fields() {
        let _ = framing.take(field);
        ResponseParts::push_unfolded(&mut fields, field);
    }
    let _ = framing.response_body(parts.version);
    assert!(fields.iter().all(|field| h1::is_field_value(field.value)));
}
