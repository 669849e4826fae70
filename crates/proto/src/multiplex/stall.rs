//! How long bytes have waited for the peer's credit. The one rule: a stall ends with progress that counts, not with a
//! byte. A peer that gives one byte of credit now and then would hold the bytes behind it for ever.

use unit::Instant;

/// Bytes sent, or credit for as many, that end a stall.
pub(crate) const PROGRESS: usize = 16 * 1024;

/// A stall, where there is one.
#[derive(Debug, Default)]
pub(crate) struct Stall {
    began: Option<Began>,
}

#[derive(Debug, Clone, Copy)]
struct Began {
    at: Instant,
    /// Bytes that had been sent by then.
    sent: u64,
}

impl Stall {
    /// Since when it has lasted.
    pub(crate) fn since(&self) -> Option<Instant> {
        self.began.map(|began| began.at)
    }

    /// Nothing waits any more, or there is credit enough. No stall begins: false.
    #[inline]
    pub(crate) fn end(&mut self) -> bool {
        self.began = None;
        false
    }

    /// Bytes wait, and there is little credit or none. `sent` bytes were sent so far. Returns whether a stall begins.
    pub(crate) fn update(&mut self, now: Instant, sent: u64, is_blocked: bool) -> bool {
        if self.began.is_some_and(|began| sent - began.sent >= PROGRESS as u64) {
            self.began = None;
        }
        let begins = is_blocked && self.began.is_none();
        if begins {
            self.began = Some(Began { at: now, sent });
        }
        begins
    }
}
