//! What packets do when they arrive.

use crate::packet::{Packet, Segment, StreamPart};
use crate::path::PathId;
use crate::stream::{EndId, Phase};
use crate::world::World;
use endpoint::Ecn;
use endpoint::SocketError;

impl World {
    /// One packet leaves a path.
    pub(crate) fn deliver(&mut self, path: PathId) {
        let delivery = self.routes[path.0].link.poll_deliver(self.now);
        self.take_decisions(path);
        self.routes[path.0].planned = None;
        self.plan_link(path);
        let Some(delivery) = delivery else { return };
        match delivery.packet {
            Packet::Datagram(mut datagram) => {
                if delivery.is_marked {
                    datagram.ecn = Some(Ecn::Ce);
                }
                self.datagram_arrives(datagram);
            }
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

    /// RST: bytes that were not read yet are lost.
    pub(crate) fn reset(&mut self, id: EndId) {
        if matches!(self.end(id).phase, Phase::Connecting { .. }) {
            return self.fail_connect(id, SocketError::Refused);
        }
        self.read(id);
        let end = self.end_mut(id);
        let (host, socket) = (end.host, end.socket());
        end.drop_all();
        if let Some(socket) = socket {
            self.hosts[host.0].release(socket);
            self.input(host, |end_point, now| {
                end_point.handle_error(now, socket, SocketError::Reset)
            });
        }
    }
}
