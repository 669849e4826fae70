//! The load engine as an end point. It opens its connections, and when each is decided the plan's clock begins: the
//! warm-up, then what counts, then the wait for what is under way. The one rule: a request's time runs from when it
//! was due, whatever kept it.
//!
//! Beside the requests there is one alarm, the look around: it ends what is overdue, wakes machines, and bounds what
//! waits, so that nothing is set or cancelled for each request.

mod connections;
mod quic;

use super::connection::{LoadConnection, Loss, Outcome, PreparedRequest, Reporting, Stage};
use super::ledger::Ledger;
use super::pace::{Arrivals, Due, Share};
use super::plan::{Exchange, LoadPlan, Pace};
use super::server::Server;
use super::tally::{Fault, Interval, Tally};
use crate::profile;
use crate::transport_choice::connection_settings;
use crate::{ClientConfig, KeepAlive};
use bytes::Bytes;
use endpoint::Action;
use proto::{Fin, RequestHead};
use quic::QuicState;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::rc::Rc;
use std::time::Duration;
use transport::ClientSettings;
use unit::Instant;

/// Who watches a run. It is called from the engine's thread, and should be quick.
pub trait Watch {
    /// What counts begins now.
    fn handle_began(&mut self, now: Instant);

    /// About a second is over, or the run is, with what its last second holds.
    fn handle_interval(&mut self, interval: &Interval);

    /// No request that counts begins from now on; of a run by number: all have ended.
    fn handle_ended(&mut self, now: Instant);
}

/// An end point that makes requests.
pub struct Load {
    plan: LoadPlan,
    config: ClientConfig,
    /// What connections for HTTP's requests are set to, and those for WebSockets.
    settings: Rc<ClientSettings>,
    web_socket_settings: Rc<ClientSettings>,
    servers: Vec<Server>,
    connections: Vec<LoadConnection>,
    prepared: Vec<PreparedRequest>,
    ledger: Ledger,
    quic: QuicState,
    arrivals: Option<Arrivals>,
    /// The server of each target.
    homes: Vec<usize>,
    /// Targets of all servers, in turns, for arrivals.
    turns: Vec<usize>,
    /// Connections to open, by when.
    wanted: BinaryHeap<Reverse<(Instant, usize)>>,
    connecting: usize,
    open: u64,
    undecided: usize,
    /// When to look around next; None before the start.
    look: Option<Instant>,
    watch: Option<Box<dyn Watch>>,
    actions: VecDeque<Action>,
}

impl Load {
    /// An engine that begins when it is started. The plan has a target and a connection for each server at least.
    pub fn new(plan: LoadPlan) -> Self {
        let (servers, homes) = Server::of(&plan);
        let count = plan.connections.max(servers.len());
        // Engines begin at different servers, so that few connections of each are spread over all, too.
        let first = plan.share.turn(plan.share.index, servers.len());
        let connections = (0..count)
            .map(|number| LoadConnection::new(number, (first + number) % servers.len().max(1)));
        let weights: Vec<u32> = plan.targets.iter().map(|target| target.weight).collect();
        let config = plan.access.config();
        Self {
            settings: connection_settings(&config, config.transport.offer),
            web_socket_settings: connection_settings(&config, config.transport.web_socket_offer()),
            config,
            connections: connections.collect(),
            prepared: plan.targets.iter().map(|target| prepare(&plan, target)).collect(),
            ledger: Ledger::new(&plan),
            quic: QuicState::default(),
            arrivals: None,
            turns: super::plan::turns(&weights),
            servers,
            homes,
            wanted: BinaryHeap::new(),
            connecting: 0,
            open: 0,
            undecided: count,
            look: None,
            watch: None,
            actions: VecDeque::new(),
            plan,
        }
    }

    /// Reports what happens to `watch`.
    pub fn observe(&mut self, watch: Box<dyn Watch>) {
        self.watch = Some(watch);
    }

    /// What was counted.
    pub fn into_tally(self) -> Tally {
        self.ledger.tally
    }

    /// Whether `Action::Finish` was given.
    pub fn is_finished(&self) -> bool {
        self.ledger.is_finished()
    }

    /// Requests under way at a time on a connection.
    fn streams(&self) -> usize {
        match self.config.keep_alive {
            KeepAlive::On => self.plan.streams,
            KeepAlive::Off => 1,
        }
    }

