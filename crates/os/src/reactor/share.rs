//! A socket's share of a turn: as many bytes as take a quarter of a millisecond, judged by the last that were handled. Frames of one byte take a
//! hundred times as long as the same bytes of a file.

use std::time::Duration;

/// What a share may take.
const SPAN: Duration = Duration::from_micros(250);

/// Bytes of the smallest share, and of the first. Fewer tell nothing of many, unless they took [`LONG`].
const LEAST: usize = 2 * 1024;

/// Bytes of the largest share.
const MOST: usize = 512 * 1024;

/// A smaller share is of bytes that take long.
const QUICK: usize = 64 * 1024;

/// However few bytes take this long, they are slow.
const LONG: Duration = Duration::from_micros(125);

/// So many times in a row a few bytes were quick: so are those that come. A new socket has to show it, and one whose few bytes took long
/// since something else had the core.
const TRUSTED: u8 = 16;

/// One socket's share.
#[derive(Debug)]
pub(super) struct Share {
    /// The reactor's turn in which bytes were last handled.
    number: u64,
    /// Bytes that were handled in it.
    handled: usize,
    /// Bytes that take [`SPAN`].
    bytes: usize,
    /// How often in a row few bytes were quick, [`TRUSTED`] at most.
    quick: u8,
}

impl Default for Share {
    fn default() -> Self {
        Self { number: 0, handled: 0, bytes: LEAST, quick: 0 }
    }
}

impl Share {
    /// Bytes that may be handled before the reactor's turn `number` is over. Where bytes may take long there is one read a turn: by io_uring
    /// a socket that read again at once would have a buffer before those that found none.
    pub(super) fn left(&mut self, number: u64) -> usize {
        if self.number != number {
            (self.number, self.handled) = (number, 0);
        }
        match self.may_be_slow() && self.handled > 0 {
            true => 0,
            false => self.bytes.saturating_sub(self.handled),
        }
    }

    /// Bytes of a whole turn.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether bytes may take so long that no more of them should be received than are handled in a turn: less than 0.3 GB a second.
    pub(super) fn may_be_slow(&self) -> bool {
        self.bytes < QUICK && self.quick < TRUSTED
    }

    /// Bytes were handled, in this time.
    pub(super) fn handle(&mut self, bytes: usize, took: Duration) {
        self.handled += bytes;
        if bytes >= LEAST || took >= LONG {
            let at_this_pace = bytes as u128 * SPAN.as_nanos() / took.as_nanos().max(1);
            self.bytes = usize::try_from(at_this_pace).unwrap_or(MOST).clamp(LEAST, MOST);
            self.quick = 0;
        } else if self.quick < TRUSTED {
            self.quick += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(count: u64) -> Duration {
        Duration::from_micros(count)
    }

    #[test]
    fn a_share_is_the_bytes_that_take_a_quarter_of_a_millisecond() {
        let mut share = Share::default();
        assert_eq!(share.left(1), LEAST);
        assert!(share.may_be_slow(), "nothing came yet");
        share.handle(10_000, micros(2));
        assert_eq!(share.left(1), MOST - 10_000, "quick bytes");
        assert!(!share.may_be_slow());
        share.handle(20_000, micros(500));
        assert_eq!(share.left(1), 0, "10,000 bytes at this pace, and more were handled");
        assert_eq!(share.left(2), 10_000);
        assert!(share.may_be_slow());
        share.handle(6_000, micros(150));
        assert_eq!(share.left(2), 0, "slow bytes are read once a turn");
        assert_eq!(share.left(3), 10_000);
    }

    #[test]
    fn a_share_has_some_bytes_however_long_they_take() {
        let mut share = Share::default();
        share.handle(LEAST, Duration::from_secs(60));
        assert_eq!(share.left(1), LEAST);
        share.handle(LEAST, Duration::ZERO);
        assert_eq!(share.left(2), MOST);
    }

    #[test]
    fn few_bytes_that_are_quick_again_and_again_are_trusted_until_they_take_long() {
        let mut share = Share::default();
        share.handle(LEAST - 1, LONG - micros(1));
        assert_eq!((share.left(0), share.left(1)), (0, LEAST), "one read a turn");
        for _ in 1..TRUSTED {
            assert!(share.may_be_slow());
            share.handle(100, micros(1));
        }
        assert!(!share.may_be_slow());
        assert_eq!(share.left(2), LEAST);
        share.handle(100, micros(1));
        assert_eq!(share.left(2), LEAST - 100, "more than one read a turn");
        share.handle(100, LONG);
        assert!(share.may_be_slow());
    }
}
