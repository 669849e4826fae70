//! Splitting a super-packet. The one rule: the segments are those that the sending kernel would have
//! made, but for their transport checksum, which stays partial (pseudo-header only) for the receiving
//! kernel to complete or to take on trust.

use crate::ip::packet::{IpError, Packet, TCP, UDP};
use crate::ip::sum::Sum;

const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// Where the checksum of a segment is to be completed, counted from the IP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartialChecksum {
    /// Where the checksummed bytes begin.
    pub start: usize,
    /// Where the checksum field stands behind `start`.
    pub offset: usize,
}

/// A super-packet on its way into segments.
#[derive(Debug, Clone)]
pub struct Segments<'a> {
    packet: Packet<'a>,
    headers: usize,
    size: usize,
    next: usize,
    count: usize,
}

impl<'a> Segments<'a> {
    /// Splits a TCP or UDP super-packet into segments of `size` payload bytes each.
    pub fn of(bytes: &'a [u8], size: usize) -> Result<Self, IpError> {
        let packet = Packet::parse(bytes)?;
        let unsplittable = IpError::Unsplittable { at: packet.transport_at() };
        let transport = match packet.protocol() {
            TCP => packet.tcp_header_length(),
            UDP => (packet.transport().len() >= 8).then_some(8),
            _ => None,
        };
        let headers = packet.transport_at() + transport.ok_or(unsplittable)?;
        if size == 0 {
            return Err(unsplittable);
        }
        // A packet without payload is still one packet.
        let count = (packet.bytes().len() - headers).div_ceil(size).max(1);
        Ok(Self { packet, headers, size, next: 0, count })
    }

    /// How many segments are still to come.
    pub fn remaining(&self) -> usize {
        self.count - self.next
    }

    /// How many bytes of IP and transport headers each segment has.
    pub fn headers(&self) -> usize {
        self.headers
    }

    /// Where each segment's checksum is to be completed.
    pub fn checksum(&self) -> PartialChecksum {
        let offset = if self.packet.protocol() == TCP { 16 } else { 6 };
        PartialChecksum { start: self.packet.transport_at(), offset }
    }

    /// Leaves out the next `count` segments.
    pub fn skip(&mut self, count: usize) {
        self.next = self.count.min(self.next.saturating_add(count));
    }

    /// Appends the next segment to `out`; false when there is none.
    pub fn write_next(&mut self, out: &mut Vec<u8>) -> bool {
        self.write_run(1, out)
    }

    /// Appends the next `count` segments, or those that are left, to `out` as one packet, which is a smaller
    /// super-packet where they are several; false when there is none.
    pub fn write_run(&mut self, count: usize, out: &mut Vec<u8>) -> bool {
        let run = count.min(self.remaining());
        if run == 0 {
            return false;
        }
        let bytes = self.packet.bytes();
        let from = self.headers + self.next * self.size;
        let to = bytes.len().min(from + run * self.size);
        let begin = out.len();
        out.extend_from_slice(&bytes[..self.headers]);
        out.extend_from_slice(&bytes[from..to]);
        self.mend(&mut out[begin..], run);
        self.next += run;
        true
    }

    fn mend(&self, segment: &mut [u8], run: usize) {
        let transport_at = self.packet.transport_at();
        self.mend_ip(segment);
        let length = (segment.len() - transport_at) as u32;
        let transport = &mut segment[transport_at..];
        if self.packet.protocol() == TCP {
            self.mend_tcp(transport, run);
        } else {
            transport[4..6].copy_from_slice(&(length as u16).to_be_bytes());
        }
        let ends = (self.packet.source(), self.packet.destination());
        let partial = Sum::ZERO.pseudo_header(ends, self.packet.protocol(), length).folded();
        let field = self.checksum().offset;
        transport[field..field + 2].copy_from_slice(&partial.to_be_bytes());
    }

    fn mend_ip(&self, segment: &mut [u8]) {
        let length = segment.len();
        if segment[0] >> 4 == 6 {
            segment[4..6].copy_from_slice(&((length - 40) as u16).to_be_bytes());
            return;
        }
        segment[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        let identification = u16::from_be_bytes([segment[4], segment[5]]);
        let identification = identification.wrapping_add(self.next as u16);
        segment[4..6].copy_from_slice(&identification.to_be_bytes());
        segment[10..12].fill(0);
        let checksum = Sum::ZERO.bytes(&segment[..self.packet.transport_at()]).checksum();
        segment[10..12].copy_from_slice(&checksum.to_be_bytes());
    }

    fn mend_tcp(&self, transport: &mut [u8], run: usize) {
        let sequence = u32::from_be_bytes([transport[4], transport[5], transport[6], transport[7]]);
        let sequence = sequence.wrapping_add((self.next * self.size) as u32);
        transport[4..8].copy_from_slice(&sequence.to_be_bytes());
        if self.next + run < self.count {
            transport[13] &= !(FIN | PSH);
        }
        // RFC 3168 §6.1.2: CWR stands on the first packet of the reduced window.
        if self.next > 0 {
            transport[13] &= !CWR;
        }
    }
}
