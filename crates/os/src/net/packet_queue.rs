//! Packets that wait in the kernel for our verdict (nfnetlink_queue). We see their headers and release them by a
//! verdict. The one rule: nothing is dropped uncounted.
#![allow(unsafe_code)]

use crate::net::headers::HEADERS;
use crate::net::message::{HEADER, Request, attributes, kind};
use crate::net::netfilter::{family, socket, transact};
use crate::net::packet_socket::{Batch, receive_buffer, widen};
use crate::tcp::option;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// A queue of the kernel, and the verdicts that were not sent yet.
#[derive(Debug)]
pub(super) struct PacketQueue {
    fd: OwnedFd,
    verdicts: Vec<u8>,
    /// The kernel's count of drops when it was last read.
    dropped: u64,
}

/// A packet in the queue.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct QueuedPacket<'a> {
    /// The queue's number for it.
    pub(super) id: u32,
    /// The index of the device that it came by.
    pub(super) device: u32,
    /// When the packet arrived, on CLOCK_REALTIME, rounded up to whole microseconds.
    pub(super) stamp: Option<Duration>,
    /// The first bytes from the IP header on: the headers and little more.
    pub(super) bytes: &'a [u8],
    /// How many bytes it has.
    pub(super) length: usize,
}

/// What is decided about a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Drop = 0,
    Accept = 1,
}

const NUMBER: u16 = 0;
/// Bytes of an announcement besides the packet's own.
const ANNOUNCEMENT: usize = 256;
/// linux/netfilter/nfnetlink.h's number of nfnetlink_queue.
const QUEUE: u16 = 3;
const MSG_PACKET: u16 = QUEUE << 8;
const MSG_VERDICT: u16 = QUEUE << 8 | 1;
const MSG_CONFIG: u16 = QUEUE << 8 | 2;
/// As many as a link of 100 ms holds at 600,000 packets a second. More would be a fault.
const MOST: u32 = 1 << 16;
/// The most bytes of verdicts sent together. Sending takes about 4 µs a packet, and by so much the last packet is later
/// than its record says.
const DECIDED: usize = 16 * VERDICT;
/// Bytes of a verdict.
const VERDICT: usize = HEADER + 4 + 12;

impl PacketQueue {
    /// Takes over queue 0 of this thread's network namespace.
    pub(super) fn open() -> io::Result<Self> {
        const NFQA_CFG_CMD: u16 = 1;
        const NFQA_CFG_QUEUE_MAXLEN: u16 = 3;
        const NFQA_CFG_MASK: u16 = 4;
        const NFQA_CFG_FLAGS: u16 = 5;
        const BIND: u8 = 1;
        const NFQA_CFG_PARAMS: u16 = 2;
        const COPY_PACKET: u8 = 2;
        /// Super-packets are not cut.
        const NFQA_CFG_F_GSO: u32 = 1 << 2;
        let fd = socket()?;
        // The kernel drops and counts packets that do not fit. An error on the socket would add nothing.
        option::set(fd.as_fd(), libc::SOL_NETLINK, libc::NETLINK_NO_ENOBUFS, &1)?;
        widen(fd.as_fd())?;
        // The kernel stamps arriving packets as long as any program on the machine asks for stamps.
        option::set(fd.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1)?;
        let queue = Self { fd, verdicts: Vec::new(), dropped: 0 };
        queue.configure(|request| request.attribute(NFQA_CFG_CMD, &[BIND, 0, 0, 0]))?;
        let [a, b, c, d] = (HEADERS as u32).to_be_bytes();
        queue.configure(|request| {
            request.attribute(NFQA_CFG_PARAMS, &[a, b, c, d, COPY_PACKET]);
            request.attribute(NFQA_CFG_QUEUE_MAXLEN, &MOST.to_be_bytes());
            request.attribute(NFQA_CFG_MASK, &NFQA_CFG_F_GSO.to_be_bytes());
            request.attribute(NFQA_CFG_FLAGS, &NFQA_CFG_F_GSO.to_be_bytes());
        })?;
        Ok(queue)
    }

