//! The writing thread. It carries out one order after another.
#![allow(unsafe_code)]

use super::buffer::{BLOCK, Buffer};
use super::error::WriteError;
use super::finish::{Finisher, WrittenFile};
use super::progress::{self, Durability, ProgressFile};
use super::{Broken, Cache, DIRECT_FROM, PartId, PartSpec, UnfinishedPart, WriterSettings};
use crate::clock;
use secure::Sha256;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;
use unit::{Instant, Ranges};

/// What the writer asks of its thread.
#[derive(Debug)]
pub(super) enum Order {
    Open { id: PartId, spec: PartSpec, broken: Broken },
    Write { id: PartId, at: u64, buffer: Buffer },
    Finish { id: PartId, length: u64 },
    Abandon { id: PartId },
}

/// The progress is saved after this many written bytes.
const SAVED_BYTES: u64 = 8 << 20;

/// The progress is saved after this time, even if fewer bytes were written.
const SAVED_WITHIN: Duration = Duration::from_millis(200);

/// What the thread of a writer works on.
pub(super) struct Disk {
    settings: WriterSettings,
    parts: BTreeMap<PartId, (Broken, Option<Part>)>,
    give_back: Sender<Buffer>,
    finisher: Finisher,
}

/// A part, open.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) spec: PartSpec,
    pub(super) file: File,
    /// The same file, opened for writes past the page cache.
    direct: Option<File>,
    progress: Option<ProgressFile>,
    ranges: Ranges,
    /// Up to where blocks are reserved.
    reserved: u64,
    /// How much of the file was there when the progress was last saved, and when that was.
    saved: (u64, Instant),
    /// The digest of what was written, while the writes were in order from the beginning.
    pub(super) hash: Option<(Sha256, u64)>,
}

impl Disk {
    pub(super) fn new(settings: WriterSettings, give_back: Sender<Buffer>) -> Self {
        Self { settings, parts: BTreeMap::new(), give_back, finisher: Finisher::default() }
    }

    /// Carries out orders until the sender is dropped.
    pub(super) fn run(
        mut self,
        orders: &Receiver<Order>,
    ) -> Vec<(PartId, Result<WrittenFile, WriteError>)> {
        while let Ok(order) = orders.recv() {
            match order {
                Order::Open { id, spec, broken } => self.open(id, spec, broken),
                Order::Write { id, at, buffer } => self.write(id, at, buffer),
                Order::Finish { id, length } => self.finish(id, length),
                Order::Abandon { id } => self.abandon(id),
            }
        }
        for id in self.parts.keys().copied().collect::<Vec<_>>() {
            self.abandon(id);
        }
        self.finisher.close()
    }

    fn open(&mut self, id: PartId, spec: PartSpec, broken: Broken) {
        // Starting again: the lock on the old file is released first.
        self.parts.remove(&id);
        let part = match Part::open(spec, self.settings.cache) {
            Ok(part) => Some(part),
            Err(error) => {
                let _first = broken.set(error);
                None
            }
        };
        self.parts.insert(id, (broken, part));
    }

    fn write(&mut self, id: PartId, at: u64, mut buffer: Buffer) {
        if let Some((broken, Some(part))) = self.parts.get_mut(&id)
            && broken.get().is_none()
            && let Err(error) = part.write(at, buffer.bytes())
        {
            let _first = broken.set(error);
        }
        buffer.clear();
        // The writer may be gone already.
        let _ended = self.give_back.send(buffer);
    }

    fn finish(&mut self, id: PartId, length: u64) {
        match self.parts.remove(&id) {
            Some((broken, Some(part))) if broken.get().is_none() => {
                self.finisher.finish(id, part, length);
            }
            Some((broken, part)) => self.give_up(id, &broken, part),
            None => {}
        }
    }

    fn abandon(&mut self, id: PartId) {
        if let Some((broken, part)) = self.parts.remove(&id) {
            self.give_up(id, &broken, part);
        }
    }

