//! What travels on a path, and how long it is there.

use crate::stream::EndId;
use bytes::Bytes;
use endpoint::Ecn;
use link::PacketHeader;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use trace::{Flow, TcpMark, UdpMark};
use unit::ByteSize;

/// The longest IP packet of a stream, in bytes.
const MTU: usize = 1500;

/// TCP's header with its timestamps (RFC 7323), in bytes.
const TCP_HEADER: usize = 32;

/// UDP's header, in bytes.
const UDP_HEADER: usize = 8;

/// IP protocol numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// TCP's flags (RFC 9293 §3.1).
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;

#[derive(Debug, Clone)]
pub(crate) enum Packet {
    /// A part of a stream, for this end.
    Stream { to: EndId, part: StreamPart },
    /// A datagram.
    Datagram(Datagram),
}

#[derive(Debug, Clone)]
pub(crate) enum StreamPart {
    Syn,
    SynAck,
    /// A packet after the handshake. A receiver takes these in the order of their numbers.
    Segment {
        number: u64,
        segment: Segment,
    },
}

#[derive(Debug, Clone)]
pub(crate) enum Segment {
    /// The handshake's last packet.
    Ack,
    Data(Bytes),
    Fin,
    Rst,
}

#[derive(Debug, Clone)]
pub(crate) struct Datagram {
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    pub(crate) ecn: Option<Ecn>,
    pub(crate) data: Bytes,
    /// Whether the path's NAT knows where it goes.
    pub(crate) is_mapped: bool,
}

/// The most bytes of a stream that fit into one packet.
pub(crate) fn segment_size(address: SocketAddr) -> usize {
    MTU - ip_header(address) - TCP_HEADER
}

/// The IP length of a segment with so many bytes of payload.
pub(crate) fn segment_length(address: SocketAddr, payload: usize) -> ByteSize {
    ByteSize((ip_header(address) + TCP_HEADER + payload) as u64)
}

fn ip_header(address: SocketAddr) -> usize {
    if address.is_ipv6() { 40 } else { 20 }
}

impl Packet {
    /// What a link decides by. Streams are without ECN: they have no congestion control that a mark could slow.
    pub(crate) fn header(&self, length: u32, flow: Option<Flow>) -> PacketHeader {
        let mut hash = DefaultHasher::new();
        flow.hash(&mut hash);
        let (is_udp, is_ecn_capable, is_mapped) = match self {
            Self::Stream { .. } => (false, false, true),
            Self::Datagram(datagram) => (true, datagram.ecn.is_some(), datagram.is_mapped),
        };
        PacketHeader {
            is_udp,
            is_ecn_capable,
            is_unmapped: !is_mapped,
            flow: hash.finish(),
            ..ByteSize(length.into()).into()
        }
    }
}

impl Datagram {
    /// Its IP length.
    pub(crate) fn length(&self) -> ByteSize {
        ByteSize((ip_header(self.destination) + UDP_HEADER + self.data.len()) as u64)
    }

    pub(crate) fn flow(&self) -> Flow {
        Flow { protocol: UDP, source: self.source, destination: self.destination }
    }

    pub(crate) fn mark(&self) -> UdpMark {
        UdpMark { payload: self.data.len() as u32, quic: None, receiver: None }
    }
}

impl StreamPart {
    pub(crate) fn payload(&self) -> usize {
        match self {
            Self::Segment { segment: Segment::Data(bytes), .. } => bytes.len(),
            Self::Syn | Self::SynAck | Self::Segment { .. } => 0,
        }
    }

    /// What a packet log shows of it; `sequence` counts the bytes before it.
    pub(crate) fn mark(&self, sequence: u64) -> TcpMark {
        let flags = match self {
            Self::Syn => SYN,
            Self::SynAck => SYN | ACK,
            Self::Segment { segment: Segment::Ack, .. } => ACK,
            Self::Segment { segment: Segment::Data(_), .. } => PSH | ACK,
            Self::Segment { segment: Segment::Fin, .. } => FIN | ACK,
            Self::Segment { segment: Segment::Rst, .. } => RST,
        };
        let payload = self.payload() as u32;
        TcpMark { sequence: sequence as u32, acknowledgement: 0, flags, payload }
    }
}

/// The flow of a stream's packets.
pub(crate) fn stream_flow(source: SocketAddr, destination: SocketAddr) -> Flow {
    Flow { protocol: TCP, source, destination }
}
