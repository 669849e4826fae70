//! Packets that leave the link: each is sent, counted and shown to observers. Segments of one super-packet that are due
//! together leave as one.

use super::Forwarder;
use crate::clock;
use crate::net::frame::{Frame, FrameEvent};
use crate::net::gso_batch::{GsoBatch, GsoKind, LinkPacket};
use crate::net::packet_socket::{ETHERNET, OFFLOAD};
use link::Delivery;
use std::ops::Range;
use std::rc::Rc;
use trace::Direction;
use unit::Instant;
use wire::ip::set_congestion_experienced;

impl Forwarder<'_> {
    pub(super) fn deliver(&mut self) {
        let mut next = self.poll();
        while let Some(Delivery { direction, packet, is_marked, due }) = next.take() {
            match packet {
                LinkPacket::Frame(mut frame) => {
                    if is_marked {
                        self.mark(direction, &mut frame);
                    }
                    let length = frame.len() - OFFLOAD - ETHERNET;
                    if self.send(due, direction, &frame) {
                        self.count_delivered(direction, 1, length);
                        self.show_left(due, direction, &frame);
                    } else {
                        self.way(direction).unsent += 1;
                    }
                    self.buffers.recycle(frame);
                    next = self.poll();
                }
                LinkPacket::Queued { id, length } => {
                    self.accept(direction, id, length);
                    next = self.poll();
                }
                LinkPacket::Segment { batch, index } => {
                    let mut end = index + 1;
                    next = self.poll();
                    while !is_marked
                        && next
                            .as_ref()
                            .is_some_and(|next| self.follows(next, direction, &batch, end))
                    {
                        end += 1;
                        next = self.poll();
                    }
                    if is_marked {
                        self.send_marked(due, direction, &batch, index);
                    } else {
                        self.send_run(due, direction, &batch, index..end);
                    }
                    if let Ok(batch) = Rc::try_unwrap(batch) {
                        self.buffers.recycle(batch.frame);
                    }
                }
            }
        }
        self.ports.send_verdicts();
    }

    /// Whether the next due packet is segment `index` of `batch` and can be sent together with those before it. Where
    /// observers see frames, each segment leaves by itself.
    fn follows(
        &self,
        next: &Delivery<LinkPacket>,
        direction: Direction,
        batch: &Rc<GsoBatch>,
        index: usize,
    ) -> bool {
        let is_it = match &next.packet {
            LinkPacket::Segment { batch: of, index: at } => Rc::ptr_eq(of, batch) && *at == index,
            LinkPacket::Frame(_) | LinkPacket::Queued { .. } => false,
        };
        is_it
            && !next.is_marked
            && next.direction == direction
            && self.merges(batch.layout.kind)
            && self.frames.is_none()
    }

    /// Whether several segments of a super-packet may be handed to the kernel at once.
    fn merges(&self, kind: GsoKind) -> bool {
        match kind {
            GsoKind::Tcp => true,
            GsoKind::Udp => self.merges_udp,
            GsoKind::Other => false,
        }
    }

    /// The next packet that is due. Its lateness is recorded.
    fn poll(&mut self) -> Option<Delivery<LinkPacket>> {
        let now = clock::now();
        let delivery = self.link.poll_deliver(now);
        self.take_decisions();
        let delivery = delivery?;
        self.counters.lateness.record(now.since(delivery.due));
        Some(delivery)
    }

    fn send_run(
        &mut self,
        due: Instant,
        direction: Direction,
        batch: &GsoBatch,
        run: Range<usize>,
    ) {
        let count = run.len();
        let length: usize = run.clone().map(|index| batch.length(index)).sum();
        let mut segment = std::mem::take(&mut self.segment);
        let frame = match count == batch.layout.count {
            true => &batch.frame,
            false => {
                batch.write(run.clone(), &mut segment);
                &segment
            }
        };
        let is_sent = self.send(due, direction, frame);
        if !is_sent && count > 1 && batch.layout.kind == GsoKind::Udp {
            // A kernel before 6.2: from now on datagrams leave one by one.
            self.merges_udp = false;
            self.segment = segment;
            return run.for_each(|index| self.send_run(due, direction, batch, index..index + 1));
        }
        if is_sent {
            self.count_delivered(direction, count as u64, length);
            self.show_left(due, direction, frame);
        } else {
            self.way(direction).unsent += count as u64;
        }
        self.segment = segment;
    }

    /// Sends one segment with the queue's mark. Segments in one frame share their IP header, so this one leaves alone.
    fn send_marked(&mut self, due: Instant, direction: Direction, batch: &GsoBatch, index: usize) {
        let mut segment = std::mem::take(&mut self.segment);
        batch.write(index..index + 1, &mut segment);
        self.mark(direction, &mut segment);
        if self.send(due, direction, &segment) {
            self.count_delivered(direction, 1, batch.length(index));
            self.show_left(due, direction, &segment);
        } else {
            self.way(direction).unsent += 1;
        }
        self.segment = segment;
    }

    /// Sets CE in a frame, which the link's queue has marked.
    fn mark(&mut self, direction: Direction, frame: &mut [u8]) {
        if let Some(ip) = frame.get_mut(OFFLOAD + ETHERNET..) {
            set_congestion_experienced(ip);
        }
        self.way(direction).marked += 1;
    }

    pub(super) fn count_delivered(&mut self, direction: Direction, packets: u64, bytes: usize) {
        let way = self.way(direction);
        way.delivered += packets;
        way.delivered_bytes += bytes as u64;
    }

    fn show_left(&mut self, due: Instant, direction: Direction, frame: &[u8]) {
        if let Some(frames) = &mut self.frames {
            Frame::new(due, direction, FrameEvent::Left, frame).show_to(frames);
        }
    }
}
