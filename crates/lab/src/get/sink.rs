//! Where the bytes of `wirelap get` go: into files by way of their partial files, or out as a stream.

use super::disposition;
use super::leftover;
use super::names::Target;
use super::progress::Meter;
use client::{Beginning, FileId, Note, Refusal, Sink};
use os::files::writer::{
    DigestPolicy, Existing, PartId, PartSpec, WriteError, Writer, WriterSettings, WrittenFile,
    inspect, take_over,
};
use os::signal::Interrupts;
use proto::ResponseHead;
use secure::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;
use unit::{Instant, format_duration};

/// What is printed during a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Voice {
    Silent,
    Normal,
    Verbose,
}

/// A file as it is wanted.
#[derive(Debug, Clone)]
pub(crate) struct Wish {
    pub(crate) url: String,
    pub(crate) target: Target,
    pub(crate) digest: DigestPolicy,
    pub(crate) naming: Naming,
}

/// Who names a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Naming {
    /// The user, or the URL that the user gave.
    Ours,
    /// The server, where it names it safely; else the URL.
    Server(Existing),
}

/// All that is written.
#[derive(Debug)]
pub(crate) struct Outputs {
    settings: WriterSettings,
    writer: Option<Writer>,
    entries: Vec<Entry>,
    meter: Meter,
    voice: Voice,
    heads: Heads,
    limit: Option<Limit>,
}

/// Whether the heads of answers are written before their bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heads {
    LeftOut,
    Written,
}

#[derive(Debug)]
struct Entry {
    wish: Wish,
    /// Whether the server has named it.
    is_renamed: bool,
    part: Option<PartId>,
    stream: Option<Stream>,
    /// The head of the last answer, as HTTP/1.1 writes it.
    head: Vec<u8>,
    /// A stream that is written.
    outcome: Option<WrittenFile>,
}

/// Something that takes bytes in their order, once.
#[derive(Debug)]
struct Stream {
    /// Without a buffer: each write has an outcome.
    file: File,
    at: u64,
    hash: Option<Sha256>,
}

impl Entry {
    /// What becomes of a file that has the name of this one. A name of the URL's replaces, as without `-J`.
    fn existing(&self) -> Existing {
        match self.wish.naming {
            Naming::Server(existing) if self.is_renamed => existing,
            Naming::Server(_) | Naming::Ours => Existing::Replaced,
        }
    }
}

impl Outputs {
    pub(crate) fn new(
        settings: WriterSettings,
        wishes: Vec<Wish>,
        meter: Meter,
        voice: Voice,
    ) -> Self {
        let entry = |wish| Entry {
            wish,
            is_renamed: false,
            part: None,
            stream: None,
            head: Vec::new(),
            outcome: None,
        };
        let entries = wishes.into_iter().map(entry).collect();
        Self { settings, writer: None, entries, meter, voice, heads: Heads::LeftOut, limit: None }
    }

    /// Writes the head of each answer before its body, to what is no file.
    pub(crate) fn include_heads(&mut self) {
        self.heads = Heads::Written;
    }

    /// Takes `rate` bytes a second at most, until somebody interrupts.
    pub(crate) fn limit(&mut self, rate: NonZeroU64, interrupts: Arc<Interrupts>) {
        self.limit = Some(Limit { rate, interrupts, begun: None, taken: 0 });
    }

    /// Waits for the disk and returns what became of each file: None for one that was never whole.
    pub(crate) fn close(self) -> Vec<(Wish, Option<Result<WrittenFile, WriteError>>)> {
        self.meter.clear();
        let closed = self.writer.map(Writer::close).unwrap_or_default();
        let mut written: BTreeMap<PartId, Result<WrittenFile, WriteError>> =
            closed.into_iter().collect();
        let outcome = |entry: Entry| {
            let of_part = entry.part.and_then(|part| written.remove(&part));
            let outcome = match of_part {
                Some(Err(WriteError::Unfinished(_))) => None,
                Some(outcome) => Some(outcome),
                None => entry.outcome.map(Ok),
            };
            (entry.wish, outcome)
        };
        self.entries.into_iter().map(outcome).collect()
    }

    /// Takes the name that the server gives a file, before its first byte.
    fn rename(&mut self, file: FileId, head: &ResponseHead) {
        let Some(entry) = self.entries.get_mut(file.0) else { return };
        let (Naming::Server(_), Target::File(path)) = (entry.wish.naming, &entry.wish.target)
        else {
            return;
        };
        let Some(value) = head.fields.find_str("content-disposition") else { return };
        if entry.part.is_some() || !matches!(head.status.code(), 200 | 203 | 206) {
            return;
        }
        match disposition::file_name(value) {
            Some(name) => {
                entry.wish.target = Target::File(path.with_file_name(name));
                entry.is_renamed = true;
            }
            None if self.voice > Voice::Silent => {
                let name = entry.wish.target.name();
                self.meter.say(&format!("{name}: the server gives it no name that is safe"));
            }
            None => {}
        }
    }

