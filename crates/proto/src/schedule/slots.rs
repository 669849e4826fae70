//! What a policy knows of each stream, in a vector: one hash of the identifier finds the slot, and
//! queues name streams by slot.

use crate::{IdMap, StreamId};
use std::collections::hash_map::Entry;

/// The place of a stream in the vectors of a policy. It is reused after the stream is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Slot(u32);

impl Slot {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Values by stream.
#[derive(Debug)]
pub(super) struct Slots<T> {
    slots: IdMap<StreamId, Slot>,
    values: Vec<T>,
    free: Vec<Slot>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { slots: IdMap::default(), values: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    /// Streams.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn find(&self, stream: StreamId) -> Option<Slot> {
        self.slots.get(&stream).copied()
    }

    /// The slot of a stream, which is added with this value where it is not there.
    pub(super) fn find_or_insert(&mut self, stream: StreamId, value: T) -> Slot {
        let entry = match self.slots.entry(stream) {
            Entry::Occupied(entry) => return *entry.get(),
            Entry::Vacant(entry) => entry,
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.values[slot.index()] = value;
                slot
            }
            None => {
                self.values.push(value);
                Slot(self.values.len() as u32 - 1)
            }
        };
        *entry.insert(slot)
    }

    /// Forgets a stream. Its slot may name another one from now on.
    pub(super) fn remove(&mut self, stream: StreamId) -> Option<Slot> {
        let slot = self.slots.remove(&stream)?;
        self.free.push(slot);
        Some(slot)
    }

    /// Slots in use and free.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.values.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (StreamId, &T)> {
        self.slots.iter().map(|(&stream, &slot)| (stream, &self[slot]))
    }
}

impl<T> std::ops::Index<Slot> for Slots<T> {
    type Output = T;

    fn index(&self, slot: Slot) -> &T {
        &self.values[slot.index()]
    }
}

impl<T> std::ops::IndexMut<Slot> for Slots<T> {
    fn index_mut(&mut self, slot: Slot) -> &mut T {
        &mut self.values[slot.index()]
    }
}
