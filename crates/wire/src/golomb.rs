//! Golomb-coded sets of numbers, as [CASPER cookies](crate::casper) and [cache digests](crate::cache_digest) hold them.
//! Of each number in order stands what it exceeds the least possible by: a zero bit for each 2^r in it, a one bit, and the
//! rest in r bits.

use std::fmt;

/// What is wrong with a set that somebody sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadSet {
    /// It is longer than one of its kind can be, or has more keys.
    TooLong,
    /// It is not base64url.
    NotBase64,
    /// It ends within a key.
    CutOff,
    /// A key has more bits than the capacity.
    BeyondCapacity,
}

impl fmt::Display for BadSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLong => "longer than one of this kind can be",
            Self::NotBase64 => "not base64url",
            Self::CutOff => "ends within a key",
            Self::BeyondCapacity => "has a key beyond the capacity",
        })
    }
}

impl std::error::Error for BadSet {}

/// Reads the keys of a set.
#[derive(Debug)]
pub(crate) struct SetReader<'a> {
    bytes: &'a [u8],
    /// In bits.
    at: usize,
    remainder: u32,
    /// The least that the next key can be.
    least: u64,
}

impl<'a> SetReader<'a> {
    /// `remainder` is r, at most 31.
    pub(crate) fn new(bytes: &'a [u8], remainder: u32) -> Self {
        Self { bytes, at: 0, remainder, least: 0 }
    }

    /// A set behind a header: two numbers of 5 bits, the second of which is r. None where there are fewer bits.
    pub(crate) fn with_header(bytes: &'a [u8]) -> Option<(Self, (u32, u32))> {
        let mut set = Self::new(bytes, 0);
        let (first, second) = (set.number(HEADER_BITS)? as u32, set.number(HEADER_BITS)? as u32);
        set.remainder = second;
        Some((set, (first, second)))
    }

    /// The next key; None where only zero bits are left.
    pub(crate) fn next_key(&mut self) -> Result<Option<u64>, BadSet> {
        let mut high = 0;
        loop {
            match self.number(1) {
                None => return Ok(None),
                Some(0) => high += 1,
                Some(_) => break,
            }
        }
        let low = self.number(self.remainder).ok_or(BadSet::CutOff)?;
        let key = self.least + (high << self.remainder | low);
        self.least = key + 1;
        Ok(Some(key))
    }

    fn number(&mut self, bits: u32) -> Option<u64> {
        let mut number = 0;
        for _ in 0..bits {
            let byte = self.bytes.get(self.at / 8)?;
            number = number << 1 | u64::from(byte >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        Some(number)
    }
}

/// Writes the keys of a set.
#[derive(Debug)]
pub(crate) struct SetWriter {
    bytes: Vec<u8>,
    /// Bits of the last byte that are used, 0 for all.
    used: u32,
    remainder: u32,
    least: u64,
}

impl SetWriter {
    /// `remainder` is r.
    pub(crate) fn new(remainder: u32) -> Self {
        Self { bytes: Vec::new(), used: 0, remainder, least: 0 }
    }

    /// A set behind a header of two numbers of 5 bits, the second of which is r.
    pub(crate) fn with_header(first: u32, second: u32) -> Self {
        let mut set = Self::new(second);
        set.put_number(u64::from(first), HEADER_BITS);
        set.put_number(u64::from(second), HEADER_BITS);
        set
    }

    /// The next key, which is greater than the one before.
    pub(crate) fn put_key(&mut self, key: u64) {
        let over = key - self.least;
        for _ in 0..over >> self.remainder {
            self.put_number(0, 1);
        }
        self.put_number(1, 1);
        self.put_number(over, self.remainder);
        self.least = key + 1;
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The low bits of a number, from the highest.
    fn put_number(&mut self, number: u64, bits: u32) {
        for place in (0..bits).rev() {
            if self.used == 0 {
                self.bytes.push(0);
            }
            if let Some(last) = self.bytes.last_mut() {
                *last |= ((number >> place & 1) as u8) << (7 - self.used);
            }
            self.used = (self.used + 1) % 8;
        }
    }
}

const HEADER_BITS: u32 = 5;
