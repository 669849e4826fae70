//! How many bytes of a body are made at a time.

use unit::Instant;

/// Bytes of a body that are made at a time: few until the peer reads, for made bytes that nobody reads take memory. Bytes
/// that the driver asks for at one instant go into the kernel's buffer, and tell nothing of the peer. Where it asks again
/// later, the peer has read.
#[derive(Debug)]
pub(super) struct Pace {
    bytes: usize,
    asked_at: Instant,
}

/// What is made before the peer has read.
const FIRST: usize = 4 * 1024;

/// What is made for a peer that reads.
const MOST: usize = 64 * 1024;

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Self { bytes: FIRST, asked_at: now }
    }

    /// The driver asks for more.
    pub(super) fn handle_ask(&mut self, now: Instant) {
        if now > self.asked_at {
            self.bytes = (self.bytes * 2).min(MOST);
            self.asked_at = now;
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn it_grows_with_the_instants_at_which_the_driver_asks_and_not_with_its_calls() {
        let mut now = Instant::ZERO;
        let mut pace = Pace::new(now);
        for _ in 0..100 {
            pace.handle_ask(now);
        }
        assert_eq!(pace.bytes(), FIRST);
        for _ in 0..100 {
            now += Duration::from_micros(1);
            pace.handle_ask(now);
        }
        assert_eq!(pace.bytes(), MOST);
    }
}
