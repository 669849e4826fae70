//! The connections' way: opened, secured, fed, lost, and opened again.

use super::{Load, look_every};
use crate::load::channel::{Channel, Loss, Stage, Told};
use crate::load::pace::Arrivals;
use crate::load::plan::Pace;
use crate::load::tally::Fault;
use endpoint::{Accepted, Action, EndPoint, SendBuf, SocketError, SocketId};
use page::Scheme;
use secure::{Layer, Tls};
use std::cmp::Reverse;
use std::net::SocketAddr;
use std::time::Duration;
use unit::Instant;

/// Connects under way at a time: a listener's queue is not flooded, and the last of them does not pay for all.
const CONNECTING: usize = 256;

/// How long a connection rests after one that brought nothing: at first, and at most.
const FIRST_REST: Duration = Duration::from_millis(10);
const LONGEST_REST: Duration = Duration::from_millis(100);

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

    fn handle_bytes(&mut self, now: Instant, socket: SocketId, bytes: &[u8]) {
        if self.live(socket).is_none() {
            return;
        }
        self.book.tally.received += bytes.len() as u64;
        if let Err(loss) = self.feed(now, socket.0, bytes) {
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
        channel.told = sent > 0 && channel.wants_transmit();
        // The end of an upload may be what the next request has waited for.
        let has_room = !channel.told && channel.has_room(self.plan.streams);
        self.book.tally.sent += sent as u64;
        if has_room {
            self.settle(now, socket.0);
        }
    }

    fn wants_transmit(&self, socket: SocketId) -> bool {
        self.channels.get(socket.0).is_some_and(|channel| channel.told)
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

impl Load {
    /// Opens what is to be opened by now, as far as there is room.
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
                self.book.tally.protocol = Some(trace::Protocol::WebSocket);
                channel.ask_for_web_socket(now, config, (&self.plan.targets[target], seed))
            }
            None => {
                channel.speak(now, config, protocol);
                self.book.tally.protocol = Some(protocol.recorded());
                Ok(())
            }
        }
    }

    /// Takes bytes up to the requests.
    fn feed(&mut self, now: Instant, number: usize, bytes: &[u8]) -> Result<(), Loss> {
        let mut cipher = bytes;
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
    pub(super) fn hear(&mut self, now: Instant, number: usize, plain: &[u8]) -> Result<(), Loss> {
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

    pub(super) fn close(&mut self, now: Instant, number: usize, loss: Loss) {
        let socket = SocketId(number);
        let action = match loss {
            Loss::Orderly | Loss::Unprocessed => Action::Close(socket),
            Loss::Fault(_) => Action::Abort(socket),
        };
        self.lose(now, number, loss, Some(action));
    }

    /// The channel of a socket that is not shut, for as long as anything counts.
    fn live(&mut self, socket: SocketId) -> Option<&mut Channel> {
        if self.book.is_finished() {
            return None;
        }
        self.channels.get_mut(socket.0).filter(|channel| channel.stage != Stage::Shut)
    }
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