    /// The first attempt of a connection is over, one way or the other. After the last one the plan's clock begins.
    fn decide(&mut self, now: Instant, number: usize) {
        if std::mem::replace(&mut self.connections[number].decided, true) {
            return;
        }
        self.undecided -= 1;
        if self.undecided > 0 {
            return;
        }
        if !self.connections.iter().any(|connection| connection.stage == Stage::Open) {
            return self.finish(now);
        }
        self.ledger.begin(now);
        // At once: a short run may end before any time-out comes.
        self.tell_watch(now);
        if let Pace::Open { stages, spacing } = &self.plan.pace {
            let stages = self.ledger.with_warm_up(stages);
            self.arrivals = Some(Arrivals::new(&stages, *spacing, self.plan.share));
        }
        for number in 0..self.connections.len() {
            self.settle(now, number);
        }
    }

    /// After anything that happened on a connection: it opens up, takes requests, speaks, or is closed.
    fn settle(&mut self, now: Instant, number: usize) {
        if self.ledger.is_finished() {
            return;
        }
        self.note_opened(now, number);
        let has_begun = self.fill(now, number);
        let connection = &self.connections[number];
        if connection.is_over_quic()
            && (has_begun || connection.has_web_socket())
            && let Err(loss) = self.carry_out(now, number)
        {
            return self.close(now, number, loss);
        }
        let streams = self.streams();
        let connection = &mut self.connections[number];
        let used_up = self.config.keep_alive == KeepAlive::Off
            && connection.answers > 0
            && connection.under_way() == 0;
        if connection.is_over() || used_up {
            return self.close(now, number, Loss::Orderly);
        }
        if self.plan.pace != Pace::Closed && connection.takes_request(streams) {
            self.servers[connection.server].list(number, connection);
        }
        if connection.poll_wants_transmit(now) {
            self.actions.push_back(Action::Transmit(connection.socket));
        }
        self.finish_if_done(now);
    }

    /// Where a connection has just come to where requests can be made.
    fn note_opened(&mut self, now: Instant, number: usize) {
        let connection = &mut self.connections[number];
        if connection.stage == Stage::Open && !connection.counted {
            connection.counted = true;
            self.connecting -= 1;
            self.open += 1;
            let connects = &mut self.ledger.tally.connects;
            connects.opened += 1;
            connects.most_open = connects.most_open.max(self.open);
            self.decide(now, number);
            self.open_wanted(now);
        }
    }

    /// Gives the connection as many requests as it takes; tells whether there were any.
    fn fill(&mut self, now: Instant, number: usize) -> bool {
        let streams = self.streams();
        let Self { config, connections, servers, ledger, prepared, .. } = self;
        let connection = &mut connections[number];
        let server = &mut servers[connection.server];
        let stays = config.keep_alive == KeepAlive::On;
        let mut has_begun = false;
        while (stays || connection.answers == 0) && connection.takes_request(streams) {
            let Some(request) = ledger.take(now, server) else { break };
            let Some(prepared) = prepared.get(request.target) else { break };
            ledger.start();
            has_begun = true;
            if let Err(outcome) = connection.start(now, request, prepared) {
                let again = matches!(outcome, Outcome::Unprocessed(_));
                ledger.note(now, server, outcome);
                if again {
                    break;
                }
            }
        }
        let under_way = connection.under_way() as u64;
        if under_way > ledger.tally.most_streams && !connection.takes_request(streams) {
            ledger.tally.most_streams = under_way;
        }
        has_begun
    }

    /// Requests whose time has come.
    fn arrive(&mut self, now: Instant) {
        let streams = self.streams();
        while let Some(arrivals) = &mut self.arrivals
            && let Some(due) = arrivals.next()
        {
            if let Some(counted) = self.ledger.pass_over(now, due, arrivals) {
                self.share_out(due, counted);
                continue;
            }
            let Some(mut request) = self.ledger.arrive(now, due) else { break };
            arrivals.advance();
            request.target = self.turns[self.plan.share.turn(due.number, self.turns.len())];
            let server = &mut self.servers[self.homes[request.target]];
            server.waiting.push_back(request);
            if let Some(number) = server.unlist(&mut self.connections, streams) {
                self.settle(now, number);
            }
        }
        if self.arrivals.as_ref().is_some_and(|arrivals| arrivals.next().is_none()) {
            self.ledger.end_of_schedule();
        }
    }

    /// Requests that were due from `due` on and passed over count for the targets whose turns they were.
    fn share_out(&mut self, due: Due, count: u64) {
        let turns = self.turns.len();
        let first = self.plan.share.turn(due.number, turns);
        for nth in 0..turns.min(usize::try_from(count).unwrap_or(turns)) {
            let target = self.turns[(first + nth) % turns];
            if let Some(part) = self.ledger.tally.targets.get_mut(target) {
                part.not_begun += Share { index: nth as u64, of: turns as u64 }.part(count);
            }
        }
    }

    /// The look around.
    fn look_around(&mut self, now: Instant) {
        self.look = Some(now + look_every(self.plan.timeout));
        let overdue = now - self.plan.timeout;
        for server in &mut self.servers {
            while let Some(request) = server.pop_overdue(overdue) {
                self.ledger.fail_waiting(&request, Fault::TimedOut);
            }
        }
        for number in 0..self.connections.len() {
            self.look_at(now, overdue, number);
        }
    }

