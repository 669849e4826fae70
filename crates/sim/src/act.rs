//! What an end point wants, done.

use crate::fault::{Admission, Attempt, Treatment};
use crate::host::{HostId, Listener, Socket};
use crate::packet::{Segment, StreamPart};
use crate::path::{PathId, Waiting};
use crate::stream::{Connection, End, EndId, Fin, Output, Phase, Side};
use crate::world::{Event, World};
use endpoint::{Action, SocketError, SocketId, SocketSettings};
use std::net::SocketAddr;

/// The first of the ports that connects are made from (RFC 6335 §6).
const FIRST_EPHEMERAL_PORT: u16 = 49_152;

impl World {
    /// Actions on a socket that is gone find nothing and have no effect: the end point was told.
    pub(crate) fn act(&mut self, host: HostId, action: Action) {
        if let Some(actions) = &mut self.hosts[host.0].actions {
            actions.push(action.clone());
        }
        match action {
            Action::Connect { socket, remote, settings } => {
                self.begin_connect(host, socket, (remote, &settings));
            }
            Action::Bind { socket, local, .. } => self.bind(host, socket, local),
            Action::Transmit(socket) => self.wanted(host, socket),
            Action::Shutdown(socket) => {
                if let Some(end) = self.hosts[host.0].stream(socket) {
                    self.finish_output(end);
                }
            }
            Action::Close(socket) => self.close(host, socket),
            Action::Abort(socket) => self.abort(host, socket),
            Action::Pause(socket) => self.pause(host, socket, true),
            Action::Resume(socket) => self.pause(host, socket, false),
            Action::AwaitDrained(socket) => {
                if let Some(end) = self.hosts[host.0].stream(socket) {
                    self.end_mut(end).input.awaits_drained = true;
                    self.plan_read(end);
                }
            }
            Action::Finish => self.finish(host),
        }
    }

    fn wanted(&mut self, host: HostId, socket: SocketId) {
        match self.hosts[host.0].sockets.get(&socket) {
            Some(&Socket::Stream(end)) => {
                self.end_mut(end).output.is_wanted = true;
                self.ask(end);
            }
            Some(&Socket::Datagram { local }) => self.send_datagrams(host, socket, local),
            None => {}
        }
    }

    fn pause(&mut self, host: HostId, socket: SocketId, is_paused: bool) {
        let Some(end) = self.hosts[host.0].stream(socket) else { return };
        self.end_mut(end).input.is_paused = is_paused;
        if !is_paused {
            self.plan_read(end);
        }
    }

    fn begin_connect(
        &mut self,
        host: HostId,
        socket: SocketId,
        (remote, settings): (SocketAddr, &SocketSettings),
    ) {
        let Some((far, path)) = self.find_host(host, remote) else {
            return self.refuse_at_once(host, socket, SocketError::Unreachable);
        };
        let treatment = self.treatment(far, remote);
        if let Admission::Fail(error) = treatment.admission {
            return self.refuse_at_once(host, socket, error);
        }
        let opener = self.new_connection((host, socket, settings), (far, remote), path, treatment);
        self.hosts[host.0].opens(socket, opener);
        self.agenda.plan(self.now + settings.connect_timeout, Event::ConnectTimeout(opener));
        self.send_control(opener, StreamPart::Syn);
    }

    fn new_connection(
        &mut self,
        (host, socket, settings): (HostId, SocketId, &SocketSettings),
        (far, remote): (HostId, SocketAddr),
        path: PathId,
        treatment: Treatment,
    ) -> EndId {
        let opener = EndId { connection: self.connections.len(), side: Side::Opener };
        let ip = self.hosts[host.0].address_towards(remote.ip()).unwrap_or(remote.ip());
        let port = FIRST_EPHEMERAL_PORT + (opener.connection % 16_384) as u16;
        let listener = self.hosts[far.0].listener_for(remote);
        let low_water = match listener.map(|number| &self.hosts[far.0].listeners[number]) {
            Some(Listener::Stream { settings, .. }) => settings.unsent_low_water,
            _ => SocketSettings::default().unsent_low_water,
        };
        let windows = [far, host].map(|host| self.hosts[host.0].receive_buffer);
        let up = Output::new(settings.unsent_low_water, windows[0], treatment.up);
        let down = Output::new(low_water, windows[1], treatment.down);
        let route = &self.routes[path.0];
        let ends = [
            End::new(
                host,
                (ip, port).into(),
                route.direction_from(host),
                Phase::Connecting { socket: Some(socket) },
                up,
            ),
            End::new(
                far,
                remote,
                route.direction_from(far),
                Phase::Connecting { socket: None },
                down,
            ),
        ];
        self.connections.push(Connection::new(path, ends, listener, treatment.admission));
        opener
    }

