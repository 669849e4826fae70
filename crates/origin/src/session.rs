//! The exchanges of one connection: requests in, responses out. The one rule: each exchange queues a bounded number of
//! bytes; the rest of a body is produced when the machine asks for more.

mod deliver;
mod echo;
mod forward;
mod pace;
mod respond;
mod stream;
mod unwanted;
mod web_socket;

use crate::access::ExchangeEnd;
use crate::budget::{Account, PeerAddress};
use crate::delivery::read_by_policy;
use crate::exchange::{Exchange, Ledger, State};
use crate::shared::Shared;
use crate::site::CLOSING_VISIT;
use deliver::ConnectionDelivery;
use pace::Pace;
use proto::h1::KeepAlive;
use proto::{Event, Fields, Fin, RequestHead, StreamId};
use std::collections::VecDeque;
use transport::{Protocol, ServerMachine};
use unit::Instant;
use unwanted::{Rest, Unwanted};

/// The exchanges of a connection.
#[derive(Debug)]
pub(crate) struct Session {
    connection: u64,
    protocol: Protocol,
    /// Whether the socket carries body bytes unchanged, so that the kernel can send files.
    bytes_pass_unchanged: bool,
    /// Whether requests come within the handshake.
    is_early: bool,
    /// In the order of their stream numbers. Usually they end from the front.
    exchanges: VecDeque<Exchange>,
    /// How many exchanges are in each of these states.
    thinking: u32,
    given: u32,
    streaming: u32,
    web_sockets: u32,
    forwarded: u32,
    full_echoes: u32,
    /// Echoes with short pieces that wait.
    pending_echoes: u32,
    /// Streams of whose bodies, which take memory, a piece is to be made when the driver asks for bytes. Over a byte stream it asks
    /// when the kernel would take them.
    asked: Vec<StreamId>,
    pace: Pace,
    /// None before the rest of a request comes behind its answer.
    unwanted: Option<Box<Unwanted>>,
    account: Account,
    /// What was pushed here; None before a policy pushes something.
    delivery: Option<Box<ConnectionDelivery>>,
    /// Since when there was no exchange.
    quiet_since: Instant,
    /// Whether responses may wait in the machine that have no exchange.
    awaits_released: bool,
    /// Whether an exchange has ended.
    has_served: bool,
    /// Whether the connection ends when nothing is under way on it.
    closes: bool,
    /// When its protocol was broken.
    failed_at: Option<Instant>,
}

/// What a session is made of.
#[derive(Debug)]
pub(crate) struct SessionSpec {
    pub(crate) connection: u64,
    pub(crate) peer: PeerAddress,
    pub(crate) protocol: Protocol,
    pub(crate) bytes_pass_unchanged: bool,
    /// Whether requests come within the handshake.
    pub(crate) is_early: bool,
}

/// What a session needs during one call.
pub(crate) struct Context<'a> {
    pub(crate) now: Instant,
    pub(crate) shared: &'a mut Shared,
    pub(crate) machine: &'a mut ServerMachine,
}

impl Session {
    pub(crate) fn new(now: Instant, spec: SessionSpec) -> Self {
        Self {
            connection: spec.connection,
            protocol: spec.protocol,
            bytes_pass_unchanged: spec.bytes_pass_unchanged,
            is_early: spec.is_early,
            exchanges: VecDeque::new(),
            thinking: 0,
            given: 0,
            streaming: 0,
            web_sockets: 0,
            forwarded: 0,
            full_echoes: 0,
            pending_echoes: 0,
            asked: Vec::new(),
            pace: Pace::default(),
            unwanted: None,
            account: Account::new(spec.peer),
            delivery: None,
            quiet_since: now,
            awaits_released: false,
            has_served: false,
            closes: false,
            failed_at: None,
        }
    }

    /// The handshake is over: what comes now comes once.
    pub(crate) fn handle_handshake(&mut self) -> bool {
        std::mem::take(&mut self.is_early)
    }

    /// Before requests may come: borrows buffers, where it has none.
    pub(crate) fn borrow_buffers(&mut self, machine: &mut ServerMachine, shared: &mut Shared) {
        if self.exchanges.is_empty() {
            machine.take_buffers(&mut shared.buffers.requests);
            shared.buffers.lend(&mut self.exchanges);
        }
    }

    /// Returns the buffers where no request is in progress.
    #[inline]
    pub(crate) fn return_buffers(&mut self, machine: &mut ServerMachine, shared: &mut Shared) {
        if self.exchanges.is_empty() {
            machine.return_buffers(&mut shared.buffers.requests);
            shared.buffers.take_back(&mut self.exchanges);
        }
    }

