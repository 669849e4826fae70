//! The sending half of a stream: body bytes that wait, how it ends, and its credit. Frame formats are
//! not known here.

use super::{Overflow, SendWindow};
use crate::{Fields, Fin};
use bytes::Bytes;
use endpoint::SendBuf;
use std::collections::VecDeque;

/// How the sending half ends.
#[derive(Debug)]
pub(crate) enum Ending {
    /// More may be queued.
    Open,
    /// With the last byte.
    Last,
    /// With these fields after the last byte.
    Trailers(Box<Fields>),
    /// The end has been sent.
    Sent,
}

/// What is to be sent on a stream.
#[derive(Debug)]
pub(crate) struct Outgoing {
    window: SendWindow,
    ending: Ending,
    /// The first piece stands by itself: most bodies are one, and need no list.
    first: Bytes,
    rest: VecDeque<Bytes>,
    bytes: usize,
    /// Bytes sent so far.
    sent: u64,
    /// Whether the application waits for `Writable`.
    owes_writable: bool,
    /// Whether the application has more as soon as it is asked.
    keeps_turn: bool,
}

/// What the next DATA frame carries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk {
    pub(crate) size: usize,
    pub(crate) fin: Fin,
}

/// What a DATA frame has changed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    /// Whether nothing is queued any more.
    pub(crate) drained: bool,
    /// Whether the application is to get an event to send more.
    pub(crate) writable: bool,
}

impl Outgoing {
    pub(crate) fn new(window: u32) -> Self {
        Self {
            window: SendWindow::new(window),
            ending: Ending::Open,
            first: Bytes::new(),
            rest: VecDeque::new(),
            bytes: 0,
            sent: 0,
            owes_writable: false,
            keeps_turn: false,
        }
    }

    /// Bytes queued.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes sent so far.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Bytes that the peer has credit for.
    pub(crate) fn credit(&self) -> usize {
        self.window.available()
    }

    pub(crate) fn push(&mut self, data: Bytes, fin: Fin) {
        if !data.is_empty() {
            self.bytes += data.len();
            if self.first.is_empty() {
                self.first = data;
            } else {
                // Most bodies wait in two pieces at most, and a hundred streams may wait.
                if self.rest.capacity() == 0 {
                    self.rest.reserve_exact(1);
                }
                self.rest.push_back(data);
            }
        }
        match fin {
            Fin::Last => self.ending = Ending::Last,
            Fin::More => self.owes_writable = true,
        }
    }

    /// The application has more as soon as it is asked.
    pub(crate) fn keep_turn(&mut self) {
        self.keeps_turn = true;
    }

    /// Whether nothing is queued of a body that has more.
    pub(crate) fn has_run_out(&self) -> bool {
        self.keeps_turn && self.bytes == 0 && self.is_open()
    }

    /// Sets how the stream ends.
    pub(crate) fn end(&mut self, ending: Ending) {
        self.ending = ending;
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self.ending, Ending::Open)
    }

    /// Whether the end is queued and has not been sent.
    pub(crate) fn owes_end(&self) -> bool {
        matches!(self.ending, Ending::Last | Ending::Trailers(_))
    }

    /// Whether the last byte ends the stream.
    pub(crate) fn ends_with_data(&self) -> bool {
        matches!(self.ending, Ending::Last)
    }

    /// The end is sent now: gives how. None where the application has not ended it, or it was sent.
    pub(crate) fn take_ending(&mut self) -> Option<Ending> {
        if matches!(self.ending, Ending::Open | Ending::Sent) {
            return None;
        }
        Some(std::mem::replace(&mut self.ending, Ending::Sent))
    }

    /// More credit, or less.
    pub(crate) fn adjust(&mut self, by: i64) -> Result<(), Overflow> {
        self.window.adjust(by)
    }

    /// The next DATA frame, of at most `limit` bytes.
    pub(crate) fn chunk(&self, limit: usize) -> Chunk {
        let size = self.bytes.min(self.window.available()).min(limit);
        let last = size == self.bytes && self.ends_with_data();
        Chunk { size, fin: if last { Fin::Last } else { Fin::More } }
    }

    /// Sends that frame's bytes. `low_water` bounds what is queued when the application is to send more.
    pub(crate) fn send(&mut self, chunk: Chunk, out: &mut SendBuf, low_water: usize) -> Sent {
        self.take(chunk.size, out);
        self.window.take(chunk.size);
        self.sent += chunk.size as u64;
        let writable = self.owes_writable && self.bytes < low_water;
        self.owes_writable &= !writable;
        Sent { drained: self.bytes == 0, writable }
    }

    /// Moves the first `bytes` bytes to `out`, by reference where they are many.
    fn take(&mut self, bytes: usize, out: &mut SendBuf) {
        let mut left = bytes.min(self.bytes);
        self.bytes -= left;
        while left > 0 {
            if self.first.len() <= left {
                left -= self.first.len();
                let next = self.rest.pop_front().unwrap_or_default();
                out.put_shared(std::mem::replace(&mut self.first, next));
            } else {
                out.put_shared(self.first.split_to(left));
                left = 0;
            }
        }
    }

    /// Whether there is credit, nothing to send and no end, and nobody waits to be told so.
    pub(crate) fn is_idle(&self) -> bool {
        self.bytes == 0 && self.is_open() && self.window.available() > 0
    }

    /// Whether there are bytes to send and credit to send them.
    pub(crate) fn is_ready(&self) -> bool {
        self.bytes > 0 && self.window.available() > 0
    }

    /// Whether there are bytes to send and no credit.
    pub(crate) fn is_stalled(&self) -> bool {
        self.bytes > 0 && self.window.available() == 0
    }
}
