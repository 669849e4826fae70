//! The Huffman code of RFC 7541 Appendix B. It is canonical (codes of one length follow each other in
//! the order of their symbols, and shorter codes come first), so its lengths are all that is kept;
//! the tables below are worked out from them at compile time.

/// Bits of each symbol's code; 256 is EOS.
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, //
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28, //
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, //
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, //
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, //
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, //
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, //
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, //
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, //
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, //
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, //
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, //
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, //
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, //
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, //
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, //
    30,
];

const EOS: u16 = 256;
const LONGEST: usize = 30;
/// Codes up to this length are found in one look; they are nearly all of real headers.
const QUICK_BITS: u32 = 9;

struct Tables {
    /// Code of each symbol, right-aligned.
    codes: [u32; 257],
    /// Symbols in the order of their codes.
    ordered: [u16; 257],
    /// First code of each length, right-aligned.
    first: [u32; LONGEST + 1],
    /// Where the codes of each length begin in `ordered`.
    offset: [u16; LONGEST + 1],
    /// Codes of each length.
    count: [u16; LONGEST + 1],
    /// By the next `QUICK_BITS` bits: symbol and length, or length 0 for a longer code.
    quick: [(u8, u8); 1 << QUICK_BITS],
}

static TABLES: Tables = tables();

const fn tables() -> Tables {
    let mut t = Tables {
        codes: [0; 257],
        ordered: [0; 257],
        first: [0; LONGEST + 1],
        offset: [0; LONGEST + 1],
        count: [0; LONGEST + 1],
        quick: [(0, 0); 1 << QUICK_BITS],
    };
    let (mut code, mut position, mut length) = (0_u32, 0, 1);
    while length <= LONGEST {
        code <<= 1;
        t.first[length] = code;
        t.offset[length] = position;
        let mut symbol = 0;
        while symbol < 257 {
            if LENGTHS[symbol] as usize == length {
                t.codes[symbol] = code;
                t.ordered[position as usize] = symbol as u16;
                position += 1;
                t.count[length] += 1;
                code += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    let mut symbol = 0;
    while symbol < 256 {
        if LENGTHS[symbol] as u32 <= QUICK_BITS {
            let spare = QUICK_BITS - LENGTHS[symbol] as u32;
            let mut at = (t.codes[symbol] << spare) as usize;
            let end = at + (1 << spare);
            while at < end {
                t.quick[at] = (symbol as u8, LENGTHS[symbol]);
                at += 1;
            }
        }
        symbol += 1;
    }
    t
}

/// Bytes that `text` takes when coded.
pub(crate) fn coded_length(text: &[u8]) -> usize {
    let bits: usize = text.iter().map(|&byte| usize::from(LENGTHS[usize::from(byte)])).sum();
    bits.div_ceil(8)
}

/// Appends the code of `text`, padded with ones (RFC 7541 §5.2).
pub(crate) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let (mut held, mut bits) = (0_u64, 0_u32);
    for &byte in text {
        let length = u32::from(LENGTHS[usize::from(byte)]);
        held = (held << length) | u64::from(TABLES.codes[usize::from(byte)]);
        bits += length;
        // No code is longer than 30 bits, so what is held fits.
        if bits >= 32 {
            bits -= 32;
            out.extend_from_slice(&((held >> bits) as u32).to_be_bytes());
        }
    }
    while bits >= 8 {
        bits -= 8;
        out.push((held >> bits) as u8);
    }
    if bits > 0 {
        out.push(((held << (8 - bits)) as u8) | (0xff >> bits));
    }
}

/// The text was not made by [`encode`] or another correct coder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Appends the text that `coded` stands for.
pub(crate) fn decode(coded: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    // At most eight symbols to five bytes.
    out.reserve(coded.len() * 8 / 5 + 1);
    let mut rest = coded;
    // The next bits, left-aligned; `bits` of them count.
    let (mut window, mut bits) = (0_u64, 0_u32);
    loop {
        if bits < LONGEST as u32 {
            refill(&mut window, &mut bits, &mut rest);
        }
        let (symbol, length) = TABLES.quick[(window >> (64 - QUICK_BITS)) as usize];
        if length != 0 && u32::from(length) <= bits {
            out.push(symbol);
            window <<= length;
            bits -= u32::from(length);
            continue;
        }
        // RFC 7541 §5.2: padding is the first bits of EOS (all ones), fewer than eight of them.
        if rest.is_empty() && bits < 8 && window.leading_ones() >= bits {
            return Ok(());
        }
        let (symbol, length) = long_code(window).ok_or(Malformed)?;
        if symbol == EOS || length > bits {
            return Err(Malformed);
        }
        out.push(symbol as u8);
        window <<= length;
        bits -= length;
    }
}

/// Fills the window with whole bytes, as many as fit.
fn refill(window: &mut u64, bits: &mut u32, rest: &mut &[u8]) {
    if let Some(next) = rest.first_chunk::<8>() {
        // The part of a byte that does not fit is put there again by the next call: it is the same.
        *window |= u64::from_be_bytes(*next) >> *bits;
        let bytes = (64 - *bits) / 8;
        *bits += 8 * bytes;
        *rest = &rest[bytes as usize..];
        return;
    }
    while *bits <= 56
        && let Some((&byte, tail)) = rest.split_first()
    {
        *window |= u64::from(byte) << (56 - *bits);
        *bits += 8;
        *rest = tail;
    }
}

/// The symbol whose code `window` begins with, and the code's length.
fn long_code(window: u64) -> Option<(u16, u32)> {
    for length in 5..=LONGEST {
        let code = (window >> (64 - length)) as u32;
        let place = code.wrapping_sub(TABLES.first[length]);
        if place < u32::from(TABLES.count[length]) {
            let at = usize::from(TABLES.offset[length]) + place as usize;
            return Some((TABLES.ordered[at], length as u32));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_complete_and_ends_with_eos_as_the_rfc_prints_it() {
        let spent: u64 = LENGTHS.iter().map(|&length| 1_u64 << (LONGEST as u8 - length)).sum();
        assert_eq!(spent, 1 << LONGEST, "Kraft's sum is one: no code is free, none is shared");
        assert_eq!(TABLES.codes[256], 0x3fff_ffff);
        assert_eq!(TABLES.codes[usize::from(b'z')], 0x7b);
        assert_eq!(TABLES.codes[0], 0x1ff8);
        assert_eq!(TABLES.codes[249], 0x0fff_fffe);
    }

    #[test]
    fn every_byte_survives_in_every_alignment() {
        for lead in 0..8 {
            let mut text = vec![b'a'; lead];
            text.extend(0..=255_u8);
            let mut coded = Vec::new();
            encode(&text, &mut coded);
            assert_eq!(coded.len(), coded_length(&text));
            let mut plain = Vec::new();
            decode(&coded, &mut plain).unwrap();
            assert_eq!(plain, text);
        }
    }

    #[test]
    fn padding_is_short_and_all_ones() {
        let mut out = Vec::new();
        // 'a' is 00011: then three bits of padding.
        assert_eq!(decode(&[0b0001_1111], &mut out), Ok(()));
        assert_eq!(decode(&[0b0001_1110], &mut out), Err(Malformed));
        assert_eq!(
            decode(&[0b0001_1111, 0xff], &mut out),
            Err(Malformed),
            "a whole byte of padding"
        );
        assert_eq!(decode(&[0xff, 0xff, 0xff, 0xfc], &mut out), Err(Malformed), "EOS itself");
        assert_eq!(decode(&[0xff], &mut out), Err(Malformed));
    }
}
