//! Handles the events of one connection of the load engine.

use super::pending::PendingRequests;
use super::{PendingRequest, PreparedRequest};
use crate::load::ledger::Ledger;
use crate::load::server::Server;
use crate::load::tally::Fault;
use crate::web_socket::stream::{WebSocketEvent, WebSocketStream};
use proto::{EarlyData, Error, Event, Fin, Repeated, Status, StreamId};
use transport::{Client, ClientMachine, Failure, Handler, Negotiated, Protocol};
use unit::Instant;

/// What became of a request.
#[derive(Debug, Clone, Copy)]
pub(in crate::load) enum Outcome {
    /// Its answer is whole.
    Answered(PendingRequest),
    /// It came to nothing.
    Failed(PendingRequest, Fault),
    /// The peer has not acted on it.
    Unprocessed(PendingRequest),
}

/// Why a connection is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::load) enum Loss {
    /// In good order.
    Orderly,
    /// What is under way was not acted on.
    Unprocessed,
    Fault(Fault),
}

/// Where outcomes go.
pub(in crate::load) struct Reporting<'l> {
    pub(in crate::load) ledger: &'l mut Ledger,
    pub(in crate::load) server: &'l mut Server,
    pub(in crate::load) prepared: &'l [PreparedRequest],
}

/// Hears of the events of one connection.
pub(in crate::load) struct Events<'c> {
    pub(super) now: Instant,
    pub(super) report: Reporting<'c>,
    pub(super) pending: &'c mut PendingRequests,
    pub(super) echoes: Option<&'c mut Echoes>,
    pub(super) answers: u64,
    /// Why the connection cannot go on.
    pub(super) loss: Option<Loss>,
}

/// A WebSocket, whose echoes come in the order of their messages.
#[derive(Debug)]
pub(super) struct Echoes {
    pub(super) stream: WebSocketStream,
    pub(super) is_open: bool,
    pub(super) sent: u64,
    answered: u64,
    pub(super) over: Option<Loss>,
}

impl Echoes {
    pub(super) fn new(stream: WebSocketStream) -> Self {
        Self { stream, is_open: false, sent: 0, answered: 0, over: None }
    }
}

impl Reporting<'_> {
    /// The same for a shorter time.
    pub(super) fn reborrow(&mut self) -> Reporting<'_> {
        Reporting { ledger: self.ledger, server: self.server, prepared: self.prepared }
    }

    /// What became of a request under way; gives the number of answers, which is 1 or 0.
    pub(super) fn note(&mut self, now: Instant, outcome: Outcome) -> u64 {
        self.ledger.note(now, self.server, outcome)
    }
}

impl Handler<Client> for Events<'_> {
    fn handle_ready(&mut self, machine: &mut ClientMachine, negotiated: Negotiated<'_, Protocol>) {
        // Of early data it is not known yet what becomes of it.
        if negotiated.early_data != EarlyData::Sending {
            self.note_handshake(&negotiated);
        }
        if let Some(echoes) = &mut self.echoes {
            echoes.stream.ask(self.now, machine, negotiated.protocol);
        }
    }

    fn handle_handshake(&mut self, _: &mut ClientMachine, negotiated: Negotiated<'_, Protocol>) {
        self.note_handshake(&negotiated);
        let is_rejected = negotiated.early_data == EarlyData::Rejected;
        if is_rejected && negotiated.protocol.is_over_quic() {
            // All of its requests are void. Over TCP the same bytes go a second time.
            let void: Vec<PendingRequest> = self.pending.drain().collect();
            for request in void {
                self.note(Outcome::Unprocessed(request));
            }
        }
    }

    fn handle_event(&mut self, machine: &mut ClientMachine, event: Event<'_>) {
        match &mut self.echoes {
            Some(echoes) => echoes.stream.handle_event(self.now, machine, event),
            None => self.handle_http(machine, event),
        }
    }

    fn takes_repeated(&self) -> bool {
        self.echoes.is_none()
    }

    fn handle_repeated(&mut self, response: Repeated) {
        if let Some(mut request) = self.pending.remove(response.stream) {
            request.head = Some((self.now, response.status));
            request.body = response.body as u64;
            self.note(Outcome::Answered(request));
        }
    }
}

