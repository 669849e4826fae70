//! Converts the kernel's arrival stamps (CLOCK_REALTIME) to our clock (CLOCK_MONOTONIC). The one rule: a step of the
//! wall clock is noticed and counted, because stamps across it are wrong.

use crate::clock;
use std::time::Duration;
use unit::Instant;

/// Reading both clocks takes less than a microsecond. A larger change of their difference is a step. Slewing moves both
/// clocks alike.
const STEP: i64 = 200_000;

/// The distance of the two clocks.
#[derive(Debug)]
pub(crate) struct WallClock {
    /// Realtime less monotonic, in nanoseconds.
    offset: i64,
    steps: u64,
}

impl WallClock {
    pub(crate) fn new() -> Self {
        Self { offset: narrowest_offset(), steps: 0 }
    }

    /// A stamp on our clock. It is never later than `now`, since nothing arrives after it is read.
    pub(crate) fn arrival(&self, stamp: Option<Duration>, now: Instant) -> Instant {
        let Some(stamp) = stamp else { return now };
        let nanos = stamp.as_nanos() as i64 - self.offset;
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(0)).min(now)
    }

    /// Checks whether the wall clock was set, and adopts the new difference.
    pub(crate) fn observe(&mut self) {
        // One reading may be interrupted by preemption. Only the shortest of several counts.
        if (sample().1 - self.offset).abs() < STEP {
            return;
        }
        let offset = narrowest_offset();
        if (offset - self.offset).abs() >= STEP {
            self.steps += 1;
            self.offset = offset;
        }
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }
}

/// How long the reading took, and the offset that it gives.
fn sample() -> (i64, i64) {
    let before = clock::now().nanos() as i64;
    let wall = clock::realtime().as_nanos() as i64;
    let after = clock::now().nanos() as i64;
    (after - before, wall - (before + after) / 2)
}

fn narrowest_offset() -> i64 {
    let samples = (0..16).map(|_| sample());
    samples.min().map_or(0, |(_, offset)| offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_taken_now_is_now_on_our_clock() {
        let wall = WallClock::new();
        let before = clock::now();
        let stamp = clock::realtime();
        let arrival = wall.arrival(Some(stamp), before + Duration::from_secs(1));
        assert!(arrival + Duration::from_millis(1) > before, "{arrival:?} {before:?}");
        assert_eq!(wall.arrival(Some(stamp + Duration::from_secs(9)), before), before);
    }

    #[test]
    fn a_step_is_counted_once() {
        let mut wall = WallClock::new();
        wall.offset += 5_000_000;
        wall.observe();
        wall.observe();
        assert_eq!(wall.steps(), 1);
    }
}
