//! Bytes gathered for one write with O_DIRECT: the address must be a multiple of the block size.

/// O_DIRECT's addresses, lengths and offsets are multiples of this. 512 would do on most disks; a page does on all.
pub(super) const BLOCK: usize = 4096;

/// A buffer whose first byte is aligned. It never grows, because growing could move it.
#[derive(Debug)]
pub(super) struct Buffer {
    memory: Vec<u8>,
    start: usize,
    capacity: usize,
    length: usize,
}

impl Buffer {
    /// An empty buffer for `capacity` bytes, rounded up to whole blocks.
    pub(super) fn new(capacity: usize) -> Self {
        let capacity = capacity.next_multiple_of(BLOCK);
        let memory = vec![0; capacity + BLOCK];
        let start = memory.as_ptr().align_offset(BLOCK);
        Self { memory, start, capacity, length: 0 }
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Appends `bytes`, which must fit.
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        let from = self.start + self.length;
        self.memory[from..from + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    /// The spare capacity after the content, up to `length` bytes in all.
    pub(super) fn spare(&mut self, length: usize) -> &mut [u8] {
        &mut self.memory[self.start + self.length..self.start + length.max(self.length)]
    }

    /// Marks this many bytes of the spare capacity as filled.
    pub(super) fn filled(&mut self, bytes: usize) {
        self.length = (self.length + bytes).min(self.capacity);
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.length]
    }

    /// Empties it.
    pub(super) fn clear(&mut self) {
        self.length = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_is_aligned_wherever_the_buffer_goes() {
        for capacity in [1, 4096, 80_000, 1 << 20] {
            let mut buffer = Buffer::new(capacity);
            buffer.extend(b"x");
            let moved = Box::new(buffer);
            assert!(moved.bytes().as_ptr().addr().is_multiple_of(BLOCK));
            assert!(moved.capacity() >= capacity);
        }
    }
}
