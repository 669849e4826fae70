//! The client: fetches wait in the pool, go out on connections, and end as records.
//!
//! This file handles fetches, `connections` opens and closes connections, `end_point` handles the driver's inputs,
//! `events` handles events of the protocol machines, `early` what may go within a handshake, `sockets` WebSockets of pages, `pushes` judges promises and gives
//! pushed responses to fetches, `drained` decides when a response is complete, and `race` has QUIC and TCP connect side by
//! side. The one rule:
//! `pump` runs after every input, and starts everything that can be started.

mod connections;
mod drained;
mod early;
mod end_point;
mod events;
mod pushes;
mod quic;
mod race;
mod sockets;

use crate::connection::{PooledConnection, urgency};
use crate::failure::Failure;
use crate::fetch::{Acted, Assignment, Fetch, State};
use crate::pool::{Origin, OriginId, Pool, Step};
use crate::profile;
use crate::timers::Wake;
use crate::transport_choice::connection_settings;
use crate::{ClientConfig, Cookies, FetchId, KeepAlive, LostFetches, Priorities, Profile, Work};
use endpoint::{Action, ConnectionId, SocketId};
use page::{Place, Url};
use proto::{Fin, Refused, RequestHead, StreamId};
use quic::QuicPorts;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;
use transport::{ClientSettings, Offer, Protocol, QuicFacts, QuicTally};
use unit::Instant;

/// An end point that does the work `W` over its own connections.
#[derive(Debug)]
pub struct Client<W> {
    config: ClientConfig,
    settings: Rc<ClientSettings>,
    /// Of connections over QUIC, which offer HTTP/3 alone.
    quic_settings: Rc<ClientSettings>,
    work: W,
    phase: Phase,
    pool: Pool,
    /// By `ConnectionId`.
    connections: Vec<Option<PooledConnection>>,
    free: Vec<usize>,
    quic: QuicPorts,
    quic_facts: Option<QuicFacts>,
    quic_tally: Option<QuicTally>,
    /// The port of HTTP/3 that the `Alt-Svc` of each origin offered last.
    alternatives: BTreeMap<OriginId, u16>,
    /// Origins whose connection over TCP is still to begin, and when.
    late_starts: BTreeMap<OriginId, Instant>,
    fetches: BTreeMap<FetchId, Fetch>,
    wake: Wake,
    /// The index of the address in use, for origins that are not reached at their first one.
    detours: HashMap<OriginId, usize>,
    actions: VecDeque<Action>,
    next_fetch: u32,
    next_connection: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// The work is done, but connections still have to send why they close; at most until this time.
    Leaving {
        until: Instant,
    },
    Finished,
}

/// How long that may take: a peer that does not read never gets the reason.
const LAST_WORDS: Duration = Duration::from_secs(1);

impl<W: Work> Client<W> {
    /// A client that begins `work` when it is started.
    pub fn new(config: ClientConfig, work: W) -> Self {
        Self {
            pool: Pool::new(config.limits),
            settings: connection_settings(&config, config.transport.offer),
            quic_settings: connection_settings(&config, Offer::Only(Protocol::Http3)),
            config,
            work,
            phase: Phase::Running,
            connections: Vec::new(),
            free: Vec::new(),
            quic: QuicPorts::default(),
            quic_facts: None,
            quic_tally: None,
            alternatives: BTreeMap::new(),
            late_starts: BTreeMap::new(),
            fetches: BTreeMap::new(),
            wake: Wake::default(),
            detours: HashMap::new(),
            actions: VecDeque::new(),
            next_fetch: 0,
            next_connection: 0,
        }
    }

    /// The work, in its present state.
    pub fn work(&self) -> &W {
        &self.work
    }

    /// What the last connection over QUIC began to send by; None where there was none.
    pub fn quic_facts(&self) -> Option<&QuicFacts> {
        self.quic_facts.as_ref()
    }

    /// What the connection over QUIC that ended last has done; None where none has ended.
    pub fn quic_tally(&self) -> Option<&QuicTally> {
        self.quic_tally.as_ref()
    }

