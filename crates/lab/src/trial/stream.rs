//! The workload `stream` made concrete: the streams that are asked for, and where.

use super::echo::{COMPRESSION_LEVEL, deflate, writes};
use client::WebSocketConfig;
use page::{SyntheticStream, Url, UrlError};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use study::experiment::{Delivery, ServerTime, Side, StreamWorkload};
use study::plan::WorkFacts;
use unit::{ByteSize, Seed};

/// Streams to receive.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StreamTask {
    /// The server.
    pub(crate) root: Url,
    /// Where masks and nonce come from.
    pub(crate) seed: u64,
    streams: Vec<SyntheticStream>,
}

impl StreamTask {
    /// The streams of `workload` from `host`; what is drawn is `seed`'s.
    pub(crate) fn of(workload: &StreamWorkload, host: &str, seed: Seed) -> Result<Self, UrlError> {
        let stream = |name: u32| SyntheticStream {
            name,
            count: workload.count,
            bytes: workload.bytes.0 as u32,
            every_ms: match workload.every {
                ServerTime::Fixed(every) => (millis(every), millis(every)),
                ServerTime::Uniform { from, to } => (millis(from), millis(to)),
            },
            delay_ms: millis(workload.server_time.of(seed, u64::from(name))),
            seed: seed.child("stream").nth(u64::from(name)).0,
        };
        Ok(Self {
            root: format!("http://{host}/").parse()?,
            seed: seed.child("web socket").0,
            streams: (0..workload.streams).map(stream).collect(),
        })
    }

    pub(crate) fn streams(&self) -> impl Iterator<Item = SyntheticStream> {
        self.streams.iter().copied()
    }

    /// How HTTP delivers them; None: a WebSocket does.
    pub(crate) fn delivery(&self, asked: Delivery) -> Option<client::Delivery> {
        match asked {
            Delivery::Sse => Some(client::Delivery::EventStream),
            Delivery::Chunked => Some(client::Delivery::Lines),
            Delivery::LongPolling => Some(client::Delivery::LongPolling),
            Delivery::WebSocket => None,
        }
    }

    /// How `side`'s WebSocket is opened.
    pub(crate) fn web_socket(&self, side: Side) -> WebSocketConfig {
        WebSocketConfig {
            url: Url { path: "/ws/stream".to_owned(), ..self.root.clone() },
            deflate: deflate(side),
            writes: writes(side),
            compression_level: COMPRESSION_LEVEL,
            seed: Seed(self.seed),
        }
    }
}

/// What the plan may know of streams beforehand: the server's pace leaves a link of `rtt` idle most of the time.
pub(crate) fn stream_facts(stream: &StreamWorkload, rtt: Duration) -> WorkFacts {
    // An event's fields, a chunk's or a frame's header, and TLS.
    const FRAMING: u64 = 60;
    let tokens = u64::from(stream.count) * u64::from(stream.streams);
    let bytes = ByteSize((stream.bytes.0 + FRAMING) * tokens);
    WorkFacts { bytes, waiting: rtt * 2 + stream.usual_time() }
}

fn millis(span: Duration) -> u64 {
    span.as_millis() as u64
}
