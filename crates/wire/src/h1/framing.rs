//! How long a body is (RFC 9112 §6.3), decided from the framing fields of a head. Whatever two
//! parsers could read in two ways is refused: that is how requests are smuggled (RFC 9112 §11.2).

use super::error::{Error, ErrorKind};
use super::head::Version;
use crate::fields::Field;

/// How the end of a body is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyLength {
    /// There is none.
    Empty,
    /// After this many bytes, at least one.
    Exactly(u64),
    /// By the last chunk.
    Chunked,
    /// By the end of the connection.
    UntilClose,
}

/// The framing fields of one head, taken one by one.
#[derive(Debug, Default)]
pub struct FramingFields {
    length: Option<u64>,
    coding: Coding,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Coding {
    #[default]
    None,
    /// `chunked`, once and last; whether others stand before it.
    Chunked { alone: bool },
    /// Others, and `chunked` is not the last.
    Other,
}

impl FramingFields {
    /// Nothing taken yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a field where it is about framing; returns whether it was Transfer-Encoding.
    pub fn take(&mut self, field: Field<'_>) -> Result<bool, Error> {
        match field.name.len() {
            14 if field.name.eq_ignore_ascii_case(b"content-length") => {
                self.take_length(field.value).map(|()| false)
            }
            17 if field.name.eq_ignore_ascii_case(b"transfer-encoding") => {
                self.take_codings(field.value).map(|()| true)
            }
            _ => Ok(false),
        }
    }

    /// RFC 9110 §8.6: a list of equal numbers counts as one; anything else is a fault.
    fn take_length(&mut self, value: &[u8]) -> Result<(), Error> {
        for item in value.split(|&byte| byte == b',') {
            let item = item.trim_ascii();
            let Some(length) = parse_length(item) else {
                return Err(Error::malformed(0, "Content-Length is a number (RFC 9112 §6.3)"));
            };
            if self.length.is_some_and(|known| known != length) {
                return Err(Error::malformed(0, "Content-Length has one value (RFC 9112 §6.3)"));
            }
            self.length = Some(length);
        }
        Ok(())
    }

    fn take_codings(&mut self, value: &[u8]) -> Result<(), Error> {
        for item in value.split(|&byte| byte == b',') {
            let item = item.trim_ascii();
            if item.is_empty() || !item.iter().all(|&byte| super::is_tchar(byte)) {
                return Err(Error::malformed(
                    0,
                    "Transfer-Encoding is a list of codings (RFC 9112 §6.1)",
                ));
            }
            let chunked = item.eq_ignore_ascii_case(b"chunked");
            self.coding = match (&self.coding, chunked) {
                (Coding::Chunked { .. }, _) => {
                    return Err(Error::malformed(
                        0,
                        "chunked is the last coding, and once (RFC 9112 §6.1)",
                    ));
                }
                (Coding::None, true) => Coding::Chunked { alone: true },
                (Coding::Other, true) => Coding::Chunked { alone: false },
                (_, false) => Coding::Other,
            };
        }
        Ok(())
    }

    /// The length of a request's body.
    pub fn request_body(&self, version: Version) -> Result<BodyLength, Error> {
        self.check(version)?;
        match (&self.coding, self.length) {
            (Coding::Chunked { .. }, _) => Ok(BodyLength::Chunked),
            // RFC 9112 §6.3: the length cannot be known; the server must answer 400.
            (Coding::Other, _) => {
                Err(Error::malformed(0, "a request's last coding is chunked (RFC 9112 §6.3)"))
            }
            (Coding::None, None | Some(0)) => Ok(BodyLength::Empty),
            (Coding::None, Some(length)) => Ok(BodyLength::Exactly(length)),
        }
    }

    /// The length of the body of a response that may have one: the caller knows whether status and
    /// request method allow it.
    pub fn response_body(&self, version: Version) -> Result<BodyLength, Error> {
        self.check(version)?;
        match (&self.coding, self.length) {
            (Coding::Chunked { .. }, _) => Ok(BodyLength::Chunked),
            (Coding::Other, _) => Err(unknown_coding()),
            (Coding::None, Some(0)) => Ok(BodyLength::Empty),
            (Coding::None, Some(length)) => Ok(BodyLength::Exactly(length)),
            (Coding::None, None) => Ok(BodyLength::UntilClose),
        }
    }

