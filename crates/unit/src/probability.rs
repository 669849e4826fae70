//! A probability between 0 and 1.

use crate::parse::{ParseError, number_and_unit};
use std::fmt;
use std::str::FromStr;

const EXPECTED: &str = "a probability such as 0.5% or 0.005, from 0 to 1";

/// A chance, from 0 (never) to 1 (always).
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Probability(f64);

impl Probability {
    /// Never.
    pub const ZERO: Self = Self(0.0);

    /// `chance` in 0..=1, else None.
    pub fn new(chance: f64) -> Option<Self> {
        (0.0..=1.0).contains(&chance).then_some(Self(chance))
    }

    /// The chance as a fraction in 0..=1.
    pub fn fraction(self) -> f64 {
        self.0
    }
}

impl FromStr for Probability {
    type Err = ParseError;
    fn from_str(input: &str) -> Result<Self, ParseError> {
        let (number, unit) = number_and_unit(input, EXPECTED)?;
        let fraction = match unit {
            "" => number,
            "%" => number / 100.0,
            _ => return Err(ParseError::new(input, EXPECTED)),
        };
        Self::new(fraction).ok_or_else(|| ParseError::new(input, EXPECTED))
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded to nine decimals so that 0.005 * 100 does not print as 0.5000000000000001.
        write!(f, "{} %", (self.0 * 100.0 * 1e9).round() / 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_and_fraction_mean_the_same() {
        assert_eq!("0.5%".parse::<Probability>(), "0.005".parse::<Probability>());
        assert_eq!("0.5%".parse::<Probability>().unwrap().to_string(), "0.5 %");
    }

    #[test]
    fn more_than_certain_is_refused() {
        assert!("101%".parse::<Probability>().is_err());
        assert!(Probability::new(f64::NAN).is_none());
    }
}