    /// The host that has an address, or that listens at every address, and the path to it.
    pub(crate) fn find_host(&self, from: HostId, remote: SocketAddr) -> Option<(HostId, PathId)> {
        let has = |host: &HostId| self.hosts[host.0].addresses.contains(&remote.ip());
        let listens = |host: &HostId| self.hosts[host.0].listener_for(remote).is_some();
        let mut all = (0..self.hosts.len()).map(HostId);
        let far = all.clone().find(has).or_else(|| all.find(listens))?;
        let path = self.routes.iter().position(|route| route.joins(from, far))?;
        Some((far, PathId(path)))
    }

    fn treatment(&mut self, far: HostId, remote: SocketAddr) -> Treatment {
        let host = &mut self.hosts[far.0];
        let attempt = Attempt { at: self.now, number: host.attempts, remote };
        host.attempts += 1;
        host.plan.as_mut().map(|plan| plan(&attempt)).unwrap_or_default()
    }

    fn refuse_at_once(&mut self, host: HostId, socket: SocketId, error: SocketError) {
        self.hosts[host.0].tally.opened += 1;
        self.hosts[host.0].end_point.handle_error(self.now, socket, error);
    }

    /// FIN follows what is unsent.
    pub(crate) fn finish_output(&mut self, end: EndId) {
        let output = &mut self.end_mut(end).output;
        output.is_wanted = false;
        if output.fin == Fin::Open {
            output.fin = Fin::Due;
        }
        self.offer(end);
    }

    fn close(&mut self, host: HostId, socket: SocketId) {
        let found = self.hosts[host.0].stream(socket);
        self.hosts[host.0].lets_go(socket);
        if let Some(end) = found {
            self.let_go(end);
        }
    }

    /// The end point holds this end no more. What arrives from now on is thrown away.
    fn let_go(&mut self, end: EndId) {
        match self.end(end).phase {
            Phase::Open { .. } => {
                self.end_mut(end).phase = Phase::Closing;
                self.finish_output(end);
                self.plan_read(end);
            }
            Phase::Connecting { .. } => self.end_mut(end).drop_all(),
            Phase::Closing | Phase::Gone => {}
        }
    }

    fn abort(&mut self, host: HostId, socket: SocketId) {
        let found = self.hosts[host.0].stream(socket);
        self.hosts[host.0].lets_go(socket);
        if let Some(end) = found {
            self.send_segment(end, Segment::Rst);
            self.end_mut(end).drop_all();
        }
    }

    /// The end point's work is over: what it still holds is closed. Its tally keeps what it left open.
    fn finish(&mut self, host: HostId) {
        let state = &mut self.hosts[host.0];
        state.is_finished = true;
        for socket in std::mem::take(&mut state.sockets).into_values() {
            if let Socket::Stream(end) = socket {
                self.let_go(end);
            }
        }
    }

    /// Puts a packet of the handshake on its way.
    pub(crate) fn send_control(&mut self, from: EndId, part: StreamPart) {
        let (path, direction) = (self.connections[from.connection].path, self.end(from).direction);
        let queue = &mut self.routes[path.0].queues[direction.index()];
        queue.waiting.push_back(Waiting::Packet { from, part, losses: 0 });
        self.turn(path, direction);
    }

    /// Puts a segment without payload on its way, ahead of what is unsent.
    pub(crate) fn send_segment(&mut self, from: EndId, segment: Segment) {
        let output = &mut self.end_mut(from).output;
        let number = output.segments;
        output.segments += 1;
        self.send_control(from, StreamPart::Segment { number, segment });
    }
}
