//! Cache digests (draft-ietf-httpbis-cache-digest-02, 2017, which became no RFC), as H2O 2.2 reads them: a client says in
//! `Cache-Digest` fields which responses it has, so that a server pushes only what is missing. The one rule: a digest is
//! anybody's, so reading one is bounded and never fails loudly. Draft 04 and later have cuckoo filters instead, which no
//! server of ours reads.
//!
//! | part | is |
//! |---|---|
//! | key of a response | the first N + P bits of SHA-256 of its URL, or of its URL and its `ETag` |
//! | digest | N and P in 5 bits each, and the [Golomb-coded set](crate::golomb) of the keys with r = P |
//! | field | digests in base64url without `=`, separated by commas, each with flags: `; complete; validators` |
//!
//! ```
//! use wire::cache_digest::{CacheDigests, Digest, UrlHash, Validators};
//!
//! let hash = UrlHash::of_url("https://127.0.0.1.xip.io:8081/cache-digests.cgi/hello.js");
//! let digest = Digest::new(Validators::Left, &[hash], 7);
//! assert_eq!(digest.value(), "AeLA");
//! let mut cached = CacheDigests::default();
//! assert_eq!(cached.merge_field(b"AeLA; complete"), None);
//! assert!(cached.contains(hash, None));
//! ```

use crate::base64url;
use crate::golomb::{BadSet, SetReader, SetWriter};
use ring::digest::{Context, SHA256};

/// The field's name.
pub const FIELD: &str = "cache-digest";

/// The first 64 bits of SHA-256 of what names a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UrlHash(u64);

impl UrlHash {
    /// Of a whole URL.
    pub fn of_url(url: &str) -> Self {
        Self::of_response(url, b"")
    }

    /// Of a whole URL and the response's `ETag`, with its quotes.
    pub fn of_response(url: &str, etag: &[u8]) -> Self {
        let mut context = Context::new(&SHA256);
        context.update(url.as_bytes());
        context.update(etag);
        let digest = context.finish();
        Self(digest.as_ref().iter().take(8).fold(0, |hash, &byte| hash << 8 | u64::from(byte)))
    }

    /// Its first bits.
    fn key(self, bits: u32) -> u64 {
        self.0.checked_shr(u64::BITS - bits).unwrap_or_default()
    }
}

/// What the keys of a digest are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validators {
    /// URLs alone.
    Left,
    /// URLs and validators: the flag `validators`.
    Joined,
}

/// One digest: some responses that a client has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    validators: Validators,
    /// Bits of the number of responses, 0 to 31.
    number_bits: u32,
    /// Bits of the rate of errors, 0 to 31.
    rate_bits: u32,
    /// In order, each once.
    keys: Vec<u64>,
}

impl Digest {
    /// A digest of these responses, where another is taken for one of them in at most one of 2^`rate_bits` (at most 31)
    /// cases.
    pub fn new(validators: Validators, hashes: &[UrlHash], rate_bits: u8) -> Self {
        let number_bits = hashes.len().max(1).next_power_of_two().trailing_zeros();
        let rate_bits = u32::from(rate_bits).min(MOST_BITS);
        let mut keys: Vec<u64> =
            hashes.iter().map(|hash| hash.key(number_bits + rate_bits)).collect();
        keys.sort_unstable();
        keys.dedup();
        Self { validators, number_bits, rate_bits, keys }
    }

    /// Reads a digest without its flags.
    pub fn parse(validators: Validators, value: &[u8]) -> Result<Self, BadSet> {
        if value.len() > LONGEST_VALUE {
            return Err(BadSet::TooLong);
        }
        let bytes = base64url::decode(value).ok_or(BadSet::NotBase64)?;
        let (mut set, (number_bits, rate_bits)) =
            SetReader::with_header(&bytes).ok_or(BadSet::CutOff)?;
        let mut keys = Vec::new();
        while let Some(key) = set.next_key()? {
            if key >> (number_bits + rate_bits) != 0 {
                return Err(BadSet::BeyondCapacity);
            }
            if keys.len() == MOST_KEYS {
                return Err(BadSet::TooLong);
            }
            keys.push(key);
        }
        Ok(Self { validators, number_bits, rate_bits, keys })
    }

    /// It in base64url, without flags.
    pub fn value(&self) -> String {
        let mut set = SetWriter::with_header(self.number_bits, self.rate_bits);
        self.keys.iter().for_each(|&key| set.put_key(key));
        base64url::encode(&set.into_bytes())
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    fn contains(&self, hash: UrlHash) -> bool {
        self.keys.binary_search(&hash.key(self.number_bits + self.rate_bits)).is_ok()
    }
}

/// What the `Cache-Digest` fields of a request say together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CacheDigests {
    digests: Vec<Digest>,
}

impl CacheDigests {
    /// Adds the digests of a field. One that cannot be read is ignored; what is wrong with the first of these is given back.
    /// Digests of stale responses are left out, as H2O leaves them out: what they name is pushed.
    pub fn merge_field(&mut self, field: &[u8]) -> Option<BadSet> {
        let mut first = None;
        for text in field.split(|&byte| byte == b',') {
            let mut parts = text.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
            let value = parts.next().unwrap_or_default();
            let (mut validators, mut is_fresh) = (Validators::Left, true);
            for flag in parts {
                match flag.to_ascii_lowercase().as_slice() {
                    b"reset" => self.digests.clear(),
                    b"validators" => validators = Validators::Joined,
                    // What is not named is missing. It is pushed without that, too.
                    b"complete" => {}
                    _ => is_fresh = false,
                }
            }
            if !is_fresh {
                continue;
            }
            let digest = match self.digests.len() {
                MOST_DIGESTS.. => Err(BadSet::TooLong),
                _ => Digest::parse(validators, value),
            };
            match digest {
                Ok(digest) => self.digests.push(digest),
                Err(bad) => drop(first.get_or_insert(bad)),
            }
        }
        first
    }

    /// Whether the client has a response, by the hash of its URL, or by that of its URL and its `ETag`, where it has one. A
    /// few others have the same key.
    pub fn contains(&self, url: UrlHash, response: Option<UrlHash>) -> bool {
        self.digests.iter().any(|digest| match digest.validators {
            Validators::Left => digest.contains(url),
            Validators::Joined => response.is_some_and(|hash| digest.contains(hash)),
        })
    }

    /// Whether there is no digest.
    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }
}

/// Of each of the two numbers that a digest begins with: they have 5 bits.
const MOST_BITS: u32 = 31;

/// A request has few. Each look-up goes through all of them.
const MOST_DIGESTS: usize = 16;

/// Of one digest. Where r is 0, keys may take a bit each.
const MOST_KEYS: usize = 4_096;
const LONGEST_VALUE: usize = 16_384;

#[cfg(test)]
mod tests;
