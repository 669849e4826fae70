//! Messages and control frames on their way out. The one rule: a control frame goes before the next
//! frame of a message, and Close goes after all of them.

use super::settings::Writes;
use bytes::Bytes;
use endpoint::SendBuf;
use std::collections::VecDeque;
use trace::Tracer;
use unit::{Instant, Random};
use wire::ws::{FrameHeader, OpCode, mask};

/// What is still to be sent.
#[derive(Debug)]
pub(super) struct Outgoing {
    masks: Option<Random>,
    tracer: Tracer,
    /// Longest payload of a data frame.
    fragment: usize,
    writes: Writes,
    /// The payload whose header has left.
    held: Bytes,
    messages: VecDeque<Message>,
    /// Payloads of Pings, and of Pongs: these up to a bound, the newest kept.
    pings: VecDeque<Bytes>,
    pongs: VecDeque<Bytes>,
    max_pongs: usize,
    close: Close,
    /// Bytes of messages.
    length: usize,
}

#[derive(Debug)]
struct Message {
    /// Of the next frame.
    op_code: OpCode,
    compressed: bool,
    rest: Bytes,
}

/// Where our Close frame is.
#[derive(Debug)]
enum Close {
    No,
    /// Its payload waits.
    Queued(Bytes),
    Sent,
}

impl Outgoing {
    pub(super) fn new(
        masks: Option<Random>,
        fragment: usize,
        max_pongs: usize,
        writes: Writes,
        tracer: Tracer,
    ) -> Self {
        Self {
            masks,
            tracer,
            fragment: fragment.max(1),
            writes,
            held: Bytes::new(),
            messages: VecDeque::new(),
            pings: VecDeque::new(),
            pongs: VecDeque::new(),
            max_pongs,
            close: Close::No,
            length: 0,
        }
    }

    /// Bytes of messages that wait.
    pub(super) fn len(&self) -> usize {
        self.length + self.held.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
            && self.messages.is_empty()
            && self.pings.is_empty()
            && self.pongs.is_empty()
            && !matches!(self.close, Close::Queued(_))
    }

    /// Whether a Close frame is queued or sent: nothing follows it (RFC 6455 §5.5.1).
    pub(super) fn is_closing(&self) -> bool {
        !matches!(self.close, Close::No)
    }

    /// Whether it was sent.
    pub(super) fn has_closed(&self) -> bool {
        matches!(self.close, Close::Sent)
    }

    pub(super) fn message(&mut self, op_code: OpCode, compressed: bool, rest: Bytes) {
        self.length += rest.len();
        self.messages.push_back(Message { op_code, compressed, rest });
    }

    pub(super) fn ping(&mut self, payload: Bytes) {
        self.pings.push_back(payload);
    }

    pub(super) fn pings(&self) -> usize {
        self.pings.len()
    }

    pub(super) fn pong(&mut self, payload: Bytes) {
        if self.pongs.len() >= self.max_pongs {
            self.pongs.pop_front();
        }
        self.pongs.push_back(payload);
    }

    pub(super) fn close(&mut self, payload: Bytes) {
        if matches!(self.close, Close::No) {
            self.close = Close::Queued(payload);
        }
    }

    pub(super) fn transmit(&mut self, now: Instant, out: &mut SendBuf, limit: usize) {
        let end = match self.writes {
            Writes::One => out.len().saturating_add(limit),
            // Anything ends the turn.
            Writes::Two => out.len() + limit.min(1),
        };
        while out.len() < end {
            if !self.held.is_empty() {
                out.put_shared(std::mem::take(&mut self.held));
            } else if let Some(payload) = self.pongs.pop_front() {
                self.control(now, out, OpCode::Pong, payload);
            } else if let Some(payload) = self.pings.pop_front() {
                self.control(now, out, OpCode::Ping, payload);
            } else if !self.messages.is_empty() {
                self.data(now, out);
            } else if let Close::Queued(payload) = &mut self.close {
                let payload = std::mem::take(payload);
                self.close = Close::Sent;
                self.control(now, out, OpCode::Close, payload);
            } else {
                return;
            }
        }
    }

    fn control(&mut self, now: Instant, out: &mut SendBuf, op_code: OpCode, payload: Bytes) {
        let length = payload.len() as u64;
        let header = FrameHeader { fin: true, rsv1: false, op_code, mask: None, length };
        self.put(now, out, header, payload);
    }

    fn data(&mut self, now: Instant, out: &mut SendBuf) {
        let Some(message) = self.messages.front_mut() else { return };
        let payload = message.rest.split_to(message.rest.len().min(self.fragment));
        self.length -= payload.len();
        let fin = message.rest.is_empty();
        let length = payload.len() as u64;
        let (op_code, rsv1) = (message.op_code, message.compressed);
        // RFC 7692 §6.1: only the first frame of a message says that it is compressed.
        (message.op_code, message.compressed) = (OpCode::Continuation, false);
        if fin {
            self.messages.pop_front();
        }
        let header = FrameHeader { fin, rsv1, op_code, mask: None, length };
        self.put(now, out, header, payload);
    }

    fn put(&mut self, now: Instant, out: &mut SendBuf, mut header: FrameHeader, payload: Bytes) {
        let (frame, length) = (header.op_code.name(), header.length);
        self.tracer.emit(now, || trace::Event::FrameCreated { stream: 0, frame, length });
        let key = self.masks.as_mut().map(|masks| {
            let [a, b, c, d, ..] = masks.next_u64().to_ne_bytes();
            [a, b, c, d]
        });
        header.mask = key;
        out.put_with(|bytes| header.put(bytes));
        match (key, self.writes) {
            (None, Writes::One) => out.put_shared(payload),
            (None, Writes::Two) => self.held = payload,
            (Some(key), Writes::One) => out.put_with(|bytes| {
                let from = bytes.len();
                bytes.extend_from_slice(&payload);
                mask(&mut bytes[from..], key, 0);
            }),
            (Some(key), Writes::Two) => {
                let mut masked = payload.to_vec();
                mask(&mut masked, key, 0);
                self.held = masked.into();
            }
        }
    }
}
