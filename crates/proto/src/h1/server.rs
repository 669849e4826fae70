//! The server's side: requests read ahead up to a bound, answers sent in their order. The one rule:
//! bytes go out for the oldest unfinished exchange alone.

mod buffers;
mod exchange;
mod header_cache;
mod life;

use super::body::{self, Incoming};
use super::connection::{HeadReader, Log, violation};
use super::head::{self, Request};
use super::settings::{Expect, KeepAlive, ServerSettings};
use crate::schedule::Priority;
use crate::{
    ByteStreamConnection, Connection, ConnectionState, Error, Event, Fields, Fin, Misuse, Refused,
    RequestHead, ResponseHead, SendCredit, ServerConnection, StreamId,
};
pub use buffers::BufferPool;
use buffers::Buffers;
use bytes::Bytes;
use endpoint::{FilePart, SendBuf};
use exchange::Exchange;
use life::{Phase, Timer};
use std::collections::VecDeque;
use trace::{HeaderBytes, Tracer};
use unit::Instant;

/// A server's end of one HTTP/1.1 connection.
#[derive(Debug)]
pub struct Server {
    settings: ServerSettings,
    log: Log,
    reader: HeadReader,
    receiving: Receiving,
    /// Exchanges whose answers are not all sent, oldest first, and the number of the first.
    exchanges: VecDeque<Exchange>,
    first: u64,
    /// Bytes that each of them had not sent when the connection closed.
    left: Vec<usize>,
    /// Its own, or lent.
    buffers: Option<Box<Buffers>>,
    /// Bytes that came while no further request was taken.
    backlog: Vec<u8>,
    /// Body bytes given out and not consumed.
    unconsumed: usize,
    input: Input,
    phase: Phase,
    timer: Timer,
    events: VecDeque<Event<'static>>,
}

/// What the next bytes are.
#[derive(Debug)]
enum Receiving {
    /// Of a request head.
    Head,
    /// Of the newest request's body.
    Body(Incoming),
    /// Of a body that nobody wants; so many bytes more are read.
    Discard(Incoming, usize),
    /// Of another protocol, after the newest request.
    Tunnel,
    /// Of nothing.
    Nothing,
}

/// Whether more may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    Open,
    Ended,
}

impl Server {
    /// A connection that was just accepted.
    pub fn new(now: Instant, settings: ServerSettings, tracer: Tracer) -> Self {
        let mut server = Self {
            reader: HeadReader::new(settings.limits),
            settings,
            log: Log::new(now, tracer),
            receiving: Receiving::Head,
            exchanges: VecDeque::new(),
            left: Vec::new(),
            first: 0,
            buffers: None,
            backlog: Vec::new(),
            unconsumed: 0,
            input: Input::Open,
            phase: Phase::Open,
            timer: Timer::default(),
            events: VecDeque::new(),
        };
        server.retime(now);
        server
    }

    /// Whether more bytes are welcome: while not, the end point leaves them in its socket. Ask after
    /// each batch of calls.
    pub fn wants_read(&self) -> bool {
        !self.is_full() && self.backlog.is_empty() && self.has_credit()
    }

    /// Bytes that arrived while no further request could be taken. Where there are some, hand them to
    /// [`ByteStreamConnection::handle_bytes`] again, before newer ones: after any `respond`, `send` or
    /// `poll_transmit`.
    pub fn take_backlog(&mut self) -> Vec<u8> {
        if self.is_blocked() { Vec::new() } else { std::mem::take(&mut self.backlog) }
    }

    /// Whether it is time to send FIN and read on until [`Event::Closed`]: everything is sent, but the
    /// peer may still be sending, and a close now could destroy the last answer on its way
    /// (RFC 9112 §9.6).
    pub fn wants_shutdown(&self) -> bool {
        matches!(self.phase, Phase::Lingering { .. })
    }

    /// Whether a part of a request's head has come. [`ServerSettings::header_timeout`] is for the rest.
    pub fn is_amid_head(&self) -> bool {
        matches!(self.receiving, Receiving::Head) && !self.reader.is_empty()
    }

    /// Queues body bytes of a file, as [`Connection::send`] does others; the layers below must pass them unseen.
    pub fn send_file(&mut self, stream: StreamId, part: FilePart, fin: Fin) -> Result<(), Misuse> {
        self.exchange(stream)?.out.send_file(part, fin)
    }

