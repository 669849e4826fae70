//! Parses heads into borrowed parts, with httparse. Where httparse is lenient, the scanner has refused the head before.

use super::error::{Error, ErrorKind};
use crate::fields::{Field, Fields};
use httparse::{Header, ParserConfig, Status};
use std::mem::MaybeUninit;

/// Field lines that a head can have, whatever its limits.
pub const MAX_FIELDS: usize = 256;

/// The parser's scratch memory for the fields of one head, kept on the stack.
pub type FieldScratch<'b> = [MaybeUninit<Header<'b>>; MAX_FIELDS];

/// An empty scratch.
pub const fn field_scratch<'b>() -> FieldScratch<'b> {
    [const { MaybeUninit::uninit() }; MAX_FIELDS]
}

/// The version that a message claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1
    Http11,
}

impl Version {
    fn from_minor(minor: Option<u8>) -> Self {
        if minor == Some(0) { Self::Http10 } else { Self::Http11 }
    }
}

/// The parts of a request head.
#[derive(Debug)]
pub struct RequestParts<'s, 'b> {
    /// Method token.
    pub method: &'b str,
    /// Request target, as it was sent: ASCII.
    pub target: &'b str,
    /// Version.
    pub version: Version,
    lines: &'s [Header<'b>],
}

impl<'s, 'b> RequestParts<'s, 'b> {
    /// How many fields.
    pub fn field_count(&self) -> usize {
        self.lines.len()
    }

    /// The fields in order.
    pub fn fields(&self) -> impl Iterator<Item = Field<'b>> + Clone + use<'s, 'b> {
        fields(self.lines)
    }
}

/// The parts of a response head.
#[derive(Debug)]
pub struct ResponseParts<'s, 'b> {
    /// Status code, 100 to 999.
    pub status: u16,
    /// Version.
    pub version: Version,
    lines: &'s [Header<'b>],
}

impl<'s, 'b> ResponseParts<'s, 'b> {
    /// How many fields.
    pub fn field_count(&self) -> usize {
        self.lines.len()
    }

    /// The fields in order. A value that goes over several lines still holds its line ends: see
    /// [`push_unfolded`](Self::push_unfolded).
    pub fn fields(&self) -> impl Iterator<Item = Field<'b>> + Clone + use<'s, 'b> {
        fields(self.lines)
    }

    /// Appends `field` to `out`, with each line fold as one space (RFC 9112 §5.2: a user agent must).
    pub fn push_unfolded(out: &mut Fields, field: Field<'_>) {
        if !field.value.contains(&b'\n') {
            out.push(field.name, field.value);
            return;
        }
        let lines = field.value.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        out.push(field.name, &lines.collect::<Vec<_>>().join(&b' '));
    }
}

fn fields<'s, 'b>(
    lines: &'s [Header<'b>],
) -> impl Iterator<Item = Field<'b>> + Clone + use<'s, 'b> {
    lines.iter().map(|line| Field {
        name: line.name.as_bytes(),
        value: line.value,
        sensitive: false,
    })
}

/// A head of HTTP/1.2 to HTTP/1.9 as one of HTTP/1.1, the highest minor version known (RFC 9110 §2.5); None for others. It is
/// for heads that were refused.
#[cold]
pub fn in_known_version(head: &[u8]) -> Option<Vec<u8>> {
    let position = later_minor(head)?;
    let mut known = head.to_vec();
    known[position] = b'1';
    Some(known)
}

/// Where the start line has a minor version above 1.
fn later_minor(head: &[u8]) -> Option<usize> {
    let start = head.iter().position(|&byte| !matches!(byte, b'\r' | b'\n'))?;
    let end = start + memchr::memchr(b'\r', &head[start..])?;
    // A status line begins with the version, a request line ends with it.
    let status_line = head[start..end].starts_with(b"HTTP/");
    let version = if status_line { start } else { end.checked_sub(VERSION_LENGTH)? };
    let minor = head.get(version..end)?.strip_prefix(b"HTTP/1.")?.first()?;
    matches!(minor, b'2'..=b'9').then_some(version + VERSION_LENGTH - 1)
}

const VERSION_LENGTH: usize = b"HTTP/1.1".len();

