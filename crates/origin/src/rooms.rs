//! Room that connections have only while they answer something. The one rule: what one connection gives back, the next
//! one takes: it is in the processor's caches, where a connection's own from some milliseconds ago is not.

use crate::exchange::Exchange;
use proto::h1;
use std::collections::VecDeque;

/// Rooms of each kind that wait, at most.
const WAITING: usize = 64;

/// Exchanges that a waiting list has room for, at most.
const EXCHANGES: usize = 32;

/// Rooms that no connection needs just now, those used last on top.
#[derive(Debug, Default)]
pub(crate) struct Rooms {
    pub(crate) requests: h1::BufferPool,
    exchanges: Vec<VecDeque<Exchange>>,
}

impl Rooms {
    /// Gives a list room.
    pub(crate) fn lend(&mut self, exchanges: &mut VecDeque<Exchange>) {
        if exchanges.capacity() == 0
            && let Some(room) = self.exchanges.pop()
        {
            *exchanges = room;
        }
    }

    /// Takes back what the connection does not need any more.
    pub(crate) fn take_back(&mut self, exchanges: &mut VecDeque<Exchange>) {
        let room = std::mem::take(exchanges);
        if self.exchanges.len() < WAITING && (1..=EXCHANGES).contains(&room.capacity()) {
            debug_assert!(room.is_empty(), "exchanges that are under way stay");
            self.exchanges.push(room);
        }
    }
}
