//! Opens the engine's connections, gives them requests, and replaces those that are lost.

use super::{Load, look_every};
use crate::load::connection::{Events, LoadConnection, Loss, Outcome, Reporting, Stage};
use crate::load::pace::Arrivals;
use crate::load::plan::{Exchange, Pace};
use crate::load::tally::Fault;
use crate::profile;
use crate::transport_choice::security;
use crate::web_socket::stream::WebSocketSpec;
use endpoint::{
    Action, DatagramTransmit, EndPoint, ReceivedDatagrams, SendBuf, SocketError, SocketId,
};
use proto::RequestHead;
use proto::ws::Writes;
use std::cmp::Reverse;
use std::net::SocketAddr;
use std::time::Duration;
use trace::Tracer;
use transport::{Client, ClientSpec, Connection, Failure, Protocol, Truncation};
use unit::Instant;

/// Connects under way at a time: a listener's queue is not flooded, and the last of them does not pay for all.
const CONNECTING: usize = 256;

/// How long a connection rests after one that brought nothing: at first, and at most.
const FIRST_REST: Duration = Duration::from_millis(10);
const LONGEST_REST: Duration = Duration::from_millis(100);

impl EndPoint for Load {
    fn handle_start(&mut self, now: Instant) {
        self.look = Some(now + look_every(self.plan.timeout));
        self.wanted.extend((0..self.connections.len()).map(|number| Reverse((now, number))));
        self.open_wanted(now);
    }

    fn handle_connected(&mut self, now: Instant, socket: SocketId, _local: SocketAddr) {
        let Some(connection) = self.live(socket) else { return };
        connection.stage = Stage::Securing;
        let began = connection.timings().map_or(now, |timings| timings.opened);
        self.ledger.tally.connects.tcp.record(now.since(began));
        let connected =
            self.drive(now, socket.0, |transport, events| transport.handle_connected(now, events));
        match connected {
            Ok(()) => self.settle(now, socket.0),
            Err(loss) => self.close(now, socket.0, loss),
        }
    }

    fn handle_bytes(&mut self, now: Instant, socket: SocketId, bytes: &[u8]) {
        let Some(connection) = self.live(socket) else { return };
        connection.note_heard(now);
        self.ledger.tally.received += bytes.len() as u64;
        if let Some(arrivals) = &self.arrivals {
            self.ledger.note_overdue(now, arrivals.next());
        }
        let taken = self
            .drive(now, socket.0, |transport, events| transport.handle_bytes(now, bytes, events));
        if let Err(loss) = taken {
            return self.close(now, socket.0, loss);
        }
        let transport = self.connections[socket.0].transport();
        if transport.is_some_and(Connection::peer_closed) {
            return self.handle_eof(now, socket);
        }
        self.settle(now, socket.0);
    }

    fn handle_datagrams(&mut self, now: Instant, socket: SocketId, received: ReceivedDatagrams) {
        self.take_datagrams(now, socket, received);
    }

    fn handle_eof(&mut self, now: Instant, socket: SocketId) {
        if self.live(socket).is_none() {
            return;
        }
        let ended = self.drive(now, socket.0, |transport, events| {
            transport.handle_eof(now, Truncation::Ignored, events)
        });
        let loss = ended.err().unwrap_or(Loss::Orderly);
        self.lose(now, socket.0, loss, Some(Action::Close(socket)));
    }

    fn handle_error(&mut self, now: Instant, socket: SocketId, error: SocketError) {
        if self.forget_farewell(socket) {
            return;
        }
        let socket = self.failed_socket(socket);
        let Some(connection) = self.live(socket) else { return };
        let fault = fault_of(error, connection.stage);
        self.lose(now, socket.0, fault.into(), None);
    }

    fn poll_transmit(&mut self, now: Instant, socket: SocketId, out: &mut SendBuf, limit: usize) {
        let Some(connection) = self.connections.get_mut(socket.0) else { return };
        let before = out.len();
        connection.poll_transmit(now, out, limit);
        // The end of an upload may be what the next request has waited for.
        let takes_more =
            !connection.is_transmitting() && connection.takes_request(self.plan.streams);
        self.ledger.tally.sent += (out.len() - before) as u64;
        if takes_more {
            self.settle(now, socket.0);
        }
    }

    fn poll_datagrams(
        &mut self,
        now: Instant,
        socket: SocketId,
        out: &mut Vec<u8>,
        max_datagrams: usize,
    ) -> Option<DatagramTransmit> {
        self.give_datagrams(now, socket, out, max_datagrams)
    }

