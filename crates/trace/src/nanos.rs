//! An `Instant` in a file is its whole nanoseconds.

use serde::{Deserialize, Deserializer, Serializer};
use unit::Instant;

/// Writes the nanoseconds.
pub fn serialize<S: Serializer>(at: &Instant, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(at.nanos())
}

/// Reads the nanoseconds.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Instant, D::Error> {
    u64::deserialize(deserializer).map(Instant::from_nanos)
}

/// An instant that may be missing.
pub mod option {
    use super::*;

    /// Writes the nanoseconds, or nothing.
    pub fn serialize<S: Serializer>(
        at: &Option<Instant>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match at {
            Some(at) => serializer.serialize_some(&at.nanos()),
            None => serializer.serialize_none(),
        }
    }

    /// Reads the nanoseconds, where there are any.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Instant>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Instant::from_nanos))
    }
}
