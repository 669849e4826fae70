//! Requests that the application server answers. The one rule: what the client has not read stays in the application's
//! socket, and what the application has not read in the client's.

use super::deliver::skip;
use super::{Context, Session};
use crate::access::{ExchangeEnd, NotPushed};
use crate::answer::{Answer, BAD_GATEWAY, BAD_REQUEST, GATEWAY_TIMEOUT, UNAVAILABLE};
use crate::exchange::{Exchange, Forwarded, State};
use crate::upstream::{
    RequestId, UpstreamEvent, UpstreamFailure, can_be_passed_on, forwarded_request,
    forwarded_response,
};
use bytes::Bytes;
use proto::{Fin, Method, ResponseHead, Scheme, Status};

impl Session {
    /// Passes a request on.
    pub(super) fn begin_forward(&mut self, context: &mut Context<'_>, index: usize, fin: Fin) {
        let request = &self.exchanges[index].ledger.request;
        // Only a connection without TLS passes bytes on unchanged.
        let scheme = if self.bytes_pass_unchanged { Scheme::Http } else { Scheme::Https };
        let request = forwarded_request(request, scheme, self.protocol, self.is_early);
        if !can_be_passed_on(&request.fields) {
            let reason = "A field of the request has a character that no field may have.";
            return self.answer_instead(context, index, Answer::text(BAD_REQUEST, reason));
        }
        let head = request.fields.list_size() + request.path.len();
        let upstream = context.shared.upstream.as_mut();
        let begun = upstream
            .and_then(|upstream| upstream.begin(context.now, self.connection, request, fin));
        let Some(id) = begun else {
            let reason = "Too many requests wait for the application.";
            return self.answer_instead(context, index, Answer::text(UNAVAILABLE, reason));
        };
        self.exchanges[index].state =
            State::Forwarded(Forwarded { id, head, fin, uncredited: 0, unsent: 0 });
        self.forwarded += 1;
        self.hold(context, index, head);
        self.keep_within_limit(context);
    }

    /// Passes a piece of a request's body on.
    pub(super) fn forward_body(
        &mut self,
        context: &mut Context<'_>,
        index: usize,
        data: &[u8],
        fin: Fin,
    ) {
        let State::Forwarded(forwarded) = &mut self.exchanges[index].state else { return };
        forwarded.uncredited += data.len();
        forwarded.fin = fin;
        let id = forwarded.id;
        if let Some(upstream) = &mut context.shared.upstream {
            upstream.send(context.now, id, data, fin);
        }
        self.account_forwarded(context, index);
    }

    /// Something came of a request.
    pub(crate) fn handle_upstream(
        &mut self,
        context: &mut Context<'_>,
        id: RequestId,
        event: UpstreamEvent,
    ) {
        let is_it = |state: &State| matches!(state, State::Forwarded(known) if known.id == id);
        let Some(index) = self.exchanges.iter().position(|exchange| is_it(&exchange.state)) else {
            return;
        };
        match event {
            UpstreamEvent::Informational(head) => self.forward_informational(context, index, &head),
            UpstreamEvent::Response(head, fin) => self.forward_head(context, index, &head, fin),
            UpstreamEvent::Data(data, fin) => self.forward_data(context, index, data, fin),
            UpstreamEvent::Sent => self.account_forwarded(context, index),
            UpstreamEvent::Failed(failure) => self.fail_forwarded(context, index, failure),
        }
    }

    fn forward_informational(
        &mut self,
        context: &mut Context<'_>,
        index: usize,
        head: &ResponseHead,
    ) {
        // 100 was said here already, where it was asked for.
        if head.status != Status::EARLY_HINTS {
            return;
        }
        let stream = self.exchanges[index].stream;
        // Refused where the protocol has no informational responses (HTTP/1.0, SPDY).
        let _unsaid = context.machine.inform(stream, &forwarded_response(head));
        self.push_linked(context, stream, &head.fields);
    }

    fn forward_head(
        &mut self,
        context: &mut Context<'_>,
        index: usize,
        head: &ResponseHead,
        fin: Fin,
    ) {
        if self.gives_up_push(context, index, head.status) {
            return;
        }
        let head = context.shared.forwarded_head(context.now, &forwarded_response(head));
        let stream = self.exchanges[index].stream;
        let head = match context.shared.delivery {
            Some(_) => self.decorate(context, index, &head),
            None => head,
        };
        // Pushes are exchanges of their own.
        let Some(index) = self.find(stream) else { return };
        let is_head = self.exchanges[index].ledger.request.method == Method::Head;
        let fin = if is_head { Fin::Last } else { fin };
        if self.respond_head(context, index, &head, fin) && fin == Fin::Last {
            self.finish_forwarded(context, index);
        }
    }

