//! A socket's share of a turn: as many bytes as take half a millisecond, judged by the last that were handled. Frames of one byte take a
//! hundred times as long as the same bytes of a file.

use std::time::Duration;

/// What a share may take.
const SPAN: Duration = Duration::from_micros(500);

/// Bytes of the smallest share. Fewer are not timed.
const LEAST: usize = 4 * 1024;

/// Bytes of the largest share.
const MOST: usize = 512 * 1024;

/// A smaller share is of bytes that take long.
const QUICK: usize = 128 * 1024;

/// Bytes of a socket's share before any were timed.
const FIRST: usize = 16 * 1024;

/// One socket's share.
#[derive(Debug, Default)]
pub(super) struct Share {
    /// The reactor's turn in which bytes were last handled.
    number: u64,
    /// Bytes that were handled in it.
    handled: usize,
    /// Bytes that take [`SPAN`]. None before any were timed.
    bytes: Option<usize>,
}

impl Share {
    /// Bytes that may be handled before the reactor's turn `number` is over. Of bytes that take long there is one read a turn: by io_uring a
    /// socket that read again at once would have a buffer before those that found none.
    pub(super) fn left(&mut self, number: u64) -> usize {
        if self.number != number {
            (self.number, self.handled) = (number, 0);
        }
        match self.is_slow() && self.handled > 0 {
            true => 0,
            false => self.bytes.unwrap_or(FIRST).saturating_sub(self.handled),
        }
    }

    /// Whether the last bytes that were timed took long: less than 0.3 GB are handled in a second.
    pub(super) fn is_slow(&self) -> bool {
        self.bytes.is_some_and(|bytes| bytes < QUICK)
    }

    /// Bytes were handled, in the time that `took` tells.
    pub(super) fn handle(&mut self, bytes: usize, took: impl FnOnce() -> Duration) {
        self.handled += bytes;
        if bytes >= LEAST {
            let took = took().as_nanos().max(1);
            let at_this_pace = bytes as u128 * SPAN.as_nanos() / took;
            self.bytes = Some(usize::try_from(at_this_pace).unwrap_or(MOST).clamp(LEAST, MOST));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(count: u64) -> impl FnOnce() -> Duration {
        move || Duration::from_micros(count)
    }

    #[test]
    fn a_share_is_the_bytes_that_take_half_a_millisecond() {
        let mut share = Share::default();
        assert_eq!(share.left(1), FIRST);
        assert!(!share.is_slow(), "nothing was timed");
        share.handle(10_000, micros(5));
        assert_eq!(share.left(1), MOST - 10_000, "quick bytes");
        assert!(!share.is_slow());
        share.handle(20_000, micros(1_000));
        assert_eq!(share.left(1), 0, "10,000 bytes at this pace, and more were handled");
        assert_eq!(share.left(2), 10_000);
        assert!(share.is_slow());
        share.handle(6_000, micros(300));
        assert_eq!(share.left(2), 0, "slow bytes are read once a turn");
        assert_eq!(share.left(3), 10_000);
    }

    #[test]
    fn a_share_has_some_bytes_however_long_they_take() {
        let mut share = Share::default();
        share.handle(LEAST, || Duration::from_secs(60));
        assert_eq!(share.left(1), LEAST);
        share.handle(LEAST, || Duration::ZERO);
        assert_eq!(share.left(2), MOST);
    }

    #[test]
    fn few_bytes_are_not_timed() {
        let mut share = Share::default();
        share.handle(LEAST - 1, || unreachable!("few bytes tell nothing"));
        assert_eq!(share.left(0), FIRST - LEAST + 1);
    }
}
