//! TCP's handshake: SYN, SYN-ACK and ACK. It takes one round trip at the side that connects, and half a round trip more
//! until the listening side is connected. With TCP Fast Open (RFC 7413) neither side waits: the cookie counts as known.

use crate::fault::{Attempt, ConnectOutcome, ConnectionPlan};
use crate::host::{HostId, Listener};
use crate::packet::{Segment, StreamPart};
use crate::path::PathId;
use crate::stream::{Connection, End, EndId, Output, Phase, Side};
use crate::world::{Event, World};
use endpoint::{Accepted, FastOpen, SocketError, SocketId, SocketSettings};
use std::net::SocketAddr;

/// The first ephemeral port, from which connects are made (RFC 6335 §6).
const FIRST_EPHEMERAL_PORT: u16 = 49_152;

/// What an end point asks for by `Action::Connect`.
#[derive(Debug)]
pub(crate) struct Dial {
    pub(crate) socket: SocketId,
    pub(crate) remote: SocketAddr,
    pub(crate) settings: SocketSettings,
}

/// The host that a connect goes to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) host: HostId,
    pub(crate) path: PathId,
}

impl World {
    pub(crate) fn connect_socket(&mut self, host: HostId, dial: &Dial) {
        let Some(target) = self.find_host(host, dial.remote) else {
            return self.fail_at_once(host, dial.socket, SocketError::Unreachable);
        };
        let plan = self.plan_for(target.host, dial.remote);
        if let ConnectOutcome::Fail(error) = plan.outcome {
            return self.fail_at_once(host, dial.socket, error);
        }
        let outcome = plan.outcome;
        let opener = self.new_connection(host, dial, target, plan);
        self.hosts[host.0].opens(dial.socket, opener);
        self.agenda.plan(self.now + dial.settings.connect_timeout, Event::ConnectTimeout(opener));
        self.send_control(opener, StreamPart::Syn);
        let is_fast = dial.settings.fast_open == FastOpen::On;
        if is_fast && outcome == ConnectOutcome::Accept {
            self.open_fast(opener, dial.socket);
        }
    }

    /// The first bytes go right behind the SYN.
    fn open_fast(&mut self, opener: EndId, socket: SocketId) {
        let end = self.end_mut(opener);
        end.phase = Phase::Open { socket };
        let (host, local) = (end.host, end.local);
        self.send_segment(opener, Segment::Ack);
        self.hosts[host.0].end_point.handle_connected(self.now, socket, local);
        self.offer(opener);
    }

    fn new_connection(
        &mut self,
        near: HostId,
        dial: &Dial,
        Target { host: far, path }: Target,
        plan: ConnectionPlan,
    ) -> EndId {
        let opener = EndId { connection: self.connections.len(), side: Side::Opener };
        let remote = dial.remote;
        let ip = self.hosts[near.0].address_towards(remote.ip()).unwrap_or(remote.ip());
        let port = FIRST_EPHEMERAL_PORT + (opener.connection % 16_384) as u16;
        let listener = self.hosts[far.0].listener_for(remote);
        let low_water = match listener.map(|number| &self.hosts[far.0].listeners[number]) {
            Some(Listener::Stream { settings, .. }) => settings.unsent_low_water,
            _ => SocketSettings::default().unsent_low_water,
        };
        let [near_buffer, far_buffer] = [near, far].map(|host| self.hosts[host.0].receive_buffer);
        let up = Output::new(dial.settings.unsent_low_water, far_buffer, plan.up);
        let down = Output::new(low_water, near_buffer, plan.down);
        let route = &self.routes[path.0];
        let [up_way, down_way] = [near, far].map(|host| route.direction_from(host));
        let connecting = Phase::Connecting { socket: Some(dial.socket) };
        let ends = [
            End::new(near, (ip, port).into(), up_way, connecting, up),
            End::new(far, remote, down_way, Phase::Connecting { socket: None }, down),
        ];
        self.connections.push(Connection::new(path, ends, listener, plan.outcome));
        opener
    }

