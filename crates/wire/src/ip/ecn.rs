//! The ECN field of IP headers (RFC 3168 §5).

use crate::ip::sum::Sum;

/// Sets CE in a packet's IP header and keeps IPv4's header checksum right. Bytes that are no IP packet stay as they are.
pub fn set_congestion_experienced(packet: &mut [u8]) {
    const CE: u8 = 0b11;
    match packet.first().map(|first| (first >> 4, usize::from(first & 0xf) * 4)) {
        Some((4, header)) if (20..=packet.len()).contains(&header) => {
            packet[1] |= CE;
            packet[10..12].fill(0);
            let checksum = Sum::ZERO.bytes(&packet[..header]).checksum();
            packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        // The traffic class lies across the first two bytes (RFC 8200 §3).
        Some((6, _)) if packet.len() >= 40 => packet[1] |= CE << 4,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip::Packet;

    #[test]
    fn a_marked_packet_has_a_right_checksum_and_is_otherwise_the_same() {
        let mut packet = vec![0; 28];
        packet[..4].copy_from_slice(&[0x45, 0x02, 0, 28]);
        packet[8..12].copy_from_slice(&[64, 17, 0x12, 0x34]);
        assert!(Packet::parse(&packet).unwrap().is_ecn_capable());
        let before = packet.clone();
        set_congestion_experienced(&mut packet);
        assert_eq!(packet[1], 0x03);
        assert_eq!(Sum::ZERO.bytes(&packet[..20]).folded(), 0xffff);
        assert_eq!((&packet[2..10], &packet[12..]), (&before[2..10], &before[12..]));
    }

    #[test]
    fn a_marked_packet_of_ipv6_keeps_its_flow_label() {
        let mut packet = vec![0; 48];
        packet[..4].copy_from_slice(&[0x60, 0x1a, 0xbc, 0xde]);
        packet[4..8].copy_from_slice(&[0, 8, 17, 64]);
        assert!(Packet::parse(&packet).unwrap().is_ecn_capable());
        set_congestion_experienced(&mut packet);
        assert_eq!(packet[..4], [0x60, 0x3a, 0xbc, 0xde]);
        packet[1] = 0x0a;
        assert!(!Packet::parse(&packet).unwrap().is_ecn_capable());
    }

    #[test]
    fn what_is_no_packet_stays_as_it_is() {
        for mut bytes in [vec![], vec![0x45; 19], vec![0x4f; 40], vec![0x60; 39], vec![0x15; 60]] {
            let before = bytes.clone();
            set_congestion_experienced(&mut bytes);
            assert_eq!(bytes, before);
        }
    }
}
