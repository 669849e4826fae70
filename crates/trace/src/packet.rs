//! The link's packet log: one row a packet, with its fate (delivered, lost, dropped by a full queue).

use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use unit::Instant;

/// Which way a packet went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From near (the client's side) to far (the server's).
    Up,
    /// From far to near.
    Down,
}

impl Direction {
    /// Both, up first.
    pub const BOTH: [Self; 2] = [Self::Up, Self::Down];

    /// 0 for up, 1 for down: for tables of two.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// The fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It left the link at this time.
    Delivered {
        /// When the model let it out.
        #[serde(with = "crate::nanos")]
        at: Instant,
    },
    /// The emulated random loss dropped it, after the bottleneck.
    Lost,
    /// It was dropped because the queue was full.
    QueueFull,
    /// The queue's active management (CoDel, FQ-CoDel) dropped it.
    AqmDropped,
    /// It exceeded the rate of a policer, or what the path lets through of UDP.
    Policed,
    /// The path lets no UDP through, or its NAT has no mapping for it.
    Blocked,
}

/// One packet that entered the link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PacketRecord {
    /// When it arrived at the link.
    #[serde(with = "crate::nanos")]
    pub at: Instant,
    /// Which way it went.
    pub direction: Direction,
    /// Number among the packets of its direction, from 0.
    pub index: u64,
    /// Bytes of IP header and payload.
    pub length: u32,
    /// Its fate.
    pub fate: Fate,
    /// How it passed the queue and the bottleneck; None where it never came to them, or where there is no link.
    #[serde(default)]
    pub passage: Option<Passage>,
    /// Its addresses and protocol; None for a packet that is neither TCP nor UDP.
    pub flow: Option<Flow>,
    /// TCP's own fields, for a TCP segment.
    pub tcp: Option<TcpMark>,
    /// UDP's own fields, for a UDP datagram.
    #[serde(default)]
    pub udp: Option<UdpMark>,
}

/// How a packet passed the queue and the bottleneck of its direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// When it came to the queue. Behind another part of the path this is later than when it entered the link.
    #[serde(with = "crate::nanos")]
    pub entered: Instant,
    /// When it left the queue: the bottleneck began to send it, or it was dropped from the queue.
    #[serde(with = "crate::nanos")]
    pub left_queue: Instant,
    /// When the bottleneck had sent its last bit; `left_queue` for a packet that was dropped from the queue.
    #[serde(with = "crate::nanos")]
    pub sent: Instant,
    /// Whether the queue marked it (ECN's CE).
    pub is_marked: bool,
}

/// The two ends of a packet's flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Flow {
    /// IP protocol number: 6 for TCP, 17 for UDP.
    pub protocol: u8,
    /// Sender.
    pub source: SocketAddr,
    /// Receiver.
    pub destination: SocketAddr,
}

/// The fields of a TCP segment that show loss, retransmission and the connection's begin and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpMark {
    /// Sequence number of the first byte.
    pub sequence: u32,
    /// Acknowledgement number.
    pub acknowledgement: u32,
    /// Flags byte (RFC 9293 §3.1: CWR ECE URG ACK PSH RST SYN FIN).
    pub flags: u8,
    /// Bytes of payload.
    pub payload: u32,
}

/// The fields of a UDP datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UdpMark {
    /// Bytes of payload.
    pub payload: u32,
    /// The visible fields of a QUIC handshake packet in it.
    pub quic: Option<QuicMark>,
    /// Where it can be a QUIC packet: the first eight bytes of the connection ID of its receiver. How long the ID is a short
    /// header does not tell; a shorter one ends with bytes that differ from packet to packet.
    #[serde(default)]
    pub receiver: Option<u64>,
}

/// A QUIC packet with a long header, of a version that HTTP/3 is spoken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuicMark {
    /// The first eight bytes of the source connection ID. It distinguishes connections of one flow.
    pub sender: u64,
}
