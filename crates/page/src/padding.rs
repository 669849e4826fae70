//! What fills bodies up. It is made once, and every body that has some of it shares it.

use crate::noise::{self, BLOCK};
use crate::png::{self, Pixels};
use std::ops::Range;
use std::sync::LazyLock;

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
            Self::Noise => noise::block(),
            Self::Text => &TEXT,
            Self::Png(pixels) => return png::shared(pixels, left, limit),
        };
        let rest = &block[(range.start % BLOCK as u64) as usize..];
        &rest[..rest.len().min(limit)]
    }
}

static TEXT: LazyLock<Box<[u8]>> = LazyLock::new(|| {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    noise::block().iter().map(|byte| LETTERS[usize::from(byte % 64)]).collect()
});
