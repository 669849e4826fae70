//! A link: two paths and the packets under way on them.

use crate::active::{ActiveQueue, Leaving, Queued};
use crate::departures::{Departures, UnderWay};
use crate::header::PacketHeader;
use crate::held::{Held, HeldPackets};
use crate::path::{Arrival, Outcome, Path};
use crate::spec::{LONGEST_HOLD, LinkSpec};
use std::collections::VecDeque;
use trace::{Direction, Fate, Passage};
use unit::{ByteSize, Instant, Seed};

/// An emulated link with packets of type `P` under way.
#[derive(Debug)]
pub struct Link<P> {
    paths: [Path; 2],
    /// Whether a packet has come, of either direction.
    has_begun: bool,
    under_way: Departures<P>,
    /// None where every fate is decided at arrival.
    late: Option<Box<LateFates<P>>>,
}

/// What a link needs whose packets meet their fate after they arrive.
#[derive(Debug)]
struct LateFates<P> {
    queues: [Option<ActiveQueue<P>>; 2],
    held: [HeldPackets<P>; 2],
    decisions: VecDeque<Decision<P>>,
}

/// A packet that leaves the link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery<P> {
    /// Which way it went.
    pub direction: Direction,
    /// What was handed in.
    pub packet: P,
    /// The queue marked it: the driver sets CE in its IP header (RFC 3168 §5).
    pub is_marked: bool,
    /// When the model lets it out. The driver is late by `now` less this.
    pub due: Instant,
}

/// The fate of a packet that was not decided when it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision<P> {
    /// Which way the packet goes.
    pub direction: Direction,
    /// Its number among the packets of its direction.
    pub index: u64,
    /// Its fate.
    pub fate: Fate,
    /// How it passed the queue and the bottleneck.
    pub passage: Passage,
    /// The packet itself where it was dropped.
    pub dropped: Option<P>,
}

impl<P> Link<P> {
    /// An idle link; all its loss and jitter flow from `seed`.
    pub fn new(spec: &LinkSpec, seed: Seed) -> Self {
        let paths = Direction::BOTH.map(|direction| Path::new(spec, direction, seed));
        let late = LateFates::new(spec, seed);
        Self { paths, has_begun: false, under_way: Departures::new(), late }
    }

    /// Takes a packet that arrived at `now`, and returns its fate, which is final. Packets of one direction arrive in
    /// order; an earlier `now` counts as the latest one. `header` is a bare length of IP bytes where the spec
    /// [does not read headers](LinkSpec::reads_headers).
    ///
    /// None where an active queue decides later, or where the packet is held back until others have passed:
    /// [`Self::poll_decision`] tells then.
    pub fn handle_packet(
        &mut self,
        now: Instant,
        direction: Direction,
        packet: P,
        header: impl Into<PacketHeader>,
    ) -> Option<Fate> {
        let header = header.into();
        self.begin(now);
        if self.late.is_some() {
            return self.handle_late(now, direction, packet, header);
        }
        let path = &mut self.paths[direction.index()];
        let arrival = path.arrive(now);
        let refused = path.refuse(arrival.at, header);
        match refused.map_or_else(|| path.pass(arrival, header.length), Outcome::Dropped) {
            Outcome::Dropped(fate) => Some(fate),
            // No packet of such a link is held.
            Outcome::Due(at) | Outcome::Held { at, .. } => {
                self.push(at, direction, packet, false);
                Some(Fate::Delivered { at })
            }
        }
    }

    /// How the packet that [`Self::handle_packet`] took last in `direction` passed the queue and the bottleneck. None where
    /// it never came to them, and where the link decides later: the [`Decision`] tells then.
    pub fn passage(&self, direction: Direction) -> Option<Passage> {
        self.paths[direction.index()].passage()
    }

    /// The next packet that is due at `now`, the earliest first.
    pub fn poll_deliver(&mut self, now: Instant) -> Option<Delivery<P>> {
        if self.late.is_some() {
            self.run(now);
        }
        let UnderWay { direction, packet, is_marked, due } = self.under_way.take_due(now)?;
        Some(Delivery { direction, packet, is_marked, due })
    }

    /// The next fate that was decided after the packet's arrival.
    pub fn poll_decision(&mut self) -> Option<Decision<P>> {
        self.late.as_mut()?.decisions.pop_front()
    }