    /// The port on which an origin offers HTTP/3 on its own host by `Alt-Svc` (RFC 7838): the one that was asked first, of those that
    /// do. None where none does.
    pub fn alternative(&self) -> Option<u16> {
        self.alternatives.first_key_value().map(|(_, port)| *port)
    }

    /// The cookies, where the client keeps any.
    pub fn cookies(&self) -> Option<&Cookies> {
        self.config.cookies.as_ref()
    }

    /// Returns the work.
    pub fn into_work(self) -> W {
        self.work
    }

    /// Whether `Action::Finish` was given.
    pub fn is_finished(&self) -> bool {
        self.phase == Phase::Finished
    }

    /// Starts everything that can be started.
    fn pump(&mut self, now: Instant) {
        if self.is_ending() {
            return;
        }
        loop {
            while let Some(id) = self.work.poll_cancel() {
                self.abandon(now, id, Failure::Cancelled);
            }
            let id = FetchId(self.next_fetch);
            if let Some(spec) = self.work.poll_fetch(now, id) {
                let is_hinted = spec.hinted;
                self.next_fetch += 1;
                self.fetches.insert(id, Fetch::new(now, id, spec, self.config.transport));
                self.admit(now, id);
                // As Chromium: what a link asks for goes out before what is found after it, however urgent that is.
                while is_hinted && self.step(now) {}
                continue;
            }
            if let Some(url) = self.work.poll_preconnect() {
                self.preconnect(now, &url);
                continue;
            }
            if let Some((id, priority)) = self.work.poll_taken() {
                self.reprioritise(now, id, priority);
                continue;
            }
            if !self.step(now) {
                // As Chromium: what can be asked for is asked for with its first priority, and raised then.
                let Some((id, priority)) = self.work.poll_priority() else { break };
                self.reprioritise(now, id, priority);
            }
        }
        if self.work.is_finished() && self.fetches.is_empty() {
            self.finish(now);
        }
    }

    /// Does what the pool wants next. False where it wants nothing.
    fn step(&mut self, now: Instant) -> bool {
        match self.pool.next_step() {
            Some(Step::Open(origin)) => self.begin(now, origin),
            Some(Step::Send(fetch, connection)) => self.send(now, fetch, connection),
            Some(Step::Evict(connection)) => {
                if let Some(connection) = self.take(connection) {
                    self.retire(now, connection);
                }
            }
            None => return false,
        }
        true
    }

    /// Puts a fetch into its origin's queue, unless a pushed response waits for it.
    fn admit(&mut self, now: Instant, id: FetchId) {
        if self.take_pushed(now, id) {
            return;
        }
        let Some(fetch) = self.fetches.get(&id) else { return };
        let origin = self.origin_of(&fetch.spec.url);
        if let Err(failure) = self.reachable(&origin) {
            return self.end(now, id, Err(failure));
        }
        let known = self.config.transport.known(origin.scheme);
        let urgency = fetch.spec.priority.urgency;
        let origin = self.pool.enter(origin, known);
        self.pool.wait(origin, urgency, id);
        if let Some(due) = self.due(id) {
            self.wake.by(due);
        }
    }

    /// The origin whose connections a URL is fetched over: with the scheme and port of the URL, or those of the
    /// transport.
    fn origin_of(&self, url: &Url) -> Origin {
        let scheme = self.config.transport.scheme(url.scheme);
        let host = self.config.shared_hosts.get(&url.host).unwrap_or(&url.host).clone();
        Origin { scheme, host, port: url.port.unwrap_or(scheme.default_port()) }
    }

    fn pool_origin(&mut self, url: &Url) -> OriginId {
        let origin = self.origin_of(url);
        let known = self.config.transport.known(origin.scheme);
        self.pool.enter(origin, known)
    }

