//! The client's side: one request at a time, and its response. The one rule: bytes that no request
//! asked for end the connection.

mod plan;
mod repeated;

use super::body::{self, Incoming};
use super::connection::{HeadReader, Log, violation};
use super::head::{self, CLIENT_CODE};
use super::outgoing::{Hold, Outgoing};
use super::settings::{ClientSettings, KeepAlive};
use crate::schedule::Priority;
use crate::{
    ByteStreamConnection, ClientConnection, Connection, ConnectionState, CountOnly, DirectReceive,
    Error, Event, Fields, Fin, Misuse, Refused, RequestHead, ResponseHead, StreamId,
};
use bytes::Bytes;
use endpoint::SendBuf;
use plan::{Asked, RequestPlan, WrittenRequest, expects_continue};
use std::collections::VecDeque;
use trace::{HeaderBytes, Tracer};
use unit::Instant;
use wire::h1::BodyLength;

/// A client's end of one HTTP/1.1 connection.
#[derive(Debug)]
pub struct Client {
    settings: ClientSettings,
    log: Log,
    reader: HeadReader,
    exchange: Option<Exchange>,
    /// The exchange's request; between exchanges nothing.
    out: Outgoing,
    /// Fields that the caller has given back, for their buffers.
    spare_fields: Fields,
    /// The request that was written last, where its fields were validated.
    written: Option<Box<WrittenRequest>>,
    /// The response head that was parsed last.
    cached_head: Option<CachedHead>,
    /// The number of the next exchange.
    next: u64,
    /// Body bytes given out and not consumed.
    unconsumed: usize,
    state: ConnectionState,
    input: Input,
    /// When a body stops waiting for 100.
    continue_by: Option<Instant>,
    events: VecDeque<Event<'static>>,
}

/// A request and what has come of its response.
#[derive(Debug)]
struct Exchange {
    asked: Asked,
    response: Response,
    informational: u32,
}

#[derive(Debug)]
enum Response {
    Awaited,
    Body(Incoming),
    /// Whole, while the request is still on its way.
    Whole,
}

/// The response head that was parsed last.
#[derive(Debug, Default)]
struct CachedHead {
    bytes: Vec<u8>,
    response: head::Response,
}

/// Longer heads are parsed each time.
const MAX_CACHED: usize = 1024;

/// Whether more may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    Open,
    Ended,
}

impl Client {
    /// A connection that is ready for its first request.
    pub fn new(now: Instant, settings: ClientSettings, tracer: Tracer) -> Self {
        Self {
            reader: HeadReader::new(settings.limits),
            settings,
            log: Log::new(now, tracer),
            exchange: None,
            out: Outgoing::default(),
            spare_fields: Fields::new(),
            written: None,
            cached_head: None,
            next: 0,
            unconsumed: 0,
            state: ConnectionState::Open,
            input: Input::Open,
            continue_by: None,
            events: VecDeque::new(),
        }
    }

    /// Whether more bytes are welcome: while not, the end point leaves them in its socket.
    pub fn wants_read(&self) -> bool {
        self.unconsumed < self.settings.body_window
    }

    fn check_free(&self) -> Result<(), Refused> {
        if self.state != ConnectionState::Open || self.input == Input::Ended {
            return Err(Refused::Draining);
        }
        if self.exchange.is_some() { Err(Refused::Full) } else { Ok(()) }
    }

