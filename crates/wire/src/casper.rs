//! Cache-aware server push (CASPER), as H2O 2.2 has it: the cookie `h2o_casper` holds a fingerprint of each path that the
//! browser was sent, so that a server pushes only what is missing. The one rule: a cookie is anybody's, so reading one is
//! bounded and never fails loudly.
//!
//! | part | is |
//! |---|---|
//! | key of a path | the first four bytes of SHA-1 of the path with its query, little-endian, cut to [`Capacity`]'s bits |
//! | set | Golomb-coded with 6 remainder bits: of each key in order, what it exceeds the least possible by, 64ths in zero bits and a one bit, the rest in 6 bits |
//! | value | base64url without `=` |
//!
//! ```
//! use wire::casper::{Capacity, Fingerprint};
//!
//! let mut seen = Fingerprint::new(Capacity::default());
//! seen.insert("/assets/app.js");
//! seen.insert("/assets/style.css");
//! assert_eq!(seen.value(), "AAAB4AAAAAAAAAAAXw");
//! # assert_eq!(Fingerprint::parse(Capacity::default(), seen.value().as_bytes()), Ok(seen));
//! ```

use std::fmt;

/// The cookie's name.
pub const COOKIE: &str = "h2o_casper";

/// What follows the value in a `Set-Cookie` field.
pub const ATTRIBUTES: &str = "Path=/; Expires=Tue, 01 Jan 2030 00:00:00 GMT; Secure";

/// The paths that a browser was sent, as keys of a few bits. Two paths may have one key: [`Capacity`] says how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    capacity: Capacity,
    /// In order, each once.
    keys: Vec<u32>,
}

impl Fingerprint {
    /// No paths.
    pub fn new(capacity: Capacity) -> Self {
        Self { capacity, keys: Vec::new() }
    }

    /// Reads a cookie's value. A reader needs the capacity that it was written with: the value does not say it.
    pub fn parse(capacity: Capacity, value: &[u8]) -> Result<Self, BadCookie> {
        if value.len() > LONGEST_VALUE {
            return Err(BadCookie::TooLong);
        }
        let mut bits = BitReader { bytes: &base64url::decode(value)?, at: 0 };
        let mut keys = Vec::new();
        let mut least = 0;
        while let Some(over) = bits.value()? {
            let key = least + over;
            if key > capacity.mask() {
                return Err(BadCookie::BeyondCapacity);
            }
            if keys.len() == MOST_KEYS {
                return Err(BadCookie::TooLong);
            }
            keys.push(key);
            least = key + 1;
        }
        Ok(Self { capacity, keys })
    }

    /// Adds the keys of the cookies called [`COOKIE`] in a `Cookie` field. One that cannot be read is ignored.
    pub fn merge_cookies(&mut self, field: &[u8]) {
        for pair in field.split(|&byte| byte == b';') {
            let value = pair.trim_ascii().strip_prefix(COOKIE.as_bytes());
            let Some(value) = value.and_then(|value| value.strip_prefix(b"=")) else { continue };
            if let Ok(other) = Self::parse(self.capacity, value) {
                for key in other.keys {
                    self.insert_key(key);
                }
            }
        }
    }

    /// Whether the browser was sent this path, or one with the same key.
    pub fn contains(&self, path: &str) -> bool {
        self.keys.binary_search(&self.capacity.key(path)).is_ok()
    }

    /// Adds a path. Beyond 3,000 keys, which is what a cookie can hold, it has no effect.
    pub fn insert(&mut self, path: &str) {
        self.insert_key(self.capacity.key(path));
    }

    fn insert_key(&mut self, key: u32) {
        if let Err(at) = self.keys.binary_search(&key)
            && self.keys.len() < MOST_KEYS
        {
            self.keys.insert(at, key);
        }
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The cookie's value: at most 3,700 bytes, empty without keys.
    pub fn value(&self) -> String {
        let mut bits = BitWriter::default();
        let mut least = 0;
        for &key in &self.keys {
            bits.put_value(key - least);
            least = key + 1;
        }
        base64url::encode(&bits.bytes)
    }

    /// The value of a `Set-Cookie` field.
    pub fn set_cookie(&self) -> String {
        format!("{COOKIE}={}; {ATTRIBUTES}", self.value())
    }
}

/// Bits of a key, 6 to 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity(u8);

impl Capacity {
    /// A capacity of so many bits; None outside 6 to 16. H2O takes up to 15.
    pub fn new(bits: u8) -> Option<Self> {
        (FEWEST_BITS..=MOST_BITS).contains(&bits).then_some(Self(bits))
    }

