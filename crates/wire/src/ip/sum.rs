//! The Internet checksum (RFC 1071): a one's complement sum that parts can be added to in any order.

use std::net::IpAddr;

/// A sum under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum(u64);

impl Sum {
    /// Nothing added yet.
    pub const ZERO: Self = Self(0);

    /// Adds bytes in network order; an odd last one counts as if a zero followed.
    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> Self {
        let pairs = bytes.chunks_exact(2);
        let last = pairs.remainder().first().map_or(0, |&byte| u64::from(byte) << 8);
        Self(pairs.fold(self.0 + last, |sum, pair| {
            sum + u64::from(u16::from_be_bytes([pair[0], pair[1]]))
        }))
    }

    /// Adds a number of 32 bits.
    #[must_use]
    pub fn number(self, number: u32) -> Self {
        Self(self.0 + u64::from(number >> 16) + u64::from(number & 0xffff))
    }

    /// Adds the pseudo-header (RFC 9293 §3.1, RFC 8200 §8.1) of `length` transport bytes.
    #[must_use]
    pub fn pseudo_header(self, ends: (IpAddr, IpAddr), protocol: u8, length: u32) -> Self {
        let of = |sum: Self, end: IpAddr| match end {
            IpAddr::V4(end) => sum.bytes(&end.octets()),
            IpAddr::V6(end) => sum.bytes(&end.octets()),
        };
        of(of(self, ends.0), ends.1).number(u32::from(protocol)).number(length)
    }

    /// The sum in 16 bits, not complemented: what a partial checksum field holds.
    pub fn folded(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    /// The checksum: the complement of the sum.
    pub fn checksum(self) -> u16 {
        !self.folded()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071_sums_up() {
        let sum = Sum::ZERO.bytes(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.folded(), 0xddf2);
    }

    #[test]
    fn an_odd_last_byte_is_the_high_one() {
        assert_eq!(Sum::ZERO.bytes(&[0x12]).folded(), 0x1200);
    }
}
