//! Bytes on their way to the socket. Small ones are copied into one arena, large ones are shared by reference. A part
//! of a file is not read at all if the driver can send it directly.

use bytes::Bytes;
use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::io::IoSlice;
use std::sync::Arc;

/// Bodies below this are copied: a reference costs more than the copy.
const COPY_BELOW: usize = 512;

/// An arena below this grows by as much as is added, and a larger one doubles.
const EXACT_BELOW: usize = 1024;

/// Bytes that must have been sent from the arena's front before the rest is moved over them.
const COMPACT_FROM: usize = 4 * 1024;

/// Capacity that an empty queue keeps for the next bytes.
const KEEP: usize = 256 * 1024;

/// A queue of bytes to send, in order.
#[derive(Debug, Default)]
pub struct SendBuf {
    arena: Vec<u8>,
    /// Bytes dropped from the arena's front so far: what its first byte is called.
    base: usize,
    /// How far the arena's bytes have been sent, counted as in chunks.
    sent: usize,
    chunks: VecDeque<Chunk>,
    length: usize,
}

#[derive(Debug)]
enum Chunk {
    /// A part of the arena, counted from the first byte that the arena ever held.
    Arena {
        start: usize,
        end: usize,
    },
    Shared(Bytes),
    File(FilePart),
}

/// A part of a file that only the driver can open up: it sends the bytes without a copy. What lies between must
/// pass them as they are, as a clear HTTP/1.1 connection does.
#[derive(Clone)]
pub struct FilePart {
    file: Arc<dyn Any + Send + Sync>,
    start: u64,
    length: usize,
}

impl FilePart {
    /// `length` bytes of `file` from `start`; the driver knows what kind of thing `file` is.
    pub fn new(file: Arc<dyn Any + Send + Sync>, start: u64, length: usize) -> Self {
        Self { file, start, length }
    }

    /// The file, as the driver's own.
    pub fn file<F: Any>(&self) -> Option<&F> {
        self.file.downcast_ref()
    }

    /// Its first byte's place in the file.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Cuts off the first `length` bytes.
    fn split_front(&mut self, length: usize) -> Self {
        let part = Self { file: Arc::clone(&self.file), start: self.start, length };
        self.start += length as u64;
        self.length -= length;
        part
    }
}

impl fmt::Debug for FilePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FilePart({} bytes from {})", self.length, self.start)
    }
}

impl SendBuf {
    /// Nothing to send.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes in the queue.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Bytes that it can hold without asking the system: what an empty queue is worth keeping for.
    pub fn capacity(&self) -> usize {
        self.arena.capacity()
    }

    /// Appends a copy of `bytes`.
    pub fn put(&mut self, bytes: &[u8]) {
        // Answers that wait are many and small: what is added to a head takes no more than it is.
        if self.arena.len() < EXACT_BELOW {
            self.arena.reserve_exact(bytes.len());
        }
        self.put_with(|arena| arena.extend_from_slice(bytes));
    }

    /// Appends what `write` appends to the vector (it must only append).
    pub fn put_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let before = self.base + self.arena.len();
        write(&mut self.arena);
        let after = self.base + self.arena.len();
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

    /// Appends `bytes` by reference, or copied where they are few.
    pub fn put_shared(&mut self, bytes: Bytes) {
        if bytes.len() < COPY_BELOW {
            self.put(&bytes);
        } else {
            self.length += bytes.len();
            self.chunks.push_back(Chunk::Shared(bytes));
        }
    }

