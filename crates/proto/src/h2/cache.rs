//! Header blocks that were sent or received before. As long as an HPACK table stays as it was, the same
//! head is the same block, and the other way round: neither coding nor checking it again would find
//! anything new.

use super::codec::Decoded;
use crate::multiplex::Received;
use crate::recent_blocks::{CachedHead, EncodedBlock, ReceivedHeads, SentAt, SentHeads};
use wire::hpack::TableVersion;

/// The blocks of a connection's requests, or of its responses.
#[derive(Debug)]
pub(super) struct HeaderBlockCache<H> {
    sent: SentHeads<TableVersion, H>,
    received: ReceivedHeads<TableVersion, Received<H>>,
}

impl<H> Default for HeaderBlockCache<H> {
    fn default() -> Self {
        Self { sent: SentHeads::default(), received: ReceivedHeads::default() }
    }
}

/// A version of None stands for a table that has changed, or is about to: nothing is found or kept.
impl<H: CachedHead> HeaderBlockCache<H> {
    /// The peer's limits have changed: what was sent under the old ones may be too large.
    pub(super) fn forget_sent(&mut self) {
        self.sent = SentHeads::default();
    }

    /// The block of a head, where it was sent before.
    pub(super) fn find_sent(&self, version: Option<TableVersion>, head: &H) -> Option<SentAt> {
        let version = version?;
        self.sent.find(head, |of_block| *of_block == version)
    }

    /// A block that was found.
    pub(super) fn sent(&self, at: SentAt) -> EncodedBlock<'_> {
        self.sent.get(at).1
    }

    /// Keeps a head that was sent, where its fields were validated.
    pub(super) fn keep_sent(
        &mut self,
        version: Option<TableVersion>,
        head: &H,
        block: EncodedBlock<'_>,
    ) {
        if let Some(version) = version {
            self.sent.keep(version, head, block);
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
        self.received.note(version, encoded, || read.clone());
    }
}
