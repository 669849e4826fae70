//! Exchanges that have become WebSockets: their stream carries frames in both directions.

use super::{Context, Session};
use crate::access::ExchangeEnd;
use crate::answer::{self, Answer};
use crate::exchange::State;
use crate::web_socket::{Service, Setup, WebSocket};
use bytes::Bytes;
use proto::{Fin, StreamId};
use transport::Protocol;

impl Session {
    /// Handles a request whose target is a WebSocket.
    pub(super) fn open_web_socket(
        &mut self,
        context: &mut Context<'_>,
        index: usize,
        service: Service,
        fin: Fin,
    ) {
        let limits = context.shared.config.limits;
        // Half of the stall limit, so that the pong of a live peer comes before it.
        let tracer = context.shared.tracer.for_connection(self.connection);
        let has_memory = context.shared.budgets.held() < limits.held / 2;
        let deflate = context.shared.config.web_socket.deflate.filter(|_| has_memory);
        let setup = Setup {
            settings: &context.shared.config.web_socket,
            deflate,
            ping_after: limits.stall / 2,
            tracer,
        };
        let request = &self.exchanges[index].ledger.request;
        match WebSocket::open(context.now, request, service, setup) {
            Ok((head, web_socket)) => {
                let head = context.shared.head(context.now, head.status, &head.fields);
                if self.respond_head(context, index, &head, Fin::More) {
                    self.exchanges[index].state = State::WebSocket(Box::new(web_socket));
                    self.web_sockets += 1;
                    // Over HTTP/1.1 the request has an end of its own. A stream may end with its CONNECT (RFC 8441 §5).
                    if fin == Fin::Last && self.protocol != Protocol::Http1 {
                        self.feed_web_socket(context, index, &[], fin);
                    }
                }
            }
            Err(refusal) => {
                let head = refusal.head();
                let mut answer = Answer::text(head.status, refusal.reason());
                if self.protocol == Protocol::Http1 {
                    for field in head.fields.iter() {
                        answer.fields.push_field(field);
                    }
                } else {
                    // RFC 9113 §8.2.2: HTTP/2 has no Upgrade field, so 426 cannot be used.
                    answer.status = answer::BAD_REQUEST;
                }
                self.respond(context, index, answer);
            }
        }
    }

    /// Passes received bytes to a WebSocket.
    pub(super) fn feed_web_socket(
        &mut self,
        context: &mut Context<'_>,
        index: usize,
        data: &[u8],
        fin: Fin,
    ) {
        let memory = self.memory_for_message(context, index);
        if let State::WebSocket(web_socket) = &mut self.exchanges[index].state {
            web_socket.limit_memory(memory);
            web_socket.take(context.now, data, fin);
            let queue = web_socket.queue();
            let stream = self.exchanges[index].stream;
            if context.machine.unsent(stream) < queue {
                if !self.takes_memory(index) {
                    self.pump_web_socket(context, index);
                } else if !self.asked.contains(&stream) {
                    // However many messages came with this one: each entry gets a piece.
                    self.asked.push(stream);
                }
            }
            self.hold_web_socket(context, stream);
        }
    }

    /// Bytes that a compressed message may take: what is left of the budgets of its connection, its peer and the thread,
    /// and what its WebSocket holds already. A small one is always taken; who holds most then makes way for it.
    fn memory_for_message(&self, context: &Context<'_>, index: usize) -> usize {
        let limits = &context.shared.config.limits;
        let of_connection = limits.held_by_connection.saturating_sub(self.account.held());
        let peer = self.account.peer();
        let left = context.shared.budgets.left(peer, limits.budgets(), of_connection);
        left.saturating_add(self.exchanges[index].held).max(SMALL_MESSAGE)
    }

    /// Books what a WebSocket holds: messages that arrive, answers and tokens that wait, and its coders.
    pub(super) fn hold_web_socket(&mut self, context: &mut Context<'_>, stream: StreamId) {
        let Some(index) = self.find(stream) else { return };
        if let State::WebSocket(web_socket) = &self.exchanges[index].state {
            let bytes = web_socket.bytes_held() + context.machine.unsent(stream);
            self.hold(context, index, bytes);
        }
    }

    /// Sends the output of a WebSocket until enough is queued, and credits what it has answered. At least one piece is
    /// sent: a connection asks once for each.
    pub(super) fn pump_web_socket(&mut self, context: &mut Context<'_>, index: usize) {
        let memory = self.memory_for_message(context, index);
        let exchange = &mut self.exchanges[index];
        let stream = exchange.stream;
        let State::WebSocket(web_socket) = &mut exchange.state else { return };
        web_socket.limit_memory(memory);
        let queue = web_socket.queue();
        loop {
            look_for_credit(context, stream, web_socket);
            let Some((piece, fin)) = web_socket.next(context.now) else {
                if web_socket.resume(context.now) {
                    continue;
                }
                // All messages were answered, and the answers are with the connection.
                let credit = web_socket.take_credit();
                return consume(context, stream, credit);
            };
            exchange.ledger.sent_bytes += piece.len() as u64;
            if context.machine.send(stream, piece, fin).is_err() {
                return self.end(context, index, ExchangeEnd::CutOff);
            }
            if fin == Fin::Last {
                let credit = web_socket.take_credit();
                exchange.state = State::Given;
                self.web_sockets -= 1;
                self.given += 1;
                return consume(context, stream, credit);
            }
            if context.machine.unsent(stream) >= queue {
                return;
            }
        }
    }

    /// Handles the time-outs of WebSockets.
    pub(super) fn time_web_sockets(&mut self, context: &mut Context<'_>) {
        for index in (0..self.exchanges.len()).rev() {
            let exchange = &mut self.exchanges[index];
            if let State::WebSocket(web_socket) = &mut exchange.state
                && web_socket.poll_timeout().is_some_and(|at| at <= context.now)
            {
                let stream = exchange.stream;
                look_for_credit(context, stream, web_socket);
                web_socket.handle_timeout(context.now);
                // Where enough is queued, the connection asks for more.
                let queue = web_socket.queue();
                if context.machine.unsent(stream) < queue {
                    self.pump_web_socket(context, index);
                }
                self.hold_web_socket(context, stream);
            }
        }
    }

    /// Closes all WebSockets because the origin stops.
    pub(super) fn close_web_sockets(&mut self, context: &mut Context<'_>) {
        for index in (0..self.exchanges.len()).rev() {
            if let State::WebSocket(web_socket) = &mut self.exchanges[index].state {
                web_socket.shutdown();
                self.pump_web_socket(context, index);
            }
        }
    }
}

/// Bytes of a message that is inflated however little is left of the budgets.
const SMALL_MESSAGE: usize = 1024 * 1024;

/// Tells a WebSocket whether its peer has credit. Where tokens wait for it, the connection asks once there is some, or once some of what
/// waits has gone.
fn look_for_credit(context: &mut Context<'_>, stream: StreamId, web_socket: &mut WebSocket) {
    if !web_socket.has_tokens() {
        return;
    }
    let has_credit = context.machine.send_credit(stream).stream > 0;
    web_socket.set_credit(has_credit);
    if !has_credit && context.machine.unsent(stream) > 0 {
        // No bytes, but the wish to be asked again. Where that fails the exchange is about to end.
        let _asks = context.machine.send(stream, Bytes::new(), Fin::More);
    }
}

fn consume(context: &mut Context<'_>, stream: StreamId, bytes: usize) {
    if bytes > 0 {
        context.machine.consume(stream, bytes);
    }
}
