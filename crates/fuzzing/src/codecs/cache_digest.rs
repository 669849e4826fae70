//! Anybody's cache digests: what is read is bounded by the field's length, and written and read again.

use crate::reached;
use wire::cache_digest::{CacheDigests, Digest, UrlHash, Validators};

pub(crate) fn run(field: &[u8]) {
    let mut cached = CacheDigests::default();
    if cached.merge_field(field).is_none() {
        reached::note_value();
    }
    let url = UrlHash::of_url("https://a.test/app.js");
    let _either =
        cached.contains(url, Some(UrlHash::of_response("https://a.test/app.js", b"\"1\"")));
    if let Ok(digest) = Digest::parse(Validators::Left, field) {
        reached::note_value();
        assert!(digest.len() <= 6 * field.len());
        assert_eq!(Digest::parse(Validators::Left, digest.value().as_bytes()), Ok(digest));
    }
}
