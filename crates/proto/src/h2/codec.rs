//! Heads to header blocks and back (RFC 7541), with both compression tables. Heads that come again are
//! not coded twice: see [`HeaderBlockCache`].

use super::cache::HeaderBlockCache;
use super::head::{ExtendedConnect, HeadReader, Kind};
use super::head_out;
use crate::multiplex::{Received, Rule, rule};
use crate::recent_blocks::{EncodedBlock, SentAt};
use crate::{Field, Fields, RequestHead, ResponseHead};
use wire::h2::ErrorCode;
use wire::hpack::{self, Decoder, Encoder, Fault, TableVersion};

#[derive(Debug)]
pub(super) struct HeaderCodec {
    encoder: Encoder,
    decoder: Decoder,
    /// Largest list that is decoded.
    list_limit: usize,
    /// The block that was encoded last.
    block: Vec<u8>,
    requests: HeaderBlockCache<RequestHead>,
    responses: HeaderBlockCache<ResponseHead>,
    /// Heads that are done with: the next ones take their buffers.
    #[expect(clippy::vec_box, reason = "heads go from hand to hand by their address")]
    spare: Vec<Box<RequestHead>>,
    /// Fields of a response that are done with.
    spare_fields: Fields,
    /// The block of the request that `has_sent` found.
    found: Option<SentAt>,
}

/// A header block that was received.
#[derive(Debug)]
pub(super) struct Decoded<T> {
    /// Bytes of its fields before compression.
    pub(super) plain: usize,
    pub(super) head: Result<T, BadHead>,
}

/// Why a block that could be decoded gives no head.
#[derive(Debug, Clone, Copy)]
pub(super) enum BadHead {
    /// It is larger than we take.
    TooLarge,
    /// It breaks this rule.
    Malformed(&'static str),
}

/// Heads kept for their buffers: as many as are under way at once.
const SPARE_HEADS: usize = 32;

/// Bytes that such a head's buffers have at most.
const SPARE_CAPACITY: usize = 2 * 1024;

impl HeaderCodec {
    /// Both tables begin with `table` bytes; received lists may have `list_limit` bytes.
    pub(super) fn new(table: usize, list_limit: u32) -> Self {
        Self {
            encoder: Encoder::new(table),
            decoder: Decoder::new(table),
            list_limit: list_limit as usize,
            block: Vec::new(),
            requests: HeaderBlockCache::default(),
            responses: HeaderBlockCache::default(),
            spare: Vec::new(),
            spare_fields: Fields::new(),
            found: None,
        }
    }

    /// The peer's settings have come, with what they allow our encoder. Requests are checked anew.
    pub(super) fn set_encoder_capacity(&mut self, bytes: usize) {
        self.encoder.set_capacity(bytes);
        self.requests.forget_sent();
        self.responses.forget_sent();
    }

    /// What the peer's encoder may use, once it has acknowledged that.
    pub(super) fn set_decoder_capacity(&mut self, bytes: usize) {
        self.decoder.set_allowed(bytes);
    }

    /// Takes a head that is done with, for its buffers.
    #[inline]
    pub(super) fn recycle(&mut self, head: Box<RequestHead>) {
        if self.spare.len() < SPARE_HEADS && head.capacity() <= SPARE_CAPACITY {
            self.spare.push(head);
        }
    }

    /// Takes fields of a response that are done with, for their buffers.
    pub(super) fn recycle_fields(&mut self, fields: Fields) {
        self.spare_fields = fields;
    }

    /// Whether the same request was sent before and would be the same block: it needs no other check.
    pub(super) fn has_sent(&mut self, head: &RequestHead) -> bool {
        self.found = self.requests.find_sent(self.encoder.table_version(), head);
        self.found.is_some()
    }

    /// `has_sent` has been asked about this request.
    pub(super) fn encode_request(&mut self, head: &RequestHead) -> EncodedBlock<'_> {
        if let Some(at) = self.found.take() {
            return self.requests.sent(at);
        }
        let before = self.encoder.table_version();
        self.block.clear();
        head_out::encode_request(&mut self.encoder, head, &mut self.block);
        let block = EncodedBlock { bytes: &self.block, plain: self.encoder.plain_size() };
        self.requests.keep_sent(unchanged(before, self.encoder.table_version()), head, block);
        block
    }

    pub(super) fn encode_response(&mut self, head: &ResponseHead) -> EncodedBlock<'_> {
        let before = self.encoder.table_version();
        if let Some(at) = self.responses.find_sent(before, head) {
            return self.responses.sent(at);
        }
        self.block.clear();
        head_out::encode_response(&mut self.encoder, head, &mut self.block);
        let block = EncodedBlock { bytes: &self.block, plain: self.encoder.plain_size() };
        self.responses.keep_sent(unchanged(before, self.encoder.table_version()), head, block);
        block
    }

    pub(super) fn encode_trailers(&mut self, fields: &Fields) -> EncodedBlock<'_> {
        self.block.clear();
        head_out::encode_trailers(&mut self.encoder, fields, &mut self.block);
        EncodedBlock { bytes: &self.block, plain: self.encoder.plain_size() }
    }
}

