//! What a link reads of a packet. The one rule: it knows nothing above IP but whether UDP is inside and which flow it is.

use unit::ByteSize;

/// The fields of a packet's headers that a link decides by. A bare length stands for a TCP packet without ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketHeader {
    /// IP bytes.
    pub length: ByteSize,
    /// Whether its sender understands ECN: ECT(0), ECT(1) or CE (RFC 3168 §5).
    pub is_ecn_capable: bool,
    /// Whether it is a UDP datagram.
    pub is_udp: bool,
    /// Whether the NAT before the link has no mapping for it. Such a packet is dropped.
    pub is_unmapped: bool,
    /// A hash of addresses, ports and protocol: the same for all packets of a flow.
    pub flow: u64,
}

impl From<ByteSize> for PacketHeader {
    fn from(length: ByteSize) -> Self {
        Self { length, is_ecn_capable: false, is_udp: false, is_unmapped: false, flow: 0 }
    }
}
