//! The loop that carries frames between the two ends as the link says. The one rule: a packet's time is
//! its arrival stamp, not the time at which we came to read it, so that our own lateness never adds up.

use crate::clock;
use crate::error::Os;
use crate::net::counters::{LinkCounters, WayCounters};
use crate::net::frame::{Frame, Frames, Passing};
use crate::net::packet_socket::{Batch, ETHERNET, OFFLOAD, PacketSocket};
use crate::net::stamp::WallClock;
use crate::net::topology::{Side, Topology};
use crate::net::waiter::Waiter;
use link::{Link, LinkSpec};
use std::os::fd::{AsRawFd, BorrowedFd};
use trace::{Direction, Fate, PacketRecord};
use unit::{ByteSize, Instant, Seed};
use wire::ip::{Packet, Segments};

/// What a forwarder is to do.
#[derive(Debug, Clone)]
pub struct ForwardSpec {
    /// The link.
    pub link: LinkSpec,
    /// All its randomness.
    pub seed: Seed,
    /// What becomes of super-packets.
    pub segmentation: Segmentation,
}

/// What becomes of the super-packets that kernels hand to devices with segmentation offload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Segmentation {
    /// They are split into the packets that a wire would carry, each of which the link treats alone.
    #[default]
    Split,
    /// They pass whole where the link has neither rate nor loss, which costs less; else they are split.
    KeepWhereUnlimited,
}

/// When a run ends.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stop<'a> {
    /// When one of these is readable: a pidfd, an eventfd.
    pub readable: &'a [BorrowedFd<'a>],
    /// At this time.
    pub deadline: Option<Instant>,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// This one of the descriptors was readable.
    Readable(usize),
    /// The deadline came.
    Deadline,
}

/// Carries frames between near and far.
pub struct Forwarder<'a> {
    link: Link<Vec<u8>>,
    keep_whole: bool,
    near: PacketSocket,
    far: PacketSocket,
    waiter: Waiter,
    batch: Batch,
    /// Frame buffers to use again.
    spare: Vec<Vec<u8>>,
    wall: WallClock,
    counters: LinkCounters,
    record: Option<&'a mut dyn FnMut(PacketRecord)>,
    frames: Option<Frames<'a>>,
    /// The frame that enters, kept until its fate is known; empty where nobody is told of frames.
    entering: Vec<u8>,
}

const NEAR: u64 = 0;
const FAR: u64 = 1;
const STOP: u64 = 2;
/// Buffers kept for use again: 5,000 packets of the usual size are 8 MB.
const SPARE: usize = 5_000;

impl<'a> Forwarder<'a> {
    /// Opens the link's two devices; frames wait from now on.
    pub fn new(topology: &Topology, spec: &ForwardSpec) -> Result<Self, Os> {
        let near = topology.packet_socket(Side::Near)?;
        let far = topology.packet_socket(Side::Far)?;
        let waiter = Waiter::new()?;
        waiter.watch(near.raw(), NEAR)?;
        waiter.watch(far.raw(), FAR)?;
        let lossless =
            Direction::BOTH.iter().all(|&way| spec.link.path(way).loss.fraction() == 0.0);
        let unlimited = spec.link.is_unlimited() && lossless;
        Ok(Self {
            link: Link::new(&spec.link, spec.seed),
            keep_whole: unlimited && spec.segmentation == Segmentation::KeepWhereUnlimited,
            near,
            far,
            waiter,
            batch: Batch::new(),
            spare: Vec::new(),
            wall: WallClock::new(),
            counters: LinkCounters::default(),
            record: None,
            frames: None,
            entering: Vec::new(),
        })
    }

    /// Hands each packet's record to `record`, as it enters the link.
    pub fn with_records(mut self, record: &'a mut dyn FnMut(PacketRecord)) -> Self {
        self.record = Some(record);
        self
    }

    /// Shows each of the link's packets to `frames`, as it enters the link and as it leaves.
    pub fn with_frames(mut self, frames: Frames<'a>) -> Self {
        self.frames = Some(frames);
        self
    }

