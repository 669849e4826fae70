//! The last steps of a file: digest, fsync, final name. They mostly wait for the disk. So several files take them at a
//! time, and the file system's journal commits them together.

use super::disk::Part;
use super::error::WriteError;
use super::{DigestPolicy, Existing, PartId, PartSpec, free_name, progress};
use secure::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Files finished at a time.
const AT_A_TIME: usize = 8;

/// Bytes read at once for a digest.
const READ: usize = 256 * 1024;

/// A file that is whole, on the disk, and has its final name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenFile {
    /// Its length.
    pub length: u64,
    /// Its digest, where it was asked for.
    pub digest: Option<Digest>,
}

type Job = (PartId, Part, u64);
type Outcome = (PartId, Result<WrittenFile, WriteError>);

/// The threads that finish files. They are started when first needed.
#[derive(Debug, Default)]
pub(super) struct Finisher {
    jobs: Option<Sender<Job>>,
    queue: Option<Arc<Mutex<Receiver<Job>>>>,
    threads: Vec<JoinHandle<Vec<Outcome>>>,
    done: Vec<Outcome>,
    /// Folders in which files got their final names, with those files.
    folders: BTreeMap<PathBuf, Vec<PartId>>,
}

impl Finisher {
    /// A file did not become whole.
    pub(super) fn failed(&mut self, id: PartId, why: WriteError) {
        self.done.push((id, Err(why)));
    }

    /// Finishes `part`, which is whole with this many bytes.
    pub(super) fn finish(&mut self, id: PartId, part: Part, length: u64) {
        self.folders.entry(folder(&part.spec.target)).or_default().push(id);
        if self.threads.len() < AT_A_TIME {
            self.start();
        }
        let Some(jobs) = &self.jobs else { return };
        if let Err(refused) = jobs.send((id, part, length)) {
            // No thread could be started: this thread does the work.
            let (id, part, length) = refused.0;
            self.done.push((id, name(part, length)));
        }
    }

    fn start(&mut self) {
        let queue = match &self.queue {
            Some(queue) => Arc::clone(queue),
            None => {
                let (jobs, queue) = channel();
                self.jobs = Some(jobs);
                Arc::clone(self.queue.insert(Arc::new(Mutex::new(queue))))
            }
        };
        let work = move || {
            let mut done = Vec::new();
            loop {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok((id, part, length)) = next else { return done };
                done.push((id, name(part, length)));
            }
        };
        let thread = std::thread::Builder::new().name("finisher".to_owned()).spawn(work);
        match thread {
            Ok(thread) => self.threads.push(thread),
            // Without any thread the queue is dropped, and `finish` does the work itself.
            Err(_) if self.threads.is_empty() => self.queue = None,
            Err(_) => {}
        }
    }

    /// Waits for all files, and syncs their folders.
    pub(super) fn close(mut self) -> Vec<Outcome> {
        self.jobs = None;
        for thread in self.threads {
            self.done.extend(thread.join().unwrap_or_default());
        }
        for (folder, ids) in self.folders {
            let Err(error) = File::open(&folder).and_then(|folder| folder.sync_all()) else {
                continue;
            };
            let why = WriteError::system(format!("write the folder {}", folder.display()), error);
            for (id, outcome) in &mut self.done {
                if outcome.is_ok() && ids.contains(id) {
                    *outcome = Err(why.clone());
                }
            }
        }
        self.done
    }
}

/// Checks the partial file, syncs it and gives it its final name.
fn name(part: Part, length: u64) -> Result<WrittenFile, WriteError> {
    let wish = part.spec.digest;
    let target = part.spec.target.clone();
    let said =
        |what: &str, error| WriteError::system(format!("{what} {}", target.display()), error);
    let digest = match wish.is_wanted() {
        true => Some(digest(&part, length).map_err(|error| said("read back", error))?),
        false => None,
    };
    if let (DigestPolicy::Expect(expected), Some(got)) = (wish, digest)
        && expected != got
    {
        progress::discard(&target);
        return Err(WriteError::WrongDigest { target, expected, got });
    }
    let now = part.file.metadata().map_err(|error| said("look at", error))?.len();
    if now != length {
        // More space was reserved than needed, or an earlier partial file was longer.
        part.file.set_len(length).map_err(|error| said("set the length of", error))?;
    }
    if part.spec.existing == Existing::Replaced {
        pass_on_permissions(&part.file, &target)
            .map_err(|error| said("set the permissions of", error))?;
    }
    part.file.sync_all().map_err(|error| said("bring to the disk", error))?;
    give_name(&part.spec).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists if part.spec.existing == Existing::Stays => {
            progress::discard(&target);
            WriteError::Taken(target.clone())
        }
        _ => said("name", error),
    })?;
    // If no progress was saved, there is nothing to remove.
    let _none = std::fs::remove_file(progress::progress_path(&target));
    Ok(WrittenFile { length, digest })
}

/// Gives the permissions of the file that is replaced, where there is one. A file system without them refuses that, which is an error
/// only where more people could read the new file.
fn pass_on_permissions(file: &File, target: &Path) -> io::Result<()> {
    let Some(old) = std::fs::symlink_metadata(target).ok().filter(Metadata::is_file) else {
        return Ok(());
    };
    let (old, own) = (old.permissions().mode() & 0o777, file.metadata()?.permissions().mode());
    match file.set_permissions(Permissions::from_mode(old)) {
        Err(error) if own & !old & 0o777 != 0 => Err(error),
        _ => Ok(()),
    }
}

fn give_name(spec: &PartSpec) -> io::Result<()> {
    let part = progress::part_path(&spec.target);
    match spec.existing {
        Existing::Replaced => std::fs::rename(part, &spec.target),
        Existing::Stays => free_name::rename(&part, &spec.target),
    }
}

fn digest(part: &Part, length: u64) -> io::Result<Digest> {
    if let Some((hash, next)) = &part.hash
        && *next == length
    {
        return Ok(hash.clone().finish());
    }
    let mut hash = Sha256::new();
    let mut buffer = vec![0; READ];
    let mut at = 0;
    while at < length {
        let wanted = usize::try_from(length - at).unwrap_or(READ).min(READ);
        part.file.read_exact_at(&mut buffer[..wanted], at)?;
        hash.update(&buffer[..wanted]);
        at += wanted as u64;
    }
    Ok(hash.finish())
}

/// The folder that a name stands in.
fn folder(target: &Path) -> PathBuf {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}
