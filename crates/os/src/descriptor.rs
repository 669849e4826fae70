//! Descriptors of any kind: pipes, processes, and waiting until one is readable.
#![allow(unsafe_code)]

use crate::clock;
use crate::error::Os;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Whether a read would return at once, with bytes or at the end.
pub fn is_readable(fd: BorrowedFd<'_>) -> Result<bool, Os> {
    wait_readable(fd, Some(Duration::ZERO))
}

/// Waits until a read would return at once. False when `timeout` came first.
pub fn wait_readable(fd: BorrowedFd<'_>, timeout: Option<Duration>) -> Result<bool, Os> {
    wait_for(fd, libc::POLLIN, timeout)
}

/// Waits for any of `events`, or for the end. False when `timeout` came first.
pub(crate) fn wait_for(
    fd: BorrowedFd<'_>,
    events: libc::c_short,
    timeout: Option<Duration>,
) -> Result<bool, Os> {
    let deadline = timeout.map(|timeout| clock::now() + timeout);
    loop {
        // Rounded up, so that a wait never ends before its time.
        let millis = deadline.map_or(-1, |deadline| {
            let left = deadline.since(clock::now()).as_nanos().div_ceil(1_000_000);
            left.min(1 << 30) as libc::c_int
        });
        let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 };
        // SAFETY: one valid pollfd.
        match unsafe { libc::poll(&raw mut poll, 1, millis) } {
            0 => return Ok(false),
            count if count > 0 => return Ok(true),
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(Os::new("wait for a descriptor", error));
                }
            }
        }
    }
}

/// A descriptor of a process (pidfd_open(2)). It is of this one process, whoever gets its number later, and is readable
/// once the process has ended.
pub(crate) fn process(pid: libc::pid_t) -> io::Result<OwnedFd> {
    // SAFETY: a system call without pointers.
    let pidfd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if pidfd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(pidfd as RawFd) })
}

/// Kills the process that a descriptor is of. Without effect where it has ended.
pub(crate) fn kill(process: BorrowedFd<'_>) {
    let no_details = std::ptr::null::<libc::siginfo_t>();
    let fd = process.as_raw_fd();
    // SAFETY: an open descriptor, numbers, and a null pointer, which stands for the details of kill(2).
    unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, libc::SIGKILL, no_details, 0) };
}

/// Two ends, which no program inherits.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: the array takes two descriptors.
    if unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: two new descriptors that nobody else owns.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}
