//! Whether and when a failed try is followed by another.

use std::time::Duration;
use unit::Seed;

/// When a try is followed by another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Tries after one that failed, as long as they bring nothing.
    pub times: u32,
    /// The first rest; each further one is twice as long.
    pub rest: Duration,
    /// The longest rest.
    pub longest: Duration,
    /// How long after a file's beginning a try may begin; None for ever.
    pub span: Option<Duration>,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            times: 5,
            rest: Duration::from_millis(500),
            longest: Duration::from_secs(30),
            span: None,
        }
    }
}

/// What a try must have brought for the count to begin anew: on a bad line a large file needs more tries
/// than a small one.
const PROGRESS: u64 = 1 << 20;

/// The tries for one file.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tries {
    /// How many failed since one that brought something.
    failed: u32,
    /// All of them: each rest's random part is another one.
    drawn: u64,
    /// Bytes received at the last failure that counted as progress.
    received: u64,
}

impl Tries {
    /// A try failed when `received` bytes had come in all: how long to rest, or None to give up.
    pub(super) fn next(&mut self, retry: &Retry, seed: Seed, received: u64) -> Option<Duration> {
        if received.saturating_sub(self.received) >= PROGRESS {
            self.failed = 0;
            self.received = received;
        }
        if self.failed >= retry.times {
            return None;
        }
        let rest = retry.rest.saturating_mul(1 << self.failed.min(16)).min(retry.longest);
        // Clients that failed together shall not come back together.
        let share = 0.5 + seed.fraction(self.drawn) / 2.0;
        self.failed += 1;
        self.drawn += 1;
        Some(rest.mul_f64(share))
    }

    /// `why`, with how often it was tried.
    pub(super) fn given_up(&self, why: String) -> String {
        match self.failed {
            0 => why,
            1 => format!("{why} (tried twice)"),
            failed => format!("{why} (tried {} times)", failed + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_double_and_end_and_progress_begins_anew() {
        let retry = Retry { times: 4, ..Retry::default() };
        let mut tries = Tries::default();
        let mut next = |received| tries.next(&retry, Seed(1), received);
        for (index, base) in [500_u64, 1000, 2000, 4000].into_iter().enumerate() {
            let rest = next(index as u64).unwrap();
            let base = Duration::from_millis(base);
            assert!(rest >= base / 2 && rest <= base, "{rest:?}");
        }
        assert_eq!(next(1000), None);
        assert!(next(PROGRESS).unwrap() <= Duration::from_millis(500));
    }
}
