//! The loop that carries frames between the two ends as the link says. The one rule: a packet's time is its arrival
//! stamp, not the time at which we read it. So our own lateness never adds up.

use crate::clock;
use crate::error::Os;
use crate::net::counters::{LinkCounters, WayCounters};
use crate::net::frame::{Frame, FrameEvent, Frames};
use crate::net::gso_batch::{GsoBatch, GsoLayout, LinkPacket};
use crate::net::headers::{HeaderFields, packet_header};
use crate::net::packet_socket::{Batch, ETHERNET, OFFLOAD};
use crate::net::settings::Settings;
use crate::net::stamp::WallClock;
use crate::net::topology::{NEARBY, Topology};
use crate::net::waiter::{Core, Waiter};
use link::{Link, LinkSpec, PacketHeader};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::rc::Rc;
use std::time::Duration;
use trace::{Direction, Fate, PacketRecord, Passage};
use unit::{ByteSize, Instant, Seed};

mod buffers;
mod delivery;
mod ports;
mod queued;
mod rebind;
mod split;
mod undecided;

use buffers::FrameBuffers;
use ports::Ports;
use rebind::{Mapped, Rebind};
use split::{FarHalf, Source};
use undecided::{Undecided, UndecidedPackets};

/// What a forwarder is to do.
#[derive(Debug, Clone)]
pub struct ForwardSpec {
    /// The link.
    pub link: LinkSpec,
    /// All its randomness.
    pub seed: Seed,
    /// What becomes of super-packets.
    pub segmentation: Segmentation,
    /// Whose the core is that the link runs on.
    pub core: Core,
}

/// How to handle the super-packets that kernels hand to devices with segmentation offload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Segmentation {
    /// They are split into the packets that a wire would carry, each of which the link treats alone.
    #[default]
    Split,
    /// They pass whole where the link does nothing but delay, which costs less. Otherwise they are split. Where the
    /// link's delay is short too, they wait in a queue of the kernel (nfnetlink_queue) and are not copied.
    KeepWhereUnlimited,
    /// The same, but always copied to us and back. A kernel without such a queue has no other way.
    CopyWhereUnlimited,
}

impl Segmentation {
    /// Whether super-packets pass `link` whole.
    fn keeps_whole(self, link: &LinkSpec) -> bool {
        link.only_delays() && self != Self::Split
    }

    /// Whether packets of `link` may wait in the kernel's queue instead of being copied to us. On a link with a long
    /// delay they are copied: the TCP windows limit the rate there anyway, and copied packets leave closer to their
    /// time.
    pub(crate) fn may_queue(self, link: &LinkSpec) -> bool {
        self.keeps_whole(link) && self == Self::KeepWhereUnlimited && link.rtt() < NEARBY
    }
}

/// Who looks on.
#[derive(Default)]
pub struct Observers<'a> {
    /// Receives each packet's record as the packet enters the link.
    pub records: Option<&'a mut dyn FnMut(PacketRecord)>,
    /// Receives each packet as it enters the link and as it leaves.
    pub frames: Option<Frames<'a>>,
}

/// When a run ends.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stop<'a> {
    /// Stops when one of these is readable: a pidfd, an eventfd.
    pub readable: &'a [BorrowedFd<'a>],
    /// At this time.
    pub deadline: Option<Instant>,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// This one of the descriptors became readable.
    Readable(usize),
    /// The deadline came.
    Deadline,
}

