//! Super-packets (GSO) on the link. Their segments enter, wait, are lost and leave one by one. A segment is cut out of
//! the whole only when it leaves. The one rule: what leaves is what a real wire would carry. Segments that leave
//! together are handed to the kernel in one call. The device has its segmentation offloads off, so it cuts them.

use crate::net::packet_socket::{ETHERNET, OFFLOAD};
use std::ops::Range;
use std::rc::Rc;
use wire::ip::Segments;

/// What the link carries.
#[derive(Debug)]
pub(super) enum LinkPacket {
    /// A frame with its offload header.
    Frame(Vec<u8>),
    /// A packet in the kernel's queue (nfnetlink_queue).
    Queued {
        /// Its number there.
        id: u32,
        /// IP bytes.
        length: usize,
    },
    /// One segment of a super-packet.
    Segment { batch: Rc<GsoBatch>, index: usize },
}

/// A super-packet as the kernel handed it over: several segments of one flow in one frame.
#[derive(Debug)]
pub(super) struct GsoBatch {
    pub(super) layout: GsoLayout,
    /// With its offload header.
    pub(super) frame: Vec<u8>,
}

/// How a super-packet is made up.
#[derive(Debug, Clone, Copy)]
pub(super) struct GsoLayout {
    /// How many segments it stands for.
    pub(super) count: usize,
    /// Bytes of IP and transport headers of each segment.
    headers: usize,
    /// Bytes of payload of each segment but the last one.
    size: usize,
    /// What is cut.
    pub(super) kind: GsoKind,
}

/// A kind of super-packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GsoKind {
    Tcp,
    /// Datagrams of one size (USO). Linux takes them from packet sockets since version 6.2.
    Udp,
    /// One that the kernel takes back only segment by segment.
    Other,
}

impl GsoLayout {
    /// For a super-packet; None for another frame, and for a kind that cannot be split.
    pub(super) fn of(frame: &[u8]) -> Option<Self> {
        let size = usize::from(u16::from_ne_bytes([frame[4], frame[5]]));
        if frame[GSO_TYPE] == 0 || size == 0 {
            return None;
        }
        let segments = Segments::of(&frame[OFFLOAD + ETHERNET..], size).ok()?;
        Some(Self {
            count: segments.remaining(),
            headers: segments.headers(),
            size,
            kind: match frame[GSO_TYPE] & !GSO_ECN {
                GSO_TCPV4 | GSO_TCPV6 => GsoKind::Tcp,
                GSO_UDP_L4 => GsoKind::Udp,
                _ => GsoKind::Other,
            },
        })
    }
}

impl GsoBatch {
    /// IP bytes of a segment.
    pub(super) fn length(&self, index: usize) -> usize {
        let GsoLayout { headers, size, .. } = self.layout;
        let payload = self.frame.len() - OFFLOAD - ETHERNET - headers;
        headers + payload.saturating_sub(index * size).min(size)
    }

    /// Writes the segments of `run` into `out`, with their offload header, as one frame.
    pub(super) fn write(&self, run: Range<usize>, out: &mut Vec<u8>) {
        out.clear();
        let (head, bytes) = self.frame.split_at(OFFLOAD + ETHERNET);
        // It was one when it came.
        let Ok(mut segments) = Segments::of(bytes, self.layout.size) else { return };
        if run.len() > 1 {
            out.extend_from_slice(head);
        } else {
            let checksum = segments.checksum();
            out.extend_from_slice(&partial_checksum(ETHERNET + checksum.start, checksum.offset));
            out.extend_from_slice(&head[OFFLOAD..]);
        }
        segments.skip(run.start);
        segments.write_run(run.len(), out);
    }
}

/// The offset of gso_type in struct virtio_net_hdr (virtio 1.3 §5.1.6), three of its values, and the flag that may be
/// combined with them.
const GSO_TYPE: usize = 1;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
const GSO_UDP_L4: u8 = 5;
const GSO_ECN: u8 = 0x80;

/// The offload header of a packet whose checksum is left to the receiving kernel.
pub(super) fn partial_checksum(start: usize, offset: usize) -> [u8; OFFLOAD] {
    const NEEDS_CSUM: u8 = 1;
    let mut header = [0; OFFLOAD];
    header[0] = NEEDS_CSUM;
    header[6..8].copy_from_slice(&(start as u16).to_ne_bytes());
    header[8..10].copy_from_slice(&(offset as u16).to_ne_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A super-packet of 2,500 bytes of payload in segments of 1,000, all bytes of its headers zero but those
    /// that are read.
    fn batch(transport: u8) -> GsoBatch {
        let mut frame = vec![0; OFFLOAD + ETHERNET];
        frame[GSO_TYPE] = if transport == 6 { GSO_TCPV4 } else { GSO_UDP_L4 };
        frame[4..6].copy_from_slice(&1_000_u16.to_ne_bytes());
        let headers = if transport == 6 { 20 + 20 } else { 20 + 8 };
        let mut ip = vec![0; headers];
        ip[0] = 0x45;
        ip[2..4].copy_from_slice(&(headers as u16 + 2_500).to_be_bytes());
        ip[9] = transport;
        if transport == 6 {
            ip[32] = 5 << 4;
        }
        frame.extend(ip);
        frame.extend((0..2_500).map(|k| k as u8));
        GsoBatch { layout: GsoLayout::of(&frame).unwrap(), frame }
    }

    #[test]
    fn a_segment_is_as_long_as_what_is_written_of_it() {
        for (transport, headers) in [(6, 40), (17, 28)] {
            let batch = batch(transport);
            assert_eq!(batch.layout.count, 3);
            let kind = if transport == 6 { GsoKind::Tcp } else { GsoKind::Udp };
            assert_eq!(batch.layout.kind, kind);
            for (index, payload) in [1_000, 1_000, 500].into_iter().enumerate() {
                let mut out = vec![1; 7];
                batch.write(index..index + 1, &mut out);
                assert_eq!(batch.length(index), headers + payload);
                assert_eq!(out.len(), OFFLOAD + ETHERNET + headers + payload);
                assert_eq!(out[GSO_TYPE], 0, "a segment alone is no super-packet");
            }
        }
    }

    #[test]
    fn several_segments_are_written_as_a_smaller_super_packet() {
        let batch = batch(6);
        let mut out = Vec::new();
        batch.write(1..3, &mut out);
        assert_eq!(out[..OFFLOAD], batch.frame[..OFFLOAD]);
        let smaller = GsoLayout::of(&out).unwrap();
        assert_eq!((smaller.count, smaller.size), (2, 1_000));
        let payload = OFFLOAD + ETHERNET + 40;
        assert_eq!(out[payload..], batch.frame[payload + 1_000..]);
    }

    #[test]
    fn a_frame_without_segments_is_none() {
        let mut frame = batch(6).frame;
        frame[GSO_TYPE] = 0;
        assert!(GsoLayout::of(&frame).is_none());
    }
}
