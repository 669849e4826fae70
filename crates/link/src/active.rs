//! Active queues: CoDel (RFC 8289) and FQ-CoDel (RFC 8290). The one rule: a packet's fate is decided when it leaves the
//! queue, because what comes behind it and beside it counts too.

use crate::codel::{Action, Codel, CodelState, Head};
use crate::header::PacketHeader;
use crate::path::Arrival;
use std::cmp::Reverse;
use std::collections::VecDeque;
use trace::Fate;
use unit::{ByteSize, Instant, Seed};

/// What decides which packets of a full or slow queue are dropped, and which leave first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Discipline {
    /// First in, first out; what does not fit is dropped.
    #[default]
    DropTail,
    /// One queue, kept short by CoDel.
    Codel(Codel),
    /// A queue for each flow, served in turn, each kept short by CoDel.
    FqCodel(Codel),
}

/// Queues of FQ-CoDel; flows are hashed to them (RFC 8290 §5.2.5).
const FLOWS: usize = 1024;
/// Bytes that a flow may send in its turn. RFC 8290 §5.2.4 has 1,514, an Ethernet frame with its header of 14 bytes, and Linux
/// counts that header in a packet's length. Lengths here are those of IP packets, without it. With 1,514 a packet of
/// 1,500 bytes would leave 14 of the turn, and a second one would go with it.
const QUANTUM: i64 = 1500;
/// The most packets that one overflow drops (RFC 8290 §4.1).
const MOST_DROPPED: usize = 64;

/// A packet in the queue.
#[derive(Debug)]
pub(crate) struct Queued<P> {
    pub(crate) packet: P,
    pub(crate) arrival: Arrival,
    pub(crate) header: PacketHeader,
}

/// A packet that leaves the queue for the bottleneck.
#[derive(Debug)]
pub(crate) struct Leaving<P> {
    pub(crate) queued: Queued<P>,
    pub(crate) is_marked: bool,
}

#[derive(Debug)]
struct Flow<P> {
    packets: VecDeque<Queued<P>>,
    bytes: ByteSize,
    state: CodelState,
    deficit: i64,
    is_listed: bool,
}

#[derive(Debug)]
pub(crate) struct ActiveQueue<P> {
    codel: Codel,
    flows: Vec<Flow<P>>,
    /// Flows that have just begun to send go first (RFC 8290 §4.2).
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    limit: ByteSize,
    bytes: ByteSize,
    packets: usize,
    /// When the queue last ceased to be empty.
    since: Instant,
    hashes: Seed,
    dropped: VecDeque<(Queued<P>, Fate)>,
}

