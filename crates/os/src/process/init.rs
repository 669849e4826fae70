//! The first process of a PID namespace. The one rule: it holds one descriptor, a pipe that closes when we end. Then it
//! ends too, and with it all processes of the namespace.
#![allow(unsafe_code)]

use crate::descriptor::{self, pipe, wait_readable};
use crate::error::Os;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// The first process of the PID namespace of our later children. When it ends, the kernel kills all
/// others there, whatever they did to their groups and sessions; and it ends when we do.
#[derive(Debug)]
pub(crate) struct Init {
    pid: libc::pid_t,
    pidfd: OwnedFd,
    /// The reading end of the pipe that the process waits at.
    _lifeline: OwnedFd,
}

impl Init {
    /// Starts it; the caller has just unshared CLONE_NEWPID.
    pub(crate) fn start() -> Result<Self, Os> {
        let attempted = "start the first process of a PID namespace";
        let (reader, writer) = pipe().map_err(|source| Os::new(attempted, source))?;
        // SAFETY: the child calls only async-signal-safe functions and never returns.
        let pid = unsafe { libc::fork() };
        if pid < 0 {
            return Err(Os::last(attempted));
        }
        if pid == 0 {
            await_end_of(reader.as_raw_fd());
        }
        let pidfd = descriptor::process(pid).map_err(|source| Os::new(attempted, source))?;
        Ok(Self { pid, pidfd, _lifeline: writer })
    }

    /// Whether it ends within that time, and with it all processes of the namespace.
    pub(crate) fn ends_within(&self, time: Duration) -> bool {
        wait_readable(self.pidfd.as_fd(), Some(time)).unwrap_or(false)
    }
}

impl Drop for Init {
    fn drop(&mut self) {
        // SAFETY: our own child, not waited for, so that its number is still its own.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        // It ends when the last process of its namespace has been reaped. Our children in there may still be held by a
        // caller, so this wait has a limit.
        if matches!(wait_readable(self.pidfd.as_fd(), Some(Duration::from_secs(1))), Ok(true)) {
            // SAFETY: our own child; the status is not asked for.
            unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), libc::WNOHANG) };
        }
    }
}

/// What the first process does: adopts orphans, and waits until the other end of its pipe is closed.
fn await_end_of(lifeline: RawFd) -> ! {
    // SAFETY: system calls only. Ignored SIGCHLD reaps orphans; descriptor 0 becomes the pipe and all
    // others are closed, so that no other pipe is held open by this process.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong);
        libc::prctl(libc::PR_SET_NAME, c"wirelap-init".as_ptr());
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        libc::dup2(lifeline, 0);
        libc::syscall(libc::SYS_close_range, 1, libc::c_uint::MAX, 0);
        let mut byte = 0_u8;
        while libc::read(0, (&raw mut byte).cast(), 1) < 0
            && io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
        {}
        libc::_exit(0)
    }
}
