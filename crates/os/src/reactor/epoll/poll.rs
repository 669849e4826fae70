//! An epoll instance. Stream sockets are registered once, edge-triggered, for both directions, so that a change of
//! interest needs no epoll_ctl call. Level-triggered would cost two such calls for each response that does not fit at
//! once, and one for each pause.
#![allow(unsafe_code)]

use crate::error::Os;
use crate::reactor::poller::Readiness;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Events taken in one wait.
const EVENTS: usize = 256;

/// What a descriptor is watched for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Interest {
    /// Both directions, edge-triggered.
    Edges,
    /// Reading, edge-triggered.
    InputEdges,
    /// Readable, reported for as long as it is.
    Input,
    /// One edge for each write to an eventfd.
    Signal,
    /// Nothing for now.
    Silent,
}

impl Interest {
    fn bits(self) -> u32 {
        let bits = match self {
            Self::Edges => libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET,
            Self::InputEdges => libc::EPOLLIN | libc::EPOLLET,
            Self::Input => libc::EPOLLIN,
            Self::Signal => libc::EPOLLIN | libc::EPOLLET,
            Self::Silent => 0,
        };
        bits as u32
    }
}

/// An epoll instance.
#[derive(Debug)]
pub(super) struct Poll {
    fd: OwnedFd,
    events: Vec<libc::epoll_event>,
}

impl Poll {
    pub(super) fn new() -> Result<Self, Os> {
        // SAFETY: a plain call without pointers.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(Os::last("create an epoll instance"));
        }
        // SAFETY: the kernel just gave this descriptor, nobody else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { fd, events: Vec::with_capacity(EVENTS) })
    }

    /// Begins to watch; closing the descriptor ends it.
    pub(super) fn add(&self, fd: BorrowedFd<'_>, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, interest)
    }

    /// Changes what is watched. A direction that is ready now is reported again.
    pub(super) fn rearm(
        &self,
        fd: BorrowedFd<'_>,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, token, interest)
    }

    /// Waits up to `timeout` (None: for ever), to the nanosecond where the kernel can (5.11).
    /// Returns how many events came.
    pub(super) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        self.events.clear();
        let count = match self.wait_precise(timeout) {
            Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => self.wait_coarse(timeout),
            other => other,
        };
        let count = match count {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            other => other?,
        };
        // SAFETY: the kernel wrote `count` events, which is at most the capacity.
        unsafe { self.events.set_len(count) };
        Ok(count)
    }

    /// One event of the last wait.
    pub(super) fn event(&self, index: usize) -> Readiness {
        let event = self.events[index];
        Readiness::new(event.u64, event.events)
    }

    fn wait_precise(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        let span = timeout.map(|span| libc::timespec {
            tv_sec: span.as_secs().min(i32::MAX as u64) as _,
            tv_nsec: span.subsec_nanos().into(),
        });
        let span = span.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: there is memory for EVENTS events at the pointer; `span` is null or lives through the call; a
        // null signal mask leaves the mask alone.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.fd.as_raw_fd(),
                self.events.as_mut_ptr(),
                EVENTS as libc::c_int,
                span,
                std::ptr::null::<libc::sigset_t>(),
                mem::size_of::<u64>(),
            )
        };
        usize::try_from(count).map_err(|_negative| io::Error::last_os_error())
    }

    fn wait_coarse(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        let millis = timeout.map_or(-1, |span| {
            i32::try_from(span.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX)
        });
        // SAFETY: there is memory for EVENTS events at the pointer.
        let count = unsafe {
            libc::epoll_wait(
                self.fd.as_raw_fd(),
                self.events.as_mut_ptr(),
                EVENTS as libc::c_int,
                millis,
            )
        };
        usize::try_from(count).map_err(|_negative| io::Error::last_os_error())
    }

    fn control(
        &self,
        operation: libc::c_int,
        fd: BorrowedFd<'_>,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        let mut event = libc::epoll_event { events: interest.bits(), u64: token };
        // SAFETY: the event lives through the call.
        let result = unsafe {
            libc::epoll_ctl(self.fd.as_raw_fd(), operation, fd.as_raw_fd(), &raw mut event)
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}
