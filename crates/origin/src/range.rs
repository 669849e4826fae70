//! Range requests (RFC 9110 §14).

use std::ops::Range;

/// The most ranges that are answered. A longer list gets the whole representation, as RFC 9110 §14.2 allows against
/// lists that are meant to be costly.
const MOST_RANGES: usize = 16;

/// The meaning of a `Range` field for a representation of a known length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ranges {
    /// It is ignored: send the whole representation.
    Whole,
    /// 416: none of it lies within the representation.
    Unsatisfiable,
    /// These ranges, in the order asked for. There is at least one, and none is empty.
    Parts(Vec<Range<u64>>),
}

impl Ranges {
    /// Parses a field value. A malformed one is ignored (RFC 9110 §14.2).
    pub(crate) fn parse(value: &[u8], length: u64) -> Self {
        let Some(list) = std::str::from_utf8(value).ok().and_then(strip_unit) else {
            return Self::Whole;
        };
        let mut parts = Vec::new();
        for item in list.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            match parse_one(item, length) {
                None => return Self::Whole,
                Some(range) if range.is_empty() => {}
                Some(range) => parts.push(range),
            }
        }
        let total: u64 = parts.iter().map(|range| range.end - range.start).sum();
        if parts.is_empty() {
            Self::Unsatisfiable
        } else if parts.len() > MOST_RANGES || total > length {
            Self::Whole
        } else {
            Self::Parts(parts)
        }
    }
}

/// RFC 9110 §14.1: range units are case-insensitive.
fn strip_unit(value: &str) -> Option<&str> {
    let (unit, list) = value.split_once('=')?;
    unit.trim().eq_ignore_ascii_case("bytes").then_some(list)
}

/// One range, cut to the length. Empty where it lies beyond the end; None where it is malformed.
fn parse_one(item: &str, length: u64) -> Option<Range<u64>> {
    let (first, last) = item.split_once('-')?;
    if first.is_empty() {
        // RFC 9110 §14.1.2: the last `count` bytes.
        let count = number(last)?;
        return Some(length.saturating_sub(count)..length);
    }
    let first = number(first)?;
    let last = if last.is_empty() { u64::MAX } else { number(last)? };
    if last < first {
        return None;
    }
    let end = last.saturating_add(1).min(length);
    Some(first.min(end)..end)
}

/// Digits alone. A number that is too large means beyond any end.
fn number(digits: &str) -> Option<u64> {
    let plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    plain.then(|| digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(ranges: &[(u64, u64)]) -> Ranges {
        Ranges::Parts(ranges.iter().map(|&(start, end)| start..end).collect())
    }

    #[test]
    fn ranges_are_cut_to_the_length() {
        for (value, expected) in [
            ("bytes=0-499", parts(&[(0, 500)])),
            ("BYTES=9500-", parts(&[(9500, 10_000)])),
            ("bytes=-500", parts(&[(9500, 10_000)])),
            ("bytes=-20000", parts(&[(0, 10_000)])),
            ("bytes=9999-99999999999999999999999", parts(&[(9999, 10_000)])),
            ("bytes=0-0, -1,10000-", parts(&[(0, 1), (9999, 10_000)])),
            ("bytes=10000-", Ranges::Unsatisfiable),
            ("bytes=-0", Ranges::Unsatisfiable),
            ("bytes=", Ranges::Unsatisfiable),
            ("bytes=5-4", Ranges::Whole),
            ("bytes=a-b", Ranges::Whole),
            ("bytes=+1-2", Ranges::Whole),
            ("lines=0-1", Ranges::Whole),
        ] {
            assert_eq!(Ranges::parse(value.as_bytes(), 10_000), expected, "{value}");
        }
    }

    #[test]
    fn a_list_made_to_cost_much_is_answered_with_the_whole() {
        let many = format!("bytes={}", "0-0,".repeat(MOST_RANGES + 1));
        assert_eq!(Ranges::parse(many.as_bytes(), 10_000), Ranges::Whole);
        assert_eq!(Ranges::parse(b"bytes=0-,0-", 10_000), Ranges::Whole);
    }

    #[test]
    fn nothing_lies_within_an_empty_representation() {
        assert_eq!(Ranges::parse(b"bytes=0-", 0), Ranges::Unsatisfiable);
        assert_eq!(Ranges::parse(b"bytes=-5", 0), Ranges::Unsatisfiable);
    }
}
