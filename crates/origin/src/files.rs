//! [`Files`]: the source of static files. The origin does no IO; its driver implements this trait.

use bytes::Bytes;
use std::any::Any;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use unit::Instant;

/// A folder whose files are served.
pub trait Files {
    /// What `path` names: decoded names joined by single slashes, no dot segments, the empty path for
    /// the folder itself. The folder's owner sees to it that nothing outside is found.
    fn find(&self, now: Instant, path: &str) -> Result<Found, FilesError>;
}

/// What a path names.
pub enum Found {
    /// A file.
    File(Rc<dyn File>),
    /// A folder.
    Folder,
}

/// A file, open for as long as it is held.
pub trait File {
    /// The file's length, time of last change and identity.
    fn facts(&self) -> FileFacts;

    /// Up to `length` bytes from `offset`: none at all only where the file ends there, None where it cannot be
    /// read.
    fn read(&self, offset: u64, length: usize) -> Option<Bytes>;

    /// The driver's own handle of this file, if it can send its bytes without passing them through the origin.
    fn handle(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        None
    }

    /// Whether its bytes stay in memory while the file is held. Then bytes that were read cost no further memory.
    fn is_held(&self) -> bool {
        false
    }

    /// Until when it is taken for unchanged: who holds it need not look it up again before. None where each request
    /// has to.
    fn fresh_until(&self) -> Option<Instant> {
        None
    }
}

/// What tells one version of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFacts {
    /// Bytes.
    pub length: u64,
    /// Last modification, seconds since 1970.
    pub modified: u64,
    /// Its nanoseconds.
    pub modified_nanos: u32,
    /// What tells it from other files (on Linux, the inode number).
    pub identity: u64,
}

/// Why a path gives nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilesError {
    /// Nothing of that name may be served: 404.
    NotFound,
    /// It is there, but may not be read: 403.
    Denied,
    /// Not just now: 503.
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
