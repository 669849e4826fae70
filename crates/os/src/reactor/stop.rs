//! How reactors are asked to stop, from anywhere.
#![allow(unsafe_code)]

use crate::error::Os;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;

/// Asks reactors to stop, from any thread or from a signal handler. Several reactors may share one: each of them sees
/// every call.
#[derive(Debug, Clone)]
pub struct Stop {
    fd: Arc<OwnedFd>,
}

impl Stop {
    /// Nobody has asked yet.
    pub fn new() -> Result<Self, Os> {
        // SAFETY: a plain call without pointers.
        let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(Os::last("create an eventfd"));
        }
        // SAFETY: the kernel just gave this descriptor, nobody else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { fd: Arc::new(fd) })
    }

    /// Asks to finish what was begun; called again, to finish at once. Async-signal-safe: it is one write.
    /// A reactor that starts later sees it too.
    pub fn stop(&self) {
        let one: u64 = 1;
        // SAFETY: eight bytes to read at the pointer. It fails only where the counter is full, which
        // means that every reactor has been notified already.
        unsafe {
            libc::write(self.fd.as_raw_fd(), (&raw const one).cast(), mem::size_of_val(&one));
        }
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
