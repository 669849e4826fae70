//! Integers with a prefix (RFC 7541 §5.1), of 62 bits as RFC 9204 §4.1.1 asks, and strings (RFC 9204 §4.1.2).

pub(super) use crate::coding::{put_integer as put, put_string};

use super::Fault;
use crate::coding::huffman;
use crate::h3::LARGEST;

/// Reads an integer whose prefix is the low `bits` bits of the first byte of `input`.
#[inline]
pub(super) fn take(input: &mut &[u8], bits: u32) -> Result<u64, Fault> {
    let full = (1_u64 << bits) - 1;
    let (&first, rest) = input.split_first().ok_or(Fault::Truncated)?;
    let value = u64::from(first) & full;
    if value == full {
        return take_rest(value, rest, input);
    }
    *input = rest;
    Ok(value)
}

/// Adds what follows a full prefix to its `value`.
fn take_rest<'i>(mut value: u64, mut rest: &'i [u8], input: &mut &'i [u8]) -> Result<u64, Fault> {
    let mut shift = 0;
    loop {
        let (&byte, tail) = rest.split_first().ok_or(Fault::Truncated)?;
        rest = tail;
        if shift > 56 {
            return Err(Fault::Overflow);
        }
        value += u64::from(byte & 0x7f) << shift;
        if value > LARGEST {
            return Err(Fault::Overflow);
        }
        shift += 7;
        if byte & 0x80 == 0 {
            *input = rest;
            return Ok(value);
        }
    }
}

/// A string that was read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Text<'i> {
    /// It stands as it is in the input, or in a table.
    Plain(&'i [u8]),
    /// It was decoded: this part of a buffer.
    Decoded { start: usize, end: usize },
}

impl Text<'_> {
    /// Its bytes. `decoded` is the buffer for what is decoded.
    pub(super) fn bytes<'t>(&'t self, decoded: &'t [u8]) -> &'t [u8] {
        match *self {
            Self::Plain(text) => text,
            Self::Decoded { start, end } => &decoded[start..end],
        }
    }
}

/// Takes the string off the front of `input`; one in Huffman's code is appended to `decoded`.
pub(super) fn take_text<'i>(
    input: &mut &'i [u8],
    bits: u32,
    decoded: &mut Vec<u8>,
) -> Result<Text<'i>, Fault> {
    let huffman = input.first().is_some_and(|&first| first & (1 << bits) != 0);
    let length = take(input, bits)?;
    let length = usize::try_from(length).map_err(|_| Fault::TooLong)?;
    let (coded, rest) = input.split_at_checked(length).ok_or(Fault::Truncated)?;
    *input = rest;
    if !huffman {
        return Ok(Text::Plain(coded));
    }
    let start = decoded.len();
    huffman::decode(coded, decoded).map_err(|_| Fault::Huffman)?;
    Ok(Text::Decoded { start, end: decoded.len() })
}

/// Appends to `text` the string at the front of `input`. Nothing is decoded that is longer than `most` bytes coded.
pub(super) fn take_string(
    input: &mut &[u8],
    bits: u32,
    most: usize,
    text: &mut Vec<u8>,
) -> Result<(), Fault> {
    let mut ahead = *input;
    if take(&mut ahead, bits)? > most as u64 {
        return Err(Fault::TooLong);
    }
    if let Text::Plain(plain) = take_text(input, bits, text)? {
        text.extend_from_slice(plain);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_62_bits_survive_and_larger_ones_are_refused() {
        for value in [0, 9, 30, 31, 32, 1337, u64::from(u32::MAX), LARGEST] {
            let mut out = Vec::new();
            put(value, 5, 0, &mut out);
            assert_eq!(take(&mut &out[..], 5), Ok(value));
            assert_eq!(take(&mut &out[..out.len() - 1], 5), Err(Fault::Truncated));
        }
        let huge = [&[0x1f][..], &[0xff; 8], &[0x7f]].concat();
        assert_eq!(take(&mut &huge[..], 5), Err(Fault::Overflow));
        let zeros = [&[0x1f][..], &[0x80; 40]].concat();
        assert_eq!(take(&mut &zeros[..], 5), Err(Fault::Overflow));
    }
}
