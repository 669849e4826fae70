//! The job: what a client subject reads on standard input.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
pub use study::experiment::{Negotiation, Tls};
use trace::Protocol;

/// The work of a client subject: one JSON object, then the end of standard input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "wirelap subject job")]
pub struct Job {
    /// The version of the contract: 3 if the job has receive windows, 2 if a fetch is more than a plain GET, otherwise 1. A job may
    /// have more fields than these; a subject ignores fields that it does not know.
    pub contract: u32,
    /// What the fetches are for.
    pub workload: Workload,
    /// The protocol asked for.
    pub transport: Transport,
    /// The TLS version asked for, exactly this one.
    pub tls: Tls,
    /// Whether the server's protocol is known beforehand.
    pub negotiation: Negotiation,
    /// When each fetch is to begin.
    pub pattern: Pattern,
    /// Connections to one origin at most.
    pub connections: u32,
    /// Whether a connection may serve more than one request.
    pub keep_alive: bool,
    /// Whether TLS sessions may be resumed.
    pub resumption: bool,
    /// Contract 3: the receive windows of HTTP/2, HTTP/3 and SPDY; absent: the subject's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_windows: Option<ReceiveWindows>,
    /// What is to be fetched, in this order.
    pub fetches: Vec<Fetch>,
    /// A PEM file with the root certificate to trust; null without TLS.
    pub trust: Option<PathBuf>,
    /// For browsers: SHA-256 of a public key in the server's certificate chain, as a SubjectPublicKeyInfo (RFC 7469 §2.4), in
    /// Base64. A certificate whose chain has it is to be trusted. Empty without TLS.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub public_keys: Vec<String>,
    /// For browsers: an existing folder for a film of the page, one JPEG a frame, called `MS.jpg` by its time in
    /// milliseconds since `ready`; absent: no film.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub film: Option<PathBuf>,
    /// For browsers: the visit that comes before `ready`; absent: a new browser.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<EarlierVisit>,
    /// For browsers: HTTP/3 is found by the field Alt-Svc of an answer over HTTP/2 (RFC 7838). The page is loaded over HTTP/2. Then
    /// this URL is asked for, at which the server closes all connections. Then the page is loaded once more over HTTP/3, of which a
    /// line `next` tells. Absent: the browser knows that the server speaks HTTP/3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alt_svc: Option<String>,
    /// For browsers: the page is a recorded one, and sees the time and the random numbers of the recording; absent: it is
    /// not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
    /// An existing folder for files, used by this trial only; null where nothing is to be written.
    pub output: Option<PathBuf>,
    /// A file to append TLS secrets to, in NSS key log format, if the subject can; null where none are wanted.
    pub key_log: Option<PathBuf>,
    /// How many times the whole work is done as a warm-up, before `ready` is written and the work is measured.
    pub warmup: u32,
    /// Milliseconds after which a fetch has failed.
    pub timeout_ms: u64,
}

/// How many bytes the server may send before the client allows more (flow control).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReceiveWindows {
    /// On each stream.
    pub stream: u32,
    /// On all streams of a connection together.
    pub connection: u32,
}

/// What a browser does before its work, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EarlierVisit {
    /// Whether it loads the page of the job, which leaves its files in the cache.
    pub page: bool,
    /// What it then asks for, all at once.
    pub asks: Vec<String>,
    /// Whether what is asked for after it may go within the handshake (0-RTT).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub early_data: bool,
    /// What is left of it.
    pub leaves: Leaves,
}

/// What is left of a browser's earlier visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Leaves {
    /// The browser with all that it has, its connections among it.
    Connections,
    /// The same, but for connections: the server has closed them.
    Sessions,
    /// Its files alone: the browser is ended, and starts anew with the same profile.
    Files,
}

/// How a recorded page is replayed. Its fetches are those of the recording; the page may ask for others, which are counted
/// where they are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    /// The time that the page sees at first, in milliseconds since 1970.
    pub epoch_ms: u64,
}