    /// The receive buffer of the packet sockets, as the kernel granted it.
    pub fn receive_buffer(&self) -> u32 {
        self.near.receive_buffer().min(self.far.receive_buffer())
    }

    /// Carries frames until `stop`; may be called again and goes on where it was.
    pub fn run(&mut self, stop: Stop<'_>) -> Result<Stopped, Os> {
        let fds = stop.readable.iter().map(AsRawFd::as_raw_fd);
        let watched: Result<(), Os> =
            (STOP..).zip(fds.clone()).try_for_each(|(number, fd)| self.waiter.watch(fd, number));
        let stopped = watched.map(|()| self.carry(stop.deadline));
        fds.for_each(|fd| self.waiter.forget(fd));
        stopped
    }

    /// What was counted so far.
    pub fn counters(&mut self) -> LinkCounters {
        self.counters.up.missed += self.near.take_drops();
        self.counters.down.missed += self.far.take_drops();
        self.counters.clock_steps = self.wall.steps();
        self.counters.under_way = self.link.under_way() as u64;
        self.counters.clone()
    }

    /// A number that grows with every packet that enters or leaves the link.
    pub(crate) fn progress(&self) -> u64 {
        [self.counters.up, self.counters.down].iter().map(|way| way.packets + way.delivered).sum()
    }

    fn carry(&mut self, deadline: Option<Instant>) -> Stopped {
        loop {
            self.deliver();
            if deadline.is_some_and(|deadline| deadline <= clock::now()) {
                return Stopped::Deadline;
            }
            let next = self.link.poll_timeout().into_iter().chain(deadline).min();
            let ready = self.waiter.wait(next);
            let mut stopped = None;
            for token in ready.tokens() {
                match token {
                    NEAR => self.read(Direction::Up),
                    FAR => self.read(Direction::Down),
                    fd => stopped = Some(Stopped::Readable((fd - STOP) as usize)),
                }
            }
            if let Some(stopped) = stopped {
                return stopped;
            }
        }
    }

    fn read(&mut self, direction: Direction) {
        let socket = match direction {
            Direction::Up => &self.near,
            Direction::Down => &self.far,
        };
        let count = socket.receive(&mut self.batch);
        self.wall.observe();
        let now = clock::now();
        // Taken out so that its frames may be borrowed while the link is worked on.
        let batch = std::mem::replace(&mut self.batch, Batch::none());
        for index in 0..count {
            let arrival = self.wall.arrival(batch.stamp(index), now);
            self.handle_frame(arrival, direction, batch.frame(index));
            // A long batch must not hold up what is due.
            self.deliver();
        }
        self.batch = batch;
    }

    fn handle_frame(&mut self, arrival: Instant, direction: Direction, frame: &[u8]) {
        if !is_unicast_ip(frame) {
            self.way(direction).beside += 1;
            self.send(direction, frame);
            return;
        }
        let segment_size = usize::from(u16::from_ne_bytes([frame[4], frame[5]]));
        let is_super = frame[GSO_TYPE] != 0 && segment_size > 0;
        if is_super && !self.keep_whole && self.enter_split(arrival, direction, frame, segment_size)
        {
            return;
        }
        let mut copy = self.buffer();
        copy.extend_from_slice(frame);
        self.enter(arrival, direction, copy);
    }

    /// Splits a super-packet; false where it is of a kind that cannot be split.
    fn enter_split(
        &mut self,
        arrival: Instant,
        direction: Direction,
        frame: &[u8],
        segment_size: usize,
    ) -> bool {
        let Ok(mut segments) = Segments::of(&frame[OFFLOAD + ETHERNET..], segment_size) else {
            return false;
        };
        let checksum = segments.checksum();
        let offload = partial_checksum(ETHERNET + checksum.start, checksum.offset);
        while segments.remaining() > 0 {
            let mut copy = self.buffer();
            copy.extend_from_slice(&offload);
            copy.extend_from_slice(&frame[OFFLOAD..OFFLOAD + ETHERNET]);
            segments.write_next(&mut copy);
            self.enter(arrival, direction, copy);
        }
        true
    }

