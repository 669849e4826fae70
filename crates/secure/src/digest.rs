//! SHA-256 (FIPS 180-4), which tells a file from a damaged or forged one.

use ring::digest::{Context, SHA256};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A digest in the making.
#[derive(Clone)]
pub struct Sha256(Context);

/// A SHA-256 digest; it reads and prints as 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 32]);

impl Sha256 {
    /// Of nothing yet.
    pub fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    /// Goes on with `bytes`.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all that came.
    pub fn finish(self) -> Digest {
        let mut digest = [0; 32];
        digest.copy_from_slice(self.0.finish().as_ref());
        Digest(digest)
    }
}

impl Default for Sha256 {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sha256")
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A text that is no SHA-256 digest.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no SHA-256 digest: 64 hexadecimal digits are expected, as sha256sum prints them")]
pub struct BadDigest(String);

impl FromStr for Digest {
    type Err = BadDigest;

    fn from_str(input: &str) -> Result<Self, BadDigest> {
        let bad = || BadDigest(input.to_owned());
        if input.len() != 64 {
            return Err(bad());
        }
        let mut digest = [0; 32];
        for (byte, pair) in digest.iter_mut().zip(input.as_bytes().chunks(2)) {
            let digit = |index: usize| (pair[index] as char).to_digit(16);
            let (Some(high), Some(low)) = (digit(0), digit(1)) else { return Err(bad()) };
            *byte = (high * 16 + low) as u8;
        }
        Ok(Self(digest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_abc_is_that_of_the_standard() {
        let mut hash = Sha256::new();
        hash.update(b"a");
        hash.update(b"bc");
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.finish().to_string(), text);
        assert_eq!(text.to_uppercase().parse::<Digest>().unwrap().to_string(), text);
    }

    #[test]
    fn what_is_no_digest_is_refused() {
        for text in ["", "abc", &"g".repeat(64), &"a".repeat(63), &"é".repeat(32)] {
            assert!(text.parse::<Digest>().is_err(), "{text}");
        }
    }
}
