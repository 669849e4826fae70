//! Records the packets of a loopback device: the packet log of two ends without a link between them. The one rule:
//! packets that the kernel could not hand over are counted, so that a log with gaps is known as one. Only headers are
//! copied, unless whole frames are asked for.

use crate::clock;
use crate::error::Os;
use crate::net::counters::{LinkCounters, WayCounters};
use crate::net::forwarder::{Stop, Stopped};
use crate::net::frame::{Frame, FrameEvent, Frames};
use crate::net::headers::{HEADERS, header_fields};
use crate::net::packet_socket::{Batch, ETHERNET, OFFLOAD, PacketSocket};
use crate::net::settings::Settings;
use crate::net::stamp::WallClock;
use crate::net::topology::Topology;
use crate::net::waiter::{Core, Waiter};
use std::collections::BTreeSet;
use std::os::fd::AsRawFd;
use trace::{Direction, Fate, PacketRecord};
use unit::Instant;

/// Records the packets of the loopback device that a topology's two ends share.
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
    /// Records from now on. Each packet's record goes to `record`.
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
            batch: Batch::of(OFFLOAD + ETHERNET + HEADERS),
            wall: WallClock::new(),
            ports,
            counters: LinkCounters::default(),
            missed: 0,
            record,
            frames: None,
        })
    }

    /// Passes each packet to `frames`, whole. It enters and leaves at the same time.
    pub fn with_frames(mut self, frames: Frames<'a>) -> Self {
        self.batch = Batch::new();
        self.frames = Some(frames);
        self
    }

    /// Records until `stop`. It may be called again and resumes where it was.
    pub fn run(&mut self, stop: Stop<'_>) -> Result<Stopped, Os> {
        let fds = stop.readable.iter().map(AsRawFd::as_raw_fd);
        let watched: Result<(), Os> =
            (STOP..).zip(fds.clone()).try_for_each(|(number, fd)| self.waiter.watch(fd, number));
        let stopped = watched.map(|()| self.look(stop.deadline));
        fds.for_each(|fd| self.waiter.forget(fd));
        stopped
    }

    /// What was counted so far. Nothing is ever lost or late here.
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
    pub fn settings(&self) -> Settings {
        let buffer = self.socket.receive_buffer().to_string();
        [("link receive buffer".to_owned(), buffer)].into()
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
                // The packets that arrived before the stop are recorded first.
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
            self.keep_record(at, batch.frame(index));
        }
        self.batch = batch;
        count
    }

    fn keep_record(&mut self, at: Instant, frame: &[u8]) {
        let Some(headers) = frame.get(OFFLOAD + ETHERNET..).and_then(header_fields) else { return };
        let to_far = headers.flow.is_some_and(|flow| self.ports.contains(&flow.destination.port()));
        let direction = if to_far { Direction::Up } else { Direction::Down };
        let way: &mut WayCounters = match direction {
            Direction::Up => &mut self.counters.up,
            Direction::Down => &mut self.counters.down,
        };
        let index = way.packets;
        let fate = Fate::Delivered { at };
        way.packets += 1;
        way.delivered += 1;
        way.bytes += u64::from(headers.length);
        way.delivered_bytes += u64::from(headers.length);
        (self.record)(PacketRecord {
            at,
            direction,
            index,
            length: headers.length,
            fate,
            passage: None,
            flow: headers.flow,
            tcp: headers.tcp,
            udp: headers.udp,
        });
        if let Some(frames) = &mut self.frames {
            Frame::new(at, direction, FrameEvent::Entered(fate), frame).show_to(frames);
            Frame::new(at, direction, FrameEvent::Left, frame).show_to(frames);
        }
    }
}
