//! The prefix of a field section (RFC 9204 §4.5.1).

use super::{Fault, integer};

/// RFC 9204 §3.2.1: what an entry counts at least.
pub(super) const OVERHEAD: usize = 32;

/// What a section's references are counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prefix {
    /// Insertions that the decoder must have received.
    pub(super) required: u64,
    /// The insertion count that indexes are relative to.
    pub(super) base: u64,
}

impl Prefix {
    /// Appends it. `capacity` is the largest that the decoder allows.
    pub(super) fn encode(self, capacity: usize, out: &mut Vec<u8>) {
        let Self { required, base } = self;
        let coded = if required == 0 { 0 } else { required % (2 * max_entries(capacity)) + 1 };
        integer::put(coded, 8, 0, out);
        if required == 0 {
            // No reference counts from the base then.
            integer::put(0, 7, 0, out);
        } else if base >= required {
            integer::put(base - required, 7, 0, out);
        } else {
            integer::put(required - base - 1, 7, 0x80, out);
        }
    }

    /// Takes it off the front of `input`. `inserted` entries have come so far.
    pub(super) fn decode(input: &mut &[u8], capacity: usize, inserted: u64) -> Result<Self, Fault> {
        let required = required(integer::take(input, 8)?, max_entries(capacity), inserted)?;
        let is_negative = input.first().is_some_and(|&first| first & 0x80 != 0);
        let delta = integer::take(input, 7)?;
        let base = if is_negative {
            required.checked_sub(delta + 1).ok_or(Fault::Base)?
        } else {
            required + delta
        };
        Ok(Self { required, base })
    }
}

fn max_entries(capacity: usize) -> u64 {
    (capacity / OVERHEAD) as u64
}

/// RFC 9204 §4.5.1.1, as it is written there.
fn required(coded: u64, max_entries: u64, inserted: u64) -> Result<u64, Fault> {
    if coded == 0 {
        return Ok(0);
    }
    let full = 2 * max_entries;
    if coded > full {
        return Err(Fault::RequiredInsertCount);
    }
    let max = inserted + max_entries;
    let mut required = max / full * full + coded - 1;
    if required > max {
        if required <= full {
            return Err(Fault::RequiredInsertCount);
        }
        required -= full;
    }
    if required == 0 { Err(Fault::RequiredInsertCount) } else { Ok(required) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_survives_while_the_counts_stay_within_the_window() {
        let capacity = 3 * OVERHEAD;
        for inserted in 0..40_u64 {
            for required in inserted.saturating_sub(2).max(1)..=inserted + 3 {
                for base in 0..required + 4 {
                    let prefix = Prefix { required, base };
                    let mut out = Vec::new();
                    prefix.encode(capacity, &mut out);
                    assert_eq!(Prefix::decode(&mut &out[..], capacity, inserted), Ok(prefix));
                }
            }
        }
    }

    #[test]
    fn the_example_of_4_5_1_1_holds() {
        // A table of 100 bytes, ten insertions received, the coded count 4: nine are required.
        assert_eq!(required(4, 3, 10), Ok(9));
        assert_eq!(required(7, 3, 10), Err(Fault::RequiredInsertCount));
        assert_eq!(required(1, 0, 0), Err(Fault::RequiredInsertCount));
    }
}
