//! Whether and when a failed try is repeated.

use std::time::Duration;
use unit::Seed;

/// When a failed try is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Retries after a failure. Only tries that bring no progress count.
    pub times: u32,
    /// The first pause. Each further one is twice as long.
    pub rest: Duration,
    /// The longest pause.
    pub longest: Duration,
    /// How long after the file's beginning a try may begin; None for no limit.
    pub span: Option<Duration>,
    /// The longest pause that a server may ask for (Retry-After) where there is no `span`. A longer one ends the file.
    pub longest_asked: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            times: 5,
            rest: Duration::from_millis(500),
            longest: Duration::from_secs(30),
            span: None,
            longest_asked: Duration::from_secs(600),
        }
    }
}

/// Bytes that tries must add to those that are there to reset the count. On a bad line a large file needs more tries than a small one.
const PROGRESS: u64 = 1 << 20;

/// The tries for one file.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tries {
    /// Failures since the last progress.
    failed: u32,
    /// How often all bytes were thrown away. Progress does not reset it: a server could cause both for ever.
    anew: u32,
    /// All failures: the index of the next pause's random part.
    drawn: u64,
    /// Bytes kept at the last failure that counted as progress.
    kept: u64,
}

impl Tries {
    /// Notes a failure after which `kept` bytes of the file stay. Returns the pause before the next try, or None to
    /// give up.
    pub(super) fn next(&mut self, retry: &Retry, seed: Seed, kept: u64) -> Option<Duration> {
        if kept.saturating_sub(self.kept) >= PROGRESS {
            self.failed = 0;
            self.kept = kept;
        }
        if self.anew >= retry.times {
            self.failed = self.failed.max(self.anew);
            return None;
        }
        if self.failed >= retry.times {
            return None;
        }
        let doublings = self.failed.max(self.anew).min(16);
        let rest = retry.rest.saturating_mul(1 << doublings).min(retry.longest);
        // A random share, so that clients which failed together do not return together.
        let share = 0.5 + seed.fraction(self.drawn) / 2.0;
        self.failed += 1;
        self.drawn += 1;
        Some(rest.mul_f64(share))
    }

    /// The tries for a file of which `kept` bytes are there.
    pub(super) fn of(kept: u64) -> Self {
        Self { kept, ..Self::default() }
    }

    /// All failures so far.
    pub(super) fn failures(&self) -> u64 {
        self.drawn
    }

    /// Notes that bytes of this run are thrown away.
    pub(super) fn begin_anew(&mut self) {
        self.anew += 1;
        self.kept = 0;
    }

    /// Notes that bytes of an earlier run are thrown away.
    pub(super) fn forget_earlier(&mut self) {
        self.kept = 0;
    }

    /// The message `why`, with the number of tries.
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
        let mut next = |kept| tries.next(&retry, Seed(1), kept);
        for (index, base) in [500_u64, 1000, 2000, 4000].into_iter().enumerate() {
            let rest = next(index as u64).unwrap();
            let base = Duration::from_millis(base);
            assert!(rest >= base / 2 && rest <= base, "{rest:?}");
        }
        assert_eq!(next(1000), None);
        assert!(next(PROGRESS).unwrap() <= Duration::from_millis(500));
    }

    #[test]
    fn progress_that_is_thrown_away_again_and_again_ends() {
        let retry = Retry { times: 5, ..Retry::default() };
        let mut tries = Tries::default();
        for base in [500_u64, 1000, 2000, 4000, 8000] {
            let rest = tries.next(&retry, Seed(1), 70 * PROGRESS).unwrap();
            assert!(rest >= Duration::from_millis(base / 2), "{rest:?} of {base} ms");
            tries.begin_anew();
        }
        assert_eq!(tries.next(&retry, Seed(1), 70 * PROGRESS), None);
    }
}