    /// Takes buffers for the requests that come, where it has none.
    pub fn take_buffers(&mut self, pool: &mut BufferPool) {
        if self.buffers.is_some() {
            return;
        }
        if let Some(mut buffers) = pool.take() {
            std::mem::swap(&mut self.exchanges, &mut buffers.exchanges);
            self.buffers = Some(buffers);
        } else if self.exchanges.capacity() == 0 {
            // Most connections have one request at a time.
            self.exchanges.reserve_exact(1);
        }
    }

    /// Gives its buffers back, where no request is under way.
    pub fn return_buffers(&mut self, pool: &mut BufferPool) {
        if self.exchanges.is_empty()
            && let Some(mut buffers) = self.buffers.take()
        {
            std::mem::swap(&mut self.exchanges, &mut buffers.exchanges);
            pool.put(buffers);
        }
    }

    fn buffers(&mut self) -> &mut Buffers {
        self.buffers.get_or_insert_with(Box::default)
    }

    fn newest(&self) -> StreamId {
        StreamId((self.first + self.exchanges.len() as u64).saturating_sub(1))
    }

    /// The exchange that the application knows as `stream`.
    fn exchange(&mut self, stream: StreamId) -> Result<&mut Exchange, Misuse> {
        let index = stream.0.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        index
            .and_then(|index| self.exchanges.get_mut(index))
            .filter(|exchange| exchange.is_applications())
            .ok_or(Misuse::UnknownStream)
    }

    /// Whether the next request waits for an earlier one: [`Server::is_full`], or the oldest answer is long. A
    /// request that is read behind a long answer only waits in a larger form.
    fn is_blocked(&self) -> bool {
        let is_long = |oldest: &Exchange| oldest.out.is_long();
        self.is_full()
            || matches!(self.receiving, Receiving::Head)
                && self.exchanges.front().is_some_and(is_long)
    }

    /// Whether there are too many requests for another one, or the newest may change the protocol.
    fn is_full(&self) -> bool {
        matches!(self.receiving, Receiving::Head)
            && (self.exchanges.len() >= self.settings.max_pipelined
                || self.exchanges.back().is_some_and(Exchange::may_switch))
    }

    /// Whether no body bytes and no end of a body wait to become events: the common case after a command.
    fn has_nothing_to_tell(&self) -> bool {
        self.events.is_empty() && self.backlog.is_empty() && self.input == Input::Open
    }

    fn has_credit(&self) -> bool {
        self.unconsumed < self.settings.body_window
    }

    /// Keeps bytes for later.
    fn put_aside(&mut self, input: &mut &[u8]) {
        self.backlog.extend_from_slice(std::mem::take(input));
        if self.backlog.len() > self.settings.max_backlog {
            self.backlog = Vec::new();
            self.refuse(violation(
                503,
                "more bytes came ahead of their turn than are kept (RFC 9112 §9.3.2)",
            ));
        }
    }

