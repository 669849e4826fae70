//! Descriptors of any kind: pipes, and waiting until one is readable.
#![allow(unsafe_code)]

use crate::clock;
use crate::error::Os;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
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
