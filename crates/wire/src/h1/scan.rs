//! Finds the end of a head in bytes that arrive in any pieces, and holds it to its limits before
//! any of it is kept.

use super::error::{Error, ErrorKind};
use super::is_tchar;

/// How large a head, or a trailer section, may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of any one line, without its CRLF.
    pub line: usize,
    /// Bytes of all field lines together.
    pub block: usize,
    /// Field lines; [`super::MAX_FIELDS`] at most.
    pub count: usize,
}

impl Default for Limits {
    /// A line of 8 KiB, 32 KiB of fields, 100 of them: what the common servers take.
    fn default() -> Self {
        Self { line: 8 * 1024, block: 32 * 1024, count: 100 }
    }
}

/// Reads bytes up to the empty line that ends a head.
#[derive(Debug, Clone)]
pub struct HeadScanner {
    limits: Limits,
    at: At,
    /// Bytes seen of the whole, of the lines before the current one, and lines ended.
    seen: usize,
    line_start: usize,
    fields_start: usize,
    lines: usize,
    previous: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Before the start line, where empty lines are passed over.
    Before,
    /// In the start line.
    StartLine,
    /// In the field lines.
    Fields,
}

impl HeadScanner {
    /// For a head: a start line, then fields.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            at: At::Before,
            seen: 0,
            line_start: 0,
            fields_start: 0,
            lines: 0,
            previous: 0,
        }
    }

    /// For a trailer section: fields alone.
    pub fn for_trailers(limits: Limits) -> Self {
        Self { at: At::Fields, ..Self::new(limits) }
    }

    /// Whether nothing has been read yet.
    pub fn is_fresh(&self) -> bool {
        self.seen == 0
    }

    /// Reads the next piece. Gives how many of its bytes belong to the head where the head ends in
    /// it, and None where it goes on.
    pub fn scan(&mut self, piece: &[u8]) -> Result<Option<usize>, Error> {
        let mut from = 0;
        while let Some(offset) = memchr::memchr(b'\n', &piece[from..]) {
            let line_feed = from + offset;
            self.begin(piece[from])?;
            let before = if line_feed == 0 { self.previous } else { piece[line_feed - 1] };
            self.seen += offset;
            self.check_unfinished(before)?;
            self.seen += 1;
            self.previous = b'\n';
            if before != b'\r' {
                return Err(Error::malformed(
                    self.seen - 1,
                    "a line ends with CRLF, not with a bare LF (RFC 9112 §2.2)",
                ));
            }
            from = line_feed + 1;
            if self.end_line()? {
                return Ok(Some(from));
            }
        }
        if let Some(&last) = piece.last().filter(|_| from < piece.len()) {
            self.begin(piece[from])?;
            self.seen += piece.len() - from;
            self.previous = last;
            self.check_unfinished(last)?;
        }
        Ok(None)
    }

    /// The bytes of a line so far are within the limits. A CR at their end may belong to the line's end.
    fn check_unfinished(&self, last: u8) -> Result<(), Error> {
        let end = self.seen - usize::from(last == b'\r');
        self.check_length(end - self.line_start, end)
    }

    /// The first byte of a line, or a further one: what no message can begin with is refused at once.
    fn begin(&mut self, first: u8) -> Result<(), Error> {
        if self.at == At::Before && self.seen == self.line_start && first != b'\r' && first != b'\n'
        {
            if !is_tchar(first) {
                let rule = match first {
                    TLS_ALERT => {
                        "a message begins with a token (RFC 9112 §2.1), and this is an alert of TLS: https:// asks over TLS"
                    }
                    _ => "a message begins with a token (RFC 9112 §2.1)",
                };
                return Err(Error::malformed(self.seen, rule));
            }
            self.at = At::StartLine;
        }
        Ok(())
    }

    /// A CRLF came; returns whether it was the empty line at the end.
    fn end_line(&mut self) -> Result<bool, Error> {
        let length = self.seen - self.line_start - 2;
        self.check_length(length, self.seen)?;
        self.line_start = self.seen;
        match self.at {
            // RFC 9112 §2.2: a server should ignore at least one empty line before a request.
            At::Before if self.seen > MAX_EMPTY_LINES * 2 => Err(Error::malformed(
                self.seen,
                "no more than a few empty lines come before a message (RFC 9112 §2.2)",
            )),
            At::Before => Ok(false),
            At::StartLine => {
                self.at = At::Fields;
                self.fields_start = self.seen;
                Ok(false)
            }
            At::Fields if length == 0 => Ok(true),
            At::Fields => {
                self.lines += 1;
                if self.lines > self.limits.count.min(super::MAX_FIELDS) {
                    return Err(self.too_large("there are more field lines than the limit"));
                }
                Ok(false)
            }
        }
    }

    /// A line of `line` bytes, and all lines up to `end`, are within the limits. Of two that are exceeded the one that was
    /// reached first counts, so that it does not matter where the pieces are cut.
    fn check_length(&self, line: usize, end: usize) -> Result<(), Error> {
        let is_long = line > self.limits.line;
        if self.at != At::Fields {
            return match is_long {
                false => Ok(()),
                true => Err(Error {
                    kind: ErrorKind::StartLineTooLong,
                    position: self.seen,
                    rule: "the start line is longer than the limit (RFC 9112 §3)",
                }),
            };
        }
        let are_long = end - self.fields_start > self.limits.block;
        let is_first = self.line_start - self.fields_start + self.limits.line <= self.limits.block;
        match (is_long, are_long) {
            (false, false) => Ok(()),
            (true, _) if is_first || !are_long => {
                Err(self.too_large("a field line is longer than the limit (RFC 9112 §5)"))
            }
            _ => Err(self.too_large("the field lines are longer than the limit (RFC 9112 §5)")),
        }
    }

    fn too_large(&self, rule: &'static str) -> Error {
        Error { kind: ErrorKind::FieldsTooLarge, position: self.seen, rule }
    }
}

