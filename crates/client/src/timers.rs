//! When to look at the clock again. The one rule: there is one time for everybody, the earliest at
//! which somebody may be due; whoever is woken looks at what it knows and asks again. Nothing is ever
//! cancelled and nothing piles up, however many fetches come and go.

use unit::Instant;

/// The earliest time at which somebody may be due.
#[derive(Debug, Default)]
pub(crate) struct Wake(Option<Instant>);

impl Wake {
    /// Somebody may be due at `at`.
    pub(crate) fn by(&mut self, at: Instant) {
        self.0 = Some(self.0.map_or(at, |set| set.min(at)));
    }

    /// When to look.
    pub(crate) fn at(&self) -> Option<Instant> {
        self.0
    }

    /// Whether the time has come; then nobody is waited for until somebody asks again.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let due = self.0.is_some_and(|at| at <= now);
        if due {
            self.0 = None;
        }
        due
    }
}
