//! The folder of a run: what is in it, and under which name.

use crate::error::{self, CliError};
use crate::race::store::Store;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// A run's folder.
#[derive(Debug, Clone)]
pub(crate) struct RunFolder {
    path: PathBuf,
}

/// As long as it lives, no other process runs trials into the folder.
#[derive(Debug)]
pub(crate) struct Lock {
    /// The lock is the kernel's, on the open folder, so that it ends with the process however that ends.
    _handle: File,
}

impl RunFolder {
    /// Makes the folder new: `asked`, or `wirelap-NAME-N` here with the first N that is free.
    pub(crate) fn create(asked: Option<&Path>, name: &str) -> Result<Self, CliError> {
        let folder = Self::create_empty(asked, name)?;
        fs::create_dir(folder.inputs()).map_err(|error| {
            error::file(format!("making {}", folder.inputs().display()), &error)
        })?;
        Ok(folder)
    }

    /// The same for what is no run itself, with nothing in it.
    pub(crate) fn create_empty(asked: Option<&Path>, name: &str) -> Result<Self, CliError> {
        match asked {
            Some(path) => Self::create_at(path),
            None => Self::create_numbered(name),
        }
    }

    /// Gives a folder that was made and filled elsewhere its place. Nobody ever finds half of it there.
    pub(crate) fn move_to(self, path: &Path) -> Result<Self, CliError> {
        fs::rename(&self.path, path)
            .map_err(|error| error::file(format!("naming a folder {}", path.display()), &error))?;
        Ok(Self::open(path))
    }

    /// Takes the folder for this process alone, until the lock is dropped. A file system that knows no locks
    /// gives one that keeps nobody out.
    pub(crate) fn lock(&self) -> Result<Lock, CliError> {
        let handle = File::open(&self.path).map_err(|error| {
            error::file(format!("opening the folder {}", self.path.display()), &error)
        })?;
        match handle.try_lock() {
            Err(TryLockError::WouldBlock) => {
                Err(CliError::misuse(format!("another wirelap runs in {}", self.path.display()))
                    .remedy("wait until it has ended, or end it with Ctrl-C"))
            }
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Lock { _handle: handle }),
        }
    }

    /// Takes away a folder in which nothing has run yet.
    pub(crate) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.path);
    }

    /// The folder of an earlier run.
    pub(crate) fn open(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// The folder itself.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The rows.
    pub(crate) fn rows(&self) -> PathBuf {
        self.path.join("rows.sqlite")
    }

    /// Copies of the files that the experiment reads, so that the folder is whole by itself.
    pub(crate) fn inputs(&self) -> PathBuf {
        self.path.join("inputs")
    }

    /// Where trials have folders of their own while they run.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.path.join("scratch")
    }

    /// The packets of trials, a file each.
    pub(crate) fn captures(&self) -> PathBuf {
        self.path.join("captures")
    }

    /// What trials log of their connections over QUIC.
    pub(crate) fn qlogs(&self) -> PathBuf {
        self.path.join("qlogs")
    }

    /// The frames that browsers showed, a folder for each trial.
    pub(crate) fn films(&self) -> PathBuf {
        self.path.join("films")
    }

    /// What clients did, of each trial that was profiled.
    pub(crate) fn profiles(&self) -> PathBuf {
        self.path.join("profiles")
    }

    /// Removes the folders of what trials leave, where they are empty.
    pub(crate) fn remove_empty(&self) {
        for folder in [self.captures(), self.qlogs(), self.films(), self.profiles()] {
            // Refused where something is in it.
            let _ = std::fs::remove_dir(folder);
        }
    }

    /// The judgement.
    pub(crate) fn result(&self) -> PathBuf {
        self.path.join("result.json")
    }

    /// How far the page model is from a browser, where both ran.
    pub(crate) fn model_check(&self) -> PathBuf {
        self.path.join("model-check.json")
    }

    /// The report.
    pub(crate) fn report(&self) -> PathBuf {
        self.path.join("report.html")
    }

    /// Writes one of the folder's own files whole or not at all, and never through a symbolic link.
    pub(crate) fn write(&self, path: &Path, text: &str) -> Result<(), CliError> {
        os::replace::replace(path, text.as_bytes())
            .map_err(|error| error::file(format!("writing {}", path.display()), &error))
    }

    /// Refuses folders in which trials would read or write outside of it, through a symbolic link that somebody else left, or
    /// would wait for a FIFO. Only the trials' own folders are not looked through: they are taken away before trials run.
    pub(crate) fn check_contents(&self) -> Result<(), CliError> {
        if self.scratch().is_symlink() {
            return Err(refused(&self.scratch()));
        }
        let mut unseen =
            vec![self.inputs(), self.captures(), self.qlogs(), self.films(), self.profiles()];
        while let Some(path) = unseen.pop() {
            let unreadable = |error| error::file(format!("reading {}", path.display()), &error);
            let Ok(facts) = fs::symlink_metadata(&path) else { continue };
            if facts.is_dir() {
                for entry in fs::read_dir(&path).map_err(unreadable)? {
                    unseen.push(entry.map_err(unreadable)?.path());
                }
            } else if !facts.is_file() {
                return Err(refused(&path));
            }
        }
        Ok(())
    }

    fn create_at(path: &Path) -> Result<Self, CliError> {
        match fs::create_dir(path) {
            Ok(()) => Ok(Self::open(path)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(CliError::misuse(format!("{} is there already", path.display()))
                    .remedy(way_past(&Self::open(path))))
            }
            Err(error) => Err(error::file(format!("making the folder {}", path.display()), &error)),
        }
    }

    fn create_numbered(name: &str) -> Result<Self, CliError> {
        let plain = plain(name);
        for number in 1_u32.. {
            let path = PathBuf::from(format!("wirelap-{plain}-{number}"));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
                Err(error) => {
                    let here = format!("making the folder {} here", path.display());
                    return Err(error::file(here, &error).remedy("name another place by --out"));
                }
            }
        }
        Err(CliError::failed("every number for a run's folder is taken"))
    }
}