    fn read_head<'i>(&mut self, now: Instant, input: &mut &'i [u8]) -> Option<Event<'i>> {
        let (length, request) = match self.next_head(input) {
            Ok(read) => read?,
            Err(error) => {
                self.refuse(error);
                return None;
            }
        };
        let persists = request.persists && self.settings.keep_alive == KeepAlive::On;
        let out = self.buffers().out.take().unwrap_or_default();
        self.exchanges.push_back(Exchange::new(&request, persists, out));
        let stream = self.newest();
        self.log.head_received(now, stream, length);
        if !persists {
            self.finish(None);
        }
        let fin = match Incoming::new(request.length, self.settings.limits) {
            Some(incoming) => {
                self.receiving = Receiving::Body(incoming);
                Fin::More
            }
            None => {
                self.end_request();
                Fin::Last
            }
        };
        Some(Event::Request { stream, head: request.head, fin })
    }

    /// Reads a whole head, and returns its length.
    fn next_head(&mut self, input: &mut &[u8]) -> Result<Option<(usize, Request)>, Error> {
        let (scheme, limits) = (self.settings.scheme, self.settings.limits);
        let buffers = self.buffers.get_or_insert_with(Box::default);
        if self.reader.is_empty()
            && let Some(read) = buffers.cache.read(input, &mut buffers.head, scheme, limits)
        {
            return Ok(Some(read));
        }
        let Some(whole) = self.reader.read(input).map_err(head::broken)? else { return Ok(None) };
        let bytes = self.reader.bytes(whole);
        let request = head::read_request(bytes, scheme, buffers.head.take().unwrap_or_default());
        if let Ok(request) = &request {
            buffers.cache.keep(bytes, limits, request);
        }
        let length = bytes.len();
        self.reader.restart();
        request.map(|request| Some((length, request)))
    }

    fn read_body<'i>(&mut self, now: Instant, input: &mut &'i [u8]) -> Option<Event<'i>> {
        let stream = self.newest();
        let Receiving::Body(incoming) = &mut self.receiving else { return None };
        if !input.is_empty() {
            // RFC 9110 §10.1.1: no 100 is needed once some of the body has come.
            if let Some(exchange) = self.exchanges.back_mut() {
                exchange.body_came();
            }
            self.timer.restart(now);
        }
        match incoming.read(stream, input) {
            Ok(event) => {
                let event = event?;
                if let Event::Data { data, .. } = &event {
                    self.give(now, data.len());
                }
                if body::is_last(&event) {
                    self.end_request();
                }
                Some(event)
            }
            Err(error) => {
                self.fail_request(error.status(), head::broken(error));
                None
            }
        }
    }

    fn read_tunnel<'i>(&mut self, now: Instant, input: &mut &'i [u8]) -> Option<Event<'i>> {
        let stream = self.newest();
        let data = std::mem::take(input);
        if data.is_empty() {
            return None;
        }
        self.give(now, data.len());
        Some(Event::Data { stream, data, fin: Fin::More })
    }

    /// Reads on in a body that nobody wants, so that the next request can be found behind it.
    fn discard(&mut self, now: Instant, input: &mut &[u8]) {
        let stream = self.newest();
        let Receiving::Discard(incoming, left) = &mut self.receiving else { return };
        if !input.is_empty() {
            self.timer.restart(now);
        }
        let before = input.len();
        let step = incoming.read(stream, input);
        *left = left.saturating_sub(before - input.len());
        let exhausted = *left == 0;
        match step {
            Ok(Some(event)) if body::is_last(&event) => self.end_request(),
            Ok(_) if exhausted => self.finish_lingering(None),
            Ok(_) => {}
            Err(error) => self.finish_lingering(Some(head::broken(error))),
        }
    }

    /// Counts bytes of the newest request's body that the application gets.
    fn give(&mut self, now: Instant, bytes: usize) {
        self.log.body_received(now, self.newest(), bytes as u64);
        self.unconsumed += bytes;
        if let Some(newest) = self.exchanges.back_mut() {
            newest.unconsumed += bytes;
        }
    }
}