    /// Refuses a name of the server's that another file has.
    fn check_name(&self, file: FileId) -> Result<(), Refusal> {
        let Some(entry) = self.entries.get(file.0).filter(|entry| entry.is_renamed) else {
            return Ok(());
        };
        let Target::File(path) = &entry.wish.target else { return Ok(()) };
        let same = self.entries.iter().filter(|other| other.wish.target == entry.wish.target);
        if same.count() > 1 {
            return Err(Refusal(format!("another URL is {} already", path.display())));
        }
        // A link that leads nowhere is there, too.
        let is_there = path.symlink_metadata().is_ok();
        match entry.existing() {
            Existing::Stays if is_there => {
                Err(Refusal(format!("{} is there already; --clobber replaces it", path.display())))
            }
            Existing::Replaced if path.is_dir() => {
                Err(Refusal(format!("{} is a folder", path.display())))
            }
            _ => Ok(()),
        }
    }

    fn open_part(&mut self, file: FileId, spec: PartSpec) -> Result<(), Refusal> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => {
                let started = Writer::start(self.settings);
                none.insert(started.map_err(|error| Refusal(error.to_string()))?)
            }
        };
        let entry = &mut self.entries[file.0];
        match entry.part {
            Some(part) => writer.reopen(part, spec),
            None => entry.part = Some(writer.open(spec)),
        }
        Ok(())
    }
}

/// A rate that is kept by not reading on: the socket's buffer fills, and the server has to wait.
#[derive(Debug)]
struct Limit {
    rate: NonZeroU64,
    interrupts: Arc<Interrupts>,
    /// When the first bytes came.
    begun: Option<Instant>,
    taken: u64,
}

impl Limit {
    fn take(&mut self, bytes: usize) {
        let begun = *self.begun.get_or_insert_with(os::clock::now);
        self.taken += bytes as u64;
        let due = begun + Duration::from_secs_f64(self.taken as f64 / self.rate.get() as f64);
        loop {
            let left = due.since(os::clock::now());
            if left.is_zero() || self.interrupts.count() > 0 {
                return;
            }
            std::thread::sleep(left.min(LONGEST_NAP));
        }
    }
}

/// An interrupt is heeded after so long.
const LONGEST_NAP: Duration = Duration::from_millis(100);

impl Sink for Outputs {
    fn head(&mut self, file: FileId, head: &ResponseHead) {
        self.rename(file, head);
        if self.heads == Heads::LeftOut {
            return;
        }
        let Some(entry) = self.entries.get_mut(file.0) else { return };
        entry.head = format!("HTTP/1.1 {}\r\n", head.status.code()).into_bytes();
        for field in head.fields.iter() {
            entry.head.extend_from_slice(field.name);
            entry.head.extend_from_slice(b": ");
            entry.head.extend_from_slice(field.value);
            entry.head.extend_from_slice(b"\r\n");
        }
        entry.head.extend_from_slice(b"\r\n");
    }

    fn begin(&mut self, file: FileId, beginning: Beginning<'_>) -> Result<(), Refusal> {
        self.check_name(file)?;
        let Some(entry) = self.entries.get_mut(file.0) else { return Ok(()) };
        let kept = beginning.kept.total();
        self.meter.begin(beginning.version.length, kept);
        if kept > 0 && self.voice == Voice::Verbose {
            let name = entry.wish.target.name();
            self.meter.say(&format!("* {name}: {kept} bytes are there, going on from them"));
        }
        if let Target::File(path) = &entry.wish.target {
            // The kept bytes are in the file itself, not in our partial file. The server has the same version.
            if kept > 0 && inspect(path).is_err() {
                take_over(path).map_err(|error| {
                    Refusal(format!("cannot rename {}: {error}", path.display()))
                })?;
            }
            let spec = PartSpec {
                length: beginning.version.length,
                kept: beginning.kept.clone(),
                label: leftover::label(&entry.wish.url, beginning.version),
                digest: entry.wish.digest,
                existing: entry.existing(),
                ..PartSpec::new(path.clone(), None)
            };
            return self.open_part(file, spec);
        }
        match &entry.stream {
            None => {
                let mut stream = Stream::open(&entry.wish)?;
                stream.put(&entry.wish, &entry.head)?;
                entry.stream = Some(stream);
            }
            Some(stream) if stream.at == 0 => {}
            Some(_) => {
                return Err(Refusal(format!(
                    "{} cannot begin anew: part of it is written already",
                    entry.wish.target.name()
                )));
            }
        }
        Ok(())
    }

