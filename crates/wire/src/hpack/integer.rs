//! Integers with a prefix (RFC 7541 §5.1).

use super::Fault;
use crate::coding::put_integer;

/// No index or length of ours comes near it; beyond it an integer is an attack.
const LARGEST: usize = (1 << 28) - 1;

/// Appends `value` with a prefix of `bits` bits below `flags`.
#[inline]
pub(crate) fn encode(value: usize, bits: u32, flags: u8, out: &mut Vec<u8>) {
    put_integer(value as u64, bits, flags, out);
}

/// Reads an integer whose prefix is the low `bits` bits of the first byte of `input`.
#[inline]
pub(crate) fn decode(input: &mut &[u8], bits: u32) -> Result<usize, Fault> {
    let full = (1_usize << bits) - 1;
    let (&first, mut rest) = input.split_first().ok_or(Fault::Truncated)?;
    let mut value = usize::from(first) & full;
    if value == full {
        let mut shift = 0;
        loop {
            let (&byte, tail) = rest.split_first().ok_or(Fault::Truncated)?;
            rest = tail;
            if shift > 28 {
                return Err(Fault::Overflow);
            }
            value += usize::from(byte & 0x7f) << shift;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_rfc_7541_c_1_hold() {
        for (value, bits, bytes) in [
            (10, 5, &[0b01010][..]),
            (1337, 5, &[0b11111, 0b1001_1010, 0b0000_1010]),
            (42, 8, &[0b0010_1010]),
        ] {
            let mut out = Vec::new();
            encode(value, bits, 0, &mut out);
            assert_eq!(out, bytes);
            assert_eq!(decode(&mut &out[..], bits), Ok(value));
        }
    }

    #[test]
    fn endless_and_huge_integers_are_refused() {
        assert_eq!(decode(&mut &[0x1f, 0x80, 0x80][..], 5), Err(Fault::Truncated));
        assert_eq!(decode(&mut &[0x1f, 0xff, 0xff, 0xff, 0xff, 0x0f][..], 5), Err(Fault::Overflow));
        let zeros = [&[0x1f][..], &[0x80; 40]].concat();
        assert_eq!(decode(&mut &zeros[..], 5), Err(Fault::Overflow));
    }
}
