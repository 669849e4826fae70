//! A point on the monotonic clock, handed in from outside; nothing here reads a clock.

use crate::parse::{ParseError, number_and_unit};
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

const EXPECTED: &str = "a time such as 60ms, 1.5s, 250us or 2min";

/// Whole nanoseconds since an epoch that the clock's owner chose (on Linux, CLOCK_MONOTONIC's).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

impl Instant {
    /// The epoch.
    pub const ZERO: Self = Self(0);

    /// `nanos` nanoseconds after the epoch.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the epoch.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// The time since `earlier`, or zero where that is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_sub(nanos))
    }
}

/// Reads `60ms`, `1.5s`, `250us`, `80ns`, `2min`, `1h`; a number without a unit is refused, but for 0.
pub fn parse_duration(input: &str) -> Result<Duration, ParseError> {
    let (number, unit) = number_and_unit(input, EXPECTED)?;
    let nanos = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        "h" => 3_600e9,
        "" if number == 0.0 => 0.0,
        _ => return Err(ParseError::new(input, EXPECTED)),
    };
    Ok(Duration::from_nanos((number * nanos).round() as u64))
}

/// Prints a span with three significant digits in the unit that fits: `4.02 s`, `310 ms`, `27 µs`.
pub fn format_duration(span: Duration) -> String {
    let nanos = span.as_nanos() as f64;
    let (value, unit) = match nanos {
        // Half a unit of the last digit below: 999.96 ms are 1.00 s, and not 1000 ms.
        n if n >= 999.5e6 => (n / 1e9, "s"),
        n if n >= 999.5e3 => (n / 1e6, "ms"),
        n if n >= 999.5 => (n / 1e3, "µs"),
        n => (n, "ns"),
    };
    let decimals = match value {
        v if v >= 99.95 || v.fract() == 0.0 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_saturate_instead_of_wrapping() {
        assert_eq!(Instant::ZERO - Duration::from_secs(1), Instant::ZERO);
        assert_eq!(Instant::ZERO.since(Instant::from_nanos(5)), Duration::ZERO);
        assert_eq!(Instant::from_nanos(u64::MAX) + Duration::MAX, Instant::from_nanos(u64::MAX));
    }

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(parse_duration("0.4ms"), Ok(Duration::from_micros(400)));
        assert_eq!(parse_duration("0"), Ok(Duration::ZERO));
        assert_eq!(parse_duration("2h"), Ok(Duration::from_secs(7_200)));
        assert!(parse_duration("60").is_err());
    }

    #[test]
    fn durations_print_with_three_significant_digits() {
        assert_eq!(format_duration(Duration::from_millis(4_021)), "4.02 s");
        assert_eq!(format_duration(Duration::from_micros(310_400)), "310 ms");
        assert_eq!(format_duration(Duration::from_nanos(27_000)), "27 µs");
        assert_eq!(format_duration(Duration::from_micros(999_960)), "1.00 s");
        assert_eq!(format_duration(Duration::ZERO), "0 ns");
    }
}
