//! A connection of a known protocol and the exchanges on it. The one rule: what waits to be sent is
//! bounded for each exchange; the rest of a body is made when the connection asks for more.

mod respond;
mod web_socket;

use crate::access::ExchangeEnd;
use crate::exchange::{Exchange, Ledger, State};
use crate::origin::Shared;
use crate::protocol::Speaker;
use bytes::Bytes;
use endpoint::SendBuf;
use proto::{ConnectionState, Event, Fin, Scheme, StreamId};
use std::collections::VecDeque;
use std::fmt;
use unit::Instant;

/// A connection and what is asked of it.
pub(crate) struct Talk {
    speaker: Box<dyn Speaker>,
    protocol: &'static str,
    connection: u64,
    /// Whether bytes reach the socket as they are.
    clear: bool,
    /// In the order of their streams' numbers. They end from the front, as a rule.
    exchanges: VecDeque<Exchange>,
    thinking: usize,
    given: usize,
    web_sockets: usize,
    /// Since when there was no exchange.
    quiet_since: Instant,
}

impl Talk {
    pub(crate) fn new(
        now: Instant,
        (speaker, protocol): (Box<dyn Speaker>, &'static str),
        (connection, scheme): (u64, Scheme),
    ) -> Self {
        Self {
            speaker,
            protocol,
            connection,
            clear: scheme == Scheme::Http,
            exchanges: VecDeque::new(),
            thinking: 0,
            given: 0,
            web_sockets: 0,
            quiet_since: now,
        }
    }

    /// Bytes from the peer.
    pub(crate) fn handle_bytes(&mut self, now: Instant, shared: &mut Shared, bytes: &[u8]) {
        if self.exchanges.is_empty() && !bytes.is_empty() {
            self.speaker.take_buffers(&mut shared.rooms.requests);
            shared.rooms.lend(&mut self.exchanges);
        }
        let mut input = bytes;
        while let Some(event) = self.speaker.handle_bytes(now, &mut input) {
            self.handle_event(now, shared, event);
        }
        debug_assert!(input.is_empty(), "a connection takes all bytes");
    }

    /// What commands and time-outs have left behind.
    pub(crate) fn catch_up(&mut self, now: Instant, shared: &mut Shared) {
        self.handle_bytes(now, shared, &[]);
        self.take_up_backlog(now, shared);
    }

    /// Bytes that came before their turn, which has come now. Follows `handle_bytes`, which leaves nothing else behind.
    pub(crate) fn take_up_backlog(&mut self, now: Instant, shared: &mut Shared) {
        loop {
            let backlog = self.speaker.take_backlog();
            if backlog.is_empty() {
                return;
            }
            self.handle_bytes(now, shared, &backlog);
        }
    }

    pub(crate) fn handle_eof(&mut self, now: Instant, shared: &mut Shared) {
        self.speaker.handle_eof(now);
        self.catch_up(now, shared);
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant, shared: &mut Shared) {
        if self.speaker.poll_timeout().is_some_and(|at| at <= now) {
            self.speaker.handle_timeout(now);
        }
        for index in 0..self.exchanges.len() {
            if matches!(self.exchanges[index].state, State::Thinking { until, .. } if until <= now)
            {
                self.stop_thinking(now, shared, index);
            }
        }
        if self.web_sockets > 0 {
            self.time_web_sockets(now, shared);
        }
        self.catch_up(now, shared);
    }

    /// The next time-out of the connection or of a thought.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let own = self.speaker.poll_timeout();
        if self.thinking == 0 && self.web_sockets == 0 {
            return own;
        }
        let mut next = own;
        for exchange in &self.exchanges {
            let at = match &exchange.state {
                State::Thinking { until, .. } => Some(*until),
                State::WebSocket(session) => session.poll_timeout(),
                _ => None,
            };
            next = match (next, at) {
                (Some(next), Some(at)) => Some(next.min(at)),
                (next, at) => next.or(at),
            };
        }
        next
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant, out: &mut SendBuf, room: usize) {
        self.speaker.poll_transmit(now, out, room);
    }

    /// Follows `poll_transmit`: what went out ends exchanges and makes room for more.
    pub(crate) fn handle_transmitted(&mut self, now: Instant, shared: &mut Shared) {
        let mut index = 0;
        while self.given > 0 && index < self.exchanges.len() {
            let exchange = &self.exchanges[index];
            if matches!(exchange.state, State::Given) && self.speaker.unsent(exchange.stream) == 0 {
                self.end(now, shared, index, ExchangeEnd::Done);
            } else {
                index += 1;
            }
        }
        self.catch_up(now, shared);
        if self.exchanges.is_empty() {
            self.speaker.return_buffers(&mut shared.rooms.requests);
            shared.rooms.take_back(&mut self.exchanges);
        }
    }

    pub(crate) fn wants_transmit(&self) -> bool {
        self.speaker.wants_transmit()
    }

    /// Whether the socket should be read.
    pub(crate) fn wants_read(&self) -> bool {
        self.speaker.wants_read()
    }

