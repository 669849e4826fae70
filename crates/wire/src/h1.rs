//! HTTP/1.1 on the wire (RFC 9112): heads, body lengths and chunks, in both directions. Nothing here
//! knows a connection's life.
//!
//! Policy on what the RFC leaves open: a line ends with CRLF and with nothing else. A bare LF is
//! refused (RFC 9112 §2.2 only permits to take it), because two parsers that differ on it are how
//! requests are smuggled; a bare CR and a NUL are refused as the RFC demands.
//!
//! ```
//! use wire::h1;
//!
//! let bytes = b"GET /a HTTP/1.1\r\nHost: example.org\r\n\r\n";
//! let mut scanner = h1::HeadScanner::new(h1::Limits::default());
//! assert_eq!(scanner.scan(bytes)?, Some(bytes.len()));
//! let mut scratch = h1::field_scratch();
//! let parts = h1::parse_request(bytes, &mut scratch)?;
//! assert_eq!((parts.method, parts.target), ("GET", "/a"));
//! assert_eq!(parts.fields().next().map(|field| field.value), Some(&b"example.org"[..]));
//! # Ok::<(), h1::Error>(())
//! ```

mod chunked;
mod encode;
mod error;
mod framing;
mod head;
mod options;
mod plain;
mod scan;

pub use chunked::{ChunkPart, ChunkedDecoder};
pub use encode::{
    is_field_name, is_field_value, put_chunk_size, put_end, put_field, put_last_chunk,
    put_request_line, put_status_line, reason,
};
pub use error::{Error, ErrorKind};
pub use framing::{BodyLength, FramingFields};
pub use head::{
    FieldScratch, MAX_FIELDS, RequestParts, ResponseParts, Version, field_scratch,
    in_known_version, parse_request, parse_response, parse_trailers,
};
pub use options::ConnectionOptions;
pub use plain::{PlainRequest, plain_request};
pub use scan::{HeadScanner, Limits};

/// RFC 9110 §5.6.2: tchar.
fn is_tchar(byte: u8) -> bool {
    TCHAR[usize::from(byte)]
}

const TCHAR: [bool; 256] = alphanumeric_and(b"!#$%&'*+-.^_`|~");

/// Which bytes are letters, digits or among `others`.
const fn alphanumeric_and(others: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let mut index = 0;
    while index < others.len() {
        table[others[index] as usize] = true;
        index += 1;
    }
    table
}
