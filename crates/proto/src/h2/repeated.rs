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

    /// Keeps a request whose block has changed nothing in the table, in case that it comes again.
    pub(super) fn keep_known_request(
        &mut self,
        before: Option<Era>,
        block: &[u8],
        read: &ReadRequest,
    ) {
        let Some(era) = before.filter(|_| self.decoder.era() == before) else { return };
        let known = ReadRequest { head: read.head.clone(), content_length: read.content_length };
        self.read_requests.keep(era, block, (self.last_plain, known));
    }
}
