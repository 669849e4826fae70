//! Header blocks in (SPDY §2.6.10): inflated with the connection's state, then read as pairs. What a
//! block may inflate to is bounded while it inflates.

use super::name_filter::NameFilter;
use super::{DICTIONARY, DICTIONARY_CHECK};
use crate::fields::Field;
use flate2::{Decompress, FlushDecompress, Status};

/// A block whose list is over the limit is still inflated, since the state is the connection's; up to
/// so many times the limit. Past that it is a bomb.
const PATIENCE: usize = 16;

/// Blocks with more names than this have them sorted to find a name that stands twice.
const FEW_NAMES: usize = 32;

/// Capacity that is kept for the next block.
const KEEP: usize = 16 * 1024;

/// Why a block cannot be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockError {
    /// The compression state is lost, and the connection with it.
    Compression(&'static str),
    /// The block says nothing that is allowed; the next one can be read.
    Malformed(&'static str),
    /// The list is larger than the limit; the next one can be read.
    TooLarge,
}

/// What inflates the blocks of one direction of a connection.
#[derive(Debug)]
pub struct Decoder {
    /// What is behind the stream's header. The stream never ends, so its check value is not
    /// computed.
    inflate: Decompress,
    begun: bool,
    plain: Vec<u8>,
    /// Begin and end of each name in `plain`.
    names: Vec<(u32, u32)>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// Before the first block.
    pub fn new() -> Self {
        let inflate = Decompress::new(false);
        Self { inflate, begun: false, plain: Vec::new(), names: Vec::new() }
    }

    /// Reads a block whose list has `limit` bytes at most, and hands its fields to `emit`, one a
    /// value; gives the bytes of the list. After an error what was emitted is not to be used.
    pub fn decode(
        &mut self,
        block: &[u8],
        limit: usize,
        emit: impl FnMut(Field<'_>),
    ) -> Result<usize, BlockError> {
        let list = self.list(block, limit)?;
        let size = list.size();
        list.read(emit).map(|()| size)
    }

    /// The list of a block, of `limit` bytes at most, still to be read.
    pub fn list(&mut self, block: &[u8], limit: usize) -> Result<List<'_>, BlockError> {
        self.inflate(block, limit)?;
        Ok(List { plain: &mut self.plain, names: &mut self.names })
    }

    /// Inflates a block into `plain`.
    fn inflate(&mut self, mut block: &[u8], limit: usize) -> Result<(), BlockError> {
        self.plain.clear();
        if !self.begun && !block.is_empty() {
            block = self.begin(block)?;
        }
        let mut dropped = 0;
        loop {
            if self.plain.len() > limit {
                dropped += self.plain.len();
                self.plain.clear();
                if dropped > limit.saturating_mul(PATIENCE) {
                    let rule = "SPDY §2.6.10: the header block inflates without end";
                    return Err(BlockError::Compression(rule));
                }
            }
            self.plain.reserve((block.len() * 4).clamp(512, 4096));
            let taken = self.inflate.total_in();
            let outcome =
                self.inflate.decompress_vec(block, &mut self.plain, FlushDecompress::Sync);
            block = &block[(self.inflate.total_in() - taken) as usize..];
            match outcome {
                Ok(Status::Ok | Status::BufError) => {
                    let starved = self.plain.len() < self.plain.capacity();
                    if starved && block.is_empty() {
                        break;
                    }
                    if starved && self.inflate.total_in() == taken {
                        return Err(BROKEN);
                    }
                }
                // A stream that has ended takes no further blocks.
                Ok(Status::StreamEnd) => return Err(BROKEN),
                Err(_) => return Err(BROKEN),
            }
        }
        if dropped > 0 || self.plain.len() > limit { Err(BlockError::TooLarge) } else { Ok(()) }
    }

    /// Takes the stream's header off the first block.
    fn begin<'b>(&mut self, block: &'b [u8]) -> Result<&'b [u8], BlockError> {
        let ([method, flags, check @ ..], rest) = block.split_first_chunk::<6>().ok_or(BROKEN)?;
        // RFC 1950 §2.2: DEFLATE, a window of 32 KiB at most, a multiple of 31, FDICT.
        let is_deflate = method & 0x0f == 8 && method >> 4 <= 7;
        let is_whole = u16::from_be_bytes([*method, *flags]) % 31 == 0;
        let is_ours = flags & 0x20 != 0 && u32::from_be_bytes(*check) == DICTIONARY_CHECK;
        if !(is_deflate && is_whole && is_ours) {
            return Err(BROKEN);
        }
        self.inflate.set_dictionary(DICTIONARY).map_err(|_| BROKEN)?;
        self.begun = true;
        Ok(rest)
    }
}