    /// Whether FIN should follow what is sent.
    pub(crate) fn wants_shutdown(&self) -> bool {
        self.speaker.wants_shutdown()
    }

    /// Whether the connection is over and everything is sent.
    pub(crate) fn is_over(&self) -> bool {
        self.speaker.state() == ConnectionState::Closed && !self.speaker.wants_transmit()
    }

    /// Since when no request is under way; None while one is.
    pub(crate) fn quiet_since(&self) -> Option<Instant> {
        self.exchanges.is_empty().then_some(self.quiet_since)
    }

    /// Whether the peer waits for this side alone.
    pub(crate) fn is_thinking(&self) -> bool {
        self.thinking > 0
    }

    /// Takes no more requests and finishes those under way.
    pub(crate) fn shutdown(&mut self, now: Instant, shared: &mut Shared) {
        self.quiet_since = now;
        self.close_web_sockets(now, shared);
        self.speaker.shutdown(now);
        self.catch_up(now, shared);
    }

    /// The socket is gone.
    pub(crate) fn cut_off(&mut self, now: Instant, shared: &Shared) {
        while !self.exchanges.is_empty() {
            self.end(now, shared, 0, ExchangeEnd::CutOff);
        }
    }

    fn handle_event(&mut self, now: Instant, shared: &mut Shared, event: Event<'_>) {
        match event {
            Event::Request { stream, head, fin } => {
                let exchange =
                    Exchange { stream, state: State::Counting, ledger: Ledger::new(now, head) };
                let index = self.exchanges.partition_point(|other| other.stream < stream);
                self.exchanges.insert(index, exchange);
                self.begin(now, shared, index, fin);
            }
            Event::Data { stream, data, fin } => self.take_body(now, shared, (stream, data), fin),
            Event::Trailers { stream, .. } => self.take_body(now, shared, (stream, &[]), Fin::Last),
            Event::Writable { stream } => {
                if let Some(index) = self.find(stream) {
                    self.handle_writable(now, shared, index);
                }
            }
            Event::Reset { stream, .. } => {
                if let Some(index) = self.find(stream) {
                    self.end(now, shared, index, ExchangeEnd::CutOff);
                }
            }
            Event::Closed { .. } => {
                // What was given whole may still lie in the socket's queue: that is no cut.
                for index in (0..self.exchanges.len()).rev() {
                    let end = match self.exchanges[index].state {
                        State::Given => ExchangeEnd::Done,
                        _ => ExchangeEnd::CutOff,
                    };
                    self.end(now, shared, index, end);
                }
            }
            // Draining: the peer makes no more requests, and needs no answer to that. The others are a
            // client's.
            Event::Draining { .. }
            | Event::Informational { .. }
            | Event::Response { .. }
            | Event::Promise { .. } => {}
        }
    }

    /// A piece of a request's body. Nobody wants that of most requests: it is taken and dropped.
    fn take_body(
        &mut self,
        now: Instant,
        shared: &mut Shared,
        (stream, data): (StreamId, &[u8]),
        fin: Fin,
    ) {
        let index = self.find(stream);
        let mut credit = data.len();
        if let Some(index) = index {
            let exchange = &mut self.exchanges[index];
            exchange.ledger.received_bytes += data.len() as u64;
            if let State::Echoing { uncredited } = &mut exchange.state {
                *uncredited += std::mem::take(&mut credit);
            }
            if let State::WebSocket(_) = exchange.state {
                // Given back when it is answered.
                credit = 0;
            }
        }
        if credit > 0 {
            self.speaker.consume(stream, credit);
        }
        let Some(index) = index else { return };
        match self.exchanges[index].state {
            State::Echoing { .. } => {
                self.echo(now, shared, index, (Bytes::copy_from_slice(data), fin))
            }
            State::WebSocket(_) => self.feed_web_socket(now, shared, index, (data, fin)),
            State::Counting if fin == Fin::Last => self.answer_count(now, shared, index),
            _ => {}
        }
    }

    fn find(&self, stream: StreamId) -> Option<usize> {
        self.exchanges.binary_search_by_key(&stream, |exchange| exchange.stream).ok()
    }

    /// An exchange is over, one way or another.
    fn end(&mut self, now: Instant, shared: &Shared, index: usize, end: ExchangeEnd) {
        let Some(exchange) = self.exchanges.remove(index) else { return };
        match exchange.state {
            State::Thinking { .. } => self.thinking -= 1,
            State::Given => self.given -= 1,
            State::WebSocket(_) => self.web_sockets -= 1,
            _ => {}
        }
        if let Some(log) = &shared.log {
            log.record(&exchange.record(now, (self.connection, self.protocol), end));
        }
        self.speaker.recycle(exchange.ledger.request);
        self.quiet_since = now;
    }
}

impl fmt::Debug for Talk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Talk")
            .field("protocol", &self.protocol)
            .field("exchanges", &self.exchanges)
            .finish_non_exhaustive()
    }
}
