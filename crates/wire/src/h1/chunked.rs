//! Chunked bodies (RFC 9112 §7.1), read from bytes that arrive in any pieces. Data is borrowed;
//! nothing is kept but a number and, at the end, the trailer section.

use super::error::Error;
use super::head::parse_trailers;
use super::scan::{HeadScanner, Limits};
use crate::fields::Fields;

/// Reads one chunked body.
#[derive(Debug)]
pub struct ChunkedDecoder {
    limits: Limits,
    at: At,
    position: usize,
    /// Bytes of extensions and such so far, in all chunks.
    overhead: usize,
}

#[derive(Debug)]
enum At {
    Size {
        size: u64,
        digits: u32,
    },
    /// After a size: white space that only an extension may follow.
    Space {
        size: u64,
    },
    Extension {
        size: u64,
    },
    SizeEnd {
        size: u64,
    },
    Data {
        left: u64,
    },
    DataReturn,
    DataEnd,
    Trailers {
        scanner: HeadScanner,
        section: Vec<u8>,
    },
    Over,
}

/// What a chunked body holds.
#[derive(Debug, PartialEq, Eq)]
pub enum ChunkPart<'i> {
    /// Bytes of the body, at least one.
    Data(&'i [u8]),
    /// The body is whole; its trailer fields.
    End(Fields),
}

impl ChunkedDecoder {
    /// At the start of a body. `limits` are those of its trailer section.
    pub fn new(limits: Limits) -> Self {
        Self { limits, at: FIRST, position: 0, overhead: 0 }
    }

    /// Takes bytes off the front of `input`; gives the next part, or None where more are needed
    /// (or the body is over: nothing is taken then).
    pub fn decode<'i>(&mut self, input: &mut &'i [u8]) -> Result<Option<ChunkPart<'i>>, Error> {
        loop {
            if let At::Data { left } = &mut self.at {
                if input.is_empty() {
                    return Ok(None);
                }
                let length = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                let (data, rest) = input.split_at(length);
                *input = rest;
                *left -= length as u64;
                self.position += length;
                if *left == 0 {
                    self.at = At::DataReturn;
                }
                return Ok(Some(ChunkPart::Data(data)));
            }
            if matches!(self.at, At::Trailers { .. }) {
                return self.decode_trailers(input);
            }
            let Some((&byte, rest)) = input.split_first().filter(|_| !matches!(self.at, At::Over))
            else {
                return Ok(None);
            };
            *input = rest;
            self.step(byte)?;
            self.position += 1;
        }
    }

    /// One byte of a size line or of a chunk's end.
    fn step(&mut self, byte: u8) -> Result<(), Error> {
        self.at = match (&self.at, byte) {
            (&At::Size { size, digits }, _) if byte.is_ascii_hexdigit() => {
                // Sixteen digits are 2^64 - 1 at most.
                if digits == 16 {
                    return Err(self.fault("a chunk size fits in 64 bits (RFC 9112 §7.1)"));
                }
                let value = (byte as char).to_digit(16).unwrap_or(0);
                At::Size { size: size << 4 | u64::from(value), digits: digits + 1 }
            }
            (At::Size { digits: 0, .. }, _) => {
                return Err(self.fault("a chunk begins with its size in hex (RFC 9112 §7.1)"));
            }
            (&At::Size { size, .. }, b'\r') => At::SizeEnd { size },
            (&At::Size { size, .. } | &At::Space { size }, b';') => At::Extension { size },
            (&At::Size { size, .. } | &At::Space { size }, b' ' | b'\t') => At::Space { size },
            (&At::Extension { size }, b'\r') => At::SizeEnd { size },
            (&At::Extension { size }, _) if byte == b'\t' || byte >= b' ' && byte != 0x7f => {
                At::Extension { size }
            }
            (At::SizeEnd { size: 0 }, b'\n') => At::Trailers {
                scanner: HeadScanner::for_trailers(self.limits),
                section: Vec::new(),
            },
            (&At::SizeEnd { size }, b'\n') => At::Data { left: size },
            (At::DataReturn, b'\r') => At::DataEnd,
            (At::DataEnd, b'\n') => FIRST,
            (At::DataReturn | At::DataEnd, _) => {
                return Err(self.fault("CRLF follows the data of a chunk (RFC 9112 §7.1)"));
            }
            _ => return Err(self.fault("a chunk size line is well formed (RFC 9112 §7.1)")),
        };
        if matches!(self.at, At::Space { .. } | At::Extension { .. }) {
            self.overhead += 1;
            // RFC 9112 §7.1.1: a recipient limits the total length of chunk extensions.
            if self.overhead > MAX_EXTENSIONS {
                return Err(
                    self.fault("chunk extensions are longer than the limit (RFC 9112 §7.1.1)")
                );
            }
        }
        Ok(())
    }

    fn decode_trailers<'i>(
        &mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<ChunkPart<'i>>, Error> {
        let At::Trailers { scanner, section } = &mut self.at else { return Ok(None) };
        let position = self.position;
        let at = |error: Error| Error { position: position + error.position, ..error };
        let Some(end) = scanner.scan(input).map_err(at)? else {
            section.extend_from_slice(input);
            *input = &[];
            return Ok(None);
        };
        section.extend_from_slice(&input[..end]);
        *input = &input[end..];
        let mut fields = Fields::new();
        if section.len() > 2 {
            parse_trailers(section, &mut fields).map_err(at)?;
        }
        self.position += section.len();
        self.at = At::Over;
        Ok(Some(ChunkPart::End(fields)))
    }

    fn fault(&self, rule: &'static str) -> Error {
        Error::malformed(self.position, rule)
    }
}