/// An inflated block.
#[derive(Debug)]
pub struct List<'d> {
    plain: &'d mut Vec<u8>,
    names: &'d mut Vec<(u32, u32)>,
}

impl List<'_> {
    /// Its bytes.
    pub fn size(&self) -> usize {
        self.plain.len()
    }

    /// How many pairs it says that it has, where the limit allows as many.
    pub fn pairs(&self) -> Option<usize> {
        // A pair has two lengths and a byte.
        let count = word(self.plain, &mut 0).ok()? as usize;
        (count <= self.plain.len() / 9).then_some(count)
    }

    /// Hands the fields to `emit`, one a value. After an error what was emitted is not to be used.
    pub fn read(self, emit: impl FnMut(Field<'_>)) -> Result<(), BlockError> {
        let count = self.pairs().ok_or(SHORT);
        let outcome = count.and_then(|count| read_pairs(self.plain, count, self.names, emit));
        self.plain.clear();
        self.plain.shrink_to(KEEP);
        outcome
    }
}

/// Reads the pairs of an inflated block.
fn read_pairs(
    plain: &[u8],
    count: usize,
    names: &mut Vec<(u32, u32)>,
    mut emit: impl FnMut(Field<'_>),
) -> Result<(), BlockError> {
    // Behind the count.
    let mut at = 4;
    names.clear();
    for _ in 0..count {
        let name = text(plain, &mut at)?;
        if name.is_empty() {
            return Err(BlockError::Malformed("SPDY §2.6.10: a name is not empty"));
        }
        names.push(((at - name.len()) as u32, at as u32));
        let value = text(plain, &mut at)?;
        if value.is_empty() || !value.contains(&0) {
            emit(Field { name, value, sensitive: false });
            continue;
        }
        for value in value.split(|&byte| byte == 0) {
            if value.is_empty() {
                let rule = "SPDY §2.6.10: a value between NULs is not empty";
                return Err(BlockError::Malformed(rule));
            }
            emit(Field { name, value, sensitive: false });
        }
    }
    if at != plain.len() {
        return Err(BlockError::Malformed("SPDY §2.6.10: bytes behind the last pair"));
    }
    check_unique(plain, names)
}

const BROKEN: BlockError =
    BlockError::Compression("SPDY §2.6.10.1: the header block cannot be inflated");
const SHORT: BlockError = BlockError::Malformed("SPDY §2.6.10: the header block is too short");

fn word(plain: &[u8], at: &mut usize) -> Result<u32, BlockError> {
    let bytes = plain.get(*at..).and_then(|rest| rest.first_chunk()).ok_or(SHORT)?;
    *at += 4;
    Ok(u32::from_be_bytes(*bytes))
}

fn text<'p>(plain: &'p [u8], at: &mut usize) -> Result<&'p [u8], BlockError> {
    let length = word(plain, at)? as usize;
    let text = plain[*at..].get(..length).ok_or(SHORT)?;
    *at += length;
    Ok(text)
}

/// SPDY §2.6.10: a name stands once, with all its values.
fn check_unique(plain: &[u8], names: &mut [(u32, u32)]) -> Result<(), BlockError> {
    let name = |&(start, end): &(u32, u32)| &plain[start as usize..end as usize];
    let twice = if names.len() <= FEW_NAMES {
        let mut seen = NameFilter::default();
        let earlier = |at: usize| names[..at].iter().map(name);
        (0..names.len()).any(|at| {
            let this = name(&names[at]);
            seen.add(this) && earlier(at).any(|other| other == this)
        })
    } else {
        names.sort_unstable_by(|a, b| name(a).cmp(name(b)));
        names.windows(2).any(|pair| name(&pair[0]) == name(&pair[1]))
    };
    match twice {
        true => Err(BlockError::Malformed("SPDY §2.6.10: a name that stands twice")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Effort, Encoder};
    use super::*;

    fn block(encoder: &mut Encoder, bytes: usize) -> Vec<u8> {
        let mut block = Vec::new();
        encoder.begin();
        encoder.field(b"x", &vec![b'x'; bytes]);
        encoder.finish(&mut block);
        block
    }

    #[test]
    fn what_a_block_inflates_to_never_takes_much_more_room_than_the_limit() {
        const LIMIT: usize = 16 * 1024;
        let (mut encoder, mut decoder) = (Encoder::new(Effort::BEST), Decoder::new());
        for bytes in [LIMIT / 2, 2 * LIMIT, 10 * LIMIT, LIMIT / 2, 4000 * LIMIT] {
            let outcome = decoder.decode(&block(&mut encoder, bytes), LIMIT, |_| {});
            assert_eq!(outcome.is_ok(), bytes < LIMIT);
            assert!(decoder.plain.capacity() <= 3 * LIMIT, "{}", decoder.plain.capacity());
        }
        assert_eq!(decoder.plain.len(), 0);
    }
}
