//! Buffers of frames, used again. The one rule: a small frame is never kept in a super-packet's buffer.

use crate::buffer_pool::BufferPool;
use crate::net::packet_socket::{ETHERNET, OFFLOAD};

/// Buffers to use again.
#[derive(Debug)]
pub(super) struct FrameBuffers {
    small: BufferPool<Vec<u8>>,
    /// For super-packets.
    large: BufferPool<Vec<u8>>,
}

/// The most small buffers kept: 5,000 packets of the usual size are 8 MB.
const SPARE: usize = 5_000;
/// The most super-packet buffers kept: two batches.
const LARGE: usize = 64;
/// The largest frame that has a small buffer.
const SMALL: usize = 4_096;
/// The usual frame.
const USUAL: usize = OFFLOAD + ETHERNET + 1500;

impl Default for FrameBuffers {
    fn default() -> Self {
        Self { small: BufferPool::new(SPARE), large: BufferPool::new(LARGE) }
    }
}

impl FrameBuffers {
    /// A copy of `frame`, in a reused buffer where there is one.
    pub(super) fn copy(&mut self, frame: &[u8]) -> Vec<u8> {
        let spare = if frame.len() <= SMALL { self.small.take() } else { self.large.take() };
        let mut copy = spare.unwrap_or_else(|| Vec::with_capacity(frame.len().max(USUAL)));
        copy.extend_from_slice(frame);
        copy
    }

    pub(super) fn recycle(&mut self, mut buffer: Vec<u8>) {
        buffer.clear();
        // A super-packet's buffer would keep 64 kB for a packet of 1500.
        match buffer.capacity() <= SMALL {
            true => self.small.give_back(buffer),
            false => self.large.give_back(buffer),
        }
    }
}
