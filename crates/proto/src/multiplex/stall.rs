//! How long bytes have waited for the peer's credit. The one rule: a stall ends with progress that counts, not with a
//! byte. A peer that gives one byte of credit now and then would hold the bytes behind it for ever.

use std::time::Duration;
use unit::Instant;

/// Bytes sent, or credit for as many, that end a stall.
pub(crate) const PROGRESS: usize = 16 * 1024;

/// A stall, where there is one.
#[derive(Debug, Default)]
pub(crate) struct Stall {
    state: State,
}

/// `sent` is how many bytes had been sent when the stall began.
#[derive(Debug, Clone, Copy, Default)]
enum State {
    #[default]
    None,
    /// Bytes wait for credit.
    Waiting { since: Instant, sent: u64 },
    /// There is credit, and too little was sent to end the stall.
    Paused { waited: Duration, sent: u64 },
}

impl Stall {
    /// Since when it has lasted. Pauses do not count: it is as if they had been before the stall.
    pub(crate) fn since(&self) -> Option<Instant> {
        match self.state {
            State::Waiting { since, .. } => Some(since),
            State::None | State::Paused { .. } => None,
        }
    }

    /// Nothing waits any more, or there is credit enough. No stall begins: false.
    #[inline]
    pub(crate) fn end(&mut self) -> bool {
        self.state = State::None;
        false
    }

    /// There is credit now. Until bytes wait for more of it, no time counts.
    pub(crate) fn pause(&mut self, now: Instant) {
        if let State::Waiting { since, sent } = self.state {
            self.state = State::Paused { waited: now.since(since), sent };
        }
    }

    /// Bytes wait, and there is little credit or none. `sent` bytes were sent so far. Returns whether a stall begins, or goes on
    /// after a pause.
    pub(crate) fn update(&mut self, now: Instant, sent: u64, is_blocked: bool) -> bool {
        if let State::Waiting { sent: earlier, .. } | State::Paused { sent: earlier, .. } =
            self.state
            && sent - earlier >= PROGRESS as u64
        {
            self.state = State::None;
        }
        let (since, sent) = match self.state {
            State::None if is_blocked => (now, sent),
            State::Paused { waited, sent } if is_blocked => (now - waited, sent),
            State::None | State::Paused { .. } | State::Waiting { .. } => return false,
        };
        self.state = State::Waiting { since, sent };
        true
    }
}
