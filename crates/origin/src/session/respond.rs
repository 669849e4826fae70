//! Sends the response of an exchange: at once, after its server time, or while the request body arrives.

use super::{Context, Session};
use crate::access::ExchangeEnd;
use crate::answer::{Answer, CONTINUE, Plan};
use crate::body::Body;
use crate::exchange::{Exchange, State};
use crate::response_cache::CachedResponse;
use crate::shared::Shared;
use bytes::Bytes;
use proto::h1::KeepAlive;
use proto::{Fin, Method, Misuse, RequestHead, ResponseHead, Status, StreamId};
use std::time::Duration;
use transport::Protocol;

/// Bytes that are queued on a stream before its body waits, and that are produced at a time, where few streams share
/// the connection. The body continues after a transmit.
const PIECE_OF_FEW: usize = 64 * 1024;

/// The same over TLS, which also holds the record that the socket does not take.
const PIECE_OVER_TLS: usize = 32 * 1024;

/// The same where many do: a hundred streams then hold a few megabytes, not tens.
const PIECE_OF_MANY: usize = 16 * 1024;

/// A body that takes no more memory than this is not worth counting.
const UNCOUNTED: u64 = 1024;

/// What a body gets that has as much as [`Pace::least`] already.
pub(super) const LEAST_MORE: usize = 64;

/// More exchanges than this are many.
const FEW: usize = 4;

/// The result of sending a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// There is more to send.
    More,
    /// There is nothing more at the moment.
    Last,
}

impl Session {
    /// Handles the head of a request.
    pub(super) fn begin(&mut self, context: &mut Context<'_>, index: usize, fin: Fin) {
        let request = &self.exchanges[index].ledger.request;
        if self.is_too_early(request) {
            let answer = Answer::text(Status::TOO_EARLY, "Send it again after the handshake.\n");
            return self.respond(context, index, answer);
        }
        if context.shared.delivery.is_some() {
            return self.begin_delivery(context, index, fin);
        }
        let plan = context.shared.site.plan(context.now, request);
        self.carry_out(context, index, plan, fin);
    }

    /// Answers a request as planned.
    pub(super) fn carry_out(
        &mut self,
        context: &mut Context<'_>,
        index: usize,
        plan: Plan,
        fin: Fin,
    ) {
        if fin == Fin::More && !matches!(plan, Plan::Answer(_)) {
            let Exchange { stream, ledger, .. } = &self.exchanges[index];
            if awaits_continue(&ledger.request) {
                // RFC 9110 §10.1.1: the body is wanted. Other targets decline it by their final response.
                let _unsaid = context.machine.inform(*stream, &ResponseHead::new(CONTINUE));
            }
        }
        match plan {
            Plan::Cached(cached) => {
                let stream = self.exchanges[index].stream;
                let head = context.shared.cached_head(context.now, &cached);
                self.answer_whole(context, index, &head, cached.body());
                if self.is_unobserved(context, &cached) {
                    let next_date = context.shared.config.wall_clock.next_second(context.now);
                    context.machine.allow_repeats(stream, cached.until().min(next_date));
                    self.release(context, stream);
                }
            }
            Plan::Answer(answer) => self.think(context, index, answer),
            Plan::AnswerAfter(answer) if fin == Fin::Last => self.think(context, index, *answer),
            Plan::AnswerAfter(answer) => self.exchanges[index].state = State::Taking(answer),
            Plan::Echo => self.begin_echo(context, index, fin),
            Plan::Count if fin == Fin::Last => self.answer_count(context, index),
            Plan::Count => {}
            Plan::Stream(stream) => self.begin_stream(context, index, stream),
            Plan::WebSocket(service) => self.open_web_socket(context, index, service, fin),
            Plan::Forward => self.begin_forward(context, index, fin),
        }
    }

    /// Leaves a response that was given to the machine, where that takes it over.
    fn release(&mut self, context: &mut Context<'_>, stream: StreamId) {
        if context.machine.release(stream)
            && let Some(index) = self.find(stream)
        {
            self.end(context, index, ExchangeEnd::Done);
            self.awaits_released = true;
        }
    }