    fn wants_transmit(&self, socket: SocketId) -> bool {
        self.has_datagrams(socket)
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.arrive(now);
        self.ledger.pass(now);
        self.handle_alarms(now);
        self.open_wanted(now);
        if self.look.is_some_and(|look| look <= now) {
            self.look_around(now);
        }
        self.tell_watch(now);
        self.finish_if_done(now);
    }

    fn handle_stop(&mut self, now: Instant) {
        if self.ledger.is_finished() {
            return self.end_at_once();
        }
        self.ledger.stop(now);
        self.finish(now);
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        if self.ledger.is_finished() {
            return None;
        }
        let arrivals = self.arrivals.as_ref().filter(|_| self.ledger.awaits_arrivals());
        let due = arrivals.and_then(Arrivals::next);
        let wanted = match self.wanted.peek() {
            Some(Reverse((due, _))) if self.connecting < CONNECTING => Some(*due),
            _ => None,
        };
        let times = [
            self.look,
            self.ledger.next_time(),
            due.and_then(|due| self.ledger.time_of(due.at)),
            wanted,
            self.quic.poll_timeout(),
            self.watch.as_ref().and_then(|_| self.ledger.interval_end()),
        ];
        times.into_iter().flatten().min()
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }
}

impl Load {
    /// Opens the connections that are due by now, as far as sockets are free.
    pub(super) fn open_wanted(&mut self, now: Instant) {
        while self.connecting < CONNECTING
            && let Some(&Reverse((due, number))) = self.wanted.peek()
            && due <= now
        {
            self.wanted.pop();
            self.open(now, number);
        }
    }

    fn open(&mut self, now: Instant, number: usize) {
        let server = &self.servers[self.connections[number].server];
        let scheme = server.scheme;
        let Some(&remote) = server.remotes.get(server.next_remote) else {
            return self.never_opened(now, number, Fault::UnknownHost);
        };
        let known = self.config.transport.known(scheme);
        if known.is_some_and(Protocol::is_over_quic) {
            self.connecting += 1;
            if let Err(failure) = self.open_quic(now, number, remote) {
                self.connecting -= 1;
                self.never_opened(now, number, fault_before_sending(&failure));
            }
            return;
        }
        let web_socket = server.web_socket;
        let security = security(&self.config, scheme, &server.url.host, server.url.port());
        let settings =
            if web_socket.is_some() { &self.web_socket_settings } else { &self.settings };
        let spec = ClientSpec { security, settings: settings.clone(), tracer: Tracer::off() };
        let Ok(transport) = Connection::open(now, spec) else {
            return self.never_opened(now, number, Fault::Tls);
        };
        let web_socket = web_socket.map(|target| self.web_socket(target));
        self.connecting += 1;
        self.connections[number].begin(transport, web_socket);
        let mut settings = self.config.socket.clone();
        settings.connect_timeout = self.config.timeouts.connect;
        self.actions.push_back(Action::Connect { socket: SocketId(number), remote, settings });
    }

    /// How the WebSocket of a target is asked for.
    pub(super) fn web_socket(&mut self, target: usize) -> WebSocketSpec {
        let target = &self.plan.targets[target];
        let fields = match &target.exchange {
            Exchange::Echo { fields, .. } => fields.clone(),
            Exchange::Http { .. } => Default::default(),
        };
        let (scheme, authority) = (profile::scheme(target.url.scheme), target.url.authority());
        WebSocketSpec {
            request: RequestHead {
                fields,
                ..RequestHead::get(scheme, authority, target.url.path.clone())
            },
            deflate: None,
            writes: Writes::One,
            compression_level: 0,
            seed: self.plan.seed.nth(self.ledger.next_socket()),
        }
    }

    /// An attempt came to nothing: it counts, takes a request with it in a closed loop, and another follows after a rest.
    fn never_opened(&mut self, now: Instant, number: usize, fault: Fault) {
        let server = self.connections[number].server;
        let server_at = &mut self.servers[server];
        self.ledger.fail_connect(server_at.first_target(), fault);
        server_at.next_remote = (server_at.next_remote + 1) % server_at.remotes.len().max(1);
        if self.plan.pace == Pace::Closed
            && let Some(request) = self.ledger.take(now, &mut self.servers[server])
        {
            self.ledger.fail(&request, fault);
        }
        self.want_again(now, number);
        self.decide(now, number);
    }

    /// Has the connection opened anew, after a rest where the last one brought nothing.
    fn want_again(&mut self, now: Instant, number: usize) {
        if !self.ledger.wants_connections() {
            return;
        }
        let connection = &mut self.connections[number];
        connection.rest = match connection.answers {
            0 => (connection.rest * 2).clamp(FIRST_REST, LONGEST_REST),
            _ => Duration::ZERO,
        };
        connection.answers = 0;
        self.wanted.push(Reverse((now + connection.rest, number)));
    }

