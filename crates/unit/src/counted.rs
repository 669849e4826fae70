//! Counts in words.

use std::fmt::Display;

/// A count with the name of what is counted: `1 connection`, `6 connections`. For names whose plural ends in `s`.
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, what: &str) -> String {
    let ending = if count == N::from(1) { "" } else { "s" };
    format!("{count} {what}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_one_and_none_and_two_are_several() {
        assert_eq!(counted(1_u32, "connection"), "1 connection");
        assert_eq!(counted(0_usize, "host"), "0 hosts");
        assert_eq!(counted(2_u64, "warm-up"), "2 warm-ups");
    }
}