/// What to do where the folder of a new run exists. A merged run goes on with its shards, not by itself.
fn way_past(there: &RunFolder) -> String {
    let header = Store::open(&there.rows()).and_then(|store| store.header());
    match header {
        Ok(header) if header.machines.is_empty() || header.shard.is_some() => format!(
            "choose another --out, or go on with that run: wirelap race --resume {}",
            error::quoted(there.path())
        ),
        _ => "choose another --out".to_owned(),
    }
}

/// Why what is at `path` in a run's folder is not worked with.
fn refused(path: &Path) -> CliError {
    let what = match path.is_symlink() {
        true => "a symbolic link",
        false => "a device, a socket or a FIFO",
    };
    CliError::misuse(format!(
        "{} is {what}, and races make files and folders alone there",
        path.display()
    ))
    .remedy("delete it; if you trust a link, put what it leads to in its place")
}

/// An experiment's name as a part of a folder's.
pub(crate) fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.chars().map(|c| if is_plain(c) { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::record::{HostFacts, MachineRun, ROWS_SCHEMA, RunHeader};

    fn header() -> RunHeader {
        RunHeader {
            schema: ROWS_SCHEMA.to_owned(),
            version: String::new(),
            experiment: study::experiment::builtin()[0].toml.parse().unwrap(),
            started_unix_ms: 0,
            host: HostFacts::default(),
            command_line: Vec::new(),
            shard: None,
            machines: Vec::new(),
            missing: Vec::new(),
        }
    }

    #[test]
    fn a_folder_that_is_there_is_not_written_into() {
        let above = tempfile::tempdir().unwrap();
        let here = above.path().join("run");
        let first = RunFolder::create(Some(&here), "quick").unwrap();
        assert!(first.inputs().is_dir());
        let again = RunFolder::create(Some(&here), "quick").unwrap_err();
        assert!(!again.to_string().contains("--resume"), "it holds no run: {again}");
        let mut header = header();
        drop(Store::create(&first.rows(), &header).unwrap());
        let again = || RunFolder::create(Some(&here), "quick").unwrap_err().to_string();
        assert!(again().contains("--resume"), "{}", again());
        let (name, boot) = ("a".to_owned(), "b".to_owned());
        let shard = "1/1".parse().unwrap();
        header.machines.push(MachineRun { name, boot, shard, host: HostFacts::default() });
        Store::open_whole(&first.rows()).unwrap().set_header(&header).unwrap();
        assert!(!again().contains("--resume"), "it was merged: {}", again());
        header.shard = Some(shard);
        Store::open_whole(&first.rows()).unwrap().set_header(&header).unwrap();
        assert!(again().contains("--resume"), "{}", again());
        let lock = first.lock().unwrap();
        assert!(first.lock().unwrap_err().to_string().contains("another wirelap"));
        drop(lock);
        assert!(first.lock().is_ok());
        first.write(&first.result(), "{}").unwrap();
        assert_eq!(fs::read_to_string(first.result()).unwrap(), "{}");
    }
}