    /// Calls a connection's transport; events of its requests go to the ledger.
    pub(super) fn drive(
        &mut self,
        now: Instant,
        number: usize,
        act: impl FnOnce(&mut Connection<Client>, &mut Events<'_>) -> Result<(), transport::Failure>,
    ) -> Result<(), Loss> {
        let Self { connections, servers, ledger, prepared, .. } = self;
        let connection = &mut connections[number];
        let server = &mut servers[connection.server];
        let was_securing = connection.stage == Stage::Securing && !connection.is_ready();
        let driven = connection.drive(now, Reporting { ledger, server, prepared }, act);
        if was_securing {
            self.note_ready(number);
        }
        driven
    }

    /// Counts TLS's handshake, where a connection has just become ready.
    fn note_ready(&mut self, number: usize) {
        let connection = &self.connections[number];
        let Some(transport) = connection.transport() else { return };
        let Some(protocol) = transport.protocol() else { return };
        let timings = transport.timings();
        let tally = &mut self.ledger.tally;
        // With early data requests go before the handshake is over, and its time is not told.
        if connection.is_over_quic() {
            if let Some(secured) = timings.secured {
                tally.connects.quic.record(secured.since(timings.opened));
            }
        } else if let (Some(connected), Some(secured)) = (timings.connected, timings.secured) {
            tally.connects.tls.record(secured.since(connected));
        }
        let is_web_socket = self.servers[connection.server].web_socket.is_some();
        tally.protocol =
            Some(if is_web_socket { trace::Protocol::WebSocket } else { protocol.into() });
    }

    /// The connection is over: what was under way is failed or made again, and another one follows.
    fn lose(&mut self, now: Instant, number: usize, loss: Loss, socket: Option<Action>) {
        let Self { connections, servers, ledger, .. } = self;
        let connection = &mut connections[number];
        let server = &mut servers[connection.server];
        let was_open = connection.counted;
        match was_open {
            true => self.open -= 1,
            false => self.connecting -= 1,
        }
        for request in connection.shut() {
            let outcome = match loss {
                Loss::Orderly => Outcome::Failed(request, Fault::Closed),
                Loss::Unprocessed => Outcome::Unprocessed(request),
                Loss::Fault(fault) => Outcome::Failed(request, fault),
            };
            ledger.note(now, server, outcome);
        }
        self.actions.extend(socket);
        match (was_open, loss) {
            (true, _) => self.want_again(now, number),
            (false, Loss::Fault(fault)) => self.never_opened(now, number, fault),
            (false, Loss::Orderly | Loss::Unprocessed) => {
                self.never_opened(now, number, Fault::Closed);
            }
        }
        self.open_wanted(now);
        self.finish_if_done(now);
    }

    pub(super) fn close(&mut self, now: Instant, number: usize, loss: Loss) {
        if self.connections[number].is_over_quic() {
            self.leave_quic(now, number);
            return self.lose(now, number, loss, None);
        }
        let socket = self.connections[number].socket;
        let action = match loss {
            Loss::Orderly | Loss::Unprocessed => Action::Close(socket),
            Loss::Fault(_) => Action::Abort(socket),
        };
        self.lose(now, number, loss, Some(action));
    }

    /// The connection of a socket, where it is not shut, for as long as anything counts.
    fn live(&mut self, socket: SocketId) -> Option<&mut LoadConnection> {
        if self.ledger.is_finished() {
            return None;
        }
        self.connections.get_mut(socket.0).filter(|connection| connection.stage != Stage::Shut)
    }
}

/// Why a connection over QUIC could not be begun.
fn fault_before_sending(failure: &Failure) -> Fault {
    match failure {
        Failure::Name(_) => Fault::Tls,
        _ => Fault::System,
    }
}

fn fault_of(error: SocketError, stage: Stage) -> Fault {
    match (error, stage) {
        // Over UDP: nothing listens there any more.
        (SocketError::Refused, Stage::Open) => Fault::Reset,
        (SocketError::Refused, _) => Fault::ConnectRefused,
        (SocketError::Reset, _) => Fault::Reset,
        (SocketError::TimedOut, Stage::Connecting) => Fault::ConnectTimedOut,
        (SocketError::TimedOut, _) => Fault::TimedOut,
        (SocketError::Unreachable, _) => Fault::Unreachable,
        (SocketError::NoDescriptors, _) => Fault::NoDescriptors,
        (SocketError::NoPorts, _) => Fault::NoPorts,
        (SocketError::Os(_), _) => Fault::System,
    }
}
