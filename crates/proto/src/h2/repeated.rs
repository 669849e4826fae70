//! Heads that come again word for word: they are not decoded and checked once more. Those of one connection know
//! nothing of another's.

use super::connection::Core;
use super::head::{ReadRequest, ReadResponse};
use super::known::KnownResponse;
use crate::message::ResponseHead;
use wire::hpack::Era;

impl Core {
    /// The request whose block came before.
    pub(super) fn read_known_request(&mut self, id: u32, block: &[u8]) -> Option<ReadRequest> {
        let (plain, known) = self.read_requests.read(self.decoder.era(), block)?;
        let mut head = self.spare_heads.pop().unwrap_or_default();
        head.copy_from(&known.head);
        let read = ReadRequest { head, content_length: known.content_length };
        self.count_known(id, plain, block);
        Some(read)
    }

    /// The response whose block came before.
    pub(super) fn read_known_response(&mut self, id: u32, block: &[u8]) -> Option<ReadResponse> {
        let (plain, known) = self.known_responses.read(self.decoder.era(), block)?;
        let mut fields = std::mem::take(&mut self.room);
        fields.copy_from(&known.fields);
        let read = ReadResponse {
            head: ResponseHead { status: known.status, fields },
            content_length: known.content_length,
        };
        self.count_known(id, plain, block);
        Some(read)
    }

    fn count_known(&mut self, id: u32, plain: usize, block: &[u8]) {
        self.headers.received.count(plain, block.len());
        self.trace_block(id, plain, block.len());
    }

    /// Keeps a request that has now come twice, where its block has changed nothing in the table. Of one that came once
    /// only the block is noted: most requests of browsers never come again, and a copy would cost more than it saves.
    pub(super) fn keep_known_request(
        &mut self,
        before: Option<Era>,
        block: &[u8],
        read: &ReadRequest,
    ) {
        let (eras, plain) = ((before, self.decoder.era()), self.last_plain);
        if self.noted_requests.read(before, block).is_none() {
            return self.noted_requests.keep(eras, block, (plain, ()));
        }
        let known = ReadRequest { head: read.head.clone(), content_length: read.content_length };
        self.read_requests.keep(eras, block, (plain, known));
    }

    /// Keeps a response whose block has changed nothing in the table.
    pub(super) fn keep_known_response(
        &mut self,
        before: Option<Era>,
        block: &[u8],
        read: &ReadResponse,
    ) {
        let head = &read.head;
        let known = KnownResponse {
            status: head.status,
            fields: head.fields.clone(),
            content_length: read.content_length,
        };
        self.known_responses.keep((before, self.decoder.era()), block, (self.last_plain, known));
    }
}
