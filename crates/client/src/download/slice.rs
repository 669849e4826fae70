//! A part of a file that is wanted alone (RFC 9110 §14.1.2).

use std::fmt;
use std::ops::{Range, RangeInclusive};

/// A part of a file, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slice {
    /// From here to the end.
    From(u64),
    /// From the first to the last, both counted in.
    Within(RangeInclusive<u64>),
    /// So many at the end.
    Last(u64),
}

impl Slice {
    /// Whether `range` is this part of a file that has `whole` bytes. A file may end within a part.
    pub(super) fn is(&self, range: &Range<u64>, whole: Option<u64>) -> bool {
        let to_end = whole.is_none_or(|whole| range.end == whole);
        match self {
            Self::From(first) => range.start == *first && to_end,
            Self::Within(asked) => {
                let is_cut = whole == Some(range.end) && range.end <= *asked.end();
                range.start == *asked.start() && (range.end - 1 == *asked.end() || is_cut)
            }
            Self::Last(length) => {
                let expected = whole.map_or(*length, |whole| whole.min(*length));
                to_end && range.end - range.start == expected
            }
        }
    }
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::From(first) => write!(f, "{first}-"),
            Self::Within(asked) => write!(f, "{}-{}", asked.start(), asked.end()),
            Self::Last(length) => write!(f, "-{length}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_the_one_asked_for_or_ends_with_the_file() {
        let (from, within, last) = (Slice::From(10), Slice::Within(10..=19), Slice::Last(10));
        for (slice, range, whole, expected) in [
            (&from, 10..100, Some(100), true),
            (&from, 10..90, Some(100), false),
            (&from, 10..90, None, true),
            (&from, 9..100, Some(100), false),
            (&within, 10..20, Some(100), true),
            (&within, 10..20, None, true),
            (&within, 10..15, Some(15), true),
            (&within, 10..15, Some(100), false),
            (&within, 10..15, None, false),
            (&within, 10..25, Some(25), false),
            (&last, 90..100, Some(100), true),
            (&last, 0..5, Some(5), true),
            (&last, 80..90, Some(100), false),
            (&last, 95..100, Some(100), false),
            (&last, 90..100, None, true),
        ] {
            assert_eq!(slice.is(&range, whole), expected, "{slice}: {range:?} of {whole:?}");
        }
    }
}
