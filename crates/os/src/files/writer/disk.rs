//! The thread that writes: orders in, one after another, each carried out before the next.
#![allow(unsafe_code)]

use super::buffer::{BLOCK, Buffer};
use super::error::WriteError;
use super::note::{self, Note, Standing};
use super::settle::{Settler, Whole};
use super::{Broken, Cache, DIRECT_FROM, Leave, PartId, PartSpec, WriterSettings};
use crate::clock;
use secure::Sha256;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;
use unit::{Instant, Ranges};

/// What the writer's near end asks for.
#[derive(Debug)]
pub(super) enum Order {
    Open { id: PartId, spec: PartSpec, broken: Broken },
    Write { id: PartId, at: u64, buffer: Buffer },
    Finish { id: PartId, length: u64 },
    Leave { id: PartId },
}

/// Bytes written without a note, at most.
const NOTED_AT_LEAST: u64 = 8 << 20;

/// Time between two notes, where so many have not come.
const NOTED_WITHIN: Duration = Duration::from_millis(200);

/// The far end of a writer.
pub(super) struct Disk {
    settings: WriterSettings,
    parts: BTreeMap<PartId, (Broken, Option<Part>)>,
    give_back: Sender<Buffer>,
    settler: Settler,
}

/// A part, open.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) spec: PartSpec,
    pub(super) file: File,
    /// The same file, for writes past the page cache.
    direct: Option<File>,
    note: Option<Note>,
    ranges: Ranges,
    /// How much of it was there, and when, as the note was written last.
    noted: (u64, Instant),
    /// The digest of what was written, as long as that was from the beginning on and in order.
    pub(super) hash: Option<(Sha256, u64)>,
}

impl Disk {
    pub(super) fn new(settings: WriterSettings, give_back: Sender<Buffer>) -> Self {
        Self { settings, parts: BTreeMap::new(), give_back, settler: Settler::default() }
    }

    /// Carries out what comes until nothing will come any more.
    pub(super) fn run(
        mut self,
        orders: &Receiver<Order>,
    ) -> Vec<(PartId, Result<Whole, WriteError>)> {
        while let Ok(order) = orders.recv() {
            match order {
                Order::Open { id, spec, broken } => self.open(id, spec, broken),
                Order::Write { id, at, buffer } => self.write(id, at, buffer),
                Order::Finish { id, length } => self.finish(id, length),
                Order::Leave { id } => self.leave(id),
            }
        }
        for id in self.parts.keys().copied().collect::<Vec<_>>() {
            self.leave(id);
        }
        self.settler.close()
    }

    fn open(&mut self, id: PartId, spec: PartSpec, broken: Broken) {
        // Beginning anew: the lock on the old one is let go of first.
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
        // The near end may be gone already.
        let _ended = self.give_back.send(buffer);
    }

    fn finish(&mut self, id: PartId, length: u64) {
        match self.parts.remove(&id) {
            Some((broken, Some(part))) if broken.get().is_none() => {
                self.settler.settle(id, part, length);
            }
            Some(other) => self.give_up(id, other),
            None => {}
        }
    }

    fn leave(&mut self, id: PartId) {
        if let Some(part) = self.parts.remove(&id) {
            self.give_up(id, part);
        }
    }

    fn give_up(&mut self, id: PartId, (broken, part): (Broken, Option<Part>)) {
        let mut why = broken.get().cloned();
        if let Some(part) = part {
            why = why.or_else(|| Some(WriteError::Unfinished(part.spec.target.clone())));
            // A disk that takes no more may not take the note either: then there is less to go on from.
            let _less = part.leave(self.settings.leave);
        }
        if let Some(why) = why {
            self.settler.failed(id, why);
        }
    }
}

