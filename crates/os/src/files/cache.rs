//! A cache of files, bounded in bytes and in age. A small file that has changed is served in its old version for at most that age, or
//! for as long as the system cannot open it again. A larger one is looked at with each request.

use super::OpenFile;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use unit::Instant;

/// Bytes counted for an entry besides its content: names, metadata and the descriptor.
const ENTRY_COST: usize = 512;

/// Descriptors that the cache holds at most.
const ENTRIES: usize = 1024;

/// What is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheSettings {
    /// Files up to this size are read at once and kept whole.
    pub file_limit: usize,
    /// Bytes of them kept in all.
    pub total_limit: usize,
    /// Larger files up to this size are kept in pieces. Each piece is read on first use.
    pub large_file_limit: usize,
    /// Bytes of them kept in all.
    pub large_total_limit: usize,
    /// How long a file is assumed unchanged. Zero disables the cache.
    pub age: Duration,
}

impl Default for CacheSettings {
    fn default() -> Self {
        Self {
            file_limit: 256 * 1024,
            total_limit: 16 * 1024 * 1024,
            large_file_limit: 16 * 1024 * 1024,
            large_total_limit: 32 * 1024 * 1024,
            age: Duration::from_secs(1),
        }
    }
}

/// Files of one kind. Large files have a cache of their own, so that they never evict the small ones.
#[derive(Debug)]
pub(super) struct Cache {
    file_limit: usize,
    total_limit: usize,
    age: Duration,
    kept: RefCell<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    files: HashMap<Box<str>, (Instant, Arc<OpenFile>)>,
    total: usize,
}

impl Cache {
    pub(super) fn small(settings: &CacheSettings) -> Self {
        Self::new(settings.file_limit, settings.total_limit, settings.age)
    }

    pub(super) fn large(settings: &CacheSettings) -> Self {
        Self::new(settings.large_file_limit, settings.large_total_limit, settings.age)
    }

    fn new(file_limit: usize, total_limit: usize, age: Duration) -> Self {
        Self { file_limit, total_limit, age, kept: RefCell::default() }
    }

    /// How long a file is taken for unchanged.
    pub(super) fn age(&self) -> Duration {
        self.age
    }

    /// Whether a file of this length would be kept.
    pub(super) fn takes(&self, length: u64) -> bool {
        !self.age.is_zero() && length <= self.file_limit.min(self.total_limit) as u64
    }

    /// The file, if it was looked up within the age limit.
    pub(super) fn find(&self, now: Instant, path: &str) -> Option<Arc<OpenFile>> {
        let kept = self.kept.borrow();
        let (since, file) = kept.files.get(path)?;
        let is_current = now.since(*since) < self.age && !file.has_changed();
        is_current.then(|| Arc::clone(file))
    }

    /// The file, at any age.
    pub(super) fn find_old(&self, path: &str) -> Option<Arc<OpenFile>> {
        let kept = self.kept.borrow();
        let (_, file) = kept.files.get(path)?;
        (!file.has_changed()).then(|| Arc::clone(file))
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.kept.borrow().total
    }

    pub(super) fn keep(&self, now: Instant, path: &str, file: &Arc<OpenFile>) {
        let Some(cost) = cost(path, file) else { return };
        if cost > self.total_limit {
            return;
        }
        let mut kept = self.kept.borrow_mut();
        kept.remove(path);
        // The whole cache is emptied at once. Popular files come back with the next request, and a hit need not record
        // an order of use.
        if kept.total + cost > self.total_limit || kept.files.len() >= ENTRIES {
            *kept = Kept::default();
        }
        kept.total += cost;
        kept.files.insert(path.into(), (now, Arc::clone(file)));
    }
}

impl Kept {
    fn remove(&mut self, path: &str) {
        if let Some((_, file)) = self.files.remove(path) {
            self.total -= cost(path, &file).unwrap_or(0);
        }
    }
}

fn cost(path: &str, file: &OpenFile) -> Option<usize> {
    file.kept_bytes().map(|bytes| bytes + path.len() + ENTRY_COST)
}