impl<P> ActiveQueue<P> {
    /// None where `discipline` is no active queue.
    pub(crate) fn new(discipline: Discipline, limit: ByteSize, seed: Seed) -> Option<Self> {
        let (codel, flows) = match discipline {
            Discipline::DropTail => return None,
            Discipline::Codel(codel) => (codel, 1),
            Discipline::FqCodel(codel) => (codel, FLOWS),
        };
        Some(Self {
            codel,
            flows: (0..flows).map(|_| Flow::default()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            limit,
            bytes: ByteSize::ZERO,
            packets: 0,
            since: Instant::ZERO,
            hashes: seed.child("flows"),
            dropped: VecDeque::new(),
        })
    }

    pub(crate) fn bytes(&self) -> ByteSize {
        self.bytes
    }

    pub(crate) fn packets(&self) -> usize {
        self.packets
    }

    /// When the queue last ceased to be empty; None while it is.
    pub(crate) fn waits_since(&self) -> Option<Instant> {
        (self.packets > 0).then_some(self.since)
    }

    /// Whether a packet of `length` can be taken and nothing is dropped for it.
    pub(crate) fn has_space(&self, length: ByteSize) -> bool {
        self.packets == 0 || self.bytes + length <= self.limit
    }

    /// Whether a packet that does not fit is taken, and others are dropped for it.
    pub(crate) fn makes_space(&self) -> bool {
        self.flows.len() > 1
    }

    /// The next packet that was dropped, and why.
    pub(crate) fn poll_dropped(&mut self) -> Option<(Queued<P>, Fate)> {
        self.dropped.pop_front()
    }

    /// The bottleneck was idle with nothing in the queue: it has asked for packets and found each flow's queue empty.
    pub(crate) fn forget_flows(&mut self) {
        for flow in self.new.drain(..).chain(self.old.drain(..)) {
            self.flows[flow].is_listed = false;
            self.flows[flow].state.emptied(&self.codel, self.since);
        }
    }

    /// Takes a packet. A queue of several flows makes space by dropping from the longest one.
    pub(crate) fn enqueue(&mut self, queued: Queued<P>) {
        if self.packets == 0 {
            self.since = queued.arrival.at;
        }
        let place = self.place(queued.header.flow);
        let length = queued.header.length;
        self.bytes += length;
        self.packets += 1;
        let flow = &mut self.flows[place];
        flow.bytes += length;
        flow.packets.push_back(queued);
        if !std::mem::replace(&mut flow.is_listed, true) {
            flow.deficit = QUANTUM;
            self.new.push_back(place);
        }
        while self.bytes > self.limit && self.packets > 1 {
            self.drop_from_longest();
        }
    }

    fn place(&self, flow: u64) -> usize {
        match self.flows.len() {
            1 => 0,
            many => (self.hashes.draw(flow) % many as u64) as usize,
        }
    }

    /// RFC 8290 §4.1: half the packets of the longest queue are dropped from its head, 64 at most.
    fn drop_from_longest(&mut self) {
        let longest = self.flows.iter().enumerate().max_by_key(|(_, flow)| {
            // Of equals the one whose head waits longest.
            (flow.bytes.0, flow.packets.front().map(|head| Reverse(head.arrival.index)))
        });
        let Some((place, _)) = longest else { return };
        let count = self.flows[place].packets.len().div_ceil(2).min(MOST_DROPPED);
        for _ in 0..count {
            let taken = self.take(place);
            self.dropped.extend(taken.map(|queued| (queued, Fate::QueueFull)));
        }
    }

    /// Takes the packet at the head of a flow.
    fn take(&mut self, place: usize) -> Option<Queued<P>> {
        let flow = &mut self.flows[place];
        let queued = flow.packets.pop_front()?;
        let length = queued.header.length;
        flow.bytes = flow.bytes - length;
        self.bytes = self.bytes - length;
        self.packets -= 1;
        Some(queued)
    }

    /// The packet that the bottleneck sends at `now`: RFC 8290 §4.2. None where all that waited was dropped.
    pub(crate) fn dequeue(&mut self, now: Instant) -> Option<Leaving<P>> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let place = list.pop_front()?;
            let flow = &mut self.flows[place];
            if flow.deficit <= 0 {
                flow.deficit += QUANTUM;
                self.old.push_back(place);
                continue;
            }
            match self.dequeue_from(place, now) {
                Some(leaving) => {
                    self.flows[place].deficit -= leaving.queued.header.length.0 as i64;
                    let list = if is_new { &mut self.new } else { &mut self.old };
                    list.push_front(place);
                    return Some(leaving);
                }
                // An empty new queue gets one more turn, so that a flow of few packets does not stay new for ever.
                None if is_new => self.old.push_back(place),
                None => self.flows[place].is_listed = false,
            }
        }
    }

    fn dequeue_from(&mut self, place: usize, now: Instant) -> Option<Leaving<P>> {
        loop {
            let Some(queued) = self.take(place) else {
                self.flows[place].state.emptied(&self.codel, now);
                return None;
            };
            let flow = &mut self.flows[place];
            let head = Head {
                sojourn: now.since(queued.arrival.at),
                behind: flow.bytes,
                is_ecn_capable: queued.header.is_ecn_capable,
            };
            match flow.state.decide(&self.codel, now, head) {
                Action::Drop => self.dropped.push_back((queued, Fate::AqmDropped)),
                Action::Pass => return Some(Leaving { queued, is_marked: false }),
                Action::Mark => return Some(Leaving { queued, is_marked: true }),
            }
        }
    }
}

impl<P> Default for Flow<P> {
    fn default() -> Self {
        Self {
            packets: VecDeque::new(),
            bytes: ByteSize::ZERO,
            state: CodelState::default(),
            deficit: 0,
            is_listed: false,
        }
    }
}