/// Carries frames between near and far.
pub struct Forwarder<'a> {
    /// The link; with a TCP proxy the part between near and the proxy.
    link: Link<LinkPacket>,
    /// The part behind a TCP proxy.
    far_half: Option<FarHalf>,
    keep_whole: bool,
    /// Whether the link decides by more than lengths.
    reads_headers: bool,
    /// Near's NAT, where its ports change.
    rebind: Option<Rebind>,
    /// Observed packets whose fate the link decides later.
    undecided: UndecidedPackets,
    ports: Ports,
    waiter: Waiter,
    received: Batch,
    buffers: FrameBuffers,
    wall: WallClock,
    counters: LinkCounters,
    record: Option<&'a mut dyn FnMut(PacketRecord)>,
    frames: Option<Frames<'a>>,
    /// Whether the kernel takes several datagrams as one super-packet.
    merges_udp: bool,
    /// A segment as a real wire would carry it, for observers and receivers.
    segment: Vec<u8>,
}

/// How long [`Forwarder::settle`] reads frames that wait at the devices. They are there already.
const READ: Duration = Duration::from_millis(1);

/// The tokens before it are those of [`Source`].
const STOP: u64 = Source::ALL.len() as u64;

impl<'a> Forwarder<'a> {
    /// Opens the link's two devices; frames wait from now on. They are copied to us where an observer needs whole
    /// frames.
    pub fn new(
        topology: &Topology,
        spec: &ForwardSpec,
        observers: Observers<'a>,
    ) -> Result<Self, Os> {
        let keep_whole = spec.segmentation.keeps_whole(&spec.link);
        if !keep_whole {
            topology.carry_segments()?;
        }
        let may_queue = spec.segmentation.may_queue(&spec.link) && observers.frames.is_none();
        let ports = Ports::open(topology, may_queue)?;
        let waiter = Waiter::new(spec.core)?;
        ports.watch(&waiter, [Source::Near.token(), Source::Far.token()])?;
        let far_half = FarHalf::open(topology, spec, &waiter)?;
        let near_half = spec.link.halves().map(|[near, _]| near);
        Ok(Self {
            link: Link::new(near_half.as_ref().unwrap_or(&spec.link), spec.seed),
            far_half,
            keep_whole,
            reads_headers: spec.link.reads_headers(),
            rebind: spec.link.rebind.map(Rebind::after),
            undecided: UndecidedPackets::default(),
            received: ports.batch(),
            ports,
            waiter,
            buffers: FrameBuffers::default(),
            wall: WallClock::new(),
            counters: LinkCounters::default(),
            record: observers.records,
            frames: observers.frames,
            merges_udp: true,
            segment: Vec::new(),
        })
    }

    /// How the forwarder gets packets, and the receive buffer that the kernel granted for them.
    pub fn settings(&self) -> Settings {
        let packets = if self.queues_packets() { "held by the kernel" } else { "copied" };
        let buffer = self.ports.receive_buffer().to_string();
        let pairs = [("link packets", packets.to_owned()), ("link receive buffer", buffer)];
        pairs.map(|(name, value)| (name.to_owned(), value)).into()
    }

    fn queues_packets(&self) -> bool {
        matches!(self.ports, Ports::Queued { .. })
    }