/// Reads a whole request head, as [`super::HeadScanner`] cut it out.
pub fn parse_request<'s, 'b>(
    head: &'b [u8],
    scratch: &'s mut FieldScratch<'b>,
) -> Result<RequestParts<'s, 'b>, Error> {
    let mut request = httparse::Request::new(&mut []);
    let parsed = request.parse_with_uninit_headers(head, scratch);
    match parsed {
        Ok(Status::Complete(length)) if length == head.len() => {}
        Ok(_) => return Err(Error::malformed(head.len(), "a head ends with an empty line")),
        Err(error) => return Err(refusal(head, error)),
    }
    let (Some(method), Some(target)) = (request.method, request.path) else {
        return Err(Error::malformed(0, "a request has a method and a target (RFC 9112 §3)"));
    };
    // RFC 3986 §2: a URI is ASCII; bytes beyond it are percent-encoded.
    if !target.is_ascii() {
        return Err(Error::malformed(
            method.len() + 1,
            "a request target is ASCII (RFC 9112 §3.2)",
        ));
    }
    let version = Version::from_minor(request.version);
    Ok(RequestParts { method, target, version, lines: request.headers })
}

/// Reads a whole response head, as [`super::HeadScanner`] cut it out.
pub fn parse_response<'s, 'b>(
    head: &'b [u8],
    scratch: &'s mut FieldScratch<'b>,
) -> Result<ResponseParts<'s, 'b>, Error> {
    let mut response = httparse::Response::new(&mut []);
    let mut config = ParserConfig::default();
    config.allow_obsolete_multiline_headers_in_responses(true);
    match config.parse_response_with_uninit_headers(&mut response, head, scratch) {
        Ok(Status::Complete(length)) if length == head.len() => {}
        Ok(_) => return Err(Error::malformed(head.len(), "a head ends with an empty line")),
        Err(error) => return Err(refusal(head, error)),
    }
    let status = response.code.unwrap_or(0);
    if !(100..=999).contains(&status) {
        return Err(Error::malformed(9, "a status code is 100 or above (RFC 9110 §15)"));
    }
    let version = Version::from_minor(response.version);
    Ok(ResponseParts { status, version, lines: response.headers })
}

/// Reads a whole trailer section and appends its fields to `out`, without those that a trailer must
/// not carry.
pub fn parse_trailers(section: &[u8], out: &mut Fields) -> Result<(), Error> {
    let mut lines = [httparse::EMPTY_HEADER; MAX_FIELDS];
    match httparse::parse_headers(section, &mut lines) {
        Ok(Status::Complete((length, lines))) if length == section.len() => {
            for field in fields(lines).filter(|field| may_trail(field.name)) {
                out.push(field.name, field.value);
            }
            Ok(())
        }
        Ok(_) => Err(Error::malformed(section.len(), "a trailer section ends with an empty line")),
        Err(_) => Err(Error::malformed(0, "a trailer is a field line (RFC 9112 §7.1.2)")),
    }
}

/// RFC 9110 §6.5.1: framing, routing and the like have no place in a trailer section.
fn may_trail(name: &[u8]) -> bool {
    const NOT: [&[u8]; 10] = [
        b"transfer-encoding",
        b"content-length",
        b"host",
        b"connection",
        b"keep-alive",
        b"te",
        b"trailer",
        b"upgrade",
        b"authorization",
        b"content-encoding",
    ];
    !NOT.iter().any(|banned| name.eq_ignore_ascii_case(banned))
}

fn refusal(head: &[u8], error: httparse::Error) -> Error {
    use httparse::Error as Fault;
    let rule = match error {
        Fault::Version if claims_other_version(head) => {
            return Error {
                kind: ErrorKind::UnknownVersion,
                position: 0,
                rule: "the version is neither HTTP/1.0 nor HTTP/1.1 (RFC 9112 §2.3)",
            };
        }
        Fault::TooManyHeaders => {
            return Error {
                kind: ErrorKind::FieldsTooLarge,
                position: head.len(),
                rule: "there are more field lines than the limit",
            };
        }
        Fault::Version => "the start line ends with HTTP/ and a version (RFC 9112 §2.3)",
        Fault::HeaderName => {
            "a field line begins with a token and a colon, nothing between (RFC 9112 §5.1)"
        }
        Fault::HeaderValue => "a field value has no control characters (RFC 9110 §5.5)",
        Fault::NewLine => "a line ends with CRLF (RFC 9112 §2.2)",
        Fault::Status => "a status line has a code of three digits (RFC 9112 §4)",
        Fault::Token => "a start line is made of tokens between single spaces (RFC 9112 §3)",
    };
    Error::malformed(0, rule)
}

