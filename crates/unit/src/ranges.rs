//! A set of byte ranges of one file. Ranges are half open, disjoint, not adjacent, and sorted.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// The set of bytes of a file that are there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ranges {
    /// Beginning to end.
    spans: BTreeMap<u64, u64>,
}

impl Ranges {
    /// The empty set.
    pub const fn new() -> Self {
        Self { spans: BTreeMap::new() }
    }

    /// Adds `range`.
    pub fn insert(&mut self, range: Range<u64>) {
        let Range { mut start, mut end } = range;
        if start >= end {
            return;
        }
        if let Some((&before, &until)) = self.spans.range(..=start).next_back()
            && until >= start
        {
            start = before;
            end = end.max(until);
        }
        while let Some((&next, &until)) = self.spans.range(start..=end).next() {
            self.spans.remove(&next);
            end = end.max(until);
        }
        self.spans.insert(start, end);
    }

    /// The number of bytes in the set.
    pub fn total(&self) -> u64 {
        self.spans.iter().map(|(start, end)| end - start).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The end of the last range; 0 for the empty set.
    pub fn end(&self) -> u64 {
        self.spans.last_key_value().map_or(0, |(_, end)| *end)
    }

    /// Whether the set contains all of `range`.
    pub fn covers(&self, range: Range<u64>) -> bool {
        range.is_empty() || self.gap(range.start).start >= range.end
    }

    /// The first gap at or after `from`. Its end is `u64::MAX` where no range follows.
    pub fn gap(&self, from: u64) -> Range<u64> {
        let start = match self.spans.range(..=from).next_back() {
            Some((_, &end)) if end > from => end,
            _ => from,
        };
        let end = self.spans.range(start..).next().map_or(u64::MAX, |(&next, _)| next);
        start..end
    }

    /// The ranges, in order.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> {
        self.spans.iter().map(|(&start, &end)| start..end)
    }
}

/// `0-4096,8192-9000`; the empty text for the empty set.
impl fmt::Display for Ranges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, range) in self.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{}-{}", range.start, range.end)?;
        }
        Ok(())
    }
}

/// The text is not in the form that `Ranges` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRanges;

impl FromStr for Ranges {
    type Err = NoRanges;

    fn from_str(input: &str) -> Result<Self, NoRanges> {
        let mut ranges = Self::new();
        for span in input.split(',').filter(|span| !span.is_empty()) {
            let (start, end) = span.split_once('-').ok_or(NoRanges)?;
            let number = |text: &str| text.parse::<u64>().map_err(|_| NoRanges);
            let (start, end) = (number(start)?, number(end)?);
            if start >= end {
                return Err(NoRanges);
            }
            ranges.insert(start..end);
        }
        Ok(ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(text: &str) -> Ranges {
        text.parse().unwrap()
    }

    #[test]
    fn ranges_that_touch_or_overlap_become_one() {
        for (first, second, expected) in [
            ("0-5", "5-9", "0-9"),
            ("5-9", "0-5", "0-9"),
            ("0-5", "6-9", "0-5,6-9"),
            ("0-3,6-9", "2-7", "0-9"),
            ("0-9", "2-3", "0-9"),
            ("2-3,4-5,8-9", "0-8", "0-9"),
        ] {
            let mut set = ranges(first);
            for range in ranges(second).iter() {
                set.insert(range);
            }
            assert_eq!(set.to_string(), expected, "{first} and {second}");
        }
    }

    #[test]
    fn gaps_are_what_is_missing() {
        let set = ranges("0-10,20-30");
        assert_eq!(set.gap(0), 10..20);
        assert_eq!(set.gap(15), 15..20);
        assert_eq!(set.gap(20), 30..u64::MAX);
        assert_eq!(Ranges::new().gap(0), 0..u64::MAX);
        assert!(set.covers(20..30) && !set.covers(9..21) && set.covers(5..5));
        assert_eq!((set.total(), set.end()), (20, 30));
    }

    #[test]
    fn what_is_no_list_of_ranges_is_refused() {
        for text in ["x", "1", "3-3", "4-2", "1-2;3-4", "-1"] {
            assert_eq!(text.parse::<Ranges>(), Err(NoRanges), "{text}");
        }
        assert_eq!("".parse(), Ok(Ranges::new()));
    }
}
