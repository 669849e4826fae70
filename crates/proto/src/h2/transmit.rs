//! Bytes out: what is queued as control frames first, then DATA, frame by frame, as the scheduler
//! decides at the moment of sending.

use super::connection::Core;
use super::head_out;
use super::known::SentResponse;
use crate::connection::{ConnectionState, Event, Fin, StreamId};
use crate::message::ResponseHead;
use crate::multiplex::outgoing::Ending;
use crate::multiplex::state::Step;
use crate::multiplex::timers::Timer;
use endpoint::SendBuf;
use std::sync::Arc;
use unit::Instant;
use wire::h2::{FLAG_END_HEADERS, FLAG_END_STREAM, FrameHeader, FrameKind, HEADER_LENGTH};

/// A frame smaller than this is not worth its header, however little room there is.
const LEAST_FRAME: usize = 1024;

/// Less than this, forced by a peer that gives credit in driblets, earns it no credit with the guard
/// (CVE-2019-9511).
const LEAST_USEFUL: usize = 256;

impl Core {
    pub(super) fn poll_transmit(&mut self, now: Instant, out: &mut SendBuf, room: usize) {
        self.now = now;
        let limit = out.len() + room;
        loop {
            self.control.flush(out, limit, frame_length);
            if !self.control.is_empty() || out.len() >= limit {
                return;
            }
            if self.state == ConnectionState::Closed || self.ready == 0 {
                return;
            }
            if self.send_window.available() == 0 {
                return;
            }
            let Some(StreamId(id)) = self.scheduler.next() else { return };
            self.send_data(id as u32, limit - out.len(), out);
        }
    }

    pub(super) fn wants_transmit(&self) -> bool {
        let data = self.ready > 0
            && self.send_window.available() > 0
            && self.state != ConnectionState::Closed;
        data || !self.control.is_empty()
    }

    /// Sends one DATA frame of the stream.
    fn send_data(&mut self, id: u32, room: usize, out: &mut SendBuf) {
        let name = StreamId(u64::from(id));
        let Some(stream) = self.streams.find_mut(id).filter(|stream| stream.scheduled) else {
            self.scheduler.blocked(name);
            return;
        };
        let outgoing = &mut stream.outgoing;
        let size = outgoing
            .bytes()
            .min(outgoing.window.available())
            .min(self.send_window.available())
            .min(self.settings.data_frame_size.min(self.peer.max_frame_size) as usize)
            .min(room.saturating_sub(HEADER_LENGTH).max(LEAST_FRAME));
        let last = size == outgoing.bytes() && matches!(outgoing.ending, Ending::Last);
        let flags = if last { FLAG_END_STREAM } else { 0 };
        let header = FrameHeader { length: size as u32, kind: FrameKind::DATA, flags, stream: id };
        out.put(&header.bytes());
        outgoing.take(size, out);
        outgoing.window.take(size);
        self.send_window.take(size);
        let drained = outgoing.bytes() == 0;
        let writable = outgoing.owes_writable && outgoing.bytes() < self.settings.send_low_water;
        outgoing.owes_writable &= !writable;
        if drained || size >= LEAST_USEFUL {
            self.guard.useful();
        }
        self.scheduler.sent(name, size);
        self.trace_created(id, "DATA", size);
        self.reschedule(id);
        if writable {
            self.events.push_back(Event::Writable { stream: name });
        }
        if drained {
            self.finish_sending(id);
        }
    }

    /// Ends our side of a stream whose bytes have all gone, where the application has ended it.
    pub(super) fn finish_sending(&mut self, id: u32) {
        let Some(stream) = self.streams.find_mut(id) else { return };
        match std::mem::replace(&mut stream.outgoing.ending, Ending::Sent) {
            Ending::Open => {
                stream.outgoing.ending = Ending::Open;
                return;
            }
            Ending::Last => {}
            Ending::Trailers(fields) => {
                let mut block = std::mem::take(&mut self.scratch);
                block.clear();
                head_out::encode_trailers(&mut self.encoder, &fields, &mut block);
                self.count_block(id, self.encoder.plain_size(), block.len());
                self.queue_block(id, Fin::Last, &block);
                self.scratch = block;
            }
            Ending::Sent => return,
        }
        self.step(id, Step::SendEnd);
    }

