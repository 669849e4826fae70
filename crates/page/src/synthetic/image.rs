//! The images of a synthetic page without parts: noise.

use super::{IMAGE_PATH, LONGEST_DELAY_MS, MOST_BYTES, QueryError, Synthetic, number, parameters};
use std::str::FromStr;
use std::time::Duration;
use unit::{ByteSize, Seed};

/// One image of a synthetic page, described by its path and query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyntheticImage {
    /// Bytes of its body.
    pub body: ByteSize,
    /// The seed of its bytes; see [`noise`](crate::noise()).
    pub seed: Seed,
    /// How long the origin thinks about it.
    pub server_time: Duration,
}

impl SyntheticImage {
    /// The media type of an image. Its bytes are noise. With a type that Wireshark decodes, it would report packets as
    /// malformed.
    pub const MEDIA_TYPE: &'static str = "image/avif";
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