    pub(crate) fn handle_timeout(&mut self, context: &mut Context<'_>) {
        let now = context.now;
        let mut index = 0;
        while let Some(exchange) = self.exchanges.get(index) {
            match exchange.state {
                // Ends it where its head cannot be sent: another one is in its place then.
                State::Thinking { until, .. } if until <= now => self.stop_thinking(context, index),
                _ => index += 1,
            }
        }
        if self.full_echoes > 0 {
            self.reset_stalled_echoes(context);
        }
        if self.streaming > 0 {
            self.time_streams(context);
        }
        if self.web_sockets > 0 {
            self.time_web_sockets(context);
            self.keep_within_limit(context);
        }
    }

    /// When the next answer is due, or a WebSocket's time-out.
    #[inline]
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        if self.thinking + self.streaming + self.web_sockets + self.full_echoes == 0 {
            return None;
        }
        let due = |exchange: &Exchange| match &exchange.state {
            State::Thinking { until, .. } => Some(*until),
            State::Streaming(stream) => stream.poll_timeout(),
            State::WebSocket(web_socket) => web_socket.poll_timeout(),
            State::Echoing(echo) => echo.full.map(|full| full.until),
            _ => None,
        };
        self.exchanges.iter().filter_map(due).min()
    }

    /// Runs after a transmit: exchanges whose bytes are all sent end.
    #[inline]
    pub(crate) fn handle_transmitted(&mut self, context: &mut Context<'_>) {
        if self.pending_echoes > 0 {
            self.flush_echoes(context);
        }
        if self.forwarded > 0 {
            self.account_all_forwarded(context);
        }
        if self.awaits_released && !context.machine.has_released() {
            self.awaits_released = false;
            self.quiet_since = context.now;
        }
        let mut index = 0;
        while self.given > 0 && index < self.exchanges.len() {
            let exchange = &self.exchanges[index];
            let is_given = matches!(exchange.state, State::Given);
            if is_given && context.machine.unsent(exchange.stream) == 0 {
                self.end(context, index, ExchangeEnd::Done);
            } else {
                index += 1;
            }
        }
        if (self.closes || context.shared.config.keep_alive == KeepAlive::Off)
            && self.has_served
            && self.exchanges.is_empty()
        {
            if std::mem::take(&mut self.closes) {
                context.shared.visit_over = Some(context.now);
            }
            self.shutdown(context);
        }
    }

    /// Whether `give_asked` may give the connection bytes.
    #[inline]
    pub(crate) fn has_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Gives the streams that were asked more of their bodies.
    pub(crate) fn give_asked(&mut self, context: &mut Context<'_>) {
        let mut asked = std::mem::take(&mut self.asked);
        for stream in asked.drain(..) {
            let Some(index) = self.find(stream) else { continue };
            if self.protocol == Protocol::Http3 {
                // One piece, for the congestion window may be closed. Once some of it has gone, the stream is asked for more.
                self.send_piece(context, index);
            } else {
                self.handle_writable(context, index);
            }
        }
        self.asked = asked;
        self.keep_within_limit(context);
    }

    /// The machine has answered so many requests by itself.
    pub(crate) fn handle_repeats(&mut self, count: usize, shared: &mut Shared) {
        if count > 0 {
            self.awaits_released = true;
            self.has_served = true;
            shared.small_answers += count;
        }
    }

    /// Bytes that its exchanges hold.
    pub(crate) fn held(&self) -> usize {
        self.account.held()
    }

    /// The connection is over: what it held is nobody's.
    pub(crate) fn close_account(&mut self, shared: &mut Shared) {
        self.account.close(&mut shared.budgets);
    }

    /// Since when no request is in progress; None while one is.
    pub(crate) fn quiet_since(&self) -> Option<Instant> {
        (self.exchanges.is_empty() && !self.awaits_released).then_some(self.quiet_since)
    }

    /// Whether a request has come.
    pub(crate) fn was_asked(&self) -> bool {
        self.has_served || !self.exchanges.is_empty()
    }

    /// When its protocol was broken: since then only its last bytes are to be sent, and what arrives is ignored.
    pub(crate) fn failed_at(&self) -> Option<Instant> {
        self.failed_at
    }

    /// Whether the peer can only wait for this side.
    pub(crate) fn is_thinking(&self) -> bool {
        self.thinking > 0 || self.waits_for_tokens() || self.waits_for_application()
    }

    /// Takes no more requests and finishes those in progress.
    pub(crate) fn shutdown(&mut self, context: &mut Context<'_>) {
        self.quiet_since = context.now;
        self.close_web_sockets(context);
        context.machine.shutdown(context.now);
    }

    /// The socket is closed.
    pub(crate) fn cut_off(&mut self, context: &mut Context<'_>) {
        self.asked = Vec::new();
        while !self.exchanges.is_empty() {
            self.take_back_unsent(context, 0);
            self.end(context, 0, ExchangeEnd::CutOff);
        }
    }

    /// Of a body that was given whole, a file's for one, the connection may have sent little. Whether it has bytes of it.
    fn take_back_unsent(&mut self, context: &Context<'_>, index: usize) -> bool {
        let exchange = &mut self.exchanges[index];
        let left = context.machine.unsent(exchange.stream) as u64;
        exchange.ledger.sent_bytes = exchange.ledger.sent_bytes.saturating_sub(left);
        left > 0
    }

    /// Handles an event of the protocol machine.
    pub(crate) fn handle_event(&mut self, context: &mut Context<'_>, event: Event<'_>) {
        match event {
            Event::Request { stream, head, fin } => {
                let is_large = is_large(&head);
                self.closes |= context.shared.config.visits && head.path.starts_with(CLOSING_VISIT);
                context.shared.buffers.lend(&mut self.exchanges);
                if let Some(log) = &context.shared.log {
                    log.began(self.connection, stream.0);
                }
                let index = self.open(stream, Ledger::new(context.now, head));
                self.begin(context, index, fin);
                if is_large {
                    self.forget_fields(context, stream);
                }
            }
            Event::Data { stream, data, fin } => self.take_body(context, stream, data, fin),
            Event::Trailers { stream, .. } => self.take_body(context, stream, &[], Fin::Last),
            Event::Writable { stream } => {
                if let Some(index) = self.find(stream) {
                    // QUIC's driver asks until there are no bytes: what a stream is asked for later would be made at once all the same.
                    if self.protocol != Protocol::Http3 && self.takes_memory(index) {
                        self.asked.push(stream);
                    } else {
                        self.handle_writable(context, index);
                    }
                }
            }
            Event::Reset { stream, .. } => {
                self.end_unwanted(stream);
                if let Some(index) = self.find(stream) {
                    self.end(context, index, ExchangeEnd::CutOff);
                }
            }
            Event::Closed { error } => {
                self.failed_at = error.is_some().then_some(context.now);
                if let (Some(log), Some(error)) = (&context.shared.log, &error) {
                    log.ended_by_error(self.connection, error);
                }
                for index in (0..self.exchanges.len()).rev() {
                    let is_cut = self.take_back_unsent(context, index);
                    // What is in the socket's queue alone was not cut off.
                    let end = match self.exchanges[index].state {
                        State::Given if !is_cut => ExchangeEnd::Done,
                        _ => ExchangeEnd::CutOff,
                    };
                    self.end(context, index, end);
                }
            }
            // Draining: the peer makes no more requests, which needs no answer. The other events come to clients only.
            Event::Draining { .. }
            | Event::Informational { .. }
            | Event::Response { .. }
            | Event::Promise { .. } => {}
        }
    }

    /// Takes a piece of a request's body. Most targets ignore bodies and drop it.
    fn take_body(&mut self, context: &mut Context<'_>, stream: StreamId, data: &[u8], fin: Fin) {
        let index = self.find(stream);
        let mut credit = data.len();
        if let Some(index) = index {
            let exchange = &mut self.exchanges[index];
            exchange.ledger.received_bytes += data.len() as u64;
            match &mut exchange.state {
                State::Echoing(echo) => echo.uncredited += std::mem::take(&mut credit),
                // Credited when it has been sent back, or on.
                State::WebSocket(_) | State::Forwarded(_) => credit = 0,
                _ => {}
            }
        }
        if credit > 0 {
            context.machine.consume(stream, credit);
        }
        let Some(index) = index else { return self.drop_body(context, stream, data.len(), fin) };
        match self.exchanges[index].state {
            State::Echoing(_) => self.echo(context, index, data, fin),
            State::WebSocket(_) => self.feed_web_socket(context, index, data, fin),
            State::Forwarded(_) => self.forward_body(context, index, data, fin),
            State::Counting if fin == Fin::Last => self.answer_count(context, index),
            State::Taking(_) if fin == Fin::Last => self.answer_taken(context, index),
            _ => {}
        }
        self.keep_within_limit(context);
    }

    /// The rest of a request has come, or will not.
    fn end_unwanted(&mut self, stream: StreamId) {
        if let Some(unwanted) = &mut self.unwanted {
            unwanted.end(stream);
        }
    }

    /// RFC 9113 §8.1, RFC 9114 §4.1: after the whole answer the rest of a request is refused without an error.
    fn drop_body(&mut self, context: &mut Context<'_>, stream: StreamId, bytes: usize, fin: Fin) {
        if fin == Fin::Last {
            self.end_unwanted(stream);
        } else if self.unwanted.get_or_insert_default().count(stream, bytes) == Rest::Refused {
            context.machine.reset(context.now, stream);
        }
    }

    /// Books what an exchange holds now.
    #[inline]
    fn hold(&mut self, context: &mut Context<'_>, index: usize, bytes: usize) {
        let exchange = &mut self.exchanges[index];
        self.account.change(exchange.held, bytes, &mut context.shared.budgets);
        exchange.held = bytes;
    }

    /// Resets the exchanges that hold most, while all together hold more than a connection may.
    fn keep_within_limit(&mut self, context: &mut Context<'_>) {
        while self.account.held() > context.shared.config.limits.held_by_connection {
            let most = (0..self.exchanges.len()).max_by_key(|index| self.exchanges[*index].held);
            let Some(index) = most else { return };
            context.machine.reset(context.now, self.exchanges[index].stream);
            self.end(context, index, ExchangeEnd::CutOff);
        }
    }

    /// An answer that waits keeps no large header section of its request: HPACK makes one of a few bytes. Under a delivery policy it
    /// keeps the target and the fields that the policy reads, in as many bytes as a request may keep that is not large.
    fn forget_fields(&mut self, context: &Context<'_>, stream: StreamId) {
        let Some(index) = self.find(stream) else { return };
        let Ledger { request, is_cut, .. } = &mut self.exchanges[index].ledger;
        let has_policy = context.shared.delivery.is_some();
        let longest = if has_policy { LARGE_FIELDS } else { LARGE_TARGET };
        if request.path.len() > longest {
            *is_cut = true;
            let kept = if context.shared.log.is_some() { LARGE_TARGET } else { 0 };
            request.path.truncate(request.path.floor_char_boundary(kept));
            request.path.shrink_to_fit();
        }
        let room =
            (LARGE_FIELDS + LARGE_TARGET).saturating_sub(request.path.len()).min(LARGE_FIELDS);
        if request.fields.capacity() > room {
            request.fields = match has_policy {
                true => read_by_policy(&request.fields, room),
                false => Fields::new(),
            };
        }
    }

    /// Whether the next piece of a response takes memory. It is made when the driver asks for bytes: the stream may have been reset by
    /// then.
    #[inline]
    fn takes_memory(&self, index: usize) -> bool {
        match &self.exchanges[index].state {
            State::Sending(body) => respond::counts(body),
            State::Streaming(_) => true,
            State::WebSocket(web_socket) => web_socket.has_tokens(),
            _ => false,
        }
    }

    /// Takes a new exchange. Gives its place, which is usually the last: streams are opened in their order.
    #[inline]
    fn open(&mut self, stream: StreamId, ledger: Ledger) -> usize {
        let is_last = self.exchanges.back().is_none_or(|last| last.stream < stream);
        if is_last {
            self.exchanges.push_back(Exchange::new(stream, ledger));
            return self.exchanges.len() - 1;
        }
        let index = self.exchanges.partition_point(|other| other.stream < stream);
        self.exchanges.insert(index, Exchange::new(stream, ledger));
        index
    }

    #[inline]
    fn find(&self, stream: StreamId) -> Option<usize> {
        self.exchanges.binary_search_by_key(&stream, |exchange| exchange.stream).ok()
    }

    /// Ends an exchange, complete or not.
    fn end(&mut self, context: &mut Context<'_>, index: usize, end: ExchangeEnd) {
        // Usually it is the first, which moves no other.
        let exchange = match index {
            0 => self.exchanges.pop_front(),
            _ => self.exchanges.remove(index),
        };
        let Some(exchange) = exchange else { return };
        self.account.change(exchange.held, 0, &mut context.shared.budgets);
        match &exchange.state {
            State::Thinking { .. } => self.thinking -= 1,
            State::Given => self.given -= 1,
            State::Streaming(_) => self.streaming -= 1,
            State::Echoing(echo) => {
                self.pending_echoes -= u32::from(!echo.pending.is_empty());
                self.full_echoes -= u32::from(echo.full.is_some());
            }
            State::WebSocket(_) => self.web_sockets -= 1,
            State::Forwarded(forwarded) => {
                self.forwarded -= 1;
                if let Some(upstream) = &mut context.shared.upstream {
                    upstream.cancel(context.now, forwarded.id);
                }
            }
            _ => {}
        }
        context.shared.echoes -= exchange.buffered;
        if let Some(log) = &context.shared.log {
            log.record(&exchange.record(context.now, self.connection, self.protocol, end));
        }
        self.quiet_since = context.now;
        self.has_served = true;
        context.machine.recycle(exchange.ledger.request);
    }
}

fn is_large(head: &RequestHead) -> bool {
    head.fields.capacity() > LARGE_FIELDS || head.path.len() > LARGE_TARGET
}

/// Bytes of a request's fields that are kept until the request is answered, for the next request's. Browsers send less.
const LARGE_FIELDS: usize = 4 * 1024;

/// Bytes of a target that are kept for the access log.
const LARGE_TARGET: usize = 1024;
