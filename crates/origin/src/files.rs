//! [`Files`]: the source of static files. The origin does no IO; its driver implements this trait.

use bytes::Bytes;
use std::any::Any;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use unit::Instant;

/// A folder whose files are served.
pub trait Files {
    /// What `path` names: decoded names joined by single slashes, without dot segments; the empty path is the folder
    /// itself. The implementation must ensure that nothing outside the folder is found.
    fn find(&self, now: Instant, path: &str) -> Result<Found, FilesError>;
}

/// What a path names.
pub enum Found {
    /// A file.
    File(Rc<dyn File>),
    /// A folder.
    Folder,
}

/// An open file.
pub trait File {
    /// The file's length, time of last change and identity.
    fn facts(&self) -> FileFacts;

    /// Up to `length` bytes from `offset`. Empty only at the file's end; None where it cannot be read.
    fn read(&self, offset: u64, length: usize) -> Option<Bytes>;

    /// The driver's own handle of this file, where it can send the bytes without passing them through the origin.
    fn handle(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        None
    }

    /// Whether the bytes stay in memory while the file is open. Reading them then needs no further memory.
    fn is_held(&self) -> bool {
        false
    }

    /// Until when the file counts as unchanged and need not be looked up again. None where each request must look it
    /// up.
    fn fresh_until(&self) -> Option<Instant> {
        None
    }
}

/// The validators of a file's version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFacts {
    /// Length in bytes.
    pub length: u64,
    /// Last modification, seconds since 1970.
    pub modified: u64,
    /// Its nanoseconds.
    pub modified_nanos: u32,
    /// Identifies the file (on Linux, the inode number).
    pub identity: u64,
}

/// Why a path cannot be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilesError {
    /// There is no such file to serve: 404.
    NotFound,
    /// It is there, but may not be read: 403.
    Denied,
    /// Not at the moment: 503.
    Busy,
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => f.debug_tuple("File").field(&file.facts()).finish(),
            Self::Folder => f.write_str("Folder"),
        }
    }
}
