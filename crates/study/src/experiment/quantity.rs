//! How quantities are written in files. A size is a number of bytes, or a text such as "5kB"; it is written as a
//! number. A duration is always a text with its unit, "250ms". What is written reads back as the same value.

use serde::{Deserialize, Deserializer, Serializer, de};
use std::fmt;
use std::time::Duration;
use unit::{ByteSize, parse_duration};

/// A size, for `#[serde(with)]`.
pub(crate) mod size {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        size: &ByteSize,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(size.0)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<ByteSize, D::Error> {
        deserializer.deserialize_any(SizeText)
    }
}

/// A size that may be missing, for `#[serde(with)]`.
pub(crate) mod optional_size {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        size: &Option<ByteSize>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match size {
            Some(size) => serializer.serialize_some(&size.0),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<ByteSize>, D::Error> {
        Ok(Option::<SizeField>::deserialize(deserializer)?.map(|size| size.0))
    }
}

/// A span, for `#[serde(with)]`.
pub(crate) mod span {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        span: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&exact(*span))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_duration(&text).map_err(de::Error::custom)
    }
}

/// A span that may be missing, for `#[serde(with)]`.
pub(crate) mod optional_span {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        span: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match span {
            Some(span) => serializer.serialize_some(&exact(*span)),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<SpanField>::deserialize(deserializer)?.map(|span| span.0))
    }
}

/// A size as an experiment's file gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct SizeField(#[serde(with = "size")] pub(crate) ByteSize);

/// A span as an experiment's file gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct SpanField(#[serde(with = "span")] pub(crate) Duration);

/// The duration in the largest unit of which it is a whole number, so that nothing is lost.
pub(super) fn exact(span: Duration) -> String {
    let nanos = span.as_nanos();
    match nanos {
        n if n % 1_000_000_000 == 0 => format!("{}s", n / 1_000_000_000),
        n if n % 1_000_000 == 0 => format!("{}ms", n / 1_000_000),
        n if n % 1_000 == 0 => format!("{}us", n / 1_000),
        n => format!("{n}ns"),
    }
}

struct SizeText;

impl de::Visitor<'_> for SizeText {
    type Value = ByteSize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size such as 5000 or \"5kB\"")
    }

    fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<ByteSize, E> {
        Ok(ByteSize(bytes))
    }

    fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<ByteSize, E> {
        let refused = || E::invalid_value(de::Unexpected::Signed(bytes), &self);
        u64::try_from(bytes).map(ByteSize).map_err(|_| refused())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<ByteSize, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_written_without_loss() {
        for nanos in [0, 1, 1_500, 2_000_000, 1_500_000_000, 30_000_000_000] {
            let span = Duration::from_nanos(nanos);
            assert_eq!(parse_duration(&exact(span)), Ok(span));
        }
    }
}