    /// Appends a reference as a piece of its own, however short: [`SendBuf::take_piece`] gives it as it is.
    pub fn put_piece(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.length += bytes.len();
            self.chunks.push_back(Chunk::Shared(bytes));
        }
    }

    /// Appends a file's part, for a driver that sends it by itself.
    pub fn put_file(&mut self, part: FilePart) {
        if !part.is_empty() {
            self.length += part.len();
            self.chunks.push_back(Chunk::File(part));
        }
    }

    /// The file's part at the front, where one is there.
    pub fn front_file(&self) -> Option<&FilePart> {
        match self.chunks.front() {
            Some(Chunk::File(part)) => Some(part),
            _ => None,
        }
    }

    /// The pieces in order. A file's part has no bytes to show: an empty piece stands for it.
    pub fn chunks(&self) -> impl Iterator<Item = &[u8]> {
        self.chunks.iter().map(|chunk| self.bytes(chunk))
    }

    /// Fills `slices` with the first pieces for a vectored write, up to a file's part; returns how many it filled.
    pub fn io_slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut filled = 0;
        let shown = self.chunks.iter().take_while(|chunk| !matches!(chunk, Chunk::File(_)));
        for (slot, chunk) in slices.iter_mut().zip(shown) {
            *slot = IoSlice::new(self.bytes(chunk));
            filled += 1;
        }
        filled
    }

    /// Drops the first `bytes` bytes: they are sent.
    pub fn advance(&mut self, bytes: usize) {
        let mut left = bytes.min(self.length);
        self.length -= left;
        while left > 0 {
            let Some(chunk) = self.chunks.front_mut() else { break };
            let taken = chunk.len().min(left);
            left -= taken;
            if let Chunk::Arena { start, .. } = chunk {
                self.sent = *start + taken;
            }
            if taken == chunk.len() {
                self.chunks.pop_front();
            } else {
                drop(chunk.split_front(taken));
            }
        }
        self.compact();
    }

    /// Moves about the first `limit` bytes to the end of `out`; returns how many. References stay
    /// references.
    pub fn move_to(&mut self, out: &mut Self, limit: usize) -> usize {
        let total = limit.min(self.length);
        let mut left = total;
        while left > 0 {
            let Some(chunk) = self.chunks.front_mut() else { break };
            let taken = chunk.len().min(left);
            left -= taken;
            let part = if taken == chunk.len() {
                self.chunks.pop_front()
            } else {
                Some(chunk.split_front(taken))
            };
            match part {
                Some(Chunk::Arena { start, end }) => {
                    out.put(&self.arena[start - self.base..end - self.base]);
                    self.sent = end;
                }
                Some(Chunk::Shared(bytes)) => out.put_shared(bytes),
                Some(Chunk::File(part)) => out.put_file(part),
                None => {}
            }
        }
        self.length -= total;
        self.compact();
        total
    }

    /// Takes the first piece: a reference as it is, copied bytes as one more copy. None for a file's part.
    pub fn take_piece(&mut self) -> Option<Bytes> {
        if self.front_file().is_some() {
            return None;
        }
        let piece = match self.chunks.pop_front()? {
            Chunk::Arena { start, end } => {
                self.sent = end;
                Bytes::copy_from_slice(&self.arena[start - self.base..end - self.base])
            }
            Chunk::Shared(bytes) => bytes,
            Chunk::File(_) => Bytes::new(),
        };
        self.length -= piece.len();
        self.compact();
        Some(piece)
    }

    /// Takes all pieces up to a file's part, as [`SendBuf::take_piece`] does.
    pub fn take_pieces(&mut self, pieces: &mut Vec<Bytes>) {
        while !self.is_empty()
            && let Some(piece) = self.take_piece()
        {
            pieces.push(piece);
        }
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        self.advance(self.length);
    }

    /// Forgets sent bytes of the arena. Moving the rest costs no more than what was sent since, so
    /// a byte is moved once on average and the arena is never more than twice what waits in it.
    fn compact(&mut self) {
        if self.chunks.is_empty() {
            self.arena.clear();
            self.arena.shrink_to(KEEP);
            (self.base, self.sent) = (0, 0);
            return;
        }
        let sent = self.sent.saturating_sub(self.base);
        if sent >= COMPACT_FROM && sent * 2 >= self.arena.len() {
            self.arena.drain(..sent);
            self.base = self.sent;
        }
    }

    /// Everything in the queue, copied: for tests and for layers that need one slice.
    pub fn to_vec(&self) -> Vec<u8> {
        self.chunks().flatten().copied().collect()
    }

    fn bytes<'a>(&'a self, chunk: &'a Chunk) -> &'a [u8] {
        match chunk {
            Chunk::Arena { start, end } => &self.arena[*start - self.base..*end - self.base],
            Chunk::Shared(bytes) => bytes,
            Chunk::File(_) => &[],
        }
    }
}

impl Chunk {
    fn len(&self) -> usize {
        match self {
            Self::Arena { start, end } => end - start,
            Self::Shared(bytes) => bytes.len(),
            Self::File(part) => part.len(),
        }
    }

