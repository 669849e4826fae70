//! Our WebSocket client under a hostile server: echoes, with and without compression.

use crate::driver::{self, Bound};
use crate::http_client::{config, url};
use bytes::Bytes;
use client::{EchoSocket, Message, Pattern, WebSocketClient, WebSocketConfig};
use proto::ws::{DeflateOffer, Settings, Writes};
use unit::Seed;

/// The first byte chooses the settings, the rest is a script.
pub(crate) fn run(input: &[u8]) {
    if let Some((&settings, script)) = input.split_first() {
        driver::run(|| echoes(settings), BOUND, script);
    }
}

/// A client that sends three messages and awaits their echoes.
pub fn echoes(settings: u8) -> WebSocketClient<EchoSocket> {
    let own = WebSocketConfig {
        url: url("http://a.test/ws/echo"),
        deflate: (settings & 1 != 0).then(DeflateOffer::default),
        writes: Writes::One,
        compression_level: Settings::default().compression_level,
        seed: Seed(1),
    };
    let messages = [1, 100, 1000].map(|length| {
        let text = Bytes::from(vec![b'x'; length]);
        Message { answer: text.clone(), text }
    });
    let pattern = if settings & 2 == 0 { Pattern::Serial } else { Pattern::Parallel };
    WebSocketClient::new(config(0), own, EchoSocket::new(messages, pattern))
}

/// A message may have 16 MiB (`proto::ws::Settings`), and a compressed one is that long from a thousandth of the bytes.
const BOUND: Bound = Bound { fixed: 36 * 1024 * 1024, connection: 512 * 1024, input: 64 };
