//! Integers of variable length (RFC 9000 §16).

/// The largest one.
pub const LARGEST: u64 = (1 << 62) - 1;

/// Bytes that `value` takes.
pub fn varint_length(value: u64) -> usize {
    match value {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

/// Appends `value`, which is [`LARGEST`] at most, in its shortest form.
pub fn put_varint(value: u64, out: &mut Vec<u8>) {
    debug_assert!(value <= LARGEST, "a varint has 62 bits");
    match value {
        0..0x40 => out.push(value as u8),
        0x40..0x4000 => out.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => out.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend_from_slice(&((value & LARGEST) | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// Takes an integer off the front of `input`; None, and nothing taken, where it is not whole.
pub fn parse_varint(input: &mut &[u8]) -> Option<u64> {
    let &first = input.first()?;
    let length = 1_usize << (first >> 6);
    let (bytes, rest) = input.split_at_checked(length)?;
    *input = rest;
    // Most are of one byte.
    Some(if length == 1 { u64::from(first) } else { value_of(bytes) })
}

/// Reads an integer that may come in pieces.
#[derive(Debug, Clone, Copy, Default)]
pub struct VarintReader {
    bytes: [u8; 8],
    have: u8,
}

impl VarintReader {
    /// Takes bytes off the front of `input`; None where more are needed.
    pub fn read(&mut self, input: &mut &[u8]) -> Option<u64> {
        if self.have == 0
            && let Some(value) = parse_varint(input)
        {
            return Some(value);
        }
        while let Some((&byte, rest)) = input.split_first() {
            *input = rest;
            self.bytes[usize::from(self.have)] = byte;
            self.have += 1;
            if self.have == 1 << (self.bytes[0] >> 6) {
                let value = value_of(&self.bytes[..usize::from(self.have)]);
                self.have = 0;
                return Some(value);
            }
        }
        None
    }

    /// Whether it stands in the middle of an integer.
    pub fn is_partial(&self) -> bool {
        self.have > 0
    }
}

fn value_of(bytes: &[u8]) -> u64 {
    let value = bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
    value & (LARGEST >> (62 - (8 * bytes.len() - 2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_rfc_9000_a_1_hold() {
        for (bytes, value) in [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
        ] {
            assert_eq!(parse_varint(&mut &bytes[..]), Some(value));
            let mut out = Vec::new();
            put_varint(value, &mut out);
            assert_eq!(out, bytes);
            let mut reader = VarintReader::default();
            let (last, first) = bytes.split_last().unwrap();
            for byte in first {
                assert_eq!(reader.read(&mut &[*byte][..]), None);
                assert!(reader.is_partial());
            }
            assert_eq!(reader.read(&mut &[*last][..]), Some(value));
            assert!(!reader.is_partial());
        }
        assert_eq!(parse_varint(&mut &[0x40, 0x25][..]), Some(37), "a longer form than needed");
    }
}