impl Events<'_> {
    /// Has the WebSocket's own time-outs looked at.
    pub(in crate::load) fn handle_timeout(&mut self) {
        if let Some(echoes) = &mut self.echoes {
            echoes.stream.handle_timeout(self.now);
        }
    }

    fn note_handshake(&mut self, negotiated: &Negotiated<'_, Protocol>) {
        if let Some(tls) = &negotiated.tls {
            self.report.ledger.tally.connects.note_handshake(tls);
        }
    }

    fn note(&mut self, outcome: Outcome) {
        self.answers += self.report.note(self.now, outcome);
    }

    fn handle_http(&mut self, machine: &mut ClientMachine, event: Event<'_>) {
        let now = self.now;
        match event {
            Event::Response { stream, head, fin } => {
                if let Some(request) = self.pending.find(stream) {
                    request.head = Some((now, head.status));
                }
                machine.recycle(head);
                if fin == Fin::Last {
                    self.note_answered(stream, 0);
                }
            }
            Event::Data { stream, data, fin } => {
                machine.consume(stream, data.len());
                let bytes = data.len() as u64;
                if fin == Fin::Last {
                    self.note_answered(stream, bytes);
                } else if let Some(request) = self.pending.find(stream) {
                    request.body += bytes;
                }
            }
            Event::Trailers { stream, .. } => self.note_answered(stream, 0),
            Event::Informational { head, .. } => machine.recycle(head),
            Event::Promise { stream, .. } => machine.reset(now, stream),
            Event::Reset { stream, error } => {
                if let Some(request) = self.pending.remove(stream) {
                    let outcome = match self.loss_by(Some(&error)) {
                        Loss::Unprocessed => Outcome::Unprocessed(request),
                        Loss::Fault(fault) => Outcome::Failed(request, fault),
                        Loss::Orderly => Outcome::Failed(request, Fault::StreamReset),
                    };
                    self.note(outcome);
                }
            }
            Event::Closed { error } => {
                let loss = self.loss_by(error.as_ref());
                self.loss.get_or_insert(loss);
            }
            Event::Writable { .. } | Event::Draining { .. } | Event::Request { .. } => {}
        }
    }

    /// What an end means for what was under way; the rule that the peer broke is kept.
    fn loss_by(&mut self, error: Option<&Error>) -> Loss {
        if let Some(Error::PeerViolation { rule, .. }) = error {
            self.report.ledger.note_cause(Fault::Protocol, || (*rule).to_owned());
        }
        loss(error)
    }

    /// The answer on a stream is whole with these bytes.
    fn note_answered(&mut self, stream: StreamId, bytes: u64) {
        if let Some(mut request) = self.pending.remove(stream) {
            request.body += bytes;
            self.note(Outcome::Answered(request));
        }
    }

    /// Deals with the WebSocket's events, where there is one.
    pub(super) fn handle_echoes(&mut self) {
        while self.loss.is_none()
            && let Some(echoes) = &mut self.echoes
            && let Some(event) = echoes.stream.poll_event(self.now)
        {
            match event {
                WebSocketEvent::Opened(_) => echoes.is_open = true,
                WebSocketEvent::Message(_, data) => {
                    echoes.answered += 1;
                    let stream = StreamId(echoes.answered);
                    self.handle_echo(stream, &data);
                }
                WebSocketEvent::Failed(error) => {
                    self.loss = Some(loss(Some(&error)));
                    if let Some((path, status)) = echoes.stream.refusal() {
                        let said = || format!("{path} was answered with status {}", status.code());
                        self.report.ledger.note_cause(Fault::Protocol, said);
                    }
                }
                WebSocketEvent::Unsendable(reason) => {
                    self.loss = Some(Fault::Protocol.into());
                    self.report.ledger.note_cause(Fault::Protocol, || reason);
                }
                WebSocketEvent::Close(_) => echoes.over = Some(Loss::Orderly),
                WebSocketEvent::Over => self.loss = Some(Loss::Orderly),
            }
        }
    }

    fn handle_echo(&mut self, stream: StreamId, data: &[u8]) {
        let Some(mut request) = self.pending.remove(stream) else {
            self.loss = Some(Fault::Protocol.into());
            return;
        };
        request.head = Some((self.now, Status::OK));
        request.body = data.len() as u64;
        let sent = self.report.prepared.get(request.target);
        let is_same = matches!(sent, Some(PreparedRequest::Echo { message }) if *message == data);
        self.note(match is_same {
            true => Outcome::Answered(request),
            false => Outcome::Failed(request, Fault::WrongEcho),
        });
    }
}

/// QUIC (RFC 9000 §20.1): the server takes no connection.
const CONNECTION_REFUSED: u64 = 0x2;

/// What an end means for what was under way.
fn loss(error: Option<&Error>) -> Loss {
    match error {
        None => Loss::Orderly,
        Some(Error::Unprocessed) => Loss::Unprocessed,
        Some(Error::AnsweredInHttp1) => Fault::Http1Answer.into(),
        Some(Error::PeerViolation { .. }) => Fault::Protocol.into(),
        Some(Error::PeerReset { .. }) => Fault::StreamReset.into(),
        Some(Error::PeerClosed { .. } | Error::Truncated { .. }) => Fault::Closed.into(),
        Some(Error::TimedOut { .. }) => Fault::TimedOut.into(),
    }
}

impl From<Fault> for Loss {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<&Failure> for Loss {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::Name(_)
            | Failure::Handshake(_)
            | Failure::Tls(_)
            | Failure::NoAgreement { .. } => Fault::Tls.into(),
            Failure::TimedOut { .. } => Fault::ConnectTimedOut.into(),
            Failure::UnknownProtocol | Failure::Tunnel(_) => Fault::Protocol.into(),
            Failure::PeerClosed { code: CONNECTION_REFUSED, .. } => Fault::ConnectRefused.into(),
            Failure::PeerClosed { .. } => Fault::Closed.into(),
            Failure::Ended => Self::Orderly,
        }
    }
}
