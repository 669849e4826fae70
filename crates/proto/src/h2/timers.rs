//! The times that a connection waits for.

use unit::Instant;

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timer {
    /// The acknowledgement of our SETTINGS (RFC 9113 §6.5.3).
    SettingsAck,
    /// The rest of a header block.
    HeaderBlock,
    /// Silence long enough to ask whether the peer is there.
    KeepAlive,
    /// The answer to that.
    KeepAliveAck,
    /// The echo that tells that the peer has seen our first GOAWAY (RFC 9113 §6.8).
    Drain,
    /// Credit for what is queued.
    Stall,
}

const ALL: [Timer; 6] = [
    Timer::SettingsAck,
    Timer::HeaderBlock,
    Timer::KeepAlive,
    Timer::KeepAliveAck,
    Timer::Drain,
    Timer::Stall,
];

#[derive(Debug, Default)]
pub(super) struct Timers {
    at: [Option<Instant>; ALL.len()],
}

impl Timers {
    pub(super) fn set(&mut self, timer: Timer, at: Instant) {
        self.at[timer as usize] = Some(at);
    }

    pub(super) fn cancel(&mut self, timer: Timer) {
        self.at[timer as usize] = None;
    }

    pub(super) fn is_set(&self, timer: Timer) -> bool {
        self.at[timer as usize].is_some()
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.at.iter().flatten().min().copied()
    }

    /// A timer that is due, which is off then.
    pub(super) fn expire(&mut self, now: Instant) -> Option<Timer> {
        let due = |timer: &Timer| self.at[*timer as usize].is_some_and(|at| at <= now);
        let timer = ALL.into_iter().find(due)?;
        self.cancel(timer);
        Some(timer)
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
