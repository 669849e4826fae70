//! Dates of rows: milliseconds since 1970 as RFC 3339 text in UTC. Proleptic Gregorian, no leap seconds,
//! as Unix time has it.

/// `2026-11-21T19:48:41.250Z`.
pub fn rfc3339(unix_ms: u64) -> String {
    let (seconds, millis) = (unix_ms / 1000, unix_ms % 1000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// The date `days` after 1970-01-01.
fn civil(mut days: u64) -> (u64, u64, u64) {
    // 400 years repeat: whole cycles first, so that the walk below is short whatever the number.
    const CYCLE_DAYS: u64 = 146_097;
    let mut year = 1970 + days / CYCLE_DAYS * 400;
    days %= CYCLE_DAYS;
    while days >= year_days(year) {
        days -= year_days(year);
        year += 1;
    }
    let february = year_days(year) - 337;
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

fn year_days(year: u64) -> u64 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    if leap { 366 } else { 365 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_dates_print_as_they_are_known() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(rfc3339(1_234_567_890_123), "2009-02-13T23:31:30.123Z");
        assert_eq!(rfc3339(4_107_542_399_999), "2100-02-28T23:59:59.999Z");
        assert_eq!(rfc3339(4_107_542_400_000), "2100-03-01T00:00:00.000Z");
    }
}
