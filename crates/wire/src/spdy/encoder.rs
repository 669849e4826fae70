//! Header blocks out (SPDY §2.6.10). A name stands once in a block: values of fields with one name are
//! put together with NULs. All fields share one compressor with those before them, as the protocol
//! demands. Who can choose some of them and see the sizes can guess the others piece by piece where any
//! piece is compressed that was sent before (CRIME), which ended SPDY/3's compression of cookies in
//! browsers: see [`Effort::Fields`] for what that tells here.

use super::DICTIONARY;
use super::field_coder::{FieldCoder, Pair, Secrecy};
use super::name_filter::NameFilter;
use crate::fields::{Field, is_lower_name};
use flate2::{Compress, Compression, FlushCompress, Status};

/// How header blocks are compressed. A reader cannot tell one from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// By fields: one that was sent before is pointed at, text that was not is looked through in haste.
    /// Of cookies and credentials only whole values are found again, and fields that are marked as
    /// sensitive are not compressed at all.
    Fields,
    /// By zlib's level, 0 (stored as it is) to 9, which finds any piece of anything.
    Zlib(u8),
}

impl Effort {
    /// As it is: no compression at all.
    pub const NONE: Self = Self::Zlib(0);
    /// Least work of those that compress.
    pub const FAST: Self = Self::Fields;
    /// Fewest bytes.
    pub const BEST: Self = Self::Zlib(9);
}

/// What deflates the blocks of one direction of a connection.
#[derive(Debug)]
pub struct Encoder {
    coder: Coder,
    plain: Vec<u8>,
    pairs: Vec<Pair>,
    names: NameFilter,
}

#[derive(Debug)]
enum Coder {
    Fields(FieldCoder),
    Zlib(Compress),
}

impl Encoder {
    /// Before the first block.
    pub fn new(effort: Effort) -> Self {
        let coder = match effort {
            Effort::Fields => Coder::Fields(FieldCoder::new()),
            Effort::Zlib(level) => {
                let mut deflate = Compress::new(Compression::new(u32::from(level.min(9))), true);
                // It cannot fail before the first byte.
                let set = deflate.set_dictionary(DICTIONARY);
                debug_assert!(set.is_ok());
                Coder::Zlib(deflate)
            }
        };
        Self { coder, plain: Vec::new(), pairs: Vec::new(), names: NameFilter::default() }
    }

    /// Begins a block.
    pub fn begin(&mut self) {
        self.pairs.clear();
        self.names = NameFilter::default();
        self.plain.clear();
        self.plain.extend_from_slice(&[0; 4]);
    }

    /// Adds a field; its name in lower case.
    pub fn field(&mut self, name: &[u8], value: &[u8]) {
        self.add(Field { name, value, sensitive: false });
    }

    /// Adds a field with its mark.
    pub fn add(&mut self, Field { name, value, sensitive }: Field<'_>) {
        let same =
            |pair: &Pair| self.plain[pair.name..pair.value_length].eq_ignore_ascii_case(name);
        if self.names.add(name)
            && let Some(at) = self.pairs.iter().position(same)
        {
            self.add_value(at, value);
            if sensitive {
                self.pairs[at].secrecy = Secrecy::Full;
            }
            return;
        }
        self.plain.reserve(2 * size_of::<u32>() + name.len() + value.len());
        put_length(&mut self.plain, name.len());
        let start = self.plain.len();
        self.plain.extend_from_slice(name);
        if !is_lower_name(name) {
            self.plain[start..].make_ascii_lowercase();
        }
        let secrecy = match &self.plain[start..] {
            _ if sensitive => Secrecy::Full,
            b"authorization" | b"cookie" | b"proxy-authorization" | b"set-cookie" => Secrecy::Whole,
            _ => Secrecy::Open,
        };
        let value_length = self.plain.len();
        put_length(&mut self.plain, value.len());
        self.plain.extend_from_slice(value);
        self.pairs.push(Pair { name: start, value_length, end: self.plain.len(), secrecy });
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
                ..*pair
            };
        }
    }

    /// Bytes of the list so far, before compression.
    pub fn plain_size(&self) -> usize {
        self.plain.len()
    }

    /// Ends the block and appends it, deflated, to `out`.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let count = self.pairs.len() as u32;
        self.plain[..4].copy_from_slice(&count.to_be_bytes());
        match &mut self.coder {
            Coder::Fields(coder) => coder.block(&self.plain, &self.pairs, out),
            Coder::Zlib(deflate) => by_zlib(deflate, &self.plain, out),
        }
    }
}

fn by_zlib(deflate: &mut Compress, mut plain: &[u8], out: &mut Vec<u8>) {
    loop {
        // Enough for blocks that do not shrink and for the flush, so that it is one round.
        out.reserve(plain.len() + plain.len() / 8 + 64);
        let taken = deflate.total_in();
        let outcome = deflate.compress_vec(plain, out, FlushCompress::Sync);
        plain = &plain[(deflate.total_in() - taken) as usize..];
        let room_left = out.len() < out.capacity();
        if plain.is_empty() && room_left || !matches!(outcome, Ok(Status::Ok)) {
            return;
        }
    }
}

fn put_length(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(&(length as u32).to_be_bytes());
}