const FIRST: At = At::Size { size: 0, digits: 0 };

/// Bytes of extensions that one body may have: extensions are unused in practice, except for attacks on the receiver.
const MAX_EXTENSIONS: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::h1::{put_chunk_size, put_last_chunk};

    /// Reads `pieces` one after the other: the body, its trailers where it ended, and what is left.
    fn read<'a>(
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(Vec<u8>, Option<Fields>, usize), Error> {
        let mut decoder = ChunkedDecoder::new(Limits::default());
        let (mut body, mut trailers, mut left) = (Vec::new(), None, 0);
        for mut piece in pieces {
            while let Some(part) = decoder.decode(&mut piece)? {
                match part {
                    ChunkPart::Data(data) => body.extend_from_slice(data),
                    ChunkPart::End(fields) => trailers = Some(fields),
                }
            }
            left += piece.len();
        }
        Ok((body, trailers, left))
    }

    #[test]
    fn a_body_is_the_same_wherever_its_bytes_are_cut() {
        let bytes = b"5;a=\"b\"\r\nhello\r\n00a \t;x\r\n, chunks!!\r\n0\r\nDigest: z\r\n\r\nGET";
        let expected = (b"hello, chunks!!".to_vec(), Some(Fields::new().with("Digest", "z")), 3);
        assert_eq!(read([&bytes[..]]), Ok(expected.clone()));
        assert_eq!(read(bytes.chunks(1)), Ok(expected.clone()));
        for cut in 0..bytes.len() {
            assert_eq!(read([&bytes[..cut], &bytes[cut..]]), Ok(expected.clone()));
        }
    }

    #[test]
    fn malformed_chunks_are_refused() {
        for bytes in [
            "\r\n",
            "g\r\n",
            "-5\r\n",
            "0x5\r\n",
            " 5\r\n",
            "5 \r\nhello\r\n",
            "5\nhello\r\n",
            "5\r\nhello\n",
            "5\r\nhellooo",
            "5\rhello",
            "5;\u{1}\r\n",
            "5;a\nb\r\n",
            "00000000000000005\r\n",
            "0\r\nA : b\r\n\r\n",
            "0\r\nA: b\n\r\n",
        ] {
            assert!(read([bytes.as_bytes()]).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn extensions_are_bounded_over_the_whole_body() {
        let chunk = format!("1;{}\r\nx\r\n", "e".repeat(1000));
        assert!(read([chunk.repeat(10).as_bytes()]).is_ok());
        assert!(read([chunk.repeat(20).as_bytes()]).is_err());
    }

    #[test]
    fn trailers_are_held_to_their_limits() {
        let trailers = format!("0\r\n{}\r\n", "a: b\r\n".repeat(101));
        assert_eq!(read([trailers.as_bytes()]).map_err(|error| error.status()), Err(431));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let trailers = Fields::new().with("a", "1").with("b", "2");
        let mut bytes = Vec::new();
        for data in [&b"x"[..], &[7; 300]] {
            put_chunk_size(&mut bytes, data.len());
            bytes.extend_from_slice(data);
            bytes.extend_from_slice(b"\r\n");
        }
        put_last_chunk(&mut bytes, &trailers);
        let body = [&b"x"[..], &[7; 300]].concat();
        assert_eq!(read([&bytes[..]]), Ok((body, Some(trailers), 0)));
    }
}
