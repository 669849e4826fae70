//! Streams as HTTP responses: each as one response, or by long polling as a response for each token.

use super::{Arrivals, EventStream};
use crate::{FetchId, FetchSpec, Records, Work};
use page::{Kind, SyntheticStream, Url};
use proto::ResponseHead;
use std::collections::BTreeMap;
use trace::{ConnectionRecord, FetchOutcome, FetchRecord, TokenRecord};
use unit::Instant;

/// How HTTP delivers tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// As server-sent events, in one response.
    EventStream,
    /// As lines, in one response.
    Lines,
    /// As lines, in a response for each; the client asks again at once.
    LongPolling,
}

/// Streams that are all asked for at the beginning.
#[derive(Debug)]
pub struct StreamRequests {
    delivery: Delivery,
    /// The server's root URL.
    root: Url,
    streams: Vec<Arrivals>,
    /// The numbers of the streams to ask for next.
    wanted: Vec<usize>,
    /// When the work began.
    begun: Option<Instant>,
    responses: BTreeMap<FetchId, Response>,
    /// The records of the requests and of their connections.
    pub records: Records,
}

/// A response under way.
#[derive(Debug)]
struct Response {
    stream: usize,
    /// Tokens of its stream that came before it.
    before: usize,
    events: EventStream,
    line: Vec<u8>,
    fault: Option<String>,
}

impl StreamRequests {
    /// All of `streams`, from the server at `root`.
    pub fn new(
        root: Url,
        streams: impl IntoIterator<Item = SyntheticStream>,
        delivery: Delivery,
    ) -> Self {
        let streams: Vec<_> = streams.into_iter().map(Arrivals::new).collect();
        Self {
            delivery,
            root,
            wanted: (0..streams.len()).rev().collect(),
            streams,
            begun: None,
            responses: BTreeMap::new(),
            records: Records::default(),
        }
    }

    /// The tokens, stream by stream.
    pub fn tokens(&self) -> impl Iterator<Item = TokenRecord> {
        self.streams.iter().flat_map(|stream| stream.tokens.iter().copied())
    }

    fn url(&self, stream: usize) -> Url {
        let Arrivals { stream, tokens } = &self.streams[stream];
        let path = match (self.delivery, tokens.first(), tokens.last()) {
            (Delivery::EventStream, ..) => format!("/stream?{stream}"),
            (Delivery::Lines, ..) => format!("/stream?{stream}&format=text"),
            (Delivery::LongPolling, Some(first), Some(last)) => {
                let (after, since) = (last.number, first.due.nanos());
                format!("/poll?{stream}&after={after}&since={since}")
            }
            (Delivery::LongPolling, ..) => format!("/poll?{stream}"),
        };
        Url { path, ..self.root.clone() }
    }
}

impl Work for StreamRequests {
    fn poll_fetch(&mut self, now: Instant, id: FetchId) -> Option<FetchSpec> {
        let stream = self.wanted.pop()?;
        let begun = *self.begun.get_or_insert(now);
        let before = self.streams[stream].tokens.len();
        let wanted = if before == 0 { begun } else { now };
        let response = Response {
            stream,
            before,
            events: EventStream::default(),
            line: Vec::new(),
            fault: None,
        };
        self.responses.insert(id, response);
        let spec = FetchSpec::get(self.url(stream));
        Some(FetchSpec { kind: Kind::Xhr, wanted: Some(wanted), ..spec })
    }

    /// A repeated request is answered from the beginning.
    fn handle_head(&mut self, _now: Instant, id: FetchId, _head: &ResponseHead) {
        let Some(response) = self.responses.get_mut(&id) else { return };
        self.streams[response.stream].tokens.truncate(response.before);
        response.events = EventStream::default();
        response.line.clear();
        response.fault = None;
    }

    fn handle_body(&mut self, now: Instant, id: FetchId, bytes: &[u8]) {
        let Some(response) = self.responses.get_mut(&id) else { return };
        if response.fault.is_some() {
            return;
        }
        let stream = &mut self.streams[response.stream];
        let taken = match self.delivery {
            Delivery::EventStream => response.take_events(now, stream, bytes),
            Delivery::Lines | Delivery::LongPolling => response.take_lines(now, stream, bytes),
        };
        response.fault = taken.err();
    }

    fn handle_end(&mut self, _now: Instant, id: FetchId, mut record: FetchRecord) {
        let Some(response) = self.responses.remove(&id) else { return };
        let stream = &self.streams[response.stream];
        if record.outcome == FetchOutcome::Done {
            let polls = self.delivery == Delivery::LongPolling;
            let got = stream.tokens.len() > response.before;
            let lack = stream.lack();
            // A poll need not bring all, but it has to bring something.
            let goes_on = polls && got && lack.is_some();
            if let Some(fault) = response.fault.or_else(|| lack.filter(|_| !goes_on)) {
                record.outcome = FetchOutcome::Failed(fault);
            } else if goes_on {
                self.wanted.push(response.stream);
            }
        }
        self.records.fetches.push(record);
    }

    fn handle_connection_end(&mut self, record: ConnectionRecord) {
        self.records.connections.push(record);
    }

    fn is_finished(&self) -> bool {
        self.wanted.is_empty() && self.responses.is_empty()
    }
}

impl Response {
    fn take_events(
        &mut self,
        now: Instant,
        stream: &mut Arrivals,
        bytes: &[u8],
    ) -> Result<(), String> {
        let events = self.events.handle_bytes(bytes).map_err(|error| error.to_string())?;
        events.iter().try_for_each(|event| {
            let number = stream.tokens.len().to_string();
            if event.id != number {
                return Err(format!("the event {number} has the id `{}`", event.id));
            }
            stream.take(now, &event.data)
        })
    }

    fn take_lines(
        &mut self,
        now: Instant,
        stream: &mut Arrivals,
        bytes: &[u8],
    ) -> Result<(), String> {
        for &byte in bytes {
            if byte == b'\n' {
                let line = std::mem::take(&mut self.line);
                stream.take(now, &String::from_utf8_lossy(&line))?;
            } else if self.line.len() > stream.stream.bytes as usize {
                return Err("a line is longer than a token".to_owned());
            } else {
                self.line.push(byte);
            }
        }
        Ok(())
    }
}
