//! Which of the kernel's interfaces a reactor uses.

use super::epoll::Epoll;
use super::poller::Poller;
use super::uring::Uring;
use crate::error::Os;

/// The kernel's interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backend {
    /// epoll tells which sockets are ready; each read and each write is a call of its own.
    #[default]
    Epoll,
    /// io_uring receives by itself and takes what a turn sends in one call. Datagram sockets are polled.
    IoUring,
}

impl Backend {
    /// Whether this system has it. The error says what is in the way, and the way out.
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