    fn write(&mut self, file: FileId, at: u64, bytes: &[u8]) -> Result<(), Refusal> {
        self.meter.received(bytes.len() as u64);
        if let Some(limit) = &mut self.limit {
            limit.take(bytes.len());
        }
        let Some(entry) = self.entries.get_mut(file.0) else { return Ok(()) };
        if let (Some(writer), Some(part)) = (&mut self.writer, entry.part) {
            return writer.write(part, at, bytes).map_err(|error| Refusal(error.to_string()));
        }
        match &mut entry.stream {
            Some(stream) => stream.write(&entry.wish, at, bytes),
            None => Ok(()),
        }
    }

    fn receive_buffer(&mut self, file: FileId, at: u64, at_most: u64) -> Option<&mut [u8]> {
        let part = self.entries.get(file.0)?.part?;
        self.writer.as_mut()?.receive_buffer(part, at, at_most)
    }

    fn filled(&mut self, file: FileId, at: u64, bytes: usize) -> Result<(), Refusal> {
        self.meter.received(bytes as u64);
        if let Some(limit) = &mut self.limit {
            limit.take(bytes);
        }
        match (&mut self.writer, self.entries.get(file.0).and_then(|entry| entry.part)) {
            (Some(writer), Some(part)) => {
                writer.filled(part, at, bytes).map_err(|error| Refusal(error.to_string()))
            }
            _ => Ok(()),
        }
    }

    fn complete(&mut self, file: FileId, length: u64) -> Result<(), Refusal> {
        self.meter.done();
        let Some(entry) = self.entries.get_mut(file.0) else { return Ok(()) };
        if let (Some(writer), Some(part)) = (&mut self.writer, entry.part) {
            // What the disk says to it comes with `close`.
            writer.finish(part, length);
            return Ok(());
        }
        let Some(stream) = entry.stream.take() else { return Ok(()) };
        let digest = stream.hash.map(Sha256::finish);
        entry.outcome = Some(WrittenFile { length, digest });
        judge(&entry.wish, digest)
    }

    fn give_up(&mut self, file: FileId) {
        self.meter.done();
        let Some(entry) = self.entries.get_mut(file.0) else { return };
        // A part that this run has not opened is an earlier run's, or another process's.
        if let (Some(writer), Some(part)) = (&mut self.writer, entry.part) {
            writer.abandon(part);
        }
    }

    fn note(&mut self, file: FileId, note: &Note<'_>) {
        let (Some(entry), true) = (self.entries.get(file.0), self.voice > Voice::Silent) else {
            return;
        };
        let name = entry.wish.target.name();
        let line = match note {
            Note::Retry { after, why } => {
                format!("{name}: {why}; trying again in {}", format_duration(*after))
            }
            Note::Anew(why) => format!("{name}: {why}; beginning anew"),
            Note::Unconditional(why) => {
                format!("{name}: {why}; asking for the rest without a condition")
            }
            Note::Coded(coding) => {
                format!("{name}: the server coded it ({coding}) unasked; it is kept as it comes")
            }
        };
        self.meter.say(&line);
    }
}

impl Stream {
    fn open(wish: &Wish) -> Result<Self, Refusal> {
        let opened = match &wish.target {
            Target::File(path) | Target::Stream(path) => OpenOptions::new().write(true).open(path),
            Target::Stdout => std::io::stdout().as_fd().try_clone_to_owned().map(File::from),
        };
        let file = opened
            .map_err(|error| Refusal(format!("cannot open {}: {error}", wish.target.name())))?;
        let hash = (wish.digest != DigestPolicy::None).then(Sha256::new);
        Ok(Self { file, at: 0, hash })
    }

    fn write(&mut self, wish: &Wish, at: u64, bytes: &[u8]) -> Result<(), Refusal> {
        if at != self.at {
            return Err(Refusal("what goes to a stream must come in order".to_owned()));
        }
        self.put(wish, bytes)?;
        self.at += bytes.len() as u64;
        if let Some(hash) = &mut self.hash {
            hash.update(bytes);
        }
        Ok(())
    }
}

impl Stream {
    /// Writes what is no part of the file, or the next part of it.
    fn put(&mut self, wish: &Wish, bytes: &[u8]) -> Result<(), Refusal> {
        self.file
            .write_all(bytes)
            .map_err(|error| Refusal(format!("cannot write to {}: {error}", wish.target.name())))
    }
}

/// A stream is written before its digest is known. A wrong digest is at least reported.
fn judge(wish: &Wish, digest: Option<Digest>) -> Result<(), Refusal> {
    match (wish.digest, digest) {
        (DigestPolicy::Expect(expected), Some(got)) if expected != got => Err(Refusal(format!(
            "{} is not the file expected: its SHA-256 is {got}, not {expected}",
            wish.target.name()
        ))),
        _ => Ok(()),
    }
}