    fn give_up(&mut self, id: PartId, broken: &Broken, part: Option<Part>) {
        let mut why = broken.get().cloned();
        if let Some(part) = part {
            why = why.or_else(|| Some(WriteError::Unfinished(part.spec.target.clone())));
            // A full disk may refuse the progress file too. A later run then resumes from less.
            let _less = part.abandon(self.settings.unfinished);
        }
        if let Some(why) = why {
            self.finisher.failed(id, why);
        }
    }
}

impl Part {
    fn open(spec: PartSpec, cache: Cache) -> Result<Self, WriteError> {
        let path = progress::part_path(&spec.target);
        let said = |what: &str, error| {
            WriteError::system(format!("{what} {}", spec.target.display()), error)
        };
        let file = loop {
            let file = open_part(&path).map_err(|error| said("create", error))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(WriteError::Busy(spec.target)),
                // A file system without locks (some NFS): the user has to avoid two downloads of one file.
                Err(TryLockError::Error(_)) => {}
            }
            if is_at(&file, &path).map_err(|error| said("look at", error))? {
                break file;
            }
        };
        if spec.kept.is_empty() {
            // The progress file must not outlive the bytes that it lists.
            let _none = std::fs::remove_file(progress::progress_path(&spec.target));
            file.set_len(0).map_err(|error| said("empty the part of", error))?;
        }
        let first = spec.length.unwrap_or(0).min(spec.kept.end().max(1).next_multiple_of(STEP));
        check_space(&file, spec.length.unwrap_or(0).saturating_sub(spec.kept.total()))
            .and_then(|()| reserve(&file, 0..first))
            .map_err(|error| {
                if spec.kept.is_empty() {
                    progress::discard(&spec.target);
                }
                said("reserve space for", error)
            })?;
        let wants_direct = match cache {
            Cache::Auto => spec.length.is_some_and(|length| length >= DIRECT_FROM),
            Cache::Buffered => false,
            Cache::Direct => true,
        };
        // EINVAL: the file system does not support O_DIRECT (tmpfs before 6.5, some overlays).
        let direct = wants_direct
            .then(|| OpenOptions::new().write(true).custom_flags(libc::O_DIRECT).open(&path).ok())
            .flatten();
        let ranges = spec.kept.clone();
        let saved = (ranges.total(), clock::now());
        let hash = spec.kept.is_empty().then(|| (Sha256::new(), 0));
        Ok(Self { spec, file, direct, progress: None, ranges, reserved: first, saved, hash })
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), WriteError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let end = at + bytes.len() as u64;
        self.reserve_up_to(end).and_then(|()| self.put(at, bytes)).map_err(|error| {
            WriteError::system(format!("write {}", self.spec.target.display()), error)
        })?;
        if self.spec.digest.is_wanted() {
            match &mut self.hash {
                Some((hash, next)) if *next == at => {
                    hash.update(bytes);
                    *next = end;
                }
                // Out of order: the file is read again at the end to compute the digest.
                hash => *hash = None,
            }
        }
        self.ranges.insert(at..end);
        // A file written by one call needs no progress: it is whole or there is nothing.
        let is_whole = self.spec.length.is_some_and(|length| self.ranges.covers(0..length));
        if !is_whole && self.is_save_due() {
            // Without progress a later run resumes from less. This one goes on.
            let _less = self.save_progress(Durability::Written);
        }
        Ok(())
    }

    /// Keeps a step ahead of what is written, so that a length which the server only promises takes no space.
    fn reserve_up_to(&mut self, end: u64) -> io::Result<()> {
        let Some(length) =
            self.spec.length.filter(|length| end > self.reserved && *length > self.reserved)
        else {
            return Ok(());
        };
        let next = length.min(end.next_multiple_of(STEP));
        reserve(&self.file, self.reserved..next)?;
        self.reserved = next;
        Ok(())
    }

    /// Whole blocks go past the cache where possible, the rest goes through it.
    fn put(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let Some(direct) = self.direct.as_ref().filter(|_| at.is_multiple_of(BLOCK as u64)) else {
            return self.file.write_all_at(bytes, at);
        };
        let blocks = bytes.len() / BLOCK * BLOCK;
        match direct.write_all_at(&bytes[..blocks], at) {
            // The file system opened the file with O_DIRECT but refuses the writes. It is not asked again.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                self.direct = None;
                self.file.write_all_at(bytes, at)
            }
            Err(error) => Err(error),
            Ok(()) => self.file.write_all_at(&bytes[blocks..], at + blocks as u64),
        }
    }

    /// Saving costs little, but not nothing: on a fast line it happens once for several buffers.
    fn is_save_due(&mut self) -> bool {
        let (total, since) = self.saved;
        let (there, now) = (self.ranges.total(), clock::now());
        let is_due = self.progress.is_none()
            || there.saturating_sub(total) >= SAVED_BYTES
            || now.since(since) >= SAVED_WITHIN;
        if is_due {
            self.saved = (there, now);
        }
        is_due
    }

    fn save_progress(&mut self, durability: Durability) -> io::Result<()> {
        let progress = match &mut self.progress {
            Some(progress) => progress,
            none => none.insert(ProgressFile::create(&self.spec.target)?),
        };
        progress.write(&self.ranges, &self.spec.label, durability)?;
        if durability == Durability::Synced { progress.sync() } else { Ok(()) }
    }

    /// It will not become whole.
    fn abandon(mut self, unfinished: UnfinishedPart) -> io::Result<()> {
        if unfinished == UnfinishedPart::Remove || self.ranges.is_empty() {
            progress::discard(&self.spec.target);
            return Ok(());
        }
        // What was reserved and not written goes back.
        self.file.set_len(self.ranges.end())?;
        self.file.sync_data()?;
        self.save_progress(Durability::Synced)
    }
}

