//! Images that a browser decodes and paints, of any number of bytes (PNG, ISO/IEC 15948).
//!
//! Signature, IHDR, padding in private ancillary chunks, and the pixels last: whatever was painted, all bytes had arrived.
//!
//! An image has 53 to 64 bytes of its own, and then the end of what all images with these pixels share: chunks of one
//! block of noise, again and again, then the pixels. The own bytes begin a chunk and the shared ones end it, so its length
//! and its checksum are part of the shared bytes. The own bytes hold four that make the checksum right
//! whatever stands before them: a CRC can be led to any value by 32 bits.

use crate::noise::{self, BLOCK};
use std::sync::LazyLock;
use unit::Seed;

/// The fewest bytes of an image: what its own bytes and the pixels take, and some noise.
pub(crate) const LEAST: u64 = 200;

/// Pixels of an image, all black.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pixels {
    /// 120 x 90.
    Small,
    /// 600 x 400.
    Large,
}

/// The bytes that an image of `bytes` bytes, [`LEAST`] at least, has of its own. They end within a chunk, the rest of which
/// the shared bytes are.
pub(crate) fn own(pixels: Pixels, value: Seed, bytes: u64) -> Vec<u8> {
    const START: usize = SIGNATURE.len() + FRAME + HEADER + OPENING + OWN;
    let chunks = bytes - (START + pixels.end()) as u64;
    let (filling, noise) = match (chunks % FULL_CHUNK) as usize {
        // What is left of a chunk is its noise and its checksum, or nothing but them.
        left @ ..CHECKSUM => (OPENING + left, BLOCK),
        left if left > BLOCK + CHECKSUM => (left - BLOCK - CHECKSUM, BLOCK),
        left => (0, left - CHECKSUM),
    };
    let mut own = Vec::with_capacity(START + filling);
    own.extend_from_slice(SIGNATURE);
    chunk(&mut own, b"IHDR", &pixels.header());
    own.extend_from_slice(&((OWN + filling + noise) as u32).to_be_bytes());
    let kind = own.len();
    own.extend_from_slice(PADDING);
    own.extend_from_slice(&value.0.to_be_bytes());
    own.resize(own.len() + filling, 0);
    let leading = checksum_of(&own[kind..]) ^ before_four_zeros(REGISTERS[BLOCK - noise]);
    own.extend_from_slice(&leading.to_le_bytes());
    own
}

/// The last `left` bytes of images with these pixels: the first of them that are contiguous, at most `limit`.
pub(crate) fn shared(pixels: Pixels, left: u64, limit: usize) -> &'static [u8] {
    let last = &*LAST[pixels as usize];
    let piece = match usize::try_from(left) {
        Ok(left) if left <= last.len() => &last[last.len() - left..],
        _ => {
            let before = left - last.len() as u64;
            let of_chunk = ((before - 1) % FULL_CHUNK + 1) as usize;
            &last[FULL_CHUNK as usize - of_chunk..FULL_CHUNK as usize]
        }
    };
    &piece[..piece.len().min(limit)]
}

impl Pixels {
    /// The data of IHDR: greyscale of one bit a pixel.
    fn header(self) -> [u8; HEADER] {
        let (width, height): (u32, u32) = match self {
            Self::Small => (120, 90),
            Self::Large => (600, 400),
        };
        let mut header = [0; HEADER];
        header[..4].copy_from_slice(&width.to_be_bytes());
        header[4..8].copy_from_slice(&height.to_be_bytes());
        header[8] = 1;
        header
    }

    /// Bytes of the last chunks: IDAT and IEND.
    fn end(self) -> usize {
        FRAME + self.packed().len() + FRAME
    }

    /// Black pixels, as zlib packs them: `zlib.compress(bytes((width + 7) // 8 + 1) * height, 9)`.
    fn packed(self) -> &'static [u8] {
        match self {
            Self::Small => &[
                0x78, 0xda, 0x63, 0x60, 0x18, 0x05, 0xa3, 0x60, 0x14, 0x8c, 0x82, 0x51, 0x30, 0x18,
                0x01, 0x00, 0x05, 0xa0, 0x00, 0x01,
            ],
            Self::Large => &[
                0x78, 0xda, 0xed, 0xc1, 0x01, 0x0d, 0x00, 0x00, 0x00, 0xc2, 0xa0, 0xf7, 0x4f, 0x6d,
                0x0f, 0x07, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                0x00, 0x00, 0x00, 0x00, 0x8f, 0x06, 0x76, 0xc0, 0x00, 0x01,
            ],
        }
    }
}

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Ancillary, private, safe to copy.
const PADDING: &[u8] = b"noIs";
/// Length and type of a chunk.
const OPENING: usize = 8;
const CHECKSUM: usize = 4;
const FRAME: usize = OPENING + CHECKSUM;
/// The data of IHDR.
const HEADER: usize = 13;
/// The value that tells images apart, and what makes the checksum right.
const OWN: usize = 8 + 4;
/// Bytes of a chunk with a whole block of noise.
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

/// The register from which four zero bytes lead to `crc`. Any other four bytes lead to it from that register with the
/// bytes, the first one lowest, added to it.
fn before_four_zeros(crc: u32) -> u32 {
    (0..4).fold(crc, |crc, _| {
        let index = BY_HIGH_BYTE[(crc >> 24) as usize];
        (crc ^ TABLE[usize::from(index)]) << 8 | u32::from(index)
    })
}

