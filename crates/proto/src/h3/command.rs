//! What the application does.

use super::repeat::SentHead;
use super::session::{SentSections, Session};
use super::stream::{Message, Stream};
use crate::connection::{ConnectionState, Fin};
use crate::error::{Misuse, Refused};
use crate::h2::head_out::FieldSink;
use crate::h2::{head_out, priority};
use crate::message::{Method, RequestHead, ResponseHead};
use crate::multiplex::outgoing::Ending;
use crate::multiplex::status::Role;
use crate::multiplexed_connection::{StreamAction, StreamKind};
use crate::recent_blocks::{CachedHead, EncodedBlock};
use crate::schedule::Priority;
use crate::stream_id::StreamId;
use bytes::Bytes;
use unit::Instant;
use wire::h3::{
    ErrorCode, Frame, FrameHeader, FrameKind, parse_varint, put_varint, reserved, varint_length,
};
use wire::qpack::{Encoder, References};
use wire::{Field, Fields, PreparedField};

/// Datagrams that wait for the application or the transport; older ones are dropped (RFC 9221 §5.2).
const MOST_DATAGRAMS: usize = 256;

/// The last bytes of a body up to so many are copied behind the head.
const SMALL_BODY: usize = 128;

impl FieldSink for Encoder {
    fn put(&mut self, field: Field<'_>) {
        self.field(field);
    }

    fn put_prepared(&mut self, field: PreparedField<'_>) {
        self.prepared_field(field);
    }
}

impl Session {
    pub(super) fn request(
        &mut self,
        now: Instant,
        head: &RequestHead,
        fin: Fin,
    ) -> Result<StreamId, Refused> {
        self.now = now;
        if self.state != ConnectionState::Open {
            return Err(Refused::Draining);
        }
        if self.available_streams() == 0 {
            return Err(Refused::Full);
        }
        head_out::check_request(head, self.head_limit()).map_err(Refused::Unsendable)?;
        // RFC 9220 §3: not before the server has said that it takes it.
        if head.protocol.is_some() && !self.peer().enable_connect_protocol {
            return Err(if self.peer.is_some() { Refused::NotAllowed } else { Refused::TooEarly });
        }
        let id = self.next_request;
        self.next_request += 4;
        let mut stream = self.buffers.stream();
        stream.head_sent = true;
        stream.asked_for_head = head.method == Method::Head;
        stream.is_tunnel = head.method == Method::Connect;
        if fin == Fin::Last {
            stream.outgoing.push(Bytes::new(), Fin::Last);
        }
        self.streams.insert(id, stream);
        self.open_in_scheduler(id, None);
        let (stream, kind) = (StreamId(id), StreamKind::Bidirectional);
        self.actions.push_back(StreamAction::Open { stream, kind });
        if let Some(number) = self.settings.grease.filter(|_| id == 0) {
            let kind = FrameKind(reserved(number));
            self.put_frame(id, kind, b"");
        }
        let mut sent = std::mem::take(&mut self.sent_requests);
        self.write_head(id, &mut sent, head, |encoder| head_out::put_request(head, encoder));
        self.sent_requests = sent;
        Ok(stream)
    }