    /// When the link next has something to do: a packet is due, or an active queue sends one to the bottleneck.
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        let due = self.under_way.next_due();
        let Some(late) = &mut self.late else { return due };
        let event = late.next(&mut self.paths).map(|(at, ..)| at);
        due.into_iter().chain(event).min()
    }

    /// How many packets arrived in `direction`, dropped ones included: the next one's index.
    pub fn packets(&self, direction: Direction) -> u64 {
        self.paths[direction.index()].packets()
    }

    /// Bytes that wait for the bottleneck of `direction` at `now`, the packet in service not counted.
    pub fn queued(&mut self, now: Instant, direction: Direction) -> ByteSize {
        if self.late.is_some() {
            self.run(now);
        }
        match self.active(direction) {
            Some(queue) => queue.bytes(),
            None => self.paths[direction.index()].queued_at(now),
        }
    }

    /// When the policer and the queue of `direction` can take a packet of `length`: `now`, or when enough of it has left. Packets that
    /// arrive in between change the answer. For a packet longer than the whole queue: when the bottleneck is idle. An
    /// active queue that is full, and an empty policer, tell when to ask again.
    pub fn space_at(&mut self, now: Instant, direction: Direction, length: ByteSize) -> Instant {
        self.begin(now);
        if self.late.is_some() {
            self.run(now);
        }
        let policed = self.paths[direction.index()].policed_until(now, length);
        if policed > now {
            return policed;
        }
        let waits_since = match self.active(direction) {
            None => return self.paths[direction.index()].space_at(now, length),
            Some(queue) if queue.has_space(length) => None,
            Some(queue) => queue.waits_since(),
        };
        waits_since.map_or(now, |since| self.paths[direction.index()].begin(since))
    }

    /// How many packets are in queues or on their way.
    pub fn under_way(&self) -> usize {
        self.under_way.len() + self.late.as_ref().map_or(0, |late| late.waiting())
    }

    /// Starts the traces of both directions with the first packet of either. Traces that were recorded together keep the
    /// fades that they have in common, as in mahimahi's mm-link.
    #[inline]
    fn begin(&mut self, now: Instant) {
        if !self.has_begun {
            self.has_begun = true;
            self.paths.iter_mut().for_each(|path| path.start_trace(now));
        }
    }

    fn push(&mut self, due: Instant, direction: Direction, packet: P, is_marked: bool) {
        self.under_way.add(UnderWay { due, direction, is_marked, packet });
    }

    fn active(&self, direction: Direction) -> Option<&ActiveQueue<P>> {
        self.late.as_ref()?.queues[direction.index()].as_ref()
    }

    fn handle_late(
        &mut self,
        now: Instant,
        direction: Direction,
        packet: P,
        header: PacketHeader,
    ) -> Option<Fate> {
        self.run(now);
        let path = &mut self.paths[direction.index()];
        let arrival = path.arrive(now);
        if let Some(fate) = path.refuse(arrival.at, header) {
            return Some(fate);
        }
        let Some(late) = &mut self.late else { return None };
        let Some(queue) = &mut late.queues[direction.index()] else {
            let outcome = path.pass(arrival, header.length);
            let Some(passage) = path.passage() else { return Some(Fate::QueueFull) };
            let passed = Passed { arrival, packet, passage };
            return self.settle(direction, passed, outcome).0;
        };
        if queue.waits_since().is_none() && path.was_idle(arrival.at) {
            queue.forget_flows();
        }
        if !queue.has_space(header.length) && !queue.makes_space() {
            return Some(Fate::QueueFull);
        }
        queue.enqueue(Queued { packet, arrival, header });
        self.decide_dropped(direction, arrival.at);
        None
    }

    /// Does what active queues and held packets have to do until `now`, in order of time.
    fn run(&mut self, now: Instant) {
        while let Some(late) = &mut self.late
            && let Some((at, direction, event)) = late.next(&mut self.paths)
            && at <= now
        {
            match event {
                LateEvent::Dequeue => self.dequeue(at, direction),
                LateEvent::Release => {
                    if let Some(held) = late.held[direction.index()].take_first() {
                        self.release(direction, held, at);
                    }
                }
            }
        }
    }

    fn dequeue(&mut self, at: Instant, direction: Direction) {
        let Some(late) = &mut self.late else { return };
        let Some(queue) = &mut late.queues[direction.index()] else { return };
        let since = queue.waits_since().unwrap_or(at);
        let leaving = queue.dequeue(at);
        self.decide_dropped(direction, at);
        let Some(Leaving { queued, is_marked }) = leaving else { return };
        let Queued { packet, arrival, header } = queued;
        let path = &mut self.paths[direction.index()];
        let slot = path.serve(since, header.length);
        let outcome = path.leave_bottleneck(arrival, slot.depart);
        let passage = Passage { is_marked, ..slot.passage(arrival.at) };
        let passed = Passed { arrival, packet, passage };
        let (fate, dropped) = self.settle(direction, passed, outcome);
        if let (Some(fate), Some(late)) = (fate, &mut self.late) {
            let index = arrival.index;
            late.decisions.push_back(Decision { direction, index, fate, passage, dropped });
        }
    }

    /// Tells of what an active queue has dropped at `now`.
    fn decide_dropped(&mut self, direction: Direction, now: Instant) {
        let Some(late) = &mut self.late else { return };
        let Some(queue) = &mut late.queues[direction.index()] else { return };
        while let Some((queued, fate)) = queue.poll_dropped() {
            let Arrival { index, at: entered, .. } = queued.arrival;
            let passage = Passage { entered, left_queue: now, sent: now, is_marked: false };
            let dropped = Some(queued.packet);
            late.decisions.push_back(Decision { direction, index, fate, passage, dropped });
        }
    }

    /// What becomes of a packet behind the bottleneck, and the packet where it is lost. No fate where it is held back.
    fn settle(
        &mut self,
        direction: Direction,
        passed: Passed<P>,
        outcome: Outcome,
    ) -> (Option<Fate>, Option<P>) {
        let Passed { arrival, packet, passage } = passed;
        match outcome {
            Outcome::Dropped(fate) => (Some(fate), Some(packet)),
            Outcome::Due(at) => {
                self.push(at, direction, packet, passage.is_marked);
                self.overtake(direction, at);
                (Some(Fate::Delivered { at }), None)
            }
            Outcome::Held { at, packets } => {
                let index = arrival.index;
                let held = Held { at, index, packets, packet, passage };
                if let Some(late) = &mut self.late {
                    late.held[direction.index()].hold(held);
                }
                (None, None)
            }
        }
    }

    /// A packet that leaves at `at` overtakes those that are held back.
    fn overtake(&mut self, direction: Direction, at: Instant) {
        let Some(late) = &mut self.late else { return };
        for held in late.held[direction.index()].overtake() {
            let due = at.clamp(held.at, held.at + LONGEST_HOLD);
            self.release(direction, held, due);
        }
    }

    fn release(&mut self, direction: Direction, held: Held<P>, due: Instant) {
        let Held { index, packet, passage, .. } = held;
        self.push(due, direction, packet, passage.is_marked);
        if let Some(late) = &mut self.late {
            let fate = Fate::Delivered { at: due };
            late.decisions.push_back(Decision { direction, index, fate, passage, dropped: None });
        }
    }
}

