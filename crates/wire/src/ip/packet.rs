//! One packet's headers. The one rule: every length that is read is checked against the bytes there.

use crate::quic::{self, LongHeader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use trace::{Flow, QuicMark, TcpMark, UdpMark};

/// IP protocol number of TCP.
pub const TCP: u8 = 6;
/// IP protocol number of UDP.
pub const UDP: u8 = 17;

/// RFC 768.
const UDP_HEADER: usize = 8;

/// Bytes that are not an IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IpError {
    /// The bytes end before the header does.
    #[error("at byte {at}: the packet ends within a header")]
    Truncated {
        /// How many bytes there are.
        at: usize,
    },
    /// Neither version 4 nor version 6.
    #[error("at byte 0: IP version {0}")]
    Version(u8),
    /// A header length below the least, or a total length beyond the packet.
    #[error("at byte {at}: a length contradicts the packet")]
    Length {
        /// Where the length stands.
        at: usize,
    },
    /// A super-packet of something else than TCP or UDP, or with a segment size of zero.
    #[error("at byte {at}: nothing that can be split into segments")]
    Unsplittable {
        /// Where the transport header would begin.
        at: usize,
    },
}

/// A parsed packet, borrowing its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    bytes: &'a [u8],
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    transport_at: usize,
    fragment: bool,
}

impl<'a> Packet<'a> {
    /// Reads the IP header, and IPv6's extension headers; bytes behind the total length are padding.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, IpError> {
        match bytes.first().map(|first| first >> 4) {
            Some(4) => parse_v4(bytes),
            Some(6) => parse_v6(bytes),
            Some(version) => Err(IpError::Version(version)),
            None => Err(IpError::Truncated { at: 0 }),
        }
    }

    /// All bytes from the IP header on.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Sender.
    pub fn source(&self) -> IpAddr {
        self.source
    }

    /// Receiver.
    pub fn destination(&self) -> IpAddr {
        self.destination
    }

    /// The transport's protocol number, behind any extension headers.
    pub fn protocol(&self) -> u8 {
        self.protocol
    }

    /// Bytes of the IP header and its extensions.
    pub fn transport_at(&self) -> usize {
        self.transport_at
    }

    /// The transport header and what follows.
    pub fn transport(&self) -> &'a [u8] {
        &self.bytes[self.transport_at..]
    }

    /// Whether its sender understands ECN (RFC 3168 §5): the field is not 00.
    pub fn is_ecn_capable(&self) -> bool {
        let field = match self.source {
            IpAddr::V4(_) => self.bytes[1],
            IpAddr::V6(_) => self.bytes[1] >> 4,
        };
        field & 0b11 != 0
    }

    /// Between whom, for TCP and UDP; a later fragment has no ports and so no flow.
    pub fn flow(&self) -> Option<Flow> {
        let transport = self.transport();
        if self.fragment || !matches!(self.protocol, TCP | UDP) || transport.len() < 4 {
            return None;
        }
        let port = |at: usize| u16::from_be_bytes([transport[at], transport[at + 1]]);
        Some(Flow {
            protocol: self.protocol,
            source: SocketAddr::new(self.source, port(0)),
            destination: SocketAddr::new(self.destination, port(2)),
        })
    }

    /// TCP's own fields.
    pub fn tcp_mark(&self) -> Option<TcpMark> {
        let transport = self.transport();
        let header = self.tcp_header_length()?;
        let number = |at: usize| {
            u32::from_be_bytes([
                transport[at],
                transport[at + 1],
                transport[at + 2],
                transport[at + 3],
            ])
        };
        Some(TcpMark {
            sequence: number(4),
            acknowledgement: number(8),
            flags: transport[13],
            payload: (transport.len() - header) as u32,
        })
    }

    /// What a UDP datagram shows.
    pub fn udp_mark(&self) -> Option<UdpMark> {
        if self.fragment || self.protocol != UDP {
            return None;
        }
        let payload = self.transport().get(UDP_HEADER..)?;
        let header = LongHeader::parse(payload).filter(LongHeader::is_known);
        let quic = header.map(|header| QuicMark { sender: first_eight(header.source) });
        let receiver = match header {
            Some(header) => Some(header.destination),
            None => quic::short_header_id(payload),
        };
        let receiver = receiver.map(first_eight);
        Some(UdpMark { payload: payload.len() as u32, quic, receiver })
    }

    /// Bytes of the TCP header with its options, where there is a whole one.
    pub(crate) fn tcp_header_length(&self) -> Option<usize> {
        let transport = self.transport();
        if self.fragment || self.protocol != TCP || transport.len() < 20 {
            return None;
        }
        let header = usize::from(transport[12] >> 4) * 4;
        (20..=transport.len()).contains(&header).then_some(header)
    }
}

