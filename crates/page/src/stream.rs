//! Streams made to measure: so many tokens of so many bytes, each due at its time, from a seed.
//!
//! `stream=0&count=300&bytes=200&every_ms=20&seed=1` names one. A token is a text that both ends can make:
//! `STREAM NUMBER DUE FILLING`, where DUE is the time at which the server had it, in nanoseconds on the server's clock. In
//! a trial both ends read one clock (CLOCK_MONOTONIC of one machine), so DUE and the time of arrival can be compared.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use thiserror::Error;
use unit::{Instant, Seed};

/// Most tokens of one stream.
const MOST_TOKENS: u64 = 100_000;
/// Fewest bytes of a token: what the longest numbers take.
pub const LEAST_TOKEN: u64 = 48;
/// Most bytes of a token.
pub const LARGEST_TOKEN: u64 = 64 * 1024;
/// The longest time between two tokens, and before the first.
const LONGEST_MS: u64 = 600_000;
/// Parameters of a stream, and those that its path reads besides.
const KNOWN: &str = "stream, count, bytes, every_ms, delay_ms, seed, format, after, since";

/// A stream of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyntheticStream {
    /// What tells it from others on the same connection.
    pub name: u32,
    /// How many tokens it has.
    pub count: u32,
    /// Bytes of each token.
    pub bytes: u32,
    /// The time between two tokens, in ms: anything from the first to the second value, each as likely as another.
    pub every_ms: (u64, u64),
    /// The time before the first token, in ms.
    pub delay_ms: u64,
    /// Where the times between tokens are drawn from.
    pub seed: u64,
}

/// Why a query names no stream.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StreamError {
    /// A parameter that does not exist.
    #[error("unknown parameter `{0}`; known are {KNOWN}")]
    Unknown(String),
    /// A value that is no number, or out of range.
    #[error("{name}: a whole number from {least} to {most} is expected")]
    Value {
        /// The parameter.
        name: &'static str,
        /// Its least value.
        least: u64,
        /// Its greatest value.
        most: u64,
    },
}

impl SyntheticStream {
    /// The time between the token before the `number`th and the `number`th one.
    pub fn gap(&self, number: u32) -> Duration {
        let (from, to) = self.every_ms;
        let share = Seed(self.seed).child("gaps").fraction(u64::from(number));
        let drawn = (share * (to - from) as f64 * 1e6) as u64;
        Duration::from_millis(from) + Duration::from_nanos(drawn)
    }

    /// When each token is due, where the first is at `first`.
    pub fn dues(self, first: Instant) -> impl Iterator<Item = Instant> {
        (0..self.count).scan(first, move |due, number| {
            if number > 0 {
                *due += self.gap(number);
            }
            Some(*due)
        })
    }
}

impl FromStr for SyntheticStream {
    type Err = StreamError;

    fn from_str(query: &str) -> Result<Self, StreamError> {
        let mut stream =
            Self { name: 0, count: 1, bytes: 48, every_ms: (0, 0), delay_ms: 0, seed: 1 };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match name {
                "stream" => stream.name = number("stream", value, 0, 9_999)? as u32,
                "count" => stream.count = number("count", value, 1, MOST_TOKENS)? as u32,
                "bytes" => {
                    stream.bytes = number("bytes", value, LEAST_TOKEN, LARGEST_TOKEN)? as u32;
                }
                "every_ms" => stream.every_ms = range(value)?,
                "delay_ms" => stream.delay_ms = number("delay_ms", value, 0, LONGEST_MS)?,
                "seed" => stream.seed = number("seed", value, 0, u64::MAX)?,
                "format" | "after" | "since" => {}
                _ => return Err(StreamError::Unknown(name.to_owned())),
            }
        }
        Ok(stream)
    }
}

impl fmt::Display for SyntheticStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, count, bytes, every_ms: (from, to), delay_ms, seed } = self;
        write!(f, "stream={name}&count={count}&bytes={bytes}&every_ms={from}")?;
        if from != to {
            write!(f, "..{to}")?;
        }
        write!(f, "&delay_ms={delay_ms}&seed={seed}")
    }
}

/// A token of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// The name of its stream.
    pub stream: u32,
    /// Its number in the stream, from 0.
    pub number: u32,
    /// When the server had it.
    pub due: Instant,
}

