//! How many bytes of a body are made at a time.

use proto::SendCredit;
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

/// What a body gets that would have none, where its peer reads.
const LEAST: usize = 1024;

/// The same where its peer gives no credit.
const WITHOUT_CREDIT: usize = 64;

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

    /// Bytes that many bodies of a connection share before their pieces become small.
    pub(super) fn of_many(&self) -> usize {
        (self.bytes * 4).min(MOST)
    }

    /// Bytes that a body gets in any case, where none of it wait: a connection asks for more only where some were sent.
    pub(super) fn least(&self, credit: SendCredit) -> usize {
        match credit.stream.min(credit.connection) {
            0 => WITHOUT_CREDIT,
            _ => (self.bytes / 16).min(LEAST),
        }
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

    #[test]
    fn a_peer_that_does_not_read_gets_less_than_one_that_does_and_one_without_credit_next_to_nothing()
     {
        let credit = |stream, connection| SendCredit { stream, connection };
        let mut pace = Pace::new(Instant::ZERO);
        assert_eq!((pace.least(credit(9, 9)), pace.of_many()), (FIRST / 16, 4 * FIRST));
        assert_eq!(pace.least(credit(0, 9)), WITHOUT_CREDIT);
        assert_eq!(pace.least(credit(9, 0)), WITHOUT_CREDIT);
        (1..10).for_each(|micros| pace.handle_ask(Instant::ZERO + Duration::from_micros(micros)));
        assert_eq!((pace.least(credit(9, 9)), pace.of_many()), (LEAST, MOST));
    }
}