    fn configure(&self, content: impl FnOnce(&mut Request)) -> io::Result<()> {
        let mut request = Request::new(MSG_CONFIG, 0);
        request.body(&family(libc::AF_UNSPEC, NUMBER));
        content(&mut request);
        transact(&self.fd, vec![request])
    }

    /// A buffer for announcements.
    pub(super) fn batch() -> Batch {
        Batch::of(ANNOUNCEMENT + HEADERS)
    }

    /// Fills `batch` with announcements. Returns how many.
    pub(super) fn receive(&self, batch: &mut Batch) -> usize {
        batch.receive(self.fd.as_fd())
    }

    /// Queues the verdict on a packet. [`PacketQueue::send_verdicts`] sends all of them to the kernel. So does this call,
    /// once many are queued.
    pub(super) fn queue_verdict(&mut self, id: u32, verdict: Verdict) {
        const NFQA_VERDICT_HDR: u16 = 2;
        const NLM_F_REQUEST: u16 = 1;
        let [kind, flags] = [MSG_VERDICT, NLM_F_REQUEST].map(u16::to_ne_bytes);
        let out = &mut self.verdicts;
        out.extend((VERDICT as u32).to_ne_bytes());
        out.extend([kind, flags].concat());
        out.extend([0; 8]);
        out.extend(family(libc::AF_UNSPEC, NUMBER));
        out.extend(12_u16.to_ne_bytes());
        out.extend(NFQA_VERDICT_HDR.to_ne_bytes());
        out.extend((verdict as u32).to_be_bytes());
        out.extend(id.to_be_bytes());
        if self.verdicts.len() >= DECIDED {
            self.send_verdicts();
        }
    }

    /// Sends the verdicts. The kernel forwards the released packets within this call.
    pub(super) fn send_verdicts(&mut self) {
        if self.verdicts.is_empty() {
            return;
        }
        let fd = self.fd.as_raw_fd();
        // SAFETY: the buffer is valid for its length; the kernel copies it.
        unsafe { libc::send(fd, self.verdicts.as_ptr().cast(), self.verdicts.len(), 0) };
        self.verdicts.clear();
    }

    /// Packets that the kernel dropped since the last call, because too many waited.
    pub(super) fn take_drops(&mut self) -> u64 {
        let text = fs::read_to_string("/proc/thread-self/net/netfilter/nfnetlink_queue");
        let dropped = text.map_or(self.dropped, |text| dropped(&text));
        dropped - std::mem::replace(&mut self.dropped, dropped)
    }

    pub(super) fn receive_buffer(&self) -> u32 {
        receive_buffer(self.fd.as_fd())
    }

