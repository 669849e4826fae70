//! One direction: queue, bottleneck, loss, delay, jitter, in this order. The one rule: a packet's fate
//! is known when it arrives, because the queue is first-in, first-out and drops at its tail.

use crate::service::{Service, Slot};
use crate::spec::{Bottleneck, LinkSpec, Order};
use std::collections::VecDeque;
use std::time::Duration;
use trace::{Direction, Fate};
use unit::{ByteSize, Instant, Probability, Seed};

#[derive(Debug, Clone)]
pub(crate) struct Path {
    service: Service,
    /// None where there is no bottleneck to queue at.
    limit: Option<ByteSize>,
    waiting: VecDeque<Waiting>,
    queued: ByteSize,
    loss: Probability,
    losses: Seed,
    delay: Duration,
    jitter: Duration,
    jitters: Seed,
    order: Order,
    packets: u64,
    last_arrival: Instant,
    last_delivery: Instant,
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
            loss: spec.loss,
            losses: seed.child("loss"),
            delay: spec.delay,
            jitter: spec.jitter,
            jitters: seed.child("jitter"),
            order: spec.order,
            packets: 0,
            last_arrival: Instant::ZERO,
            last_delivery: Instant::ZERO,
        }
    }

    pub(crate) fn handle_packet(&mut self, now: Instant, length: ByteSize) -> Fate {
        let index = self.packets;
        self.packets += 1;
        // Arrival stamps of one batch may be out of order by some nanoseconds.
        let arrival = now.max(self.last_arrival);
        self.last_arrival = arrival;
        let Some(slot) = self.pass_bottleneck(arrival, length) else { return Fate::QueueFull };
        if self.losses.fraction(index) < self.loss.fraction() {
            return Fate::Lost;
        }
        let at = slot.depart + self.delay + self.jitter_of(index);
        Fate::Delivered { at: self.in_order(at) }
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
            Order::Kept => {
                self.last_delivery = self.last_delivery.max(at);
                self.last_delivery
            }
        }
    }
}
