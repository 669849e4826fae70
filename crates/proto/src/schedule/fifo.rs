//! First in, first out: the stream that was opened first sends until it has nothing more to send.
//!
//! "First" is by [`Scheduler::insert`], not by stream identifier (a pushed stream's even identifier
//! says nothing about when it was promised) and not by when a stream became ready: a stream that had
//! no credit for a while keeps its place. This is what a server does that knows of no priorities and
//! no fairness: the policy that others are measured against.

use super::{Priority, Scheduler};
use crate::{IdMap, StreamId};
use std::collections::BTreeSet;
use std::collections::hash_map::Entry;

/// Streams in order of opening. An operation takes logarithmic time; `next` and `sent` constant time.
#[derive(Debug, Default)]
pub struct Fifo {
    /// When each stream was opened, counted in streams.
    streams: IdMap<StreamId, u64>,
    /// The ready ones, by that.
    ready: BTreeSet<(u64, StreamId)>,
    opened: u64,
}

impl Scheduler for Fifo {
    fn insert(&mut self, stream: StreamId, _priority: Priority) {
        if let Entry::Vacant(entry) = self.streams.entry(stream) {
            self.opened += 1;
            entry.insert(self.opened);
        }
    }

    fn reprioritise(&mut self, _stream: StreamId, _priority: Priority) {}

    fn remove(&mut self, stream: StreamId) {
        self.blocked(stream);
        self.streams.remove(&stream);
    }

    fn ready(&mut self, stream: StreamId) {
        if let Some(&opened) = self.streams.get(&stream) {
            self.ready.insert((opened, stream));
        }
    }

    fn blocked(&mut self, stream: StreamId) {
        if let Some(&opened) = self.streams.get(&stream) {
            self.ready.remove(&(opened, stream));
        }
    }

    fn next(&mut self) -> Option<StreamId> {
        self.ready.first().map(|&(_, stream)| stream)
    }

    fn sent(&mut self, _stream: StreamId, _bytes: usize) {}
}
