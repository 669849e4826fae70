//! A link: two paths and the packets under way on them.

use crate::path::Path;
use crate::spec::LinkSpec;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use trace::{Direction, Fate};
use unit::{ByteSize, Instant, Seed};

/// An emulated link with packets of type `P` under way.
#[derive(Debug)]
pub struct Link<P> {
    paths: [Path; 2],
    under_way: BinaryHeap<UnderWay<P>>,
    accepted: u64,
}

/// A packet that leaves the link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery<P> {
    /// Which way it went.
    pub direction: Direction,
    /// What was handed in.
    pub packet: P,
    /// When the model lets it out. The driver is late by `now` less this.
    pub due: Instant,
}

#[derive(Debug)]
struct UnderWay<P> {
    due: Instant,
    /// Makes packets that are due together leave in the order of their arrival.
    number: u64,
    direction: Direction,
    packet: P,
}

impl<P> Link<P> {
    /// An idle link; all its loss and jitter flow from `seed`.
    pub fn new(spec: &LinkSpec, seed: Seed) -> Self {
        let paths = Direction::BOTH.map(|direction| Path::new(spec, direction, seed));
        Self { paths, under_way: BinaryHeap::new(), accepted: 0 }
    }

    /// Takes a packet of `length` IP bytes that arrived at `now`, and returns its fate, which is final. Packets of one
    /// direction arrive in order; an earlier `now` counts as the latest one.
    pub fn handle_packet(
        &mut self,
        now: Instant,
        direction: Direction,
        packet: P,
        length: ByteSize,
    ) -> Fate {
        let fate = self.paths[direction.index()].handle_packet(now, length);
        if let Fate::Delivered { at } = fate {
            self.under_way.push(UnderWay { due: at, number: self.accepted, direction, packet });
            self.accepted += 1;
        }
        fate
    }

    /// The next packet that is due at `now`, the earliest first.
    pub fn poll_deliver(&mut self, now: Instant) -> Option<Delivery<P>> {
        if self.poll_timeout()? > now {
            return None;
        }
        let UnderWay { direction, packet, due, .. } = self.under_way.pop()?;
        Some(Delivery { direction, packet, due })
    }

    /// When the next packet is due.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.under_way.peek().map(|next| next.due)
    }

    /// How many packets arrived in `direction`, dropped ones included: the next one's index.
    pub fn packets(&self, direction: Direction) -> u64 {
        self.paths[direction.index()].packets()
    }

    /// Bytes that wait for the bottleneck of `direction` at `now`, the packet in service not counted.
    pub fn queued(&mut self, now: Instant, direction: Direction) -> ByteSize {
        self.paths[direction.index()].queued_at(now)
    }

    /// When the queue of `direction` can take a packet of `length`: `now`, or when enough of it has left. Packets that
    /// arrive in between change the answer. For a packet longer than the whole queue: when the bottleneck is idle.
    pub fn space_at(&mut self, now: Instant, direction: Direction, length: ByteSize) -> Instant {
        self.paths[direction.index()].space_at(now, length)
    }

    /// How many packets are in queues or on their way.
    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }
}

impl<P> Ord for UnderWay<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        // Reversed: the heap's greatest is the earliest.
        (other.due, other.number).cmp(&(self.due, self.number))
    }
}

impl<P> PartialOrd for UnderWay<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> PartialEq for UnderWay<P> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<P> Eq for UnderWay<P> {}
