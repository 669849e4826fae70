//! What packets do when they arrive.

use crate::fault::Admission;
use crate::packet::{Packet, Segment, StreamPart};
use crate::path::PathId;
use crate::stream::{EndId, Phase};
use crate::world::{Event, World};
use endpoint::{Accepted, SocketError};

impl World {
    /// One packet leaves a path.
    pub(crate) fn deliver(&mut self, path: PathId) {
        let Some(delivery) = self.routes[path.0].link.poll_deliver(self.now) else { return };
        match delivery.packet {
            Packet::Datagram(datagram) => self.datagram_arrives(datagram),
            Packet::Stream { to, part: StreamPart::Syn } => self.syn_arrives(to),
            Packet::Stream { to, part: StreamPart::SynAck } => self.syn_ack_arrives(to),
            Packet::Stream { to, part: StreamPart::Segment { number, segment } } => {
                self.end_mut(to).input.arrived(number, segment);
                while let Some(segment) = self.end_mut(to).input.take_next() {
                    self.segment_arrives(to, segment);
                }
            }
        }
    }

    fn syn_arrives(&mut self, acceptor: EndId) {
        let connection = &self.connections[acceptor.connection];
        let host = &self.hosts[self.end(acceptor).host.0];
        let listens = connection.listener.is_some() && !host.is_finished && !host.is_stopping;
        match connection.admission {
            Admission::Silence | Admission::Fail(_) => {}
            Admission::Accept if listens => self.answer(acceptor),
            Admission::AcceptAfter(wait) if listens => {
                self.agenda.plan(self.now + wait, Event::Answer(acceptor));
            }
            Admission::Accept | Admission::AcceptAfter(_) | Admission::Refuse => {
                self.send_segment(acceptor, Segment::Rst);
            }
        }
    }

    /// The listening host takes the connect.
    pub(crate) fn answer(&mut self, acceptor: EndId) {
        self.send_control(acceptor, StreamPart::SynAck);
    }

    fn syn_ack_arrives(&mut self, opener: EndId) {
        let end = self.end_mut(opener);
        let Phase::Connecting { socket: Some(socket) } = end.phase else { return };
        end.phase = Phase::Open { socket };
        let (host, local) = (end.host, end.local);
        self.send_segment(opener, Segment::Ack);
        self.input(host, |end_point, now| end_point.handle_connected(now, socket, local));
        self.offer(opener);
    }

    fn segment_arrives(&mut self, id: EndId, segment: Segment) {
        match segment {
            Segment::Ack => self.accept(id),
            Segment::Data(bytes) => {
                let end = self.end_mut(id);
                if end.phase != Phase::Gone {
                    end.input.unread.extend_from_slice(&bytes);
                    self.plan_read(id);
                }
            }
            Segment::Fin => {
                self.end_mut(id).input.has_fin = true;
                self.plan_read(id);
            }
            Segment::Rst => self.reset(id),
        }
    }

    /// The handshake is complete: the listening end point takes the connection or refuses it.
    fn accept(&mut self, id: EndId) {
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

    /// RST: what was read stays read, the rest is lost.
    pub(crate) fn reset(&mut self, id: EndId) {
        if matches!(self.end(id).phase, Phase::Connecting { .. }) {
            return self.fail_connect(id, SocketError::Refused);
        }
        self.read(id);
        let end = self.end_mut(id);
        let (host, socket) = (end.host, end.socket());
        end.drop_all();
        if let Some(socket) = socket {
            self.hosts[host.0].lets_go(socket);
            self.input(host, |end_point, now| {
                end_point.handle_error(now, socket, SocketError::Reset)
            });
        }
    }

    /// A connect that is still under way fails.
    pub(crate) fn fail_connect(&mut self, id: EndId, error: SocketError) {
        let end = self.end_mut(id);
        let Phase::Connecting { socket } = end.phase else { return };
        let host = end.host;
        end.drop_all();
        if let Some(socket) = socket {
            self.hosts[host.0].lets_go(socket);
            self.input(host, |end_point, now| end_point.handle_error(now, socket, error));
        }
    }
}
