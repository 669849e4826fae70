//! Quantities in a file: sizes are in bytes, durations in whole nanoseconds.

use serde::{Deserialize, Deserializer, Serializer};

pub(crate) mod bytes {
    use super::*;
    use unit::ByteSize;

    pub(crate) fn serialize<S: Serializer>(size: &ByteSize, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_u64(size.0)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<ByteSize, D::Error> {
        u64::deserialize(input).map(ByteSize)
    }
}

pub(crate) mod nanos {
    use super::*;
    use std::time::Duration;

    pub(crate) fn serialize<S: Serializer>(span: &Duration, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_u64(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Duration, D::Error> {
        u64::deserialize(input).map(Duration::from_nanos)
    }

    pub(crate) mod option {
        use super::*;

        pub(crate) fn serialize<S: Serializer>(
            span: &Option<Duration>,
            out: S,
        ) -> Result<S::Ok, S::Error> {
            match span {
                Some(span) => super::serialize(span, out),
                None => out.serialize_none(),
            }
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
            input: D,
        ) -> Result<Option<Duration>, D::Error> {
            Ok(Option::<u64>::deserialize(input)?.map(Duration::from_nanos))
        }
    }
}

pub(crate) mod base64 {
    use super::*;
    use ::base64::Engine as _;
    use ::base64::prelude::BASE64_STANDARD;
    use serde::de::Error as _;

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&BASE64_STANDARD.encode(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(input)?;
        BASE64_STANDARD.decode(text).map_err(D::Error::custom)
    }
}