/// Whether the start line claims `HTTP/` and some other version, in well-formed words.
fn claims_other_version(head: &[u8]) -> bool {
    let line = head.split(|&byte| byte == b'\r').find(|line| line.trim_ascii().len() > 1);
    let mut words = line.unwrap_or_default().trim_ascii().split(|&byte| byte == b' ');
    let first = words.next().unwrap_or_default();
    let claim = match first.strip_prefix(b"HTTP/") {
        Some(version) => Some(version),
        None => {
            words.nth(1).filter(|_| words.next().is_none()).and_then(|w| w.strip_prefix(b"HTTP/"))
        }
    };
    matches!(claim, Some([major, b'.', minor]) if major.is_ascii_digit() && minor.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status_of(head: &str) -> u16 {
        let mut scratch = field_scratch();
        match parse_request(head.as_bytes(), &mut scratch) {
            Ok(_) => 200,
            Err(error) => error.status(),
        }
    }

    #[test]
    fn a_request_falls_into_its_parts() {
        let head = b"POST /a?b HTTP/1.0\r\nA: 1 \r\nb:\t2\r\n\r\n";
        let mut scratch = field_scratch();
        let parts = parse_request(head, &mut scratch).unwrap();
        assert_eq!((parts.method, parts.target), ("POST", "/a?b"));
        assert_eq!(parts.version, Version::Http10);
        let fields: Vec<_> = parts.fields().map(|field| (field.name, field.value)).collect();
        assert_eq!(fields, [(&b"A"[..], &b"1"[..]), (b"b", b"2")]);
    }

    #[test]
    fn malformed_request_heads_are_refused() {
        for head in [
            "GET  / HTTP/1.1\r\n\r\n",
            "GET /\r\n\r\n",
            "GET / HTTX/1.1\r\n\r\n",
            "GET / HTTP/1.1 \r\n\r\n",
            "GET / HTTP/1.1\r\nA : b\r\n\r\n",
            "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
            "GET / HTTP/1.1\r\nA: b\rc\r\n\r\n",
            "GET / HTTP/1.1\r\nA: b\0c\r\n\r\n",
            "GET / HTTP/1.1\r\n: c\r\n\r\n",
            "GET / HTTP/1.1\r\nno colon\r\n\r\n",
            "G@T / HTTP/1.1\r\n\r\n",
            "GET /\u{e9} HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(status_of(head), 400, "{head:?}");
        }
        assert_eq!(status_of("PRI * HTTP/2.0\r\n\r\n"), 505);
        assert_eq!(status_of("GET / HTTP/3.0\r\n\r\n"), 505);
    }

    #[test]
    fn a_folded_line_of_a_response_becomes_one_value() {
        let head = b"HTTP/1.1 200 OK\r\nA: b\r\n  c\r\nd: e\r\n\r\n";
        let mut scratch = field_scratch();
        let parts = parse_response(head, &mut scratch).unwrap();
        let mut fields = Fields::new();
        parts.fields().for_each(|field| ResponseParts::push_unfolded(&mut fields, field));
        assert_eq!(fields, Fields::new().with("A", "b c").with("d", "e"));
    }

    #[test]
    fn a_response_needs_no_reason() {
        for head in
            ["HTTP/1.1 204\r\n\r\n", "HTTP/1.1 204 \r\n\r\n", "HTTP/1.1 204 No\tway\r\n\r\n"]
        {
            let mut scratch = field_scratch();
            assert_eq!(parse_response(head.as_bytes(), &mut scratch).unwrap().status, 204);
        }
        let mut scratch = field_scratch();
        assert!(parse_response(b"HTTP/1.1 099 Low\r\n\r\n", &mut scratch).is_err());
    }

    #[test]
    fn framing_fields_do_not_trail() {
        let mut fields = Fields::new();
        parse_trailers(b"Content-Length: 5\r\nDigest: x\r\n\r\n", &mut fields).unwrap();
        assert_eq!(fields, Fields::new().with("Digest", "x"));
    }
}