/// Decoding. An error ends the connection.
impl HeaderCodec {
    #[inline]
    pub(super) fn decode_request(
        &mut self,
        block: &[u8],
        extended: ExtendedConnect,
        head: &mut RequestHead,
    ) -> Result<Decoded<Option<u64>>, Rule<ErrorCode>> {
        let before = self.decoder.table_version();
        if let Some((plain, known)) = self.requests.find_received(before, block) {
            head.copy_from(&known.head);
            return Ok(Decoded { plain, head: Ok(known.content_length) });
        }
        let reader = HeadReader::with_buffers(std::mem::take(head), Kind::Request);
        let decoded = self.read(block, reader, |reader| reader.request(extended))?;
        let version = unchanged(before, self.decoder.table_version());
        self.requests.note_received(version, block, &decoded);
        let content_length = decoded.head.map(|read| {
            *head = read.head;
            read.content_length
        });
        Ok(Decoded { plain: decoded.plain, head: content_length })
    }

    /// A head for the next request, with the buffers of one that is done with where there is one.
    #[inline]
    pub(super) fn spare_head(&mut self) -> Box<RequestHead> {
        self.spare.pop().unwrap_or_default()
    }

    /// The request that a promise makes up.
    pub(super) fn decode_promise(
        &mut self,
        block: &[u8],
    ) -> Result<Decoded<Received<RequestHead>>, Rule<ErrorCode>> {
        let extended = ExtendedConnect::NotOffered;
        self.read(block, HeadReader::new(Kind::Request), |reader| reader.request(extended))
    }

    #[inline]
    pub(super) fn decode_response(
        &mut self,
        block: &[u8],
    ) -> Result<Decoded<Received<ResponseHead>>, Rule<ErrorCode>> {
        let before = self.decoder.table_version();
        if let Some((plain, known)) = self.responses.find_received(before, block) {
            let mut fields = std::mem::take(&mut self.spare_fields);
            fields.copy_from(&known.head.fields);
            let head = ResponseHead { status: known.head.status, fields };
            let head = Received { head, content_length: known.content_length };
            return Ok(Decoded { plain, head: Ok(head) });
        }
        let decoded = self.read(block, HeadReader::new(Kind::Response), HeadReader::response)?;
        let version = unchanged(before, self.decoder.table_version());
        self.responses.note_received(version, block, &decoded);
        Ok(decoded)
    }

    pub(super) fn decode_trailers(
        &mut self,
        block: &[u8],
    ) -> Result<Decoded<Fields>, Rule<ErrorCode>> {
        self.read(block, HeadReader::new(Kind::Trailers), HeadReader::trailers)
    }

    /// Keeps the table in step with a block that nobody reads.
    pub(super) fn skip(&mut self, block: &[u8]) -> Result<Decoded<()>, Rule<ErrorCode>> {
        let (plain, _) = self.decode(block, |_| {})?;
        Ok(Decoded { plain, head: Ok(()) })
    }

    /// Hands a block's fields to `reader`, of which `finish` makes the head.
    fn read<T>(
        &mut self,
        block: &[u8],
        mut reader: HeadReader,
        finish: impl FnOnce(HeadReader) -> Result<T, &'static str>,
    ) -> Result<Decoded<T>, Rule<ErrorCode>> {
        let (plain, size) = self.decode(block, |field| reader.field(field))?;
        let head = match size > self.list_limit {
            true => Err(BadHead::TooLarge),
            false => finish(reader).map_err(BadHead::Malformed),
        };
        Ok(Decoded { plain, head })
    }

    /// Hands a block's fields to `emit`; gives their size before compression, and the list's size.
    fn decode(
        &mut self,
        block: &[u8],
        mut emit: impl FnMut(Field<'_>),
    ) -> Result<(usize, usize), Rule<ErrorCode>> {
        let mut plain = 0;
        let decoded = self.decoder.decode(block, self.list_limit, |field| {
            plain += hpack::plain_size(field);
            emit(field);
        });
        match decoded {
            Ok(size) => Ok((plain, size)),
            Err(hpack::Error { fault: Fault::Excess, .. }) => {
                let text = "RFC 9113 §10.5.1: a header block of far more work than it is worth";
                Err(rule(ErrorCode::ENHANCE_YOUR_CALM, text))
            }
            Err(_) => {
                let text = "RFC 7541: the header block cannot be decoded";
                Err(rule(ErrorCode::COMPRESSION_ERROR, text))
            }
        }
    }
}

/// The version of a table that a block has left as it was.
fn unchanged(before: Option<TableVersion>, after: Option<TableVersion>) -> Option<TableVersion> {
    before.filter(|_| before == after)
}
