//! How many bytes may lie unsent in the kernel. With few, the end point decides late. With many, the kernel sends large
//! batches as acknowledgements come in, often on the peer's processor if that is on the same machine. The one rule:
//! the kernel holds no more than the path takes within milliseconds, and at least what an acknowledgement lets go.

use super::socket::Output;
use std::time::Duration;
use unit::Instant;

/// How far the low-water mark of a socket follows its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AdaptiveSendBuffer {
    /// Downwards: on a slow path the mark is lower than configured, and never higher.
    #[default]
    Down,
    /// Both ways: a socket whose bytes leave quickly may hold more, up to 2 MiB. For a server that must use little processor
    /// time.
    UpAndDown,
}

/// The highest mark. Measured over loopback with files of 10 MB: twice as much brings no gain.
const MOST: usize = 2 * 1024 * 1024;

/// The lowest mark: two full segments, which is what one acknowledgement lets go. With less, a segment would go that is not full.
const LEAST: usize = 4 * 1024;

/// If half of the mark's bytes leave within this time, the mark grows. So it does where that many left at once and a round trip takes
/// no longer.
const QUICK: Duration = Duration::from_millis(5);

/// If they take longer than this, the mark shrinks.
const SLOW: Duration = Duration::from_millis(25);

/// Up to its configured value the mark is what the path takes within this time. On a path of 1.6 Mbit/s, 16 KiB would stand
/// for 82 ms where no urgent response overtakes them.
const HELD: Duration = Duration::from_millis(10);

impl Output {
    /// Called after a turn of writing. If the kernel takes no more, the measurement begins.
    pub(super) fn handle_full(&mut self, clock: impl FnOnce() -> Instant) {
        if !self.ready && self.unsent_bound > 0 && self.full_since.is_none() {
            self.full_since = Some((clock(), self.unsent_bound));
        }
    }

    /// The kernel takes bytes again. Returns the new mark if it changed.
    pub(super) fn handle_low_water(
        &mut self,
        adaptive: AdaptiveSendBuffer,
        clock: impl FnOnce() -> Instant,
    ) -> Option<u32> {
        let (full_since, unsent) = self.full_since.take()?;
        let took = clock().since(full_since);
        // The kernel reports when less than half of the mark is left.
        let left = unsent.saturating_sub(self.low_water / 2);
        let configured = self.low_water_configured;
        let within = (left as u128 * HELD.as_nanos() / took.as_nanos().max(1))
            .clamp(LEAST.min(configured) as u128, configured as u128) as usize;
        let mark = match adaptive {
            // Half a mark within `QUICK` is a whole one within `HELD`.
            AdaptiveSendBuffer::UpAndDown if self.low_water >= configured && took <= QUICK => {
                (self.low_water * 2).min(MOST.max(configured))
            }
            AdaptiveSendBuffer::UpAndDown if self.low_water > configured => match took >= SLOW {
                true => (self.low_water / 2).max(configured),
                false => self.low_water,
            },
            AdaptiveSendBuffer::UpAndDown | AdaptiveSendBuffer::Down => within,
        };
        if mark == self.low_water {
            return None;
        }
        self.low_water = mark;
        u32::try_from(mark).ok()
    }

    /// The kernel has been given a mark's bytes, or more, and `unsent` of them are left. Returns the new mark if it changed: a path whose
    /// window takes all that it is given is never full, and would be given a few bytes at a time for ever.
    pub(super) fn handle_taken(
        &mut self,
        adaptive: AdaptiveSendBuffer,
        unsent: usize,
        round_trip: impl FnOnce() -> Duration,
    ) -> Option<u32> {
        let grows = adaptive == AdaptiveSendBuffer::UpAndDown
            && (self.low_water_configured..MOST).contains(&self.low_water)
            && unsent < self.low_water / 2
            && round_trip() <= QUICK;
        if !grows {
            return None;
        }
        self.low_water = (self.low_water * 2).min(MOST);
        u32::try_from(self.low_water).ok()
    }