    /// The host that has an address, or that listens at every address, and the path to it.
    fn find_host(&self, from: HostId, remote: SocketAddr) -> Option<Target> {
        let has = |host: &HostId| self.hosts[host.0].addresses.contains(&remote.ip());
        let listens = |host: &HostId| self.hosts[host.0].listener_for(remote).is_some();
        let mut all = (0..self.hosts.len()).map(HostId);
        let far = all.clone().find(has).or_else(|| all.find(listens))?;
        let path = self.routes.iter().position(|route| route.joins(from, far))?;
        Some(Target { host: far, path: PathId(path) })
    }

    fn plan_for(&mut self, far: HostId, remote: SocketAddr) -> ConnectionPlan {
        let host = &mut self.hosts[far.0];
        let attempt = Attempt { at: self.now, number: host.attempts, remote };
        host.attempts += 1;
        host.plan.as_mut().map(|plan| plan(&attempt)).unwrap_or_default()
    }

    fn fail_at_once(&mut self, host: HostId, socket: SocketId, error: SocketError) {
        self.hosts[host.0].tally.opened += 1;
        self.hosts[host.0].end_point.handle_error(self.now, socket, error);
    }

    pub(crate) fn syn_arrives(&mut self, acceptor: EndId) {
        let connection = &self.connections[acceptor.connection];
        let host = &self.hosts[self.end(acceptor).host.0];
        let listens = connection.listener.is_some() && !host.is_finished && !host.is_stopping;
        match connection.outcome {
            ConnectOutcome::NoAnswer | ConnectOutcome::Fail(_) => {}
            ConnectOutcome::Accept if listens => self.answer(acceptor),
            ConnectOutcome::AcceptAfter(wait) if listens => {
                self.agenda.plan(self.now + wait, Event::Answer(acceptor));
            }
            ConnectOutcome::Accept | ConnectOutcome::AcceptAfter(_) | ConnectOutcome::Refuse => {
                self.send_segment(acceptor, Segment::Rst);
            }
        }
    }

    /// The listening host takes the connect.
    pub(crate) fn answer(&mut self, acceptor: EndId) {
        self.send_control(acceptor, StreamPart::SynAck);
    }

    pub(crate) fn syn_ack_arrives(&mut self, opener: EndId) {
        let end = self.end_mut(opener);
        let Phase::Connecting { socket: Some(socket) } = end.phase else { return };
        end.phase = Phase::Open { socket };
        let (host, local) = (end.host, end.local);
        self.send_segment(opener, Segment::Ack);
        self.input(host, |end_point, now| end_point.handle_connected(now, socket, local));
        self.offer(opener);
    }

    /// The handshake is complete: the listening end point takes the connection or refuses it.
    pub(crate) fn accept(&mut self, id: EndId) {
        let (host, local) = (self.end(id).host, self.end(id).local);
        let remote = self.end(id.peer()).local;
        let state = &self.hosts[host.0];
        let listener = self.connections[id.connection].listener;
        let taken = match listener.filter(|_| !state.is_finished && !state.is_stopping) {
            Some(number) => {
                let accepted = Accepted { listener: number, local, remote };
                self.hosts[host.0].end_point.handle_accepted(self.now, accepted)
            }
            None => None,
        };
        match taken {
            Some(socket) => {
                self.hosts[host.0].opens(socket, id);
                self.end_mut(id).phase = Phase::Open { socket };
            }
            None => {
                self.end_mut(id).phase = Phase::Closing;
                self.finish_output(id);
            }
        }
        if !self.hosts[host.0].is_finished {
            self.settle(host);
            self.offer(id);
        }
    }

    /// A connect that is still under way fails.
    pub(crate) fn fail_connect(&mut self, id: EndId, error: SocketError) {
        let end = self.end_mut(id);
        let Phase::Connecting { socket } = end.phase else { return };
        let host = end.host;
        end.drop_all();
        if let Some(socket) = socket {
            self.hosts[host.0].release(socket);
            self.input(host, |end_point, now| end_point.handle_error(now, socket, error));
        }
    }
}
