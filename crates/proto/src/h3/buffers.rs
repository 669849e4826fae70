//! What requests need while they are under way, kept for the next ones. The one rule: a connection has some only while it has
//! requests; between them they are in a pool for all connections of a thread.

use super::stream::Stream;
use crate::message::RequestHead;
use bytes::Bytes;
use std::collections::VecDeque;

/// Heads and streams kept of each connection. A busy connection has a few dozen at a time.
const KEPT: usize = 64;

/// Bytes that the buffers of a head have at most that is kept.
const HEAD_CAPACITY: usize = 2 * 1024;

/// Connections' buffers in a pool at most.
const WAITING: usize = 64;

/// Buffers of idle connections, for those that have requests. What was used a moment ago is in the processor's caches.
#[derive(Debug, Default)]
pub struct BufferPool {
    waiting: Vec<Buffers>,
}

/// The buffers of one connection.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "heads and streams go from hand to hand by their address")]
pub(super) struct Buffers {
    heads: Vec<Box<RequestHead>>,
    streams: Vec<Box<Stream>>,
    /// Responses that wait without their streams. Between requests it is empty.
    pub(super) released: VecDeque<(u64, Bytes)>,
}

impl Buffers {
    /// A head whose buffers may have been used before; None where there is none.
    pub(super) fn head(&mut self) -> Option<Box<RequestHead>> {
        self.heads.pop()
    }

    /// Takes a head that is done with.
    pub(super) fn keep_head(&mut self, head: Box<RequestHead>) {
        if self.heads.len() < KEPT && head.capacity() <= HEAD_CAPACITY {
            self.heads.push(head);
        }
    }

    /// A new stream.
    pub(super) fn stream(&mut self) -> Box<Stream> {
        self.streams.pop().unwrap_or_else(|| Box::new(Stream::new()))
    }

    /// Takes a stream that is over.
    pub(super) fn keep_stream(&mut self, mut stream: Box<Stream>) {
        if self.streams.len() < KEPT {
            stream.renew();
            self.streams.push(stream);
        }
    }

    /// Takes what a pool has, where this has nothing.
    pub(super) fn take_from(&mut self, pool: &mut BufferPool) {
        if self.capacity() == 0
            && let Some(buffers) = pool.waiting.pop()
        {
            *self = buffers;
        }
    }

    /// Gives everything to a pool.
    pub(super) fn return_to(&mut self, pool: &mut BufferPool) {
        if self.capacity() > 0 {
            let mut buffers = std::mem::take(self);
            buffers.released.shrink_to(KEPT);
            if pool.waiting.len() < WAITING {
                pool.waiting.push(buffers);
            }
        }
    }

    /// Places for buffers, of all kinds.
    fn capacity(&self) -> usize {
        self.heads.capacity() + self.streams.capacity() + self.released.capacity()
    }
}
