//! The load engine as an end point. It opens its connections, and when each is decided the plan's clock begins: the
//! warm-up, then what counts, then the wait for what is under way. The one rule: a request's time runs from when it
//! was due, whatever kept it.
//!
//! Beside the requests there is one alarm, the look around: it ends what is overdue, wakes machines, and bounds what
//! waits, so that nothing is set or cancelled for each request.

mod sockets;

use super::book::{Book, Taken};
use super::channel::{Channel, Loss, Ready, Stage, Told};
use super::pace::Arrivals;
use super::plan::{Exchange, LoadPlan, Pace};
use super::server::Server;
use super::tally::{Fault, Interval, Tally};
use crate::config::{ClientConfig, KeepAlive};
use crate::profile;
use bytes::Bytes;
use endpoint::{Action, SocketId};
use proto::{Fin, RequestHead};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;
use unit::Instant;

/// Who watches a run. It is told from within the engine's thread, and should be quick.
pub trait Watch {
    /// What counts begins now.
    fn handle_began(&mut self, now: Instant);

    /// About a second is over.
    fn handle_interval(&mut self, interval: &Interval);

    /// No request that counts begins from now on; of a run by number: all have ended.
    fn handle_ended(&mut self, now: Instant);
}

/// An end point that makes requests.
pub struct Load {
    plan: LoadPlan,
    config: ClientConfig,
    servers: Vec<Server>,
    channels: Vec<Channel>,
    ready: Vec<Ready>,
    book: Book,
    arrivals: Option<Arrivals>,
    /// The server of each target.
    homes: Vec<usize>,
    /// Targets of all servers, in turns, for arrivals.
    turns: Vec<usize>,
    /// Connections to open, by when.
    wanted: BinaryHeap<Reverse<(Instant, usize)>>,
    connecting: usize,
    undecided: usize,
    look: Instant,
    watch: Option<Box<dyn Watch>>,
    interval: Instant,
    actions: VecDeque<Action>,
}

/// How long an interval is that watchers are told of.
const INTERVAL: Duration = Duration::from_secs(1);

impl Load {
    /// An engine that begins as soon as it is driven. The plan has a target and a connection for each server at least.
    pub fn new(plan: LoadPlan) -> Self {
        let (servers, homes) = Server::of(&plan);
        let connections = plan.connections.max(servers.len());
        let channels = (0..connections).map(|number| Channel::new(number % servers.len().max(1)));
        let weights: Vec<u32> = plan.targets.iter().map(|target| target.weight).collect();
        Self {
            config: plan.access.config(),
            channels: channels.collect(),
            ready: plan.targets.iter().map(|target| ready(&plan, target)).collect(),
            book: Book::new(&plan),
            arrivals: None,
            turns: super::plan::turns(&weights),
            servers,
            homes,
            wanted: BinaryHeap::new(),
            connecting: 0,
            undecided: connections,
            look: Instant::ZERO,
            watch: None,
            interval: Instant::ZERO,
            actions: VecDeque::new(),
            plan,
        }
    }

    /// Has `watch` told of what happens.
    pub fn observe(&mut self, watch: Box<dyn Watch>) {
        self.watch = Some(watch);
    }

    /// What was counted.
    pub fn into_tally(self) -> Tally {
        self.book.tally
    }

    /// Whether `Action::Finish` was given.
    pub fn is_finished(&self) -> bool {
        self.book.is_finished()
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
        if std::mem::replace(&mut self.channels[number].decided, true) {
            return;
        }
        self.undecided -= 1;
        if self.undecided > 0 {
            return;
        }
        if !self.channels.iter().any(|channel| channel.stage == Stage::Open) {
            return self.finish(now);
        }
        self.book.begin(now);
        self.interval = now + INTERVAL;
        if let Pace::Open { stages, spacing } = &self.plan.pace {
            let stages = self.book.with_warm_up(stages);
            self.arrivals = Some(Arrivals::new(&stages, *spacing, self.plan.share));
        }
        for number in 0..self.channels.len() {
            self.settle(now, number);
        }
    }

    /// After anything that happened on a connection: it opens up, takes requests, speaks, or is closed.
    fn settle(&mut self, now: Instant, number: usize) {
        if self.book.is_finished() {
            return;
        }
        self.note_opened(now, number);
        self.fill(now, number);
        let streams = self.streams();
        let channel = &mut self.channels[number];
        let used_up = self.config.keep_alive == KeepAlive::Off
            && channel.answers > 0
            && channel.under_way() == 0;
        if channel.is_over() || used_up {
            return self.close(now, number, Loss::Orderly);
        }
        if self.plan.pace != Pace::Closed && channel.has_room(streams) {
            self.servers[channel.server].list(number, channel);
        }
        if !channel.told && channel.wants_transmit() {
            channel.told = true;
            self.actions.push_back(Action::Transmit(SocketId(number)));
        }
        self.finish_if_done(now);
    }

