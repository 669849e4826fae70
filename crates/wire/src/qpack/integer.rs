//! Integers with a prefix (RFC 7541 §5.1), of 62 bits as RFC 9204 §4.1.1 asks, and strings (RFC 9204 §4.1.2).

use super::Fault;
use crate::h3::LARGEST;
use crate::hpack::huffman;

/// Appends `value` with a prefix of `bits` bits below `flags`.
pub(super) fn put(value: u64, bits: u32, flags: u8, out: &mut Vec<u8>) {
    let full = (1_u64 << bits) - 1;
    if value < full {
        out.push(flags | value as u8);
        return;
    }
    out.push(flags | full as u8);
    let mut rest = value - full;
    while rest >= 128 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Reads an integer whose prefix is the low `bits` bits of the first byte of `input`.
pub(super) fn take(input: &mut &[u8], bits: u32) -> Result<u64, Fault> {
    let full = (1_u64 << bits) - 1;
    let (&first, mut rest) = input.split_first().ok_or(Fault::Truncated)?;
    let mut value = u64::from(first) & full;
    if value == full {
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
                break;
            }
        }
    }
    *input = rest;
    Ok(value)
}

/// Appends a string whose length has a prefix of `bits` bits; the bit above them says Huffman.
pub(super) fn put_string(text: &[u8], bits: u32, flags: u8, out: &mut Vec<u8>) {
    let coded = huffman::coded_length(text);
    if coded < text.len() {
        put(coded as u64, bits, flags | 1 << bits, out);
        huffman::encode(text, out);
    } else {
        put(text.len() as u64, bits, flags, out);
        out.extend_from_slice(text);
    }
}

/// Appends to `text` the string at the front of `input`. Nothing is decoded that is longer than `most` bytes coded.
pub(super) fn take_string(
    input: &mut &[u8],
    bits: u32,
    most: usize,
    text: &mut Vec<u8>,
) -> Result<(), Fault> {
    let huffman = input.first().is_some_and(|&first| first & (1 << bits) != 0);
    let length = take(input, bits)?;
    let length = usize::try_from(length).ok().filter(|&length| length <= most);
    let (coded, rest) =
        input.split_at_checked(length.ok_or(Fault::TooLong)?).ok_or(Fault::Truncated)?;
    *input = rest;
    if huffman {
        huffman::decode(coded, text).map_err(|_| Fault::Huffman)
    } else {
        text.extend_from_slice(coded);
        Ok(())
    }
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
