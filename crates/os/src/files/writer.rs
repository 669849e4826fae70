//! Writes downloads on a thread of its own, so that receiving need not wait for the disk. The one rule: a file gets its
//! final name only when it is complete, checked and on the disk.
//!
//! Until then its bytes are in `.NAME.wirelap-part` in the same folder. `.NAME.wirelap-note` says which bytes are there,
//! so that a later run can resume. Large files are written with O_DIRECT from aligned buffers. That avoids the copy into
//! the page cache, which is most of what a download costs. A file system without O_DIRECT (tmpfs) gets ordinary writes.
//!
//! ```no_run
//! use os::files::writer::{PartSpec, Writer, WriterSettings};
//!
//! let mut writer = Writer::start(WriterSettings::default())?;
//! let part = writer.open(PartSpec::new("site.tar".into(), Some(5)));
//! writer.write(part, 0, b"hello")?;
//! writer.finish(part, 5);
//! for (part, outcome) in writer.close() {
//!     println!("{part:?}: {:?}", outcome?.digest);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod buffer;
mod disk;
mod error;
mod finish;
mod free_name;
mod progress;

pub use error::WriteError;
pub use finish::WrittenFile;
pub use progress::{Leftover, Unusable, inspect, take_over};

use crate::error::Os;
use buffer::Buffer;
use disk::{Disk, Order};
use secure::Digest;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use unit::Ranges;

/// Whether files go through the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cache {
    /// [`Cache::Direct`] for files of at least [`DIRECT_FROM`] bytes, [`Cache::Buffered`] for shorter ones.
    #[default]
    Auto,
    /// Through the page cache: a file that is read again soon stays in memory.
    Buffered,
    /// Not through the page cache (O_DIRECT), where the file system supports that.
    Direct,
}

/// Files of at least this length are written past the page cache. A shorter file fits into the cache at once, and its
/// disk time overlaps with the fsync.
pub const DIRECT_FROM: u64 = 16 << 20;

/// Bytes written at once, past the cache.
pub const LARGEST_UNIT: usize = 1 << 20;

/// What to do with the partial file of an incomplete download.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnfinishedPart {
    /// It stays, for a later run.
    #[default]
    Keep,
    /// It is removed.
    Remove,
}

/// How a writer works.
#[derive(Debug, Clone, Copy)]
pub struct WriterSettings {
    /// Whether files go through the page cache.
    pub cache: Cache,
    /// What to do with the partial files of incomplete downloads.
    pub unfinished: UnfinishedPart,
    /// Bytes gathered before they are written: a power of two, at least 64 KiB.
    pub unit: usize,
}

impl Default for WriterSettings {
    fn default() -> Self {
        Self { cache: Cache::default(), unfinished: UnfinishedPart::default(), unit: LARGEST_UNIT }
    }
}

impl WriterSettings {
    /// The unit for this many simultaneous writes. All buffers together stay below 8 MiB.
    pub fn unit_for(places: usize) -> usize {
        const BUDGET: usize = 6 << 20;
        let share = BUDGET / (places + 2);
        let power = if share.is_power_of_two() { share } else { share.next_power_of_two() / 2 };
        power.clamp(64 << 10, LARGEST_UNIT)
    }
}

/// A file that a writer has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartId(pub usize);

/// A file to write.
#[derive(Debug, Clone)]
pub struct PartSpec {
    /// Its final name.
    pub target: PathBuf,
    /// Its length, where it is known.
    pub length: Option<u64>,
    /// The ranges of the partial file that are kept; empty starts from nothing.
    pub kept: Ranges,
    /// The caller's own lines in the progress file, besides the ranges.
    pub label: String,
    /// What is to be known of its SHA-256.
    pub digest: DigestPolicy,
    /// What becomes of a file that has the final name once this one is whole.
    pub existing: Existing,
}

impl PartSpec {
    /// A new file.
    pub fn new(target: PathBuf, length: Option<u64>) -> Self {
        Self {
            target,
            length,
            kept: Ranges::new(),
            label: String::new(),
            digest: DigestPolicy::None,
            existing: Existing::Replaced,
        }
    }
}

/// What becomes of a file that has the final name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Existing {
    /// It is replaced.
    #[default]
    Replaced,
    /// It stays, and the new one fails with [`WriteError::Taken`], however late the other file came.
    Stays,
}

/// What is to be known of a file's SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DigestPolicy {
    /// No digest.
    #[default]
    None,
    /// Compute it and report it.
    Report,
    /// The expected digest. A file with another digest is removed.
    Expect(Digest),
}

impl DigestPolicy {
    fn is_wanted(self) -> bool {
        self != Self::None
    }
}

/// Why a part is broken, once it is.
type Broken = Arc<OnceLock<WriteError>>;

/// Writes files, on a thread of its own.
#[derive(Debug)]
pub struct Writer {
    settings: WriterSettings,
    parts: Vec<OpenPart>,
    orders: SyncSender<Order>,
    /// Written buffers that may be filled again.
    written: Receiver<Buffer>,
    thread: JoinHandle<Vec<(PartId, Result<WrittenFile, WriteError>)>>,
}

/// A partial file, as the calling thread knows it.
#[derive(Debug)]
struct OpenPart {
    length: Option<u64>,
    broken: Broken,
    /// Places at which bytes arrive.
    streams: Vec<Stream>,
}

/// One run of bytes on its way into a file.
#[derive(Debug)]
struct Stream {
    /// Where the buffer's first byte goes.
    at: u64,
    buffer: Buffer,
    /// How many bytes the buffer takes. It ends at a multiple of the unit, so that the next write is aligned.
    limit: usize,
}

impl Stream {
    fn next(&self) -> u64 {
        self.at + self.buffer.len() as u64
    }
}

