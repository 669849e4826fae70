//! Extensible priorities (RFC 9218 §4, §10): an urgency sends only while no more urgent one can.
//! Within an urgency, streams that are not incremental send one after another in stream order, and
//! incremental ones share.
//!
//! Where an urgency has streams of both kinds, the stream whose turn it is among the
//! non-incremental ones has one half of the bytes and the incremental ones have the other. §10 names both orders
//! that can go wrong (a large non-incremental response before a small incremental one; an endless
//! incremental one before a non-incremental one), recommends that servers avoid such starvation, and leaves
//! the method to them. What others do: Go's `x/net/http2` alternates, as here; H2O (HTTP/3) lets an
//! incremental stream send its first part in stream order, and all else of it only after the non-incremental
//! ones; nghttp2 lets a non-incremental stream, once it is first, send until it is done. Both starve.
//!
//! Dependencies are ignored (§2.1). SPDY's levels count as urgencies of incremental streams.

use super::fair_queue::{FairQueue, Members};
use super::in_order::InOrder;
use super::slots::{Slot, Slots};
use super::{Incremental, Priority, PriorityField, Scheduler};
use crate::StreamId;

/// Eight urgencies. An operation takes logarithmic time; on the only stream of an urgency, and on streams that are not
/// incremental and come and go in order, constant time.
#[derive(Debug, Default)]
pub struct Rfc9218 {
    streams: Slots<Stream>,
    /// None for one that no ready stream has had. Most connections use one or two.
    urgencies: [Option<Box<Urgency>>; 8],
    /// Bit n is set while urgency n has a ready stream.
    occupied: u8,
    members: Members,
}

#[derive(Debug, Clone, Copy)]
struct Stream {
    name: StreamId,
    /// What the client says.
    asked: PriorityField,
    /// What the response says.
    answered: PriorityField,
    /// What follows from both.
    rank: (u8, Incremental),
    ready: bool,
}

/// The ready streams of one urgency.
#[derive(Debug, Default)]
struct Urgency {
    /// The non-incremental ones, in stream order (§10).
    whole: InOrder,
    /// The incremental ones.
    parts: FairQueue,
    /// Bytes that the non-incremental ones have had more than the incremental ones.
    ahead: i64,
}

impl Rfc9218 {
    /// The open streams, and whether each is ready, in order.
    pub(super) fn streams(&self) -> Vec<(StreamId, bool)> {
        let mut streams: Vec<_> = self.streams.iter().map(|(name, s)| (name, s.ready)).collect();
        streams.sort_unstable();
        streams
    }
}

impl Scheduler for Rfc9218 {
    fn insert(&mut self, stream: StreamId, priority: Priority) {
        let asked = field(priority).unwrap_or_default();
        let answered = PriorityField::default();
        let rank = asked.or_defaults();
        let known = Stream { name: stream, asked, answered, rank, ready: false };
        let before = self.streams.len();
        let slot = self.streams.find_or_insert(stream, known);
        if self.streams.len() == before {
            return self.reprioritise(stream, priority);
        }
        self.members.insert(slot, WEIGHT);
    }

    fn reprioritise(&mut self, stream: StreamId, priority: Priority) {
        if let (Some(slot), Some(asked)) = (self.streams.find(stream), field(priority)) {
            self.change(slot, |stream| stream.asked = asked);
        }
    }

    fn merge_response(&mut self, stream: StreamId, field: PriorityField) {
        if let Some(slot) = self.streams.find(stream) {
            self.change(slot, |stream| stream.answered = field);
        }
    }

    fn remove(&mut self, stream: StreamId) {
        let Some(slot) = self.streams.remove(stream) else { return };
        // The slot keeps its value until another stream takes it.
        if self.streams[slot].ready {
            self.leave(slot);
        }
    }

    fn ready(&mut self, stream: StreamId) {
        let Some(slot) = self.streams.find(stream) else { return };
        if !std::mem::replace(&mut self.streams[slot].ready, true) {
            self.join(slot);
        }
    }

    fn blocked(&mut self, stream: StreamId) {
        let Some(slot) = self.streams.find(stream) else { return };
        if std::mem::take(&mut self.streams[slot].ready) {
            self.leave(slot);
        }
    }

    fn next(&mut self) -> Option<StreamId> {
        let urgency = self.urgencies.get(self.occupied.trailing_zeros() as usize)?.as_ref()?;
        let whole = urgency.whole.first();
        if whole.is_some() && (urgency.ahead <= 0 || urgency.parts.is_empty()) {
            return whole;
        }
        urgency.parts.first().map(|slot| self.streams[slot].name)
    }

    fn goes_by_number(&self) -> bool {
        true
    }

    fn sent(&mut self, stream: StreamId, bytes: usize) {
        let Some(slot) = self.streams.find(stream).filter(|&slot| self.streams[slot].ready) else {
            return;
        };
        let (urgency, incremental) = self.streams[slot].rank;
        let Some(urgency) = &mut self.urgencies[urgency as usize] else { return };
        let mixed = !urgency.whole.is_empty() && !urgency.parts.is_empty();
        let bytes_ahead = if mixed { bytes as i64 } else { 0 };
        match incremental {
            Incremental::Whole => urgency.ahead += bytes_ahead,
            Incremental::Parts => {
                urgency.ahead -= bytes_ahead;
                urgency.parts.charge(slot, bytes, &mut self.members);
            }
        }
    }
}

impl Rfc9218 {
    fn change(&mut self, slot: Slot, change: impl FnOnce(&mut Stream)) {
        let before = self.streams[slot];
        let mut stream = before;
        change(&mut stream);
        stream.rank = stream.asked.merge(stream.answered).or_defaults();
        if stream.rank == before.rank {
            self.streams[slot] = stream;
            return;
        }
        if stream.ready {
            self.leave(slot);
        }
        self.streams[slot] = stream;
        self.members.renew(slot, WEIGHT);
        if stream.ready {
            self.join(slot);
        }
    }

    fn join(&mut self, slot: Slot) {
        let stream = &self.streams[slot];
        let (level, incremental) = stream.rank;
        let urgency = self.urgencies[level as usize].get_or_insert_default();
        match incremental {
            Incremental::Whole => {
                urgency.whole.insert(stream.name);
            }
            Incremental::Parts => urgency.parts.join(slot, &mut self.members),
        }
        self.occupied |= 1 << level;
    }

    fn leave(&mut self, slot: Slot) {
        let stream = &self.streams[slot];
        let (level, incremental) = stream.rank;
        let Some(urgency) = &mut self.urgencies[level as usize] else { return };
        match incremental {
            Incremental::Whole => {
                urgency.whole.remove(stream.name);
            }
            Incremental::Parts => urgency.parts.leave(slot, &mut self.members),
        }
        if urgency.whole.is_empty() && urgency.parts.is_empty() {
            urgency.ahead = 0;
            self.occupied &= !(1 << level);
        }
    }
}

/// What a priority says in this policy's terms; None where it says nothing.
fn field(priority: Priority) -> Option<PriorityField> {
    let (urgency, incremental) = match priority {
        Priority::Urgency { urgency, incremental } => (urgency, incremental),
        Priority::Level(level) => (level, Incremental::Parts),
        Priority::Unset | Priority::Dependency { .. } | Priority::Decided { .. } => return None,
    };
    Some(PriorityField { urgency: Some(urgency.min(7)), incremental: Some(incremental) })
}

/// Incremental streams of an urgency have equal shares.
const WEIGHT: u32 = 1;