/// Which entry of the table has this high byte. Each has another one.
const BY_HIGH_BYTE: [u8; 256] = {
    let mut by_high_byte = [0; 256];
    let mut index = 0;
    while index < 256 {
        by_high_byte[(TABLE[index] >> 24) as usize] = index as u8;
        index += 1;
    }
    by_high_byte
};

/// The register within a full chunk after its type and so many bytes of noise.
static REGISTERS: LazyLock<Box<[u32]>> = LazyLock::new(|| {
    let mut crc = checksum_of(PADDING);
    let mut all = Vec::with_capacity(BLOCK + 1);
    all.push(crc);
    for &byte in noise::block() {
        crc = step(crc, byte);
        all.push(crc);
    }
    all.into()
});

/// The end of all images with the same pixels: a full chunk, IDAT and IEND.
static LAST: LazyLock<[Box<[u8]>; 2]> = LazyLock::new(|| {
    [Pixels::Small, Pixels::Large].map(|pixels| {
        let mut last = Vec::with_capacity(FULL_CHUNK as usize + pixels.end());
        last.extend_from_slice(&(BLOCK as u32).to_be_bytes());
        last.extend_from_slice(PADDING);
        last.extend_from_slice(noise::block());
        last.extend_from_slice(&(!REGISTERS[BLOCK]).to_be_bytes());
        chunk(&mut last, b"IDAT", pixels.packed());
        chunk(&mut last, b"IEND", &[]);
        last.into()
    })
});

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::io::Cursor;

    const ALL: [Pixels; 2] = [Pixels::Small, Pixels::Large];

    /// An image as a whole.
    fn image(pixels: Pixels, value: Seed, bytes: u64) -> Vec<u8> {
        let own = own(pixels, value, bytes);
        let rest = end(pixels, bytes - own.len() as u64);
        [own, rest].concat()
    }

    /// The last bytes of an image.
    fn end(pixels: Pixels, bytes: u64) -> Vec<u8> {
        let mut end = Vec::new();
        while (end.len() as u64) < bytes {
            end.extend_from_slice(shared(pixels, bytes - end.len() as u64, usize::MAX));
        }
        end
    }

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

    /// Sizes at which another chunk begins or ends, beside those that a page may well have.
    fn sizes(pixels: Pixels) -> Vec<u64> {
        let fixed = (SIGNATURE.len() + FRAME + HEADER + OPENING + OWN + pixels.end()) as u64;
        let around =
            |chunks: u64| (fixed + chunks * FULL_CHUNK - 12)..=(fixed + chunks * FULL_CHUNK + 12);
        let usual = [LEAST, LEAST + 1, 1_000, 5_000, 60_000, 200_000, 1_000_000];
        usual.into_iter().chain(around(1)).chain(around(3)).collect()
    }

    #[test]
    fn an_image_has_exactly_its_bytes_and_right_checksums_and_its_pixels_come_last() {
        // The checksum of an empty IEND, as every PNG ends with it.
        assert_eq!(!checksum_of(b"IEND"), 0xae42_6082);
        for pixels in ALL {
            for bytes in sizes(pixels) {
                let image = image(pixels, Seed(7), bytes);
                assert_eq!(image.len() as u64, bytes);
                let chunks = chunks(&image);
                let kinds: Vec<_> = chunks.iter().map(|(kind, _)| *kind).collect();
                assert_eq!(kinds[..2], [b"IHDR", PADDING]);
                assert_eq!(kinds[kinds.len() - 2..], [b"IDAT", b"IEND"]);
            }
        }
    }

    #[test]
    fn a_decoder_reads_every_image_and_finds_its_pixels_black() {
        for pixels in ALL {
            for bytes in sizes(pixels) {
                let image = image(pixels, Seed(bytes), bytes);
                let mut reader = png::Decoder::new(Cursor::new(&image)).read_info().unwrap();
                let mut frame = vec![1; reader.output_buffer_size().unwrap()];
                let info = reader
                    .next_frame(&mut frame)
                    .unwrap_or_else(|error| panic!("{bytes} bytes: {error}, {pixels:?}"));
                reader.finish().unwrap();
                let size = match pixels {
                    Pixels::Small => (120, 90),
                    Pixels::Large => (600, 400),
                };
                assert_eq!((info.width, info.height), size, "{bytes} bytes");
                assert!(frame[..info.buffer_size()].iter().all(|&byte| byte == 0), "{bytes} bytes");
            }
        }
    }

    #[test]
    fn what_images_share_is_the_same_from_wherever_it_is_read_and_however_it_is_cut() {
        for pixels in ALL {
            let whole = end(pixels, 200_000);
            for left in (1..200_000_u64).step_by(997).chain([65_548, 65_549, 131_096, 131_097]) {
                for limit in [1, 1_448, usize::MAX] {
                    let piece = shared(pixels, left, limit);
                    assert!((1..=limit).contains(&piece.len()), "{left} bytes before the end");
                    assert!(whole[whole.len() - left as usize..].starts_with(piece));
                }
            }
        }
    }

    #[test]
    fn images_of_one_size_differ_in_their_own_bytes() {
        let images = (0..100).map(|value| own(Pixels::Small, Seed(value), 5_000));
        assert_eq!(images.collect::<BTreeSet<_>>().len(), 100);
    }
}
