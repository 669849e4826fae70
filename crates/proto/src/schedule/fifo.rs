//! First in, first out: the stream that was opened first sends until it has nothing more to send.
//!
//! "First" is by [`Scheduler::insert`], not by stream identifier (a pushed stream's even identifier
//! says nothing about when it was promised) and not by when a stream became ready: a stream that had
//! no credit for a while keeps its place. This is what a server does that knows of no priorities and
//! no fairness: the policy that others are measured against.

use super::heap::{Heap, Positions};
use super::slots::Slots;
use super::{Priority, Scheduler};
use crate::stream_id::StreamId;

/// Streams in order of opening. An operation takes logarithmic time; `next` and `sent` constant time.
#[derive(Debug, Default)]
pub struct Fifo {
    streams: Slots<Stream>,
    ready: Heap<Opened>,
    positions: Positions,
    opened: u64,
}

/// When a stream was opened, counted in streams; then its name.
type Opened = (u64, StreamId);

#[derive(Debug, Clone, Copy)]
struct Stream {
    opened: u64,
    ready: bool,
}

impl Fifo {
    /// No streams yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Scheduler for Fifo {
    fn insert(&mut self, stream: StreamId, _priority: Priority) {
        if self.streams.find(stream).is_some() {
            return;
        }
        self.opened += 1;
        self.streams.find_or_insert(stream, Stream { opened: self.opened, ready: false });
        self.positions.grow(self.streams.capacity());
    }

    fn reprioritise(&mut self, _stream: StreamId, _priority: Priority) {}

    fn remove(&mut self, stream: StreamId) {
        self.blocked(stream);
        self.streams.remove(stream);
    }

    fn ready(&mut self, stream: StreamId) {
        let Some(slot) = self.streams.find(stream) else { return };
        let opened = self.streams[slot].opened;
        if !std::mem::replace(&mut self.streams[slot].ready, true) {
            self.ready.push((opened, stream), slot, &mut self.positions);
        }
    }

    fn blocked(&mut self, stream: StreamId) {
        let Some(slot) = self.streams.find(stream) else { return };
        if std::mem::take(&mut self.streams[slot].ready) {
            self.ready.remove(slot, &mut self.positions);
        }
    }

    fn next(&mut self) -> Option<StreamId> {
        self.ready.first().map(|((_, stream), _)| stream)
    }

    fn sent(&mut self, _stream: StreamId, _bytes: usize) {}
}