    /// Tells the scheduler whether a stream can send, where that has changed.
    pub(super) fn reschedule(&mut self, id: u32) {
        let Some(stream) = self.streams.find_mut(id) else { return };
        let (ready, stalled) = (stream.outgoing.is_ready(), stream.outgoing.is_stalled());
        if !stalled {
            stream.stalled_since = None;
        } else if stream.stalled_since.is_none() {
            stream.stalled_since = Some(self.now);
        }
        let name = StreamId(u64::from(id));
        if ready != stream.scheduled {
            stream.scheduled = ready;
            if ready {
                self.ready += 1;
                self.scheduler.ready(name);
            } else {
                self.ready -= 1;
                self.scheduler.blocked(name);
            }
        }
        if stalled {
            self.watch_stalls();
        }
        self.watch_connection();
    }

    /// Notes since when streams have waited for the connection's credit alone.
    pub(super) fn watch_connection(&mut self) {
        if self.ready == 0 || self.send_window.available() > 0 {
            self.stalled_since = None;
        } else if self.stalled_since.is_none() {
            self.stalled_since = Some(self.now);
            self.watch_stalls();
        }
    }

    fn watch_stalls(&mut self) {
        if !self.timers.is_set(Timer::Stall) {
            self.timers.set(Timer::Stall, self.now + self.settings.stall_timeout);
        }
    }

    /// Queues a response's HEADERS.
    pub(super) fn queue_response(&mut self, id: u32, head: &ResponseHead, fin: Fin) {
        let mut block = std::mem::take(&mut self.scratch);
        block.clear();
        let plain = self.write_response(head, &mut block);
        self.count_block(id, plain, block.len());
        self.queue_block(id, fin, &block);
        self.scratch = block;
    }

    /// Appends a response's header block; returns the size of its fields. A sealed list is not coded again where it would
    /// come out as it did before.
    fn write_response(&mut self, head: &ResponseHead, block: &mut Vec<u8>) -> usize {
        let era = self.encoder.era();
        let seal = head.fields.sealed();
        if let Some(seal) = seal {
            let is_it =
                |(status, known): &SentResponse| *status == head.status && Arc::ptr_eq(known, seal);
            if let Some((plain, known)) = self.sent_responses.find(era, is_it) {
                block.extend_from_slice(known);
                return plain;
            }
        }
        head_out::encode_response(&mut self.encoder, head, block);
        let plain = self.encoder.plain_size();
        if let Some(seal) = seal {
            let value = (head.status, Arc::clone(seal));
            self.sent_responses.keep((era, self.encoder.era()), block, (plain, value));
        }
        plain
    }

    /// Counts a block that is to be sent.
    pub(super) fn count_block(&mut self, id: u32, plain: usize, coded: usize) {
        self.headers.sent.count(plain, coded);
        self.trace_block(id, plain, coded);
    }

    pub(super) fn trace_block(&self, id: u32, plain: usize, coded: usize) {
        self.tracer.emit(self.now, || trace::Event::HeaderBlock {
            stream: u64::from(id),
            plain: plain as u64,
            coded: coded as u64,
        });
    }

    /// Queues HEADERS, and CONTINUATION where the peer's frames are too small (RFC 9113 §6.10).
    pub(super) fn queue_block(&mut self, id: u32, fin: Fin, block: &[u8]) {
        let flags = if fin == Fin::Last { FLAG_END_STREAM } else { 0 };
        let header = FrameHeader { length: 0, kind: FrameKind::HEADERS, flags, stream: id };
        self.queue_fragments(header, &[], block);
    }

    /// Queues a header block behind `prefix` in a frame like `first`, and what is left behind it.
    pub(super) fn queue_fragments(&mut self, first: FrameHeader, prefix: &[u8], block: &[u8]) {
        let most = self.peer.max_frame_size as usize;
        let (mut header, mut prefix, mut rest) = (first, prefix, block);
        loop {
            let (fragment, left) = rest.split_at(rest.len().min(most - prefix.len()));
            header.length = (prefix.len() + fragment.len()) as u32;
            if left.is_empty() {
                header.flags |= FLAG_END_HEADERS;
            }
            let buffer = self.control.buffer();
            buffer.extend_from_slice(&header.bytes());
            buffer.extend_from_slice(prefix);
            buffer.extend_from_slice(fragment);
            self.trace_created(header.stream, header.kind.name(), header.length as usize);
            if left.is_empty() {
                return;
            }
            header.kind = FrameKind::CONTINUATION;
            header.flags = 0;
            prefix = &[];
            rest = left;
        }
    }
}

/// The length of the frame that begins here.
fn frame_length(bytes: &[u8]) -> Option<usize> {
    let header = bytes.first_chunk()?;
    Some(HEADER_LENGTH + FrameHeader::parse(header).length as usize)
}
