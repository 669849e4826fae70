//! Credit of the whole session, which is where SPDY/3.1 differs from SPDY/3: the one counts the bytes
//! of all streams together as well (stream 0 of WINDOW_UPDATE), the other does not.

use super::settings::{DEFAULT_WINDOW, Version};
use crate::multiplex::flow::{Exceeded, Overflow, ReceiveWindow, SendWindow};

#[derive(Debug)]
pub(super) enum SessionFlow {
    /// SPDY/3.1.
    Counted { receive: ReceiveWindow, send: SendWindow },
    /// SPDY/3.
    Uncounted,
}

impl SessionFlow {
    /// With the windows that both sides begin with; `receive` bytes once the peer has been told.
    pub(super) fn new(version: Version, receive: u32) -> Self {
        match version {
            Version::V3 => Self::Uncounted,
            Version::V3_1 => {
                let mut window = ReceiveWindow::new(DEFAULT_WINDOW);
                window.resize(receive);
                Self::Counted { receive: window, send: SendWindow::new(DEFAULT_WINDOW) }
            }
        }
    }

    /// Bytes that may be sent now.
    pub(super) fn available(&self) -> usize {
        match self {
            Self::Counted { send, .. } => send.available(),
            Self::Uncounted => usize::MAX,
        }
    }

    /// Counts what is sent.
    pub(super) fn take(&mut self, bytes: usize) {
        if let Self::Counted { send, .. } = self {
            send.take(bytes);
        }
    }

    /// More credit.
    pub(super) fn add(&mut self, bytes: u32) -> Result<(), Overflow> {
        match self {
            Self::Counted { send, .. } => send.adjust(i64::from(bytes)),
            Self::Uncounted => Ok(()),
        }
    }

    /// Counts what arrived.
    pub(super) fn receive(&mut self, bytes: u32) -> Result<(), Exceeded> {
        match self {
            Self::Counted { receive, .. } => receive.receive(bytes),
            Self::Uncounted => Ok(()),
        }
    }

    /// Counts what was dealt with; gives the increment to announce where it is time.
    pub(super) fn consume(&mut self, bytes: u32) -> Option<u32> {
        match self {
            Self::Counted { receive, .. } => receive.consume(bytes),
            Self::Uncounted => None,
        }
    }

    /// Bytes that the application still has.
    #[cfg(test)]
    pub(super) fn outstanding(&self) -> i64 {
        match self {
            Self::Counted { receive, .. } => receive.outstanding(),
            Self::Uncounted => 0,
        }
    }

    /// What may be received and sent.
    #[cfg(test)]
    pub(super) fn balances(&self) -> (i64, i64) {
        match self {
            Self::Counted { receive, send } => (receive.balance(), send.balance()),
            Self::Uncounted => (0, 0),
        }
    }
}
