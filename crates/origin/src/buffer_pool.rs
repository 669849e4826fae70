//! Buffers that connections borrow while requests are in progress. The one rule: last in, first out, because the
//! buffer used last is still in the processor's caches.

use crate::exchange::Exchange;
use std::collections::VecDeque;
use transport::BufferPools;

/// The most buffers of each kind in the pool.
const WAITING: usize = 64;

/// The largest capacity of a list that is kept.
const EXCHANGES: usize = 64;

/// Buffers that no connection uses, the one used last on top.
#[derive(Debug, Default)]
pub(crate) struct BufferPool {
    pub(crate) requests: BufferPools,
    exchanges: Vec<VecDeque<Exchange>>,
}

impl BufferPool {
    /// Gives a list without capacity one from the pool, or place for one request.
    pub(crate) fn lend(&mut self, exchanges: &mut VecDeque<Exchange>) {
        if exchanges.capacity() == 0 {
            *exchanges = self.exchanges.pop().unwrap_or_else(|| VecDeque::with_capacity(1));
        }
    }

    /// Takes back the buffer of a list that is not used any more.
    pub(crate) fn take_back(&mut self, exchanges: &mut VecDeque<Exchange>) {
        let list = std::mem::take(exchanges);
        if self.exchanges.len() < WAITING && (1..=EXCHANGES).contains(&list.capacity()) {
            debug_assert!(list.is_empty(), "exchanges that are under way stay");
            self.exchanges.push(list);
        }
    }
}
