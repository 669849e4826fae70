//! What an end point wants, done.

use crate::connect::Dial;
use crate::host::{HostId, Socket};
use crate::packet::{Segment, StreamPart};
use crate::path::Waiting;
use crate::stream::{EndId, Fin, Phase};
use crate::world::World;
use endpoint::{Action, SocketId};

impl World {
    /// Actions on a socket that is gone have no effect: the end point was notified that it is gone.
    pub(crate) fn act(&mut self, host: HostId, action: Action) {
        if let Some(actions) = &mut self.hosts[host.0].actions {
            actions.push(action.clone());
        }
        match action {
            Action::Connect { socket, remote, settings } => {
                self.connect_socket(host, &Dial { socket, remote, settings });
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
        self.hosts[host.0].release(socket);
        if let Some(end) = found {
            self.let_go(end);
        }
    }

    /// The end point has released this end. What arrives from now on is discarded.
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
        self.hosts[host.0].release(socket);
        if let Some(end) = found {
            self.send_segment(end, Segment::Rst);
            self.end_mut(end).drop_all();
        }
    }

    /// The end point has finished. What it still holds is closed. Its tally records what it left open.
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
