//! One connection of the engine, and which requests it carries. It decides nothing: it takes
//! requests and reports their results.

mod events;
mod pending;
mod quic;

pub(super) use events::{Events, Loss, Outcome, Reporting};

use super::tally::Fault;
use crate::web_socket::stream::{WebSocketSpec, WebSocketStream};
use bytes::Bytes;
use endpoint::{SendBuf, SocketId};
use events::Echoes;
use pending::PendingRequests;
use proto::ws::MessageKind;
use proto::{ConnectionState, Fin, Refused, RequestHead, Status, StreamId};
use quic::QuicSide;
use std::time::Duration;
use trace::Tracer;
use transport::{Client, Connection, Timings};
use unit::Instant;

/// A request on its way: when it was due, and what has come of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct PendingRequest {
    pub(super) target: usize,
    /// None for the warm-up.
    pub(super) stage: Option<usize>,
    pub(super) due: Instant,
    /// When this engine saw that it was due: later than `due` where the engine is late.
    pub(super) seen: Instant,
    pub(super) begun: Instant,
    pub(super) head: Option<(Instant, Status)>,
    pub(super) body: u64,
    /// How often it was begun before.
    pub(super) tries: u8,
}

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// There is no socket.
    Shut,
    /// TCP's handshake.
    Connecting,
    /// TLS's handshake, and the WebSocket's.
    Securing,
    /// Requests.
    Open,
}

#[derive(Debug)]
pub(super) struct LoadConnection {
    /// Which server it leads to.
    pub(super) server: usize,
    pub(super) stage: Stage,
    /// The socket of the present attempt, or of the last one.
    pub(super) socket: SocketId,
    /// None while it is shut.
    transport: Option<Connection<Client>>,
    /// None over TCP.
    quic: Option<Box<QuicSide>>,
    /// The WebSocket over it; None where HTTP's requests are made.
    echoes: Option<Box<Echoes>>,
    pending: PendingRequests,
    /// Whether it stands among the connections that could take a request.
    pub(super) listed: bool,
    /// Whether it has come to where requests can be made, and was counted so.
    pub(super) counted: bool,
    /// Whether its first attempt is decided.
    pub(super) decided: bool,
    /// Answers over the present connection.
    pub(super) answers: u64,
    /// When something came last over the present connection.
    heard: Instant,
    /// Whether a request ran out of time on it and nothing came meanwhile: its server may be gone. It takes no request, ends with
    /// those under way, and is of use again once something comes.
    is_silent: bool,
    /// Since when its server allows no stream while none is under way.
    starved: Option<Instant>,
    /// How long the next attempt waits.
    pub(super) rest: Duration,
}

/// What a request is made of.
#[derive(Debug)]
pub(super) enum PreparedRequest {
    Http { head: Box<RequestHead>, fin: Fin, body: Bytes },
    Echo { message: Bytes },
}

impl LoadConnection {
    /// The connection with this number, which leads to `server`.
    pub(super) fn new(number: usize, server: usize) -> Self {
        Self {
            server,
            stage: Stage::Shut,
            socket: SocketId(number),
            transport: None,
            quic: None,
            echoes: None,
            pending: PendingRequests::default(),
            listed: false,
            counted: false,
            decided: false,
            answers: 0,
            heard: Instant::ZERO,
            is_silent: false,
            starved: None,
            rest: Duration::ZERO,
        }
    }

    /// An attempt begins; with a WebSocket it is one for echoes.
    pub(super) fn begin(
        &mut self,
        transport: Connection<Client>,
        web_socket: Option<WebSocketSpec>,
    ) {
        self.stage = Stage::Connecting;
        self.transport = Some(transport);
        self.echoes =
            web_socket.map(|spec| Box::new(Echoes::new(WebSocketStream::new(spec, Tracer::off()))));
        self.answers = 0;
        self.is_silent = false;
        self.starved = None;
        self.counted = false;
    }

    /// Something came over the present connection.
    #[inline]
    pub(super) fn note_heard(&mut self, now: Instant) {
        self.heard = now;
        self.is_silent = false;
    }

