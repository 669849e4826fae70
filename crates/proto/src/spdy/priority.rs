//! Priorities between SPDY's eight levels and the words of other protocols, so that one caller can
//! speak to all of them.

use crate::schedule::Priority;

/// The level that says the same: urgencies have the same eight steps (RFC 9218 §4.1), weights are cut
/// into eight (RFC 7540 §5.3.2; the tree itself cannot be said).
pub(super) fn to_level(priority: Priority, unset: u8) -> u8 {
    match priority {
        Priority::Unset => unset,
        Priority::Level(level) => level,
        Priority::Urgency { urgency, .. } => urgency,
        Priority::Dependency { weight, .. } => 7 - (weight.clamp(1, 256) - 1).div_euclid(32) as u8,
    }
    .min(7)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Exclusive, Incremental};
    use crate::stream_id::StreamId;

    #[test]
    fn every_word_has_a_level() {
        let weight = |weight| {
            let (parent, exclusive) = (StreamId(0), Exclusive::Shared);
            to_level(Priority::Dependency { parent, weight, exclusive }, 3)
        };
        assert_eq!((weight(256), weight(16), weight(1), weight(0)), (0, 7, 7, 7));
        assert_eq!(to_level(Priority::Unset, 3), 3);
        assert_eq!(to_level(Priority::Level(9), 3), 7);
        let urgency = Priority::Urgency { urgency: 1, incremental: Incremental::Whole };
        assert_eq!(to_level(urgency, 3), 1);
    }
}
