//! Bytes out: what is queued as control frames first, then DATA, frame by frame, as the scheduler
//! decides at the moment of sending.

use super::connection::Core;
use super::head_out;
use crate::connection::{ConnectionState, Event, Fin, StreamId};
use crate::message::ResponseHead;
use crate::multiplex::outgoing::Ending;
use crate::multiplex::state::Step;
use crate::multiplex::timers::Timer;
use endpoint::SendBuf;
use unit::Instant;
use wire::spdy::{FLAG_FIN, FrameHeader, FrameKind, HEADER_LENGTH, Subject};

/// A frame smaller than this is not worth its header, however little room there is.
const LEAST_FRAME: usize = 1024;

/// Less than this, forced by a peer that gives credit in driblets, earns it no credit with the guard
/// (CVE-2019-9511).
const LEAST_USEFUL: usize = 256;

impl Core {
    pub(super) fn poll_transmit(&mut self, now: Instant, out: &mut SendBuf, room: usize) {
        self.now = now;
        self.say_promises();
        let limit = out.len() + room;
        loop {
            self.control.flush(out, limit, frame_length);
            if !self.control.is_empty() || out.len() >= limit {
                return;
            }
            if self.state == ConnectionState::Closed || self.ready == 0 {
                return;
            }
            if self.session.available() == 0 {
                return;
            }
            let Some(StreamId(id)) = self.scheduler.next() else { return };
            self.send_data(id as u32, limit - out.len(), out);
        }
    }

    pub(super) fn wants_transmit(&self) -> bool {
        let data =
            self.ready > 0 && self.session.available() > 0 && self.state != ConnectionState::Closed;
        data || !self.control.is_empty() || !self.promised.is_empty()
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
            .min(self.session.available())
            .min(self.settings.data_frame_size as usize)
            .min(room.saturating_sub(HEADER_LENGTH).max(LEAST_FRAME));
        let last = size == outgoing.bytes() && matches!(outgoing.ending, Ending::Last);
        let flags = if last { FLAG_FIN } else { 0 };
        let subject = Subject::Data { stream: id };
        out.put(&FrameHeader { subject, flags, length: size as u32 }.bytes());
        outgoing.take(size, out);
        outgoing.window.take(size);
        self.session.take(size);
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
                head_out::put_trailers(&mut self.encoder, &fields);
                self.queue_block(FrameKind::HEADERS, FLAG_FIN, id, &[]);
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
        self.watch_session();
    }

    /// Notes since when streams have waited for the session's credit alone.
    pub(super) fn watch_session(&mut self) {
        if self.ready == 0 || self.session.available() > 0 {
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

    /// Queues a request's SYN_REPLY.
    pub(super) fn queue_reply(&mut self, id: u32, head: &ResponseHead, fin: Fin) {
        head_out::put_response(&mut self.encoder, head);
        self.queue_block(FrameKind::SYN_REPLY, fin_flag(fin), id, &[]);
    }

    /// Queues the head of a push's answer.
    pub(super) fn queue_push_head(&mut self, id: u32, head: &ResponseHead, fin: Fin) {
        if self.promised.iter().any(|promised| promised.id == id) {
            self.say_push(id, head, fin);
            return;
        }
        head_out::put_response(&mut self.encoder, head);
        self.queue_block(FrameKind::HEADERS, fin_flag(fin), id, &[]);
    }

    /// Queues a frame of the stream that ends with the block put into the encoder; `between` stands
    /// before the block.
    pub(super) fn queue_block(&mut self, kind: FrameKind, flags: u8, id: u32, between: &[u8]) {
        let plain = self.encoder.plain_size();
        let buffer = self.control.buffer();
        let start = buffer.len();
        buffer.extend_from_slice(&[0; HEADER_LENGTH]);
        buffer.extend_from_slice(&id.to_be_bytes());
        buffer.extend_from_slice(between);
        let begin = buffer.len();
        self.encoder.finish(buffer);
        let (coded, length) = (buffer.len() - begin, buffer.len() - start - HEADER_LENGTH);
        let header = FrameHeader::control(kind, flags, length as u32);
        buffer[start..start + HEADER_LENGTH].copy_from_slice(&header.bytes());
        self.headers.sent.count(plain, coded);
        self.trace_block(id, plain, coded);
        self.trace_created(id, kind.name(), length);
    }

    pub(super) fn trace_block(&self, id: u32, plain: usize, coded: usize) {
        self.tracer.emit(self.now, || trace::Event::HeaderBlock {
            stream: u64::from(id),
            plain: plain as u64,
            coded: coded as u64,
        });
    }

    /// Sets the level of a SYN_STREAM that still waits; there is no other way to tell the peer.
    pub(super) fn mend_priority(&mut self, id: u32, level: u8) {
        let bytes = self.control.buffer();
        let mut at = 0;
        while let Some(length) = frame_length(&bytes[at..]) {
            let frame = &mut bytes[at..];
            let syn = FrameHeader::control(FrameKind::SYN_STREAM, 0, 0).bytes();
            let opens =
                frame[..4] == syn[..4] && frame[HEADER_LENGTH..].starts_with(&id.to_be_bytes());
            if let Some(priority) = frame.get_mut(HEADER_LENGTH + 8).filter(|_| opens) {
                *priority = level << 5;
                return;
            }
            at += length;
        }
    }
}

/// What stands between the stream and the block of a SYN_STREAM (SPDY §2.6.1).
pub(super) fn syn_fields(associated: u32, level: u8) -> [u8; 6] {
    let [a, b, c, d] = associated.to_be_bytes();
    [a, b, c, d, level << 5, 0]
}

/// FLAG_FIN where the stream ends.
pub(super) fn fin_flag(fin: Fin) -> u8 {
    if fin == Fin::Last { FLAG_FIN } else { 0 }
}

/// The length of the frame that begins here.
fn frame_length(bytes: &[u8]) -> Option<usize> {
    let header = bytes.first_chunk()?;
    Some(HEADER_LENGTH + FrameHeader::parse(header).length as usize)
}