    /// Where a connection has just come to where requests can be made.
    fn note_opened(&mut self, now: Instant, number: usize) {
        let channel = &mut self.channels[number];
        if channel.stage == Stage::Open && !channel.counted {
            channel.counted = true;
            self.connecting -= 1;
            self.book.tally.connects.opened += 1;
            self.decide(now, number);
            self.open_wanted(now);
        }
    }

    /// Gives the connection as many requests as it takes.
    fn fill(&mut self, now: Instant, number: usize) {
        let streams = self.streams();
        let Self { config, channels, servers, book, ready, .. } = self;
        let channel = &mut channels[number];
        let server = &mut servers[channel.server];
        let stays = config.keep_alive == KeepAlive::On;
        while (stays || channel.answers == 0) && channel.has_room(streams) {
            let Some(ticket) = book.take(now, server) else { break };
            let Some(ready) = ready.get(ticket.target) else { break };
            book.start();
            if let Err(told) = channel.start(now, ticket, ready) {
                let again = matches!(told, Told::Unprocessed(_));
                book.note(now, server, told);
                if again {
                    break;
                }
            }
        }
    }

    /// Requests whose time has come.
    fn arrive(&mut self, now: Instant) {
        let streams = self.streams();
        while let Some(arrivals) = &mut self.arrivals
            && let Some(due) = arrivals.next()
            && let Taken::Ticket(mut ticket) = self.book.arrive(now, due)
        {
            arrivals.advance();
            ticket.target = self.turns[(due.number % self.turns.len() as u64) as usize];
            let server = &mut self.servers[self.homes[ticket.target]];
            server.waiting.push_back(ticket);
            if let Some(number) = server.unlist(&mut self.channels, streams) {
                self.settle(now, number);
            }
        }
        if self.arrivals.as_ref().is_some_and(|arrivals| arrivals.next().is_none()) {
            self.book.end_of_schedule();
        }
    }

    /// The look around.
    fn look_around(&mut self, now: Instant) {
        self.look = now + look_every(self.plan.timeout);
        let overdue = now - self.plan.timeout;
        for server in &mut self.servers {
            while let Some(ticket) = server.pop_overdue(overdue) {
                self.book.fail_waiting(&ticket, Fault::TimedOut);
            }
        }
        for number in 0..self.channels.len() {
            self.look_at(now, overdue, number);
        }
    }

    fn look_at(&mut self, now: Instant, overdue: Instant, number: usize) {
        let Self { channels, servers, book, .. } = self;
        let channel = &mut channels[number];
        match channel.stage {
            Stage::Shut => return,
            Stage::Connecting | Stage::Securing => {
                if channel.began + self.config.timeouts.connect <= now {
                    return self.close(now, number, Fault::ConnectTimedOut.into());
                }
            }
            Stage::Open => {}
        }
        let server = &mut servers[channel.server];
        let mut tell = |told| {
            book.note(now, server, told);
        };
        let looked = channel.look(now, overdue, &mut tell);
        match looked.and_then(|()| self.hear(now, number, &[])) {
            Ok(()) => self.settle(now, number),
            Err(loss) => self.close(now, number, loss),
        }
    }

    /// Tells the watcher what it has not been told.
    fn tell_watch(&mut self, now: Instant) {
        let (began, ended) = self.book.take_news();
        let Some(watch) = &mut self.watch else { return };
        if began {
            watch.handle_began(now);
        }
        if self.interval <= now {
            self.interval = now + INTERVAL;
            let connections = self.channels.iter().filter(|c| c.stage == Stage::Open).count();
            let interval = self.book.interval(now);
            interval.connections = connections as u64;
            watch.handle_interval(interval);
            interval.restart(now);
        }
        if ended {
            watch.handle_ended(now);
        }
    }

    fn finish_if_done(&mut self, now: Instant) {
        if self.book.is_done() {
            self.finish(now);
        }
    }

    fn finish(&mut self, now: Instant) {
        if self.book.is_finished() {
            return;
        }
        self.book.finish(now);
        self.tell_watch(now);
        for (number, channel) in self.channels.iter_mut().enumerate() {
            if matches!(channel.stage, Stage::Securing | Stage::Open) {
                channel.say_goodbye(now);
                self.actions.push_back(Action::Transmit(SocketId(number)));
                self.actions.push_back(Action::Close(SocketId(number)));
            }
        }
        self.actions.push_back(Action::Finish);
    }
}

/// How often the engine looks around: often enough that a time-out is met within a twentieth of itself.
fn look_every(timeout: Duration) -> Duration {
    (timeout / 20).clamp(Duration::from_millis(1), Duration::from_millis(100))
}

/// Prepares a target's request.
fn ready(plan: &LoadPlan, target: &super::plan::Target) -> Ready {
    match &target.exchange {
        Exchange::Echo { message, .. } => Ready::Echo { message: message.clone() },
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
            Ready::Http { head: Box::new(head), fin, body: Bytes::clone(body) }
        }
    }
}

impl std::fmt::Debug for Load {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Load").field("servers", &self.servers).finish_non_exhaustive()
    }
}
