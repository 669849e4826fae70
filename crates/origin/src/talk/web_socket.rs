//! WebSockets among the exchanges: the stream's bytes in both directions are theirs.

use super::Talk;
use crate::access::ExchangeEnd;
use crate::answer::{self, Answer};
use crate::exchange::State;
use crate::origin::Shared;
use crate::web_socket::{Service, Session};
use proto::{Fin, StreamId};
use unit::Instant;

impl Talk {
    /// A request for a WebSocket, or something like it, is there.
    pub(super) fn open_web_socket(
        &mut self,
        now: Instant,
        shared: &mut Shared,
        (index, service): (usize, Service),
    ) {
        let limits = shared.config.limits;
        // Half of the silence that the origin bears: so a peer that lives is heard in time.
        let tracer = shared.tracer.for_connection(self.connection);
        let parts = (&shared.config.web_socket, limits.stall / 2, tracer);
        let request = &self.exchanges[index].ledger.request;
        match Session::open(now, request, service, parts) {
            Ok((head, session)) => {
                let head = shared.head(now, head.status, &head.fields);
                if self.respond_head(now, shared, index, (&head, Fin::More)) {
                    self.exchanges[index].state = State::WebSocket(Box::new(session));
                    self.web_sockets += 1;
                }
            }
            Err(refusal) => {
                let head = refusal.head();
                let mut answer = Answer::text(head.status, refusal.reason());
                if self.protocol == "http/1.1" {
                    for field in head.fields.iter() {
                        answer.fields.push_field(field);
                    }
                } else {
                    // RFC 9113 §8.2.2: Upgrade is no field of the others, so 426 cannot be said.
                    answer.status = answer::BAD_REQUEST;
                }
                self.respond(now, shared, index, answer);
            }
        }
    }

    /// Bytes of a WebSocket.
    pub(super) fn feed_web_socket(
        &mut self,
        now: Instant,
        shared: &Shared,
        index: usize,
        (data, fin): (&[u8], Fin),
    ) {
        if let State::WebSocket(session) = &mut self.exchanges[index].state {
            session.take(now, data, fin);
            let queue = session.queue();
            let stream = self.exchanges[index].stream;
            if self.speaker.unsent(stream) < queue {
                self.pump_web_socket(now, shared, index);
            }
        }
    }

    /// Sends what a WebSocket has to say, up to the mark, and gives credit for what it has answered. At
    /// least a piece is sent: a connection asks once for each.
    pub(super) fn pump_web_socket(&mut self, now: Instant, shared: &Shared, index: usize) {
        let exchange = &mut self.exchanges[index];
        let stream = exchange.stream;
        let State::WebSocket(session) = &mut exchange.state else { return };
        let queue = session.queue();
        loop {
            let Some((piece, fin)) = session.next(now) else {
                if session.resume(now) {
                    continue;
                }
                // Everything was answered, and all answers are with the connection.
                let credit = session.take_credit();
                return self.consume(stream, credit);
            };
            exchange.ledger.sent_bytes += piece.len() as u64;
            if self.speaker.send(stream, piece, fin).is_err() {
                return self.end(now, shared, index, ExchangeEnd::CutOff);
            }
            if fin == Fin::Last {
                let credit = session.take_credit();
                exchange.state = State::Given;
                self.web_sockets -= 1;
                self.given += 1;
                return self.consume(stream, credit);
            }
            if self.speaker.unsent(stream) >= queue {
                return;
            }
        }
    }

    /// Looks after the WebSockets whose time has come.
    pub(super) fn time_web_sockets(&mut self, now: Instant, shared: &Shared) {
        for index in (0..self.exchanges.len()).rev() {
            if let State::WebSocket(session) = &mut self.exchanges[index].state
                && session.poll_timeout().is_some_and(|at| at <= now)
            {
                session.handle_timeout(now);
                self.pump_web_socket(now, shared, index);
            }
        }
    }

    /// Tells all WebSockets that the origin goes away.
    pub(super) fn close_web_sockets(&mut self, now: Instant, shared: &Shared) {
        for index in (0..self.exchanges.len()).rev() {
            if let State::WebSocket(session) = &mut self.exchanges[index].state {
                session.shutdown();
                self.pump_web_socket(now, shared, index);
            }
        }
    }

    fn consume(&mut self, stream: StreamId, bytes: usize) {
        if bytes > 0 {
            self.speaker.consume(stream, bytes);
        }
    }
}
