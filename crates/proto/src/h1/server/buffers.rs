//! Buffers that a connection needs while a request is under way, and not between two.

use super::exchange::Exchange;
use super::header_cache::HeaderBlockCache;
use crate::RequestHead;
use crate::h1::outgoing::Outgoing;
use std::collections::VecDeque;

/// Sets of buffers that wait, at most.
const WAITING: usize = 64;

/// Buffers of idle connections, for those that have requests. What was used a moment ago is in the processor's caches;
/// a connection's own buffers of some milliseconds ago are not.
#[derive(Debug, Default)]
pub struct BufferPool {
    #[expect(clippy::vec_box, reason = "buffers go from hand to hand by their address")]
    waiting: Vec<Box<Buffers>>,
}

impl BufferPool {
    pub(super) fn take(&mut self) -> Option<Box<Buffers>> {
        self.waiting.pop()
    }

    pub(super) fn put(&mut self, buffers: Box<Buffers>) {
        if self.waiting.len() < WAITING {
            self.waiting.push(buffers);
        }
    }

    #[cfg(test)]
    pub(in crate::h1) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether the last buffers hold a request's field lines.
    #[cfg(test)]
    pub(in crate::h1) fn keeps_lines(&self) -> bool {
        self.waiting.last().is_some_and(|buffers| !buffers.cache.is_empty())
    }
}

/// One connection's buffers.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// Empty while it waits: only its memory counts.
    pub(super) exchanges: VecDeque<Exchange>,
    /// What the exchange that ended last has left, for the next.
    pub(super) out: Option<Box<Outgoing>>,
    /// A head whose buffers the next request takes.
    pub(super) head: Option<Box<RequestHead>>,
    pub(super) cache: HeaderBlockCache,
}
