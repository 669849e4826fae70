//! Control groups (cgroups(7)). They let the kernel count all processes of one end of a trial together, with their
//! memory, also processes that were never waited for. The one rule: where no group can be made, or one fails, the work
//! goes on and wait4(2) counts it.
#![allow(unsafe_code)]

mod figures;
mod hierarchies;
#[cfg(test)]
mod tests;

pub use figures::{CpuTime, Figures};
pub use hierarchies::{ParentGroups, Version};

use crate::descriptor;
use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often we try to remove a group whose processes were just killed, and the pause between tries.
const TRIES: u32 = 200;
const BETWEEN: Duration = Duration::from_millis(1);

/// A control group of our own. Dropping it kills the processes that are left in it and removes it.
#[derive(Debug)]
pub struct Group {
    /// One folder in each hierarchy that counts something. In version 1 each kind of figure has its own hierarchy.
    folders: Vec<Folder>,
}

/// A group's folder in one hierarchy.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    version: Version,
    counts: Counts,
}

/// What a hierarchy counts for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counts {
    cpu: bool,
    memory: bool,
}

impl Group {
    /// What its processes have used so far. Figures that cannot be read are left out.
    pub fn figures(&self) -> Figures {
        let mut figures = Figures::default();
        for folder in &self.folders {
            let Folder { path, version, counts } = folder;
            if counts.cpu {
                figures.cpu = figures::cpu(path, *version).map(|time| (time, *version));
            }
            if counts.memory {
                figures.peak_memory =
                    figures::peak_memory(path, *version).map(|peak| (peak, *version));
            }
        }
        figures
    }

    /// Prepares what a child needs in order to enter the group between fork and exec.
    pub(crate) fn entry(&self) -> io::Result<GroupEntry> {
        let file =
            |folder: &Folder| CString::new(folder.path.join("cgroup.procs").as_os_str().as_bytes());
        let files = self.folders.iter().map(file).collect::<Result<_, _>>()?;
        let (reader, writer) = descriptor::pipe()?;
        Ok(GroupEntry { files, reader, writer })
    }

    /// Kills the processes that are left in it.
    fn clear(&self) {
        for Folder { path, version, .. } in &self.folders {
            // Version 2 has had a switch for it since Linux 5.14.
            if *version == Version::V2 && fs::write(path.join("cgroup.kill"), "1").is_ok() {
                continue;
            }
            let file = path.join("cgroup.procs");
            let opened = open_members(&file);
            kill_members(&file, &opened);
        }
    }
}

/// The processes that a group's file names now, each with a descriptor of it.
fn open_members(file: &Path) -> Vec<(libc::pid_t, OwnedFd)> {
    let open = |pid| Some((pid, descriptor::process(pid).ok()?));
    members(file).into_iter().filter_map(open).collect()
}

/// Kills those of the opened processes that the group's file still names. One that ended between the reading of the file
/// and the opening may have left its number to a process outside the group, which is then what was opened.
fn kill_members(file: &Path, opened: &[(libc::pid_t, OwnedFd)]) {
    let still = members(file);
    for (_, process) in opened.iter().filter(|(pid, _)| still.contains(pid)) {
        descriptor::kill(process.as_fd());
    }
}

/// The numbers in a group's file. 0 is a process of a PID namespace that we cannot see into.
fn members(file: &Path) -> Vec<libc::pid_t> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid > 0).collect()
}

impl Drop for Group {
    fn drop(&mut self) {
        self.clear();
        for folder in &self.folders {
            for _ in 0..TRIES {
                match fs::remove_dir(&folder.path) {
                    Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                        std::thread::sleep(BETWEEN);
                    }
                    _ => break,
                }
            }
        }
    }
}

/// What a child needs to enter a group. It is made before the fork.
#[derive(Debug)]
pub(crate) struct GroupEntry {
    files: Vec<CString>,
    reader: OwnedFd,
    writer: OwnedFd,
}

impl GroupEntry {
    /// Runs between fork and exec, so it makes system calls only. Enters the group, and reports to the parent if it cannot.
    pub(crate) fn enter(&self) {
        if !self.files.iter().all(|file| enter_by(file)) {
            // SAFETY: a descriptor that is open and one byte of a static string.
            unsafe { libc::write(self.writer.as_raw_fd(), c"x".as_ptr().cast(), 1) };
        }
    }

    /// Called once the child has become its program: whether it entered the group.
    pub(crate) fn was_entered(&self) -> bool {
        matches!(descriptor::is_readable(self.reader.as_fd()), Ok(false))
    }
}

/// Moves this process into a group: 0 written to its file means the writer.
fn enter_by(file: &CStr) -> bool {
    // SAFETY: a NUL-terminated string; the descriptor is this call's own; one byte of a static string.
    unsafe {
        let fd: RawFd = libc::open(file.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return false;
        }
        let wrote = libc::write(fd, c"0".as_ptr().cast(), 1);
        libc::close(fd);
        wrote == 1
    }
}

/// Removes groups that killed runs of wirelap left behind.
pub fn sweep() {
    ParentGroups::of_this_process().sweep();
}

/// Whether a process with this number exists.
fn is_alive(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}
