//! IP packets: arbitrary bytes never panic, and segments carry what the super-packet did.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use std::net::{IpAddr, Ipv6Addr};
use wire::ip::{IpError, Packet, Segments, Sum, TCP, UDP};

fn ipv4(protocol: u8, transport: &[u8]) -> Vec<u8> {
    let total = (20 + transport.len()) as u16;
    let mut packet = vec![0x45, 0, 0, 0, 0xff, 0xff, 0x40, 0, 64, protocol, 0, 0];
    packet[2..4].copy_from_slice(&total.to_be_bytes());
    packet.extend([10, 77, 0, 1, 10, 77, 0, 2]);
    packet.extend(transport);
    packet
}

fn ipv6(protocol: u8, transport: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0, 0, 0, protocol, 64];
    packet[4..6].copy_from_slice(&(transport.len() as u16).to_be_bytes());
    for end in ["fd77::1", "fd77::2"] {
        packet.extend(end.parse::<Ipv6Addr>().unwrap().octets());
    }
    packet.extend(transport);
    packet
}

fn tcp(sequence: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut segment = vec![0x1f, 0x90, 0, 80];
    segment.extend(sequence.to_be_bytes());
    segment.extend(7_u32.to_be_bytes());
    segment.extend([0x60, flags, 1, 0, 0xde, 0xad, 0, 0, 1, 1, 1, 1]);
    segment.extend(payload);
    segment
}

fn udp(payload: &[u8]) -> Vec<u8> {
    let mut datagram = vec![0x1f, 0x90, 0, 53, 0, 0, 0xde, 0xad];
    datagram.extend(payload);
    datagram
}

fn split(packet: &[u8], size: usize) -> Vec<Vec<u8>> {
    let mut segments = Segments::of(packet, size).unwrap();
    let mut all = Vec::new();
    loop {
        let mut one = Vec::new();
        if !segments.write_next(&mut one) {
            assert_eq!(segments.remaining(), 0);
            return all;
        }
        all.push(one);
    }
}

