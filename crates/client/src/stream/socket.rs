//! Streams over one WebSocket: a message asks for each, and its tokens come as messages.

use super::Arrivals;
use crate::{Conversation, Records};
use bytes::Bytes;
use page::{SyntheticStream, Token};
use proto::ws::MessageKind;
use trace::{ConnectionRecord, FetchOutcome, FetchRecord, Phases, TokenRecord};
use unit::Instant;

/// Streams that are all asked for once the WebSocket is open.
#[derive(Debug)]
pub struct StreamSocket {
    streams: Vec<OpenStream>,
    /// Streams asked for so far.
    asked: usize,
    /// The opening handshake, then the streams in the order in which they ended.
    pub records: Records,
}

/// A stream and the phases of its record.
#[derive(Debug)]
struct OpenStream {
    arrivals: Arrivals,
    sent: Option<Instant>,
    body_bytes: u64,
}

impl StreamSocket {
    /// All of `streams`, in this order.
    pub fn new(streams: impl IntoIterator<Item = SyntheticStream>) -> Self {
        let stream =
            |stream| OpenStream { arrivals: Arrivals::new(stream), sent: None, body_bytes: 0 };
        Self {
            streams: streams.into_iter().map(stream).collect(),
            asked: 0,
            records: Records::default(),
        }
    }

    /// The tokens, stream by stream.
    pub fn tokens(&self) -> impl Iterator<Item = TokenRecord> {
        self.streams.iter().flat_map(|stream| stream.arrivals.tokens.iter().copied())
    }

    /// Records the end of a stream.
    fn end(&mut self, now: Instant, index: usize, outcome: FetchOutcome) {
        let (Some(opening), OpenStream { arrivals, sent, body_bytes }) =
            (self.records.fetches.first(), &self.streams[index])
        else {
            return;
        };
        let phases = Phases {
            sent: *sent,
            first_byte: arrivals.tokens.first().map(|token| token.received),
            last_byte: Some(now),
            ..Phases::new(opening.phases.queued)
        };
        let (id, body_bytes) = (opening.id + 1 + index as u32, *body_bytes);
        let record =
            FetchRecord { id, status: None, body_bytes, phases, outcome, ..opening.clone() };
        self.records.fetches.push(record);
    }
}

impl Conversation for StreamSocket {
    fn handle_opening(&mut self, record: FetchRecord) {
        self.records.fetches.push(record);
    }

    fn poll_message(&mut self, now: Instant) -> Option<(MessageKind, Bytes)> {
        let stream = self.streams.get_mut(self.asked)?;
        stream.sent = Some(now);
        self.asked += 1;
        Some((MessageKind::Text, stream.arrivals.stream.to_string().into()))
    }

    fn handle_message(
        &mut self,
        now: Instant,
        _kind: MessageKind,
        data: Bytes,
    ) -> Result<(), String> {
        let text = String::from_utf8_lossy(&data);
        let name = Token::parse(&text).map(|token| token.stream);
        let is_named = |stream: &OpenStream| Some(stream.arrivals.stream.name) == name;
        let Some(index) = self.streams.iter().position(is_named) else {
            return Err("a message came that is no token of a stream".to_owned());
        };
        let stream = &mut self.streams[index];
        stream.body_bytes += data.len() as u64;
        stream.arrivals.take(now, &text)?;
        if stream.arrivals.is_complete() {
            self.end(now, index, FetchOutcome::Done);
        }
        Ok(())
    }

    fn handle_failure(&mut self, now: Instant, reason: &str) {
        for index in 0..self.streams.len() {
            if let Some(lack) = self.streams[index].arrivals.lack() {
                self.end(now, index, FetchOutcome::Failed(format!("{reason} ({lack})")));
            }
        }
        self.streams.retain(|stream| stream.arrivals.is_complete());
    }

    fn handle_connection_end(&mut self, record: ConnectionRecord) {
        self.records.connections.push(record);
    }

    fn is_finished(&self) -> bool {
        !self.records.fetches.is_empty()
            && self.streams.iter().all(|stream| stream.arrivals.is_complete())
    }
}