    fn look_at(&mut self, now: Instant, overdue: Instant, number: usize) {
        let connection = &self.connections[number];
        match connection.stage {
            Stage::Shut => return,
            Stage::Connecting | Stage::Securing => {
                let limit = self.config.timeouts.connect;
                if connection.timings().is_some_and(|timings| timings.opened + limit <= now) {
                    return self.close(now, number, Fault::ConnectTimedOut.into());
                }
            }
            Stage::Open => {}
        }
        match self.look_closely(now, overdue, number) {
            Ok(()) => self.settle(now, number),
            Err(loss) => self.close(now, number, loss),
        }
    }

    fn look_closely(&mut self, now: Instant, overdue: Instant, number: usize) -> Result<(), Loss> {
        let streams = self.streams();
        self.drive(now, number, |transport, events| {
            events.handle_timeout();
            transport.handle_timeout(now, events)
        })?;
        let Self { connections, servers, ledger, prepared, .. } = self;
        let connection = &mut connections[number];
        let server = &mut servers[connection.server];
        connection.expire(now, overdue, &mut Reporting { ledger, server, prepared })?;
        if self.plan.pace == Pace::Closed && connection.is_starved(now, overdue) {
            // As many as would have waited for a stream. In an open loop they wait in their queue.
            ledger.note_cause(Fault::TimedOut, || NO_STREAM.to_owned());
            for _ in 0..streams {
                let Some(request) = ledger.take(now, server) else { break };
                ledger.fail(&request, Fault::TimedOut);
            }
        }
        self.drive(now, number, |transport, events| {
            transport.drain_events(now, events);
            Ok(())
        })
    }

    /// Reports to the watcher what is new.
    fn tell_watch(&mut self, now: Instant) {
        let (began, ended) = (self.ledger.take_beginning(now), self.ledger.take_end());
        let Some(watch) = &mut self.watch else { return };
        if began {
            watch.handle_began(now);
        }
        if let Some(interval) = self.ledger.due_interval(now) {
            let open = self.connections.iter().filter(|c| c.stage == Stage::Open).count();
            interval.connections = open as u64;
            watch.handle_interval(interval);
            interval.restart(now);
        }
        if ended {
            watch.handle_ended(now);
        }
    }

    fn finish_if_done(&mut self, now: Instant) {
        if self.ledger.is_done() {
            self.finish(now);
        }
    }

    fn finish(&mut self, now: Instant) {
        if self.ledger.is_finished() {
            return;
        }
        self.ledger.finish(now);
        self.tell_watch(now);
        for number in 0..self.connections.len() {
            let connection = &mut self.connections[number];
            match connection.stage {
                Stage::Securing | Stage::Open if connection.is_over_quic() => {
                    self.leave_quic(now, number);
                }
                Stage::Securing | Stage::Open => {
                    connection.say_goodbye(now);
                    let socket = connection.socket;
                    self.actions.extend([Action::Transmit(socket), Action::Close(socket)]);
                }
                Stage::Shut | Stage::Connecting => {}
            }
        }
        self.end_when_left();
    }
}

const NO_STREAM: &str =
    "it allows no stream (HTTP/2 and SPDY: SETTINGS_MAX_CONCURRENT_STREAMS; HTTP/3: MAX_STREAMS)";

/// How often the engine looks around: often enough that a time-out is met within a twentieth of itself.
fn look_every(timeout: Duration) -> Duration {
    (timeout / 20).clamp(Duration::from_millis(1), Duration::from_millis(100))
}

/// Prepares a target's request.
fn prepare(plan: &LoadPlan, target: &super::plan::Target) -> PreparedRequest {
    match &target.exchange {
        Exchange::Echo { message, .. } => PreparedRequest::Echo { message: message.clone() },
        Exchange::Http { method, fields, body } => {
            let scheme = plan.access.transport.scheme(target.url.scheme);
            let mut fields = fields.clone();
            if !body.is_empty() {
                fields.push(b"content-length", body.len().to_string().as_bytes());
            }
            fields.validate();
            let head = RequestHead {
                method: method.clone(),
                scheme: profile::scheme(scheme),
                authority: target.url.authority(),
                path: target.url.path.clone(),
                protocol: None,
                fields,
            };
            let fin = if body.is_empty() { Fin::Last } else { Fin::More };
            PreparedRequest::Http { head: Box::new(head), fin, body: Bytes::clone(body) }
        }
    }
}

impl std::fmt::Debug for Load {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Load").field("servers", &self.servers).finish_non_exhaustive()
    }
}