    /// Begins an exchange whose request `write` writes.
    fn begin(
        &mut self,
        plan: &RequestPlan,
        expects_continue: bool,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> StreamId {
        self.out.put_head(plan.framing, write);
        if plan.framing.is_some() && expects_continue {
            self.out.hold_body();
        }
        if self.settings.keep_alive == KeepAlive::Off {
            self.state = ConnectionState::Draining;
        }
        self.exchange =
            Some(Exchange { asked: plan.asked, response: Response::Awaited, informational: 0 });
        self.unconsumed = 0;
        let stream = StreamId(self.next);
        self.next += 1;
        stream
    }

    fn stream(&self) -> StreamId {
        StreamId(self.next.saturating_sub(1))
    }

    /// What is sent on the stream.
    fn outgoing(&mut self, stream: StreamId) -> Result<&mut Outgoing, Misuse> {
        let is_current = self.exchange.is_some() && stream == self.stream();
        if is_current { Ok(&mut self.out) } else { Err(Misuse::UnknownStream) }
    }

    fn close(&mut self, error: Option<Error>) {
        if self.state != ConnectionState::Closed {
            self.state = ConnectionState::Closed;
            self.exchange = None;
            self.out.reset();
            self.continue_by = None;
            self.events.push_back(Event::Closed { error });
        }
    }

    fn read_head<'i>(
        &mut self,
        now: Instant,
        input: &mut &'i [u8],
    ) -> Result<Option<Event<'i>>, Error> {
        let Some((length, response)) = self.next_head(input)? else { return Ok(None) };
        let stream = self.stream();
        self.log.head_received(now, stream, length);
        let Some(exchange) = &mut self.exchange else { return Ok(None) };
        let status = response.head.status;
        if status.is_informational() && status.code() != 101 {
            exchange.informational += 1;
            if exchange.informational > self.settings.max_informational {
                return Err(violation(
                    CLIENT_CODE,
                    "there are more informational responses than the limit",
                ));
            }
            if status.code() == 100 {
                self.out.release();
                self.continue_by = None;
            }
            return Ok(Some(Event::Informational { stream, head: response.head }));
        }
        let length = match (status.code(), exchange.asked) {
            (101, Asked::Upgrade) => {
                self.out.switch();
                BodyLength::UntilClose
            }
            (101, _) => {
                return Err(violation(CLIENT_CODE, "101 answers an Upgrade (RFC 9110 §15.2.2)"));
            }
            (200..300, Asked::Tunnel) => {
                self.out.switch();
                BodyLength::UntilClose
            }
            _ if status.forbids_body() || exchange.asked == Asked::Head => BodyLength::Empty,
            _ => response.length.map_err(head::foreign)?,
        };
        if !response.persists || length == BodyLength::UntilClose {
            self.state = ConnectionState::Draining;
        }
        // The server has decided without the body, or has had enough of it: it is not sent any more,
        // and nobody can tell where a next request would begin (RFC 9110 §10.1.1, RFC 9112 §9.5).
        let unfinished = !self.out.is_over() && status.code() != 101;
        if unfinished && (self.out.hold() != Hold::Free || status.code() >= 400) {
            self.out.discard();
            self.continue_by = None;
            self.state = ConnectionState::Draining;
        }
        let fin = match Incoming::new(length, self.settings.limits) {
            Some(incoming) => {
                exchange.response = Response::Body(incoming);
                Fin::More
            }
            None => {
                self.end_response();
                Fin::Last
            }
        };
        Ok(Some(Event::Response { stream, head: response.head, fin }))
    }

    /// Reads a whole head, and returns its length. One that is byte for byte the one before it, as a server repeats it
    /// until its clock has gone on, is not read again.
    fn next_head(&mut self, input: &mut &[u8]) -> Result<Option<(usize, head::Response)>, Error> {
        let spare = std::mem::take(&mut self.spare_fields);
        if self.reader.is_empty()
            && let Some(cached) = &self.cached_head
            && let Some(rest) = input.strip_prefix(&cached.bytes[..])
        {
            *input = rest;
            return Ok(Some((cached.bytes.len(), cached.response.again(spare))));
        }
        let whole = self.reader.read(input).map_err(head::foreign)?;
        let Some(whole) = whole else {
            self.spare_fields = spare;
            return Ok(None);
        };
        let bytes = self.reader.bytes(whole);
        let response = head::read_response(bytes, spare)?;
        let length = bytes.len();
        if length <= MAX_CACHED {
            let cached = self.cached_head.get_or_insert_with(CachedHead::default);
            cached.bytes.clear();
            cached.bytes.extend_from_slice(bytes);
            cached.response = response.again(std::mem::take(&mut cached.response.head.fields));
        }
        self.reader.restart();
        Ok(Some((length, response)))
    }

    fn read_body<'i>(
        &mut self,
        now: Instant,
        input: &mut &'i [u8],
    ) -> Result<Option<Event<'i>>, Error> {
        let stream = self.stream();
        let Some(Exchange { response: Response::Body(incoming), .. }) = &mut self.exchange else {
            return Ok(None);
        };
        let Some(event) = incoming.read(stream, input).map_err(head::foreign)? else {
            return Ok(None);
        };
        if let Event::Data { data, .. } = &event {
            self.unconsumed += data.len();
            self.log.body_received(now, stream, data.len() as u64);
        }
        if body::is_last(&event) {
            self.end_response();
        }
        Ok(Some(event))
    }

    /// The response is whole.
    fn end_response(&mut self) {
        if let Some(exchange) = &mut self.exchange {
            exchange.response = Response::Whole;
        }
        self.end_exchange();
    }

    /// Makes way for the next request where both directions are done.
    fn end_exchange(&mut self) {
        let is_answered =
            matches!(&self.exchange, Some(Exchange { response: Response::Whole, .. }));
        if is_answered && self.out.is_over() {
            self.exchange = None;
            self.out.reset();
            if self.state == ConnectionState::Draining {
                self.close(None);
            }
        }
    }

    /// The server has ended its side, and everything before that has been read.
    fn end_input(&mut self) {
        let stream = self.stream();
        match &self.exchange {
            None => self.close(None),
            // Not a byte of the request is sent: it is certain that nobody acted on it.
            Some(_) if self.out.is_untouched() => self.close(Some(Error::Unprocessed)),
            Some(Exchange { response: Response::Body(Incoming::UntilClose), .. }) => {
                self.events.push_back(body::end(stream));
                self.close(None);
            }
            Some(Exchange { response: Response::Body(_), .. }) => {
                self.close(Some(Error::Truncated { within: "a response body" }));
            }
            Some(Exchange { response: Response::Awaited, .. }) if self.reader.is_empty() => {
                self.close(Some(Error::Truncated { within: "the wait for a response" }));
            }
            Some(Exchange { response: Response::Awaited, .. }) => {
                self.close(Some(Error::Truncated { within: "a response head" }));
            }
            Some(Exchange { response: Response::Whole, .. }) => self.close(None),
        }
    }
}

