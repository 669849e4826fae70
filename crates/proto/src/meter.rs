//! So many acts at once and so many a second after that: the generic cell rate algorithm (ITU-T I.371).

use std::time::Duration;
use unit::Instant;

/// So many acts at once, and so many a second after that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// At once.
    pub burst: u32,
    /// Refilled in a second.
    pub per_second: u32,
}

/// Counts acts against an allowance. `due` runs ahead of the clock by one interval an act, and may be ahead by a burst at most.
#[derive(Debug)]
pub struct Meter {
    interval: Duration,
    ahead: Duration,
    due: Instant,
}

impl Meter {
    /// One that nothing was spent of.
    pub fn new(allowance: Allowance) -> Self {
        let interval = Duration::from_secs(1) / allowance.per_second.max(1);
        Self { interval, ahead: interval.saturating_mul(allowance.burst), due: Instant::ZERO }
    }

    /// Counts so many acts that were done. Returns whether they were allowed.
    pub fn spend(&mut self, now: Instant, acts: u32) -> bool {
        self.due = self.due_after(now, acts);
        self.due.since(now) <= self.ahead
    }

    /// Counts so many acts if they are allowed. Returns whether they are, to be done then.
    pub fn try_spend(&mut self, now: Instant, acts: u32) -> bool {
        let due = self.due_after(now, acts);
        let is_allowed = due.since(now) <= self.ahead;
        if is_allowed {
            self.due = due;
        }
        is_allowed
    }

    /// Gives acts back.
    pub fn earn(&mut self, acts: u32) {
        self.due = self.due - self.interval * acts;
    }

    fn due_after(&self, now: Instant, acts: u32) -> Instant {
        self.due.max(now) + self.interval * acts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_allowed_and_time_refills_it() {
        let mut meter = Meter::new(Allowance { burst: 10, per_second: 5 });
        let start = Instant::from_nanos(7_000_000_000);
        for _ in 0..10 {
            assert!(meter.spend(start, 1));
        }
        assert!(!meter.try_spend(start, 1), "and it does not count");
        assert!(!meter.spend(start, 1));
        let later = start + Duration::from_secs(1);
        for _ in 0..4 {
            assert!(meter.try_spend(later, 1));
        }
        assert!(!meter.spend(later, 1));
    }
}
