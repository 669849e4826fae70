//! SPDY's priorities: levels 0 to 7 (SPDY/3 §2.3.3, "Stream priority"). A level sends only while no
//! lower-numbered one can; within a level each stream has a frame in turn.
//!
//! The specification asks a server to make "best-effort" of sending in order of priority and
//! says nothing about equals; here they take turns. Priorities of other protocols count as the nearest
//! level ([`Priority::level`]).

use super::{Priority, Scheduler};
use crate::{IdMap, StreamId};
use std::collections::BTreeSet;

/// Streams by level. An operation takes logarithmic time.
#[derive(Debug, Default)]
pub struct SpdyLevels {
    streams: IdMap<StreamId, Stream>,
    /// The ready ones, by level, then by turn.
    ready: BTreeSet<(u8, u64, StreamId)>,
    /// The last turn given.
    turns: u64,
}

#[derive(Debug, Clone, Copy)]
struct Stream {
    level: u8,
    /// Its turn, while it is ready.
    turn: Option<u64>,
}

impl Scheduler for SpdyLevels {
    fn insert(&mut self, stream: StreamId, priority: Priority) {
        if self.streams.contains_key(&stream) {
            return self.reprioritise(stream, priority);
        }
        let level = priority.level().unwrap_or(DEFAULT_LEVEL);
        self.streams.insert(stream, Stream { level, turn: None });
    }

    fn reprioritise(&mut self, stream: StreamId, priority: Priority) {
        let (Some(level), Some(known)) = (priority.level(), self.streams.get(&stream).copied())
        else {
            return;
        };
        if level != known.level {
            self.blocked(stream);
            self.streams.insert(stream, Stream { level, turn: None });
            if known.turn.is_some() {
                self.ready(stream);
            }
        }
    }

    fn remove(&mut self, stream: StreamId) {
        self.blocked(stream);
        self.streams.remove(&stream);
    }

    fn ready(&mut self, stream: StreamId) {
        let Some(known) = self.streams.get_mut(&stream) else { return };
        if known.turn.is_none() {
            self.turns += 1;
            known.turn = Some(self.turns);
            self.ready.insert((known.level, self.turns, stream));
        }
    }

    fn blocked(&mut self, stream: StreamId) {
        let Some(known) = self.streams.get_mut(&stream) else { return };
        if let Some(turn) = known.turn.take() {
            self.ready.remove(&(known.level, turn, stream));
        }
    }

    fn next(&mut self) -> Option<StreamId> {
        self.ready.first().map(|&(_, _, stream)| stream)
    }

    fn sent(&mut self, stream: StreamId, _bytes: usize) {
        if self.streams.get(&stream).is_some_and(|known| known.turn.is_some()) {
            // It takes the last turn of its level.
            self.blocked(stream);
            self.ready(stream);
        }
    }
}

/// For a stream of which nobody said a level: the middle, as [`crate::spdy::Settings`] has it.
const DEFAULT_LEVEL: u8 = 3;
