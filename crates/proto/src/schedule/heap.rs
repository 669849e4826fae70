//! A binary heap from which an entry in the middle can be taken: the positions of its entries are kept
//! outside, by slot, so that several heaps share one vector of positions. A slot is in one heap of
//! those that share a vector, or in none.

use super::slots::Slot;

/// Where each slot's entry stands in the heap that holds it.
#[derive(Debug, Default)]
pub(super) struct Positions(Vec<u32>);

impl Positions {
    /// Makes place for all slots below `slots`.
    pub(super) fn grow(&mut self, slots: usize) {
        if self.0.len() < slots {
            self.0.resize(slots, 0);
        }
    }
}

/// The smallest key first. All operations but the first look take logarithmic time.
#[derive(Debug)]
pub(super) struct Heap<K> {
    entries: Vec<(K, Slot)>,
}

impl<K> Default for Heap<K> {
    fn default() -> Self {
        Self { entries: Vec::new() }
    }
}

impl<K: Ord + Copy> Heap<K> {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn first(&self) -> Option<(K, Slot)> {
        self.entries.first().copied()
    }

    pub(super) fn push(&mut self, key: K, slot: Slot, positions: &mut Positions) {
        let at = self.entries.len();
        self.entries.push((key, slot));
        self.rise(at, positions);
    }

    /// Takes out the entry of a slot that is in this heap.
    pub(super) fn remove(&mut self, slot: Slot, positions: &mut Positions) {
        let at = positions.0[slot.index()] as usize;
        debug_assert_eq!(self.entries.get(at).map(|entry| entry.1), Some(slot));
        self.entries.swap_remove(at);
        if at < self.entries.len() {
            self.settle(at, positions);
        }
    }

    fn settle(&mut self, at: usize, positions: &mut Positions) {
        let at = self.rise(at, positions);
        self.sink(at, positions);
    }

    fn rise(&mut self, mut at: usize, positions: &mut Positions) -> usize {
        let entry = self.entries[at];
        while at > 0 {
            let above = (at - 1) / 2;
            if self.entries[above].0 <= entry.0 {
                break;
            }
            self.place(at, self.entries[above], positions);
            at = above;
        }
        self.place(at, entry, positions);
        at
    }

    fn sink(&mut self, mut at: usize, positions: &mut Positions) {
        let entry = self.entries[at];
        loop {
            let left = 2 * at + 1;
            let Some(mut least) = self.entries.get(left).copied() else { break };
            let mut below = left;
            if let Some(&right) = self.entries.get(left + 1).filter(|right| right.0 < least.0) {
                (least, below) = (right, left + 1);
            }
            if entry.0 <= least.0 {
                break;
            }
            self.place(at, least, positions);
            at = below;
        }
        self.place(at, entry, positions);
    }

    fn place(&mut self, at: usize, entry: (K, Slot), positions: &mut Positions) {
        positions.0[entry.1.index()] = at as u32;
        self.entries[at] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::slots::Slots;
    use crate::stream_id::StreamId;
    use std::collections::BTreeSet;

    #[test]
    fn it_agrees_with_a_sorted_set_whatever_is_done_to_it() {
        let (mut heap, mut positions, mut slots) =
            (Heap::default(), Positions::default(), Slots::default());
        let slots: Vec<Slot> = (0..40).map(|id| slots.find_or_insert(StreamId(id), ())).collect();
        positions.grow(slots.len());
        let mut keys = vec![None; slots.len()];
        let mut sorted = BTreeSet::new();
        let mut random = unit::Seed(1).child("heap").random();
        for count in 0..20_000 {
            let at = random.below(40) as usize;
            let key = (random.below(100), count);
            if let Some(old) = keys[at] {
                sorted.remove(&(old, slots[at]));
            }
            keys[at] = match keys[at] {
                None => {
                    heap.push(key, slots[at], &mut positions);
                    Some(key)
                }
                Some(_) => {
                    heap.remove(slots[at], &mut positions);
                    None
                }
            };
            if let Some(key) = keys[at] {
                sorted.insert((key, slots[at]));
            }
            assert_eq!(heap.first(), sorted.first().copied());
            assert_eq!(heap.is_empty(), sorted.is_empty());
        }
    }
}
