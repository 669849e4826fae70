//! Fast path: parses request lines of the most common form. The one rule: it gives what the full parser
//! ([`super::parse_request`]) gives, or None.

/// What a plain request line says, and what follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainRequest<'b> {
    /// Method token.
    pub method: &'b str,
    /// Path and query.
    pub path: &'b str,
    /// Bytes of the line, without its CRLF.
    pub line: usize,
    /// What follows the line.
    pub rest: &'b [u8],
}

/// Reads a whole line of HTTP/1.1 that asks for a path; None where it is anything else, or not whole.
pub fn plain_request(bytes: &[u8]) -> Option<PlainRequest<'_>> {
    let (line, rest) = bytes.split_at(memchr::memchr(b'\n', bytes)? + 1);
    let words = line.strip_suffix(b" HTTP/1.1\r\n")?;
    let (method, path) = words.split_at_checked(words.iter().position(|&byte| byte == b' ')?)?;
    let path = path.strip_prefix(b" ")?;
    let is_plain = !method.is_empty()
        && method.iter().all(u8::is_ascii_uppercase)
        && path.first() == Some(&b'/')
        && path.iter().all(|&byte| PATH[usize::from(byte)]);
    let text = |bytes| std::str::from_utf8(bytes).ok();
    let (method, path) = (text(method)?, text(path)?);
    is_plain.then_some(PlainRequest { method, path, line: line.len() - 2, rest })
}

/// RFC 3986 §3.3, §3.4: what paths and queries are made of.
const PATH: [bool; 256] = super::alphanumeric_and(b"-._~!$&'()*+,;=:@%/?");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::h1::{Version, field_scratch, parse_request};
    use proptest::prelude::*;

    #[test]
    fn lines_with_peculiarities_are_left_to_the_whole_reader() {
        for line in [
            "GET / HTTP/1.0",
            "GET  / HTTP/1.1",
            "GET / HTTP/1.1 ",
            " GET / HTTP/1.1",
            "GET http://a/ HTTP/1.1",
            "GET * HTTP/1.1",
            "GET /a b HTTP/1.1",
            "GET /a#b HTTP/1.1",
            "GET /\u{e9} HTTP/1.1",
            "\r\nGET / HTTP/1.1",
            "G@T / HTTP/1.1",
            "GET /",
            "",
        ] {
            assert_eq!(
                plain_request(format!("{line}\r\nHost: a\r\n\r\n").as_bytes()),
                None,
                "{line:?}"
            );
        }
        assert_eq!(plain_request(b"GET / HTTP/1.1\r"), None, "not whole");
        assert_eq!(plain_request(b"GET / HTTP/1.1\n"), None, "RFC 9112 §2.2");
    }

    proptest! {
        #[test]
        fn what_is_read_at_a_glance_the_whole_reader_reads_alike(
            line in prop_oneof![
                "[A-Z]{1,7} /[ -~]{0,20} HTTP/1\\.1",
                "[A-Z]{0,3}[ -~]{1,3}/[a-z#?%é]{0,9} HTTP/1\\.[01]",
                proptest::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| {
                    String::from_utf8_lossy(&bytes).into_owned()
                }),
            ],
        ) {
            let bytes = format!("{line}\r\nHost: a\r\n\r\n").into_bytes();
            if let Some(plain) = plain_request(&bytes) {
                let mut scratch = field_scratch();
                let parts = parse_request(&bytes, &mut scratch);
                let parts = parts.map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
                prop_assert_eq!((parts.method, parts.target), (plain.method, plain.path));
                prop_assert_eq!((parts.version, plain.line), (Version::Http11, line.len()));
                prop_assert_eq!(plain.rest, b"Host: a\r\n\r\n");
            }
        }
    }
}
