//! Delivery schedules in mahimahi's trace format. The one rule: a schedule has at least one line and ends after 0 ms, so
//! that it can repeat for ever.
//!
//! Format and semantics: Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX
//! ATC 2015, and its `mm-link` manual: one non-decreasing whole millisecond a line, each an
//! opportunity to send 1504 bytes (an IP packet of 1500 and 4 bytes of TUN framing).

use std::time::Duration;
use unit::{BitRate, ByteSize};

/// The times at which a bottleneck of varying rate may send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    millis: Vec<u64>,
}

/// A text that is not a schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// A line that is not a whole number.
    #[error("line {line}: `{text}` is not a whole number of milliseconds")]
    NotMillis {
        /// Its number, from 1.
        line: usize,
        /// The text of the line.
        text: String,
    },
    /// A line's time is before that of the line above it.
    #[error("line {line}: {millis} ms is earlier than {previous} ms on the line before")]
    Backwards {
        /// Its number, from 1.
        line: usize,
        /// Its time.
        millis: u64,
        /// The time before it.
        previous: u64,
    },
    /// There is no line.
    #[error("it has no line, so it would never deliver")]
    Empty,
    /// The last line is 0 ms, so that a repeat would take no time.
    #[error("line {line}: it ends at 0 ms, so it would deliver without bound")]
    Instantaneous {
        /// The last line's number.
        line: usize,
    },
}

impl Schedule {
    /// Bytes that one opportunity carries.
    pub const OPPORTUNITY: ByteSize = ByteSize(1504);
    /// Bytes that a packet takes in addition to its IP bytes: mahimahi counts the TUN header.
    pub const FRAMING: ByteSize = ByteSize(4);

    /// Reads a trace file's text. Empty lines are ignored.
    pub fn parse(text: &str) -> Result<Self, ScheduleError> {
        let mut millis: Vec<u64> = Vec::new();
        let mut last_line = 0;
        for (index, content) in text.lines().enumerate() {
            let (line, content) = (index + 1, content.trim());
            if content.is_empty() {
                continue;
            }
            let value = parse_millis(line, content)?;
            match millis.last() {
                Some(&previous) if previous > value => {
                    return Err(ScheduleError::Backwards { line, millis: value, previous });
                }
                _ => millis.push(value),
            }
            last_line = line;
        }
        match millis.last() {
            None => Err(ScheduleError::Empty),
            Some(0) => Err(ScheduleError::Instantaneous { line: last_line }),
            Some(_) => Ok(Self { millis }),
        }
    }

    /// The time after which the schedule repeats.
    pub fn period(&self) -> Duration {
        Duration::from_millis(self.period_millis())
    }

    /// The mean rate where every opportunity is used, counted in bytes on the IP layer.
    pub fn mean_rate(&self) -> BitRate {
        let bytes = (Self::OPPORTUNITY.0 - Self::FRAMING.0) * self.millis.len() as u64;
        let bits = u128::from(bytes) * 8 * 1000 / u128::from(self.period_millis());
        let bits = u64::try_from(bits).unwrap_or(u64::MAX).max(1);
        BitRate::new(bits).unwrap_or_else(|| unreachable!("at least one bit a second"))
    }

    /// Nanoseconds from the start to the `index`th opportunity. The index counts on over repeats.
    pub(crate) fn nanos_of(&self, index: u64) -> u64 {
        let length = self.millis.len() as u64;
        let repeat = (index / length).saturating_mul(self.period_millis());
        repeat.saturating_add(self.millis[(index % length) as usize]).saturating_mul(1_000_000)
    }

    /// The first opportunity that is later than `nanos` after the start.
    pub(crate) fn first_after(&self, nanos: u64) -> u64 {
        let period = self.period_millis().saturating_mul(1_000_000);
        let (repeats, within) = (nanos / period, nanos % period);
        let passed = self.millis.partition_point(|&at| at.saturating_mul(1_000_000) <= within);
        // The last line of one repeat and a line at 0 ms of the next have the same time. So the count within the
        // repeat is also right at its very end.
        repeats.saturating_mul(self.millis.len() as u64).saturating_add(passed as u64)
    }

    fn period_millis(&self) -> u64 {
        self.millis.last().copied().unwrap_or(1)
    }
}

fn parse_millis(line: usize, text: &str) -> Result<u64, ScheduleError> {
    // A sign or a fraction is not mahimahi's format, though `u64::from_str` would take a plus.
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let millis = if plain { text.parse().ok() } else { None };
    millis.ok_or_else(|| ScheduleError::NotMillis { line, text: text.chars().take(40).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_repeats_with_its_last_time_stamp_added() {
        let schedule = Schedule::parse("0\n5\n5\n10\n").unwrap();
        let millis: Vec<u64> = (0..9).map(|k| schedule.nanos_of(k) / 1_000_000).collect();
        assert_eq!(millis, [0, 5, 5, 10, 10, 15, 15, 20, 20]);
        assert_eq!(schedule.period(), Duration::from_millis(10));
    }

    #[test]
    fn the_first_opportunity_after_a_moment_is_the_least_index_that_is_later() {
        let schedule = Schedule::parse("0\n5\n5\n10\n").unwrap();
        for nanos in (0..40_000_000).step_by(500_000) {
            let first = schedule.first_after(nanos);
            assert!(schedule.nanos_of(first) > nanos, "{nanos}");
            assert!(first == 0 || schedule.nanos_of(first - 1) <= nanos, "{nanos}");
        }
    }

    #[test]
    fn one_opportunity_a_millisecond_is_twelve_megabits() {
        assert_eq!(Schedule::parse("1").unwrap().mean_rate().bits_per_second(), 12_000_000);
    }

    #[test]
    fn a_bad_line_is_named() {
        let of = |text| Schedule::parse(text).unwrap_err();
        assert_eq!(of("1\n\n+2"), ScheduleError::NotMillis { line: 3, text: "+2".into() });
        assert_eq!(of("5\n4"), ScheduleError::Backwards { line: 2, millis: 4, previous: 5 });
        assert_eq!(of(""), ScheduleError::Empty);
        assert_eq!(of("0\n0"), ScheduleError::Instantaneous { line: 2 });
    }
}
