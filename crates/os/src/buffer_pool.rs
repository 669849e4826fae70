//! Spare buffers, used again. The one rule: the buffer returned last is taken first, because it is still in the
//! processor's caches. The pool keeps at most a set number.

/// Buffers that are not in use.
///
/// It holds whatever owns memory: `Vec<u8>`, `SendBuf`. Who gives a buffer back empties it first.
#[derive(Debug)]
pub(crate) struct BufferPool<B> {
    spare: Vec<B>,
    limit: usize,
}

impl<B> BufferPool<B> {
    /// An empty pool that keeps at most `limit` buffers.
    pub(crate) const fn new(limit: usize) -> Self {
        Self { spare: Vec::new(), limit }
    }

    /// The buffer that was given back last, if there is one.
    pub(crate) fn take(&mut self) -> Option<B> {
        self.spare.pop()
    }

    /// Keeps `buffer` for the next `take`. Drops it where the pool is full.
    pub(crate) fn give_back(&mut self, buffer: B) {
        if self.spare.len() < self.limit {
            self.spare.push(buffer);
        }
    }

    /// How many buffers wait.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.spare.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_used_last_comes_first() {
        let mut pool = BufferPool::new(4);
        pool.give_back(Vec::<u8>::with_capacity(10));
        pool.give_back(Vec::with_capacity(20));
        assert_eq!(pool.take().map(|buffer| buffer.capacity()), Some(20));
        assert_eq!(pool.take().map(|buffer| buffer.capacity()), Some(10));
        assert_eq!(pool.take(), None);
    }

    #[test]
    fn no_more_buffers_wait_than_the_limit() {
        let mut pool = BufferPool::new(16);
        for _ in 0..100 {
            pool.give_back(vec![0_u8; 8]);
        }
        assert_eq!(pool.len(), 16);
    }
}