/// The first eight bytes of a connection ID; a shorter one is followed by zeros.
fn first_eight(id: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = id.len().min(bytes.len());
    bytes[..length].copy_from_slice(&id[..length]);
    u64::from_be_bytes(bytes)
}

fn parse_v4(bytes: &[u8]) -> Result<Packet<'_>, IpError> {
    let truncated = IpError::Truncated { at: bytes.len() };
    if bytes.len() < 20 {
        return Err(truncated);
    }
    let header = usize::from(bytes[0] & 0xf) * 4;
    if header < 20 {
        return Err(IpError::Length { at: 0 });
    }
    if bytes.len() < header {
        return Err(truncated);
    }
    let bytes = whole(bytes, usize::from(u16_at(bytes, 2)), header, 2)?;
    let address = |at: usize| {
        IpAddr::V4(Ipv4Addr::new(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]))
    };
    Ok(Packet {
        bytes,
        source: address(12),
        destination: address(16),
        protocol: bytes[9],
        transport_at: header,
        fragment: u16_at(bytes, 6) & 0x1fff != 0,
    })
}

fn parse_v6(bytes: &[u8]) -> Result<Packet<'_>, IpError> {
    const HEADER: usize = 40;
    if bytes.len() < HEADER {
        return Err(IpError::Truncated { at: bytes.len() });
    }
    let payload = usize::from(u16_at(bytes, 4));
    let total = if payload == 0 { 0 } else { HEADER + payload };
    let bytes = whole(bytes, total, HEADER, 4)?;
    let address = |at: usize| {
        let mut sixteen = [0; 16];
        sixteen.copy_from_slice(&bytes[at..at + 16]);
        IpAddr::V6(Ipv6Addr::from(sixteen))
    };
    let (protocol, transport_at, fragment) = skip_extensions(bytes, bytes[6], HEADER)?;
    let (source, destination) = (address(8), address(24));
    Ok(Packet { bytes, source, destination, protocol, transport_at, fragment })
}

/// The packet without padding. A total of zero is what a super-packet beyond 64 KiB carries.
fn whole(bytes: &[u8], total: usize, header: usize, at: usize) -> Result<&[u8], IpError> {
    match total {
        0 => Ok(bytes),
        total if total < header || total > bytes.len() => Err(IpError::Length { at }),
        total => Ok(&bytes[..total]),
    }
}

/// RFC 8200 §4: hop-by-hop (0), routing (43), fragment (44) and destination options (60).
fn skip_extensions(
    bytes: &[u8],
    mut protocol: u8,
    mut at: usize,
) -> Result<(u8, usize, bool), IpError> {
    let mut fragment = false;
    while matches!(protocol, 0 | 43 | 44 | 60) {
        let Some(header) = bytes.get(at..at + 8) else {
            return Err(IpError::Truncated { at: bytes.len() });
        };
        let length = match protocol {
            44 => {
                fragment = u16_at(header, 2) & 0xfff8 != 0;
                8
            }
            _ => 8 + usize::from(header[1]) * 8,
        };
        protocol = header[0];
        at += length;
        if at > bytes.len() {
            return Err(IpError::Truncated { at: bytes.len() });
        }
        if fragment {
            break;
        }
    }
    Ok((protocol, at, fragment))
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}
