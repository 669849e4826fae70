//! `/echo`: a request's body goes back as it comes. Some clients read nothing before all of their request is gone, so
//! the bytes that they have not read wait here, up to a limit for each echo and one for all echoes of the thread.

use super::{Context, Session};
use crate::access::ExchangeEnd;
use crate::answer::{Answer, CONTENT_TOO_LARGE};
use crate::body::Body;
use crate::exchange::{Full, State};
use bytes::Bytes;
use proto::{Fields, Fin, Status};

impl Session {
    /// A request for an echo is there.
    pub(super) fn begin_echo(&mut self, context: &mut Context<'_>, index: usize, fin: Fin) {
        let mut fields = Fields::new();
        for name in ["content-type", "content-length"] {
            let request = &self.exchanges[index].ledger.request;
            if let Some(value) = request.fields.find(name.as_bytes()) {
                fields.push(name.as_bytes(), value);
            }
        }
        if fin == Fin::Last {
            return self.respond(context, index, Answer::new(Status::OK, fields, Body::empty()));
        }
        if context.shared.echoes >= context.shared.config.limits.echoes {
            let reason = "Too many bytes of echoes wait until clients read them.";
            return self.respond(context, index, Answer::text(CONTENT_TOO_LARGE, reason));
        }
        let head = context.shared.head(context.now, Status::OK, &fields);
        if self.respond_head(context, index, &head, Fin::More) {
            self.exchanges[index].state = State::Echoing(Box::default());
        }
    }

    /// Sends a piece of a request's body back. Short pieces wait for more while others are on their way.
    pub(super) fn echo(&mut self, context: &mut Context<'_>, index: usize, piece: &[u8], fin: Fin) {
        let exchange = &mut self.exchanges[index];
        let State::Echoing(echo) = &mut exchange.state else { return };
        exchange.ledger.sent_bytes += piece.len() as u64;
        let had_pending = !echo.pending.is_empty();
        let waits = fin == Fin::More
            && echo.pending.len() + piece.len() < SHORT
            && context.machine.unsent(exchange.stream) > 0;
        if waits {
            echo.pending.extend_from_slice(piece);
            self.pending_echoes += u32::from(!had_pending && !piece.is_empty());
            return self.credit_echo(context, index);
        }
        self.pending_echoes -= u32::from(had_pending);
        let piece = if had_pending {
            let mut joined = std::mem::take(&mut echo.pending);
            joined.extend_from_slice(piece);
            Bytes::from(joined)
        } else {
            Bytes::copy_from_slice(piece)
        };
        if context.machine.send(exchange.stream, piece, fin).is_err() {
            return self.end(context, index, ExchangeEnd::CutOff);
        }
        self.credit_echo(context, index);
        let exchange = &mut self.exchanges[index];
        if fin == Fin::Last
            && let State::Echoing(echo) = std::mem::replace(&mut exchange.state, State::Given)
        {
            self.given += 1;
            self.full_echoes -= u32::from(echo.full.is_some());
            context.machine.consume(exchange.stream, echo.uncredited);
        }
    }

    /// Sends the short pieces of echoes that nothing is on its way of.
    pub(super) fn flush_echoes(&mut self, context: &mut Context<'_>) {
        for index in (0..self.exchanges.len()).rev() {
            let exchange = &self.exchanges[index];
            let has_pending =
                matches!(&exchange.state, State::Echoing(echo) if !echo.pending.is_empty());
            if has_pending && context.machine.unsent(exchange.stream) == 0 {
                self.echo(context, index, &[], Fin::More);
            }
        }
    }

    /// Lets the client send more, unless too much of its echo waits.
    pub(super) fn credit_echo(&mut self, context: &mut Context<'_>, index: usize) {
        let limits = context.shared.config.limits;
        let exchange = &mut self.exchanges[index];
        let State::Echoing(echo) = &mut exchange.state else { return };
        let unsent = context.machine.unsent(exchange.stream) + echo.pending.len();
        context.shared.echoes = context.shared.echoes - exchange.buffered + unsent;
        exchange.buffered = unsent;
        self.account.change(exchange.held, unsent, &mut context.shared.budgets);
        exchange.held = unsent;
        let is_full = unsent >= limits.echo
            || (context.shared.echoes >= limits.echoes && unsent >= SMALL_ECHO);
        if is_full {
            if echo.full.is_none() {
                self.full_echoes += 1;
                echo.full = Some(Full { until: context.now + limits.echo_stall, unsent });
            }
            return;
        }
        self.full_echoes -= u32::from(echo.full.take().is_some());
        let credit = std::mem::take(&mut echo.uncredited);
        if credit > 0 {
            context.machine.consume(exchange.stream, credit);
        }
    }

    /// Resets the echoes at their limit whose clients have read nothing for a while.
    pub(super) fn reset_stalled_echoes(&mut self, context: &mut Context<'_>) {
        let patience = context.shared.config.limits.echo_stall;
        for index in (0..self.exchanges.len()).rev() {
            let exchange = &mut self.exchanges[index];
            let State::Echoing(echo) = &mut exchange.state else { continue };
            let Some(full) = &mut echo.full else { continue };
            if full.until > context.now {
                continue;
            }
            let unsent = context.machine.unsent(exchange.stream);
            if unsent + LEAST_READ <= full.unsent {
                *full = Full { until: context.now + patience, unsent };
                continue;
            }
            context.machine.reset(context.now, exchange.stream);
            self.end(context, index, ExchangeEnd::CutOff);
        }
    }
}

/// Pieces below this are joined.
const SHORT: usize = 4 * 1024;

/// Bytes that a client must read of a full echo within its time: one byte now and then is no reading.
const LEAST_READ: usize = 16 * 1024;

/// Bytes that an echo may hold even where all echoes together are at their limit, so that it goes on at the pace at
/// which its client reads.
const SMALL_ECHO: usize = 64 * 1024;
