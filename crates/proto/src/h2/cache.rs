//! Header blocks that were sent or received before. As long as an HPACK table stays as it was, the same
//! head is the same block, and the other way round: neither coding nor checking it again would find
//! anything new.

use super::codec::{Decoded, EncodedBlock};
use crate::multiplex::Received;
use crate::{Fields, RequestHead, ResponseHead};
use std::sync::Arc;
use wire::ValidatedFields;
use wire::hpack::TableVersion;

/// The blocks of a connection's requests, or of its responses.
#[derive(Debug)]
pub(super) struct HeaderBlockCache<H> {
    /// Heads without their fields, which are the same where they were validated as one list.
    sent: Ring<(H, Arc<ValidatedFields>)>,
    /// Blocks that came once. Most heads of browsers never come again, and a copy of them would cost
    /// more than it saves.
    seen_once: Ring<()>,
    received: Ring<Received<H>>,
}

/// A head whose blocks can be kept.
pub(super) trait CachedHead: Clone {
    fn fields(&self) -> &Fields;
    /// The same without fields.
    fn start(&self) -> Self;
    /// Whether all but the fields is the same.
    fn starts_like(&self, other: &Self) -> bool;
}

/// Where a block stands that was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct SentAt(usize);

impl<H> Default for HeaderBlockCache<H> {
    fn default() -> Self {
        Self { sent: Ring::default(), seen_once: Ring::default(), received: Ring::default() }
    }
}

/// A version of None stands for a table that has changed, or is about to: nothing is found or kept.
impl<H: CachedHead> HeaderBlockCache<H> {
    /// The peer's limits have changed: what was sent under the old ones may be too large.
    pub(super) fn forget_sent(&mut self) {
        self.sent = Ring::default();
    }

    /// The block of a head, where it was sent before.
    pub(super) fn find_sent(&self, version: Option<TableVersion>, head: &H) -> Option<SentAt> {
        let validated = head.fields().validated()?;
        let is_it =
            |(start, fields): &(H, _)| Arc::ptr_eq(fields, validated) && start.starts_like(head);
        self.sent.position(version?, is_it)
    }

    /// A block that was found.
    pub(super) fn sent(&self, SentAt(at): SentAt) -> EncodedBlock<'_> {
        let Entry { block, plain, .. } = &self.sent.entries[at];
        EncodedBlock { bytes: block, plain: *plain }
    }

    /// Keeps a head that was sent, where its fields were validated.
    pub(super) fn keep_sent(
        &mut self,
        version: Option<TableVersion>,
        head: &H,
        block: EncodedBlock<'_>,
    ) {
        if let (Some(version), Some(fields)) = (version, head.fields().validated()) {
            self.sent.keep(version, block, || (head.start(), Arc::clone(fields)));
        }
    }

    /// The head of a block that came before, and the size of its fields.
    pub(super) fn find_received(
        &self,
        version: Option<TableVersion>,
        block: &[u8],
    ) -> Option<(usize, &Received<H>)> {
        self.received.find(version?, block)
    }

    /// A block came; it is kept the second time.
    pub(super) fn note_received(
        &mut self,
        version: Option<TableVersion>,
        block: &[u8],
        decoded: &Decoded<Received<H>>,
    ) {
        let (Some(version), Ok(read)) = (version, &decoded.head) else { return };
        let encoded = EncodedBlock { bytes: block, plain: decoded.plain };
        match self.seen_once.find(version, block) {
            None => self.seen_once.keep(version, encoded, || ()),
            Some(_) => self.received.keep(version, encoded, || read.clone()),
        }
    }
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

/// The latest blocks of one kind.
#[derive(Debug)]
struct Ring<T> {
    entries: Vec<Entry<T>>,
    /// Which gives way next.
    oldest: usize,
}

#[derive(Debug)]
struct Entry<T> {
    version: TableVersion,
    block: Vec<u8>,
    /// Bytes of its fields before compression.
    plain: usize,
    value: T,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), oldest: 0 }
    }
}

impl<T> Ring<T> {
    fn keep(
        &mut self,
        version: TableVersion,
        encoded: EncodedBlock<'_>,
        value: impl FnOnce() -> T,
    ) {
        let EncodedBlock { bytes, plain } = encoded;
        if bytes.len() > LONGEST {
            return;
        }
        if self.entries.len() < KEPT {
            self.entries.push(Entry { version, block: bytes.to_vec(), plain, value: value() });
            return;
        }
        let entry = &mut self.entries[self.oldest];
        entry.block.clear();
        entry.block.extend_from_slice(bytes);
        (entry.version, entry.plain, entry.value) = (version, plain, value());
        self.oldest = (self.oldest + 1) % KEPT;
    }

    /// What a block means, and the size of its fields.
    fn find(&self, version: TableVersion, block: &[u8]) -> Option<(usize, &T)> {
        let is_it = |entry: &&Entry<T>| entry.version == version && entry.block == block;
        self.entries.iter().find(is_it).map(|entry| (entry.plain, &entry.value))
    }

    /// Where the block of a value stands.
    fn position(&self, version: TableVersion, is_it: impl Fn(&T) -> bool) -> Option<SentAt> {
        let is_it = |entry: &Entry<T>| entry.version == version && is_it(&entry.value);
        self.entries.iter().position(is_it).map(SentAt)
    }
}
