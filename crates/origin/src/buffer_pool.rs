//! Buffers that connections borrow while a request is under way. The one rule: last in, first out, because the buffer
//! used last is still in the processor's caches.

use crate::exchange::Exchange;
use proto::h1;
use std::collections::VecDeque;

/// Buffers of each kind that wait, at most.
const WAITING: usize = 64;

/// The largest capacity of a list that is kept.
const EXCHANGES: usize = 32;

/// Buffers that no connection needs just now, those used last on top.
#[derive(Debug, Default)]
pub(crate) struct BufferPool {
    pub(crate) requests: h1::BufferPool,
    exchanges: Vec<VecDeque<Exchange>>,
}

impl BufferPool {
    /// Gives a list that has none its capacity.
    pub(crate) fn lend(&mut self, exchanges: &mut VecDeque<Exchange>) {
        if exchanges.capacity() == 0
            && let Some(list) = self.exchanges.pop()
        {
            *exchanges = list;
        }
    }

    /// Takes back what a connection does not need any more.
    pub(crate) fn take_back(&mut self, exchanges: &mut VecDeque<Exchange>) {
        let list = std::mem::take(exchanges);
        if self.exchanges.len() < WAITING && (1..=EXCHANGES).contains(&list.capacity()) {
            debug_assert!(list.is_empty(), "exchanges that are under way stay");
            self.exchanges.push(list);
        }
    }
}
