//! Header blocks that are known already: a request that was sent before, and an answer that came before. While the
//! compression tables stay as they were, the same fields are the same octets and the other way round, and neither coding
//! nor checking would find anything new.

use crate::message::Status;
use wire::Fields;
use wire::hpack::Era;

/// Blocks kept of each kind: a connection repeats a few, and looking at more would cost what it saves.
const KEPT: usize = 8;

/// A longer block is not kept.
const LONGEST: usize = 1024;

/// Blocks of one kind, each under a key.
#[derive(Debug)]
pub(super) struct Known<T> {
    kept: Vec<Entry<T>>,
    /// Which gives way next.
    oldest: usize,
}

#[derive(Debug)]
struct Entry<T> {
    era: Era,
    block: Vec<u8>,
    /// Octets of its fields before compression.
    plain: usize,
    value: T,
}

/// A response that such a block holds.
#[derive(Debug)]
pub(super) struct KnownResponse {
    pub(super) status: Status,
    pub(super) fields: Fields,
    pub(super) content_length: Option<u64>,
}

/// A request whose block it is: its name, and the limit on lists that it was checked against.
pub(super) type KnownRequest = (u64, u32);

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self { kept: Vec::new(), oldest: 0 }
    }
}

impl<T> Known<T> {
    /// Keeps a block that was coded in `era`, before and after which the table was the same.
    pub(super) fn keep(&mut self, era: Era, block: &[u8], (plain, value): (usize, T)) {
        if block.len() > LONGEST {
            return;
        }
        if self.kept.len() < KEPT {
            self.kept.push(Entry { era, block: block.to_vec(), plain, value });
            return;
        }
        let Some(entry) = self.kept.get_mut(self.oldest) else { return };
        entry.block.clear();
        entry.block.extend_from_slice(block);
        (entry.era, entry.plain, entry.value) = (era, plain, value);
        self.oldest = (self.oldest + 1) % KEPT;
    }

    /// What the block means in `era`, and the size of its fields.
    pub(super) fn read(&self, era: Option<Era>, block: &[u8]) -> Option<(usize, &T)> {
        let is_it = |entry: &&Entry<T>| Some(entry.era) == era && entry.block == block;
        self.kept.iter().find(is_it).map(|entry| (entry.plain, &entry.value))
    }
}

impl Known<KnownRequest> {
    /// The block of a request in `era`, and the size of its fields.
    pub(super) fn find(&self, era: Option<Era>, request: KnownRequest) -> Option<(usize, &[u8])> {
        let is_it = |entry: &&Entry<KnownRequest>| Some(entry.era) == era && entry.value == request;
        self.kept.iter().find(is_it).map(|entry| (entry.plain, &entry.block[..]))
    }
}
