//! Images that a browser decodes and paints, of any number of bytes (PNG, ISO/IEC 15948).
//!
//! Signature, IHDR, a chunk with a value that tells images apart, padding in private ancillary chunks, and the pixels
//! last: whatever was painted, all bytes had arrived. Padding chunks hold the same noise from its beginning on, so that
//! their checksums are looked up.

use super::part::PartPiece;
use crate::noise::{BLOCK, Padding};
use std::sync::LazyLock;
use unit::Seed;

/// The fewest bytes of an image: what all chunks but the padding take, and room for a few of it.
pub(super) const LEAST: u64 = 200;

/// Pixels of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// 120 x 90.
    Small,
    /// 600 x 400.
    Large,
}

/// The body of an image of `bytes` bytes.
pub(super) fn pieces(size: Size, value: Seed, bytes: u64) -> Vec<PartPiece> {
    let mut start = SIGNATURE.to_vec();
    chunk(&mut start, b"IHDR", &size.header());
    let mut end = Vec::new();
    chunk(&mut end, b"IDAT", size.pixels());
    chunk(&mut end, b"IEND", &[]);
    let fixed = start.len() + FRAME + 8 + end.len();
    let padding = bytes.saturating_sub(fixed as u64);
    let (full, rest) = (padding / FULL_CHUNK, padding % FULL_CHUNK);
    // What is too short for a chunk of its own makes the first one longer.
    let (filling, rest) = if rest < FRAME as u64 { (rest, None) } else { (0, Some(rest)) };
    let mut own = value.0.to_be_bytes().to_vec();
    own.resize(8 + filling as usize, 0);
    chunk(&mut start, b"vaLu", &own);
    let mut pieces = vec![PartPiece::Bytes(start)];
    let lengths = std::iter::repeat_n(BLOCK, full as usize);
    for length in lengths.chain(rest.map(|rest| rest as usize - FRAME)) {
        pieces.push(PartPiece::Bytes([&(length as u32).to_be_bytes()[..], PADDING].concat()));
        pieces.push(PartPiece::Padding(Padding::Noise, length as u64));
        pieces.push(PartPiece::Bytes(CHECKSUMS[length].to_be_bytes().to_vec()));
    }
    pieces.push(PartPiece::Bytes(end));
    pieces
}

impl Size {
    /// The data of IHDR: greyscale of one bit a pixel.
    fn header(self) -> [u8; 13] {
        let (width, height): (u32, u32) = match self {
            Self::Small => (120, 90),
            Self::Large => (600, 400),
        };
        let mut header = [0; 13];
        header[..4].copy_from_slice(&width.to_be_bytes());
        header[4..8].copy_from_slice(&height.to_be_bytes());
        header[8] = 1;
        header
    }

    /// Black pixels, as zlib packs them: `zlib.compress(bytes((width + 7) // 8 + 1) * height, 9)`.
    fn pixels(self) -> &'static [u8] {
        match self {
            Self::Small => &[
                0x78, 0xda, 0x63, 0x60, 0x18, 0x05, 0xa3, 0x60, 0x14, 0x8c, 0x82, 0x51, 0x30, 0x18,
                0x01, 0x00, 0x05, 0xa0, 0x00, 0x01,
            ],
            Self::Large => &[
                0x78, 0xda, 0xed, 0xc1, 0x01, 0x0d, 0x00, 0x00, 0x00, 0xc2, 0xa0, 0xf7, 0x4f, 0x6d,
                0x0f, 0x07, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                0x00, 0x00, 0x00, 0x8f, 0x06, 0x76, 0xc0, 0x00, 0x01,
            ],
        }
    }
}

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Ancillary, private, safe to copy.
const PADDING: &[u8] = b"noIs";
/// Length, type and checksum of a chunk.
const FRAME: usize = 12;
/// A chunk with a whole block of noise.
const FULL_CHUNK: u64 = (FRAME + BLOCK) as u64;

fn chunk(out: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    out.extend_from_slice(&(data.len() as u32).to_be_bytes());
    out.extend_from_slice(kind);
    out.extend_from_slice(data);
    let crc = data.iter().fold(checksum_of(kind), |crc, &byte| step(crc, byte));
    out.extend_from_slice(&(!crc).to_be_bytes());
}

fn checksum_of(bytes: &[u8]) -> u32 {
    bytes.iter().fold(u32::MAX, |crc, &byte| step(crc, byte))
}

/// One byte more of a CRC-32 (ISO/IEC 15948 annex D).
fn step(crc: u32, byte: u8) -> u32 {
    (crc >> 8) ^ TABLE[((crc ^ u32::from(byte)) & 0xff) as usize]
}

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let (mut crc, mut bit) = (index as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
};

/// The checksum of a padding chunk of each length up to a block.
static CHECKSUMS: LazyLock<Box<[u32]>> = LazyLock::new(|| {
    let mut crc = checksum_of(PADDING);
    let mut all = Vec::with_capacity(BLOCK + 1);
    all.push(!crc);
    for &byte in Padding::Noise.piece(0, BLOCK) {
        crc = step(crc, byte);
        all.push(!crc);
    }
    all.into()
});

#[cfg(test)]
mod tests {
    use super::*;

    /// The chunks of an image, each with its type and its data; panics where a length or a checksum is wrong.
    fn chunks(image: &[u8]) -> Vec<(&[u8], &[u8])> {
        let mut rest = image.strip_prefix(SIGNATURE).unwrap();
        let mut chunks = Vec::new();
        while !rest.is_empty() {
            let length = u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
            let (one, left) = rest.split_at(FRAME + length);
            let checksum = !checksum_of(&one[4..8 + length]);
            assert_eq!(one[8 + length..], checksum.to_be_bytes());
            chunks.push((&one[4..8], &one[8..8 + length]));
            rest = left;
        }
        chunks
    }

    #[test]
    fn an_image_has_exactly_its_bytes_and_right_checksums_and_its_pixels_come_last() {
        // The checksum of an empty IEND, as every PNG ends with it.
        assert_eq!(!checksum_of(b"IEND"), 0xae42_6082);
        for bytes in [LEAST, 201, 250, 5_000, 60_000, 65_600, 65_700, 65_710, 200_000] {
            for size in [Size::Small, Size::Large] {
                let image = super::super::part::tests::bytes_of(&pieces(size, Seed(7), bytes));
                assert_eq!(image.len() as u64, bytes);
                let chunks = chunks(&image);
                let kinds: Vec<_> = chunks.iter().map(|(kind, _)| *kind).collect();
                assert_eq!(kinds[..2], [b"IHDR", b"vaLu"]);
                assert_eq!(kinds[kinds.len() - 2..], [b"IDAT", b"IEND"]);
            }
        }
    }
}