impl Writer {
    /// Starts the thread.
    pub fn start(settings: WriterSettings) -> Result<Self, Os> {
        // One order waits, one is carried out and the next is gathered.
        let (orders, todo) = sync_channel(1);
        let (give_back, written) = channel();
        let disk = Disk::new(settings, give_back);
        let thread = std::thread::Builder::new()
            .name("writer".to_owned())
            .spawn(move || disk.run(&todo))
            .map_err(|source| Os::new("start the thread that writes files", source))?;
        Ok(Self { settings, parts: Vec::new(), orders, written, thread })
    }

    /// Begins a file. An error of the system is reported by the next `write`, or at the end.
    pub fn open(&mut self, spec: PartSpec) -> PartId {
        let id = PartId(self.parts.len());
        let broken = Broken::default();
        self.parts.push(OpenPart {
            length: spec.length,
            broken: broken.clone(),
            streams: Vec::new(),
        });
        self.order(Order::Open { id, spec, broken });
        id
    }

    /// Begins a file anew: nothing of it stays.
    pub fn reopen(&mut self, id: PartId, spec: PartSpec) {
        let Some(part) = self.parts.get_mut(id.0) else { return };
        part.length = spec.length;
        part.streams.clear();
        let broken = part.broken.clone();
        self.order(Order::Open { id, spec, broken });
    }

    /// Takes bytes of a file for the offset `at`. Blocks while the disk is behind. The caller receives nothing
    /// meanwhile, and so TCP slows the sender down.
    pub fn write(&mut self, id: PartId, mut at: u64, mut bytes: &[u8]) -> Result<(), WriteError> {
        while !bytes.is_empty() {
            let Some(part) = self.parts.get(id.0) else { return Ok(()) };
            if let Some(error) = part.broken.get() {
                return Err(error.clone());
            }
            let index = match part.streams.iter().position(|stream| stream.next() == at) {
                Some(index) => index,
                None => self.begin(id, at),
            };
            let Some(stream) = self.parts[id.0].streams.get_mut(index) else { return Ok(()) };
            let count = bytes.len().min(stream.limit - stream.buffer.len());
            stream.buffer.extend(&bytes[..count]);
            bytes = &bytes[count..];
            at += count as u64;
            if stream.buffer.len() == stream.limit {
                let full = self.parts[id.0].streams.swap_remove(index);
                self.order(Order::Write { id, at: full.at, buffer: full.buffer });
            }
        }
        Ok(())
    }

    /// A buffer for at most this many bytes of a file at the offset `at`. Receiving into it saves a copy. None where
    /// the file has failed, as `write` reports.
    pub fn receive_buffer(&mut self, id: PartId, at: u64, at_most: u64) -> Option<&mut [u8]> {
        let part = self.parts.get(id.0).filter(|part| part.broken.get().is_none())?;
        let index = match part.streams.iter().position(|stream| stream.next() == at) {
            Some(index) => index,
            None => self.begin(id, at),
        };
        let stream = self.parts[id.0].streams.get_mut(index)?;
        let at_most = usize::try_from(at_most).unwrap_or(usize::MAX);
        let limit = stream.limit.min(stream.buffer.len().saturating_add(at_most));
        Some(stream.buffer.spare(limit))
    }

    /// This many bytes are now in the buffer that `receive_buffer` gave for `at`.
    pub fn filled(&mut self, id: PartId, at: u64, bytes: usize) -> Result<(), WriteError> {
        let Some(part) = self.parts.get_mut(id.0) else { return Ok(()) };
        let Some(index) = part.streams.iter().position(|stream| stream.next() == at) else {
            return Ok(());
        };
        let stream = &mut part.streams[index];
        stream.buffer.filled(bytes);
        if stream.buffer.len() == stream.limit {
            let full = part.streams.swap_remove(index);
            self.order(Order::Write { id, at: full.at, buffer: full.buffer });
        }
        match self.parts[id.0].broken.get() {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// The file is whole. It gets its final name if the digest is right.
    pub fn finish(&mut self, id: PartId, length: u64) {
        self.flush(id);
        self.order(Order::Finish { id, length });
    }

    /// The file will not become whole.
    pub fn abandon(&mut self, id: PartId) {
        self.flush(id);
        self.order(Order::Abandon { id });
    }

    /// Waits for all files and returns the outcome of each. Files neither finished nor abandoned are abandoned.
    pub fn close(self) -> Vec<(PartId, Result<WrittenFile, WriteError>)> {
        drop(self.orders);
        self.thread.join().unwrap_or_default()
    }

    /// A new place at which bytes arrive.
    fn begin(&mut self, id: PartId, at: u64) -> usize {
        let unit = self.settings.unit as u64;
        let to_boundary = unit - at % unit;
        let left = self.parts[id.0].length.map_or(u64::MAX, |length| length.saturating_sub(at));
        // The caller has to notice a body longer than announced. Here its bytes are written all the same.
        let limit = if left == 0 { to_boundary } else { to_boundary.min(left) } as usize;
        let buffer = self.written.try_iter().find(|buffer| buffer.capacity() >= limit);
        let buffer = buffer.unwrap_or_else(|| Buffer::new(limit));
        let streams = &mut self.parts[id.0].streams;
        streams.push(Stream { at, buffer, limit });
        streams.len() - 1
    }

    fn flush(&mut self, id: PartId) {
        let Some(part) = self.parts.get_mut(id.0) else { return };
        for stream in std::mem::take(&mut part.streams) {
            self.order(Order::Write { id, at: stream.at, buffer: stream.buffer });
        }
    }

    fn order(&self, order: Order) {
        // The thread ends when this sender is dropped. If it panicked, `close` finds outcomes missing.
        let _ended = self.orders.send(order);
    }
}

#[cfg(test)]
mod tests;
