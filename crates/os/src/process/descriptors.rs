//! How many descriptors this process may have, and the kernel's table of them.
#![allow(unsafe_code)]

use std::os::fd::{FromRawFd, OwnedFd};

/// Descriptors that the table gets room for: 128 KiB of the kernel's memory.
const ROOM: u64 = 16 * 1024;

/// Has the kernel's table of descriptors grow at once. Otherwise it doubles as they are opened, and where a process has more than one thread each
/// time takes 5 to 10 ms (`expand_fdtable` in fs/file.c waits for readers of the old one). So call it while there is one thread.
pub fn make_room_for_descriptors() {
    let last = ROOM.min(limit().rlim_cur).saturating_sub(1);
    // SAFETY: the call takes numbers alone.
    let made =
        unsafe { libc::fcntl(libc::STDERR_FILENO, libc::F_DUPFD_CLOEXEC, last as libc::c_int) };
    if made >= 0 {
        // SAFETY: a new descriptor that nobody else owns. The table does not shrink when it is closed.
        drop(unsafe { OwnedFd::from_raw_fd(made) });
    }
}

/// Raises this process's limit of descriptors as far as it may (RLIMIT_NOFILE). Returns the limit.
pub fn raise_descriptors() -> u64 {
    let limit = limit();
    let raised = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
    // SAFETY: a valid structure to read. A refusal leaves the limit as it was.
    let refused = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised) } != 0;
    make_room_for_descriptors();
    if refused { limit.rlim_cur } else { raised.rlim_cur }
}

fn limit() -> libc::rlimit {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a valid structure to write to; the call cannot fail with these arguments.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    limit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_table_has_room_before_descriptors_are_opened() {
        make_room_for_descriptors();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let size = status.lines().find_map(|line| line.strip_prefix("FDSize:")).unwrap();
        assert!(size.trim().parse::<u64>().unwrap() >= ROOM.min(limit().rlim_cur), "{size}");
    }
}
