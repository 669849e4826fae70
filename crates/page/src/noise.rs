//! Bodies that no compression makes smaller, at the cost of a slice. Every body is a window on one block of noise, and
//! begins again at the block's end.
//!
//! The block is longer than deflate's window of 32 KiB (RFC 1951), so that its repetition stays out of
//! reach even of a server or proxy that compresses behind our back.

use std::sync::LazyLock;
use unit::Seed;

/// Bytes of a block.
pub(crate) const BLOCK: usize = 64 * 1024;

/// One block for the whole process. A body's seed only chooses the offset at which it begins.
static NOISE: LazyLock<Box<[u8]>> = LazyLock::new(|| {
    let mut random = Seed(0).child("noise").random();
    (0..BLOCK / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect()
});

/// The block as it is.
pub(crate) fn block() -> &'static [u8] {
    &NOISE
}

/// The bytes of the body of `seed` from `position` on: as many as are contiguous, at most `limit`. Empty only if
/// `limit` is 0.
pub fn noise(seed: Seed, position: u64, limit: usize) -> &'static [u8] {
    let start = (seed.draw(0).wrapping_add(position) % BLOCK as u64) as usize;
    let rest = &NOISE[start..];
    &rest[..rest.len().min(limit)]
}

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
