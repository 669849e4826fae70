//! Frames other than DATA, in the order they were made, on their way to `poll_transmit`.

use super::{Log, OutgoingFrame};
use endpoint::SendBuf;

/// Capacity that an empty queue keeps.
const KEEP: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    /// Bytes at the front that are no frames (the client's preface).
    preface: usize,
}

impl Outbox {
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Moves whole frames to `out` until it holds `limit` bytes or more. `frame_length` tells how long
    /// the frame is that the bytes begin with.
    pub(crate) fn flush(
        &mut self,
        out: &mut SendBuf,
        limit: usize,
        frame_length: impl Fn(&[u8]) -> Option<usize>,
    ) {
        let left = limit.saturating_sub(out.len());
        if left == 0 || self.bytes.is_empty() {
            return;
        }
        let end = if self.bytes.len() <= left {
            self.bytes.len()
        } else {
            self.frames_up_to(left, frame_length)
        };
        out.put(&self.bytes[..end]);
        self.bytes.drain(..end);
        if self.bytes.is_empty() {
            self.bytes.shrink_to(KEEP);
        }
        self.preface = 0;
    }

    /// The end of the first frame that reaches `limit`.
    fn frames_up_to(&self, limit: usize, frame_length: impl Fn(&[u8]) -> Option<usize>) -> usize {
        let mut end = self.preface;
        while end < limit
            && let Some(length) = frame_length(&self.bytes[end..])
        {
            end += length;
        }
        end
    }
}

/// Appends frames to the outbox and traces each.
#[derive(Debug)]
pub(crate) struct FrameWriter<'s> {
    outbox: &'s mut Outbox,
    log: &'s mut Log,
}

impl<'s> FrameWriter<'s> {
    pub(crate) fn new(outbox: &'s mut Outbox, log: &'s mut Log) -> Self {
        Self { outbox, log }
    }

    /// Appends the connection preface. Nothing may stand before it.
    pub(crate) fn put_preface(&mut self, preface: &[u8]) {
        self.outbox.bytes.extend_from_slice(preface);
        self.outbox.preface = preface.len();
    }

    /// Appends a frame.
    pub(crate) fn queue<F: OutgoingFrame>(&mut self, frame: &F) {
        let before = self.outbox.bytes.len();
        frame.encode(&mut self.outbox.bytes);
        let length = self.outbox.bytes.len() - before - F::HEADER_LENGTH;
        self.log.frame_created(frame.stream(), frame.name(), length);
    }

    /// The bytes that wait, for frames that are written in place. Tell the log of each.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.outbox.bytes
    }

    pub(crate) fn log(&mut self) -> &mut Log {
        self.log
    }
}
