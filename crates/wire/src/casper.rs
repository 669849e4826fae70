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

use crate::base64url;
use crate::golomb::{BadSet, SetReader, SetWriter};

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
    pub fn parse(capacity: Capacity, value: &[u8]) -> Result<Self, BadSet> {
        if value.len() > LONGEST_VALUE {
            return Err(BadSet::TooLong);
        }
        let bytes = base64url::decode(value).ok_or(BadSet::NotBase64)?;
        let mut set = SetReader::new(&bytes, REMAINDER);
        let mut keys = Vec::new();
        while let Some(key) = set.next_key()? {
            let key = u32::try_from(key).ok().filter(|&key| key <= capacity.mask());
            let key = key.ok_or(BadSet::BeyondCapacity)?;
            if keys.len() == MOST_KEYS {
                return Err(BadSet::TooLong);
            }
            keys.push(key);
        }
        Ok(Self { capacity, keys })
    }

    /// Adds the keys of the cookies called [`COOKIE`] in a `Cookie` field. One that cannot be read is ignored; what is wrong
    /// with the first of these is given back.
    pub fn merge_cookies(&mut self, field: &[u8]) -> Option<BadSet> {
        let mut first = None;
        for pair in field.split(|&byte| byte == b';') {
            let value = pair.trim_ascii().strip_prefix(COOKIE.as_bytes());
            let Some(value) = value.and_then(|value| value.strip_prefix(b"=")) else { continue };
            match Self::parse(self.capacity, value) {
                Ok(other) => other.keys.into_iter().for_each(|key| self.insert_key(key)),
                Err(bad) => drop(first.get_or_insert(bad)),
            }
        }
        first
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
        let mut set = SetWriter::new(REMAINDER);
        self.keys.iter().for_each(|&key| set.put_key(u64::from(key)));
        base64url::encode(&set.into_bytes())
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

/// Remainder bits of the code.
const REMAINDER: u32 = 6;
const FEWEST_BITS: u8 = 6;
const MOST_BITS: u8 = 16;

/// With its attributes a cookie then stays below the 4,096 bytes that browsers take (RFC 6265 §6.1): 3,000 keys take
/// 7 bits each and 1,024 zero bits together.
const MOST_KEYS: usize = 3_000;
const LONGEST_VALUE: usize = 4_096;

#[cfg(test)]
mod tests;
