//! The load engine as an end point. It opens its connections, and when each is decided the plan's clock begins: the
//! warm-up, then what counts, then the wait for what is under way. The one rule: a request's time runs from when it
//! was due, whatever kept it.
//!
//! Beside the requests there is one alarm, the look around: it ends what is overdue, wakes machines, and bounds what
//! waits, so that nothing is set or cancelled for each request.

use super::book::{Book, Taken};
use super::channel::{Channel, Loss, Ready, Stage, Told};
use super::pace::Arrivals;
use super::plan::{Exchange, LoadPlan, Pace};
use super::server::Server;
use super::tally::{Fault, Interval, Tally};
use crate::config::{ClientConfig, KeepAlive};
use crate::profile;
use bytes::Bytes;
use page::Scheme;
use proto::{
    Accepted, Action, EndPoint, Fin, Prepared, RequestHead, SendBuf, SocketError, SocketId,
};
use secure::{Layer, Tls};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::SocketAddr;
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

/// Connects under way at a time: a listener's queue is not flooded, and the last of them does not pay for all.
const CONNECTING: usize = 256;

/// How long a connection rests after one that brought nothing: at first, and at most.
const FIRST_REST: Duration = Duration::from_millis(10);
const LONGEST_REST: Duration = Duration::from_millis(100);

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

    /// Opens what is to be opened by now, as far as there is room.
    fn open_wanted(&mut self, now: Instant) {
        while self.connecting < CONNECTING
            && let Some(&Reverse((due, number))) = self.wanted.peek()
            && due <= now
        {
            self.wanted.pop();
            self.open(now, number);
        }
    }

    fn open(&mut self, now: Instant, number: usize) {
        let server = &self.servers[self.channels[number].server];
        let Some(&remote) = server.remotes.get(server.place) else {
            return self.never_opened(now, number, Fault::Unreachable);
        };
        let layer = match server.scheme {
            Scheme::Http => Layer::Clear,
            Scheme::Https => match Tls::client(&self.config.tls, &server.url.host) {
                Ok(tls) => Layer::secured(tls),
                Err(_) => return self.never_opened(now, number, Fault::Tls),
            },
        };
        self.connecting += 1;
        self.channels[number].begin(now, layer);
        let mut settings = self.config.socket.clone();
        settings.connect_timeout = self.config.timeouts.connect;
        self.actions.push_back(Action::Connect { socket: SocketId(number), remote, settings });
    }

    /// An attempt came to nothing: it counts, takes a request with it in a closed loop, and another follows after a rest.
    fn never_opened(&mut self, now: Instant, number: usize, fault: Fault) {
        let server = self.channels[number].server;
        self.book.tally.connects.faults.count(fault);
        let places = self.servers[server].remotes.len().max(1);
        self.servers[server].place = (self.servers[server].place + 1) % places;
        if self.plan.pace == Pace::Closed
            && let Some(ticket) = self.book.take(now, &mut self.servers[server])
        {
            self.book.fail(&ticket, fault);
        }
        self.want_again(now, number);
        self.decide(now, number);
    }

    /// Has the connection opened anew, after a rest where the last one brought nothing.
    fn want_again(&mut self, now: Instant, number: usize) {
        let channel = &mut self.channels[number];
        channel.rest = match channel.answers {
            0 => (channel.rest * 2).clamp(FIRST_REST, LONGEST_REST),
            _ => Duration::ZERO,
        };
        channel.answers = 0;
        self.wanted.push(Reverse((now + channel.rest, number)));
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

    /// TLS is done, or there was none: what was agreed on decides who speaks.
    fn choose_speaker(&mut self, now: Instant, number: usize) -> Result<(), Loss> {
        let channel = &mut self.channels[number];
        let server = &self.servers[channel.server];
        let config = &self.config;
        let protocol = match (channel.layer.negotiated(), server.scheme) {
            (Some(agreed), _) => config.transport.agreed(agreed.alpn).ok_or(Fault::Tls)?,
            (None, scheme) => config.transport.known(scheme).ok_or(Fault::Tls)?,
        };
        if server.scheme == Scheme::Https {
            self.book.tally.connects.tls.record(now.since(channel.connected));
        }
        match server.web_socket {
            Some(target) => {
                let seed = self.plan.seed.nth(self.book.next_socket());
                self.book.tally.protocol = Some("ws");
                channel.ask_for_web_socket(now, config, (&self.plan.targets[target], seed))
            }
            None => {
                channel.speak(now, config, protocol);
                self.book.tally.protocol = Some(protocol.name());
                Ok(())
            }
        }
    }

    /// Takes octets up to the requests.
    fn feed(&mut self, now: Instant, number: usize, octets: &[u8]) -> Result<(), Loss> {
        let mut cipher = octets;
        loop {
            let Self { channels, servers, book, ready, .. } = self;
            let channel = &mut channels[number];
            let server = &mut servers[channel.server];
            let mut answers = 0;
            let tell = |told| answers += book.note(now, server, told);
            let early = channel.feed(now, &mut cipher, (ready, tell));
            channel.answers += answers;
            let early = early?;
            if !channel.speaks() && !channel.layer.is_handshaking() {
                self.choose_speaker(now, number)?;
            }
            let Some(plain) = early else { break };
            self.hear(now, number, &plain)?;
        }
        Ok(())
    }

    /// Hears plaintext, or what time-outs and commands have left to hear.
    fn hear(&mut self, now: Instant, number: usize, plain: &[u8]) -> Result<(), Loss> {
        let Self { channels, servers, book, ready, .. } = self;
        let channel = &mut channels[number];
        let server = &mut servers[channel.server];
        let mut answers = 0;
        let heard =
            channel.hear(now, plain, (ready, |told| answers += book.note(now, server, told)));
        channel.answers += answers;
        heard
    }

    /// The connection is over: what was under way is failed or made again, and another one follows.
    fn lose(&mut self, now: Instant, number: usize, loss: Loss, socket: Option<Action>) {
        let Self { channels, servers, book, .. } = self;
        let channel = &mut channels[number];
        let server = &mut servers[channel.server];
        let was_open = channel.counted;
        if !was_open {
            self.connecting -= 1;
        }
        for ticket in channel.shut() {
            let told = match loss {
                Loss::Orderly => Told::Failed(ticket, Fault::Closed),
                Loss::Unprocessed => Told::Unprocessed(ticket),
                Loss::Fault(fault) => Told::Failed(ticket, fault),
            };
            book.note(now, server, told);
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

    fn close(&mut self, now: Instant, number: usize, loss: Loss) {
        let socket = SocketId(number);
        let action = match loss {
            Loss::Orderly | Loss::Unprocessed => Action::Close(socket),
            Loss::Fault(_) => Action::Abort(socket),
        };
        self.lose(now, number, loss, Some(action));
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
        if channel.has_room(streams) && self.plan.pace != Pace::Closed {
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

    /// The channel of a socket that is not shut, for as long as anything counts.
    fn live(&mut self, socket: SocketId) -> Option<&mut Channel> {
        if self.book.is_finished() {
            return None;
        }
        self.channels.get_mut(socket.0).filter(|channel| channel.stage != Stage::Shut)
    }
}

impl EndPoint for Load {
    fn handle_accepted(&mut self, _now: Instant, _accepted: Accepted) -> Option<SocketId> {
        None
    }

    fn handle_connected(&mut self, now: Instant, socket: SocketId, _local: SocketAddr) {
        let Some(channel) = self.live(socket) else { return };
        channel.connected = now;
        channel.stage = Stage::Securing;
        let took = now.since(channel.began);
        let is_clear = matches!(channel.layer, Layer::Clear);
        self.book.tally.connects.tcp.record(took);
        if is_clear && let Err(loss) = self.choose_speaker(now, socket.0) {
            return self.close(now, socket.0, loss);
        }
        self.settle(now, socket.0);
    }

    fn handle_bytes(&mut self, now: Instant, socket: SocketId, octets: &[u8]) {
        if self.live(socket).is_none() {
            return;
        }
        self.book.tally.received += octets.len() as u64;
        if let Err(loss) = self.feed(now, socket.0, octets) {
            return self.close(now, socket.0, loss);
        }
        if self.channels[socket.0].layer.peer_closed() {
            return self.handle_eof(now, socket);
        }
        self.settle(now, socket.0);
    }

    fn handle_eof(&mut self, now: Instant, socket: SocketId) {
        let Some(channel) = self.live(socket) else { return };
        channel.end_input(now);
        let loss = self.hear(now, socket.0, &[]).err().unwrap_or(Loss::Orderly);
        self.lose(now, socket.0, loss, Some(Action::Close(socket)));
    }

    fn handle_error(&mut self, now: Instant, socket: SocketId, error: SocketError) {
        let Some(channel) = self.live(socket) else { return };
        let fault = fault_of(error, channel.stage);
        self.lose(now, socket.0, fault.into(), None);
    }

    fn poll_transmit(&mut self, now: Instant, socket: SocketId, out: &mut SendBuf, room: usize) {
        let Some(channel) = self.channels.get_mut(socket.0) else { return };
        let before = out.len();
        channel.poll_transmit(now, out, room);
        let sent = out.len() - before;
        channel.told = sent > 0;
        // The end of an upload may be what the next request has waited for.
        let has_room = sent == 0 && channel.has_room(self.plan.streams);
        self.book.tally.sent += sent as u64;
        if has_room {
            self.settle(now, socket.0);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.book.wake() {
            self.look = now + look_every(self.plan.timeout);
            self.wanted.extend((0..self.channels.len()).map(|number| Reverse((now, number))));
        }
        self.arrive(now);
        self.book.pass(now);
        self.open_wanted(now);
        if self.look <= now {
            self.look_around(now);
        }
        self.tell_watch(now);
        self.finish_if_done(now);
    }

    fn handle_stop(&mut self, now: Instant) {
        self.book.stop(now);
        self.finish(now);
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        let mut next = match self.book.next_time()? {
            Instant::ZERO => return Some(Instant::ZERO),
            time => time.min(self.look),
        };
        if let Some(due) = self.arrivals.as_ref().and_then(Arrivals::next) {
            next = next.min(self.book.time_of(due.at));
        }
        if self.connecting < CONNECTING
            && let Some(Reverse((due, _))) = self.wanted.peek()
        {
            next = next.min(*due);
        }
        if self.watch.is_some() && self.book.is_running() {
            next = next.min(self.interval);
        }
        Some(next)
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }
}

/// How often the engine looks around: often enough that a time-out is met within a twentieth of itself.
fn look_every(timeout: Duration) -> Duration {
    (timeout / 20).clamp(Duration::from_millis(1), Duration::from_millis(100))
}

fn fault_of(error: SocketError, stage: Stage) -> Fault {
    match (error, stage) {
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
            let head = RequestHead {
                method: method.clone(),
                scheme: profile::scheme(scheme),
                authority: target.url.authority(),
                path: target.url.path.clone(),
                protocol: None,
                fields,
            };
            let fin = if body.is_empty() { Fin::Last } else { Fin::More };
            Ready::Http { prepared: Prepared::new(head, fin), body: Bytes::clone(body) }
        }
    }
}

impl std::fmt::Debug for Load {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Load").field("servers", &self.servers).finish_non_exhaustive()
    }
}
