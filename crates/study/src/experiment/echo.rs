//! The workload `echo`: N small messages, each of which has to come back. What carries them, the contender's transport
//! says: a WebSocket, or a request each.

use super::quantity::optional_size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use unit::{ByteSize, Seed};

/// Small messages and their echoes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EchoWorkload {
    /// When each is sent.
    pub pattern: EchoPattern,
    /// How many.
    pub count: u32,
    /// Bytes of one message, which comes back as it was; None for the numbers from 1 on, each of which comes back
    /// doubled.
    #[serde(default, with = "optional_size", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u64>")]
    pub bytes: Option<ByteSize>,
    /// Page views that the messages are dealt out to, one after another: each view opens its WebSocket anew, and requests go
    /// on over the connections that are there, as in a browser. None: all belong to one page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub views: Option<u32>,
}

/// When messages are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EchoPattern {
    /// The next when the last has come back.
    Serial,
    /// All at once.
    Parallel,
}

impl EchoWorkload {
    /// What the messages are named by in tables and keys.
    pub(super) fn name(&self) -> String {
        let what = self.bytes.map_or_else(|| "numbers".to_owned(), |bytes| bytes.to_string());
        let views = self.views.map_or_else(String::new, |views| format!("-{views}views"));
        format!("echo-{}-{}x{what}{views}", self.word(), self.count).replace(' ', "")
    }

    /// The same with so many messages; each view keeps one at least.
    pub(super) fn with_count(self, count: u32) -> Self {
        Self { count, views: self.views.map(|views| views.min(count)), ..self }
    }

    /// The `nth` message, from 0, and its echo.
    pub fn message(&self, seed: Seed, nth: u32) -> (String, String) {
        let Some(bytes) = self.bytes else {
            let number = u64::from(nth) + 1;
            return (number.to_string(), (2 * number).to_string());
        };
        let mut random = seed.child("messages").nth(u64::from(nth)).random();
        let letter = |draw: u64| char::from(ALPHABET[(draw % ALPHABET.len() as u64) as usize]);
        let text: String = (0..bytes.0).map(|_| letter(random.next_u64())).collect();
        (text.clone(), text)
    }

    fn word(&self) -> &'static str {
        match self.pattern {
            EchoPattern::Serial => "serial",
            EchoPattern::Parallel => "parallel",
        }
    }
}

impl fmt::Display for EchoWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} messages ", self.count)?;
        f.write_str(match self.pattern {
            EchoPattern::Serial => "one after another",
            EchoPattern::Parallel => "all at once",
        })?;
        match self.bytes {
            None => f.write_str(", numbers to be doubled")?,
            Some(bytes) => write!(f, ", {bytes} each")?,
        }
        match self.views {
            None => Ok(()),
            Some(views) => write!(f, ", in {views} page views"),
        }
    }
}

/// Six bits a letter: as little to compress as text can have.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_from_one_and_come_back_doubled() {
        let echo =
            EchoWorkload { pattern: EchoPattern::Serial, count: 3, bytes: None, views: None };
        let messages: Vec<_> = (0..3).map(|nth| echo.message(Seed(1), nth)).collect();
        let pair = |text: &str, answer: &str| (text.to_owned(), answer.to_owned());
        assert_eq!(messages, [pair("1", "2"), pair("2", "4"), pair("3", "6")]);
    }

    #[test]
    fn a_message_of_a_size_has_it_and_depends_on_seed_and_number_alone() {
        let bytes = Some(ByteSize(100));
        let echo = EchoWorkload { pattern: EchoPattern::Parallel, count: 3, bytes, views: None };
        let (text, answer) = echo.message(Seed(1), 0);
        assert_eq!((text.len(), &text), (100, &answer));
        assert_eq!(echo.message(Seed(1), 0).0, text);
        assert_ne!(echo.message(Seed(1), 1).0, text);
        assert_ne!(echo.message(Seed(2), 0).0, text);
    }
}
