//! Header blocks that are known already: a request or an answer that was sent before, and an answer that came before. While the
//! compression tables stay as they were, the same fields are the same bytes and the other way round, and neither coding
//! nor checking would find anything new.

use crate::message::Status;
use std::sync::Arc;
use wire::hpack::Era;
use wire::{Fields, Seal};

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
    /// Bytes of its fields before compression.
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

/// A response of ours whose block it is: the status, and the sealed list beside it.
pub(super) type SentResponse = (Status, Arc<Seal>);

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self { kept: Vec::new(), oldest: 0 }
    }
}

impl<T> Known<T> {
    /// Keeps a block, where the table after it is the same as before it: else it would not come out alike again.
    pub(super) fn keep(
        &mut self,
        (before, after): (Option<Era>, Option<Era>),
        block: &[u8],
        (plain, value): (usize, T),
    ) {
        let Some(era) = before.filter(|_| before == after && block.len() <= LONGEST) else {
            return;
        };
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

    /// The block in `era` of the value that `is_it`, and the size of its fields.
    pub(super) fn find(
        &self,
        era: Option<Era>,
        is_it: impl Fn(&T) -> bool,
    ) -> Option<(usize, &[u8])> {
        let is_it = |entry: &&Entry<T>| Some(entry.era) == era && is_it(&entry.value);
        self.kept.iter().find(is_it).map(|entry| (entry.plain, &entry.block[..]))
    }
}