/// What the fetches are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Workload {
    /// Files that go to disk.
    Download,
    /// Calls of an API.
    Calls,
    /// A page: the first fetch is its document. The others begin when that has ended.
    Page,
    /// Messages that have to come back, as requests or over one WebSocket.
    Echo,
}

/// A protocol, by its ALPN name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Transport {
    /// HTTP/1.1.
    #[serde(rename = "http/1.1")]
    Http1,
    /// HTTP/2, by prior knowledge where there is no TLS.
    #[serde(rename = "h2")]
    H2,
    /// HTTP/3.
    #[serde(rename = "h3")]
    H3,
    /// SPDY/3.1.
    #[serde(rename = "spdy/3.1")]
    Spdy31,
    /// SPDY/3.
    #[serde(rename = "spdy/3")]
    Spdy3,
    /// WebSocket, opened by HTTP/1.1. The first fetch is its opening.
    #[serde(rename = "ws")]
    WebSocket,
}

impl Transport {
    /// Every protocol of the contract.
    const ALL: [Self; 6] =
        [Self::Http1, Self::H2, Self::H3, Self::Spdy31, Self::Spdy3, Self::WebSocket];

    /// The contract's word for a protocol; None where it has none.
    pub fn of(protocol: Protocol) -> Option<Self> {
        Self::ALL.into_iter().find(|own| own.protocol() == protocol)
    }

    fn protocol(self) -> Protocol {
        match self {
            Self::Http1 => Protocol::Http1,
            Self::H2 => Protocol::Http2,
            Self::H3 => Protocol::Http3,
            Self::Spdy31 => Protocol::Spdy31,
            Self::Spdy3 => Protocol::Spdy3,
            Self::WebSocket => Protocol::WebSocket,
        }
    }

    /// Its ALPN name; WebSocket has none and is called `ws`.
    pub fn name(self) -> &'static str {
        self.protocol().name()
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// When fetches begin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Pattern {
    /// The next when the last has ended.
    Serial,
    /// All as soon as they can.
    Parallel,
    /// One request in each interval, whether or not earlier answers have arrived.
    Staggered {
        /// Milliseconds between two.
        every_ms: f64,
    },
}

/// One fetch: a GET, unless it says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fetch {
    /// Its number, by which the lines name it.
    pub id: u32,
    /// What is asked for.
    pub url: String,
    /// The name of the file within `output` for the body; null: the body is read and dropped.
    pub file: Option<String>,
    /// Contract 2: the method; absent: GET.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Contract 2: header fields of its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Contract 2: the file that holds the request's body; absent: it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_file: Option<PathBuf>,
    /// Of an echo: the message that goes to `url`. Over HTTP it is the body of a POST, unless the URL has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
}

/// A message that has to come back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// What is sent; None over HTTP where the URL says it.
    pub text: Option<String>,
    /// What has to come back.
    pub answer: String,
}

impl Fetch {
    /// A GET of `url`, whose body goes to `file`.
    pub fn get(id: u32, url: String, file: Option<String>) -> Self {
        let headers = BTreeMap::new();
        Self { id, url, file, method: None, headers, body_file: None, message: None }
    }

    /// Scheme and authority of its URL, such as `https://origin.test`.
    pub fn origin(&self) -> &str {
        &self.url[..self.path_starts()]
    }

    /// Path and query of its URL, as a server's log has them.
    pub fn path(&self) -> &str {
        &self.url[self.path_starts()..]
    }

    fn path_starts(&self) -> usize {
        let authority = self.url.find("://").map_or(0, |at| at + "://".len());
        self.url[authority..].find(['/', '?']).map_or(self.url.len(), |at| authority + at)
    }

    /// Whether it says no more than a GET does.
    pub fn is_plain_get(&self) -> bool {
        self.method.is_none() && self.headers.is_empty() && self.body_file.is_none()
    }
}

impl Job {
    /// When a fetch has failed.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }
}
