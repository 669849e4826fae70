//! Bodies that no compression makes smaller, at the cost of a slice. Every body is a window on one block of noise, and
//! begins again at the block's end.
//!
//! The block is longer than deflate's window of 32 KiB (RFC 1951), so that its repetition stays out of
//! reach even of a server or proxy that compresses behind our back.

use crate::synthetic::png::{self, Pixels};
use std::ops::Range;
use std::sync::LazyLock;
use unit::Seed;

/// Bytes of a block.
pub(crate) const BLOCK: usize = 64 * 1024;

/// One block for the whole process. A body's seed only chooses the offset at which it begins.
static NOISE: LazyLock<Box<[u8]>> = LazyLock::new(|| {
    let mut random = Seed(0).child("noise").random();
    (0..BLOCK / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect()
});

/// The bytes of the body of `seed` from `position` on: as many as are contiguous, at most `limit`. Empty only if
/// `limit` is 0.
pub fn noise(seed: Seed, position: u64, limit: usize) -> &'static [u8] {
    let start = (seed.draw(0).wrapping_add(position) % BLOCK as u64) as usize;
    let rest = &NOISE[start..];
    &rest[..rest.len().min(limit)]
}

/// Bytes that fill a body up, and that all who send them share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Padding {
    /// Noise: one block, repeated from its beginning.
    Noise,
    /// Letters and digits, six bits of noise in each: it may stand in a comment of CSS and of JavaScript. One block,
    /// repeated from its beginning.
    Text,
    /// The end of a PNG: chunks of noise, and these pixels last. It is told from its end: fewer bytes of it are its last
    /// ones.
    Png(Pixels),
}

impl Padding {
    /// Makes now what all bodies share, so that the first one does not wait for it. Once in a process it takes some tenths
    /// of a millisecond.
    pub fn prepare() {
        for padding in [Self::Noise, Self::Text, Self::Png(Pixels::Small)] {
            padding.piece(0..1, 1);
        }
    }

    /// The first bytes of `range`: as many as are contiguous, at most `limit`. Empty only if `range` is, or if `limit` is 0.
    pub fn piece(self, range: Range<u64>, limit: usize) -> &'static [u8] {
        let left = range.end.saturating_sub(range.start);
        let limit = usize::try_from(left).map_or(limit, |left| left.min(limit));
        let block = match self {
            Self::Noise => &NOISE,
            Self::Text => &TEXT,
            Self::Png(pixels) => return png::shared(pixels, left, limit),
        };
        let rest = &block[(range.start % BLOCK as u64) as usize..];
        &rest[..rest.len().min(limit)]
    }
}

static TEXT: LazyLock<Box<[u8]>> = LazyLock::new(|| {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    NOISE.iter().map(|byte| LETTERS[usize::from(byte % 64)]).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    fn body(seed: u64, length: usize, piece: usize) -> Vec<u8> {
        let mut body = Vec::new();
        while body.len() < length {
            let limit = piece.min(length - body.len());
            body.extend_from_slice(noise(Seed(seed), body.len() as u64, limit));
        }
        body
    }

    #[test]
    fn a_body_is_the_same_however_it_is_cut() {
        assert_eq!(body(3, 200_000, 1_000_000), body(3, 200_000, 1_448));
    }

    #[test]
    fn bodies_differ_and_use_all_bytes_evenly() {
        assert_ne!(body(1, 100, 100), body(2, 100, 100));
        let mut counts = [0_u32; 256];
        body(1, BLOCK, BLOCK).iter().for_each(|&byte| counts[usize::from(byte)] += 1);
        // 256 of each are expected; six sigma around that.
        assert!(counts.iter().all(|&n| (160..352).contains(&n)), "{counts:?}");
    }
}
