//! Files below one directory, and none outside it. The one rule: the kernel keeps every lookup below the root; no path
//! is judged by its text alone.
//!
//! A symbolic link is followed where all of it stays below the root. Only regular
//! files and directories open: a FIFO or a device could make a read wait for ever.

mod cache;
mod open;
mod pieces;
pub mod writer;

pub use cache::CacheSettings;

use crate::error::Os;
use bytes::Bytes;
use cache::Cache;
use pieces::{Keep, PieceBuffers, Pieces};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use unit::Instant;

/// A directory whose files are served.
#[derive(Debug)]
pub struct Root {
    directory: OwnedFd,
    small: Cache,
    large: Cache,
    buffers: PieceBuffers,
}

/// What a path below the root names.
#[derive(Debug, Clone)]
pub enum Entry {
    /// A regular file, open.
    File(Arc<OpenFile>),
    /// A directory.
    Directory,
}

/// Why a path gives nothing.
#[derive(Debug)]
pub enum LookupError {
    /// No file of this name may be served: it does not exist, leads out of the root, or is a FIFO or a device. The
    /// client must not learn which, so there is one answer for all.
    NotFound,
    /// The file may not be read.
    Denied,
    /// The system is short of something just now (descriptors, memory), or the folders change all the time.
    Busy(io::Error),
}

/// An open regular file, as it was when it was opened.
#[derive(Debug)]
pub struct OpenFile {
    file: File,
    content: Content,
    facts: FileFacts,
    /// Until when it is taken for unchanged.
    fresh_until: Instant,
}

#[derive(Debug)]
enum Content {
    /// A small file's, read at once.
    Whole(Bytes),
    /// A larger one's, read as it is asked for.
    Pieces(Pieces),
}

/// What distinguishes one version of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFacts {
    /// Bytes.
    pub length: u64,
    /// Last modification, in whole seconds since 1970.
    pub modified_seconds: i64,
    /// And the nanoseconds beyond them.
    pub modified_nanos: u32,
    /// Inode number.
    pub inode: u64,
}

impl Root {
    /// Opens the directory. It is looked up once: a directory later renamed to this path is not used.
    pub fn open(path: &Path, settings: CacheSettings) -> Result<Self, Os> {
        let directory = std::fs::OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_DIRECTORY | libc::O_CLOEXEC)
            .open(path)
            .map_err(|source| Os::new(format!("open the folder {}", path.display()), source))?;
        let (small, large) = (Cache::small(&settings), Cache::large(&settings));
        Ok(Self { directory: directory.into(), small, large, buffers: PieceBuffers::default() })
    }

    /// Looks up `path`, relative to the root, its parts joined by `/`; the empty path is the root.
    pub fn lookup(&self, now: Instant, path: &str) -> Result<Entry, LookupError> {
        if let Some(file) = self.small.find(now, path).or_else(|| self.large.find(now, path)) {
            return Ok(Entry::File(file));
        }
        match self.look_up_anew(now, path) {
            // The old version is better than none.
            Err(LookupError::Busy(error)) => {
                self.find_old(path).map(Entry::File).ok_or(LookupError::Busy(error))
            }
            found => found,
        }
    }

    fn find_old(&self, path: &str) -> Option<Arc<OpenFile>> {
        self.small.find_old(path).or_else(|| self.large.find_old(path))
    }

    fn look_up_anew(&self, now: Instant, path: &str) -> Result<Entry, LookupError> {
        let file = File::from(open::below(&self.directory, path).map_err(lookup_error)?);
        let metadata = file.metadata().map_err(lookup_error)?;
        if metadata.is_dir() {
            return Ok(Entry::Directory);
        }
        if !metadata.is_file() {
            return Err(LookupError::NotFound);
        }
        let facts = FileFacts::of(&metadata);
        let whole = match self.small.takes(facts.length) {
            true => read_whole(&file, facts.length).map_err(LookupError::Busy)?,
            false => None,
        };
        let fresh_until = now + self.small.age();
        let (cache, content) = match whole {
            Some(bytes) => (&self.small, Content::Whole(bytes)),
            None => {
                let keep = if self.large.takes(facts.length) { Keep::Yes } else { Keep::No };
                let pieces = Pieces::new(facts.length, keep, self.buffers.clone());
                (&self.large, Content::Pieces(pieces))
            }
        };
        let file = Arc::new(OpenFile { file, content, facts, fresh_until });
        cache.keep(now, path, &file);
        Ok(Entry::File(file))
    }
}

impl OpenFile {
    /// What tells this version of the file.
    pub fn facts(&self) -> FileFacts {
        self.facts
    }

    /// Its descriptor, for sendfile(2).
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Whether the file is small enough to be kept in memory as a whole.
    pub fn is_whole(&self) -> bool {
        matches!(self.content, Content::Whole(_))
    }

    /// Until when it is assumed unchanged, where it is kept whole.
    pub fn fresh_until(&self) -> Option<Instant> {
        self.is_whole().then_some(self.fresh_until)
    }

    /// Reads up to `length` bytes from `offset`. It returns at least one byte unless the file ends there or was
    /// truncated.
    pub fn read(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        match &self.content {
            Content::Whole(content) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(content.len());
                let end = start.saturating_add(length).min(content.len());
                Ok(content.slice(start..end))
            }
            Content::Pieces(pieces) => {
                let left = self.facts.length.saturating_sub(offset);
                let length = usize::try_from(left).map_or(length, |left| left.min(length));
                pieces.read(&self.file, &self.facts, offset, length)
            }
        }
    }

    /// The memory that it may use, in bytes; None where nothing is cached.
    fn kept_bytes(&self) -> Option<usize> {
        match &self.content {
            Content::Whole(content) => Some(content.len()),
            Content::Pieces(pieces) if pieces.are_kept() => usize::try_from(self.facts.length).ok(),
            Content::Pieces(_) => None,
        }
    }

    /// Whether a file that is read in pieces has changed: what was looked up would not be true of pieces that are read now. One that is
    /// held whole stays as it was.
    fn has_changed(&self) -> bool {
        match &self.content {
            Content::Whole(_) => false,
            Content::Pieces(_) => self.file.metadata().is_ok_and(|now| {
                // Without a name it was removed, or another file has its name.
                now.nlink() == 0 || FileFacts::of(&now) != self.facts
            }),
        }
    }
}

impl FileFacts {
    fn of(metadata: &std::fs::Metadata) -> Self {
        Self {
            length: metadata.len(),
            modified_seconds: metadata.mtime(),
            modified_nanos: metadata.mtime_nsec() as u32,
            inode: metadata.ino(),
        }
    }
}

/// The content, if its length is the expected one; None where the file is being changed.
fn read_whole(file: &File, length: u64) -> io::Result<Option<Bytes>> {
    let mut buffer = vec![0; length as usize];
    match file.read_exact_at(&mut buffer, 0) {
        Ok(()) => Ok(Some(buffer.into())),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

fn lookup_error(error: io::Error) -> LookupError {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => LookupError::Denied,
        // EAGAIN: renames were in the way each time, or another program has a lease on the file (fcntl(2)).
        Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EIO | libc::EAGAIN) => {
            LookupError::Busy(error)
        }
        // ENOENT, ENOTDIR, ELOOP (a link), EXDEV (a way out), ENXIO (a socket), ENAMETOOLONG, …
        _ => LookupError::NotFound,
    }
}

#[cfg(test)]
mod tests;
