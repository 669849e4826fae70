//! A path between two hosts: a link, and the streams that wait for space in its queues.

use crate::host::HostId;
use crate::nat::Nat;
use crate::packet::{Packet, StreamPart};
use crate::stream::EndId;
use link::{Link, LinkSpec, PathSpec};
use std::collections::{HashMap, VecDeque};
use std::time::Duration;
use trace::{Direction, PacketRecord};
use unit::{Instant, Seed};

/// What lies between two hosts. Up is from the first of them to the second.
#[derive(Debug, Clone, PartialEq)]
pub struct Path(LinkSpec);

impl Path {
    /// A path of this delay each way, and of any rate.
    pub fn delay(one_way: Duration) -> Self {
        let way = PathSpec { delay: one_way, ..PathSpec::default() };
        Self(LinkSpec { up: way.clone(), down: way, ..LinkSpec::default() })
    }

    /// An emulated link.
    pub fn link(spec: LinkSpec) -> Self {
        Self(spec)
    }
}

impl From<LinkSpec> for Path {
    fn from(spec: LinkSpec) -> Self {
        Self(spec)
    }
}

/// A path by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PathId(pub(crate) usize);

/// A path in use.
#[derive(Debug)]
pub(crate) struct Route {
    spec: LinkSpec,
    ends: [HostId; 2],
    pub(crate) link: Link<Packet>,
    pub(crate) queues: [TurnQueue; 2],
    /// What stands before the near host, where the link has a rebinding.
    pub(crate) nat: Option<Nat>,
    /// Whether packets meet their fate after they have entered the link.
    pub(crate) decides_late: bool,
    /// When such a link is looked at next.
    pub(crate) planned: Option<Instant>,
    /// The packets that have not met it yet.
    pub(crate) undecided: HashMap<(Direction, u64), Undecided>,
}

/// A packet in an active queue.
#[derive(Debug)]
pub(crate) struct Undecided {
    pub(crate) record: PacketRecord,
    /// How often the link has lost it.
    pub(crate) losses: u32,
}

/// The streams that wait to put packets on one direction of a path. They take turns, one packet each.
#[derive(Debug, Default)]
pub(crate) struct TurnQueue {
    pub(crate) waiting: VecDeque<Waiting>,
    pub(crate) is_turn_planned: bool,
}

#[derive(Debug)]
pub(crate) enum Waiting {
    /// Whatever this end has to send.
    Stream(EndId),
    /// One packet of this end, which the link has lost so many times.
    Packet { from: EndId, part: StreamPart, losses: u32 },
}

impl Route {
    pub(crate) fn new(near: HostId, far: HostId, path: Path, seed: Seed) -> Self {
        Self {
            link: Link::new(&path.0, seed),
            nat: path.0.rebind.map(Nat::rebinding),
            decides_late: path.0.decides_late(),
            planned: None,
            undecided: HashMap::new(),
            spec: path.0,
            ends: [near, far],
            queues: Default::default(),
        }
    }

    /// The host at its near end.
    pub(crate) fn near(&self) -> HostId {
        self.ends[0]
    }

    /// Whether it joins these hosts.
    pub(crate) fn joins(&self, one: HostId, other: HostId) -> bool {
        self.ends == [one, other] || self.ends == [other, one]
    }

    /// The direction of what `sender` sends.
    pub(crate) fn direction_from(&self, sender: HostId) -> Direction {
        if sender == self.ends[0] { Direction::Up } else { Direction::Down }
    }

    pub(crate) fn one_way(&self, direction: Direction) -> Duration {
        self.spec.path(direction).delay
    }
}