    /// Whether nobody but the client notices that a response is sent again, or that its exchange ends before it is sent.
    fn is_unobserved(&self, context: &Context<'_>, cached: &CachedResponse) -> bool {
        let Shared { config, delivery, log, .. } = &*context.shared;
        self.protocol == Protocol::Http3
            && cached.body().left() <= UNCOUNTED
            && log.is_none()
            && delivery.is_none()
            && !config.visits
            && config.keep_alive == KeepAlive::On
    }

    /// Answers once the server time is over.
    fn think(&mut self, context: &mut Context<'_>, index: usize, answer: Answer) {
        if answer.delay == Duration::ZERO {
            return self.respond(context, index, answer);
        }
        let until = context.now + answer.delay;
        self.exchanges[index].state = State::Thinking { until, answer: Box::new(answer) };
        self.thinking += 1;
    }

    /// The body of a request has come, whose answer follows it.
    pub(super) fn answer_taken(&mut self, context: &mut Context<'_>, index: usize) {
        let state = std::mem::replace(&mut self.exchanges[index].state, State::Counting);
        if let State::Taking(answer) = state {
            self.think(context, index, *answer);
        }
    }

    /// Whether a request that changes something came within the handshake, here or at a proxy: whoever has recorded it
    /// could send it again (RFC 8470 §3, §5.1).
    fn is_too_early(&self, request: &RequestHead) -> bool {
        !request.method.is_safe() && (self.is_early || request.fields.find(b"early-data").is_some())
    }

    /// Sends the answers whose server time has ended.
    pub(super) fn stop_thinking(&mut self, context: &mut Context<'_>, index: usize) {
        let state = std::mem::replace(&mut self.exchanges[index].state, State::Counting);
        match state {
            State::Thinking { answer, .. } => {
                self.thinking -= 1;
                self.respond(context, index, *answer);
            }
            other => self.exchanges[index].state = other,
        }
    }

    /// Answers with the length of the request's body.
    pub(super) fn answer_count(&mut self, context: &mut Context<'_>, index: usize) {
        let count = self.exchanges[index].ledger.received_bytes;
        self.respond(context, index, Answer::text(Status::OK, &count.to_string()));
    }

    /// The connection asks for more of a body. At least one piece is given, however much is queued: a connection asks
    /// once for each piece, and does not ask again after a call that gave none.
    pub(super) fn handle_writable(&mut self, context: &mut Context<'_>, index: usize) {
        if self.send_piece(context, index) == Sent::More {
            self.pump(context, index);
        }
    }

    /// Sends more of a body, until enough is queued.
    fn pump(&mut self, context: &mut Context<'_>, index: usize) {
        let stream = self.exchanges[index].stream;
        while context.machine.unsent(stream) < self.piece()
            && self.send_piece(context, index) == Sent::More
        {}
    }

    pub(super) fn piece(&self) -> usize {
        match self.exchanges.len() {
            // QUIC takes as much as one batch of datagrams holds.
            0..=FEW if self.bytes_pass_unchanged || self.protocol == Protocol::Http3 => {
                PIECE_OF_FEW
            }
            0..=FEW => PIECE_OVER_TLS,
            _ => PIECE_OF_MANY,
        }
    }

    /// Bytes of the next piece of a body that takes memory: as many as the peer has credit for, but a few where none wait.
    /// They are asked for again once they are sent, and then by a peer that gave credit.
    fn piece_of_made(&self, context: &Context<'_>, stream: StreamId) -> usize {
        let credit = context.machine.send_credit(stream);
        let held = self.account.held();
        let of_connection = credit.connection.saturating_sub(held);
        let of_many = self.of_many();
        let of_thread =
            context.shared.config.limits.held.saturating_sub(context.shared.budgets.held());
        let (unsent, least) = (context.machine.unsent(stream), self.pace.least(held, credit));
        let least = match unsent {
            // It is asked for once its turn has come.
            _ if credit.stream == 0 && self.protocol == Protocol::Http1 => 0,
            _ if unsent < least => least,
            // What waits for credit is asked for again when it is sent. Credit that comes by single bytes must not make it grow.
            _ if credit.stream == 0 && self.protocol != Protocol::Http3 => 0,
            _ => LEAST_MORE,
        };
        let most = [credit.stream, of_connection, of_many, of_thread].into_iter().min();
        most.map_or(0, |most| most.min(self.piece()).min(self.pace.bytes(held))).max(least)
    }

