//! The timers of all sockets. An entry that has become too early costs one look; a socket
//! pushes a new one only when its deadline comes forward. Entries of sockets that are gone are cleared
//! out when they are the most: connections that come and go by thousands a second would otherwise be
//! remembered for as long as the longest time-out.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use unit::Instant;

/// A socket's place and serial number: the number tells it from its successors at that place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) place: usize,
    pub(crate) serial: u64,
}

/// Entries that are not worth the trouble.
const FEW: usize = 1024;

#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Instant, Key)>>,
}

impl Timers {
    pub(crate) fn push(&mut self, at: Instant, key: Key) {
        self.heap.push(Reverse((at, key)));
    }

    /// Removes stale entries once they may be the majority: each of the `sockets` waits for one entry at most. Amortised
    /// constant time for each push.
    pub(crate) fn tidy(&mut self, sockets: usize, is_awaited: impl Fn(Instant, Key) -> bool) {
        if self.heap.len() > 4 * sockets + FEW {
            self.heap.retain(|&Reverse((at, key))| is_awaited(at, key));
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_sockets_that_are_gone_have_left_is_bounded() {
        let mut timers = Timers::default();
        let due =
            |serial: u64| Instant::ZERO + Duration::from_secs(75) + Duration::from_nanos(serial);
        for serial in 0..100_000 {
            timers.push(due(serial), Key { place: 0, serial });
            timers.tidy(1, |_, key| key.serial == serial);
            assert!(timers.heap.len() <= FEW + 4, "{}", timers.heap.len());
        }
        let last = Key { place: 0, serial: 99_999 };
        let found = std::iter::from_fn(|| timers.pop(due(100_000))).any(|(_, key)| key == last);
        assert!(found, "what is awaited is kept");
    }
}
