//! When to look after which socket. An entry that has become too early costs one look; a socket
//! pushes a new one only when its deadline comes forward.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use unit::Instant;

/// A socket's place and serial number: the number tells it from its successors at that place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) place: usize,
    pub(crate) serial: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Instant, Key)>>,
}

impl Timers {
    pub(crate) fn push(&mut self, at: Instant, key: Key) {
        self.heap.push(Reverse((at, key)));
    }

    /// The next time to look.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// One socket whose time has come.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(Instant, Key)> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry)
    }
}