impl Connection for Server {
    fn handle_timeout(&mut self, now: Instant) {
        // An answer that has become long since may have stopped the reading.
        self.retime(now);
        if self.poll_timeout().is_some_and(|deadline| deadline <= now) {
            self.run_out();
            self.settle(now);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.timer.deadline()
    }

    fn wants_transmit(&self) -> bool {
        self.exchanges.front().is_some_and(|exchange| {
            exchange.out.is_ready()
                || exchange.out.is_over()
                || (self.settings.expect == Expect::Automatic && exchange.owes_continue())
        })
    }

    fn consume(&mut self, stream: StreamId, bytes: usize) {
        if let Ok(exchange) = self.exchange(stream) {
            let consumed = exchange.consume(bytes);
            self.unconsumed -= consumed;
        }
    }

    fn send(&mut self, stream: StreamId, data: Bytes, fin: Fin) -> Result<(), Misuse> {
        self.exchange(stream)?.out.send(data, fin)
    }

    fn send_trailers(&mut self, stream: StreamId, fields: &Fields) -> Result<(), Misuse> {
        self.exchange(stream)?.out.send_trailers(fields)
    }

    fn unsent(&self, stream: StreamId) -> usize {
        let index = stream.0.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        let unsent = |index| match self.exchanges.get(index) {
            Some(exchange) => exchange.out.len(),
            None => self.left.get(index).copied().unwrap_or(0),
        };
        index.map_or(0, unsent)
    }

    /// An answer that waits for those before it needs no bytes yet.
    fn send_credit(&self, stream: StreamId) -> SendCredit {
        let of_stream = if stream.0 == self.first { usize::MAX } else { 0 };
        SendCredit { stream: of_stream, connection: usize::MAX }
    }

    fn reset(&mut self, now: Instant, stream: StreamId) {
        if self.exchange(stream).is_ok() {
            self.close(None);
            self.settle(now);
        }
    }

    fn prioritise(&mut self, _stream: StreamId, _priority: Priority) {
        // RFC 9112 §9.3.2: answers go out in the order of their requests.
    }

    fn shutdown(&mut self, now: Instant) {
        if matches!(self.phase, Phase::Open) {
            self.finish(None);
            if matches!(self.receiving, Receiving::Head) {
                self.receiving = Receiving::Nothing;
            }
            self.settle(now);
        }
    }

    fn header_bytes(&self) -> HeaderBytes {
        self.log.headers()
    }

    fn state(&self) -> ConnectionState {
        self.phase.state()
    }
}

impl ByteStreamConnection for Server {
    fn handle_bytes<'i>(&mut self, now: Instant, input: &mut &'i [u8]) -> Option<Event<'i>> {
        if input.is_empty() && self.has_nothing_to_tell() {
            self.settle(now);
            if self.events.is_empty() {
                return None;
            }
        }
        loop {
            if let Some(event) = self.events.pop_front() {
                self.log.closed(now, &event);
                return Some(event);
            }
            if !self.backlog.is_empty() || (self.is_blocked() && !input.is_empty()) {
                self.put_aside(input);
                if self.events.is_empty() {
                    return None;
                }
                continue;
            }
            let event = match self.receiving {
                Receiving::Head if self.is_blocked() => None,
                Receiving::Head => self.read_head(now, input),
                Receiving::Body(_) => self.read_body(now, input),
                Receiving::Discard(..) => {
                    self.discard(now, input);
                    None
                }
                Receiving::Tunnel => self.read_tunnel(now, input),
                Receiving::Nothing => {
                    self.linger_over(std::mem::take(input));
                    None
                }
            };
            if event.is_none() && input.is_empty() && self.input == Input::Ended {
                self.end_input();
            }
            self.settle(now);
            if event.is_some() {
                return event;
            }
            // Every state takes bytes or is left, so this comes to an end.
            if self.events.is_empty() && input.is_empty() {
                return None;
            }
        }
    }

    fn handle_eof(&mut self, _now: Instant) {
        self.input = Input::Ended;
    }

    fn poll_transmit(&mut self, now: Instant, out: &mut SendBuf, limit: usize) {
        let mut left = limit;
        while let Some(exchange) = self.exchanges.front_mut() {
            if self.settings.expect == Expect::Automatic {
                exchange.say_continue();
            }
            let moved = exchange.out.transmit(out, left);
            left -= moved.head + moved.body;
            let stream = StreamId(self.first);
            self.log.sent(now, stream, moved);
            if exchange.out.take_ask() && exchange.is_applications() {
                self.events.push_back(Event::Writable { stream });
            }
            if !exchange.out.is_over() {
                break;
            }
            self.end_exchange();
        }
        if self.input == Input::Ended && self.backlog.is_empty() {
            self.end_input();
        }
        self.settle(now);
    }
}

impl ServerConnection for Server {
    fn inform(&mut self, stream: StreamId, head: &ResponseHead) -> Result<(), Misuse> {
        self.exchange(stream)?.inform(head)
    }

    fn respond(&mut self, stream: StreamId, head: &ResponseHead, fin: Fin) -> Result<(), Misuse> {
        let is_last_request = stream == self.newest() && !matches!(self.phase, Phase::Open);
        let exchange = self.exchange(stream)?;
        exchange.respond(head, fin, is_last_request)?;
        if exchange.has_switched() && matches!(self.receiving, Receiving::Head | Receiving::Nothing)
        {
            self.receiving = Receiving::Tunnel;
        }
        Ok(())
    }

    fn promise(&mut self, _parent: StreamId, _head: &RequestHead) -> Result<StreamId, Refused> {
        Err(Refused::NotAllowed)
    }

    fn recycle(&mut self, head: Box<RequestHead>) {
        if head.capacity() <= KEEP {
            self.buffers().head = Some(head);
        }
    }
}

/// Bytes of a head whose buffers are kept.
const KEEP: usize = 4 * 1024;

impl Server {
    /// Answers what breaks the protocol, after the answers that are due before it, and closes.
    fn refuse(&mut self, error: Error) {
        let status = match &error {
            Error::PeerViolation { code, .. } => u16::try_from(*code).unwrap_or(400),
            Error::TimedOut { .. } => 408,
            _ => 400,
        };
        self.exchanges.push_back(Exchange::refusal(status));
        self.finish_lingering(Some(error));
    }
}
