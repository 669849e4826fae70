//! Reads the time stamps of a HAR (ISO 8601 as RFC 3339 narrows it, and the looser forms that
//! exporters write: no fraction, no offset, `+0100`).

/// Nanoseconds since 1970 in UTC; None where `text` is no time stamp.
pub(super) fn read(text: &str) -> Option<i64> {
    let text = text.trim();
    let (date, clock) = text.split_once(['T', 't', ' '])?;
    let mut date = date.splitn(3, '-').map(digits);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let offset_at = clock.find(['Z', 'z', '+', '-']).unwrap_or(clock.len());
    let (clock, offset) = clock.split_at(offset_at);
    let (whole, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut whole = whole.splitn(3, ':').map(digits);
    let (hour, minute) = (whole.next()??, whole.next()??);
    let second = whole.next().unwrap_or(Some(0))?;
    // 60 is a leap second.
    let fits = (1..=12).contains(&month) && (1..=31).contains(&day) && hour <= 24;
    // No browser wrote before 1970, and differences of what is left never overflow.
    if !fits || !(1970..=2200).contains(&year) || minute > 59 || second > 60 {
        return None;
    }
    let seconds = days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    let nanos = (seconds - offset_seconds(offset)?).checked_mul(1_000_000_000)?;
    nanos.checked_add(nanos_of(fraction)?)
}

fn digits(text: &str) -> Option<i64> {
    let all = !text.is_empty() && text.len() <= 4 && text.bytes().all(|b| b.is_ascii_digit());
    all.then(|| text.parse().ok()).flatten()
}

fn nanos_of(fraction: &str) -> Option<i64> {
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let nine: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    nine.parse().ok()
}

fn offset_seconds(offset: &str) -> Option<i64> {
    let (sign, rest) = match offset.as_bytes().first() {
        None | Some(b'Z' | b'z') => return Some(0),
        Some(b'-') => (-1, &offset[1..]),
        _ => (1, &offset[1..]),
    };
    let plain = rest.replace(':', "");
    let number = digits(&plain)?;
    let (hours, minutes) =
        if plain.len() <= 2 { (number, 0) } else { (number / 100, number % 100) };
    Some(sign * (hours * 3600 + minutes * 60))
}

/// Days from 1970-01-01 in the proleptic Gregorian calendar, years counted from March.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let march_year = if month > 2 { year } else { year - 1 };
    let march_month = (month + 9) % 12;
    let era_days = 365 * march_year + march_year / 4 - march_year / 100 + march_year / 400;
    era_days + (153 * march_month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stamps_of_every_exporter_are_read() {
        for (text, nanos) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2015-12-20T13:43:36.694Z", 1_450_619_016_694_000_000),
            ("2015-12-20T14:43:36.694+01:00", 1_450_619_016_694_000_000),
            ("2015-12-20T08:43:36.694-0500", 1_450_619_016_694_000_000),
            ("2015-12-20 13:43:36.694", 1_450_619_016_694_000_000),
            ("2024-02-29T12:00Z", 1_709_208_000_000_000_000),
            ("2017-06-28T01:48:35.2140001234+00:00", 1_498_614_515_214_000_123),
        ] {
            assert_eq!(read(text), Some(nanos), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_stamp_is_refused() {
        for text in [
            "",
            "yesterday",
            "2015-12-20",
            "2015-13-01T00:00:00Z",
            "2015-12-20T1x:00:00Z",
            "T",
            "0001-01-01T00:00:00Z",
            "9999-01-01T00:00:00Z",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
