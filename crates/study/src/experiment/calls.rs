//! The workload `calls`: N calls of an API in a pattern. Server times are drawn by the call's number from the
//! block's seed, so that every contender of a block meets the same ones. Requests of the user's own are drawn likewise.

use super::quantity::{exact, size, span};
use crate::requests::Request;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use unit::{ByteSize, Seed, parse_duration};

/// Calls of an API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallsWorkload {
    /// When each is made.
    #[serde(flatten)]
    pub pattern: Pattern,
    /// How many.
    pub count: u32,
    /// Bytes of one answer; where requests are the user's own, of those that wirelap's origin and file servers give.
    #[serde(with = "size")]
    #[schemars(with = "u64")]
    pub bytes: ByteSize,
    /// How long the server thinks about each.
    #[schemars(with = "String")]
    pub server_time: ServerTime,
    /// What is asked, where that is the user's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<OwnRequests>,
}

/// Requests of the user's own; `count` of them are drawn by weight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnRequests {
    /// What they are called in tables.
    pub name: String,
    /// What they are.
    pub from: RequestSource,
}

/// Where requests stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestSource {
    /// A file in the format of `load --requests-from`, as it was named. A run's experiment has its requests instead.
    File(String),
    /// These. Files of bodies are named as in the run's folder.
    List(Vec<Request>),
}

impl OwnRequests {
    /// The name without what keys and file names have other uses for.
    fn key(&self) -> String {
        let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
        let parts = self.name.split(|c: char| !is_plain(c)).filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("-")
    }

    /// The requests; none while they stand in a file that is not read.
    pub fn list(&self) -> &[Request] {
        match &self.from {
            RequestSource::File(_) => &[],
            RequestSource::List(requests) => requests,
        }
    }
}

/// When calls are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "pattern", rename_all = "snake_case")]
pub enum Pattern {
    /// The next when the last has been answered.
    Serial,
    /// All at once.
    Parallel,
    /// One every so often, whatever has come back: an open loop. A call's time counts from when it was to be
    /// made, so that a contender which cannot keep up does not hide it.
    Staggered {
        /// The time between two calls.
        #[serde(with = "span")]
        #[schemars(with = "String")]
        every: Duration,
    },
    /// A user's tabs beside calls in the background, dealt out in turn: one call every so often, and in each tab the next
    /// when its last has been answered.
    Mixed {
        /// The time between two calls in the background.
        #[serde(with = "span")]
        #[schemars(with = "String")]
        every: Duration,
        /// How many tabs.
        tabs: u32,
    },
}

/// How long a server thinks, in whole milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerTime {
    /// Always as long.
    Fixed(Duration),
    /// Anything between the two, each as likely as another.
    Uniform {
        /// The least.
        from: Duration,
        /// The most.
        to: Duration,
    },
}

impl CallsWorkload {
    /// What the calls are named by in tables and keys.
    pub(super) fn name(&self) -> String {
        let mut name = match self.pattern {
            Pattern::Serial => "serial".to_owned(),
            Pattern::Parallel => "parallel".to_owned(),
            Pattern::Staggered { every } => format!("staggered-{}", exact(every)),
            Pattern::Mixed { every, tabs } => format!("mixed-{}-{tabs}tabs", exact(every)),
        };
        match &self.requests {
            Some(requests) => name.push_str(&format!("-{}x{}", self.count, requests.key())),
            None => name.push_str(&format!("-{}x{}", self.count, self.bytes).replace(' ', "")),
        }
        if self.server_time != ServerTime::Fixed(Duration::ZERO) {
            name.push_str(&format!("+{}", self.server_time).replace(' ', "-"));
        }
        name
    }
}

impl fmt::Display for CallsWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.requests {
            Some(requests) => write!(f, "{} requests of {} ", self.count, requests.name)?,
            None => write!(f, "{} calls ", self.count)?,
        }
        match self.pattern {
            Pattern::Serial => f.write_str("one after another")?,
            Pattern::Parallel => f.write_str("all at once")?,
            Pattern::Staggered { every } => write!(f, "one every {}", exact(every))?,
            Pattern::Mixed { every, tabs } => write!(
                f,
                "dealt out to the background, one every {}, and to {tabs} tabs, one after another in each",
                exact(every)
            )?,
        }
        if self.requests.is_none() {
            write!(f, ", answers of {}", self.bytes)?;
        }
        match self.server_time {
            ServerTime::Fixed(Duration::ZERO) => Ok(()),
            time => write!(f, ", server time {time}"),
        }
    }
}

impl ServerTime {
    /// The server time of the `nth` call of a block.
    pub fn of(self, seed: Seed, nth: u64) -> Duration {
        match self {
            Self::Fixed(span) => span,
            Self::Uniform { from, to } => {
                let millis = (to - from).as_millis() as u64 + 1;
                let drawn = (seed.child("server time").fraction(nth) * millis as f64) as u64;
                from + Duration::from_millis(drawn)
            }
        }
    }
}

/// A text that is no server time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a server time such as \"300ms\" or \"uniform 300ms..500ms\", in whole milliseconds"
)]
pub struct BadServerTime(String);

impl FromStr for ServerTime {
    type Err = BadServerTime;

    fn from_str(text: &str) -> Result<Self, BadServerTime> {
        let bad = || BadServerTime(text.to_owned());
        let millis = |part: &str| {
            let span = parse_duration(part.trim()).ok()?;
            span.as_nanos().is_multiple_of(1_000_000).then_some(span)
        };
        let Some(range) = text.strip_prefix("uniform ") else {
            return millis(text).map(Self::Fixed).ok_or_else(bad);
        };
        let (from, to) = range.split_once("..").ok_or_else(bad)?;
        match (millis(from), millis(to)) {
            (Some(from), Some(to)) if from <= to => Ok(Self::Uniform { from, to }),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for ServerTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(span) => f.write_str(&exact(*span)),
            Self::Uniform { from, to } => write!(f, "uniform {}..{}", exact(*from), exact(*to)),
        }
    }
}

impl Serialize for ServerTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ServerTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_time_reads_back_as_it_was_written() {
        for text in ["0s", "300ms", "uniform 300ms..500ms", "uniform 1s..2500ms"] {
            assert_eq!(text.parse::<ServerTime>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_server_time_is_refused() {
        for text in
            ["", "300", "1us", "uniform", "uniform 5ms", "uniform 5ms..4ms", "normal 1ms..2ms"]
        {
            assert!(text.parse::<ServerTime>().is_err(), "{text}");
        }
    }

    #[test]
    fn draws_span_the_whole_range_and_depend_on_seed_and_number_alone() {
        let time: ServerTime = "uniform 10ms..12ms".parse().unwrap();
        let draws: Vec<_> = (0..100).map(|n| time.of(Seed(1), n).as_millis()).collect();
        assert_eq!(draws, (0..100).map(|n| time.of(Seed(1), n).as_millis()).collect::<Vec<_>>());
        assert!([10, 11, 12].iter().all(|value| draws.contains(value)), "{draws:?}");
        assert!(draws.iter().all(|value| (10..=12).contains(value)));
        assert_ne!(draws, (0..100).map(|n| time.of(Seed(2), n).as_millis()).collect::<Vec<_>>());
    }
}
