//! A NAT before near whose state is lost at a time: from then on near's ports are others for far. The one rule: a packet
//! keeps its checksum right, and one that the NAT has no mapping for is dropped (RFC 4787 §4.3 has such a time-out).

use crate::net::packet_socket::{ETHERNET, OFFLOAD};
use std::collections::HashSet;
use std::time::Duration;
use trace::Direction;
use unit::Instant;
use wire::ip::{Packet, TCP, UDP};

/// The ports of near, before and after.
#[derive(Debug)]
pub(super) struct Rebind {
    after: Duration,
    /// When the first packet came.
    begin: Option<Instant>,
    /// Near's own ports that have sent something since.
    mapped: HashSet<u16>,
}

/// Whether the NAT knows where a packet goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mapped {
    Yes,
    No,
}

/// What a new port differs by from near's own. It keeps those of near's range (10240 to 65535) above 8191.
const CHANGE: u16 = 0x0800;

impl Rebind {
    /// The change comes so long after the first packet.
    pub(super) fn after(after: Duration) -> Self {
        Self { after, begin: None, mapped: HashSet::new() }
    }

    /// Writes the new port into a frame that arrives at `now`, where there is one.
    pub(super) fn translate(
        &mut self,
        now: Instant,
        direction: Direction,
        frame: &mut [u8],
    ) -> Mapped {
        let begin = *self.begin.get_or_insert(now);
        if now.since(begin) < self.after {
            return Mapped::Yes;
        }
        let (offload, ip) = frame.split_at_mut((OFFLOAD + ETHERNET).min(frame.len()));
        let Ok(packet) = Packet::parse(ip) else { return Mapped::Yes };
        let Some(flow) = packet.flow() else { return Mapped::Yes };
        let transport_at = packet.transport_at();
        let checksum_at = match flow.protocol {
            TCP => 16,
            _ => 6,
        };
        let (port_at, port) = match direction {
            Direction::Up => (0, flow.source.port()),
            Direction::Down => (2, flow.destination.port()),
        };
        match direction {
            Direction::Up => {
                self.mapped.insert(port);
            }
            Direction::Down if self.mapped.contains(&(port ^ CHANGE)) => {}
            Direction::Down => return Mapped::No,
        }
        let transport = &mut ip[transport_at..];
        transport[port_at..port_at + 2].copy_from_slice(&(port ^ CHANGE).to_be_bytes());
        let is_partial = offload.first().is_some_and(|flags| flags & NEEDS_CSUM != 0);
        if let Some(field) = transport.get_mut(checksum_at..checksum_at + 2)
            && !is_partial
        {
            let old = u16::from_be_bytes([field[0], field[1]]);
            // A UDP checksum of zero is none (RFC 768).
            if flow.protocol != UDP || old != 0 {
                field.copy_from_slice(&updated(old, port, port ^ CHANGE).to_be_bytes());
            }
        }
        Mapped::Yes
    }
}

/// The flag of an offload header (virtio 1.2 §5.1.6) whose packet's checksum covers only the pseudo-header so far, which has
/// no ports.
const NEEDS_CSUM: u8 = 1;

/// RFC 1624's update of a checksum after a change of one field.
fn updated(checksum: u16, from: u16, to: u16) -> u16 {
    let mut sum = u32::from(!checksum) + u32::from(!from) + u32::from(to);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;
    use wire::ip::Sum;

    /// A datagram from port 40,000 to 443, or back, with its checksum.
    fn datagram(direction: Direction, near: u16) -> Vec<u8> {
        let (source, destination) = match direction {
            Direction::Up => (near, 443),
            Direction::Down => (443, near),
        };
        let mut ip = vec![0x45, 0, 0, 31, 0, 0, 0, 0, 64, 17, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2];
        let mut udp = [source.to_be_bytes(), destination.to_be_bytes(), [0, 11], [0, 0]].concat();
        udp.extend([1, 2, 3]);
        let checksum = sum(&udp).checksum();
        udp[6..8].copy_from_slice(&checksum.to_be_bytes());
        ip.extend(udp);
        [vec![0; OFFLOAD + ETHERNET], ip].concat()
    }

    fn sum(udp: &[u8]) -> Sum {
        let ends = (IpAddr::from([10, 77, 0, 1]), IpAddr::from([10, 77, 0, 2]));
        Sum::ZERO.pseudo_header(ends, UDP, udp.len() as u32).bytes(udp)
    }

    #[test]
    fn ports_change_at_the_time_and_old_ones_lead_nowhere() {
        let mut rebind = Rebind::after(Duration::from_secs(1));
        let at = |millis: u64| Instant::from_nanos(5_000_000_000 + millis * 1_000_000);
        let mut early = datagram(Direction::Up, 40_000);
        assert_eq!(rebind.translate(at(0), Direction::Up, &mut early), Mapped::Yes);
        assert_eq!(early, datagram(Direction::Up, 40_000));
        let mut back = datagram(Direction::Down, 40_000);
        assert_eq!(rebind.translate(at(1_000), Direction::Down, &mut back), Mapped::No);
        let mut late = datagram(Direction::Up, 40_000);
        assert_eq!(rebind.translate(at(1_001), Direction::Up, &mut late), Mapped::Yes);
        assert_eq!(late, datagram(Direction::Up, 40_000 ^ CHANGE), "with a right checksum");
        let mut back = datagram(Direction::Down, 40_000 ^ CHANGE);
        assert_eq!(rebind.translate(at(1_002), Direction::Down, &mut back), Mapped::Yes);
        assert_eq!(back, datagram(Direction::Down, 40_000));
        let mut old = datagram(Direction::Down, 40_000);
        assert_eq!(rebind.translate(at(1_003), Direction::Down, &mut old), Mapped::No);
    }

    #[test]
    fn a_checksum_that_is_left_to_the_kernel_is_left_alone() {
        let mut rebind = Rebind::after(Duration::ZERO);
        let mut frame = datagram(Direction::Up, 40_000);
        frame[0] = NEEDS_CSUM;
        let before = frame.clone();
        rebind.translate(Instant::ZERO, Direction::Up, &mut frame);
        let field = OFFLOAD + ETHERNET + 26;
        assert_eq!(frame[field..], before[field..]);
    }
}