    /// Makes the request of `id` on a connection.
    fn send(&mut self, now: Instant, id: FetchId, connection: ConnectionId) {
        let Some(mut connection) = self.take(connection) else { return };
        if self.take_pushed_from(now, &mut connection, id) {
            return self.put_back(now, connection);
        }
        if let Some(fetch) = self.fetches.get(&id) {
            if connection.exchanges.is_early && !fetch.may_go_early() {
                connection.exchanges.deferred.push(id);
                return self.put_back(now, connection);
            }
            if let Some(messages) = fetch.spec.messages.clone() {
                self.open_socket(now, id, &mut connection, messages);
                return self.put_back(now, connection);
            }
            let head = self.head(fetch, connection.exchanges.protocol);
            let fin = if fetch.spec.body.is_empty() { Fin::Last } else { Fin::More };
            let PooledConnection { transport, exchanges, .. } = &mut connection;
            // HTTP/3 has no dependencies; the `priority` field carries the urgency.
            let has_tree = self.config.priorities == Priorities::Browser
                && exchanges.protocol != Some(Protocol::Http3);
            let asked = match transport.machine() {
                Some(machine) if has_tree => {
                    machine.request_at(now, &head, fin, exchanges.place(fetch.spec.place()))
                }
                Some(machine) => machine.request(now, &head, fin),
                None => Err(Refused::Draining),
            };
            match asked {
                Ok(stream) => self.sent(now, id, &mut connection, stream),
                Err(Refused::Full | Refused::Draining | Refused::TooEarly) => self.admit(now, id),
                Err(refused @ (Refused::Unsendable(_) | Refused::NotAllowed)) => {
                    let destination = connection.exchanges.destination.clone();
                    let reason = refused.to_string();
                    self.end(now, id, Err(Failure::Unsendable { destination, reason }));
                }
            }
        }
        self.put_back(now, connection);
    }

    /// Records that the protocol machine has taken the request of `id`.
    fn sent(
        &mut self,
        now: Instant,
        id: FetchId,
        connection: &mut PooledConnection,
        stream: StreamId,
    ) {
        let Some(fetch) = self.fetches.get_mut(&id) else { return };
        let opening = connection.opening_for(fetch.asked);
        let PooledConnection { transport, exchanges, .. } = connection;
        let (Some(protocol), Some(machine)) = (exchanges.protocol, transport.machine()) else {
            return;
        };
        let (connection, number) = (exchanges.connection, exchanges.record.id);
        let allowed = exchanges.stream_limit.allowed_since(fetch.queued());
        fetch.sent(now, Assignment { connection, number, stream, protocol, opening, allowed });
        let has_update = self.config.priorities == Priorities::Browser
            && self.config.browser.updates_each_request()
            && protocol == Protocol::Http3;
        if has_update && fetch.spec.place.is_some() && fetch.spec.priority != Default::default() {
            machine.prioritise(stream, urgency(fetch.spec.priority));
        }
        exchanges.begin(stream, id, &fetch.spec);
        exchanges.upload(machine, stream);
        if let Some(due) = self.due(id) {
            self.wake.by(due);
        }
    }

    fn head(&self, fetch: &Fetch, protocol: Option<Protocol>) -> RequestHead {
        let url = &fetch.spec.url;
        let scheme = self.config.transport.scheme(url.scheme);
        let mut fields = self.config.profile.fields(&fetch.spec, url);
        // Browsers send the field over HTTP/2 (RFC 9218 §5); in SPDY's time there was none.
        let has_field = match self.config.priorities {
            Priorities::Browser => self.config.browser.sends_field(),
            Priorities::Field => true,
            Priorities::Silent => false,
        };
        if has_field
            && matches!(protocol, Some(Protocol::Http2 | Protocol::Http3))
            && let Some(value) = profile::priority_value(fetch.spec.priority)
            && fields.find(b"priority").is_none()
        {
            fields.push(b"priority", value.as_bytes());
        }
        let own = || Url { scheme, ..url.clone() };
        if let Some(cookies) = self.config.cookies.as_ref().and_then(|jar| jar.field(&own()))
            && fields.find(b"cookie").is_none()
        {
            fields.push(b"cookie", cookies.as_bytes());
        }
        let mut path = url.path.clone();
        if scheme == page::Scheme::Http
            && let Some(proxy) = self.config.proxies.find(scheme, &url.host)
        {
            path = own().to_string();
            if let Some(authorization) = &proxy.authorization {
                fields.push(b"proxy-authorization", authorization.as_bytes());
            }
        }
        RequestHead {
            method: fetch.spec.method.clone(),
            fields,
            ..RequestHead::get(profile::scheme(scheme), url.authority(), path)
        }
    }

