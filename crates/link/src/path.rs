//! One direction: policers, queue, bottleneck, loss, delay, jitter, in this order. The one rule: a packet's fate
//! is known when it arrives, because the queue is first-in, first-out and drops at its tail. Active queues, which
//! decide later, stand before the same bottleneck and have the same loss and delay behind it.

use crate::header::PacketHeader;
use crate::loss::Losses;
use crate::policer::{TokenBucket, Udp};
use crate::service::{Service, Slot};
use crate::spec::{Bottleneck, LinkSpec, Order, Reordering};
use std::collections::VecDeque;
use std::time::Duration;
use trace::{Direction, Fate, Passage};
use unit::{ByteSize, Instant, Seed};

#[derive(Debug, Clone)]
pub(crate) struct Path {
    service: Service,
    /// None where there is no bottleneck to queue at.
    limit: Option<ByteSize>,
    waiting: VecDeque<Waiting>,
    queued: ByteSize,
    losses: Losses,
    policer: Option<TokenBucket>,
    udp: UdpGate,
    delay: Duration,
    jitter: Duration,
    jitters: Seed,
    order: Order,
    overtaken: Seed,
    packets: u64,
    /// How the last packet passed the bottleneck; None where it did not.
    passage: Option<Passage>,
    last_arrival: Instant,
    last_delivery: Instant,
}

/// A packet that has arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) index: u64,
    pub(crate) at: Instant,
    pub(crate) is_lost: bool,
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Outcome {
    Dropped(Fate),
    Due(Instant),
    /// It is due at `at`, but waits until so many later packets have left.
    Held {
        at: Instant,
        packets: u32,
    },
}

#[derive(Debug, Clone)]
enum UdpGate {
    Open,
    Closed,
    Policed(TokenBucket),
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    begin: Instant,
    length: ByteSize,
}

impl Path {
    pub(crate) fn new(link: &LinkSpec, direction: Direction, seed: Seed) -> Self {
        let spec = link.path(direction);
        let seed = seed.child(match direction {
            Direction::Up => "up",
            Direction::Down => "down",
        });
        Self {
            service: match &spec.bottleneck {
                Bottleneck::Unlimited => Service::Unlimited,
                Bottleneck::Rate(rate) => Service::rate(*rate),
                Bottleneck::Trace { schedule, .. } => Service::trace(schedule.clone()),
            },
            limit: link.queue_limit(direction),
            waiting: VecDeque::new(),
            queued: ByteSize::ZERO,
            losses: Losses::new(spec.loss, seed),
            policer: spec.policer.map(TokenBucket::new),
            udp: match spec.udp {
                Udp::Allowed => UdpGate::Open,
                Udp::Policed(policer) => UdpGate::Policed(TokenBucket::new(policer)),
                Udp::Blocked => UdpGate::Closed,
            },
            delay: spec.delay,
            jitter: spec.jitter,
            jitters: seed.child("jitter"),
            order: spec.order,
            overtaken: seed.child("reorder"),
            packets: 0,
            passage: None,
            last_arrival: Instant::ZERO,
            last_delivery: Instant::ZERO,
        }
    }

