//! Frames and instructions that wait to be sent, in one buffer. An empty queue of a connection keeps next to nothing: it has
//! four, and most of the time all are empty.

use endpoint::SendBuf;
use wire::h3::FrameHeader;

#[derive(Debug)]
pub(super) struct FrameQueue {
    bytes: Vec<u8>,
    /// How many of its bytes are sent.
    sent: usize,
    /// Capacity that it keeps where it is empty.
    kept: usize,
}

impl Default for FrameQueue {
    /// One of a connection.
    fn default() -> Self {
        Self { bytes: Vec::new(), sent: 0, kept: KEPT }
    }
}

impl FrameQueue {
    /// One of a stream, which is used again by other streams.
    pub(super) fn of_stream() -> Self {
        Self { kept: KEPT_OF_STREAM, ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes that wait.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// What waits.
    pub(super) fn waiting(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// Drops what is not sent.
    pub(super) fn clear(&mut self) {
        if self.bytes.capacity() > self.kept {
            self.bytes = Vec::new();
        }
        self.bytes.clear();
        self.sent = 0;
    }

    /// Appends a frame.
    pub(super) fn put_frame(&mut self, header: FrameHeader, payload: &[u8]) {
        self.bytes.reserve(FRAME_HEADER + payload.len());
        header.encode(&mut self.bytes);
        self.bytes.extend_from_slice(payload);
    }

    /// Appends what `write` appends to the vector.
    pub(super) fn put_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
    }

    /// Moves the first `limit` bytes to `out`; tells how many there were.
    pub(super) fn move_to(&mut self, out: &mut SendBuf, limit: usize) -> usize {
        if self.is_empty() {
            return 0;
        }
        let waiting = self.waiting();
        let taken = waiting.len().min(limit);
        out.put(&waiting[..taken]);
        self.sent += taken;
        if self.sent == self.bytes.len() {
            self.clear();
        } else if 2 * self.sent >= self.bytes.len() {
            // What is left is no more than what was sent, so that a byte is moved once on average.
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
        taken
    }
}

/// Bytes of a frame's kind and length at most (RFC 9114 §7.1).
const FRAME_HEADER: usize = 16;

/// Capacity that an empty queue keeps: enough for the acknowledgements of QPACK's sections that come together.
const KEPT: usize = 64;

/// The same of a stream's: enough for most heads.
const KEPT_OF_STREAM: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_queued_comes_out_in_order_whatever_the_limits() {
        let (mut queue, mut out) = (FrameQueue::default(), SendBuf::new());
        let bytes: Vec<u8> = (0..=255).collect();
        for (number, part) in bytes.chunks(16).enumerate() {
            queue.put_with(|out| out.extend_from_slice(part));
            assert_eq!(queue.move_to(&mut out, number), number);
        }
        assert_eq!(queue.len(), 256 - 120);
        assert!(queue.bytes.len() <= 2 * queue.len(), "what was sent is forgotten");
        assert_eq!(queue.move_to(&mut out, 1_000), 256 - 120);
        assert_eq!(out.to_vec(), bytes);
        assert!(queue.is_empty() && queue.bytes.capacity() <= KEPT);
    }
}