/// Some clients of old sent an empty line after a body; no more than that is meant by it.
const MAX_EMPTY_LINES: usize = 4;

/// The first byte of an alert of TLS, which answers a request in the clear (RFC 8446 §5.1).
const TLS_ALERT: u8 = 21;

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";

    fn scan(bytes: &[u8], limits: Limits) -> Result<Option<usize>, Error> {
        HeadScanner::new(limits).scan(bytes)
    }

    #[test]
    fn the_end_is_found_wherever_the_pieces_are_cut() {
        for cut in 0..HEAD.len() {
            let mut scanner = HeadScanner::new(Limits::default());
            assert_eq!(scanner.scan(&HEAD[..cut]), Ok(None), "cut at {cut}");
            assert_eq!(scanner.scan(&HEAD[cut..]), Ok(Some(HEAD.len() - cut)), "cut at {cut}");
        }
        let mut scanner = HeadScanner::new(Limits::default());
        for (index, byte) in HEAD.iter().enumerate() {
            let end = (index + 1 == HEAD.len()).then_some(1);
            assert_eq!(scanner.scan(&[*byte]), Ok(end));
        }
    }

    #[test]
    fn an_alert_of_tls_is_named() {
        // A fatal alert, unexpected_message: what a port of TLS answers to a request in the clear.
        let alert = [21, 3, 3, 0, 2, 2, 10];
        assert!(scan(&alert, Limits::default()).unwrap_err().to_string().contains("https://"));
    }

    #[test]
    fn a_bare_line_feed_is_refused_even_at_a_cut() {
        assert_eq!(
            scan(b"GET / HTTP/1.1\nHost: a\n\n", Limits::default()).unwrap_err().position,
            14
        );
        let mut scanner = HeadScanner::new(Limits::default());
        assert_eq!(scanner.scan(b"GET / HTTP/1.1"), Ok(None));
        assert!(scanner.scan(b"\n").is_err());
        let mut scanner = HeadScanner::new(Limits::default());
        for byte in b"GET / HTTP/1.1\r\n" {
            assert_eq!(scanner.scan(&[*byte]), Ok(None));
        }
        assert!(scanner.scan(b"\n").is_err(), "the CR before belongs to another line feed");
    }

    /// Cuts before a byte made a line of the limit's length too long where its CR ended a piece, and a long line that ends in a
    /// bare LF broke either rule.
    #[test]
    fn limits_are_the_same_wherever_the_pieces_are_cut() {
        let limits = Limits { line: 20, block: 30, count: 2 };
        let start = "GET / HTTP/1.1\r\n";
        let heads = [
            format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(6)),
            format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(7)),
            format!("{start}a: {}\r\n\r\n", "a".repeat(17)),
            format!("{start}a: {}\r\n\r\n", "a".repeat(18)),
            format!("{start}a: {}\n\r\n", "a".repeat(18)),
            format!("{start}a: {}\r\r\n\r\n", "a".repeat(16)),
            format!("{start}a: {0}\r\na: {0}\r\n\r\n", "a".repeat(10)),
            format!("{start}a: {0}\r\na: {0}\r\n\r\n", "a".repeat(11)),
            format!("{start}a: {0}\r\na: {0}\r\n\r\n", "a".repeat(17)),
            format!("{start}a: {0}\r\na: {0}\n\r\n", "a".repeat(17)),
            format!("{start}a: b\r\na: {0}\r\n\r\n", "a".repeat(30)),
        ];
        for head in heads {
            let rule = |found: Result<Option<usize>, Error>| {
                found.map(|end| end.is_some()).map_err(|error| error.rule)
            };
            let whole = rule(scan(head.as_bytes(), limits));
            for size in 1..head.len() {
                let mut scanner = HeadScanner::new(limits);
                let mut pieces = head.as_bytes().chunks(size).map(|piece| scanner.scan(piece));
                let last = pieces.find(|found| !matches!(found, Ok(None)));
                assert_eq!(rule(last.unwrap_or(Ok(None))), whole, "{head:?} in pieces of {size}");
            }
        }
        assert!(scan(format!("{start}a: {}\r\n\r\n", "a".repeat(17)).as_bytes(), limits).is_ok());
    }

    #[test]
    fn each_limit_has_its_own_status() {
        let limits = Limits { line: 20, block: 50, count: 2 };
        let status = |bytes: &[u8]| scan(bytes, limits).map_err(|error| error.status());
        assert_eq!(status(b"GET /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), Err(414));
        assert_eq!(status(b"GET / HTTP/1.1\r\na: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), Err(431));
        assert_eq!(status(b"GET / HTTP/1.1\r\na: b\r\na: b\r\na: b\r\n\r\n"), Err(431));
        let limits = Limits { line: 20, block: 30, count: 9 };
        let bytes = b"GET / HTTP/1.1\r\na: aaaaaaaaaaaa\r\na: aaaaaaaaaaaa\r\n\r\n";
        assert_eq!(scan(bytes, limits).map_err(|error| error.status()), Err(431));
    }

    #[test]
    fn what_is_no_message_is_refused_at_its_first_byte() {
        assert!(scan(b"\x16\x03\x01", Limits::default()).is_err(), "a TLS record");
        assert!(scan(b" GET", Limits::default()).is_err());
        assert!(scan(b"\r\n\r\n\r\n\r\n\r\n", Limits::default()).is_err());
    }
}
