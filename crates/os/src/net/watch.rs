//! Looking on at a loopback device: the packet log of two ends that no link is between. The one rule: headers alone
//! are taken where no whole frames are asked for, and what the kernel could not hand over is counted, so that a log with gaps is known as one.

use crate::clock;
use crate::error::Os;
use crate::net::counters::{LinkCounters, WayCounters};
use crate::net::forwarder::{Stop, Stopped};
use crate::net::frame::{Frame, Frames, Passing};
use crate::net::packet_socket::{Batch, ETHERNET, OFFLOAD, PacketSocket};
use crate::net::stamp::WallClock;
use crate::net::topology::Topology;
use crate::net::waiter::{Core, Waiter};
use std::collections::BTreeSet;
use std::os::fd::AsRawFd;
use trace::{Direction, Fate, Flow, PacketRecord, TcpMark, UdpMark};
use unit::Instant;
use wire::ip::Packet;

/// Octets taken of each frame: the longest headers of IPv4 or IPv6 with TCP, and extension headers.
const HEADERS: usize = OFFLOAD + ETHERNET + 176;

/// Looks on at the loopback device that a topology's two ends share.
pub struct Watch<'a> {
    socket: PacketSocket,
    waiter: Waiter,
    batch: Batch,
    wall: WallClock,
    /// Ports that the far side listens on: the ends have the same addresses.
    ports: BTreeSet<u16>,
    counters: LinkCounters,
    missed: u64,
    record: &'a mut dyn FnMut(PacketRecord),
    frames: Option<Frames<'a>>,
}

const SOCKET: u64 = 0;
const STOP: u64 = 1;

impl<'a> Watch<'a> {
    /// Looks on from now on; each packet's record goes to `record`.
    pub fn new(
        topology: &Topology,
        ports: BTreeSet<u16>,
        record: &'a mut dyn FnMut(PacketRecord),
    ) -> Result<Self, Os> {
        let socket = topology.loopback_socket()?;
        let waiter = Waiter::new(Core::Shared)?;
        waiter.watch(socket.raw(), SOCKET)?;
        Ok(Self {
            socket,
            waiter,
            batch: Batch::of(HEADERS),
            wall: WallClock::new(),
            ports,
            counters: LinkCounters::default(),
            missed: 0,
            record,
            frames: None,
        })
    }

    /// Shows each packet to `frames`, whole: it enters and leaves at once.
    pub fn with_frames(mut self, frames: Frames<'a>) -> Self {
        self.batch = Batch::new();
        self.frames = Some(frames);
        self
    }

    /// Looks on until `stop`; may be called again and goes on where it was.
    pub fn run(&mut self, stop: Stop<'_>) -> Result<Stopped, Os> {
        let fds = stop.readable.iter().map(AsRawFd::as_raw_fd);
        let watched: Result<(), Os> =
            (STOP..).zip(fds.clone()).try_for_each(|(number, fd)| self.waiter.watch(fd, number));
        let stopped = watched.map(|()| self.look(stop.deadline));
        fds.for_each(|fd| self.waiter.forget(fd));
        stopped
    }

    /// What was counted so far: nothing is ever lost or late here.
    pub fn counters(&mut self) -> LinkCounters {
        self.counters.clock_steps = self.wall.steps();
        self.counters.clone()
    }

    /// Packets that the log does not have.
    pub fn missed(&mut self) -> u64 {
        self.missed += self.socket.take_drops();
        self.missed
    }

    /// The receive buffer of the packet socket, as the kernel granted it.
    pub fn receive_buffer(&self) -> u32 {
        self.socket.receive_buffer()
    }

    fn look(&mut self, deadline: Option<Instant>) -> Stopped {
        loop {
            if deadline.is_some_and(|deadline| deadline <= clock::now()) {
                return Stopped::Deadline;
            }
            let ready = self.waiter.wait(deadline);
            let mut stopped = None;
            for token in ready.tokens() {
                match token {
                    SOCKET => while self.read() > 0 {},
                    fd => stopped = Some(Stopped::Readable((fd - STOP) as usize)),
                }
            }
            if let Some(stopped) = stopped {
                // What has been said goes after what was seen before.
                while self.read() > 0 {}
                return stopped;
            }
        }
    }

    fn read(&mut self) -> usize {
        let count = self.socket.receive(&mut self.batch);
        self.wall.observe();
        let now = clock::now();
        let batch = std::mem::replace(&mut self.batch, Batch::none());
        for index in 0..count {
            let at = self.wall.arrival(batch.stamp(index), now);
            self.note(at, batch.frame(index));
        }
        self.batch = batch;
        count
    }