    pub(super) fn available_streams(&self) -> usize {
        if self.state != ConnectionState::Open {
            return 0;
        }
        let left = self.request_limit.saturating_sub(self.next_request / 4);
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    pub(super) fn inform(&mut self, stream: StreamId, head: &ResponseHead) -> Result<(), Misuse> {
        self.check_head(stream, head)?;
        // A response with such heads before it is not sent again.
        self.repeats.request = None;
        self.write_section(stream.0, |encoder| head_out::put_response(head, encoder));
        Ok(())
    }

    pub(super) fn respond(
        &mut self,
        stream: StreamId,
        head: &ResponseHead,
        fin: Fin,
    ) -> Result<(), Misuse> {
        self.check_head(stream, head)?;
        let field = priority::of_fields(&head.fields);
        if let Some(field) = field {
            self.reopen_released();
            self.scheduler.merge_response(stream, field);
        }
        self.write_response(stream.0, head, fin);
        if field.is_some() {
            self.repeats.response = None;
            if let Some(stream) = self.streams.get_mut(stream.0) {
                stream.is_ranked = true;
            }
        }
        Ok(())
    }

    fn check_head(&self, stream: StreamId, head: &ResponseHead) -> Result<(), Misuse> {
        let entry = self.streams.get(stream.0).ok_or(Misuse::UnknownStream)?;
        if entry.head_sent {
            return Err(Misuse::OutOfOrder("a head after the final one"));
        }
        head_out::check_response(&head.fields, self.head_limit()).map_err(Misuse::Unsendable)
    }

    /// Queues the final head.
    pub(super) fn write_response(&mut self, id: u64, head: &ResponseHead, fin: Fin) {
        if let Some(stream) = self.streams.get_mut(id) {
            stream.head_sent = true;
            if fin == Fin::Last {
                stream.outgoing.push(Bytes::new(), Fin::Last);
            }
        }
        let mut sent = std::mem::take(&mut self.sent_responses);
        self.write_head(id, &mut sent, head, |encoder| head_out::put_response(head, encoder));
        self.sent_responses = sent;
    }

    /// Queues trailers, which end the stream.
    pub(super) fn write_trailers(&mut self, id: u64, fields: &Fields) {
        if let Some(stream) = self.streams.get_mut(id) {
            stream.ends_with_head = true;
        }
        self.write_section(id, |encoder| head_out::put_regular(fields, encoder));
    }

    /// Queues the HEADERS frame of a head, as it was encoded before where it was sent before.
    fn write_head<H: CachedHead>(
        &mut self,
        id: u64,
        sent: &mut SentSections<H>,
        head: &H,
        put: impl FnOnce(&mut Encoder),
    ) {
        let found = sent.find(head, |references| self.encoder.can_repeat(references));
        if let Some((references, section)) = found.map(|at| sent.get(at)) {
            let sizes = [section.plain, section.bytes.len()];
            self.repeats.response = Some(SentHead { stream: id, references, sizes });
            self.encoder.repeat(id, references);
            return self.put_section(id, section);
        }
        let references = self.write_section(id, put);
        if let Some(references) = references {
            let (bytes, plain) = (&self.section[..], self.encoder.plain_size());
            sent.keep(references, head, EncodedBlock { bytes, plain });
        }
    }

    /// Encodes a field section and queues its HEADERS frame. Gives what it refers to, where it can be sent again.
    fn write_section(&mut self, id: u64, put: impl FnOnce(&mut Encoder)) -> Option<References> {
        self.encoder.begin(id);
        put(&mut self.encoder);
        let mut bytes = std::mem::take(&mut self.section);
        bytes.clear();
        let references = self.encoder.end(&mut bytes);
        self.move_instructions();
        self.put_section(id, EncodedBlock { bytes: &bytes, plain: self.encoder.plain_size() });
        self.section = bytes;
        references
    }

    fn put_section(&mut self, id: u64, section: EncodedBlock<'_>) {
        let EncodedBlock { bytes, plain } = section;
        self.headers.sent.count(plain, bytes.len());
        let (plain, coded) = (plain as u64, bytes.len() as u64);
        self.tracer.emit(self.now, || trace::Event::HeaderBlock { stream: id, plain, coded });
        self.put_frame(id, FrameKind::HEADERS, bytes);
    }

    fn put_frame(&mut self, id: u64, kind: FrameKind, payload: &[u8]) {
        let (frame, length) = (kind.name(), payload.len() as u64);
        self.tracer.emit(self.now, || trace::Event::FrameCreated { stream: id, frame, length });
        let Some(stream) = self.streams.get_mut(id) else { return };
        stream.head.put_frame(FrameHeader { kind, length }, payload);
        self.update(id);
    }

    pub(super) fn send(&mut self, stream: StreamId, data: Bytes, fin: Fin) -> Result<(), Misuse> {
        let entry = self.open_to_body(stream)?;
        let is_small = !data.is_empty() && data.len() <= SMALL_BODY;
        if fin == Fin::Last && is_small && entry.outgoing.bytes() == 0 {
            // It goes with the head, which it usually waits behind.
            entry.outgoing.end(Ending::Sent);
            entry.ends_with_head = true;
            self.guard.useful();
            self.put_frame(stream.0, FrameKind::DATA, &data);
            return Ok(());
        }
        entry.outgoing.push(data, fin);
        self.update(stream.0);
        Ok(())
    }

    pub(super) fn send_trailers(
        &mut self,
        stream: StreamId,
        fields: &Fields,
    ) -> Result<(), Misuse> {
        let limit = self.head_limit();
        head_out::check_response(fields, limit).map_err(Misuse::Unsendable)?;
        let entry = self.open_to_body(stream)?;
        entry.outgoing.end(Ending::Trailers(Box::new(fields.clone())));
        self.update(stream.0);
        Ok(())
    }

    fn open_to_body(&mut self, stream: StreamId) -> Result<&mut Stream, Misuse> {
        let entry = self.streams.get_mut(stream.0).ok_or(Misuse::UnknownStream)?;
        if !entry.head_sent {
            return Err(Misuse::OutOfOrder("a body before its head"));
        }
        if entry.is_sent || !entry.outgoing.is_open() {
            return Err(Misuse::OutOfOrder("bytes after the end"));
        }
        Ok(entry)
    }

    pub(super) fn unsent(&self, stream: StreamId) -> usize {
        self.streams.get(stream.0).map_or(0, Stream::unsent)
    }

    pub(super) fn consume(&mut self, stream: StreamId, bytes: usize) {
        let window = self.settings.stream_window;
        let Some(entry) = self.streams.get_mut(stream.0) else { return };
        let was_full = entry.unconsumed >= window;
        entry.unconsumed = entry.unconsumed.saturating_sub(bytes);
        if was_full && entry.unconsumed < window && entry.message != Message::Over {
            self.actions.push_back(StreamAction::Read { stream });
        }
    }

    pub(super) fn reset(&mut self, now: Instant, stream: StreamId) {
        self.now = now;
        let Some(entry) = self.streams.get(stream.0) else { return };
        // RFC 9114 §4.1.1: the application has seen the request and may have acted on it, so it is not rejected: a client repeats
        // rejected requests. §4.1: a client keeps a whole response if the rest of its request is unwanted without an error.
        let code = match (self.role, entry.is_sent) {
            (Role::Server, true) => ErrorCode::NO_ERROR,
            _ => ErrorCode::REQUEST_CANCELLED,
        };
        self.abandon(stream.0, code);
        self.close_if_drained();
    }

    pub(super) fn prioritise(&mut self, stream: StreamId, priority: Priority) {
        self.reopen_released();
        self.rank(stream.0, priority);
        let is_told = self.role == Role::Client && self.streams.contains(stream.0);
        if let (true, Priority::Urgency { urgency, incremental }) = (is_told, priority) {
            let value = priority::to_field(urgency, incremental);
            let value = value.as_bytes();
            self.queue_control(&Frame::PriorityUpdate { stream: stream.0, value });
        }
    }

    /// Queues a datagram of a request (RFC 9297 §2.1). Whether it arrives is not told.
    pub(super) fn send_datagram(&mut self, stream: StreamId, payload: &[u8]) -> Result<(), Misuse> {
        if !self.streams.contains(stream.0) {
            return Err(Misuse::UnknownStream);
        }
        let quarter = stream.0 / 4;
        let room =
            self.facts.max_datagram.filter(|_| self.settings.datagrams && self.peer().datagrams);
        let Some(most) = room else {
            return Err(Misuse::Unsendable("the peer takes no datagrams"));
        };
        if varint_length(quarter) + payload.len() > most {
            return Err(Misuse::Unsendable("the datagram is larger than the peer takes"));
        }
        let mut datagram = Vec::with_capacity(payload.len() + 8);
        put_varint(quarter, &mut datagram);
        datagram.extend_from_slice(payload);
        if self.datagrams_out.len() >= MOST_DATAGRAMS {
            self.datagrams_out.pop_front();
        }
        self.datagrams_out.push_back(datagram.into());
        Ok(())
    }

    pub(super) fn handle_datagram(&mut self, now: Instant, payload: &[u8]) {
        self.now = now;
        let mut rest = payload;
        let quarter = parse_varint(&mut rest).filter(|&quarter| quarter < 1 << 60);
        let Some(quarter) = quarter.filter(|_| self.settings.datagrams) else {
            let text = "RFC 9297 §2.1: a datagram names a request";
            return self.fail_connection(ErrorCode::DATAGRAM_ERROR, text);
        };
        // RFC 9297 §2.1: one for a stream that is gone, or has not come, is dropped.
        if self.streams.contains(4 * quarter) {
            if self.datagrams_in.len() >= MOST_DATAGRAMS {
                self.datagrams_in.pop_front();
            }
            self.datagrams_in.push_back((StreamId(4 * quarter), Bytes::copy_from_slice(rest)));
        }
    }

    fn head_limit(&self) -> u32 {
        u32::try_from(self.peer().max_field_section_size).unwrap_or(u32::MAX)
    }
}
