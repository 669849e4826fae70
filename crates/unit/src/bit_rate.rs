//! A rate in bits a second.

use crate::ByteSize;
use crate::parse::{ParseError, number_and_unit};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

const EXPECTED: &str = "a rate above zero such as 1.6mbit, 768kbit or 1gbit";
/// `MBps` is megabytes by all standards, and a reader of `mbps` means megabits.
const BYTES: &str = "a rate in bits a second: `B` stands for bytes; write eight times as many bits, such as 80mbit for 10 MB/s";

/// A rate in bits a second, never zero (a link without a rate limit has no `BitRate`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(u64);

impl BitRate {
    /// `bits` a second; None for zero, which would never deliver.
    pub const fn new(bits: u64) -> Option<Self> {
        if bits > 0 { Some(Self(bits)) } else { None }
    }

    /// Bits a second.
    pub fn bits_per_second(self) -> u64 {
        self.0
    }

    /// How long `size` takes to serialise, in whole nanoseconds, rounded down.
    pub fn time_for(self, size: ByteSize) -> Duration {
        let nanos = u128::from(size.0) * 8 * 1_000_000_000 / u128::from(self.0);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// How many bytes fit into `span`, rounded down: with the round trip, the bandwidth-delay product.
    pub fn bytes_in(self, span: Duration) -> ByteSize {
        let bytes = u128::from(self.0) * span.as_nanos() / 8 / 1_000_000_000;
        ByteSize(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

impl FromStr for BitRate {
    type Err = ParseError;
    fn from_str(input: &str) -> Result<Self, ParseError> {
        let (number, unit) = number_and_unit(input, EXPECTED)?;
        if is_of_bytes(unit) {
            return Err(ParseError::new(input, BYTES));
        }
        let factor = match unit.to_ascii_lowercase().as_str() {
            "bit" | "bps" | "bit/s" => 1.0,
            "kbit" | "kbps" | "kbit/s" => 1e3,
            "mbit" | "mbps" | "mbit/s" => 1e6,
            "gbit" | "gbps" | "gbit/s" => 1e9,
            _ => return Err(ParseError::new(input, EXPECTED)),
        };
        Self::new((number * factor).round() as u64).ok_or_else(|| ParseError::new(input, EXPECTED))
    }
}

/// Whether a unit is one of bytes a second: `kBps`, `MB/s`, `B/s`.
fn is_of_bytes(unit: &str) -> bool {
    let per = unit.trim_start_matches(['k', 'K', 'm', 'M', 'g', 'G', 'i']);
    per.strip_prefix('B').is_some_and(|per| matches!(per, "" | "ps" | "PS" | "/s"))
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..1_000 => write!(f, "{} bit/s", self.0),
            1_000..1_000_000 => write!(f, "{} kbit/s", self.0 as f64 / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{} Mbit/s", self.0 as f64 / 1e6),
            _ => write!(f, "{} Gbit/s", self.0 as f64 / 1e9),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_packet_takes_its_serialisation_time() {
        let rate: BitRate = "1.6mbit".parse().unwrap();
        assert_eq!(rate.time_for(ByteSize(1500)), Duration::from_micros(7_500));
        assert_eq!(rate.bytes_in(Duration::from_millis(300)), ByteSize(60_000));
    }

    #[test]
    fn zero_and_a_missing_unit_are_refused() {
        assert!("0mbit".parse::<BitRate>().is_err());
        assert!("10".parse::<BitRate>().is_err());
    }

    #[test]
    fn bytes_a_second_are_no_rate_whatever_the_case_of_the_rest() {
        for text in ["10MBps", "10 MB/s", "10kBps", "1GBps", "5Bps", "10MBPS", "10MB", "10MiB/s"] {
            let error = text.parse::<BitRate>().unwrap_err().to_string();
            assert!(error.contains("`B` stands for bytes"), "{error}");
        }
        for text in ["10Mbps", "10mbps", "10Mbit", "10MBIT", "10Mbit/s"] {
            assert_eq!(text.parse(), Ok(BitRate(10_000_000)), "{text}");
        }
    }

    #[test]
    fn rates_print_in_the_largest_unit_that_keeps_them_above_one() {
        assert_eq!("768kbit".parse::<BitRate>().unwrap().to_string(), "768 kbit/s");
        assert_eq!("1gbit".parse::<BitRate>().unwrap().to_string(), "1 Gbit/s");
    }
}
