//! A packet's header fields, also of a truncated packet. The one rule: they are the same as those of the whole packet.

use link::PacketHeader;
use std::net::IpAddr;
use trace::{Flow, TcpMark, UdpMark};
use unit::ByteSize;
use wire::ip::{Packet, UDP};

/// The most bytes of IPv4 or IPv6 headers with extension headers and TCP.
pub(super) const HEADERS: usize = 176;

/// Fields of a packet's headers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HeaderFields {
    pub(super) length: u32,
    pub(super) flow: Option<Flow>,
    pub(super) tcp: Option<TcpMark>,
    pub(super) udp: Option<UdpMark>,
}

impl HeaderFields {
    /// Of a whole packet.
    pub(super) fn whole(bytes: &[u8]) -> Self {
        let packet = Packet::parse(bytes).ok();
        let flow = packet.and_then(|packet| packet.flow());
        let tcp = packet.and_then(|packet| packet.tcp_mark());
        let udp = packet.and_then(|packet| packet.udp_mark());
        Self { length: bytes.len() as u32, flow, tcp, udp }
    }
}

/// What a link decides by, of a whole packet or super-packet. Bytes that are no IP packet have no flow.
pub(super) fn packet_header(bytes: &[u8]) -> PacketHeader {
    let header = PacketHeader::from(ByteSize(bytes.len() as u64));
    let Ok(packet) = Packet::parse(bytes) else { return header };
    PacketHeader {
        is_ecn_capable: packet.is_ecn_capable(),
        is_udp: packet.protocol() == UDP,
        flow: flow_hash(&packet),
        ..header
    }
}

/// FNV-1a over addresses, protocol and ports.
fn flow_hash(packet: &Packet<'_>) -> u64 {
    let add = |hash: u64, bytes: &[u8]| {
        bytes
            .iter()
            .fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    };
    let mut hash = add(0xcbf2_9ce4_8422_2325, &[packet.protocol()]);
    for address in [packet.source(), packet.destination()] {
        hash = match address {
            IpAddr::V4(address) => add(hash, &address.octets()),
            IpAddr::V6(address) => add(hash, &address.octets()),
        };
    }
    packet.flow().map_or(hash, |flow| {
        let ports = [flow.source.port(), flow.destination.port()];
        ports.iter().fold(hash, |hash, port| add(hash, &port.to_be_bytes()))
    })
}

/// Reads the headers of a packet that may be truncated.
pub(super) fn header_fields(bytes: &[u8]) -> Option<HeaderFields> {
    let field = |at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    // The offset of the length field, and how many bytes the field does not count (RFC 791 §3.1, RFC 8200 §3).
    let (at, uncounted) = match bytes.first()? >> 4 {
        4 => (2, 0),
        6 => (4, 40),
        _ => return None,
    };
    let length = usize::from(field(at)?) + uncounted;
    let taken = length.min(bytes.len());
    // In a copy the length field is corrected, so that the copy reads like a whole packet.
    let mut copy = bytes[..taken].to_vec();
    let own = u16::try_from(taken.checked_sub(uncounted)?).ok()?;
    copy.get_mut(at..at + 2)?.copy_from_slice(&own.to_be_bytes());
    let packet = Packet::parse(&copy).ok()?;
    let rest = (length - taken) as u32;
    let tcp = packet.tcp_mark().map(|mark| TcpMark { payload: mark.payload + rest, ..mark });
    let udp = packet.udp_mark().map(|mark| UdpMark { payload: mark.payload + rest, ..mark });
    Some(HeaderFields { length: length as u32, flow: packet.flow(), tcp, udp })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 packet of TCP with `payload` bytes behind its headers.
    fn packet(payload: u16) -> Vec<u8> {
        let mut bytes = vec![0; 40 + usize::from(payload)];
        bytes[0] = 0x45;
        bytes[2..4].copy_from_slice(&(40 + payload).to_be_bytes());
        bytes[9] = 6;
        bytes[12..16].copy_from_slice(&[10, 77, 0, 1]);
        bytes[16..20].copy_from_slice(&[10, 77, 1, 1]);
        bytes[20..24].copy_from_slice(&[0x9c, 0x40, 0x01, 0xbb]);
        bytes[27] = 7;
        bytes[32] = 0x50;
        bytes[33] = 0x10;
        bytes
    }

    #[test]
    fn the_headers_alone_tell_of_a_datagram_and_of_quic_in_it() {
        let mut whole = packet(1_200);
        whole[9] = 17;
        // A long header of QUIC's first version behind UDP's own, from a sender that calls the connection 7.
        whole[28..43].copy_from_slice(&[0xc0, 0, 0, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 7]);
        for taken in [100, 176, whole.len()] {
            let udp = header_fields(&whole[..taken]).unwrap().udp.unwrap();
            assert_eq!((udp.payload, udp.quic.map(|quic| quic.sender)), (1_212, Some(7)));
        }
        whole[28] = 0x40;
        assert_eq!(
            header_fields(&whole).unwrap().udp.unwrap().quic,
            None,
            "a short header tells nothing"
        );
    }

    #[test]
    fn the_headers_alone_tell_what_the_whole_packet_tells() {
        for payload in [0, 1, 100, 60_000] {
            let whole = packet(payload);
            let known = Packet::parse(&whole).unwrap();
            let (flow, tcp) = (known.flow(), known.tcp_mark());
            assert_eq!(tcp.unwrap().payload, u32::from(payload));
            for taken in [40, 80, 176, whole.len()] {
                let headers = &whole[..taken.min(whole.len())];
                let length = whole.len() as u32;
                let all = HeaderFields { length, flow, tcp, udp: None };
                assert_eq!(header_fields(headers), Some(all), "{payload} {taken}");
            }
        }
        assert_eq!(header_fields(&packet(0)[..30]).and_then(|seen| seen.tcp), None);
        assert_eq!(header_fields(&[]), None);
    }
}