    /// When a fetch must be checked next: its time limit, or the stall time-out.
    fn due(&self, id: FetchId) -> Option<Instant> {
        let fetch = self.fetches.get(&id)?;
        let whole = self.config.timeouts.whole.map(|limit| fetch.queued() + limit);
        match fetch.state {
            State::Waiting => whole,
            State::Active { connection, .. } => {
                // Responses that share a connection take turns, so bytes for another fetch on it show that this one
                // has not stalled.
                let connection = self.connections.get(connection.0).and_then(Option::as_ref);
                let heard = connection.map_or(fetch.progress, |open| open.exchanges.heard);
                let stall = heard.max(fetch.progress) + self.config.timeouts.stall;
                Some(whole.map_or(stall, |whole| whole.min(stall)))
            }
        }
    }

    /// Fails a fetch that takes too long.
    fn check_time(&mut self, now: Instant, id: FetchId) {
        let Some(due) = self.due(id) else { return };
        if due > now {
            return self.wake.by(due);
        }
        let Some(fetch) = self.fetches.get(&id) else { return };
        let failure = match (self.config.timeouts.whole, fetch.state) {
            (Some(limit), _) if fetch.queued() + limit <= now => Failure::TooSlow { limit },
            (_, State::Active { connection, .. }) => {
                let open = self.connections.get_mut(connection.0).and_then(Option::as_mut);
                let Some(PooledConnection { exchanges, .. }) = open else { return };
                exchanges.silent_since = Some(exchanges.heard);
                Failure::Stalled {
                    destination: exchanges.destination.clone(),
                    span: self.config.timeouts.stall,
                }
            }
            (_, State::Waiting) => return,
        };
        self.abandon(now, id, failure);
    }

    /// Gives a fetch another priority, in the queue or on its connection.
    fn reprioritise(&mut self, now: Instant, id: FetchId, priority: page::Priority) {
        let Some(fetch) = self.fetches.get_mut(&id) else { return };
        let earlier = std::mem::replace(&mut fetch.spec.priority, priority);
        fetch.spec.place = fetch.spec.place.map(|place| match place {
            Place::Chain { .. } => Place::Chain { level: priority.urgency },
            Place::Root { .. } | Place::Group { .. } => place,
        });
        match fetch.state {
            State::Waiting => {
                let url = fetch.spec.url.clone();
                let origin = self.pool_origin(&url);
                self.pool.forget(origin, earlier.urgency, id);
                self.pool.wait(origin, priority.urgency, id);
            }
            State::Active { connection, stream } => {
                let Some(mut connection) = self.take(connection) else { return };
                connection.reprioritise(&self.config, stream, priority);
                self.put_back(now, connection);
            }
        }
    }

    /// Ends a fetch early, in whatever state it is.
    fn abandon(&mut self, now: Instant, id: FetchId, failure: Failure) {
        let Some(fetch) = self.fetches.get(&id) else { return };
        if let State::Active { connection, stream } = fetch.state
            && let Some(mut connection) = self.take(connection)
        {
            connection.exchanges.streams.remove(&stream);
            if let Some(machine) = connection.transport.machine() {
                machine.reset(now, stream);
            }
            self.put_back(now, connection);
        }
        self.end(now, id, Err(failure));
    }

    /// Ends a fetch that is on no connection.
    fn end(&mut self, now: Instant, id: FetchId, outcome: Result<(), Failure>) {
        let Some(fetch) = self.fetches.remove(&id) else { return };
        if fetch.state == State::Waiting {
            let urgency = fetch.spec.priority.urgency;
            let origin = self.pool_origin(&fetch.spec.url);
            self.pool.forget(origin, urgency, id);
        }
        let outcome = outcome.and_then(|()| fetch.check());
        if let Err(failure) = &outcome {
            self.work.handle_failure(now, id, failure.hope());
        }
        self.work.handle_end(now, id, fetch.into_record(now, outcome));
    }

