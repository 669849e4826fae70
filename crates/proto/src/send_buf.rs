//! Octets on their way down: small ones copied into one arena, large ones shared by reference.

use bytes::Bytes;
use std::collections::VecDeque;
use std::io::IoSlice;

/// Bodies below this are copied: a reference costs more than the copy.
const COPY_BELOW: usize = 512;

/// A queue of octets to send, in order.
#[derive(Debug, Default)]
pub struct SendBuf {
    arena: Vec<u8>,
    chunks: VecDeque<Chunk>,
    length: usize,
}

#[derive(Debug)]
enum Chunk {
    Arena { start: usize, end: usize },
    Shared(Bytes),
}

impl SendBuf {
    /// Nothing to send.
    pub fn new() -> Self {
        Self::default()
    }

    /// Octets in the queue.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Appends a copy of `octets`.
    pub fn put(&mut self, octets: &[u8]) {
        self.put_with(|arena| arena.extend_from_slice(octets));
    }

    /// Appends what `write` appends to the vector (it must only append).
    pub fn put_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let before = self.arena.len();
        write(&mut self.arena);
        let after = self.arena.len();
        debug_assert!(after >= before, "put_with may only append");
        if after <= before {
            return;
        }
        self.length += after - before;
        match self.chunks.back_mut() {
            Some(Chunk::Arena { end, .. }) if *end == before => *end = after,
            _ => self.chunks.push_back(Chunk::Arena { start: before, end: after }),
        }
    }

    /// Appends `octets` by reference, or copied where they are few.
    pub fn put_shared(&mut self, octets: Bytes) {
        if octets.len() < COPY_BELOW {
            self.put(&octets);
        } else {
            self.length += octets.len();
            self.chunks.push_back(Chunk::Shared(octets));
        }
    }

    /// The pieces in order.
    pub fn chunks(&self) -> impl Iterator<Item = &[u8]> {
        self.chunks.iter().map(|chunk| self.octets(chunk))
    }

    /// Fills `slices` with the first pieces for a vectored write; returns how many it filled.
    pub fn io_slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut filled = 0;
        for (slot, chunk) in slices.iter_mut().zip(&self.chunks) {
            *slot = IoSlice::new(self.octets(chunk));
            filled += 1;
        }
        filled
    }

    /// Drops the first `octets` octets: they are sent.
    pub fn advance(&mut self, octets: usize) {
        let mut left = octets.min(self.length);
        self.length -= left;
        while left > 0 {
            let Some(chunk) = self.chunks.front_mut() else { break };
            let size = match chunk {
                Chunk::Arena { start, end } => *end - *start,
                Chunk::Shared(octets) => octets.len(),
            };
            if size <= left {
                left -= size;
                self.chunks.pop_front();
                continue;
            }
            match chunk {
                Chunk::Arena { start, .. } => *start += left,
                Chunk::Shared(octets) => drop(octets.split_to(left)),
            }
            left = 0;
        }
        if self.chunks.is_empty() {
            self.arena.clear();
        }
    }

    /// Everything in the queue, copied: for tests and for layers that need one slice.
    pub fn to_vec(&self) -> Vec<u8> {
        self.chunks().flatten().copied().collect()
    }

    fn octets<'a>(&'a self, chunk: &'a Chunk) -> &'a [u8] {
        match chunk {
            Chunk::Arena { start, end } => &self.arena[*start..*end],
            Chunk::Shared(octets) => octets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept_across_copies_and_references() {
        let mut out = SendBuf::new();
        out.put(b"head");
        out.put_shared(Bytes::from(vec![b'x'; 600]));
        out.put(b"ta");
        out.put(b"il");
        let mut expected = b"head".to_vec();
        expected.extend_from_slice(&[b'x'; 600]);
        expected.extend_from_slice(b"tail");
        assert_eq!(out.to_vec(), expected);
        assert_eq!(out.chunks().count(), 3, "neighbouring copies share a piece");
        for step in [1, 3, 599, 2, 2, 1] {
            out.advance(step);
            expected.drain(..step);
            assert_eq!(out.to_vec(), expected);
            assert_eq!(out.len(), expected.len());
        }
        assert!(out.is_empty());
    }
}
