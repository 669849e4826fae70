//! The static table (RFC 7541 Appendix A).

use super::Found;

/// Name and value of entry `index + 1`.
pub(crate) const ENTRIES: [(&[u8], &[u8]); 61] = [
    (b":authority", b""),
    (b":method", b"GET"),
    (b":method", b"POST"),
    (b":path", b"/"),
    (b":path", b"/index.html"),
    (b":scheme", b"http"),
    (b":scheme", b"https"),
    (b":status", b"200"),
    (b":status", b"204"),
    (b":status", b"206"),
    (b":status", b"304"),
    (b":status", b"400"),
    (b":status", b"404"),
    (b":status", b"500"),
    (b"accept-charset", b""),
    (b"accept-encoding", b"gzip, deflate"),
    (b"accept-language", b""),
    (b"accept-ranges", b""),
    (b"accept", b""),
    (b"access-control-allow-origin", b""),
    (b"age", b""),
    (b"allow", b""),
    (b"authorization", b""),
    (b"cache-control", b""),
    (b"content-disposition", b""),
    (b"content-encoding", b""),
    (b"content-language", b""),
    (b"content-length", b""),
    (b"content-location", b""),
    (b"content-range", b""),
    (b"content-type", b""),
    (b"cookie", b""),
    (b"date", b""),
    (b"etag", b""),
    (b"expect", b""),
    (b"expires", b""),
    (b"from", b""),
    (b"host", b""),
    (b"if-match", b""),
    (b"if-modified-since", b""),
    (b"if-none-match", b""),
    (b"if-range", b""),
    (b"if-unmodified-since", b""),
    (b"last-modified", b""),
    (b"link", b""),
    (b"location", b""),
    (b"max-forwards", b""),
    (b"proxy-authenticate", b""),
    (b"proxy-authorization", b""),
    (b"range", b""),
    (b"referer", b""),
    (b"refresh", b""),
    (b"retry-after", b""),
    (b"server", b""),
    (b"set-cookie", b""),
    (b"strict-transport-security", b""),
    (b"transfer-encoding", b""),
    (b"user-agent", b""),
    (b"vary", b""),
    (b"via", b""),
    (b"www-authenticate", b""),
];

/// Looks a field up.
pub(crate) fn find(name: &[u8], value: &[u8]) -> Found {
    let Some(first) = index_of_name(name) else { return Found::Nothing };
    // Entries of one name stand together; only the first sixteen have values.
    let mut index = first;
    while index <= 16 && ENTRIES[index - 1].0 == name {
        if ENTRIES[index - 1].1 == value && !value.is_empty() {
            return Found::Whole(index as u8);
        }
        index += 1;
    }
    Found::Name(first as u8)
}

/// The first entry of that name. Names are told apart by length and one byte, then compared once.
fn index_of_name(name: &[u8]) -> Option<usize> {
    let last = *name.last()?;
    let index = match (name.len(), last) {
        (3, b'e') => 21,
        (3, b'a') => 60,
        (4, b'e') => 33,
        (4, b'g') => 34,
        (4, b'm') => 37,
        (4, b't') => 38,
        (4, b'k') => 45,
        (4, b'y') => 59,
        (5, b'h') => 4,
        (5, b'w') => 22,
        (5, b'e') => 50,
        (6, b't') if name[0] == b'a' => 19,
        (6, b't') => 35,
        (6, b'e') => 32,
        (6, b'r') => 54,
        (7, b'd') => 2,
        (7, b'e') => 6,
        (7, b's') if name[0] == b':' => 8,
        (7, b's') => 36,
        (7, b'r') => 51,
        (7, b'h') => 52,
        (8, b'h') => 39,
        (8, b'e') => 42,
        (8, b'n') => 46,
        (10, b'y') => 1,
        (10, b'e') => 55,
        (10, b't') => 58,
        (11, b'r') => 53,
        (12, b'e') => 31,
        (12, b's') => 47,
        (13, b's') => 18,
        (13, b'n') => 23,
        (13, b'l') => 24,
        (13, b'e') => 30,
        (13, b'd') => 44,
        (13, b'h') => 41,
        (14, b't') => 15,
        (14, b'h') => 28,
        (15, b'g') => 16,
        (15, b'e') => 17,
        (16, b'g') if name[0] == b'c' => 26,
        (16, b'e') if name[0] == b'c' => 27,
        (16, b'n') => 29,
        (16, b'e') => 61,
        (17, b'e') => 40,
        (17, b'g') => 57,
        (18, b'e') => 48,
        (19, b'n') if name[0] == b'c' => 25,
        (19, b'n') => 49,
        (19, b'e') => 43,
        (25, b'y') => 56,
        (27, b'n') => 20,
        _ => return None,
    };
    (ENTRIES[index - 1].0 == name).then_some(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_found_where_the_rfc_has_it() {
        for (at, (name, value)) in ENTRIES.iter().enumerate() {
            match find(name, value) {
                Found::Whole(index) => assert_eq!(usize::from(index), at + 1),
                Found::Name(index) => {
                    assert!(value.is_empty(), "{}", String::from_utf8_lossy(name));
                    assert_eq!(ENTRIES[usize::from(index) - 1].0, *name);
                }
                Found::Nothing => panic!("{} is lost", String::from_utf8_lossy(name)),
            }
            assert!(matches!(find(name, b"some other value"), Found::Name(_)));
        }
        assert_eq!(find(b"x-thing", b""), Found::Nothing);
        assert_eq!(find(b"", b""), Found::Nothing);
    }
}