    pub(super) fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl<'a> QueuedPacket<'a> {
    /// Reads an announcement; None for another message.
    pub(super) fn of(message: &'a [u8]) -> Option<Self> {
        const NFQA_PACKET_HDR: u16 = 1;
        const NFQA_TIMESTAMP: u16 = 4;
        const NFQA_IFINDEX_INDEV: u16 = 5;
        const NFQA_IFINDEX_PHYSINDEV: u16 = 7;
        const NFQA_PAYLOAD: u16 = 10;
        const NFQA_CAP_LEN: u16 = 13;
        if kind(message) != Some(MSG_PACKET) {
            return None;
        }
        let (mut id, mut whole, mut device, mut port) = (None, None, None, None);
        let mut packet = Self { id: 0, device: 0, stamp: None, bytes: &[], length: 0 };
        for (kind, value) in attributes(message.get(HEADER + 4..)?) {
            match kind {
                NFQA_PACKET_HDR => id = number(value),
                NFQA_TIMESTAMP => packet.stamp = stamp(value),
                NFQA_IFINDEX_INDEV => device = number(value),
                NFQA_IFINDEX_PHYSINDEV => port = number(value),
                NFQA_PAYLOAD => packet.bytes = value,
                NFQA_CAP_LEN => whole = number(value),
                _ => {}
            }
        }
        let length = whole.map_or(packet.bytes.len(), |length| length as usize);
        // Kernels that apply the rules for routed packets to bridged ones report the bridge as the device.
        Some(Self { id: id?, device: port.or(device)?, length, ..packet })
    }
}

fn number(value: &[u8]) -> Option<u32> {
    value.first_chunk().copied().map(u32::from_be_bytes)
}

/// struct nfqnl_msg_packet_timestamp: seconds and microseconds, which the kernel rounds down. We round up, so that no
/// packet leaves the link before its time.
fn stamp(value: &[u8]) -> Option<Duration> {
    let (seconds, rest) = value.split_first_chunk()?;
    let micros = u64::from_be_bytes(*rest.first_chunk()?);
    let whole = Duration::from_secs(u64::from_be_bytes(*seconds));
    Some(whole + Duration::from_micros(micros + 1))
}

/// What the kernel dropped because the queue was full, and because the socket's buffer was full.
fn dropped(text: &str) -> u64 {
    // Number, port, waiting, copy mode and range, then the two counts of drops.
    let lines = text.lines().map(|line| line.split_whitespace().map(str::parse::<u64>));
    let mut rows = lines.map(|columns| columns.flatten().collect::<Vec<u64>>());
    let row = rows.find(|row| row.first() == Some(&NUMBER.into()));
    row.and_then(|row| Some(row.get(5)? + row.get(6)?)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = [(value.len() as u16 + 4).to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend_from_slice(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn announcement(kind: u16, attributes: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER + 4];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes.extend(attributes.concat());
        bytes
    }

    #[test]
    fn an_announcement_tells_number_time_port_and_the_length_that_is_not_shown() {
        let time = [1_700_000_000_u64, 123_456].map(u64::to_be_bytes).concat();
        let mut attributes = vec![
            attribute(1, &[0, 0, 1, 2, 8, 0, 2]),
            attribute(4, &time),
            attribute(5, &9_u32.to_be_bytes()),
            attribute(10, &[0x45; 50]),
        ];
        let whole = announcement(MSG_PACKET, &attributes);
        let packet = QueuedPacket::of(&whole).unwrap();
        assert_eq!((packet.id, packet.device, packet.length), (258, 9, 50));
        assert_eq!(packet.stamp, Some(Duration::new(1_700_000_000, 123_457_000)));
        assert_eq!(packet.bytes, [0x45; 50]);

        attributes.push(attribute(7, &3_u32.to_be_bytes()));
        attributes.push(attribute(13, &60_000_u32.to_be_bytes()));
        let cut = announcement(MSG_PACKET, &attributes);
        let packet = QueuedPacket::of(&cut).unwrap();
        assert_eq!((packet.device, packet.length), (3, 60_000), "the port, not the bridge");
    }

    #[test]
    fn what_is_no_whole_announcement_is_none() {
        let port = attribute(5, &9_u32.to_be_bytes());
        assert_eq!(QueuedPacket::of(&announcement(MSG_PACKET, std::slice::from_ref(&port))), None);
        let all = [attribute(1, &[0, 0, 0, 7, 8, 0, 2]), port];
        assert!(QueuedPacket::of(&announcement(MSG_PACKET, &all)).is_some());
        assert_eq!(QueuedPacket::of(&announcement(libc::NLMSG_ERROR as u16, &all)), None);
        assert_eq!(QueuedPacket::of(&[]), None);
    }

    #[test]
    fn drops_of_both_kinds_are_counted_of_our_queue_alone() {
        let text = "\
    1  -4711    12 2   176   100  1000      301  1
    0   4711     0 2   176     3    40       77  1
";
        assert_eq!(dropped(text), 43);
        assert_eq!(dropped(""), 0);
    }
}
