//! Packets in the kernel's queue. Their headers enter the link. When they leave it, a verdict releases them. The one
//! rule: each announced packet gets its verdict.

use super::{Forwarder, Packet};
use crate::net::gso_batch::LinkPacket;
use crate::net::headers::{HeaderFields, header_fields};
use crate::net::packet_queue::{QueuedPacket, Verdict};
use std::net::{IpAddr, Ipv4Addr};
use trace::{Direction, Fate};
use unit::{ByteSize, Instant};

impl Forwarder<'_> {
    pub(super) fn handle_queued(&mut self, now: Instant, message: &[u8]) {
        // Any other message is the error for a verdict that came too late: the device was gone.
        let Some(packet) = QueuedPacket::of(message) else { return };
        let arrival = self.wall.arrival(packet.stamp, now);
        let direction = self.ports.direction(packet.device);
        let (id, length) = (packet.id, packet.length);
        if is_to_many(packet.bytes) {
            self.way(direction).beside += 1;
            self.ports.queue_verdict(id, Verdict::Accept);
            return;
        }
        let header = ByteSize(length as u64).into();
        let fate = self.enter(arrival, direction, LinkPacket::Queued { id, length }, header);
        // A link that decides late drops packets, and has no such queue.
        let Some(fate) = fate else { return };
        if !matches!(fate, Fate::Delivered { .. }) {
            self.ports.queue_verdict(id, Verdict::Drop);
        }
        if self.record.is_some() {
            let unread = HeaderFields { length: length as u32, flow: None, tcp: None, udp: None };
            let headers = header_fields(packet.bytes).unwrap_or(unread);
            let index = self.link.packets(direction) - 1;
            let passage = self.link.passage(direction);
            let packet = Packet { at: arrival, direction, index, passage };
            self.keep_record(packet, fate, headers);
        }
    }

    /// Lets a packet go on.
    pub(super) fn accept(&mut self, direction: Direction, id: u32, length: usize) {
        self.ports.queue_verdict(id, Verdict::Accept);
        self.count_delivered(direction, 1, length);
    }
}

/// Whether a packet goes to a group or to everybody. Such packets bypass the link, as frames to group addresses do.
fn is_to_many(packet: &[u8]) -> bool {
    let destination = match packet.first().map(|byte| byte >> 4) {
        Some(4) => {
            packet.get(16..20).and_then(<[u8]>::first_chunk::<4>).map(|v4| IpAddr::from(*v4))
        }
        Some(6) => {
            packet.get(24..40).and_then(<[u8]>::first_chunk::<16>).map(|v6| IpAddr::from(*v6))
        }
        _ => None,
    };
    destination.is_some_and(|to| to.is_multicast() || to == Ipv4Addr::BROADCAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_to_groups_and_to_everybody_are_told_by_their_destination() {
        let v4 = |to: [u8; 4]| [&[0x45; 16][..], &to].concat();
        assert!(is_to_many(&v4([224, 0, 0, 22])) && is_to_many(&v4([255; 4])));
        assert!(!is_to_many(&v4([10, 77, 0, 2])) && !is_to_many(&[0x45; 19]));
        let v6 = |first| [&[0x60; 24][..], &[first; 16]].concat();
        assert!(is_to_many(&v6(0xff)) && !is_to_many(&v6(0xfd)));
        assert!(!is_to_many(&[]));
    }
}
