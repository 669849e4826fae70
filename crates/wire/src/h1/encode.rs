//! Heads and chunks to bytes. What is given is written: the caller has checked names and values with
//! [`is_field_name`] and [`is_field_value`].

use super::is_tchar;
use crate::fields::{Field, Fields};
use std::io::Write;

/// `METHOD target HTTP/1.1`
pub fn put_request_line(out: &mut Vec<u8>, method: &str, target: &str) {
    out.extend_from_slice(method.as_bytes());
    out.push(b' ');
    out.extend_from_slice(target.as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\n");
}

/// `HTTP/1.1 code reason`
pub fn put_status_line(out: &mut Vec<u8>, code: u16) {
    // The most frequent line needs no formatting.
    if code == 200 {
        out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        return;
    }
    out.extend_from_slice(b"HTTP/1.1 ");
    put_decimal(out, u64::from(code));
    out.push(b' ');
    out.extend_from_slice(reason(code).as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// `name: value`
pub fn put_field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// The empty line that ends a head.
pub fn put_end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"\r\n");
}

/// The line before the data of a chunk. Data and CRLF follow; the size is not 0.
pub fn put_chunk_size(out: &mut Vec<u8>, size: usize) {
    let _ = write!(out, "{size:x}\r\n");
}

/// The last chunk and the trailer section.
pub fn put_last_chunk(out: &mut Vec<u8>, trailers: &Fields) {
    out.extend_from_slice(b"0\r\n");
    for Field { name, value, .. } in trailers.iter() {
        put_field(out, name, value);
    }
    put_end(out);
}

/// Whether `name` may stand before the colon (RFC 9110 §5.1).
pub fn is_field_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|&byte| is_tchar(byte))
}

/// Whether `value` may stand after the colon (RFC 9110 §5.5): no control characters, so no way out of
/// its line.
pub fn is_field_value(value: &[u8]) -> bool {
    // Without a branch a byte, so that the compiler takes many at a time.
    let is_control = |&byte: &u8| byte != b'\t' && (byte < b' ' || byte == 0x7f);
    !value.iter().fold(false, |found, byte| found | is_control(byte))
}

/// The phrase that RFC 9110 §15 gives a status; empty where it gives none.
pub fn reason(code: u16) -> &'static str {
    match code {
        100 => "Continue",
        101 => "Switching Protocols",
        103 => "Early Hints",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "Non-Authoritative Information",
        204 => "No Content",
        205 => "Reset Content",
        206 => "Partial Content",
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        425 => "Too Early",
        426 => "Upgrade Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}

fn put_decimal(out: &mut Vec<u8>, number: u64) {
    // Writing to a vector does not fail.
    let _ = write!(out, "{number}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::h1::{field_scratch, parse_request, parse_response};

    #[test]
    fn a_request_head_is_read_as_it_was_written() {
        let mut bytes = Vec::new();
        put_request_line(&mut bytes, "PUT", "/x?y");
        put_field(&mut bytes, b"Host", b"a:8080");
        put_field(&mut bytes, b"empty", b"");
        put_end(&mut bytes);
        let mut scratch = field_scratch();
        let parts = parse_request(&bytes, &mut scratch).unwrap();
        assert_eq!((parts.method, parts.target), ("PUT", "/x?y"));
        let fields: Vec<_> = parts.fields().map(|field| (field.name, field.value)).collect();
        assert_eq!(fields, [(&b"Host"[..], &b"a:8080"[..]), (b"empty", b"")]);
    }

    #[test]
    fn every_status_line_is_read_as_it_was_written() {
        for code in 100..=999 {
            let mut bytes = Vec::new();
            put_status_line(&mut bytes, code);
            put_end(&mut bytes);
            let mut scratch = field_scratch();
            assert_eq!(parse_response(&bytes, &mut scratch).map(|parts| parts.status), Ok(code));
        }
    }

    #[test]
    fn nothing_leaves_its_line() {
        assert!(!is_field_value(b"a\r\nb"));
        assert!(!is_field_value(b"a\0"));
        assert!(is_field_value("caf\u{e9}\t!".as_bytes()));
        assert!(!is_field_name(b""));
        assert!(!is_field_name(b"a b"));
    }
}
