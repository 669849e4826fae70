//! Parses a number with its unit. The one rule: a unit is never guessed.

use std::fmt;

/// A text that is not the quantity it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    input: String,
    expected: &'static str,
}

impl ParseError {
    /// The error for `input` where `expected` (a phrase with an example) should stand.
    pub fn new(input: &str, expected: &'static str) -> Self {
        Self { input: input.to_owned(), expected }
    }

    /// What should have stood there, with an example.
    pub fn expected(&self) -> &'static str {
        self.expected
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not {}", self.input, self.expected)
    }
}

impl std::error::Error for ParseError {}

/// Splits `12.5kB` into 12.5 and `kB`; the number is finite and not negative.
pub(crate) fn number_and_unit<'a>(
    input: &'a str,
    expected: &'static str,
) -> Result<(f64, &'a str), ParseError> {
    let text = input.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| ParseError::new(input, expected))?;
    if !number.is_finite() {
        return Err(ParseError::new(input, expected));
    }
    Ok((number, unit.trim_start()))
}
