//! A socket's share of a turn: as many bytes as take a quarter of a millisecond, judged by the last that were handled. Frames of one byte take a
//! hundred times as long as the same bytes of a file.

use std::time::Duration;

/// What a share may take, and what the shares of all sockets whose bytes take long may take in a turn.
pub(super) const SPAN: Duration = Duration::from_micros(250);

/// Bytes of the first share. Fewer tell nothing of many, unless they are a whole share or took [`LONG`].
const FIRST: usize = 2 * 1024;

/// Bytes of the smallest share: requests for a file that are reset at once, 35 bytes each, take some 15 µs each.
const LEAST: usize = 512;

/// Bytes of the largest share.
const MOST: usize = 512 * 1024;

/// A smaller share is of bytes that take long: less than 0.5 GB are handled in a second.
const QUICK: usize = 128 * 1024;

/// However few bytes take this long, they are slow.
const LONG: Duration = Duration::from_micros(125);

/// So many reads in a row were of few bytes, and quick: so are those that come. A new socket has to show it, and so has one again
/// whose bytes took long, be it that something else had the core.
const TRUSTED: u8 = 16;

/// So many reads in a row were of bytes that take long: it was not chance, such as something else that had the core.
const SURE: u8 = 3;

/// One socket's share.
#[derive(Debug)]
pub(super) struct Share {
    /// The reactor's turn in which bytes were last handled.
    number: u64,
    /// Bytes that were handled in it.
    handled: usize,
    /// Bytes that take [`SPAN`].
    bytes: usize,
    /// How many reads in a row were of few bytes, and quick; [`TRUSTED`] at most.
    quick: u8,
    /// How many reads in a row were of bytes so slow that a share is less than [`FIRST`]; [`SURE`] at most. Few quick bytes among them, such
    /// as the end of a burst, do not count.
    slow: u8,
}

impl Default for Share {
    fn default() -> Self {
        Self { number: 0, handled: 0, bytes: FIRST, quick: 0, slow: 0 }
    }
}

impl Share {
    /// Bytes that may be handled before the reactor's turn `number` is over. Where bytes may take long there is one read a turn: by io_uring
    /// a socket that read again at once would have a buffer before those that found none.
    pub(super) fn left(&mut self, number: u64) -> usize {
        if self.number != number {
            (self.number, self.handled) = (number, 0);
        }
        let may_be_slow = self.bytes < QUICK && !self.is_light();
        match may_be_slow && self.handled > 0 {
            true => 0,
            false => self.bytes.saturating_sub(self.handled),
        }
    }

    /// Bytes of a whole turn.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether few bytes come at a time and are quick: so seldom is there more than a share that all may be received at once.
    pub(super) fn is_light(&self) -> bool {
        self.quick == TRUSTED
    }

    /// Whether even a few bytes are known to take long.
    pub(super) fn is_slow(&self) -> bool {
        self.slow == SURE
    }

    /// The bytes of one read were handled, in this time.
    pub(super) fn handle(&mut self, bytes: usize, took: Duration) {
        self.handled += bytes;
        if bytes < FIRST.min(self.bytes) && took < LONG {
            self.quick = TRUSTED.min(self.quick + 1);
            if self.is_light() {
                (self.bytes, self.slow) = (self.bytes.max(FIRST), 0);
            }
        } else {
            let at_this_pace = bytes as u128 * SPAN.as_nanos() / took.as_nanos().max(1);
            self.bytes = usize::try_from(at_this_pace).unwrap_or(MOST).clamp(LEAST, MOST);
            self.quick = 0;
            self.slow = if self.bytes < FIRST { SURE.min(self.slow + 1) } else { 0 };
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
        assert_eq!(share.left(1), FIRST, "nothing came yet");
        share.handle(10_000, micros(2));
        assert_eq!(share.left(1), MOST - 10_000, "quick bytes");
        share.handle(20_000, micros(20));
        assert_eq!(share.left(1), 250_000 - 30_000);
        share.handle(20_000, micros(500));
        assert_eq!(share.left(1), 0, "10,000 bytes at this pace, and more were handled");
        assert_eq!(share.left(2), 10_000);
        share.handle(6_000, micros(150));
        assert_eq!(share.left(2), 0, "slow bytes are read once a turn");
        assert_eq!(share.left(3), 10_000);
    }

    #[test]
    fn a_share_has_some_bytes_however_long_they_take() {
        let mut share = Share::default();
        share.handle(FIRST, Duration::from_secs(60));
        assert_eq!(share.left(2), LEAST);
        share.handle(LEAST, Duration::ZERO);
        assert_eq!(share.left(3), MOST, "a whole share tells of more");
    }

    #[test]
    fn few_bytes_that_are_quick_again_and_again_are_light_until_many_come_or_they_take_long() {
        for other in [(FIRST, micros(1)), (100, LONG)] {
            let mut share = Share::default();
            for _ in 0..TRUSTED {
                assert!(!share.is_light());
                assert_eq!(share.left(1), if share.quick == 0 { FIRST } else { 0 });
                share.handle(100, micros(1));
            }
            assert!(share.is_light());
            assert_eq!(share.left(1), FIRST - 1_600, "more than one read a turn");
            share.handle(other.0, other.1);
            assert!(!share.is_light());
        }
    }

    #[test]
    fn bytes_are_slow_that_took_long_again_and_again_until_others_are_quick() {
        for quick in [(1, LEAST), (u32::from(TRUSTED), 100)] {
            let mut share = Share::default();
            for _ in 0..SURE {
                assert!(!share.is_slow());
                share.handle(100, micros(1));
                share.handle(100, Duration::from_millis(10));
            }
            for _ in 0..quick.0 {
                assert!(share.is_slow());
                share.handle(quick.1, micros(1));
            }
            assert!(!share.is_slow());
            assert!(share.bytes() >= FIRST);
        }
    }
}
