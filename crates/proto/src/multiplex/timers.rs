//! The times that a connection waits for.

use std::time::Duration;
use unit::Instant;

/// When to ask a silent peer whether it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepAlive {
    /// Silence before a PING.
    pub interval: Duration,
    /// How long its answer may take.
    pub timeout: Duration,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timer {
    /// The acknowledgement of our SETTINGS (RFC 9113 §6.5.3).
    SettingsAck,
    /// The rest of a header block.
    HeaderBlock,
    /// Silence long enough to ask whether the peer is there.
    KeepAlive,
    /// The answer to that.
    KeepAliveAck,
    /// The echo that proves that the peer has seen our first GOAWAY (RFC 9113 §6.8).
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
pub(crate) struct Timers {
    at: [Option<Instant>; ALL.len()],
}

impl Timers {
    pub(crate) fn set(&mut self, timer: Timer, at: Instant) {
        self.at[timer as usize] = Some(at);
    }

    pub(crate) fn cancel(&mut self, timer: Timer) {
        self.at[timer as usize] = None;
    }

    /// Sets a timer, where it is off or later.
    pub(crate) fn set_by(&mut self, timer: Timer, at: Instant) {
        let slot = &mut self.at[timer as usize];
        *slot = Some(slot.map_or(at, |earlier| earlier.min(at)));
    }

    pub(crate) fn is_set(&self, timer: Timer) -> bool {
        self.at[timer as usize].is_some()
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.at.iter().flatten().min().copied()
    }

    /// A timer that is due, which is off then.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<Timer> {
        let due = |timer: &Timer| self.at[*timer as usize].is_some_and(|at| at <= now);
        let timer = ALL.into_iter().find(due)?;
        self.cancel(timer);
        Some(timer)
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