    /// The capacity for so many paths, where a path that is not among them is taken for one in at most one of `one_in`
    /// cases. None where that needs more bits than there are.
    pub fn of_assets(assets: u32, one_in: u32) -> Option<Self> {
        let values = u64::from(assets.max(1)) * u64::from(one_in.max(1));
        let bits = values.checked_next_power_of_two()?.trailing_zeros() as u8;
        Self::new(bits.max(FEWEST_BITS))
    }

    /// The number of bits.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// A path's key.
    pub fn key(self, path: &str) -> u32 {
        let digest = sha1_smol::Sha1::from(path).digest().bytes();
        u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]]) & self.mask()
    }

    fn mask(self) -> u32 {
        (1 << self.0) - 1
    }
}

/// H2O's default, 13 bits: of 100 paths, about one in 80 that is not among them is taken for one.
impl Default for Capacity {
    fn default() -> Self {
        Self(13)
    }
}

/// A cookie that no server wrote with this capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadCookie {
    /// It is longer than a cookie can be, or has more keys.
    TooLong,
    /// It is not base64url.
    NotBase64,
    /// It ends within a key.
    CutOff,
    /// A key has more bits than the capacity.
    BeyondCapacity,
}

impl fmt::Display for BadCookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLong => "longer than a cookie of this kind can be",
            Self::NotBase64 => "not base64url",
            Self::CutOff => "ends within a key",
            Self::BeyondCapacity => "has a key beyond the capacity",
        })
    }
}

impl std::error::Error for BadCookie {}

/// Remainder bits of the code.
const REMAINDER: u32 = 6;
const FEWEST_BITS: u8 = 6;
const MOST_BITS: u8 = 16;

/// With its attributes a cookie then stays below the 4,096 bytes that browsers take (RFC 6265 §6.1): 3,000 keys take
/// 7 bits each and 1,024 zero bits together.
const MOST_KEYS: usize = 3_000;
const LONGEST_VALUE: usize = 4_096;

/// Reads values off the front of a Golomb-coded set.
struct BitReader<'a> {
    bytes: &'a [u8],
    /// In bits.
    at: usize,
}

impl BitReader<'_> {
    fn bit(&mut self) -> Option<u32> {
        let byte = self.bytes.get(self.at / 8)?;
        let bit = byte >> (7 - self.at % 8) & 1;
        self.at += 1;
        Some(u32::from(bit))
    }

    /// The next value; None where only zero bits are left.
    fn value(&mut self) -> Result<Option<u32>, BadCookie> {
        let mut high = 0;
        loop {
            match self.bit() {
                None => return Ok(None),
                Some(0) => high += 1,
                Some(_) => break,
            }
        }
        let mut value = high;
        for _ in 0..REMAINDER {
            value = value << 1 | self.bit().ok_or(BadCookie::CutOff)?;
        }
        Ok(Some(value))
    }
}

#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    /// Bits of the last byte that are used, 0 for all.
    used: u32,
}

impl BitWriter {
    fn put_bit(&mut self, bit: u32) {
        if self.used == 0 {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= (bit as u8) << (7 - self.used);
        }
        self.used = (self.used + 1) % 8;
    }

    fn put_value(&mut self, value: u32) {
        for _ in 0..value >> REMAINDER {
            self.put_bit(0);
        }
        self.put_bit(1);
        for place in (0..REMAINDER).rev() {
            self.put_bit(value >> place & 1);
        }
    }
}

/// RFC 4648 §5, without padding.
mod base64url {
    use super::BadCookie;

    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    pub(super) fn encode(bytes: &[u8]) -> String {
        let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
        for chunk in bytes.chunks(3) {
            let group = (0..3).fold(0, |group, at| {
                group << 8 | u32::from(chunk.get(at).copied().unwrap_or_default())
            });
            for at in 0..=chunk.len() {
                let digit = group >> (18 - 6 * at) & 63;
                text.push(char::from(ALPHABET[digit as usize]));
            }
        }
        text
    }

    pub(super) fn decode(text: &[u8]) -> Result<Vec<u8>, BadCookie> {
        if text.len() % 4 == 1 {
            return Err(BadCookie::NotBase64);
        }
        let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
        for chunk in text.chunks(4) {
            let mut group = 0;
            for at in 0..4 {
                let digit = chunk.get(at).map_or(Some(0), |&byte| digit(byte));
                group = group << 6 | u32::from(digit.ok_or(BadCookie::NotBase64)?);
            }
            let [_, decoded @ ..] = group.to_be_bytes();
            bytes.extend_from_slice(&decoded[..chunk.len() - 1]);
        }
        Ok(bytes)
    }

    fn digit(byte: u8) -> Option<u8> {
        match byte {
            b'A'..=b'Z' => Some(byte - b'A'),
            b'a'..=b'z' => Some(byte - b'a' + 26),
            b'0'..=b'9' => Some(byte - b'0' + 52),
            b'-' => Some(62),
            b'_' => Some(63),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
