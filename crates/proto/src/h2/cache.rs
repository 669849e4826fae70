//! Header blocks that were sent or received before. As long as an HPACK table stays as it was, the same
//! head is the same block, and the other way round: neither coding nor checking it again would find
//! anything new.

use super::codec::EncodedBlock;
use crate::message::{Method, RequestHead, ResponseHead, Scheme, Status};
use crate::multiplex::session::Received;
use std::sync::Arc;
use wire::ValidatedFields;
use wire::hpack::TableVersion;

/// The blocks of one connection.
#[derive(Debug, Default)]
pub(super) struct HeaderBlockCache {
    sent: Ring<SentHead>,
    /// Blocks of requests that came once. Most requests of browsers never come again, and a copy of
    /// their heads would cost more than it saves.
    seen_once: Ring<()>,
    requests: Ring<Received<RequestHead>>,
    responses: Ring<Received<ResponseHead>>,
}

/// A head that was sent. Its fields are the same where they were validated as one list.
#[derive(Debug)]
enum SentHead {
    Request {
        method: Method,
        scheme: Scheme,
        authority: String,
        path: String,
        fields: Arc<ValidatedFields>,
    },
    Response {
        status: Status,
        fields: Arc<ValidatedFields>,
    },
}

/// Where a block stands that was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct SentAt(usize);

impl HeaderBlockCache {
    /// The peer's limits have changed: what was sent under the old ones may be too large.
    pub(super) fn forget_sent(&mut self) {
        self.sent = Ring::default();
    }

    /// The block of a request, where it was sent before.
    pub(super) fn find_request(
        &self,
        version: Option<TableVersion>,
        head: &RequestHead,
    ) -> Option<SentAt> {
        let validated = head.fields.validated()?;
        self.sent.position(version?, |sent| match sent {
            SentHead::Request { method, scheme, authority, path, fields } => {
                Arc::ptr_eq(fields, validated)
                    && *method == head.method
                    && *scheme == head.scheme
                    && *path == head.path
                    && *authority == head.authority
                    && head.protocol.is_none()
            }
            SentHead::Response { .. } => false,
        })
    }

    /// The block of a response, where it was sent before.
    pub(super) fn find_response(
        &self,
        version: Option<TableVersion>,
        head: &ResponseHead,
    ) -> Option<SentAt> {
        let validated = head.fields.validated()?;
        self.sent.position(version?, |sent| match sent {
            SentHead::Response { status, fields } => {
                *status == head.status && Arc::ptr_eq(fields, validated)
            }
            SentHead::Request { .. } => false,
        })
    }

    /// A block that was found.
    pub(super) fn sent(&self, SentAt(at): SentAt) -> EncodedBlock<'_> {
        let Entry { block, plain, .. } = &self.sent.entries[at];
        EncodedBlock { bytes: block, plain: *plain }
    }

    /// Keeps a request whose block left the table as it was, where its fields were validated.
    pub(super) fn keep_request(
        &mut self,
        version: Option<TableVersion>,
        head: &RequestHead,
        block: EncodedBlock<'_>,
    ) {
        if let (None, Some(fields)) = (&head.protocol, head.fields.validated()) {
            let sent = SentHead::Request {
                method: head.method.clone(),
                scheme: head.scheme,
                authority: head.authority.clone(),
                path: head.path.clone(),
                fields: Arc::clone(fields),
            };
            self.sent.keep(version, block, sent);
        }
    }

    /// Keeps a response whose block left the table as it was, where its fields were validated.
    pub(super) fn keep_response(
        &mut self,
        version: Option<TableVersion>,
        head: &ResponseHead,
        block: EncodedBlock<'_>,
    ) {
        if let Some(fields) = head.fields.validated() {
            let sent = SentHead::Response { status: head.status, fields: Arc::clone(fields) };
            self.sent.keep(version, block, sent);
        }
    }

    /// The request of a block that came before, and the size of its fields.
    pub(super) fn received_request(
        &self,
        version: Option<TableVersion>,
        block: &[u8],
    ) -> Option<(usize, &Received<RequestHead>)> {
        self.requests.find(version, block)
    }

    /// The response of a block that came before, and the size of its fields.
    pub(super) fn received_response(
        &self,
        version: Option<TableVersion>,
        block: &[u8],
    ) -> Option<(usize, &Received<ResponseHead>)> {
        self.responses.find(version, block)
    }

    /// A request came whose block left the table as it was; it is kept the second time.
    pub(super) fn note_request(
        &mut self,
        version: Option<TableVersion>,
        block: EncodedBlock<'_>,
        read: &Received<RequestHead>,
    ) {
        if self.seen_once.find(version, block.bytes).is_none() {
            self.seen_once.keep(version, block, ());
            return;
        }
        let (head, content_length) = (read.head.clone(), read.content_length);
        self.requests.keep(version, block, Received { head, content_length });
    }

    /// A response came whose block left the table as it was.
    pub(super) fn note_response(
        &mut self,
        version: Option<TableVersion>,
        block: EncodedBlock<'_>,
        read: &Received<ResponseHead>,
    ) {
        let (head, content_length) = (read.head.clone(), read.content_length);
        self.responses.keep(version, block, Received { head, content_length });
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
    fn keep(&mut self, version: Option<TableVersion>, encoded: EncodedBlock<'_>, value: T) {
        let EncodedBlock { bytes, plain } = encoded;
        let Some(version) = version.filter(|_| bytes.len() <= LONGEST) else { return };
        if self.entries.len() < KEPT {
            self.entries.push(Entry { version, block: bytes.to_vec(), plain, value });
            return;
        }
        let entry = &mut self.entries[self.oldest];
        entry.block.clear();
        entry.block.extend_from_slice(bytes);
        (entry.version, entry.plain, entry.value) = (version, plain, value);
        self.oldest = (self.oldest + 1) % KEPT;
    }

    /// What a block means, and the size of its fields.
    fn find(&self, version: Option<TableVersion>, block: &[u8]) -> Option<(usize, &T)> {
        let version = version?;
        let is_it = |entry: &&Entry<T>| entry.version == version && entry.block == block;
        self.entries.iter().find(is_it).map(|entry| (entry.plain, &entry.value))
    }

    /// Where the block of a value stands.
    fn position(&self, version: TableVersion, is_it: impl Fn(&T) -> bool) -> Option<SentAt> {
        let is_it = |entry: &Entry<T>| entry.version == version && is_it(&entry.value);
        self.entries.iter().position(is_it).map(SentAt)
    }
}
