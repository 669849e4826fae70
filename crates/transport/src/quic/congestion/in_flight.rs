//! Bytes in flight (RFC 9002 §2): sent in packets that elicit an acknowledgement, and neither acknowledged nor lost.
//!
//! quinn-proto tells a controller of all bytes that are sent, those of acknowledgements too, and tells it with each
//! acknowledgement that comes how many are in flight. So a side that only acknowledges for long would believe its window
//! full, and nothing would ever tell it otherwise. The connection knows which packets those are: it takes them out again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bytes in flight on a path. Copies share what was taken out.
#[derive(Debug, Clone, Default)]
pub(super) struct InFlight {
    sent: u64,
    taken_out: Arc<AtomicU64>,
}

impl InFlight {
    pub(super) fn bytes(&self) -> u64 {
        self.sent.saturating_sub(self.taken_out.load(Ordering::Relaxed))
    }

    /// Bytes were sent.
    pub(super) fn add(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// So many of them were in packets that elicit no acknowledgement.
    pub(super) fn take_out(&self, bytes: u64) {
        self.taken_out.fetch_add(bytes, Ordering::Relaxed);
    }

    /// So many were lost.
    pub(super) fn lose(&mut self, bytes: u64) {
        self.sent = self.sent.saturating_sub(bytes);
    }

    /// An acknowledgement came: so many are in flight.
    pub(super) fn set(&mut self, bytes: u64) {
        self.sent = bytes;
        self.taken_out.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgements_are_not_in_flight_until_the_next_one_comes_and_after_it() {
        let mut in_flight = InFlight::default();
        in_flight.add(1_200);
        in_flight.add(40);
        // The connection has a copy alone.
        in_flight.clone().take_out(40);
        assert_eq!(in_flight.bytes(), 1_200);
        in_flight.set(600);
        assert_eq!(in_flight.bytes(), 600);
        in_flight.lose(1_000);
        assert_eq!(in_flight.bytes(), 0);
    }
}
