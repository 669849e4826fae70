//! DEFLATE's fixed Huffman codes (RFC 1951 §3.2.6), written bit by bit. It chooses nothing: the
//! caller says which literals and copies to write.

/// A code with its extra bits behind it, least significant bit first.
#[derive(Clone, Copy)]
struct Code {
    bits: u16,
    count: u8,
}

/// The shortest copy.
pub(super) const LEAST_COPY: usize = 3;
/// The longest copy.
pub(super) const MOST_COPY: usize = 258;

/// Of each literal byte.
static LITERALS: [Code; 256] = literals();
/// Of each length, from the shortest copy on.
static LENGTHS: [Code; MOST_COPY - LEAST_COPY + 1] = lengths();
/// Of each distance symbol: five bits.
static DISTANCES: [u8; 30] = distances();

/// What ends a flushed block besides its padding: an empty stored block's length (RFC 1951 §3.2.4).
const FLUSHED: [u8; 4] = [0x00, 0x00, 0xff, 0xff];

/// Writes one block of the fixed codes, and flushes it.
#[derive(Debug)]
pub(super) struct FixedBlock<'o> {
    out: &'o mut Vec<u8>,
    held: u64,
    count: u32,
}

impl<'o> FixedBlock<'o> {
    /// Begins a block behind whole bytes. It is never the last one.
    pub(super) fn begin(out: &'o mut Vec<u8>) -> Self {
        // RFC 1951 §3.2.3: BFINAL 0, BTYPE 01.
        Self { out, held: 0b010, count: 3 }
    }

    /// A byte as it is.
    pub(super) fn literal(&mut self, byte: u8) {
        let Code { bits, count } = LITERALS[usize::from(byte)];
        self.put(u32::from(bits), u32::from(count));
    }

    /// A copy of `length` bytes, 3 to 258, from `distance` bytes before, 1 to 32,768.
    pub(super) fn copy(&mut self, length: usize, distance: usize) {
        let Code { bits, count } = LENGTHS[length - LEAST_COPY];
        self.put(u32::from(bits), u32::from(count));
        // RFC 1951 §3.2.5: two symbols for each power of two, the rest in extra bits.
        let past = distance as u32 - 1;
        let (symbol, extra) = match past {
            0..4 => (past, 0),
            _ => {
                let extra = past.ilog2() - 1;
                (2 * extra + (past >> extra), extra)
            }
        };
        let code = u32::from(DISTANCES[symbol as usize]);
        self.put(code | (past & ((1 << extra) - 1)) << 5, 5 + extra);
    }

    /// Ends the block and flushes: an empty stored block brings what went before to a byte's end.
    pub(super) fn end(mut self) {
        // Seven zeros end the block; BFINAL 0, BTYPE 00 begin the other.
        self.put(0, 10);
        while self.count > 0 {
            self.out.push(self.held as u8);
            self.held >>= 8;
            self.count = self.count.saturating_sub(8);
        }
        self.out.extend_from_slice(&FLUSHED);
    }

    fn put(&mut self, bits: u32, count: u32) {
        self.held |= u64::from(bits) << self.count;
        self.count += count;
        if self.count >= 32 {
            self.out.extend_from_slice(&(self.held as u32).to_le_bytes());
            self.held >>= 32;
            self.count -= 32;
        }
    }
}

/// The code of a literal or length symbol. RFC 1951 §3.1.1: Huffman codes have their most significant
/// bit first.
const fn symbol(symbol: u16) -> Code {
    let (code, count) = match symbol {
        0..144 => (0b0011_0000 + symbol, 8),
        144..256 => (0b1_1001_0000 + symbol - 144, 9),
        256..280 => (symbol - 256, 7),
        _ => (0b1100_0000 + symbol - 280, 8),
    };
    Code { bits: code.reverse_bits() >> (16 - count), count: count as u8 }
}

const fn literals() -> [Code; 256] {
    let mut codes = [Code { bits: 0, count: 0 }; 256];
    let mut at = 0;
    while at < codes.len() {
        codes[at] = symbol(at as u16);
        at += 1;
    }
    codes
}

const fn lengths() -> [Code; MOST_COPY - LEAST_COPY + 1] {
    let mut codes = [Code { bits: 0, count: 0 }; MOST_COPY - LEAST_COPY + 1];
    let mut past: u16 = 0;
    while (past as usize) < codes.len() {
        // RFC 1951 §3.2.5: four symbols for each power of two, the rest in extra bits; the longest has
        // a symbol of its own.
        let (name, extra) = match past {
            0..8 => (257 + past, 0),
            255 => (285, 0),
            _ => {
                let extra = past.ilog2() as u16 - 2;
                (257 + 4 * extra + (past >> extra), extra)
            }
        };
        let Code { bits, count } = symbol(name);
        let rest = past & ((1 << extra) - 1);
        codes[past as usize] = Code { bits: bits | rest << count, count: count + extra as u8 };
        past += 1;
    }
    codes
}

const fn distances() -> [u8; 30] {
    let mut codes = [0; 30];
    let mut at = 0;
    while at < codes.len() {
        codes[at] = (at as u8).reverse_bits() >> 3;
        at += 1;
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Decompress, FlushDecompress};

    fn inflate(block: &[u8], limit: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(limit + 1);
        Decompress::new(false).decompress_vec(block, &mut out, FlushDecompress::Sync).unwrap();
        out
    }

    #[test]
    fn every_byte_is_read_as_it_was_written() {
        let every: Vec<u8> = (0..=255).collect();
        let mut out = Vec::new();
        let mut block = FixedBlock::begin(&mut out);
        every.iter().for_each(|byte| block.literal(*byte));
        block.end();
        assert_eq!(inflate(&out, 256), every);
        assert_eq!(out[out.len() - 4..], FLUSHED);
    }

    #[test]
    fn every_length_and_distance_is_read_as_it_was_written() {
        let noise: Vec<u8> = (0..32_768_u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
        for distance in (1..=32_768_usize).filter(|d| d.is_power_of_two() || d % 331 == 0) {
            for length in (LEAST_COPY..=MOST_COPY).step_by(if distance < 9 { 1 } else { 37 }) {
                let mut out = Vec::new();
                let mut block = FixedBlock::begin(&mut out);
                noise.iter().for_each(|byte| block.literal(*byte));
                block.copy(length, distance);
                block.end();
                let mut expected = noise.clone();
                (0..length).for_each(|_| expected.push(expected[expected.len() - distance]));
                assert!(inflate(&out, expected.len()) == expected, "{length} from {distance}");
            }
        }
    }

    #[test]
    fn an_empty_block_is_flushed_too() {
        let mut out = Vec::new();
        FixedBlock::begin(&mut out).end();
        assert_eq!(out, [0x02, 0x00, 0x00, 0x00, 0xff, 0xff]);
        assert_eq!(inflate(&out, 0), [0_u8; 0]);
    }
}
