//! Which kernel interface a reactor uses.

use super::epoll::Epoll;
use super::poller::Poller;
use super::uring::Uring;
use crate::error::Os;

/// The kernel's interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backend {
    /// epoll reports which sockets are ready. Each read and each write is a system call.
    #[default]
    Epoll,
    /// io_uring receives by itself and sends everything of a turn in one call. Datagram sockets are polled.
    IoUring,
}

impl Backend {
    /// Whether this system supports it. The error says what prevents it, and the remedy.
    pub fn probe(self) -> Result<(), Os> {
        self.open().map(drop)
    }

    pub(super) fn open(self) -> Result<Box<dyn Poller>, Os> {
        match self {
            Self::Epoll => Ok(Box::new(Epoll::new()?)),
            Self::IoUring => Ok(Box::new(Uring::new()?)),
        }
    }
}
