//! The images of a synthetic page without parts: PNGs, and noise where so few bytes are asked for that a PNG has no room.

use super::part::{PartPiece, png_of};
use super::{IMAGE_PATH, LONGEST_DELAY_MS, MOST_BYTES, QueryError, Synthetic, number, parameters};
use crate::png::{self, Pixels};
use std::str::FromStr;
use std::time::Duration;
use unit::{ByteSize, Seed};

/// One image of a synthetic page, described by its path and query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyntheticImage {
    /// Bytes of its body.
    pub body: ByteSize,
    /// What tells its bytes from those of others.
    pub seed: Seed,
    /// How long the origin thinks about it.
    pub server_time: Duration,
}

impl SyntheticImage {
    /// Its media type. Noise has one that Wireshark does not decode: with another it would report packets as malformed.
    pub fn media_type(&self) -> &'static str {
        if self.is_noise() { "image/avif" } else { "image/png" }
    }

    /// Its body, piece by piece: `body` bytes together.
    pub fn pieces(&self) -> Vec<PartPiece> {
        if self.is_noise() {
            return vec![PartPiece::Bytes(self.noise())];
        }
        png_of(Pixels::Small, self.seed, self.body.0)
    }

    /// The first bytes of a PNG of `bytes` bytes, which it has of its own. All others are those of
    /// [`Padding::Png`](crate::Padding::Png) with [`Pixels::Small`].
    pub fn own(seed: Seed, bytes: u64) -> Vec<u8> {
        png::own(Pixels::Small, seed, bytes)
    }

    /// Whether it has too few bytes for a PNG: fewer than 200.
    pub fn is_noise(&self) -> bool {
        self.body.0 < png::LEAST
    }

    fn noise(&self) -> Vec<u8> {
        let bytes = self.body.0 as usize;
        let mut noise = Vec::with_capacity(bytes);
        while noise.len() < bytes {
            let left = bytes - noise.len();
            noise.extend_from_slice(crate::noise(self.seed, noise.len() as u64, left));
        }
        noise
    }
}

impl FromStr for SyntheticImage {
    type Err = QueryError;

    /// Reads a request target such as `/image/7?bytes=5000&v=1f`.
    fn from_str(target: &str) -> Result<Self, QueryError> {
        const KNOWN: &str = "bytes, v, delay_ms";
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let index = path.strip_prefix(IMAGE_PATH).and_then(|index| index.parse::<u32>().ok());
        let index = index.ok_or_else(|| QueryError::Path(path.to_owned()))?;
        let mut bytes = Synthetic::default().bytes;
        let mut value_seed = u64::from(index);
        let mut delay_ms = 0;
        for (name, value) in parameters(query) {
            match name {
                "bytes" => bytes = number("bytes", value, 0..=MOST_BYTES)?,
                // Any text is accepted, so that a reader's own cache buster works.
                "v" => value_seed = Seed(0).child(value).0,
                "delay_ms" => delay_ms = number("delay_ms", value, 0..=LONGEST_DELAY_MS)?,
                _ => return Err(QueryError::Unknown { name: name.to_owned(), known: KNOWN }),
            }
        }
        Ok(Self {
            body: ByteSize(bytes),
            seed: Seed(value_seed),
            server_time: Duration::from_millis(delay_ms),
        })
    }
}
