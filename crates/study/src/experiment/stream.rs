//! The workload `stream`: tokens or notifications that the server sends one by one, each when it is due. What carries them,
//! the contender says: its transport and its `delivery`.

use super::calls::ServerTime;
use super::quantity::size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;
use unit::ByteSize;

/// Streams that begin together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamWorkload {
    /// How many streams.
    pub streams: u32,
    /// Tokens of each.
    pub count: u32,
    /// Bytes of each token.
    #[serde(with = "size")]
    #[schemars(with = "u64")]
    pub bytes: ByteSize,
    /// The time between two tokens.
    #[schemars(with = "String")]
    pub every: ServerTime,
    /// The time before the first token.
    #[schemars(with = "String")]
    pub server_time: ServerTime,
}

/// How a contender gets a stream's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// Server-sent events: one response of type text/event-stream (WHATWG HTML).
    #[default]
    Sse,
    /// One response of plain lines; HTTP/1.1 sends it with the chunked coding.
    Chunked,
    /// A response for each token; the client asks again at once (RFC 6202 §2).
    LongPolling,
    /// Messages of a WebSocket: what the transport `ws` does.
    WebSocket,
}

impl Delivery {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sse => "sse",
            Self::Chunked => "chunked",
            Self::LongPolling => "long-polling",
            Self::WebSocket => "web-socket",
        }
    }

    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl StreamWorkload {
    /// What the streams are named by in tables and keys.
    pub(super) fn name(&self) -> String {
        let Self { streams, count, bytes, every, server_time } = self;
        let mut name =
            format!("stream-{count}x{bytes}-every-{}", every.to_string().replace(' ', "-"));
        if *streams > 1 {
            name.push_str(&format!("-x{streams}"));
        }
        if *server_time != ServerTime::Fixed(Duration::ZERO) {
            name.push_str(&format!("+{server_time}").replace(' ', "-"));
        }
        name.replace(' ', "")
    }

    /// The usual time from the request to the last token, as the server sends it.
    pub fn usual_time(&self) -> Duration {
        usual(self.server_time) + usual(self.every) * self.count.saturating_sub(1)
    }

    /// The longest that this can take.
    pub(super) fn longest_time(&self) -> Duration {
        longest(self.server_time) + longest(self.every) * self.count.saturating_sub(1)
    }
}

impl fmt::Display for StreamWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { streams, count, bytes, every, server_time } = self;
        if *streams > 1 {
            write!(f, "{streams} streams of ")?;
        }
        write!(f, "{count} tokens, {bytes} each, one every {every}")?;
        match server_time {
            ServerTime::Fixed(Duration::ZERO) => Ok(()),
            time => write!(f, ", the first after {time}"),
        }
    }
}

fn usual(time: ServerTime) -> Duration {
    match time {
        ServerTime::Fixed(time) => time,
        ServerTime::Uniform { from, to } => (from + to) / 2,
    }
}

fn longest(time: ServerTime) -> Duration {
    match time {
        ServerTime::Fixed(time) | ServerTime::Uniform { to: time, .. } => time,
    }
}
