//! The dynamic table (RFC 7541 §2.3.2, §4): first in, first out, bounded by size. All text stands in
//! one buffer, so an insertion allocates nothing once the buffer has grown.

use std::collections::VecDeque;

/// RFC 7541 §4.1: what an entry counts beside its name and value.
pub(crate) const OVERHEAD: usize = 32;

#[derive(Debug)]
pub(crate) struct DynamicTable {
    /// Oldest first.
    entries: VecDeque<Entry>,
    /// Text of all live entries, oldest first, after that of some dropped ones.
    text: Vec<u8>,
    /// Bytes ever dropped from the front of `text`.
    base: u64,
    size: usize,
    capacity: usize,
    inserted: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// Where its text begins, counted from the first byte ever inserted.
    start: u64,
    name: u32,
    value: u32,
}

impl DynamicTable {
    pub(crate) fn new(capacity: usize) -> Self {
        let (entries, text) = (VecDeque::new(), Vec::new());
        Self { entries, text, base: 0, size: 0, capacity, inserted: 0 }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Live entries.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Entries ever inserted: the newest one's serial number.
    pub(crate) fn inserted(&self) -> u64 {
        self.inserted
    }

    /// What the live entries count (RFC 7541 §4.1).
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn set_capacity(&mut self, bytes: usize) {
        self.capacity = bytes;
        self.evict_to(bytes);
    }

    /// Adds an entry, dropping old ones for it. One that is larger than the table empties it
    /// (RFC 7541 §4.4).
    pub(crate) fn insert(&mut self, name: &[u8], value: &[u8]) {
        let size = name.len() + value.len() + OVERHEAD;
        self.inserted += 1;
        if size > self.capacity {
            self.evict_to(0);
            return;
        }
        self.evict_to(self.capacity - size);
        let start = self.base + self.text.len() as u64;
        self.text.extend_from_slice(name);
        self.text.extend_from_slice(value);
        self.entries.push_back(Entry { start, name: name.len() as u32, value: value.len() as u32 });
        self.size += size;
    }

    /// The entry `age` insertions ago, 0 for the newest.
    pub(crate) fn entry(&self, age: usize) -> Option<(&[u8], &[u8])> {
        let entry = self.entries.get(self.entries.len().checked_sub(age + 1)?)?;
        let start = (entry.start - self.base) as usize;
        let name_end = start + entry.name as usize;
        let value_end = name_end + entry.value as usize;
        Some((&self.text[start..name_end], &self.text[name_end..value_end]))
    }

    fn evict_to(&mut self, bytes: usize) {
        while self.size > bytes {
            let Some(entry) = self.entries.pop_front() else { break };
            self.size -= entry.name as usize + entry.value as usize + OVERHEAD;
        }
        let end = self.base + self.text.len() as u64;
        let live = self.entries.front().map_or(end, |entry| entry.start);
        let dead = (live - self.base) as usize;
        // Amortised: a byte is moved at most once for each byte dropped.
        if dead > self.text.len() / 2 {
            self.text.drain(..dead);
            self.base = live;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_entries_make_room_for_new_ones() {
        let mut table = DynamicTable::new(2 * (OVERHEAD + 4));
        for name in [b"aa", b"bb", b"cc"] {
            table.insert(name, b"vv");
        }
        assert_eq!(table.len(), 2);
        assert_eq!(table.entry(0), Some((&b"cc"[..], &b"vv"[..])));
        assert_eq!(table.entry(1), Some((&b"bb"[..], &b"vv"[..])));
        assert_eq!(table.entry(2), None);
        table.insert(&[b'x'; 100], b"");
        assert_eq!(table.len(), 0, "an entry too large for the table empties it");
    }

    #[test]
    fn the_buffer_stays_within_twice_the_capacity() {
        let mut table = DynamicTable::new(4096);
        for turn in 0..10_000_u32 {
            table.insert(&turn.to_be_bytes(), &vec![b'v'; (turn % 300) as usize]);
        }
        assert!(table.text.len() <= 2 * 4096 + 300, "{}", table.text.len());
        assert_eq!(table.entry(0).unwrap().0, 9_999_u32.to_be_bytes());
    }
}
