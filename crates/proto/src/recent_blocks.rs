//! Header blocks that were sent or received lately, so that none is coded twice. What makes a block stand for the same
//! head again, an HPACK table's version or what a QPACK section refers to, its user brings (`V`).

use crate::{Fields, RequestHead, ResponseHead};
use std::sync::Arc;
use wire::ValidatedFields;

/// Heads that were sent, and their blocks. They are kept without their fields, which are the same where they were validated
/// as one list.
#[derive(Debug)]
pub(crate) struct SentHeads<V, H>(RecentBlocks<V, (H, Arc<ValidatedFields>)>);

/// What was read from blocks that came before.
#[derive(Debug)]
pub(crate) struct ReceivedHeads<V, T> {
    /// Blocks that came once. Most heads of browsers never come again, and a copy of them would cost more than it saves.
    seen_once: RecentBlocks<(Sum, V), ()>,
    heads: RecentBlocks<V, T>,
}

/// A check sum of a block: those that never come again are often of the same length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sum(u64);

/// The latest blocks of one kind.
#[derive(Debug)]
struct RecentBlocks<V, T> {
    entries: Vec<Entry<V, T>>,
    /// Which gives way next.
    oldest: usize,
}

/// A header block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EncodedBlock<'c> {
    pub(crate) bytes: &'c [u8],
    /// Bytes of its fields before compression.
    pub(crate) plain: usize,
}

/// Where a block of a head stands that was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SentAt(usize);

/// Where a block stands that came before, until another block comes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReceivedAt(usize);

#[derive(Debug)]
struct Entry<V, T> {
    version: V,
    block: Vec<u8>,
    /// Bytes of its fields before compression.
    plain: usize,
    value: T,
}

impl<V, H> Default for SentHeads<V, H> {
    fn default() -> Self {
        Self(RecentBlocks::default())
    }
}

impl<V: Copy, H: CachedHead> SentHeads<V, H> {
    /// Where the block of this head stands, of those whose version `is_valid`.
    pub(crate) fn find(&self, head: &H, is_valid: impl Fn(&V) -> bool) -> Option<SentAt> {
        let validated = head.fields().validated()?;
        let is_it = |entry: &Entry<V, (H, Arc<ValidatedFields>)>| {
            let (start, fields) = &entry.value;
            is_valid(&entry.version) && Arc::ptr_eq(fields, validated) && start.starts_like(head)
        };
        self.0.entries.iter().position(is_it).map(SentAt)
    }

    /// A block that was found.
    pub(crate) fn get(&self, SentAt(at): SentAt) -> (V, EncodedBlock<'_>) {
        let Entry { version, block, plain, .. } = &self.0.entries[at];
        (*version, EncodedBlock { bytes: block, plain: *plain })
    }

    /// Keeps a head that was sent, where its fields were validated.
    pub(crate) fn keep(&mut self, version: V, head: &H, block: EncodedBlock<'_>) {
        if let Some(fields) = head.fields().validated() {
            self.0.keep(version, block, || (head.start(), Arc::clone(fields)));
        }
    }
}

impl<V, T> Default for ReceivedHeads<V, T> {
    fn default() -> Self {
        Self { seen_once: RecentBlocks::default(), heads: RecentBlocks::default() }
    }
}

impl<V: Copy + PartialEq, T> ReceivedHeads<V, T> {
    /// What was read from this block, and the size of its fields.
    pub(crate) fn find(&self, version: V, block: &[u8]) -> Option<(usize, &T)> {
        self.heads.find(version, block)
    }

    /// Where this block stands, if it came before.
    pub(crate) fn place(&self, version: V, block: &[u8]) -> Option<ReceivedAt> {
        self.heads.place(version, block).map(ReceivedAt)
    }

    /// The size of a block's fields, and what was read from it.
    pub(crate) fn get(&self, ReceivedAt(at): ReceivedAt) -> (usize, &T) {
        let entry = &self.heads.entries[at];
        (entry.plain, &entry.value)
    }

    /// The same, to change it.
    pub(crate) fn get_mut(&mut self, ReceivedAt(at): ReceivedAt) -> &mut T {
        &mut self.heads.entries[at].value
    }

