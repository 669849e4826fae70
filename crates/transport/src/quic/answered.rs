//! Allows a client new requests as soon as answers are sent. quinn-proto counts a stream as open until the client has
//! acknowledged all of the answer. With its rule alone, each turn of streams takes one more round trip than over HTTP/2,
//! whose client knows by itself that a stream has ended. The one rule: of requests without an answer there are never more
//! than the server allows.

use quinn_proto::{Connection, Dir, VarInt};

/// A server's answers that are sent but not acknowledged.
#[derive(Debug)]
pub(super) struct Answered {
    /// Requests that the server allows at a time.
    limit: u64,
    /// At most [`limit`](Self::limit) of them: a client that acknowledges nothing holds twice as many streams at most.
    streams: Vec<u64>,
    /// Streams that quinn-proto was told to allow beyond the limit.
    extra: u64,
}

impl Answered {
    /// None for a client: servers open no bidirectional streams (RFC 9114 §6.1).
    pub(super) fn new(quic: &Connection) -> Option<Self> {
        let limit = quic.max_concurrent_streams(Dir::Bi);
        quic.side().is_server().then(|| Self { limit, streams: Vec::new(), extra: 0 })
    }

    /// The end of a stream was handed over.
    pub(super) fn handle_sent(&mut self, stream: u64) {
        // Streams of requests are the client's and bidirectional (RFC 9000 §2.1).
        let is_answer = stream & 0b11 == 0;
        if is_answer && (self.streams.len() as u64) < self.limit {
            self.streams.push(stream);
        }
    }

    /// All of a stream was acknowledged, or it was given up.
    pub(super) fn handle_gone(&mut self, stream: u64) {
        if let Some(index) = self.streams.iter().position(|answered| *answered == stream) {
            self.streams.swap_remove(index);
        }
    }

    /// Call it before an input. quinn-proto itself replaces streams whose answers are acknowledged, and is not to replace
    /// those twice.
    pub(super) fn handle_input(&mut self, quic: &mut Connection) {
        self.allow(0, quic);
    }

    /// Call it before datagrams are made. quinn-proto announces a new limit (MAX_STREAMS) if it is an eighth higher;
    /// fewer answers change nothing.
    pub(super) fn handle_transmit(&mut self, quic: &mut Connection) {
        let answered = self.streams.len() as u64;
        self.allow(if answered > self.limit / 8 { answered } else { 0 }, quic);
    }

    fn allow(&mut self, extra: u64, quic: &mut Connection) {
        if extra != std::mem::replace(&mut self.extra, extra) {
            let streams = VarInt::from_u64(self.limit + extra).unwrap_or(VarInt::MAX);
            quic.set_max_concurrent_streams(Dir::Bi, streams);
        }
    }
}
