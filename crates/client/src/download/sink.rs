//! Where a download's bytes go: the seam to files, pipes and tests.

use super::Version;
use std::time::Duration;
use unit::Ranges;

/// A file by its number, in the order in which they were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub usize);

/// What is known of a file when its first bytes come.
#[derive(Debug, Clone, Copy)]
pub struct Beginning<'a> {
    /// Its length and validator.
    pub version: &'a Version,
    /// What of it is there and stays; where it is empty, nothing of an earlier try is of use.
    pub kept: &'a Ranges,
}

/// Why a sink takes no more of a file; the file has failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(pub String);

/// What happens on the way, for who wants to see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note<'a> {
    /// Something transient stood in the way; after this rest it is tried again.
    Retry {
        /// The rest.
        after: Duration,
        /// What stood in the way.
        why: &'a str,
    },
    /// What was there of the file is of no use.
    Anew(&'static str),
    /// The server coded the body though it was asked not to; the file holds what it sent.
    Coded(&'a str),
}

/// Takes what comes. A sink that cannot keep up waits, and everything waits with it: that is the back-pressure.
pub trait Sink {
    /// A file's bytes are about to come. Told again where it begins anew.
    fn begin(&mut self, file: FileId, beginning: Beginning<'_>) -> Result<(), Refusal>;

    /// Bytes of it, which go at `at`.
    fn write(&mut self, file: FileId, at: u64, bytes: &[u8]) -> Result<(), Refusal>;

    /// A buffer of at most `at_most` bytes for what goes at `at`. None makes the caller use `write`, which copies once more.
    fn receive_buffer(&mut self, _file: FileId, _at: u64, _at_most: u64) -> Option<&mut [u8]> {
        None
    }

    /// The first `bytes` of the buffer that was given for `at` are filled.
    fn filled(&mut self, _file: FileId, _at: u64, _bytes: usize) -> Result<(), Refusal> {
        Ok(())
    }

    /// All `length` bytes of it have been written.
    fn complete(&mut self, file: FileId, length: u64) -> Result<(), Refusal>;

    /// No more of it will come. It may never have begun.
    fn give_up(&mut self, file: FileId);

    /// Something to tell.
    fn note(&mut self, _file: FileId, _note: &Note<'_>) {}
}