    /// The Content-Length, where there is one.
    pub fn content_length(&self) -> Option<u64> {
        self.length
    }

    fn check(&self, version: Version) -> Result<(), Error> {
        match (&self.coding, self.length) {
            (Coding::None, _) => Ok(()),
            // RFC 9112 §6.1: treat the message as if the framing is faulty.
            _ if version == Version::Http10 => {
                Err(Error::malformed(0, "HTTP/1.0 has no Transfer-Encoding (RFC 9112 §6.1)"))
            }
            (_, Some(_)) => Err(Error::malformed(
                0,
                "Transfer-Encoding and Content-Length exclude each other (RFC 9112 §6.1)",
            )),
            (Coding::Chunked { alone: false }, None) => Err(unknown_coding()),
            _ => Ok(()),
        }
    }
}

/// RFC 9110 §8.6: 1*DIGIT, and it must fit.
fn parse_length(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |length, &digit| {
        let value = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        length.checked_mul(10)?.checked_add(value)
    })
}

fn unknown_coding() -> Error {
    Error {
        kind: ErrorKind::UnknownCoding,
        position: 0,
        rule: "no transfer coding but chunked is spoken here (RFC 9112 §6.1)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(version: Version, fields: &[(&str, &str)]) -> Result<BodyLength, u16> {
        let mut framing = FramingFields::new();
        for (name, value) in fields {
            let field = Field { name: name.as_bytes(), value: value.as_bytes(), sensitive: false };
            framing.take(field).map_err(|error| error.status())?;
        }
        framing.request_body(version).map_err(|error| error.status())
    }

    #[test]
    fn a_plain_length_or_chunks_or_nothing_is_taken() {
        let v11 = Version::Http11;
        assert_eq!(request(v11, &[]), Ok(BodyLength::Empty));
        assert_eq!(request(v11, &[("Content-Length", "0")]), Ok(BodyLength::Empty));
        assert_eq!(request(v11, &[("content-length", "42")]), Ok(BodyLength::Exactly(42)));
        assert_eq!(request(v11, &[("Content-Length", "42, 42")]), Ok(BodyLength::Exactly(42)));
        assert_eq!(request(v11, &[("Transfer-Encoding", "Chunked")]), Ok(BodyLength::Chunked));
    }

    #[test]
    fn ambiguous_framing_is_refused() {
        let (cl, te) = ("Content-Length", "Transfer-Encoding");
        for (fields, status) in [
            (&[(cl, "5"), (te, "chunked")][..], 400),
            (&[(te, "chunked"), (cl, "5")], 400),
            (&[(cl, "5"), (cl, "6")], 400),
            (&[(cl, "5, 6")], 400),
            (&[(cl, "5,")], 400),
            (&[(cl, "+5")], 400),
            (&[(cl, "-1")], 400),
            (&[(cl, "0x5")], 400),
            (&[(cl, "5 5")], 400),
            (&[(cl, "")], 400),
            (&[(cl, "18446744073709551616")], 400),
            (&[(te, "gzip")], 400),
            (&[(te, "chunked, gzip")], 400),
            (&[(te, "chunked, chunked")], 400),
            (&[(te, "chunked"), (te, "chunked")], 400),
            (&[(te, "chunked"), (te, "identity")], 400),
            (&[(te, "")], 400),
            (&[(te, "\"chunked\"")], 400),
            (&[(te, "chunked;q=1")], 400),
            (&[(te, "\x0bchunked")], 400),
            (&[(te, "xchunked")], 400),
            (&[(te, "gzip, chunked")], 501),
        ] {
            assert_eq!(request(Version::Http11, fields), Err(status), "{fields:?}");
        }
        assert_eq!(request(Version::Http10, &[(te, "chunked")]), Err(400));
    }

    #[test]
    fn a_response_without_a_length_ends_with_the_connection() {
        let framing = FramingFields::new();
        assert_eq!(framing.response_body(Version::Http11), Ok(BodyLength::UntilClose));
    }
}