impl Connection for Client {
    fn handle_timeout(&mut self, now: Instant) {
        if self.continue_by.is_some_and(|deadline| deadline <= now) {
            self.continue_by = None;
            self.out.release();
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.continue_by
    }

    fn wants_transmit(&self) -> bool {
        self.exchange.is_some() && self.out.is_ready()
    }

    fn consume(&mut self, stream: StreamId, bytes: usize) {
        if stream == self.stream() {
            self.unconsumed = self.unconsumed.saturating_sub(bytes);
        }
    }

    fn send(&mut self, stream: StreamId, data: Bytes, fin: Fin) -> Result<(), Misuse> {
        self.outgoing(stream)?.send(data, fin)?;
        self.end_exchange();
        Ok(())
    }

    fn send_trailers(&mut self, stream: StreamId, fields: &Fields) -> Result<(), Misuse> {
        self.outgoing(stream)?.send_trailers(fields)?;
        self.end_exchange();
        Ok(())
    }

    fn unsent(&self, stream: StreamId) -> usize {
        let is_current = self.exchange.is_some() && stream == self.stream();
        if is_current { self.out.len() } else { 0 }
    }

    fn reset(&mut self, _now: Instant, stream: StreamId) {
        if self.outgoing(stream).is_ok() {
            self.close(None);
        }
    }

    fn prioritise(&mut self, _stream: StreamId, _priority: Priority) {
        // There is one stream at a time.
    }

    fn shutdown(&mut self, _now: Instant) {
        match (self.state, &self.exchange) {
            (ConnectionState::Open | ConnectionState::Draining, None) => self.close(None),
            (ConnectionState::Open, Some(_)) => self.state = ConnectionState::Draining,
            _ => {}
        }
    }

    fn header_bytes(&self) -> HeaderBytes {
        self.log.headers()
    }

    fn state(&self) -> ConnectionState {
        self.state
    }
}

impl ByteStreamConnection for Client {
    fn handle_bytes<'i>(&mut self, now: Instant, input: &mut &'i [u8]) -> Option<Event<'i>> {
        if let Some(event) = self.events.pop_front() {
            self.log.closed(now, &event);
            return Some(event);
        }
        if self.state == ConnectionState::Closed {
            *input = &[];
            return None;
        }
        let step = match &self.exchange {
            Some(Exchange { response: Response::Awaited, .. }) => self.read_head(now, input),
            Some(Exchange { response: Response::Body(_), .. }) => self.read_body(now, input),
            _ if input.is_empty() => Ok(None),
            _ => {
                Err(violation(CLIENT_CODE, "bytes came that no request asked for (RFC 9112 §9.2)"))
            }
        };
        match step {
            Ok(Some(event)) => return Some(event),
            Ok(None) if self.input == Input::Ended => self.end_input(),
            Ok(None) => {}
            Err(error) => {
                *input = &[];
                self.close(Some(error));
            }
        }
        let event = self.events.pop_front()?;
        self.log.closed(now, &event);
        Some(event)
    }

    fn handle_eof(&mut self, _now: Instant) {
        self.input = Input::Ended;
    }

    fn poll_transmit(&mut self, now: Instant, out: &mut SendBuf, limit: usize) {
        let stream = self.stream();
        if self.exchange.is_none() {
            return;
        }
        let moved = self.out.transmit(out, limit);
        self.log.sent(now, stream, moved);
        if self.out.hold() == Hold::AfterHead(0) && self.continue_by.is_none() {
            self.continue_by = Some(now + self.settings.continue_timeout);
        }
        if self.out.take_ask() {
            self.events.push_back(Event::Writable { stream });
        }
        self.end_exchange();
    }
}