    fn forward_data(&mut self, context: &mut Context<'_>, index: usize, data: Bytes, fin: Fin) {
        let exchange = &mut self.exchanges[index];
        let State::Forwarded(forwarded) = &mut exchange.state else { return };
        forwarded.unsent += data.len();
        exchange.ledger.sent_bytes += data.len() as u64;
        if context.machine.send(exchange.stream, data, fin).is_err() {
            context.machine.reset(context.now, exchange.stream);
            return self.end(context, index, ExchangeEnd::CutOff);
        }
        match fin {
            Fin::Last => self.finish_forwarded(context, index),
            Fin::More => self.account_forwarded(context, index),
        }
    }

    /// The whole response was given to the connection.
    fn finish_forwarded(&mut self, context: &mut Context<'_>, index: usize) {
        let exchange = &mut self.exchanges[index];
        let state = std::mem::replace(&mut exchange.state, State::Given);
        (self.forwarded, self.given) = (self.forwarded - 1, self.given + 1);
        if let State::Forwarded(Forwarded { uncredited, .. }) = state {
            // The rest of the request's body is nobody's.
            context.machine.consume(exchange.stream, uncredited);
        }
        let stream = self.exchanges[index].stream;
        self.hold(context, index, context.machine.unsent(stream));
    }

    /// Gives credit to either side for what the other one has taken.
    fn account_forwarded(&mut self, context: &mut Context<'_>, index: usize) {
        let exchange = &mut self.exchanges[index];
        let (stream, now) = (exchange.stream, context.now);
        let State::Forwarded(forwarded) = &mut exchange.state else { return };
        let Some(upstream) = &mut context.shared.upstream else { return };
        let unsent = context.machine.unsent(stream);
        let sent = forwarded.unsent.saturating_sub(unsent);
        if sent > 0 {
            forwarded.unsent = unsent;
            upstream.consume(now, forwarded.id, sent);
        }
        let waiting = upstream.unsent(forwarded.id);
        let credit = forwarded.uncredited.saturating_sub(waiting);
        if credit > 0 {
            forwarded.uncredited -= credit;
            context.machine.consume(stream, credit);
        }
        let head = forwarded.head;
        self.hold(context, index, head + unsent + waiting);
    }

    /// After a transmit: what went to clients is credited.
    pub(super) fn account_all_forwarded(&mut self, context: &mut Context<'_>) {
        for index in 0..self.exchanges.len() {
            self.account_forwarded(context, index);
        }
    }

    fn fail_forwarded(
        &mut self,
        context: &mut Context<'_>,
        index: usize,
        failure: UpstreamFailure,
    ) {
        if self.exchanges[index].ledger.answered.is_some() {
            context.machine.reset(context.now, self.exchanges[index].stream);
            return self.end(context, index, ExchangeEnd::Broken);
        }
        let exchange = &mut self.exchanges[index];
        let state = std::mem::replace(&mut exchange.state, State::Counting);
        self.forwarded -= 1;
        if let State::Forwarded(Forwarded { uncredited, .. }) = state {
            // What waited for the application is nobody's.
            context.machine.consume(exchange.stream, uncredited);
        }
        let answer = match failure {
            UpstreamFailure::Unreachable(error) => {
                let reason = format!("The application cannot be reached: {error}.");
                Answer::text(BAD_GATEWAY, &reason)
            }
            UpstreamFailure::Broken => {
                Answer::text(BAD_GATEWAY, "The application broke off before it had answered.")
            }
            UpstreamFailure::Silent => {
                Answer::text(GATEWAY_TIMEOUT, "The application took too long to answer.")
            }
            UpstreamFailure::Busy => {
                Answer::text(UNAVAILABLE, "The application has been busy for too long.")
            }
        };
        self.answer_instead(context, index, answer);
    }

    /// Answers where the application does not.
    fn answer_instead(&mut self, context: &mut Context<'_>, index: usize, answer: Answer) {
        if !self.gives_up_push(context, index, answer.status) {
            self.respond(context, index, answer);
        }
    }

    /// Whether it was a push, which ends here: of the application's answers, too, only 200 is pushed. A client would
    /// keep another one in its cache and not ask.
    fn gives_up_push(&mut self, context: &mut Context<'_>, index: usize, status: Status) -> bool {
        let Exchange { stream, ledger, .. } = &self.exchanges[index];
        if ledger.pushed_with.is_none() || status == Status::OK {
            return false;
        }
        skip(context, &ledger.request.path, NotPushed::Status(status.code()));
        context.machine.reset(context.now, *stream);
        self.end(context, index, ExchangeEnd::Broken);
        true
    }

    /// Whether the application is in the way of all that its requests' clients have read and sent.
    pub(super) fn waits_for_application(&self) -> bool {
        let has_work = |known: &Forwarded| known.fin == Fin::Last || known.uncredited > 0;
        let waits = |state: &State| matches!(state, State::Forwarded(known) if known.unsent == 0 && has_work(known));
        self.forwarded > 0 && self.exchanges.iter().any(|exchange| waits(&exchange.state))
    }
}
