//! Datagrams between an end point and its driver. Several datagrams of one size form one batch, as in the kernel's
//! segmentation offloads (UDP GSO and GRO).

use bytes::BytesMut;
use std::net::{IpAddr, SocketAddr};

/// The ECN codepoint of a datagram (RFC 3168 §5). Not-ECT is None.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ecn {
    /// ECT(0), 10.
    Ect0,
    /// ECT(1), 01.
    Ect1,
    /// CE, 11.
    Ce,
}

/// Datagrams that arrived together, from one peer.
#[derive(Debug)]
pub struct ReceivedDatagrams {
    /// The sender's address.
    pub remote: SocketAddr,
    /// The address of this side that they were sent to, where the driver knows it.
    pub local: Option<IpAddr>,
    /// Their ECN codepoint.
    pub ecn: Option<Ecn>,
    /// Bytes of each datagram but the last, which may be shorter.
    pub stride: usize,
    /// The datagrams, one after the other.
    pub data: BytesMut,
}

/// The addresses and sizes of the datagrams that `poll_datagrams` has just written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramTransmit {
    /// The destination.
    pub remote: SocketAddr,
    /// The source address; None leaves it to the routing table.
    pub local: Option<IpAddr>,
    /// Their ECN codepoint.
    pub ecn: Option<Ecn>,
    /// Bytes of each datagram but the last, which may be shorter; None for a single one.
    pub segment_size: Option<usize>,
}

/// The options of a datagram socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatagramSettings {
    /// SO_RCVBUF, in bytes; the kernel may grant less (net.core.rmem_max).
    pub receive_buffer: usize,
    /// SO_SNDBUF, in bytes; the kernel may grant less (net.core.wmem_max).
    pub send_buffer: usize,
    /// The only peer, where there is one alone. The driver connects the socket to it, so that an ICMP message which says
    /// that nothing listens there comes as an error of the socket's.
    pub remote: Option<SocketAddr>,
}

impl Default for DatagramSettings {
    fn default() -> Self {
        Self { receive_buffer: 2 * 1024 * 1024, send_buffer: 2 * 1024 * 1024, remote: None }
    }
}
