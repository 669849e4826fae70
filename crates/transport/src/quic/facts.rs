//! What is told of a QUIC connection to whoever measures it.

use secure::PeerWindows;

/// What a connection sends by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuicFacts {
    /// The congestion controller's name.
    pub congestion_control: &'static str,
    /// The congestion window, in bytes of datagrams.
    pub congestion_window: u64,
    /// Bytes of a datagram at most.
    pub datagram_size: u16,
}

/// What a connection has done so far, and what its peer allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuicTally {
    /// Datagrams of the largest batch that was sent: 1 without segmentation by the kernel (UDP GSO).
    pub largest_batch: u16,
    /// Bytes of a datagram at most, by now.
    pub datagram_size: u16,
    /// Packets that tried whether larger datagrams arrive (RFC 8899).
    pub mtu_probes: u64,
    /// ACK_FREQUENCY frames: how often the peer was asked to acknowledge less (draft-ietf-quic-ack-frequency).
    pub ack_frequency_frames: u64,
    /// None before the peer's transport parameters came.
    pub peer_windows: Option<PeerWindows>,
}