    fn note(&mut self, at: Instant, frame: &[u8]) {
        let Some(seen) = frame.get(OFFLOAD + ETHERNET..).and_then(seen) else { return };
        let to_far = seen.flow.is_some_and(|flow| self.ports.contains(&flow.destination.port()));
        let direction = if to_far { Direction::Up } else { Direction::Down };
        let way: &mut WayCounters = match direction {
            Direction::Up => &mut self.counters.up,
            Direction::Down => &mut self.counters.down,
        };
        let index = way.packets;
        let fate = Fate::Delivered { at };
        way.packets += 1;
        way.delivered += 1;
        way.bytes += u64::from(seen.length);
        way.delivered_bytes += u64::from(seen.length);
        (self.record)(PacketRecord {
            at,
            direction,
            index,
            length: seen.length,
            fate,
            flow: seen.flow,
            tcp: seen.tcp,
            udp: seen.udp,
        });
        if let Some(frames) = &mut self.frames {
            frames(Frame::new(at, direction, Passing::Entered(fate), frame));
            frames(Frame::new(at, direction, Passing::Left, frame));
        }
    }
}

/// What the headers of a packet tell.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    length: u32,
    flow: Option<Flow>,
    tcp: Option<TcpMark>,
    udp: Option<UdpMark>,
}

/// Reads the headers of a packet of which the rest may be missing.
fn seen(octets: &[u8]) -> Option<Seen> {
    let field = |at: usize| Some(u16::from_be_bytes([*octets.get(at)?, *octets.get(at + 1)?]));
    // Where the length stands, and what it does not count (RFC 791 §3.1, RFC 8200 §3).
    let (at, beside) = match octets.first()? >> 4 {
        4 => (2, 0),
        6 => (4, 40),
        _ => return None,
    };
    let length = usize::from(field(at)?) + beside;
    let taken = length.min(octets.len());
    // A copy that says its own length reads like any packet.
    let mut copy = octets[..taken].to_vec();
    let own = u16::try_from(taken.checked_sub(beside)?).ok()?;
    copy.get_mut(at..at + 2)?.copy_from_slice(&own.to_be_bytes());
    let packet = Packet::parse(&copy).ok()?;
    let rest = (length - taken) as u32;
    let tcp = packet.tcp_mark().map(|mark| TcpMark { payload: mark.payload + rest, ..mark });
    let udp = packet.udp_mark().map(|mark| UdpMark { payload: mark.payload + rest, ..mark });
    Some(Seen { length: length as u32, flow: packet.flow(), tcp, udp })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 packet of TCP with `payload` octets behind its headers.
    fn packet(payload: u16) -> Vec<u8> {
        let mut octets = vec![0; 40 + usize::from(payload)];
        octets[0] = 0x45;
        octets[2..4].copy_from_slice(&(40 + payload).to_be_bytes());
        octets[9] = 6;
        octets[12..16].copy_from_slice(&[10, 77, 0, 1]);
        octets[16..20].copy_from_slice(&[10, 77, 1, 1]);
        octets[20..24].copy_from_slice(&[0x9c, 0x40, 0x01, 0xbb]);
        octets[27] = 7;
        octets[32] = 0x50;
        octets[33] = 0x10;
        octets
    }

    #[test]
    fn the_headers_alone_tell_of_a_datagram_and_of_quic_in_it() {
        let mut whole = packet(1_200);
        whole[9] = 17;
        // A long header of QUIC's first version behind UDP's own, from a sender that calls the connection 7.
        whole[28..43].copy_from_slice(&[0xc0, 0, 0, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 7]);
        for taken in [100, 176, whole.len()] {
            let udp = seen(&whole[..taken]).unwrap().udp.unwrap();
            assert_eq!((udp.payload, udp.quic.map(|quic| quic.sender)), (1_212, Some(7)));
        }
        whole[28] = 0x40;
        assert_eq!(seen(&whole).unwrap().udp.unwrap().quic, None, "a short header tells nothing");
    }

    #[test]
    fn the_headers_alone_tell_what_the_whole_packet_tells() {
        for payload in [0, 1, 100, 60_000] {
            let whole = packet(payload);
            let known = Packet::parse(&whole).unwrap();
            let (flow, tcp) = (known.flow(), known.tcp_mark());
            assert_eq!(tcp.unwrap().payload, u32::from(payload));
            for taken in [40, 80, 176, whole.len()] {
                let headers = &whole[..taken.min(whole.len())];
                let length = whole.len() as u32;
                let all = Seen { length, flow, tcp, udp: None };
                assert_eq!(seen(headers), Some(all), "{payload} {taken}");
            }
        }
        assert_eq!(seen(&packet(0)[..30]).and_then(|seen| seen.tcp), None);
        assert_eq!(seen(&[]), None);
    }
}
