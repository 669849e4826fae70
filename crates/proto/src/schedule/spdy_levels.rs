//! SPDY's priorities: levels 0 to 7 (SPDY/3 §2.3.3, "Stream priority"). A level sends only while no
//! lower-numbered one can; within a level each stream has a frame in turn.
//!
//! The specification asks a server to make "best-effort" of sending in order of priority and
//! says nothing about equals; here they take turns. Priorities of other protocols count as the nearest
//! level ([`Priority::level`]).

use super::round_robin::RoundRobin;
use super::{Priority, Scheduler};
use crate::id_map::IdMap;
use crate::stream_id::StreamId;

/// Eight rings. Every operation takes constant time.
#[derive(Debug, Default)]
pub struct SpdyLevels {
    levels: [RoundRobin; 8],
    /// Bit n is set while level n has a ready stream.
    occupied: u8,
    streams: IdMap<StreamId, Stream>,
}

#[derive(Debug, Clone, Copy)]
struct Stream {
    level: u8,
    ready: bool,
}

impl SpdyLevels {
    /// No streams yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Scheduler for SpdyLevels {
    fn insert(&mut self, stream: StreamId, priority: Priority) {
        if self.streams.contains_key(&stream) {
            return self.reprioritise(stream, priority);
        }
        let level = priority.level().unwrap_or(DEFAULT_LEVEL);
        self.streams.insert(stream, Stream { level, ready: false });
    }

    fn reprioritise(&mut self, stream: StreamId, priority: Priority) {
        let (Some(level), Some(known)) = (priority.level(), self.streams.get_mut(&stream)) else {
            return;
        };
        let before = std::mem::replace(known, Stream { level, ready: known.ready });
        if before.ready && before.level != level {
            self.leave(before.level, stream);
            self.join(level, stream);
        }
    }

    fn remove(&mut self, stream: StreamId) {
        self.blocked(stream);
        self.streams.remove(&stream);
    }

    fn ready(&mut self, stream: StreamId) {
        let Some(known) = self.streams.get_mut(&stream) else { return };
        let level = known.level;
        if !std::mem::replace(&mut known.ready, true) {
            self.join(level, stream);
        }
    }

    fn blocked(&mut self, stream: StreamId) {
        let Some(known) = self.streams.get_mut(&stream) else { return };
        let level = known.level;
        if std::mem::take(&mut known.ready) {
            self.leave(level, stream);
        }
    }

    fn next(&mut self) -> Option<StreamId> {
        self.levels.get_mut(self.occupied.trailing_zeros() as usize)?.next()
    }

    fn sent(&mut self, stream: StreamId, bytes: usize) {
        if let Some(known) = self.streams.get(&stream) {
            self.levels[known.level as usize].sent(stream, bytes);
        }
    }
}

impl SpdyLevels {
    fn join(&mut self, level: u8, stream: StreamId) {
        let ring = &mut self.levels[level as usize];
        ring.insert(stream, Priority::Unset);
        ring.ready(stream);
        self.occupied |= 1 << level;
    }

    fn leave(&mut self, level: u8, stream: StreamId) {
        let ring = &mut self.levels[level as usize];
        ring.remove(stream);
        if ring.next().is_none() {
            self.occupied &= !(1 << level);
        }
    }
}

/// For a stream of which nobody said a level: the middle, as [`crate::spdy::Settings`] has it.
const DEFAULT_LEVEL: u8 = 3;