    /// The mark has changed. With a low one the end point is asked so often that many segments would not be full, and a slow path
    /// would carry more packets. The kernel asks for more when less than half of the mark is left: a segment that waits to be
    /// filled must be smaller. `segment` gives the bytes of a full one.
    pub(super) fn handle_mark(&mut self, segment: impl FnOnce() -> usize) {
        self.fills_segments =
            self.low_water < self.low_water_configured && segment() <= self.low_water / 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mark after the socket was full and its unsent bytes, so many times the mark, fell to half of it, in so many
    /// microseconds each time.
    fn after(adaptive: AdaptiveSendBuffer, configured: u32, drained: &[u64]) -> usize {
        let mut output = Output::new(configured);
        let mut now = Instant::ZERO;
        for &micros in drained {
            (output.ready, output.unsent_bound) = (false, output.low_water);
            output.handle_full(|| now);
            now += Duration::from_micros(micros);
            output.handle_full(|| now);
            output.handle_low_water(adaptive, || now);
        }
        output.low_water
    }

    #[test]
    fn a_quick_path_may_hold_more_than_configured_and_a_slower_one_less_of_that() {
        let after = |drained: &[u64]| after(AdaptiveSendBuffer::UpAndDown, 128 * 1024, drained);
        assert_eq!(after(&[100]), 256 * 1024);
        assert_eq!(after(&[100; 20]), MOST);
        assert_eq!(after(&[100, 100, 10_000]), 512 * 1024);
        assert_eq!(after(&[100, 100, 30_000]), 256 * 1024);
        assert_eq!(after(&[100, 100, 30_000, 30_000]), 128 * 1024);
    }

    #[test]
    fn a_path_that_takes_all_at_once_may_hold_more_if_its_round_trip_is_short() {
        let after = |adaptive, configured: usize, unsent: usize, micros: u64| {
            let mut output = Output::new(10 * 1024);
            output.low_water = configured;
            let mark = output.handle_taken(adaptive, unsent, || Duration::from_micros(micros));
            assert_eq!(mark.map(|mark| mark as usize), mark.map(|_| output.low_water));
            output.low_water
        };
        let both = AdaptiveSendBuffer::UpAndDown;
        assert_eq!(after(both, 10 * 1024, 5 * 1024 - 1, 200), 20 * 1024);
        assert_eq!(after(both, MOST, 0, 200), MOST);
        assert_eq!(after(both, 10 * 1024, 5 * 1024, 200), 10 * 1024, "half of it has not left");
        assert_eq!(after(both, 10 * 1024, 0, 5_001), 10 * 1024, "a far peer");
        assert_eq!(after(both, 8 * 1024, 0, 200), 8 * 1024, "it was full, and slow, before");
        assert_eq!(after(AdaptiveSendBuffer::Down, 10 * 1024, 0, 200), 10 * 1024);
    }

    #[test]
    fn a_slow_path_holds_what_it_takes_within_ten_milliseconds() {
        for adaptive in [AdaptiveSendBuffer::Down, AdaptiveSendBuffer::UpAndDown] {
            // 8 KiB in 10.24 ms are 6.4 Mbit/s.
            assert_eq!(after(adaptive, 16 * 1024, &[10_240]), 8_000);
            // 1.6 Mbit/s; and a round trip in which nothing left.
            assert_eq!(after(adaptive, 16 * 1024, &[40_960]), LEAST);
            assert_eq!(after(adaptive, 16 * 1024, &[300_000]), LEAST);
            assert_eq!(
                after(adaptive, 2_000, &[300_000]),
                2_000,
                "never above what was configured"
            );
        }
    }

    #[test]
    fn as_many_bytes_are_asked_for_as_the_mark_allows() {
        let last_of_ten_asks = |mark: usize| {
            let mut output = Output::new(10 * 1024);
            output.low_water = mark;
            (0..10).map(|_| output.next_ask()).last()
        };
        assert_eq!(last_of_ten_asks(MOST), Some(MOST));
        assert_eq!(last_of_ten_asks(10 * 1024), Some(10 * 1024));
        assert_eq!(last_of_ten_asks(LEAST), Some(LEAST));
    }

    #[test]
    fn a_path_that_was_slow_once_gets_its_configured_mark_back() {
        for adaptive in [AdaptiveSendBuffer::Down, AdaptiveSendBuffer::UpAndDown] {
            assert_eq!(after(adaptive, 16 * 1024, &[300_000, 1_000]), 16 * 1024);
        }
    }

    #[test]
    fn segments_are_filled_where_the_mark_is_low_and_asks_for_more_before_one_is_full() {
        let fills = |mark: usize, segment: usize| {
            let mut output = Output::new(16 * 1024);
            output.low_water = mark;
            output.handle_mark(|| segment);
            output.fills_segments
        };
        assert!(fills(LEAST, 1_448));
        assert!(
            !fills(LEAST, 2_049),
            "the kernel would wait for a segment of which it tells nobody"
        );
        assert!(!fills(8_000, 65_483), "a slow reader on this machine");
        assert!(!fills(16 * 1024, 1_448), "as configured");
    }

    #[test]
    fn a_mark_that_only_follows_downwards_never_exceeds_what_was_configured() {
        assert_eq!(after(AdaptiveSendBuffer::Down, 128 * 1024, &[100; 20]), 128 * 1024);
    }
}
