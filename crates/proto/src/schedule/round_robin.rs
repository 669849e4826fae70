//! Every ready stream in turn, a frame each, whatever its rank.

use super::{Priority, Scheduler};
use crate::id_map::IdMap;
use crate::stream_id::StreamId;

/// Equal turns for all ready streams. Every operation takes constant time: the ready streams are a
/// ring whose links stand in a map.
#[derive(Debug, Default)]
pub struct RoundRobin {
    ring: IdMap<StreamId, Neighbours>,
    /// Whose turn it is; None where the ring is empty.
    turn: Option<StreamId>,
}

#[derive(Debug, Clone, Copy)]
struct Neighbours {
    before: StreamId,
    after: StreamId,
}

impl RoundRobin {
    /// No streams yet.
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn is_ready(&self, stream: StreamId) -> bool {
        self.ring.contains_key(&stream)
    }

    fn link(&mut self, before: StreamId, after: StreamId) {
        if let Some(neighbours) = self.ring.get_mut(&before) {
            neighbours.after = after;
        }
        if let Some(neighbours) = self.ring.get_mut(&after) {
            neighbours.before = before;
        }
    }
}

impl Scheduler for RoundRobin {
    fn insert(&mut self, _stream: StreamId, _priority: Priority) {}

    fn reprioritise(&mut self, _stream: StreamId, _priority: Priority) {}

    fn remove(&mut self, stream: StreamId) {
        self.blocked(stream);
    }

    fn ready(&mut self, stream: StreamId) {
        if self.ring.contains_key(&stream) {
            return;
        }
        // The end of the round is just before whose turn it is.
        let turn = *self.turn.get_or_insert(stream);
        let last = self.ring.get(&turn).map_or(stream, |neighbours| neighbours.before);
        self.ring.insert(stream, Neighbours { before: stream, after: stream });
        self.link(last, stream);
        self.link(stream, turn);
    }

    fn blocked(&mut self, stream: StreamId) {
        let Some(Neighbours { before, after }) = self.ring.remove(&stream) else { return };
        self.link(before, after);
        if self.turn == Some(stream) {
            self.turn = (after != stream).then_some(after);
        }
    }

    fn next(&mut self) -> Option<StreamId> {
        self.turn
    }

    fn sent(&mut self, stream: StreamId, _bytes: usize) {
        if self.turn == Some(stream) {
            self.turn = self.ring.get(&stream).map(|neighbours| neighbours.after);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_streams_take_turns() {
        let mut scheduler = RoundRobin::new();
        for id in [1, 3, 5] {
            scheduler.insert(StreamId(id), Priority::Unset);
            scheduler.ready(StreamId(id));
        }
        scheduler.ready(StreamId(3));
        scheduler.blocked(StreamId(5));
        let mut order = Vec::new();
        for _ in 0..4 {
            let stream = scheduler.next().unwrap();
            scheduler.sent(stream, 100);
            order.push(stream.0);
        }
        assert_eq!(order, [1, 3, 1, 3]);
    }

    #[test]
    fn the_ring_agrees_with_a_plain_queue_whatever_is_done_to_it() {
        let mut scheduler = RoundRobin::new();
        let mut queue = std::collections::VecDeque::new();
        let mut random = unit::Seed(1).child("ring").random();
        for _ in 0..20_000 {
            let stream = StreamId(random.below(8));
            match random.below(3) {
                0 => {
                    scheduler.ready(stream);
                    if !queue.contains(&stream) {
                        queue.push_back(stream);
                    }
                }
                1 => {
                    scheduler.blocked(stream);
                    queue.retain(|&other| other != stream);
                }
                _ => {
                    if let Some(stream) = scheduler.next() {
                        scheduler.sent(stream, 1);
                        queue.rotate_left(1);
                    }
                }
            }
            assert_eq!(scheduler.next(), queue.front().copied());
        }
    }
}
