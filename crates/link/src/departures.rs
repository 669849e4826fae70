//! Packets on their way: they leave in the order of their times, and those of one time in the order in which they came. The
//! one rule: most links delay all packets of a direction alike, and there adding and taking cost the same however many
//! are under way.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};
use trace::Direction;
use unit::Instant;

/// A packet that has passed the bottleneck.
#[derive(Debug)]
pub(crate) struct UnderWay<P> {
    /// When it leaves.
    pub(crate) due: Instant,
    pub(crate) direction: Direction,
    pub(crate) is_marked: bool,
    pub(crate) packet: P,
}

/// All packets on their way, in both directions.
#[derive(Debug)]
pub(crate) struct Departures<P> {
    /// Of each direction the packets that leave after all that came before them.
    in_order: [VecDeque<Numbered<P>>; 2],
    /// Those that overtake a packet of their direction.
    overtaking: BinaryHeap<Numbered<P>>,
    /// How many were added.
    count: u64,
}

/// A packet and how many were added before it.
#[derive(Debug)]
struct Numbered<P> {
    number: u64,
    under_way: UnderWay<P>,
}

/// Where the next packet to leave stands.
#[derive(Debug, Clone, Copy)]
enum Next {
    InOrder(usize),
    Overtaking,
}

impl<P> Departures<P> {
    pub(crate) fn new() -> Self {
        let in_order = [VecDeque::new(), VecDeque::new()];
        Self { in_order, overtaking: BinaryHeap::new(), count: 0 }
    }

    pub(crate) fn add(&mut self, under_way: UnderWay<P>) {
        let queue = &mut self.in_order[under_way.direction.index()];
        let overtakes = queue.back().is_some_and(|last| last.under_way.due > under_way.due);
        let numbered = Numbered { number: self.count, under_way };
        self.count += 1;
        match overtakes {
            false => queue.push_back(numbered),
            true => self.overtaking.push(numbered),
        }
    }

    /// When the next packet leaves.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.next().map(|((due, _), _)| due)
    }

    /// Takes the next packet, if it leaves at `now` or before.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<UnderWay<P>> {
        let ((due, _), next) = self.next()?;
        if due > now {
            return None;
        }
        let numbered = match next {
            Next::InOrder(direction) => self.in_order[direction].pop_front(),
            Next::Overtaking => self.overtaking.pop(),
        };
        numbered.map(|numbered| numbered.under_way)
    }

    pub(crate) fn len(&self) -> usize {
        self.in_order.iter().map(VecDeque::len).sum::<usize>() + self.overtaking.len()
    }

    fn next(&self) -> Option<((Instant, u64), Next)> {
        let [down, up] = [0, 1].map(|direction| {
            self.in_order[direction].front().map(|first| (first.key(), Next::InOrder(direction)))
        });
        let overtaking = self.overtaking.peek().map(|first| (first.key(), Next::Overtaking));
        [down, up, overtaking].into_iter().flatten().min_by_key(|(key, _)| *key)
    }
}

impl<P> Numbered<P> {
    fn key(&self) -> (Instant, u64) {
        (self.under_way.due, self.number)
    }
}

impl<P> Ord for Numbered<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        // Reversed: the heap's greatest leaves first.
        other.key().cmp(&self.key())
    }
}

impl<P> PartialOrd for Numbered<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> PartialEq for Numbered<P> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<P> Eq for Numbered<P> {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// As a list that is sorted by time each time, and keeps the order of what has one time.
        #[test]
        fn packets_leave_by_their_times_and_those_of_one_time_as_they_came(
            steps in proptest::collection::vec((0..2_usize, 0..20_u64, any::<bool>()), 0..120),
        ) {
            let (mut departures, mut plain) = (Departures::new(), Vec::new());
            for (packet, (direction, nanos, takes)) in steps.into_iter().enumerate() {
                let (due, direction) = (Instant::from_nanos(nanos), Direction::BOTH[direction]);
                if takes {
                    plain.sort_by_key(|(at, _)| *at);
                    let first = plain.first().copied().filter(|(at, _)| *at <= due);
                    let taken = departures.take_due(due).map(|one| (one.due, one.packet));
                    prop_assert_eq!(taken, first);
                    plain.retain(|one| Some(*one) != first);
                } else {
                    departures.add(UnderWay { due, direction, is_marked: false, packet });
                    plain.push((due, packet));
                }
                let next = plain.iter().map(|(at, _)| *at).min();
                prop_assert_eq!((departures.next_due(), departures.len()), (next, plain.len()));
            }
        }
    }
}
