//! The lines that a client subject writes on standard output, one JSON object each. What a browser tells of a page is in
//! [`super::page`].

use super::page::PageLine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A line: one `ready`, one `fetch` for each fetch as it ends, `page` and `next` from a browser, one `done`. Or `unsupported`, with exit code 127.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "lowercase")]
#[schemars(title = "wirelap subject line")]
pub enum OutputLine {
    /// The work begins now.
    Ready(ReadyLine),
    /// A fetch has ended.
    Fetch(FetchLine),
    /// A browser has loaded the page.
    Page(PageLine),
    /// A browser has loaded it once more.
    Next(NextLine),
    /// All is done.
    Done(DoneLine),
    /// The subject cannot do this job.
    Unsupported(UnsupportedLine),
}

/// The work begins now. This is the zero of all times.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReadyLine {
    /// What the subject is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The runtime, if it has a version of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// Whether it writes TLS secrets to the job's `key_log`.
    pub key_log: bool,
    /// Whether it is an adapter that starts the client as another program right after this line. The time until this
    /// line then does not count as the client's. The client's start-up ends with the first `started_ms`.
    pub adapter: bool,
    /// Milliseconds that the warm-up took. They are not part of the start-up. Absent without a warm-up, or if not
    /// known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub warmup_ms: Option<f64>,
    /// Milliseconds that building the client object took, of the one that is measured: 0 of a program that has none. Absent
    /// if not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub client_ms: Option<f64>,
}

impl ReadyLine {
    /// Why the line is not valid; None for a valid one.
    pub(super) fn fault(&self) -> Option<String> {
        let times = [("warmup_ms", self.warmup_ms), ("client_ms", self.client_ms)];
        times.into_iter().find_map(|(name, ms)| {
            let ms = ms.filter(|ms| !(0.0..=LATEST_MS).contains(ms))?;
            Some(format!("`{name}` is {ms}, and a time is from 0 to a day"))
        })
    }
}

/// A fetch has ended. Times are milliseconds since `ready` was written. What the library does not report is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FetchLine {
    /// The fetch's number.
    pub id: u32,
    /// The final status; absent if there is an `error`, and for a message over a WebSocket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 100, max = 599))]
    pub status: Option<u16>,
    /// The error in words; absent if there is a `status`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The ALPN name of the protocol that carried it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// The subject's own number of the connection, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<u32>,
    /// The wish was known.
    #[schemars(range(min = 0.0))]
    pub started_ms: f64,
    /// TCP connected, if a connection was opened for this fetch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub connected_ms: Option<f64>,
    /// TLS handshake done, if a connection was opened for this fetch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub secured_ms: Option<f64>,
    /// The request was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub sent_ms: Option<f64>,
    /// The first byte of the answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub first_byte_ms: Option<f64>,
    /// The last byte of the body arrived (and was written), or the fetch failed.
    #[schemars(range(min = 0.0))]
    pub ended_ms: f64,
    /// Bytes of body received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The TLS version, `TLSv1.2` or `TLSv1.3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<String>,
    /// Whether the connection resumed an earlier TLS session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<bool>,
    /// Whether it is a message over a WebSocket, which has no status.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub message: bool,
    /// Whether a cache answered, without the server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
}

/// A browser has loaded the page once more, over what the first load found. Times are milliseconds since `ready`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NextLine {
    /// The document was asked for.
    #[schemars(range(min = 0.0))]
    pub started_ms: f64,
    /// The first byte of an answer came.
    #[schemars(range(min = 0.0))]
    pub first_byte_ms: f64,
    /// The last byte came.
    #[schemars(range(min = 0.0))]
    pub ended_ms: f64,
    /// The ALPN names of the protocols that carried it.
    pub protocols: Vec<String>,
}

impl NextLine {
    /// Why the line is not valid; None for a valid one.
    pub(super) fn fault(&self) -> Option<String> {
        let times = [0.0, self.started_ms, self.first_byte_ms, self.ended_ms, LATEST_MS];
        let is_ordered = times.windows(2).all(|pair| pair[0] <= pair[1]);
        (!is_ordered)
            .then(|| format!("the times of `next` are not in order, from 0 to a day: {times:?}"))
    }
}

/// All is done.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DoneLine {
    /// Connections that it opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    /// Milliseconds of processor time that an adapter itself used, without its client.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub adapter_cpu_ms: Option<f64>,
    /// Milliseconds from one reading of the clock that timed the fetches to the next, at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub clock_resolution_ms: Option<f64>,
    /// Garbage collections since `ready`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gc_count: Option<u64>,
    /// Milliseconds spent on them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub gc_ms: Option<f64>,
    /// The greatest size of the managed heap, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heap_peak_bytes: Option<u64>,
}

/// Why a subject cannot do its job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnsupportedLine {
    /// What is missing.
    pub reason: String,
    /// What would mend it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl FetchLine {
    /// Why the line is not valid; None for a valid one.
    pub(super) fn fault(&self) -> Option<String> {
        let times = [
            ("started_ms", Some(self.started_ms)),
            ("connected_ms", self.connected_ms),
            ("secured_ms", self.secured_ms),
            ("sent_ms", self.sent_ms),
            ("first_byte_ms", self.first_byte_ms),
            ("ended_ms", Some(self.ended_ms)),
        ];
        let possible = 0.0..=LATEST_MS;
        let given = times.iter().filter_map(|(name, time)| Some((name, (*time)?)));
        if let Some((name, time)) = given.clone().find(|(_, time)| !possible.contains(time)) {
            return Some(format!("`{name}` is {time}, and a time is from 0 to a day"));
        }
        if let Some((name, _)) = given.clone().find(|(_, time)| *time > self.ended_ms) {
            return Some(format!("`{name}` is after `ended_ms`"));
        }
        if let Some((name, _)) = given.clone().find(|(_, time)| *time < self.started_ms) {
            return Some(format!("`{name}` is before `started_ms`"));
        }
        match (&self.status, &self.error) {
            (Some(status), None) if !(100..=599).contains(status) => {
                Some(format!("{status} is no status"))
            }
            (None, None) if !self.message => {
                Some("a fetch ends with `status` or with `error`".to_owned())
            }
            (Some(_), Some(_)) => Some("a fetch ends with one of `status` and `error`".to_owned()),
            _ => None,
        }
    }
}

/// No trial takes longer than a day.
pub(super) const LATEST_MS: f64 = 86_400_000.0;

impl FetchLine {
    /// A line with only a number and times, to be filled in.
    pub fn at(id: u32, started_ms: f64, ended_ms: f64) -> Self {
        Self {
            id,
            status: None,
            error: None,
            protocol: None,
            connection: None,
            started_ms,
            connected_ms: None,
            secured_ms: None,
            sent_ms: None,
            first_byte_ms: None,
            ended_ms,
            bytes: None,
            tls: None,
            resumed: None,
            message: false,
            cached: false,
        }
    }
}
