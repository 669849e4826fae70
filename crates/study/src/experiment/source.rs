//! The published measurement that an experiment repeats.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A published measurement that an experiment runs again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// SPDY against HTTPS against HTTP for many images (nginx, 2012-2013).
    SpdyImages,
    /// An API client with and without SPDY (Twitter4J on Android, 2013-12).
    TwitterApi,
    /// The same client on a desktop, with its connection kept: the first call and those after it.
    TwitterDesktop,
    /// The same client where conditions are bad.
    TwitterConditions,
    /// WebSocket and HTTP for small messages (dart:io, 2015-12).
    WebsocketEcho,
    /// Seven HTTP clients, a process a download (Atlassian, 2013-07).
    JvmDownloads,
    /// The same clients, fifty files in one process.
    JvmMany,
    /// HTTP/3 and HTTP/2 over links that lose packets, with and without a proxy (2024-2025).
    #[serde(rename = "http3-loss")]
    Http3Loss,
    /// Server push and the server's own order of delivery (H2O, 2015-10).
    #[serde(rename = "h2-push")]
    H2Push,
    /// HTTP/2 against HTTP/1.1 and SPDY until the first paint (H2O, 2015-06).
    FirstPaint,
    /// QUIC and TCP where packets are lost or come out of order (2017, 2024): findings beside ours, not run again.
    Lossy,
    /// How a connection begins over QUIC and over TCP (2015, 2017, 2020): findings beside ours, not run again.
    FirstVisit,
}

impl Source {
    /// Whether the experiment repeats the published work. Else it is our own, and others' findings are set beside it.
    pub fn is_run_again(self) -> bool {
        !matches!(self, Self::Lossy | Self::FirstVisit)
    }
}
