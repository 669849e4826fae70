//! A request head is found at the same place however it is cut, and what is read is written and read again.

use crate::{decode, reached};
use wire::h1::{self, FramingFields, HeadScanner, Limits};

pub(crate) fn run(input: &[u8]) {
    let Some(input) = decode::<(u8, &[u8])>(input) else { return };
    let (cut, bytes) = input;
    let whole = HeadScanner::new(Limits::default()).scan(bytes);
    let (first, second) = bytes.split_at(usize::from(cut).min(bytes.len()));
    let mut scanner = HeadScanner::new(Limits::default());
    let in_two = match scanner.scan(first) {
        Ok(None) => scanner.scan(second).map(|end| end.map(|end| end + first.len())),
        other => other,
    };
    if let (Ok(whole), Ok(in_two)) = (whole, in_two) {
        assert_eq!(whole, in_two);
    }
    let Ok(Some(end)) = whole else { return };
    let mut scratch = h1::field_scratch();
    let Ok(parts) = h1::parse_request(&bytes[..end], &mut scratch) else { return };
    reached::note_value();
    let mut framing = FramingFields::new();
    let mut again = Vec::new();
    h1::put_request_line(&mut again, parts.method, parts.target);
    for field in parts.fields() {
        let _ = framing.take(field);
        assert!(h1::is_field_name(field.name));
        h1::put_field(&mut again, field.name, field.value);
    }
    let _ = framing.request_body(parts.version);
    h1::put_end(&mut again);
    let mut scratch = h1::field_scratch();
    let reread = h1::parse_request(&again, &mut scratch).expect("what is written can be read");
    assert_eq!((reread.method, reread.target), (parts.method, parts.target));
    assert!(reread.fields().eq(parts.fields()));
}
