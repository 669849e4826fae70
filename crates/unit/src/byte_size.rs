//! A count of bytes. Decimal units: 1 kB is 1000 bytes, 1 KiB is 1024.

use crate::parse::{ParseError, number_and_unit};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

const EXPECTED: &str = "a size such as 5kB, 1.5MB, 64KiB or 800B";

/// A count of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// No bytes.
    pub const ZERO: Self = Self(0);

    /// The difference, or zero where `other` is larger.
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for ByteSize {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for ByteSize {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for ByteSize {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Sum for ByteSize {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        Self(sizes.map(|size| size.0).sum())
    }
}

impl FromStr for ByteSize {
    type Err = ParseError;
    fn from_str(input: &str) -> Result<Self, ParseError> {
        let (number, unit) = number_and_unit(input, EXPECTED)?;
        let factor = match unit {
            "" | "B" | "b" => 1.0,
            "kB" | "KB" | "kb" | "k" | "K" => 1e3,
            "MB" | "mb" | "M" | "m" => 1e6,
            "GB" | "gb" | "G" | "g" => 1e9,
            "KiB" | "kib" => 1024.0,
            "MiB" | "mib" => 1024.0 * 1024.0,
            "GiB" | "gib" => 1024.0 * 1024.0 * 1024.0,
            _ => return Err(ParseError::new(input, EXPECTED)),
        };
        Ok(Self((number * factor).round() as u64))
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (divisor, unit) = match self.0 {
            0..1_000 => (1, "B"),
            1_000..1_000_000 => (1_000, "kB"),
            1_000_000..1_000_000_000 => (1_000_000, "MB"),
            _ => (1_000_000_000, "GB"),
        };
        let value = self.0 as f64 / divisor as f64;
        // Three significant digits are what a reader compares; a whole number keeps no decimals.
        let decimals = match value {
            v if v.fract() == 0.0 || v >= 100.0 => 0,
            v if v >= 10.0 => 1,
            _ => 2,
        };
        write!(f, "{value:.decimals$} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_and_binary_units_differ() {
        assert_eq!("64kB".parse(), Ok(ByteSize(64_000)));
        assert_eq!("64KiB".parse(), Ok(ByteSize(65_536)));
        assert_eq!("1.5 MB".parse(), Ok(ByteSize(1_500_000)));
        assert_eq!("17".parse(), Ok(ByteSize(17)));
    }

    #[test]
    fn an_unknown_unit_is_an_error_that_shows_an_example() {
        let error = "5 parsecs".parse::<ByteSize>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`5 parsecs` is not a size such as 5kB, 1.5MB, 64KiB or 800B"
        );
        assert!("-5kB".parse::<ByteSize>().is_err());
        assert!("".parse::<ByteSize>().is_err());
    }

    #[test]
    fn sizes_print_with_three_significant_digits() {
        assert_eq!(ByteSize(5_000).to_string(), "5 kB");
        assert_eq!(ByteSize(12_345).to_string(), "12.3 kB");
        assert_eq!(ByteSize(999).to_string(), "999 B");
    }
}
