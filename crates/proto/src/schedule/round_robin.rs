//! Every ready stream in turn, a frame each, whatever its rank.

use super::slots::{Slot, Slots};
use super::{Priority, Scheduler};
use crate::StreamId;

/// Equal turns for all ready streams. Every operation takes constant time: the ready streams are a
/// ring, linked by slot.
#[derive(Debug, Default)]
pub struct RoundRobin {
    streams: Slots<Stream>,
    /// Whose turn it is; None where no stream is ready.
    turn: Option<Slot>,
}

#[derive(Debug, Clone, Copy)]
struct Stream {
    name: StreamId,
    /// Its place in the ring; None while it is not ready.
    neighbours: Option<Neighbours>,
}

#[derive(Debug, Clone, Copy)]
struct Neighbours {
    before: Slot,
    after: Slot,
}

impl RoundRobin {
    /// The open streams, and whether each is ready, in order.
    pub(super) fn streams(&self) -> Vec<(StreamId, bool)> {
        let streams = self.streams.iter();
        let mut streams: Vec<_> = streams.map(|(name, s)| (name, s.neighbours.is_some())).collect();
        streams.sort_unstable();
        streams
    }

    /// Takes a stream out of the ring, where it is in it.
    fn leave(&mut self, slot: Slot) {
        let Some(Neighbours { before, after }) = self.streams[slot].neighbours.take() else {
            return;
        };
        self.link(before, after);
        if self.turn == Some(slot) {
            self.turn = (after != slot).then_some(after);
        }
    }

    fn link(&mut self, before: Slot, after: Slot) {
        if let Some(neighbours) = &mut self.streams[before].neighbours {
            neighbours.after = after;
        }
        if let Some(neighbours) = &mut self.streams[after].neighbours {
            neighbours.before = before;
        }
    }
}

impl Scheduler for RoundRobin {
    fn insert(&mut self, stream: StreamId, _priority: Priority) {
        self.streams.find_or_insert(stream, Stream { name: stream, neighbours: None });
    }

    fn reprioritise(&mut self, _stream: StreamId, _priority: Priority) {}

    fn remove(&mut self, stream: StreamId) {
        if let Some(slot) = self.streams.remove(stream) {
            self.leave(slot);
        }
    }

    fn ready(&mut self, stream: StreamId) {
        let Some(slot) = self.streams.find(stream) else { return };
        if self.streams[slot].neighbours.is_some() {
            return;
        }
        // The end of the round is just before whose turn it is.
        let turn = *self.turn.get_or_insert(slot);
        let last = self.streams[turn].neighbours.map_or(slot, |neighbours| neighbours.before);
        self.streams[slot].neighbours = Some(Neighbours { before: last, after: turn });
        self.link(last, slot);
        self.link(slot, turn);
    }

    fn blocked(&mut self, stream: StreamId) {
        if let Some(slot) = self.streams.find(stream) {
            self.leave(slot);
        }
    }

    fn next(&mut self) -> Option<StreamId> {
        self.turn.map(|slot| self.streams[slot].name)
    }

    fn sent(&mut self, stream: StreamId, _bytes: usize) {
        if let Some(turn) = self.turn.map(|slot| self.streams[slot])
            && turn.name == stream
        {
            self.turn = turn.neighbours.map(|neighbours| neighbours.after);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_streams_take_turns() {
        let mut scheduler = RoundRobin::default();
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
        let mut scheduler = RoundRobin::default();
        (0..8).for_each(|id| scheduler.insert(StreamId(id), Priority::Unset));
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
