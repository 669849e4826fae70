//! Records a page by Chromium: every request of it with the response, its times, what asked for it, its body, and the
//! messages of its WebSockets. The page is asked for as any browser asks for it, and nothing else is.
//!
//! Times are nanoseconds of the wall clock since 1970. What the browser does not tell is None.

mod browse;
mod exchanges;
mod timing;

pub use timing::Timing;

use crate::tools::ToolError;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// What is to be recorded.
pub struct RecordSpec<'a> {
    /// The page.
    pub url: &'a str,
    /// The browser: a path, or the name of a program.
    pub program: &'a str,
    /// A new folder for its profile.
    pub profile: &'a Path,
    /// How long the page may take until it is quiet.
    pub timeout: Duration,
    /// Nothing under way for so long after the load: the page is quiet.
    pub quiet: Duration,
    /// Whether every certificate is believed.
    pub insecure: bool,
    /// Chromium's rules for host names (`MAP shop.test 127.0.0.1`), comma-separated; empty for none.
    pub resolver_rules: String,
    /// The time that the page sees, in milliseconds since 1970; random numbers come from one seed.
    pub epoch_ms: u64,
    /// Whether to stop at once.
    pub is_stopped: &'a dyn Fn() -> bool,
}

/// A page that was recorded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecordedPage {
    /// The browser's name and version.
    pub browser: String,
    /// The page's title.
    pub title: String,
    /// When it was asked for.
    pub started: i64,
    /// When its document was parsed.
    pub dom_content_loaded: Option<i64>,
    /// When its `load` event came.
    pub loaded: Option<i64>,
    /// Whether the time was over before the page was quiet.
    pub was_cut: bool,
    /// Its requests, in their order. A redirect is one of its own.
    pub exchanges: Vec<RecordedExchange>,
    /// Bytes of style sheets and scripts that the page used, by URL, of those that it brought.
    pub coverage: Vec<Coverage>,
}

/// How much of a style sheet or a script a page used until it was quiet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coverage {
    /// The file.
    pub url: String,
    /// Characters of it.
    pub total: u64,
    /// Those of functions that ran, or of rules that matched.
    pub used: u64,
}

/// A request and its response.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecordedExchange {
    /// What was asked for; `ws:` and `wss:` for a WebSocket.
    pub url: String,
    /// The method.
    pub method: String,
    /// When.
    pub started: i64,
    /// When the last byte came, or when it failed; None where it went on when the recording ended.
    pub ended: Option<i64>,
    /// When bytes of the body last came.
    pub came_until: Option<i64>,
    /// The browser's word for what it was for: `Document`, `Stylesheet`, `Fetch` …
    pub kind: String,
    /// The browser's priority: `VeryHigh` to `VeryLow`.
    pub priority: Option<String>,
    /// What asked for it, as the DevTools protocol tells it (`Network.Initiator`).
    pub initiator: Value,
    /// Fields of the request, in their order.
    pub request_fields: Vec<(String, String)>,
    /// Bytes of the request's body.
    pub upload: u64,
    /// The response; None where none came.
    pub response: Option<RecordedResponse>,
    /// Why it failed, where it did.
    pub error: Option<String>,
    /// What of the page waits for it: `blocking`, `non-blocking`, where the page says so.
    pub render_blocking: Option<String>,
    /// The messages of a WebSocket.
    pub messages: Vec<RecordedMessage>,
}

impl RecordedExchange {
    /// Whether the response began and was not read to its end: it failed, or went on when the recording ended. Streams of
    /// events and WebSockets have no end that could be missed, and the answer to HEAD has no body: Chromium ends it by
    /// net::ERR_ABORTED.
    pub fn is_cut(&self) -> bool {
        let ends =
            self.url.starts_with("http") && self.kind != "EventSource" && self.method != "HEAD";
        ends && self.response.is_some() && (self.error.is_some() || self.ended.is_none())
    }
}

/// A response.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecordedResponse {
    /// Its status.
    pub status: u16,
    /// The words beside it.
    pub status_text: String,
    /// What was spoken: `http/1.1`, `h2`, `h3`.
    pub protocol: String,
    /// Fields, in their order.
    pub fields: Vec<(String, String)>,
    /// The media type.
    pub media_type: String,
    /// When its steps were.
    pub timing: Timing,
    /// The browser's number of the connection.
    pub connection: Option<u64>,
    /// The server's address.
    pub address: Option<String>,
    /// Whether the browser's cache answered.
    pub from_cache: bool,
    /// Bytes of the body on the wire, as its content coding left them.
    pub body_bytes: u64,
    /// Bytes of the head on the wire.
    pub head_bytes: u64,
    /// The body without its content coding; None where the browser keeps none.
    pub body: Option<Vec<u8>>,
}

/// A message of a WebSocket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedMessage {
    /// When.
    pub at: i64,
    /// Whether the page sent it.
    pub is_sent: bool,
    /// Its opcode (RFC 6455 §11.8): 1 text, 2 binary.
    pub opcode: u8,
    /// Its payload: the text, or Base64 of the bytes.
    pub data: String,
}

/// Records the page. The browser is gone afterwards, whatever happened.
pub fn record(spec: &RecordSpec<'_>) -> Result<RecordedPage, ToolError> {
    browse::run(spec)
}