impl Token {
    /// Its text of `bytes` bytes, one line of ASCII.
    pub fn text(&self, bytes: u32) -> String {
        let mut text = String::new();
        self.push_part(bytes, 0, usize::MAX, &mut text);
        text
    }

    /// Appends at most `limit` bytes of its text from `start`; gives the length of the whole text.
    pub fn push_part(&self, bytes: u32, start: usize, limit: usize, out: &mut String) -> usize {
        let head = format!("{} {} {} ", self.stream, self.number, self.due.nanos());
        let whole = (bytes as usize).max(head.len());
        let end = start.saturating_add(limit).min(whole);
        out.reserve(end.saturating_sub(start));
        let of_head = head.get(start..end.min(head.len())).unwrap_or_default();
        out.push_str(of_head);
        // The filling begins behind the head, at another character for each token, and goes round.
        let mut at = start + of_head.len();
        while at < end {
            let from = (self.number as usize % FILLING.len() + at - head.len()) % FILLING.len();
            let piece = &FILLING[from..];
            let piece = &piece[..piece.len().min(end - at)];
            out.push_str(piece);
            at += piece.len();
        }
        whole
    }

    /// The token that `text` begins with. Whether the rest of `text` is right, a comparison with [`text`](Self::text)
    /// tells.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, ' ');
        let mut next = || parts.next()?.parse::<u64>().ok();
        let (stream, number, due) = (next()?, next()?, next()?);
        let (stream, number) = (stream.try_into().ok()?, number.try_into().ok()?);
        Some(Self { stream, number, due: Instant::from_nanos(due) })
    }
}

fn number(name: &'static str, value: &str, least: u64, most: u64) -> Result<u64, StreamError> {
    let wrong = StreamError::Value { name, least, most };
    value.parse().ok().filter(|value| (least..=most).contains(value)).ok_or(wrong)
}

fn range(value: &str) -> Result<(u64, u64), StreamError> {
    let one = |value: &str| number("every_ms", value, 0, LONGEST_MS);
    match value.split_once("..") {
        None => one(value).map(|every| (every, every)),
        Some((from, to)) => {
            let from = one(from)?;
            Ok((from, number("every_ms", to, from, LONGEST_MS)?))
        }
    }
}

const FILLING: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_reads_back_and_its_rules_are_said() {
        let query = "stream=3&count=300&bytes=200&every_ms=10..30&delay_ms=5&seed=7";
        let stream: SyntheticStream = query.parse().unwrap();
        assert_eq!((stream.name, stream.count, stream.every_ms), (3, 300, (10, 30)));
        assert_eq!(stream.to_string(), query);
        let fault = |query: &str| query.parse::<SyntheticStream>().unwrap_err().to_string();
        assert!(fault("count=0").starts_with("count: a whole number from 1 to"));
        assert!(fault("every_ms=5..4").starts_with("every_ms: a whole number from 5 to"));
        assert!(fault("bytes=47").starts_with("bytes: a whole number from 48 to 65536"));
        assert!(fault("coutn=1").starts_with("unknown parameter `coutn`"));
    }

    #[test]
    fn times_between_tokens_lie_in_their_range_and_depend_on_the_seed_alone() {
        let stream: SyntheticStream = "count=100&every_ms=10..30&seed=7".parse().unwrap();
        let dues = |stream: SyntheticStream| stream.dues(Instant::ZERO).collect::<Vec<_>>();
        let gaps: Vec<_> = dues(stream).windows(2).map(|two| two[1].since(two[0])).collect();
        let (least, most) = (Duration::from_millis(10), Duration::from_millis(30));
        assert!(gaps.iter().all(|gap| (least..=most).contains(gap)));
        assert!(gaps.iter().any(|gap| *gap != gaps[0]));
        assert_eq!(dues(stream), dues(SyntheticStream { name: 4, ..stream }));
        assert_ne!(dues(stream), dues(SyntheticStream { seed: 8, ..stream }));
    }

    #[test]
    fn a_token_has_its_bytes_and_reads_back() {
        let token = Token { stream: 9_999, number: 99_999, due: Instant::from_nanos(u64::MAX) };
        for bytes in [LEAST_TOKEN as u32, 200] {
            let text = token.text(bytes);
            assert_eq!(text.len(), bytes as usize);
            assert_eq!(Token::parse(&text), Some(token));
        }
        assert_eq!(Token::parse("1 2"), None);
        assert_eq!(Token::parse("1 x 3 "), None);
    }
}