    /// Cuts off the first `length` bytes.
    fn split_front(&mut self, length: usize) -> Self {
        match self {
            Self::Arena { start, .. } => {
                let part = Self::Arena { start: *start, end: *start + length };
                *start += length;
                part
            }
            Self::Shared(bytes) => Self::Shared(bytes.split_to(length)),
            Self::File(part) => Self::File(part.split_front(length)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    #[test]
    fn a_queue_that_is_never_empty_keeps_its_arena_bounded() {
        let mut out = SendBuf::new();
        out.put(&[0; 100]);
        for _ in 0..10_000 {
            out.put(&[0; 400]);
            out.advance(400);
        }
        assert_eq!(out.len(), 100);
        assert!(out.arena.capacity() < 64 * 1024, "{}", out.arena.capacity());
    }

    #[test]
    fn a_file_keeps_its_place_among_bytes_and_is_cut_where_it_must() {
        let (mut queue, mut out) = (SendBuf::new(), SendBuf::new());
        queue.put(b"head");
        queue.put_file(FilePart::new(Arc::new("a file"), 100, 1000));
        queue.put(b"tail");
        assert_eq!(queue.len(), 1008);
        assert_eq!(queue.move_to(&mut out, 604), 604);
        let shown = |out: &SendBuf| out.io_slices(&mut [IoSlice::new(&[]); 4]);
        assert_eq!(shown(&out), 1, "what precedes the file goes first");
        out.advance(4);
        let part = out.front_file().unwrap();
        assert_eq!((part.start(), part.len()), (100, 600));
        assert_eq!(part.file::<&str>(), Some(&"a file"));
        assert_eq!(shown(&out), 0);
        out.advance(599);
        assert_eq!(out.front_file().map(|part| (part.start(), part.len())), Some((699, 1)));
        out.advance(1);
        assert!(out.is_empty());
        assert_eq!(queue.front_file().map(|part| (part.start(), part.len())), Some((700, 400)));
        queue.advance(400);
        assert_eq!(queue.to_vec(), b"tail");
    }

    #[derive(Debug, Clone)]
    enum Step {
        Put(usize),
        Share(usize),
        Advance(usize),
        Move(usize),
        Take,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..3000_usize).prop_map(Step::Put),
            (0..3000_usize).prop_map(Step::Share),
            (0..6000_usize).prop_map(Step::Advance),
            (0..6000_usize).prop_map(Step::Move),
            Just(Step::Take),
        ]
    }

    proptest! {
        #[test]
        fn any_use_gives_the_bytes_of_a_plain_queue_in_bounded_room(
            steps in proptest::collection::vec(step(), 0..200),
        ) {
            let (mut out, mut model, mut next) = (SendBuf::new(), VecDeque::new(), 0_u8);
            let mut moved = SendBuf::new();
            for step in steps {
                let mut fresh = |length: usize| -> Vec<u8> {
                    (0..length).map(|_| { next = next.wrapping_add(1); next }).collect()
                };
                match step {
                    Step::Put(length) => {
                        let bytes = fresh(length);
                        out.put(&bytes);
                        model.extend(bytes);
                    }
                    Step::Share(length) => {
                        let bytes = fresh(length);
                        model.extend(bytes.iter().copied());
                        out.put_shared(Bytes::from(bytes));
                    }
                    Step::Advance(length) => {
                        out.advance(length);
                        model.drain(..length.min(model.len()));
                    }
                    Step::Move(limit) => {
                        let length = out.move_to(&mut moved, limit);
                        let expected: Vec<u8> = model.drain(..length).collect();
                        prop_assert_eq!(moved.to_vec(), expected);
                        moved.clear();
                    }
                    Step::Take => {
                        let piece = out.take_piece().unwrap_or_default();
                        let expected: Vec<u8> = model.drain(..piece.len()).collect();
                        prop_assert_eq!(&piece[..], &expected[..]);
                    }
                }
                prop_assert_eq!(out.to_vec(), model.iter().copied().collect::<Vec<_>>());
                prop_assert_eq!(out.len(), model.len());
                prop_assert!(out.arena.len() <= 2 * (model.len() + COMPACT_FROM));
            }
        }
    }
}