/// What the receiving kernel does with a partial checksum: sums all from the transport header on.
fn completes_to_a_valid_checksum(segment: &[u8]) {
    let packet = Packet::parse(segment).unwrap();
    let field = if packet.protocol() == TCP { 16 } else { 6 };
    let mut transport = packet.transport().to_vec();
    let completed = Sum::ZERO.bytes(&transport).checksum();
    transport[field..field + 2].copy_from_slice(&completed.to_be_bytes());
    let ends: (IpAddr, IpAddr) = (packet.source(), packet.destination());
    let length = transport.len() as u32;
    let check = Sum::ZERO.pseudo_header(ends, packet.protocol(), length).bytes(&transport);
    assert_eq!(check.checksum(), 0);
    if segment[0] >> 4 == 4 {
        assert_eq!(Sum::ZERO.bytes(&segment[..20]).checksum(), 0);
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(packet) = Packet::parse(&bytes) {
            let _ = (packet.flow(), packet.tcp_mark());
        }
        if let Ok(mut segments) = Segments::of(&bytes, 13) {
            while segments.write_next(&mut Vec::new()) {}
        }
    }

    #[test]
    fn corrupted_packets_never_panic(at in 0_usize..80, value: u8, cut in 0_usize..200) {
        for mut packet in [ipv4(TCP, &tcp(1, 0x18, &[1; 100])), ipv6(UDP, &udp(&[1; 100]))] {
            packet[at] = value;
            packet.truncate(cut);
            if let Ok(mut segments) = Segments::of(&packet, 13) {
                while segments.write_next(&mut Vec::new()) {}
            }
        }
    }

    #[test]
    fn tcp_segments_carry_the_payload_in_sequence(
        payload in prop::collection::vec(any::<u8>(), 0..9_000),
        sequence: u32, size in 1_usize..1_461, six: bool,
    ) {
        let transport = tcp(sequence, 0x99, &payload);
        let packet = if six { ipv6(TCP, &transport) } else { ipv4(TCP, &transport) };
        let segments = split(&packet, size);
        let mut joined = Vec::new();
        for (number, segment) in segments.iter().enumerate() {
            completes_to_a_valid_checksum(segment);
            let parsed = Packet::parse(segment).unwrap();
            let mark = parsed.tcp_mark().unwrap();
            prop_assert_eq!(mark.sequence, sequence.wrapping_add(joined.len() as u32));
            let last = number + 1 == segments.len();
            // 0x99 is CWR, ACK, PSH and FIN.
            let expected = 0x10 | if last { 0x09 } else { 0 } | if number == 0 { 0x80 } else { 0 };
            prop_assert_eq!(mark.flags, expected);
            prop_assert!(last || mark.payload as usize == size);
            if !six {
                let identification = u16::from_be_bytes([segment[4], segment[5]]);
                prop_assert_eq!(identification, 0xffff_u16.wrapping_add(number as u16));
            }
            joined.extend_from_slice(&parsed.transport()[24..]);
        }
        prop_assert_eq!(joined, payload);
    }

    #[test]
    fn a_run_of_segments_splits_into_the_segments_of_the_whole(
        payload in prop::collection::vec(any::<u8>(), 1..9_000), size in 100_usize..1_461,
        first in 0_usize..40, count in 1_usize..40, six: bool,
    ) {
        let transport = tcp(7, 0x99, &payload);
        let packet = if six { ipv6(TCP, &transport) } else { ipv4(TCP, &transport) };
        let whole = split(&packet, size);
        let mut segments = Segments::of(&packet, size).unwrap();
        segments.skip(first);
        let mut run = Vec::new();
        prop_assert_eq!(segments.write_run(count, &mut run), first < whole.len());
        let expected: Vec<_> = whole.into_iter().skip(first).take(count).collect();
        if !expected.is_empty() {
            prop_assert_eq!(split(&run, size), expected);
        }
    }

    #[test]
    fn udp_segments_are_datagrams_of_their_own(
        payload in prop::collection::vec(any::<u8>(), 1..9_000), size in 1_usize..1_473, six: bool,
    ) {
        let packet = if six { ipv6(UDP, &udp(&payload)) } else { ipv4(UDP, &udp(&payload)) };
        let mut joined = Vec::new();
        for segment in split(&packet, size) {
            completes_to_a_valid_checksum(&segment);
            let transport = Packet::parse(&segment).unwrap().transport();
            let length = u16::from_be_bytes([transport[4], transport[5]]);
            prop_assert_eq!(usize::from(length), transport.len());
            joined.extend_from_slice(&transport[8..]);
        }
        prop_assert_eq!(joined, payload);
    }
}

#[test]
fn flow_and_mark_are_those_of_the_headers() {
    let bytes = ipv4(TCP, &tcp(0x0102_0304, 0x02, b"hello"));
    let packet = Packet::parse(&bytes).unwrap();
    let flow = packet.flow().unwrap();
    assert_eq!(flow.source.to_string(), "10.77.0.1:8080");
    assert_eq!(flow.destination.to_string(), "10.77.0.2:80");
    let mark = packet.tcp_mark().unwrap();
    assert_eq!((mark.sequence, mark.acknowledgement), (0x0102_0304, 7));
    assert_eq!((mark.flags, mark.payload), (0x02, 5));
}

#[test]
fn ipv6_extension_headers_are_passed_over_and_later_fragments_have_no_flow() {
    let mut behind = vec![UDP, 0, 1, 4, 0, 0, 0, 0];
    behind.extend(udp(b"x"));
    let bytes = ipv6(60, &behind);
    assert_eq!(Packet::parse(&bytes).unwrap().flow().unwrap().protocol, UDP);
    let mut fragment = vec![UDP, 0, 0, 8, 0, 0, 0, 1];
    fragment.extend(udp(b"x"));
    assert_eq!(Packet::parse(&ipv6(44, &fragment)).unwrap().flow(), None);
}

#[test]
fn contradictory_lengths_are_positioned_errors() {
    let mut bytes = ipv4(TCP, &tcp(0, 0, b""));
    bytes[2..4].copy_from_slice(&9_999_u16.to_be_bytes());
    assert_eq!(Packet::parse(&bytes), Err(IpError::Length { at: 2 }));
    assert_eq!(Packet::parse(&[0x45, 0]), Err(IpError::Truncated { at: 2 }));
    assert_eq!(Packet::parse(&[0x55]), Err(IpError::Version(5)));
    let icmp = ipv4(1, &[0; 64]);
    assert_eq!(Segments::of(&icmp, 8).unwrap_err(), IpError::Unsplittable { at: 20 });
}