    /// Carries frames until `stop`. It may be called again and resumes where it was.
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
        let [up, down] = self.ports.take_drops();
        self.counters.up.missed += up;
        self.counters.down.missed += down;
        let [up, down] = self.far_half.as_ref().map_or([0; 2], FarHalf::take_drops);
        self.counters.up.missed += up;
        self.counters.down.missed += down;
        self.counters.clock_steps = self.wall.steps();
        self.counters.under_way = self.under_way() as u64;
        self.counters.clone()
    }

    /// How many packets are in queues or on their way, in either direction.
    pub(crate) fn under_way(&self) -> usize {
        self.link.under_way() + self.far_half.as_ref().map_or(0, FarHalf::under_way)
    }

    /// A number that grows with every packet that enters or leaves the link.
    pub(crate) fn progress(&self) -> u64 {
        [self.counters.up, self.counters.down].iter().map(|way| way.packets + way.delivered).sum()
    }

    /// Carries frames until all that near has sent has left the link, but not beyond `deadline`.
    pub fn settle(&mut self, deadline: Instant) {
        self.carry(Some(deadline.min(clock::now() + READ)));
        while self.carries_up() && clock::now() < deadline {
            let due = self.next_due().map_or(deadline, |due| due.min(deadline));
            self.carry(Some(due));
        }
    }

    /// Whether a packet is on its way to far.
    fn carries_up(&self) -> bool {
        self.counters.up.under_way() > 0
            || self.far_half.as_ref().is_some_and(|half| half.under_way() > 0)
    }

    /// When the next packet leaves the link, or an active queue has something to do.
    fn next_due(&mut self) -> Option<Instant> {
        let far_half = self.far_half.as_mut().and_then(FarHalf::poll_timeout);
        self.link.poll_timeout().into_iter().chain(far_half).min()
    }

    fn carry(&mut self, deadline: Option<Instant>) -> Stopped {
        loop {
            self.deliver_due();
            if deadline.is_some_and(|deadline| deadline <= clock::now()) {
                return Stopped::Deadline;
            }
            let next = self.next_due().into_iter().chain(deadline).min();
            let ready = self.waiter.wait(next);
            let mut stopped = None;
            for token in ready.tokens() {
                match Source::of_token(token) {
                    Some(source) => self.read(source),
                    None => stopped = Some(Stopped::Readable((token - STOP) as usize)),
                }
            }
            if let Some(stopped) = stopped {
                return stopped;
            }
        }
    }

    fn read(&mut self, source: Source) {
        let direction = source.direction();
        let count = match (source, &self.far_half) {
            (Source::Near | Source::Far, _) => self.ports.receive(direction, &mut self.received),
            (_, Some(half)) => half.receive(source, &mut self.received),
            (_, None) => return,
        };
        self.wall.observe();
        let now = clock::now();
        // Taken out of `self`, so that its frames can be borrowed while the link is changed.
        let received = std::mem::replace(&mut self.received, Batch::none());
        for index in 0..count {
            if self.queues_packets() {
                self.handle_queued(now, received.frame(index));
            } else {
                let arrival = self.wall.arrival(received.stamp(index), now);
                self.handle_arrival(arrival, source, received.frame(index));
            }
            // A long batch must not delay packets that are due. Queued packets are released below, in one call.
            if !self.queues_packets() {
                self.deliver_due();
            }
        }
        self.received = received;
    }

    fn handle_frame(&mut self, arrival: Instant, direction: Direction, frame: &[u8]) {
        if !is_unicast_ip(&frame[OFFLOAD..]) {
            self.way(direction).beside += 1;
            if !self.ports.send(direction, frame) {
                self.way(direction).unsent += 1;
            }
            return;
        }
        if let Some(mut rebind) = self.rebind.take() {
            let mut copy = frame.to_vec();
            let is_mapped = rebind.translate(arrival, direction, &mut copy);
            self.rebind = Some(rebind);
            return self.handle_ip(arrival, direction, &copy, is_mapped);
        }
        self.handle_ip(arrival, direction, frame, Mapped::Yes);
    }

    fn handle_ip(&mut self, arrival: Instant, direction: Direction, frame: &[u8], mapped: Mapped) {
        let ip = &frame[OFFLOAD + ETHERNET..];
        let header = match self.reads_headers {
            true => PacketHeader { is_unmapped: mapped == Mapped::No, ..packet_header(ip) },
            false => ByteSize(ip.len() as u64).into(),
        };
        if !self.keep_whole
            && let Some(layout) = GsoLayout::of(frame)
        {
            let batch = GsoBatch { layout, frame: self.buffers.copy(frame) };
            self.enter_batch(arrival, direction, batch, header);
            return;
        }
        let copy = self.buffers.copy(frame);
        let fate = self.enter(arrival, direction, LinkPacket::Frame(copy), header);
        self.tell(arrival, direction, fate, frame);
    }

    /// Each segment of a super-packet enters the link by itself. It is cut out when it leaves.
    fn enter_batch(
        &mut self,
        arrival: Instant,
        direction: Direction,
        batch: GsoBatch,
        header: PacketHeader,
    ) {
        let batch = Rc::new(batch);
        let is_told = self.record.is_some() || self.frames.is_some();
        for index in 0..batch.layout.count {
            let parcel = LinkPacket::Segment { batch: Rc::clone(&batch), index };
            let header = PacketHeader { length: ByteSize(batch.length(index) as u64), ..header };
            let fate = self.enter(arrival, direction, parcel, header);
            if is_told {
                let mut segment = std::mem::take(&mut self.segment);
                batch.write(index..index + 1, &mut segment);
                self.tell(arrival, direction, fate, &segment);
                self.segment = segment;
            }
        }
    }

    fn enter(
        &mut self,
        arrival: Instant,
        direction: Direction,
        parcel: LinkPacket,
        header: PacketHeader,
    ) -> Option<Fate> {
        let fate = self.link.handle_packet(arrival, direction, parcel, header);
        let way = self.way(direction);
        way.packets += 1;
        way.bytes += header.length.0;
        if let Some(fate) = fate {
            way.count(fate);
        }
        fate
    }

    /// Notifies the observers of a packet that has just entered, or remembers to do it when its fate is decided.
    fn tell(&mut self, at: Instant, direction: Direction, fate: Option<Fate>, frame: &[u8]) {
        if self.record.is_none() && self.frames.is_none() {
            return;
        }
        let index = self.link.packets(direction) - 1;
        let Some(fate) = fate else {
            let headers = HeaderFields::whole(&frame[OFFLOAD + ETHERNET..]);
            let frame = self.frames.is_some().then(|| frame.to_vec());
            return self.undecided.keep(direction, index, Undecided { at, headers, frame });
        };
        if let Some(frames) = &mut self.frames {
            Frame::new(at, direction, FrameEvent::Entered(fate), frame).show_to(frames);
        }
        let headers = HeaderFields::whole(&frame[OFFLOAD + ETHERNET..]);
        let passage = self.link.passage(direction);
        self.keep_record(Packet { at, direction, index, passage }, fate, headers);
    }

    fn keep_record(&mut self, packet: Packet, fate: Fate, headers: HeaderFields) {
        let Packet { at, direction, index, passage } = packet;
        let HeaderFields { length, flow, tcp, udp } = headers;
        let (at, fate) = match &self.far_half {
            Some(half) if tcp.is_none() => half.times_of_whole_path(direction, at, fate),
            _ => (at, fate),
        };
        if let Some(record) = &mut self.record {
            record(PacketRecord { at, direction, index, length, fate, passage, flow, tcp, udp });
        }
    }

    /// Sends what leaves the link at `due`; false where the device refused it.
    fn send(&mut self, due: Instant, direction: Direction, frame: &[u8]) -> bool {
        match (&mut self.far_half, direction) {
            (Some(half), Direction::Up) => half.take_from_near_half(due, frame),
            _ => self.ports.send(direction, frame),
        }
    }

    fn way(&mut self, direction: Direction) -> &mut WayCounters {
        match direction {
            Direction::Up => &mut self.counters.up,
            Direction::Down => &mut self.counters.down,
        }
    }
}

/// A packet of the log.
#[derive(Debug, Clone, Copy)]
struct Packet {
    at: Instant,
    direction: Direction,
    index: u64,
    passage: Option<Passage>,
}

/// Whether a frame belongs on the link. Multicast (neighbour discovery, listener reports) does not: the kernel sends it
/// at times of its own, which would shift the packet index from which loss and jitter are drawn.
fn is_unicast_ip(frame: &[u8]) -> bool {
    const GROUP: u8 = 1;
    let kind = frame.get(12..ETHERNET);
    let ip = matches!(kind, Some([0x08, 0x00] | [0x86, 0xdd]));
    ip && frame[0] & GROUP == 0
}