    /// There is no socket any more; gives what was under way.
    pub(super) fn shut(&mut self) -> impl Iterator<Item = PendingRequest> + '_ {
        self.stage = Stage::Shut;
        self.transport = None;
        self.quic = None;
        self.echoes = None;
        self.pending.drain()
    }

    /// Calls the transport; `report` gets the outcomes of requests. An error where the connection cannot
    /// go on.
    pub(super) fn drive(
        &mut self,
        now: Instant,
        mut report: Reporting<'_>,
        act: impl FnOnce(&mut Connection<Client>, &mut Events<'_>) -> Result<(), transport::Failure>,
    ) -> Result<(), Loss> {
        let Some(transport) = &mut self.transport else { return Ok(()) };
        let mut events = Events {
            now,
            report: report.reborrow(),
            pending: &mut self.pending,
            echoes: self.echoes.as_deref_mut(),
            answers: 0,
            loss: None,
        };
        let done = act(transport, &mut events);
        if events.echoes.is_some() {
            events.handle_echoes();
        }
        self.answers += events.answers;
        if let Some(loss) = events.loss {
            return Err(loss);
        }
        if self.stage == Stage::Securing && transport.protocol().is_some() {
            let is_open = self.echoes.as_ref().is_none_or(|echoes| echoes.is_open);
            self.stage = if is_open { Stage::Open } else { Stage::Securing };
        }
        if self.quic.is_some() {
            self.settle_quic();
        }
        done.map_err(|failure| {
            let loss = Loss::from(&failure);
            if loss == Loss::Fault(Fault::Tls) {
                report.ledger.note_cause(Fault::Tls, || failure.to_string());
            }
            loss
        })
    }

    pub(super) fn is_ready(&self) -> bool {
        self.transport().is_some_and(|transport| transport.protocol().is_some())
    }

    pub(super) fn transport(&self) -> Option<&Connection<Client>> {
        self.transport.as_ref()
    }

    pub(super) fn timings(&self) -> Option<Timings> {
        self.transport().map(Connection::timings)
    }

    /// Whether it carries a WebSocket.
    pub(super) fn has_web_socket(&self) -> bool {
        self.echoes.is_some()
    }

    /// Requests under way.
    pub(super) fn under_way(&self) -> usize {
        self.pending.len()
    }

    /// Whether it could take a request now, of `streams` at a time.
    #[inline]
    pub(super) fn takes_request(&self, streams: usize) -> bool {
        if self.stage != Stage::Open || self.is_silent || self.pending.len() >= streams {
            return false;
        }
        match &self.echoes {
            Some(echoes) => echoes.over.is_none() && echoes.stream.takes_messages(),
            None => {
                let machine = self.transport().and_then(Connection::ready_machine);
                machine.is_some_and(|machine| machine.available_streams() > 0)
            }
        }
    }

    /// Whether its server has allowed no stream since `overdue`, with none under way: a request would have waited for one in vain.
    /// True once for each such time.
    pub(super) fn is_starved(&mut self, now: Instant, overdue: Instant) -> bool {
        let machine = self.transport().and_then(Connection::ready_machine);
        let allows = machine.is_none_or(|machine| machine.available_streams() > 0);
        if allows || self.stage != Stage::Open || self.echoes.is_some() || !self.pending.is_empty()
        {
            self.starved = None;
            return false;
        }
        let since = *self.starved.get_or_insert(now);
        let is_due = since <= overdue;
        if is_due {
            self.starved = Some(now);
        }
        is_due
    }

    /// Makes a request. What could not be made comes back.
    #[inline]
    pub(super) fn start(
        &mut self,
        now: Instant,
        mut request: PendingRequest,
        prepared: &PreparedRequest,
    ) -> Result<(), Outcome> {
        request.begun = now;
        let machine = self.transport.as_mut().and_then(Connection::machine);
        let stream = match (machine, &mut self.echoes, prepared) {
            (Some(machine), None, PreparedRequest::Http { head, fin, body }) => {
                match machine.request(now, head, *fin) {
                    Ok(stream) => {
                        if *fin == Fin::More {
                            // Refused where the connection is over, which comes as an event.
                            let _over = machine.send(stream, body.clone(), Fin::Last);
                        }
                        stream
                    }
                    Err(Refused::Draining | Refused::Full | Refused::TooEarly) => {
                        return Err(Outcome::Unprocessed(request));
                    }
                    Err(Refused::NotAllowed | Refused::Unsendable(_)) => {
                        return Err(Outcome::Failed(request, Fault::Protocol));
                    }
                }
            }
            (Some(_), Some(echoes), PreparedRequest::Echo { message }) => {
                echoes.stream.send(MessageKind::Text, message.clone());
                echoes.sent += 1;
                StreamId(echoes.sent)
            }
            _ => return Err(Outcome::Unprocessed(request)),
        };
        self.pending.insert(stream, request);
        Ok(())
    }

    /// Whether the connection has nothing under way and takes nothing more.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        if self.is_silent && self.pending.is_empty() {
            return true;
        }
        if let Some(echoes) = &self.echoes {
            return echoes.over.is_some() && self.pending.is_empty();
        }
        let machine = self.transport().and_then(Connection::ready_machine);
        match machine.map(proto::Connection::state) {
            None | Some(ConnectionState::Open) => false,
            Some(ConnectionState::Draining) => self.pending.is_empty(),
            Some(ConnectionState::Closed) => true,
        }
    }

    /// Appends what is to be sent.
    #[inline]
    pub(super) fn poll_transmit(&mut self, now: Instant, out: &mut SendBuf, limit: usize) {
        self.write_frames(now);
        if let Some(transport) = &mut self.transport {
            transport.poll_transmit(now, out, limit);
        }
    }

    /// Whether the driver must be asked now to send.
    #[inline]
    pub(super) fn poll_wants_transmit(&mut self, now: Instant) -> bool {
        self.write_frames(now);
        self.transport.as_mut().is_some_and(Connection::poll_wants_transmit)
    }

    /// Whether the driver was asked to send and has not reached the end of the output.
    pub(super) fn is_transmitting(&self) -> bool {
        self.transport().is_some_and(Connection::is_transmitting)
    }

    /// Hands a WebSocket's request and frames over to the connection.
    #[inline]
    pub(super) fn write_frames(&mut self, now: Instant) {
        if let Some(echoes) = &mut self.echoes
            && let Some(machine) = self.transport.as_mut().and_then(Connection::machine)
        {
            echoes.stream.write_frames(now, machine);
        }
    }

    /// Ends in good order, as far as that can be done by what is sent.
    pub(super) fn say_goodbye(&mut self, now: Instant) {
        let Some(transport) = &mut self.transport else { return };
        match &mut self.echoes {
            Some(echoes) => echoes.stream.close(),
            None => {
                if let Some(machine) = transport.machine() {
                    machine.shutdown(now);
                }
            }
        }
        transport.close();
    }

    /// Ends what was due before `overdue`. An error where the connection cannot go on.
    pub(super) fn expire(
        &mut self,
        now: Instant,
        overdue: Instant,
        report: &mut Reporting<'_>,
    ) -> Result<(), Loss> {
        if !self.pending.iter().any(|(_, request)| request.due <= overdue) {
            return Ok(());
        }
        let late = self.pending.iter().filter(|(_, request)| request.due <= overdue);
        let mut late: Vec<StreamId> = late.map(|(stream, _)| *stream).collect();
        late.sort_unstable();
        let mut machine = self.transport.as_mut().and_then(Connection::machine);
        for stream in late {
            if let Some(request) = self.pending.remove(stream) {
                self.is_silent |= self.heard <= request.begun;
                report.note(now, Outcome::Failed(request, Fault::TimedOut));
            }
            if let (Some(machine), None) = (&mut machine, &self.echoes) {
                machine.reset(now, stream);
            }
        }
        // What is still to come cannot be told from the answer that is given up, where answers have no names: then the connection
        // is closed. One that drains goes on with the others.
        match (machine, &self.echoes) {
            (Some(machine), None) if machine.state() != ConnectionState::Closed => Ok(()),
            _ => Err(Fault::Closed.into()),
        }
    }
}
