//! The client's next timeout. The one rule: only the earliest deadline is kept. When it has passed, the client checks all
//! its deadlines and sets the next one. So nothing is ever cancelled, and memory does not grow with the number of fetches.

use unit::Instant;

/// The earliest deadline, if there is one.
#[derive(Debug, Default)]
pub(crate) struct Wake(Option<Instant>);

impl Wake {
    /// Adds a deadline.
    pub(crate) fn by(&mut self, at: Instant) {
        self.0 = Some(self.0.map_or(at, |set| set.min(at)));
    }

    /// The earliest deadline.
    pub(crate) fn at(&self) -> Option<Instant> {
        self.0
    }

    /// Whether the deadline has passed. If so it is cleared.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let due = self.0.is_some_and(|at| at <= now);
        if due {
            self.0 = None;
        }
        due
    }
}
