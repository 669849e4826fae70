//! The `Date` of responses, from the monotonic clock and one reading of the wall clock. Nothing here reads a
//! clock: a server's dates go on evenly, whatever happens to the system's clock meanwhile.

use std::time::{Duration, UNIX_EPOCH};
use unit::Instant;

/// What the clock on the wall said at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WallClock {
    /// At this instant
    pub at: Instant,
    /// so much time had passed since 1970, UTC.
    pub unix: Duration,
}

impl WallClock {
    /// Whole seconds since 1970 at `now`.
    pub(crate) fn seconds(self, now: Instant) -> u64 {
        (self.unix + now.since(self.at)).as_secs()
    }

    /// When the next second begins.
    pub(crate) fn next_second(self, now: Instant) -> Instant {
        let within = (self.unix + now.since(self.at)).subsec_nanos();
        now + (Duration::from_secs(1) - Duration::from_nanos(within.into()))
    }
}

/// The value of the `Date` field, made once a second.
#[derive(Debug)]
pub(crate) struct DateField {
    clock: WallClock,
    second: u64,
    text: String,
}

impl DateField {
    pub(crate) fn new(clock: WallClock) -> Self {
        let second = clock.unix.as_secs();
        Self { clock, second, text: http_date(second) }
    }

    pub(crate) fn at(&mut self, now: Instant) -> &str {
        let second = self.clock.seconds(now);
        if second != self.second {
            self.second = second;
            self.text = http_date(second);
        }
        &self.text
    }
}

/// RFC 9110 §5.6.7: IMF-fixdate.
pub(crate) fn http_date(unix_seconds: u64) -> String {
    // Year 9999 is the last that the format can say.
    let seconds = unix_seconds.min(253_402_300_799);
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds))
}

/// Seconds since 1970; None where the text is no date (RFC 9110 §5.6.7: all three formats).
pub(crate) fn parse_http_date(text: &str) -> Option<u64> {
    let date = httpdate::parse_http_date(text.trim()).ok()?;
    date.duration_since(UNIX_EPOCH).ok().map(|span| span.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_follows_the_monotonic_clock() {
        let clock =
            WallClock { at: Instant::from_nanos(5), unix: Duration::from_secs(784_111_776) };
        let mut field = DateField::new(clock);
        let now = clock.at + Duration::from_millis(1_500);
        assert_eq!(field.at(now), "Sun, 06 Nov 1994 08:49:37 GMT");
    }

    #[test]
    fn all_three_formats_are_read() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(parse_http_date(text), Some(784_111_777), "{text}");
        }
        assert_eq!(parse_http_date("yesterday"), None);
    }
}