    fn enter(&mut self, arrival: Instant, direction: Direction, frame: Vec<u8>) {
        let octets = &frame[OFFLOAD + ETHERNET..];
        let length = octets.len() as u64;
        let index = self.link.packets(direction);
        let seen = self.record.is_some().then(|| {
            let packet = Packet::parse(octets).ok();
            (packet.and_then(|p| p.flow()), packet.and_then(|p| p.tcp_mark()))
        });
        if self.frames.is_some() {
            self.entering.clear();
            self.entering.extend_from_slice(&frame);
        }
        let fate = self.link.handle_packet(arrival, direction, frame, ByteSize(length));
        let way = self.way(direction);
        way.packets += 1;
        way.bytes += length;
        match fate {
            Fate::Delivered { .. } => {}
            Fate::Lost => way.lost += 1,
            Fate::QueueFull => way.queue_full += 1,
        }
        if let Some(frames) = &mut self.frames {
            frames(Frame::new(arrival, direction, Passing::Entered(fate), &self.entering));
        }
        if let (Some(record), Some((flow, tcp))) = (&mut self.record, seen) {
            let length = length as u32;
            record(PacketRecord { at: arrival, direction, index, length, fate, flow, tcp });
        }
    }

    fn deliver(&mut self) {
        let mut now = clock::now();
        while let Some(delivery) = self.link.poll_deliver(now) {
            now = clock::now();
            self.counters.lateness.record(now.since(delivery.due));
            if self.send(delivery.direction, &delivery.packet) {
                let way = self.way(delivery.direction);
                way.delivered += 1;
                way.delivered_bytes += (delivery.packet.len() - OFFLOAD - ETHERNET) as u64;
                if let Some(frames) = &mut self.frames {
                    let (due, direction) = (delivery.due, delivery.direction);
                    frames(Frame::new(due, direction, Passing::Left, &delivery.packet));
                }
            }
            self.recycle(delivery.packet);
        }
    }

    fn send(&mut self, direction: Direction, frame: &[u8]) -> bool {
        let socket = match direction {
            Direction::Up => &self.far,
            Direction::Down => &self.near,
        };
        let sent = socket.send(frame);
        if !sent {
            self.way(direction).unsent += 1;
        }
        sent
    }

    fn way(&mut self, direction: Direction) -> &mut WayCounters {
        match direction {
            Direction::Up => &mut self.counters.up,
            Direction::Down => &mut self.counters.down,
        }
    }

    fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_else(|| Vec::with_capacity(OFFLOAD + ETHERNET + 1500))
    }

    fn recycle(&mut self, mut buffer: Vec<u8>) {
        // A super-packet's buffer would keep 64 kB for a packet of 1500.
        if self.spare.len() < SPARE && buffer.capacity() <= 4096 {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}

/// Where struct virtio_net_hdr (virtio 1.2 §5.1.6) has its gso_type.
const GSO_TYPE: usize = 1;

/// The offload header of a packet whose checksum is left to the receiving kernel.
pub(super) fn partial_checksum(start: usize, offset: usize) -> [u8; OFFLOAD] {
    const NEEDS_CSUM: u8 = 1;
    let mut header = [0; OFFLOAD];
    header[0] = NEEDS_CSUM;
    header[6..8].copy_from_slice(&(start as u16).to_ne_bytes());
    header[8..10].copy_from_slice(&(offset as u16).to_ne_bytes());
    header
}

/// Whether a frame belongs on the link. Multicast (neighbour discovery, listener reports) does not: it
/// comes when the kernel likes, and would shift the index that loss and jitter are drawn by.
fn is_unicast_ip(frame: &[u8]) -> bool {
    const GROUP: u8 = 1;
    let kind = frame.get(OFFLOAD + 12..OFFLOAD + ETHERNET);
    let ip = matches!(kind, Some([0x08, 0x00] | [0x86, 0xdd]));
    ip && frame.len() > OFFLOAD + ETHERNET && frame[OFFLOAD] & GROUP == 0
}