    /// Bytes that a body may get where many share the connection: the more they hold together, the fewer.
    pub(super) fn of_many(&self) -> usize {
        match self.exchanges.len() {
            0..=FEW => usize::MAX,
            _ => self.pace.of_many(self.account.held()).saturating_sub(self.account.held()) / 4,
        }
    }

    /// Sends one piece of whatever the exchange has to send.
    pub(super) fn send_piece(&mut self, context: &mut Context<'_>, index: usize) -> Sent {
        match self.exchanges[index].state {
            State::Sending(_) => return self.send_body(context, index),
            State::Echoing(_) => self.credit_echo(context, index),
            State::WebSocket(_) => {
                let stream = self.exchanges[index].stream;
                self.pump_web_socket(context, index);
                self.hold_web_socket(context, stream);
            }
            State::Streaming(_) => self.pump_stream(context, index),
            State::Thinking { .. }
            | State::Counting
            | State::Taking(_)
            | State::Forwarded(_)
            | State::Given => {}
        }
        Sent::Last
    }

    /// Sends a piece of a body.
    fn send_body(&mut self, context: &mut Context<'_>, index: usize) -> Sent {
        let stream = self.exchanges[index].stream;
        let is_made = matches!(&self.exchanges[index].state, State::Sending(body) if counts(body));
        let mut limit = self.piece();
        if is_made {
            self.hold(context, index, context.machine.unsent(stream));
            limit = self.piece_of_made(context, stream);
        }
        if limit == 0 {
            // No bytes, but the wish to be asked again. Where that fails the exchange is about to end.
            let _asks = context.machine.send(stream, Bytes::new(), Fin::More);
            return Sent::Last;
        }
        let exchange = &mut self.exchanges[index];
        let State::Sending(body) = &mut exchange.state else { return Sent::Last };
        if self.bytes_pass_unchanged
            && let Some(part) = body.file_part()
        {
            let length = part.len() as u64;
            if let Some(sent) = context.machine.send_file(stream, part, Fin::Last) {
                exchange.ledger.sent_bytes += length;
                return self.after_last(context, index, sent);
            }
        }
        let Ok(piece) = body.next(limit) else {
            context.machine.reset(context.now, stream);
            self.end(context, index, ExchangeEnd::Broken);
            return Sent::Last;
        };
        let fin = if body.left() == 0 { Fin::Last } else { Fin::More };
        let length = piece.len();
        exchange.ledger.sent_bytes += length as u64;
        if context.machine.send(stream, piece, fin).is_err() {
            self.end(context, index, ExchangeEnd::CutOff);
            return Sent::Last;
        }
        if fin == Fin::Last {
            exchange.state = State::Given;
            self.given += 1;
        }
        if is_made {
            self.pace.handle_made(length);
            self.hold(context, index, context.machine.unsent(stream));
        }
        // A body of which the peer is in the way is asked for again.
        if fin == Fin::More && limit == self.piece() { Sent::More } else { Sent::Last }
    }

    /// The rest of a body was given to the connection as a part of a file.
    fn after_last(
        &mut self,
        context: &mut Context<'_>,
        index: usize,
        sent: Result<(), Misuse>,
    ) -> Sent {
        if sent.is_ok() {
            self.exchanges[index].state = State::Given;
            self.given += 1;
        } else {
            self.end(context, index, ExchangeEnd::CutOff);
        }
        Sent::Last
    }

