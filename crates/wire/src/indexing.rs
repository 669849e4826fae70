//! Which fields HPACK's and QPACK's encoders keep in their dynamic tables. It is one rule for both: else they would give other
//! sizes for the same heads.

/// Fields whose value is seldom the same twice would only push useful ones out. So would a field whose entry fills more than three
/// quarters of the table.
pub(crate) fn is_worth_indexing(name: &[u8], entry: usize, capacity: usize) -> bool {
    if entry * 4 > capacity * 3 {
        return false;
    }
    !matches!(
        name,
        b":path"
            | b"age"
            | b"content-length"
            | b"content-range"
            | b"etag"
            | b"if-modified-since"
            | b"if-none-match"
            | b"last-modified"
            | b"location"
            | b"range"
            | b"set-cookie"
    )
}

#[cfg(test)]
mod tests {
    use crate::fields::Field;
    use crate::qpack::EncoderLimits;
    use crate::{hpack, qpack};

    const CAPACITY: usize = 256;

    fn is_indexed_by_hpack(field: Field<'_>) -> bool {
        let mut encoder = hpack::Encoder::new(CAPACITY);
        let mut block = || {
            let mut out = Vec::new();
            encoder.begin(&mut out);
            encoder.field(field, &mut out);
            out.len()
        };
        block();
        block() == 1
    }

    fn is_indexed_by_qpack(field: Field<'_>) -> bool {
        let mut encoder = qpack::Encoder::new(CAPACITY);
        encoder.set_limits(EncoderLimits { max_capacity: CAPACITY, blocked_streams: 1 });
        encoder.take_instructions();
        encoder.begin(0);
        encoder.field(field);
        encoder.end(&mut Vec::new());
        encoder.has_instructions()
    }

    #[test]
    fn both_encoders_keep_the_same_fields() {
        // The largest that fits is 192 bytes.
        let (fits, is_large) = (vec![b'v'; 159], vec![b'v'; 160]);
        let cases: [(&[u8], &[u8], bool); 9] = [
            (b"user-agent", b"a client", true),
            (b"cookie", b"a=b", true),
            (b"x", &fits, true),
            (b"x", &is_large, false),
            (b":path", b"/a", false),
            (b"age", b"17", false),
            (b"location", b"/there", false),
            (b"range", b"bytes=5-", false),
            (b"set-cookie", b"a=b", false),
        ];
        for (name, value, is_kept) in cases {
            let field = Field { name, value, sensitive: false };
            let kept = (is_indexed_by_hpack(field), is_indexed_by_qpack(field));
            assert_eq!(kept, (is_kept, is_kept), "{}", String::from_utf8_lossy(name));
        }
    }
}