impl ClientConnection for Client {
    fn request(
        &mut self,
        _now: Instant,
        head: &RequestHead,
        fin: Fin,
    ) -> Result<StreamId, Refused> {
        self.check_free()?;
        let keep_alive = self.settings.keep_alive;
        // Without keep-alive each request says that it is the last.
        if head.fields.validated().is_none() || keep_alive == KeepAlive::Off {
            let plan = RequestPlan::new(head, fin).map_err(Refused::Unsendable)?;
            let waits = expects_continue(&head.fields);
            return Ok(self.begin(&plan, waits, |out| plan.write(head, keep_alive, out)));
        }
        let written = match self.written.take() {
            Some(written) if written.is_of(head, fin) => written,
            _ => Box::new(WrittenRequest::new(head, fin).map_err(Refused::Unsendable)?),
        };
        let put = |out: &mut Vec<u8>| out.extend_from_slice(&written.bytes);
        let stream = self.begin(&written.plan, written.expects_continue, put);
        self.written = Some(written);
        Ok(stream)
    }

    fn recycle(&mut self, head: ResponseHead) {
        self.spare_fields = head.fields;
        self.spare_fields.clear();
    }

    fn available_streams(&self) -> usize {
        let is_free = self.state == ConnectionState::Open
            && self.exchange.is_none()
            && self.input == Input::Open;
        usize::from(is_free)
    }

    fn direct_receive(&mut self) -> Option<&mut dyn DirectReceive> {
        Some(self)
    }

    fn count_only(&mut self) -> Option<&mut dyn CountOnly> {
        Some(self)
    }
}

impl DirectReceive for Client {
    fn expected_body(&self) -> Option<(StreamId, u64)> {
        match &self.exchange {
            Some(Exchange { response: Response::Body(Incoming::Exactly(left)), .. })
                if self.events.is_empty() =>
            {
                Some((self.stream(), *left))
            }
            _ => None,
        }
    }

    fn body_received(&mut self, now: Instant, bytes: u64) -> Fin {
        let stream = self.stream();
        let Some(Exchange { response: Response::Body(Incoming::Exactly(left)), .. }) =
            &mut self.exchange
        else {
            return Fin::More;
        };
        *left = left.saturating_sub(bytes);
        let is_whole = *left == 0;
        self.log.body_received(now, stream, bytes);
        if is_whole {
            self.end_response();
        }
        if is_whole { Fin::Last } else { Fin::More }
    }
}
