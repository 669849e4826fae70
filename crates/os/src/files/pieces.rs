//! A large file's bytes in pieces. A piece is read once for all requests while the file is assumed unchanged, into
//! reused buffers. The one rule: only whole pieces of the version that was looked up are kept.

use super::{FileFacts, open};
use crate::buffer_pool::BufferPool;
use bytes::Bytes;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Bytes of a piece.
const PIECE: usize = 64 * 1024;

/// Spare buffers for pieces, at most.
const SPARE: usize = 32;

/// Whether pieces are kept for later requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// It does.
    Yes,
    /// It does not.
    No,
}

/// The pieces of one version of a file.
#[derive(Debug)]
pub(super) struct Pieces {
    buffers: PieceBuffers,
    /// One for each piece; empty where nothing is kept.
    kept: Box<[OnceLock<Bytes>]>,
}

impl Pieces {
    pub(super) fn new(length: u64, keep: Keep, buffers: PieceBuffers) -> Self {
        let count = match keep {
            Keep::Yes => usize::try_from(length.div_ceil(PIECE as u64)).unwrap_or(0),
            Keep::No => 0,
        };
        let kept = (0..count).map(|_| OnceLock::new()).collect();
        Self { buffers, kept }
    }

    /// Whether anything may be kept.
    pub(super) fn are_kept(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Up to `length` bytes from `offset`, ending at the latest with the piece where pieces are kept.
    pub(super) fn read(
        &self,
        file: &File,
        facts: &FileFacts,
        offset: u64,
        length: usize,
    ) -> io::Result<Bytes> {
        let index = usize::try_from(offset / PIECE as u64).unwrap_or(usize::MAX);
        let Some(place) = self.kept.get(index) else {
            return self.buffers.read(file, offset, length);
        };
        let within = (offset % PIECE as u64) as usize;
        let piece = match place.get() {
            Some(piece) => piece.clone(),
            None => self.fill(file, facts, index, place)?,
        };
        let start = within.min(piece.len());
        Ok(piece.slice(start..start.saturating_add(length).min(piece.len())))
    }

    fn fill(
        &self,
        file: &File,
        facts: &FileFacts,
        index: usize,
        place: &OnceLock<Bytes>,
    ) -> io::Result<Bytes> {
        let start = index as u64 * PIECE as u64;
        let expected = PIECE.min(usize::try_from(facts.length - start).unwrap_or(PIECE));
        let piece = self.buffers.read(file, start, expected)?;
        // Checked after the read: if the bytes were another version's, the modification time shows it by now.
        if piece.len() == expected && FileFacts::of(&file.metadata()?) == *facts {
            // If another thread was faster, its piece is the same.
            let _kept = place.set(piece.clone());
        }
        Ok(piece)
    }
}

/// Buffers for pieces, shared by the files below a root. A buffer is used again once nobody holds it, so that the
/// system need not zero fresh memory.
#[derive(Debug, Clone)]
pub(super) struct PieceBuffers(Arc<Mutex<BufferPool<Vec<u8>>>>);

impl Default for PieceBuffers {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(BufferPool::new(SPARE))))
    }
}

impl PieceBuffers {
    /// Up to `length` bytes from `offset`; fewer where the file ends or was truncated.
    fn read(&self, file: &File, offset: u64, length: usize) -> io::Result<Bytes> {
        let length = length.min(PIECE);
        let mut bytes = self.take(length);
        while bytes.len() < length {
            let (at, most) = (offset + bytes.len() as u64, length - bytes.len());
            match open::read_into_spare(file, &mut bytes, at, most) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Bytes::from_owner(Piece { bytes, home: self.clone() }))
    }

    fn take(&self, length: usize) -> Vec<u8> {
        if length <= PIECE / 2 {
            // A whole buffer would use much more memory than this needs.
            return Vec::with_capacity(length);
        }
        let spare = self.pool().take();
        spare.unwrap_or_else(|| Vec::with_capacity(PIECE))
    }

    fn pool(&self) -> MutexGuard<'_, BufferPool<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes in use, and the pool that their buffer returns to.
struct Piece {
    bytes: Vec<u8>,
    home: PieceBuffers,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        if self.bytes.capacity() >= PIECE {
            self.bytes.clear();
            self.home.pool().give_back(std::mem::take(&mut self.bytes));
        }
    }
}

#[cfg(test)]
impl PieceBuffers {
    /// How many buffers wait.
    pub(super) fn spare(&self) -> usize {
        self.pool().len()
    }
}