    /// A packet arrives: its number, its time, and whether it is lost behind the bottleneck, if it comes there.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Instant) -> Arrival {
        let index = self.packets;
        self.packets += 1;
        self.passage = None;
        // Arrival stamps may be out of order by a microsecond where two processors take them.
        self.last_arrival = now.max(self.last_arrival);
        Arrival { index, at: self.last_arrival, is_lost: self.losses.takes(index) }
    }

    /// Why a packet does not even come to the queue.
    #[inline]
    pub(crate) fn refuse(&mut self, at: Instant, header: PacketHeader) -> Option<Fate> {
        if header.is_unmapped {
            return Some(Fate::Blocked);
        }
        if header.is_udp {
            match &mut self.udp {
                UdpGate::Open => {}
                UdpGate::Closed => return Some(Fate::Blocked),
                UdpGate::Policed(bucket) => {
                    if !bucket.passes(at, header.length) {
                        return Some(Fate::Policed);
                    }
                }
            }
        }
        let policer = self.policer.as_mut()?;
        (!policer.passes(at, header.length)).then_some(Fate::Policed)
    }

    /// The way of a packet through a drop-tail queue and what is behind it.
    #[inline]
    pub(crate) fn pass(&mut self, arrival: Arrival, length: ByteSize) -> Outcome {
        match self.pass_bottleneck(arrival.at, length) {
            Some(slot) => {
                self.passage = Some(slot.passage(arrival.at));
                self.leave_bottleneck(arrival, slot.depart)
            }
            None => Outcome::Dropped(Fate::QueueFull),
        }
    }

    /// The way of a packet behind the bottleneck.
    #[inline]
    pub(crate) fn leave_bottleneck(&mut self, arrival: Arrival, depart: Instant) -> Outcome {
        if arrival.is_lost {
            return Outcome::Dropped(Fate::Lost);
        }
        let index = arrival.index;
        let at = depart + self.delay + self.jitter_of(index);
        let Order::Reordered { share, by } = self.order else {
            return Outcome::Due(self.in_order(at));
        };
        let is_held = self.overtaken.fraction(index) < share.fraction();
        match (is_held, by) {
            (false, _) => Outcome::Due(self.in_order(at)),
            (true, Reordering::Time(time)) => Outcome::Due(at.max(self.last_delivery) + time),
            (true, Reordering::Packets(packets)) => {
                Outcome::Held { at: at.max(self.last_delivery), packets }
            }
        }
    }

    /// A trace begins at `now`.
    pub(crate) fn start_trace(&mut self, now: Instant) {
        self.service.start_trace(now);
    }

    /// The queue before the bottleneck is an active one: when it begins to send what waits since `since`.
    pub(crate) fn begin(&mut self, since: Instant) -> Instant {
        self.service.begin(since)
    }

    /// Whether the bottleneck has asked its empty active queue for a packet until `now`.
    pub(crate) fn was_idle(&self, now: Instant) -> bool {
        self.service.was_idle(now)
    }

    /// The bottleneck sends a packet out of an active queue that waits since `since`.
    pub(crate) fn serve(&mut self, since: Instant, length: ByteSize) -> Slot {
        self.service.serve(since, length)
    }

    /// How the packet that arrived last passed the bottleneck. None where it did not, or waits in an active queue.
    pub(crate) fn passage(&self) -> Option<Passage> {
        self.passage
    }

    /// When the policer lets a packet of `length` pass, or `now` where it never does.
    pub(crate) fn policed_until(&self, now: Instant, length: ByteSize) -> Instant {
        let policer = self.policer.as_ref();
        policer.and_then(|policer| policer.ready_at(now, length)).unwrap_or(now)
    }

    pub(crate) fn packets(&self) -> u64 {
        self.packets
    }

    pub(crate) fn queued_at(&mut self, now: Instant) -> ByteSize {
        while let Some(first) = self.waiting.front().filter(|first| first.begin <= now) {
            self.queued = self.queued - first.length;
            self.waiting.pop_front();
        }
        self.queued
    }

    /// The earliest time, `now` or later, at which the queue has space for a packet of `length`.
    pub(crate) fn space_at(&mut self, now: Instant, length: ByteSize) -> Instant {
        let Some(limit) = self.limit else { return now };
        let now = now.max(self.last_arrival);
        let mut queued = self.queued_at(now);
        let idle_at = self.service.begin(now);
        if idle_at <= now || queued + length <= limit {
            return now;
        }
        for waiting in &self.waiting {
            queued = queued - waiting.length;
            if queued + length <= limit {
                return waiting.begin;
            }
        }
        idle_at
    }

    #[inline]
    fn pass_bottleneck(&mut self, arrival: Instant, length: ByteSize) -> Option<Slot> {
        let Some(limit) = self.limit else { return Some(self.service.serve(arrival, length)) };
        let queued = self.queued_at(arrival);
        let waits = self.service.begin(arrival) > arrival;
        if waits && queued + length > limit {
            return None;
        }
        let slot = self.service.serve(arrival, length);
        if waits {
            self.queued += length;
            self.waiting.push_back(Waiting { begin: slot.begin, length });
        }
        Some(slot)
    }

    fn jitter_of(&self, index: u64) -> Duration {
        let span = u128::from(u64::try_from(self.jitter.as_nanos()).unwrap_or(u64::MAX));
        Duration::from_nanos(((u128::from(self.jitters.draw(index)) * (span + 1)) >> 64) as u64)
    }

    fn in_order(&mut self, at: Instant) -> Instant {
        match self.order {
            Order::Free => at,
            Order::Kept | Order::Reordered { .. } => {
                self.last_delivery = self.last_delivery.max(at);
                self.last_delivery
            }
        }
    }
}
