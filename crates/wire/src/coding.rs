//! What the encoders of HPACK and QPACK write in the same way, and the two static tables: what of a field's code depends on no dynamic
//! table.

pub(crate) mod hpack_table;
pub(crate) mod huffman;
pub(crate) mod qpack_table;

/// Where a static table has a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// Name and value, at this index.
    Whole(u8),
    /// The name, at this index.
    Name(u8),
    /// Nothing.
    Nothing,
}

/// Appends an integer with a prefix of `bits` bits below `flags` (RFC 7541 §5.1).
#[inline]
pub(crate) fn put_integer(value: u64, bits: u32, flags: u8, out: &mut Vec<u8>) {
    let full = (1_u64 << bits) - 1;
    out.push(flags | value.min(full) as u8);
    if value >= full {
        put_rest(value - full, out);
    }
}

/// Appends what the prefix has no space for.
fn put_rest(mut rest: u64, out: &mut Vec<u8>) {
    while rest >= 128 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Appends a string literal (RFC 7541 §5.2, RFC 9204 §4.1.2). Its length has a prefix of `bits` bits; the bit above them says Huffman.
pub(crate) fn put_string(text: &[u8], bits: u32, flags: u8, out: &mut Vec<u8>) {
    let coded = huffman::coded_length(text);
    if coded < text.len() {
        put_integer(coded as u64, bits, flags | 1 << bits, out);
        huffman::encode(text, out);
    } else {
        put_integer(text.len() as u64, bits, flags, out);
        out.extend_from_slice(text);
    }
}