/// A packet behind the bottleneck.
struct Passed<P> {
    arrival: Arrival,
    packet: P,
    passage: Passage,
}

/// What happens in a link besides arrivals and deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LateEvent {
    /// An active queue hands a packet to the bottleneck.
    Dequeue,
    /// A packet has been held back for long enough.
    Release,
}

impl<P> LateFates<P> {
    /// None where `spec` needs none.
    fn new(spec: &LinkSpec, seed: Seed) -> Option<Box<Self>> {
        let queues = Direction::BOTH.map(|direction| {
            let limit = spec.queue_limit(direction)?;
            ActiveQueue::new(spec.path(direction).discipline, limit, seed)
        });
        let held = [HeldPackets::default(), HeldPackets::default()];
        spec.decides_late().then(|| Box::new(Self { queues, held, decisions: VecDeque::new() }))
    }

    /// The next event, and when it happens.
    fn next(&self, paths: &mut [Path; 2]) -> Option<(Instant, Direction, LateEvent)> {
        let mut next = None;
        for direction in Direction::BOTH {
            let queue = self.queues[direction.index()].as_ref();
            let since = queue.and_then(ActiveQueue::waits_since);
            let dequeue = since.map(|since| paths[direction.index()].begin(since));
            let release = self.held[direction.index()].next_release();
            let events = [(dequeue, LateEvent::Dequeue), (release, LateEvent::Release)];
            let events = events.into_iter().filter_map(|(at, event)| Some((at?, direction, event)));
            next = next.into_iter().chain(events).min();
        }
        next
    }

    fn waiting(&self) -> usize {
        let queued = self.queues.iter().flatten().map(ActiveQueue::packets).sum::<usize>();
        queued + self.held.iter().map(HeldPackets::len).sum::<usize>()
    }
}
