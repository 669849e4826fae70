//! Requests that come again word for word, as those of programs do: they are not decoded and checked once more.

use super::connection::Core;
use super::head::ReadRequest;
use wire::hpack::Era;

impl Core {
    /// The request whose block came before, word for word.
    pub(super) fn read_known_request(&mut self, id: u32, block: &[u8]) -> Option<ReadRequest> {
        let (plain, known) = self.read_requests.read(self.decoder.era(), block)?;
        let mut head = self.spare_heads.pop().unwrap_or_default();
        head.copy_from(&known.head);
        let read = ReadRequest { head, content_length: known.content_length };
        self.headers.received.count(plain, block.len());
        self.trace_block(id, plain, block.len());
        Some(read)
    }

    /// Keeps a request that has now come twice, where its block has changed nothing in the table. Of one that came once
    /// only the block is noted: most requests of browsers never come again, and a copy would cost more than it saves.
    pub(super) fn keep_known_request(
        &mut self,
        before: Option<Era>,
        block: &[u8],
        read: &ReadRequest,
    ) {
        let Some(era) = before.filter(|_| self.decoder.era() == before) else { return };
        if self.noted_requests.read(before, block).is_none() {
            return self.noted_requests.keep(era, block, (self.last_plain, ()));
        }
        let known = ReadRequest { head: read.head.clone(), content_length: read.content_length };
        self.read_requests.keep(era, block, (self.last_plain, known));
    }
}
