//! Anybody's CASPER cookies: what is read is bounded by the cookie's length, and written and read again.

use crate::{decode, reached};
use wire::casper::{Capacity, Fingerprint};

pub(crate) fn run(input: &[u8]) {
    let Some((bits, field)) = decode::<(u8, &[u8])>(input) else { return };
    let Some(capacity) = Capacity::new(6 + bits % 11) else { return };
    let mut seen = Fingerprint::new(capacity);
    if seen.merge_cookies(field).is_none() && !seen.is_empty() {
        reached::note_value();
    }
    assert!(7 * seen.len() <= 6 * field.len());
    assert_eq!(Fingerprint::parse(capacity, seen.value().as_bytes()), Ok(seen));
    if let Ok(read) = Fingerprint::parse(capacity, field) {
        reached::note_value();
        assert_eq!(Fingerprint::parse(capacity, read.value().as_bytes()), Ok(read));
    }
}