impl Part {
    fn open(spec: PartSpec, cache: Cache) -> Result<Self, WriteError> {
        let path = note::part_of(&spec.target);
        let said = |what: &str, error| {
            WriteError::system(format!("{what} {}", spec.target.display()), error)
        };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&path)
            .map_err(|error| said("create", error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(WriteError::Busy(spec.target)),
            // A file system without locks (some NFS): two downloads of one file are then the user's to avoid.
            Err(TryLockError::Error(_)) => {}
        }
        if spec.kept.is_empty() {
            // A note of what is about to be gone must not outlive it.
            let _none = std::fs::remove_file(note::note_of(&spec.target));
            file.set_len(0).map_err(|error| said("empty the part of", error))?;
        }
        if let Some(length) = spec.length {
            reserve(&file, length).map_err(|error| {
                if spec.kept.is_empty() {
                    note::discard(&spec.target);
                }
                said("make room for", error)
            })?;
        }
        let wants_direct = match cache {
            Cache::Auto => spec.length.is_some_and(|length| length >= DIRECT_FROM),
            Cache::Through => false,
            Cache::Past => true,
        };
        // EINVAL: the file system has no such writes (tmpfs before 6.5, some overlays).
        let direct = wants_direct
            .then(|| OpenOptions::new().write(true).custom_flags(libc::O_DIRECT).open(&path).ok())
            .flatten();
        let ranges = spec.kept.clone();
        let noted = (ranges.total(), clock::now());
        let hash = spec.kept.is_empty().then(|| (Sha256::new(), 0));
        Ok(Self { spec, file, direct, note: None, ranges, noted, hash })
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), WriteError> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.put(at, bytes).map_err(|error| {
            WriteError::system(format!("write {}", self.spec.target.display()), error)
        })?;
        let end = at + bytes.len() as u64;
        if self.spec.digest.is_wanted() {
            match &mut self.hash {
                Some((hash, next)) if *next == at => {
                    hash.update(bytes);
                    *next = end;
                }
                // Out of order: it is read again at the end.
                hash => *hash = None,
            }
        }
        self.ranges.insert(at..end);
        // What is written at once needs no note: it is whole, or nothing.
        let is_whole = self.spec.length.is_some_and(|length| self.ranges.covers(0..length));
        if !is_whole && self.is_note_due() {
            // Without it a later run finds less to go on from; this one goes on.
            let _less = self.take_note(Standing::Written);
        }
        Ok(())
    }

    /// Whole blocks go past the cache where they may, the rest through it.
    fn put(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let Some(direct) = self.direct.as_ref().filter(|_| at.is_multiple_of(BLOCK as u64)) else {
            return self.file.write_all_at(bytes, at);
        };
        let blocks = bytes.len() / BLOCK * BLOCK;
        match direct.write_all_at(&bytes[..blocks], at) {
            // The file system opened it so and refuses all the same: it is not asked again.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                self.direct = None;
                self.file.write_all_at(bytes, at)
            }
            Err(error) => Err(error),
            Ok(()) => self.file.write_all_at(&bytes[blocks..], at + blocks as u64),
        }
    }

    /// A note costs little, but not nothing: on a quick line one for several buffers is enough.
    fn is_note_due(&mut self) -> bool {
        let (total, since) = self.noted;
        let (there, now) = (self.ranges.total(), clock::now());
        let is_due = self.note.is_none()
            || there.saturating_sub(total) >= NOTED_AT_LEAST
            || now.since(since) >= NOTED_WITHIN;
        if is_due {
            self.noted = (there, now);
        }
        is_due
    }

    fn take_note(&mut self, standing: Standing) -> io::Result<()> {
        let note = match &mut self.note {
            Some(note) => note,
            none => none.insert(Note::create(&self.spec.target)?),
        };
        note.write(&self.ranges, &self.spec.label, standing)?;
        if standing == Standing::Synced { note.sync() } else { Ok(()) }
    }

    /// It will not become whole.
    fn leave(mut self, leave: Leave) -> io::Result<()> {
        if leave == Leave::Remove || self.ranges.is_empty() {
            note::discard(&self.spec.target);
            return Ok(());
        }
        self.file.sync_data()?;
        self.take_note(Standing::Synced)
    }
}

/// Takes the blocks that the file will need, so that a full disk is told before the transfer and not in its
/// middle.
fn reserve(file: &File, length: u64) -> io::Result<()> {
    let length = i64::try_from(length).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
    if length == 0 {
        return Ok(());
    }
    loop {
        // SAFETY: a plain call on an open descriptor.
        if unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, length) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            // The file system cannot; then the disk fills when it does.
            Some(libc::EOPNOTSUPP | libc::ENOSYS) => return Ok(()),
            _ => return Err(error),
        }
    }
}
