//! Links in series, from near to far: a packet enters the next link at the time it left the one before.

use crate::machine::{Delivery, Link};
use crate::spec::LinkSpec;
use std::collections::VecDeque;
use trace::{Direction, Fate};
use unit::{ByteSize, Instant, Seed};

/// Several links as one.
#[derive(Debug)]
pub struct Chain<P> {
    links: Vec<Link<Sized<P>>>,
    dropped: VecDeque<Dropped>,
}

/// A packet that a link behind the first one dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// When it arrived at that link.
    pub at: Instant,
    /// Which way it went.
    pub direction: Direction,
    /// The link's place in the chain, from near.
    pub link: usize,
    /// Why.
    pub fate: Fate,
}

#[derive(Debug)]
struct Sized<P> {
    packet: P,
    length: ByteSize,
}

impl<P> Chain<P> {
    /// Idle links, `nearest` at near and the others behind it; each draws from a seed of its own.
    pub fn new(nearest: &LinkSpec, others: &[LinkSpec], seed: Seed) -> Self {
        let specs = std::iter::once(nearest).chain(others);
        let links = specs.zip(0..).map(|(spec, place)| Link::new(spec, seed.nth(place))).collect();
        Self { links, dropped: VecDeque::new() }
    }

    /// Takes a packet and returns its fate at the first link. `Delivered` is final only in a chain of one.
    pub fn handle_packet(
        &mut self,
        now: Instant,
        direction: Direction,
        packet: P,
        length: ByteSize,
    ) -> Fate {
        let entry = match direction {
            Direction::Up => 0,
            Direction::Down => self.links.len() - 1,
        };
        self.links[entry].handle_packet(now, direction, Sized { packet, length }, length)
    }

    /// The next packet that leaves the chain by `now`, the earliest first.
    pub fn poll_deliver(&mut self, now: Instant) -> Option<Delivery<P>> {
        loop {
            let (place, due) = self.earliest()?;
            if due > now {
                return None;
            }
            let Delivery { direction, packet: Sized { packet, length }, due } =
                self.links[place].poll_deliver(due)?;
            let Some(next) = self.behind(place, direction) else {
                return Some(Delivery { direction, packet, due });
            };
            let fate =
                self.links[next].handle_packet(due, direction, Sized { packet, length }, length);
            if !matches!(fate, Fate::Delivered { .. }) {
                self.dropped.push_back(Dropped { at: due, direction, link: next, fate });
            }
        }
    }

    /// When the chain next has something to do; it may be to hand a packet from link to link.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.earliest().map(|(_, due)| due)
    }

    /// The next packet that was dropped behind its first link.
    pub fn poll_dropped(&mut self) -> Option<Dropped> {
        self.dropped.pop_front()
    }

    fn earliest(&self) -> Option<(usize, Instant)> {
        let dues = self.links.iter().enumerate();
        dues.filter_map(|(k, link)| Some((k, link.poll_timeout()?))).min_by_key(|&(_, due)| due)
    }

    fn behind(&self, place: usize, direction: Direction) -> Option<usize> {
        match direction {
            Direction::Up => Some(place + 1).filter(|&next| next < self.links.len()),
            Direction::Down => place.checked_sub(1),
        }
    }
}
