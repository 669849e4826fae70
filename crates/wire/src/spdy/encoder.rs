//! Header blocks out (SPDY §2.6.10). A name stands once in a block: values of fields with one name are
//! put together with NULs. All fields share one compressor with those before them, as the protocol
//! demands; who can choose a part of them can guess the rest by size (CRIME), which ended SPDY/3's
//! compression of cookies in browsers.

use super::DICTIONARY;
use flate2::{Compress, Compression, FlushCompress, Status};

/// zlib's level, 0 (stored as it is) to 9.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort(pub u8);

impl Effort {
    /// As it is: no compression at all.
    pub const NONE: Self = Self(0);
    /// Least work.
    pub const FAST: Self = Self(1);
    /// Fewest octets.
    pub const BEST: Self = Self(9);
}

/// Where a pair stands in the block.
#[derive(Debug, Clone, Copy)]
struct Pair {
    name: usize,
    /// Where the value's length stands, right behind the name.
    value_length: usize,
    /// The end of the value.
    end: usize,
}

/// What deflates the blocks of one direction of a connection.
#[derive(Debug)]
pub struct Encoder {
    deflate: Compress,
    plain: Vec<u8>,
    pairs: Vec<Pair>,
}

impl Encoder {
    /// Before the first block.
    pub fn new(effort: Effort) -> Self {
        let mut deflate = Compress::new(Compression::new(u32::from(effort.0.min(9))), true);
        // It cannot fail before the first octet.
        let set = deflate.set_dictionary(DICTIONARY);
        debug_assert!(set.is_ok());
        Self { deflate, plain: Vec::new(), pairs: Vec::new() }
    }

    /// Begins a block.
    pub fn begin(&mut self) {
        self.pairs.clear();
        self.plain.clear();
        self.plain.extend_from_slice(&[0; 4]);
    }

    /// Adds a field; its name in lower case.
    pub fn field(&mut self, name: &[u8], value: &[u8]) {
        let same =
            |pair: &Pair| self.plain[pair.name..pair.value_length].eq_ignore_ascii_case(name);
        if let Some(at) = self.pairs.iter().position(same) {
            self.add_value(at, value);
            return;
        }
        put_length(&mut self.plain, name.len());
        let start = self.plain.len();
        self.plain.extend_from_slice(name);
        self.plain[start..].make_ascii_lowercase();
        let value_length = self.plain.len();
        put_length(&mut self.plain, value.len());
        self.plain.extend_from_slice(value);
        self.pairs.push(Pair { name: start, value_length, end: self.plain.len() });
    }

    /// Adds another value to the pair at `at`.
    fn add_value(&mut self, at: usize, value: &[u8]) {
        let Pair { value_length, end, .. } = self.pairs[at];
        let begin = value_length + 4;
        // SPDY §2.6.10: values between NULs are not empty.
        if value.is_empty() {
            return;
        }
        let glue: &[u8] = if begin == end { b"" } else { b"\0" };
        let more = glue.len() + value.len();
        self.plain.splice(end..end, glue.iter().chain(value).copied());
        let length = (end - begin + more) as u32;
        self.plain[value_length..begin].copy_from_slice(&length.to_be_bytes());
        self.pairs[at].end += more;
        for pair in &mut self.pairs[at + 1..] {
            *pair = Pair {
                name: pair.name + more,
                value_length: pair.value_length + more,
                end: pair.end + more,
            };
        }
    }

    /// Octets of the list so far, before compression.
    pub fn plain_size(&self) -> usize {
        self.plain.len()
    }

    /// Ends the block and appends it, deflated, to `out`.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let count = self.pairs.len() as u32;
        self.plain[..4].copy_from_slice(&count.to_be_bytes());
        let mut rest = &self.plain[..];
        loop {
            // Enough for blocks that do not shrink and for the flush, so that it is one round.
            out.reserve(rest.len() + rest.len() / 8 + 64);
            let taken = self.deflate.total_in();
            let outcome = self.deflate.compress_vec(rest, out, FlushCompress::Sync);
            rest = &rest[(self.deflate.total_in() - taken) as usize..];
            let room_left = out.len() < out.capacity();
            if rest.is_empty() && room_left || !matches!(outcome, Ok(Status::Ok)) {
                return;
            }
        }
    }
}

fn put_length(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(&(length as u32).to_be_bytes());
}
