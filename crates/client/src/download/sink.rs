//! [`Sink`]: where a download writes to (files, pipes, or memory in tests).

use super::Version;
use proto::ResponseHead;
use std::time::Duration;
use unit::Ranges;

/// A file by its number, in the order in which they were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub usize);

/// What a sink learns before the first bytes of a file.
#[derive(Debug, Clone, Copy)]
pub struct Beginning<'a> {
    /// Its length and validator.
    pub version: &'a Version,
    /// The byte ranges that the sink keeps from an earlier try; empty to start afresh.
    pub kept: &'a Ranges,
}

/// Why a sink cannot take a file. The file has then failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(pub String);

/// A message about progress, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note<'a> {
    /// A transient failure; the next try follows after this pause.
    Retry {
        /// The pause.
        after: Duration,
        /// What failed.
        why: &'a str,
    },
    /// The download starts again from the first byte, for this reason.
    Anew(&'a str),
    /// The rest is requested without the condition that the server did not understand.
    Unconditional(&'a str),
    /// The server applied this content coding although it was asked for none; the file holds the coded bytes.
    Coded(&'a str),
}

/// Takes the bytes of files. A call that blocks stops the whole client, which is the back-pressure.
pub trait Sink {
    /// The head of an answer for it, before anything else of that answer; also of one that brings no bytes of the file.
    fn head(&mut self, _file: FileId, _head: &ResponseHead) {}

    /// Called before the first bytes of a file, and again when the file starts afresh.
    fn begin(&mut self, file: FileId, beginning: Beginning<'_>) -> Result<(), Refusal>;

    /// Writes bytes of it at offset `at`.
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

    /// The file has failed. `begin` may never have been called for it.
    fn give_up(&mut self, file: FileId);

    /// Takes a message about progress.
    fn note(&mut self, _file: FileId, _note: &Note<'_>) {}
}
