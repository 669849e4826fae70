//! A folder of the system as the origin's files: the joint between `os::files` and `origin`.

use bytes::Bytes;
use origin::{File, FileFacts, Files, FilesError, Found};
use os::files::{Entry, LookupError, OpenFile, Root};
use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;
use unit::Instant;

/// Serves what lies below a root.
pub(crate) struct FilesAdapter(pub(crate) Root);

struct FileAdapter(Arc<OpenFile>);

impl Files for FilesAdapter {
    fn find(&self, now: Instant, path: &str) -> Result<Found, FilesError> {
        match self.0.lookup(now, path) {
            Ok(Entry::File(file)) => Ok(Found::File(Rc::new(FileAdapter(file)))),
            Ok(Entry::Directory) => Ok(Found::Folder),
            Err(LookupError::NotFound) => Err(FilesError::NotFound),
            Err(LookupError::Denied) => Err(FilesError::Denied),
            Err(LookupError::Busy(_)) => Err(FilesError::Busy),
        }
    }
}

impl File for FileAdapter {
    fn facts(&self) -> FileFacts {
        let facts = self.0.facts();
        FileFacts {
            length: facts.length,
            // A date before 1970 cannot be said in a header field.
            modified: u64::try_from(facts.modified_seconds).unwrap_or(0),
            modified_nanos: facts.modified_nanos,
            identity: facts.inode,
        }
    }

    fn handle(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(Arc::clone(&self.0) as _)
    }

    fn is_held(&self) -> bool {
        self.0.is_whole()
    }

    fn fresh_until(&self) -> Option<Instant> {
        self.0.fresh_until()
    }

    fn read(&self, offset: u64, length: usize) -> Option<Bytes> {
        self.0.read(offset, length).ok()
    }
}