fn open_part(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.custom_flags(libc::O_NOFOLLOW).open(path)
}

/// Whether `file` still has this name. Another process may have finished it between its opening and its locking here:
/// then it is that process's whole file, and nothing may be written to it.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    let named = std::fs::symlink_metadata(path);
    Ok(named.is_ok_and(|named| (named.dev(), named.ino()) == (open.dev(), open.ino())))
}

/// Blocks are reserved in steps of this many bytes. A multiple of every block size.
const STEP: u64 = 64 << 20;

/// Fails where the file system has less than `needed` bytes free, so that a disk that is too small is reported before
/// the transfer and not in the middle of it.
fn check_space(file: &File, needed: u64) -> io::Result<()> {
    let mut space = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: an open descriptor, and room for one statvfs.
    if unsafe { libc::fstatvfs(file.as_raw_fd(), space.as_mut_ptr()) } != 0 {
        // A file system that does not say: a full disk then shows during the transfer.
        return Ok(());
    }
    // SAFETY: the call has succeeded and filled it.
    let space = unsafe { space.assume_init() };
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    // A file system without a size of its own says 0 blocks.
    match space.f_blocks > 0 && free < needed {
        true => Err(io::Error::from_raw_os_error(libc::ENOSPC)),
        false => Ok(()),
    }
}

/// Reserves the blocks of `range`: large extents, and no other process takes them meanwhile.
fn reserve(file: &File, range: std::ops::Range<u64>) -> io::Result<()> {
    let number =
        |value| i64::try_from(value).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG));
    let (start, length) = (number(range.start)?, number(range.end.saturating_sub(range.start))?);
    if length == 0 {
        return Ok(());
    }
    loop {
        // SAFETY: a plain call on an open descriptor.
        if unsafe { libc::fallocate(file.as_raw_fd(), 0, start, length) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            // The file system cannot reserve. A full disk then shows during the transfer.
            Some(libc::EOPNOTSUPP | libc::ENOSYS) => return Ok(()),
            _ => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    #[test]
    fn a_part_that_got_its_final_name_before_it_was_locked_is_not_written_to() {
        let folder = TempDir::with_prefix("wirelap-test-").unwrap();
        let [part, file] = ["part", "file"].map(|name| folder.path().join(name));
        let opened = open_part(&part).unwrap();
        assert!(is_at(&opened, &part).unwrap());
        std::fs::rename(&part, &file).unwrap();
        assert!(!is_at(&opened, &part).unwrap());
        // Nor where a third process has begun a part of its own.
        std::fs::write(&part, "").unwrap();
        assert!(!is_at(&opened, &part).unwrap());
    }
}