    /// A block came; what was read is kept the second time.
    pub(crate) fn note(&mut self, version: V, block: EncodedBlock<'_>, read: impl FnOnce() -> T) {
        let sum_and_version = (Sum::of(block.bytes), version);
        match self.seen_once.find(sum_and_version, block.bytes) {
            None => self.seen_once.keep(sum_and_version, block, || ()),
            Some(_) => self.heads.keep(version, block, read),
        }
    }
}

impl Sum {
    /// Eight bytes at a time.
    fn of(block: &[u8]) -> Self {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let add = |sum: u64, word: u64| (sum ^ word).wrapping_mul(FACTOR).rotate_left(32);
        let (words, rest) = block.as_chunks::<8>();
        let sum = words.iter().fold(0, |sum, word| add(sum, u64::from_le_bytes(*word)));
        Self(rest.iter().fold(sum, |sum, &byte| add(sum, u64::from(byte))))
    }
}

impl<V, T> Default for RecentBlocks<V, T> {
    fn default() -> Self {
        Self { entries: Vec::new(), oldest: 0 }
    }
}

impl<V, T> RecentBlocks<V, T> {
    /// Keeps a block, unless it is long or makes a large head: references to a table make one of few bytes.
    fn keep(&mut self, version: V, encoded: EncodedBlock<'_>, value: impl FnOnce() -> T) {
        let EncodedBlock { bytes, plain } = encoded;
        if bytes.len() > LONGEST || plain > LARGEST {
            return;
        }
        if self.entries.len() < KEPT {
            if self.entries.len() == self.entries.capacity() {
                // From one entry on: many connections repeat a single head.
                self.entries.reserve_exact(self.entries.len().max(1));
            }
            self.entries.push(Entry { version, block: bytes.to_vec(), plain, value: value() });
            return;
        }
        let entry = &mut self.entries[self.oldest];
        entry.block.clear();
        entry.block.extend_from_slice(bytes);
        (entry.version, entry.plain, entry.value) = (version, plain, value());
        self.oldest = (self.oldest + 1) % KEPT;
    }
}

impl<V: PartialEq, T> RecentBlocks<V, T> {
    /// What a block means, and the size of its fields.
    fn find(&self, version: V, block: &[u8]) -> Option<(usize, &T)> {
        let entry = &self.entries[self.place(version, block)?];
        Some((entry.plain, &entry.value))
    }

    fn place(&self, version: V, block: &[u8]) -> Option<usize> {
        let is_it = |entry: &Entry<V, T>| entry.version == version && entry.block == block;
        self.entries.iter().position(is_it)
    }
}

/// A head whose blocks can be kept.
pub(crate) trait CachedHead: Clone {
    fn fields(&self) -> &Fields;
    /// The same without fields.
    fn start(&self) -> Self;
    /// Whether all but the fields is the same.
    fn starts_like(&self, other: &Self) -> bool;
}

impl CachedHead for RequestHead {
    fn fields(&self) -> &Fields {
        &self.fields
    }

    fn start(&self) -> Self {
        Self {
            method: self.method.clone(),
            scheme: self.scheme,
            authority: self.authority.clone(),
            path: self.path.clone(),
            protocol: self.protocol.clone(),
            fields: Fields::new(),
        }
    }

    fn starts_like(&self, other: &Self) -> bool {
        self.method == other.method
            && self.scheme == other.scheme
            && self.path == other.path
            && self.authority == other.authority
            && self.protocol == other.protocol
    }
}

impl CachedHead for ResponseHead {
    fn fields(&self) -> &Fields {
        &self.fields
    }

    fn start(&self) -> Self {
        Self::new(self.status)
    }

    fn starts_like(&self, other: &Self) -> bool {
        self.status == other.status
    }
}

/// Blocks kept of each kind: a connection repeats a few, and looking at more would cost what it saves.
const KEPT: usize = 8;

/// A longer block is not kept.
const LONGEST: usize = 1024;

/// A block of more bytes than this before compression is not kept.
const LARGEST: usize = 4 * 1024;
