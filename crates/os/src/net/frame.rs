//! A frame as it passed an end of the link, for captures. The one rule: a capture holds what a real wire would have
//! carried, including the checksum that the sending kernel left to its device, and each UDP datagram by itself. Only super-packets of
//! TCP are shown whole: a reader of a byte stream finds the same bytes in them.

use crate::net::gso_batch::{GsoBatch, GsoKind, GsoLayout};
use crate::net::packet_socket::{ETHERNET, OFFLOAD};
use trace::{Direction, Fate};
use unit::Instant;
use wire::ip::Sum;

/// Which end of the link a frame passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameEvent {
    /// It entered the link, which gave it this fate.
    Entered(Fate),
    /// The link let it out, at the other end.
    Left,
}

/// A frame that passed an end of the link.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// When.
    pub at: Instant,
    /// Which way it goes.
    pub direction: Direction,
    /// Which end of the link it passed.
    pub event: FrameEvent,
    /// The offload header, then the Ethernet frame.
    bytes: &'a [u8],
}

/// Who is notified of frames.
pub type Frames<'a> = &'a mut dyn FnMut(Frame<'_>);

impl<'a> Frame<'a> {
    pub(crate) fn new(
        at: Instant,
        direction: Direction,
        event: FrameEvent,
        bytes: &'a [u8],
    ) -> Self {
        Self { at, direction, event, bytes }
    }

    /// Shows it to an observer. Of a UDP super-packet each datagram is shown: a QUIC packet with a short header reaches to the end of its
    /// datagram (RFC 9000 §12.2), so that nobody could decrypt several in one.
    pub(crate) fn show_to(self, frames: &mut dyn FnMut(Frame<'_>)) {
        let is_frame = self.bytes.len() > OFFLOAD + ETHERNET;
        let layout = is_frame.then(|| GsoLayout::of(self.bytes)).flatten();
        let Some(layout) = layout.filter(|layout| layout.kind == GsoKind::Udp) else {
            return frames(self);
        };
        let batch = GsoBatch { layout, frame: self.bytes.to_vec() };
        let mut datagram = Vec::new();
        for index in 0..layout.count {
            batch.write(index..index + 1, &mut datagram);
            frames(Frame { bytes: &datagram, ..self });
        }
    }

    /// Appends the Ethernet frame with its checksum completed.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        let (offload, frame) = self.bytes.split_at(OFFLOAD.min(self.bytes.len()));
        out.extend_from_slice(frame);
        complete(offload, &mut out[begin..]);
    }
}

/// Completes the checksum that the offload header (virtio 1.2 §5.1.6) leaves to the receiver. The field already holds
/// the sum of the pseudo-header.
fn complete(offload: &[u8], frame: &mut [u8]) {
    const NEEDS_CSUM: u8 = 1;
    let number = |at: usize| usize::from(u16::from_ne_bytes([offload[at], offload[at + 1]]));
    if offload.len() < OFFLOAD || offload[0] & NEEDS_CSUM == 0 {
        return;
    }
    let (start, offset) = (number(6), number(8));
    let Some(covered) = frame.get_mut(start..) else { return };
    // UDP writes a checksum of 0 as its complement (RFC 768).
    let sum = match Sum::ZERO.bytes(covered).checksum() {
        0 => u16::MAX,
        sum => sum,
    };
    if start >= ETHERNET
        && let Some(field) = covered.get_mut(offset..offset + 2)
    {
        field.copy_from_slice(&sum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::gso_batch::partial_checksum;
    use std::net::IpAddr;

    #[test]
    fn a_partial_checksum_is_completed_and_a_whole_one_left_alone() {
        let ends = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let payload = [0x9c, 0x40, 0, 53, 0, 11, 0, 0, 1, 2, 3];
        let mut frame = vec![0; ETHERNET + 20];
        frame.extend_from_slice(&payload);
        let partial = Sum::ZERO.pseudo_header(ends, 17, payload.len() as u32).folded();
        let at = ETHERNET + 26;
        frame[at..at + 2].copy_from_slice(&partial.to_be_bytes());
        let written = |offload: [u8; OFFLOAD]| {
            let bytes = [&offload[..], &frame].concat();
            let now = Instant::from_nanos(0);
            let mut out = vec![9];
            Frame::new(now, Direction::Up, FrameEvent::Left, &bytes).write_to(&mut out);
            out.split_off(1)
        };
        assert_eq!(written([0; OFFLOAD]), frame);
        let done = written(partial_checksum(ETHERNET + 20, 6));
        // RFC 768: the sum over all of it, pseudo-header and checksum too, is all ones.
        let sum = Sum::ZERO.pseudo_header(ends, 17, payload.len() as u32);
        assert_eq!(sum.bytes(&done[ETHERNET + 20..]).folded(), 0xffff);
    }

    /// An Ethernet frame of three segments of 1,000, 1,000 and 500 bytes, with its offload header.
    fn super_packet(gso_type: u8, protocol: u8, transport_header: usize) -> Vec<u8> {
        let mut bytes = vec![0; OFFLOAD + ETHERNET];
        bytes[1] = gso_type;
        bytes[4..6].copy_from_slice(&1_000_u16.to_ne_bytes());
        let mut ip = vec![0; 20 + transport_header];
        let length = ip.len() as u16 + 2_500;
        ip[0] = 0x45;
        ip[2..4].copy_from_slice(&length.to_be_bytes());
        ip[9] = protocol;
        match protocol {
            6 => ip[32] = 5 << 4,
            _ => ip[24..26].copy_from_slice(&2_508_u16.to_be_bytes()),
        }
        bytes.extend(ip);
        bytes.extend((0..2_500).map(|k| k as u8));
        bytes
    }

    fn shown(bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut shown = Vec::new();
        let now = Instant::from_nanos(0);
        Frame::new(now, Direction::Up, FrameEvent::Left, bytes).show_to(&mut |frame| {
            let mut out = Vec::new();
            frame.write_to(&mut out);
            shown.push(out);
        });
        shown
    }

    #[test]
    fn of_a_udp_super_packet_each_datagram_is_shown_and_a_tcp_one_is_shown_whole() {
        const TCP: (u8, u8, usize) = (1, 6, 20);
        const UDP: (u8, u8, usize) = (5, 17, 8);
        let [tcp, udp] = [TCP, UDP].map(|(gso, protocol, header)| {
            let bytes = super_packet(gso, protocol, header);
            (shown(&bytes), bytes)
        });
        assert_eq!(tcp.0, [&tcp.1[OFFLOAD..]]);
        let ends = (IpAddr::from([0; 4]), IpAddr::from([0; 4]));
        let mut payload = Vec::new();
        for (datagram, bytes) in udp.0.iter().zip([1_008, 1_008, 508_usize]) {
            let datagram = &datagram[ETHERNET + 20..];
            assert_eq!(datagram.len(), bytes);
            assert_eq!(datagram[4..6], (bytes as u16).to_be_bytes());
            let sum = Sum::ZERO.pseudo_header(ends, 17, bytes as u32);
            assert_eq!(sum.bytes(datagram).folded(), 0xffff, "the checksum is complete");
            payload.extend_from_slice(&datagram[8..]);
        }
        assert_eq!((udp.0.len(), &payload[..]), (3, &udp.1[OFFLOAD + ETHERNET + 28..]));
    }

    #[test]
    fn an_offload_header_that_points_beyond_the_frame_changes_nothing() {
        for (start, offset) in [(60, 0), (ETHERNET, 60), (65_535, 65_535)] {
            let bytes = [&partial_checksum(start, offset)[..], &[7; 40]].concat();
            let mut out = Vec::new();
            let now = Instant::from_nanos(0);
            Frame::new(now, Direction::Up, FrameEvent::Left, &bytes).write_to(&mut out);
            assert_eq!(out, [7; 40]);
        }
    }
}
