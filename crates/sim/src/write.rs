//! Takes bytes from end points and sends them on their paths. The one rule: an end point is asked for bytes late, when
//! fewer than half of `unsent_low_water` bytes are unsent.

use crate::fault::StreamFault;
use crate::host::HostId;
use crate::packet::{Packet, Segment, StreamPart, segment_length, stream_flow};
use crate::path::{PathId, Undecided, Waiting};
use crate::stream::{EndId, Fin, NextSegment, Output};
use crate::world::{Event, World};
use link::Decision;
use trace::{Direction, Fate, PacketRecord};
use unit::{ByteSize, Instant};

/// How often a lost packet of a stream is sent again. Without a limit, a path that loses every packet would never end.
const MOST_LOSSES: u32 = 64;

impl World {
    /// Asks an end point for bytes while it has some and its socket takes them.
    pub(crate) fn ask(&mut self, id: EndId) {
        loop {
            let end = self.end(id);
            let Some(socket) = end.socket() else { return };
            if !end.output.is_wanted || !end.output.is_writable() || self.blocks_writes(end.host) {
                return;
            }
            let (now, host, limit) = (self.now, end.host, end.output.low_water);
            let mut unsent = std::mem::take(&mut self.end_mut(id).output.unsent);
            let before = unsent.len();
            let state = &mut self.hosts[host.0];
            state.end_point.poll_transmit(now, socket, &mut unsent, limit);
            state.tally.bytes_given += (unsent.len() - before) as u64;
            let is_wanted = unsent.len() > before && state.end_point.wants_transmit(socket);
            let output = &mut self.end_mut(id).output;
            output.unsent = unsent;
            output.is_wanted = is_wanted;
            self.offer(id);
        }
    }

    fn blocks_writes(&self, host: HostId) -> bool {
        self.hosts[host.0].blocks_writes
    }

    /// The socket accepts bytes again.
    pub(crate) fn writable(&mut self, id: EndId) {
        self.end_mut(id).output.is_writable_planned = false;
        self.ask(id);
        let host = self.end(id).host;
        if !self.hosts[host.0].is_finished {
            self.settle(host);
        }
    }

    /// Puts an end that may send into its path's queue of senders.
    pub(crate) fn offer(&mut self, id: EndId) {
        self.break_where_due(id);
        let now = self.now;
        self.end_mut(id).output.collect_credit(now);
        let end = self.end(id);
        if end.output.is_waiting {
            return;
        }
        if end.next().is_none() {
            return self.plan_credit(id);
        }
        let (path, direction) = (self.connections[id.connection].path, end.direction);
        self.end_mut(id).output.is_waiting = true;
        self.routes[path.0].queues[direction.index()].waiting.push_back(Waiting::Stream(id));
        self.turn(path, direction);
    }

    /// The senders that wait for one direction of a path send one packet each in turn, until the link's queue is full.
    pub(crate) fn turn(&mut self, path: PathId, direction: Direction) {
        loop {
            let queue = &self.routes[path.0].queues[direction.index()];
            let (id, payload) = match queue.waiting.front() {
                None => return,
                Some(Waiting::Packet { from, part, .. }) => (*from, part.payload()),
                Some(Waiting::Stream(id)) => match self.end(*id).next() {
                    Some(NextSegment::Data(length)) => (*id, length),
                    Some(NextSegment::Fin) | None => (*id, 0),
                },
            };
            let length = segment_length(self.end(id).local, payload);
            let now = self.now;
            let route = &mut self.routes[path.0];
            let at = route.link.space_at(now, direction, length);
            let queue = &mut route.queues[direction.index()];
            if at > now {
                if !std::mem::replace(&mut queue.is_turn_planned, true) {
                    self.agenda.plan(at, Event::Turn(path, direction));
                }
                return;
            }
            match queue.waiting.pop_front() {
                Some(Waiting::Packet { from, part, losses }) => {
                    self.send_part(path, from, part, losses);
                }
                Some(Waiting::Stream(id)) => self.take_turn(path, direction, id),
                None => {}
            }
        }
    }

    /// Sends one packet of an end. An end with more to send waits for its next turn.
    fn take_turn(&mut self, path: PathId, direction: Direction, id: EndId) {
        let end = self.end_mut(id);
        let segment = match end.next() {
            Some(NextSegment::Data(length)) => Some(Segment::Data(end.output.take(length))),
            Some(NextSegment::Fin) => {
                end.output.fin = Fin::Sent;
                Some(Segment::Fin)
            }
            None => None,
        };
        if let Some(segment) = segment {
            let number = end.output.segments;
            end.output.segments += 1;
            self.send_part(path, id, StreamPart::Segment { number, segment }, 0);
            self.break_where_due(id);
        }
        let end = self.end_mut(id);
        end.output.is_waiting = end.next().is_some();
        let is_writable = end.output.is_wanted && end.output.is_writable();
        if is_writable && !std::mem::replace(&mut end.output.is_writable_planned, true) {
            self.agenda.plan(self.now, Event::Writable(id));
        }
        if self.end(id).output.is_waiting {
            self.routes[path.0].queues[direction.index()].waiting.push_back(Waiting::Stream(id));
        } else {
            self.plan_credit(id);
        }
    }

    /// An end that waits for space in its peer's receive buffer goes on when it learns of some.
    pub(crate) fn plan_credit(&mut self, id: EndId) {
        if let Some(at) = self.end(id).output.blocked_until() {
            self.agenda.plan(at, Event::Credit(id));
        }
    }