    /// Sends the head of an answer and as much of its body as may wait.
    pub(super) fn respond(&mut self, context: &mut Context<'_>, index: usize, answer: Answer) {
        let mut head = context.shared.head(context.now, answer.status, &answer.fields);
        let length = answer.body.left();
        // RFC 9110 §8.6: never with 204. With 304 it would have to be the length of the whole representation.
        if !answer.status.forbids_body() && head.fields.find(b"content-length").is_none() {
            head.fields.push(b"content-length", length.to_string().as_bytes());
        }
        self.answer_whole(context, index, &head, answer.body);
    }

    fn answer_whole(
        &mut self,
        context: &mut Context<'_>,
        index: usize,
        head: &ResponseHead,
        body: Body,
    ) {
        match context.shared.delivery {
            Some(_) => self.deliver(context, index, head, body),
            None => self.send_answer(context, index, head, body),
        }
    }

    /// Sends the head of a response and as much of its body as may wait.
    pub(super) fn send_answer(
        &mut self,
        context: &mut Context<'_>,
        index: usize,
        head: &ResponseHead,
        body: Body,
    ) {
        let is_bodiless = body.left() == 0
            || head.status.forbids_body()
            || self.exchanges[index].ledger.request.method == Method::Head;
        let fin = if is_bodiless { Fin::Last } else { Fin::More };
        if !self.respond_head(context, index, head, fin) {
            return;
        }
        if is_bodiless {
            self.give_small(context, index);
        } else if body.left() <= UNCOUNTED {
            self.send_small(context, index, body);
        } else {
            self.exchanges[index].state = State::Sending(body);
            context.machine.keep_turn(self.exchanges[index].stream);
            if self.takes_memory(index) {
                self.asked.push(self.exchanges[index].stream);
            } else {
                self.pump(context, index);
            }
        }
    }

    /// Sends a body of so few bytes that all may wait.
    fn send_small(&mut self, context: &mut Context<'_>, index: usize, mut body: Body) {
        let exchange = &mut self.exchanges[index];
        let stream = exchange.stream;
        while body.left() > 0 {
            let Ok(piece) = body.next(UNCOUNTED as usize) else {
                context.machine.reset(context.now, stream);
                return self.end(context, index, ExchangeEnd::Broken);
            };
            let fin = if body.left() == 0 { Fin::Last } else { Fin::More };
            exchange.ledger.sent_bytes += piece.len() as u64;
            if context.machine.send(stream, piece, fin).is_err() {
                return self.end(context, index, ExchangeEnd::CutOff);
            }
        }
        self.give_small(context, index);
    }

    /// A small answer was given to the connection, or one without a body.
    pub(super) fn give_small(&mut self, context: &mut Context<'_>, index: usize) {
        self.exchanges[index].state = State::Given;
        self.given += 1;
        context.shared.small_answers += usize::from(self.protocol == Protocol::Http3);
    }

    /// Sends a head. False where that failed; the exchange has then ended.
    pub(super) fn respond_head(
        &mut self,
        context: &mut Context<'_>,
        index: usize,
        head: &ResponseHead,
        fin: Fin,
    ) -> bool {
        let exchange = &mut self.exchanges[index];
        exchange.ledger.answered = Some((context.now, head.status.code()));
        let stream = exchange.stream;
        if let Some(log) = &context.shared.log {
            log.answered(self.connection, stream.0, head);
        }
        if context.machine.respond(stream, head, fin).is_ok() {
            return true;
        }
        context.machine.reset(context.now, stream);
        self.end(context, index, ExchangeEnd::CutOff);
        false
    }
}

/// Whether what is made of a body takes memory that is worth counting.
#[inline]
pub(super) fn counts(body: &Body) -> bool {
    body.left() > UNCOUNTED && body.is_made()
}

/// Whether the client waits for 100 (Continue) before it sends the body.
fn awaits_continue(request: &RequestHead) -> bool {
    request.fields.find(b"expect").is_some_and(|value| value.eq_ignore_ascii_case(b"100-continue"))
}
