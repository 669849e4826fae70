//! Every ready stream in turn, a frame each, whatever its rank.

use super::{Priority, Scheduler};
use crate::connection::StreamId;
use std::collections::VecDeque;

/// Equal turns for all ready streams.
#[derive(Debug, Default)]
pub struct RoundRobin {
    turns: VecDeque<StreamId>,
}

impl RoundRobin {
    /// No streams yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Scheduler for RoundRobin {
    fn insert(&mut self, _stream: StreamId, _priority: Priority) {}

    fn reprioritise(&mut self, _stream: StreamId, _priority: Priority) {}

    fn remove(&mut self, stream: StreamId) {
        self.blocked(stream);
    }

    fn ready(&mut self, stream: StreamId) {
        if !self.turns.contains(&stream) {
            self.turns.push_back(stream);
        }
    }

    fn blocked(&mut self, stream: StreamId) {
        self.turns.retain(|&turn| turn != stream);
    }

    fn next(&mut self) -> Option<StreamId> {
        self.turns.front().copied()
    }

    fn sent(&mut self, stream: StreamId, _octets: usize) {
        if self.turns.front() == Some(&stream) {
            self.turns.rotate_left(1);
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
}