    /// Sends a packet of a stream on the link. If the link loses it, it is sent again before any other.
    fn send_part(&mut self, path: PathId, from: EndId, part: StreamPart, losses: u32) {
        let (end, peer) = (self.end(from), self.end(from.peer()));
        let length = segment_length(end.local, part.payload());
        let sequence = end.output.sent - part.payload() as u64;
        let (tcp, flow) = (part.mark(sequence), stream_flow(end.local, peer.local));
        let direction = end.direction;
        let record = PacketRecord {
            flow: Some(flow),
            tcp: Some(tcp),
            ..unrecorded(self.now, direction, length)
        };
        let packet = Packet::Stream { to: from.peer(), part: part.clone() };
        let fate = self.send_packet(path, direction, packet, record);
        match fate {
            Some(Fate::Delivered { .. }) => {}
            Some(_) => self.send_again(path, from, part, losses),
            None => self.note_losses(path, direction, losses),
        }
    }

    /// Puts a lost packet of a stream before all that waits.
    fn send_again(&mut self, path: PathId, from: EndId, part: StreamPart, losses: u32) {
        let direction = self.end(from).direction;
        if losses < MOST_LOSSES {
            let again = Waiting::Packet { from, part, losses: losses + 1 };
            self.routes[path.0].queues[direction.index()].waiting.push_front(again);
        }
    }

    fn note_losses(&mut self, path: PathId, direction: Direction, losses: u32) {
        let route = &mut self.routes[path.0];
        let index = route.link.packets(direction) - 1;
        if let Some(undecided) = route.undecided.get_mut(&(direction, index)) {
            undecided.losses = losses;
        }
    }

    /// Takes what the link has decided since packets entered it.
    pub(crate) fn take_decisions(&mut self, path: PathId) {
        while let Some(decision) = self.routes[path.0].link.poll_decision() {
            let Decision { direction, index, fate, passage, dropped } = decision;
            let Some(undecided) = self.routes[path.0].undecided.remove(&(direction, index)) else {
                continue;
            };
            let Undecided { record, losses } = undecided;
            if let Some(packets) = &mut self.packets {
                packets.push(PacketRecord { fate, passage: Some(passage), ..record });
            }
            if let Some(Packet::Stream { to, part }) = dropped {
                self.send_again(path, to.peer(), part, losses);
                self.turn(path, direction);
            }
        }
    }

    /// Plans the link's next event, where it decides after packets have entered.
    pub(crate) fn plan_link(&mut self, path: PathId) {
        let route = &mut self.routes[path.0];
        if !route.decides_late {
            return;
        }
        let Some(at) = route.link.poll_timeout() else { return };
        if route.planned.is_none_or(|planned| planned > at) {
            route.planned = Some(at);
            self.agenda.plan(at, Event::Deliver(path));
        }
    }

    /// Hands a packet of `record.length` to a link, and plans its delivery where the link lets it through. The rest of
    /// the record is completed here.
    pub(crate) fn send_packet(
        &mut self,
        path: PathId,
        direction: Direction,
        packet: Packet,
        record: PacketRecord,
    ) -> Option<Fate> {
        let (now, route) = (self.now, &mut self.routes[path.0]);
        let index = route.link.packets(direction);
        let mut header = packet.header(record.length, record.flow);
        header.is_unmapped |= self.doomed.contains(&(direction, index));
        let fate = route.link.handle_packet(now, direction, packet, header);
        let passage = route.link.passage(direction);
        let record = PacketRecord { at: now, index, passage, ..record };
        match (fate, &mut self.packets) {
            (Some(fate), Some(packets)) => packets.push(PacketRecord { fate, ..record }),
            (Some(_), None) => {}
            (None, _) => {
                let undecided = Undecided { record, losses: 0 };
                route.undecided.insert((direction, index), undecided);
            }
        }
        match fate {
            Some(Fate::Delivered { at }) if !self.routes[path.0].decides_late => {
                self.agenda.plan(at, Event::Deliver(path));
            }
            _ => self.plan_link(path),
        }
        fate
    }

    /// The fault happens that the test planned for this number of bytes.
    fn break_where_due(&mut self, id: EndId) {
        let output = &mut self.end_mut(id).output;
        if !output.is_broken() {
            return;
        }
        match output.fault {
            Some(StreamFault::Reset { .. }) => {
                output.fault = None;
                self.send_segment(id, Segment::Rst);
                self.agenda.plan(self.now, Event::Reset(id));
            }
            Some(StreamFault::Close { .. }) => {
                output.unsent.clear();
                if output.fin != Fin::Sent {
                    output.fin = Fin::Sent;
                    self.send_segment(id, Segment::Fin);
                }
            }
            Some(StreamFault::Stall { .. }) | None => {}
        }
    }
}

/// The record of a packet whose fate is not decided yet.
pub(crate) fn unrecorded(at: Instant, direction: Direction, length: ByteSize) -> PacketRecord {
    let (index, fate, length) = (0, Fate::Lost, length.0 as u32);
    PacketRecord {
        at,
        direction,
        index,
        length,
        fate,
        passage: None,
        flow: None,
        tcp: None,
        udp: None,
    }
}

impl Output {
    /// Whether the socket accepts bytes from the end point.
    fn is_writable(&self) -> bool {
        let is_stalled = matches!(self.fault, Some(StreamFault::Stall { .. })) && self.is_broken();
        !is_stalled && (self.unsent.is_empty() || self.unsent.len() < self.low_water / 2)
    }
}
