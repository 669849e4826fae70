//! Planned events by time. The one rule: events planned for the same time happen in the order of their planning.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use unit::Instant;

/// A heap of events by their time.
#[derive(Debug)]
pub(crate) struct Agenda<T> {
    heap: BinaryHeap<Planned<T>>,
    planned: u64,
}

#[derive(Debug)]
struct Planned<T> {
    at: Instant,
    number: u64,
    event: T,
}

impl<T> Agenda<T> {
    pub(crate) fn new() -> Self {
        Self { heap: BinaryHeap::new(), planned: 0 }
    }

    pub(crate) fn plan(&mut self, at: Instant, event: T) {
        self.heap.push(Planned { at, number: self.planned, event });
        self.planned += 1;
    }

    /// When the next event is due.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.heap.peek().map(|next| next.at)
    }

    /// Drops the events before the first one that still matters.
    pub(crate) fn forget(&mut self, is_moot: impl Fn(&T) -> bool) {
        while self.heap.peek().is_some_and(|next| is_moot(&next.event)) {
            self.heap.pop();
        }
    }

    /// The next event, where it is due at `now`.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<T> {
        if self.next_at()? > now {
            return None;
        }
        self.heap.pop().map(|next| next.event)
    }
}

impl<T> Ord for Planned<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        // Reversed: the heap's greatest is the earliest.
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<T> PartialOrd for Planned<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Planned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Planned<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_come_in_the_order_of_planning() {
        let mut agenda = Agenda::new();
        let (early, late) = (Instant::from_nanos(1), Instant::from_nanos(2));
        for (at, event) in [(late, "c"), (early, "a"), (late, "d"), (early, "b")] {
            agenda.plan(at, event);
        }
        let all: String = std::iter::from_fn(|| agenda.pop(late)).collect();
        assert_eq!(all, "abcd");
    }

    #[test]
    fn nothing_happens_before_its_time() {
        let mut agenda = Agenda::new();
        agenda.plan(Instant::from_nanos(2), ());
        assert_eq!(agenda.pop(Instant::from_nanos(1)), None);
        assert_eq!(agenda.pop(Instant::from_nanos(2)), Some(()));
    }
}
