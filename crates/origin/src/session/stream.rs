//! `/stream`: a response whose tokens leave one by one, each when it is due. The one rule: tokens are never collected here;
//! only a connection that takes no more bytes makes one wait for the next.

use super::respond::LEAST_MORE;
use super::{Context, Session};
use crate::access::ExchangeEnd;
use crate::exchange::State;
use crate::streamed::Streamed;
use bytes::Bytes;
use proto::{Fin, Method, Status};
use transport::Protocol;

/// Bytes queued on a stream before further tokens wait, at most.
const QUEUE: usize = 16 * 1024;

impl Session {
    /// Sends the head of a stream. The tokens that are due at once follow when the driver asks for bytes.
    pub(super) fn begin_stream(
        &mut self,
        context: &mut Context<'_>,
        index: usize,
        mut stream: Box<Streamed>,
    ) {
        let head = context.shared.head(context.now, Status::OK, &stream.fields());
        if self.exchanges[index].ledger.request.method == Method::Head {
            if self.respond_head(context, index, &head, Fin::Last) {
                self.give_small(context, index);
            }
            return;
        }
        if self.respond_head(context, index, &head, Fin::More) {
            // Until the driver asks for bytes.
            stream.is_full = true;
            self.exchanges[index].state = State::Streaming(stream);
            self.streaming += 1;
            self.asked.push(self.exchanges[index].stream);
        }
    }

    /// Sends the tokens that are due.
    pub(super) fn pump_stream(&mut self, context: &mut Context<'_>, index: usize) {
        let stream = self.exchanges[index].stream;
        self.send_tokens(context, index);
        if self.exchanges.get(index).is_some_and(|exchange| exchange.stream == stream) {
            self.hold(context, index, context.machine.unsent(stream));
        }
    }

    fn send_tokens(&mut self, context: &mut Context<'_>, index: usize) {
        let queue = QUEUE.min(self.pace.bytes(self.account.held()));
        let mut of_many = match self.protocol {
            Protocol::Http1 | Protocol::Http3 => usize::MAX,
            _ => self.of_many(),
        };
        let exchange = &mut self.exchanges[index];
        let State::Streaming(stream) = &mut exchange.state else { return };
        loop {
            let unsent = context.machine.unsent(exchange.stream);
            let credit = context.machine.send_credit(exchange.stream);
            // Where nothing waits and there is no credit, HTTP/2 asks once there is some; HTTP/1.1, where an earlier
            // response is in the way, asks only after it got something.
            let is_first = self.protocol == Protocol::Http1 && exchange.ledger.sent_bytes == 0;
            let least = self.pace.least(self.account.held(), credit);
            let limit = match unsent {
                _ if is_first => credit.stream.max(least),
                0 => credit.stream.min(of_many.max(least)),
                _ if of_many < LEAST_MORE => 0,
                _ => credit.stream.min(of_many),
            };
            let limit = limit.min(queue.saturating_sub(unsent));
            stream.is_full = limit == 0;
            if stream.is_full {
                if of_many < LEAST_MORE {
                    // No bytes, but the wish to be asked again. Where that fails the exchange is about to end.
                    let _asks = context.machine.send(exchange.stream, Bytes::new(), Fin::More);
                }
                return;
            }
            let Some(piece) = stream.next(context.now, limit) else { return };
            let fin = if stream.due().is_none() { Fin::Last } else { Fin::More };
            exchange.ledger.sent_bytes += piece.len() as u64;
            of_many = of_many.saturating_sub(piece.len());
            self.pace.handle_made(piece.len());
            if context.machine.send(exchange.stream, piece, fin).is_err() {
                return self.end(context, index, ExchangeEnd::CutOff);
            }
            if fin == Fin::Last {
                exchange.state = State::Given;
                self.streaming -= 1;
                self.given += 1;
                return;
            }
        }
    }

    /// Sends the tokens of all streams that have become due.
    pub(super) fn time_streams(&mut self, context: &mut Context<'_>) {
        for index in (0..self.exchanges.len()).rev() {
            if let State::Streaming(stream) = &self.exchanges[index].state
                && stream.poll_timeout().is_some_and(|at| at <= context.now)
            {
                self.pump_stream(context, index);
            }
        }
    }

    /// Whether a stream waits for the time of its next token, and not for its client to read.
    pub(super) fn waits_for_tokens(&self) -> bool {
        let waits = |state: &State| matches!(state, State::Streaming(stream) if !stream.is_full);
        self.streaming > 0 && self.exchanges.iter().any(|exchange| waits(&exchange.state))
    }
}