    /// A connection has failed a fetch: it is queued again if it may be repeated, else it fails.
    fn let_down(&mut self, now: Instant, id: FetchId, acted: Acted, failure: Failure) {
        if self.is_made_again(id, &failure) {
            return self.make_again(now, id);
        }
        let ending = self.is_ending();
        let Some(fetch) = self.fetches.get_mut(&id) else { return };
        if ending || !fetch.may_retry(acted) {
            return self.end(now, id, Err(failure));
        }
        fetch.retry(acted);
        if acted == Acted::Perhaps {
            self.close_idle_beside(now, id);
        }
        self.admit(now, id);
    }

    /// Whether a fetch that a connection has failed is made again.
    fn is_made_again(&self, id: FetchId, failure: &Failure) -> bool {
        let may_be = self.fetches.get(&id).is_some_and(Fetch::may_be_made_again);
        may_be && self.makes_again(failure)
    }

    /// Whether what a lost connection has failed goes on with another one, as [`LostFetches::MadeAgain`] says.
    fn makes_again(&self, failure: &Failure) -> bool {
        self.config.lost == LostFetches::MadeAgain && failure.is_loss() && !self.is_ending()
    }

    fn make_again(&mut self, now: Instant, id: FetchId) {
        if let Some(fetch) = self.fetches.get_mut(&id) {
            fetch.make_again();
            self.close_idle_beside(now, id);
            self.admit(now, id);
        }
    }

    /// Closes the idle connections of a fetch's origin: as old as the one that it has lost, they are probably closed too.
    fn close_idle_beside(&mut self, now: Instant, id: FetchId) {
        if let Some(fetch) = self.fetches.get(&id) {
            let url = fetch.spec.url.clone();
            let origin = self.pool_origin(&url);
            self.close_idle(now, origin);
        }
    }

    /// Puts a connection back into its slot. Tells the pool how many requests it takes, and the driver what it wants.
    fn put_back(&mut self, now: Instant, mut connection: PooledConnection) {
        self.drive(now, &mut connection, |transport, events| transport.drain_events(now, events));
        if sockets::has_sockets(&connection) {
            self.advance_sockets(now, &mut connection);
        }
        if connection.is_over() || self.has_served(&connection) {
            return self.retire(now, connection);
        }
        if connection.is_ready() {
            self.won(now, &connection);
        }
        let PooledConnection { transport, exchanges, socket, port } = &mut connection;
        if let Some(machine) = transport.machine() {
            self.tell_pool(now, exchanges, machine);
        }
        if let Some(due) = transport.poll_timeout() {
            self.wake.by(due);
        }
        let has_port = port.is_some();
        if has_port {
            return self.settle_quic(connection);
        }
        if let Some(socket) = *socket
            && transport.poll_wants_transmit()
        {
            self.actions.push_back(Action::Transmit(socket));
        }
        self.keep(connection);
    }

    /// Whether the client closes this connection after its first use. HTTP/1.1 announces that in the request, and its
    /// machine closes by itself.
    fn has_served(&self, connection: &PooledConnection) -> bool {
        self.config.keep_alive == KeepAlive::Off
            && connection.exchanges.record.requests > 0
            && connection.is_idle()
            && connection.exchanges.protocol != Some(Protocol::Http1)
    }

    /// Whether it writes frames as a browser that writes each by itself.
    fn writes_each_frame(&self) -> bool {
        self.config.profile != Profile::Bare && self.config.browser.writes_each_frame()
    }

    fn is_ending(&self) -> bool {
        matches!(self.phase, Phase::Leaving { .. } | Phase::Finished)
    }
}

/// The connection on a socket over TCP, where each has its own; their numbers are odd.
fn connection_of(socket: SocketId) -> ConnectionId {
    ConnectionId(socket.0 / 2)
}

/// The socket that carries a connection.
fn socket_of(connection: ConnectionId) -> SocketId {
    SocketId(connection.0 * 2 + 1)
}
