//! Links in series, from near to far: a packet enters the next link at the time it left the one before.

use crate::header::PacketHeader;
use crate::machine::{Decision, Delivery, Link};
use crate::spec::LinkSpec;
use std::collections::VecDeque;
use trace::{Direction, Fate};
use unit::{Instant, Seed};

/// Several links as one.
#[derive(Debug)]
pub struct Chain<P> {
    links: Vec<Link<Sized<P>>>,
    dropped: VecDeque<Dropped>,
}

/// A packet that was dropped after its first link had taken it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// When it arrived at that link, or left its active queue.
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
    header: PacketHeader,
    is_marked: bool,
}

impl<P> Chain<P> {
    /// Idle links, `nearest` at near and the others behind it; each draws from a seed of its own.
    pub fn new(nearest: &LinkSpec, others: &[LinkSpec], seed: Seed) -> Self {
        let specs = std::iter::once(nearest).chain(others);
        let links = specs.zip(0..).map(|(spec, place)| Link::new(spec, seed.nth(place))).collect();
        Self { links, dropped: VecDeque::new() }
    }

    /// Takes a packet and returns its fate at the first link, where that is decided at once. `Delivered` is final only in a
    /// chain of one.
    pub fn handle_packet(
        &mut self,
        now: Instant,
        direction: Direction,
        packet: P,
        header: impl Into<PacketHeader>,
    ) -> Option<Fate> {
        let entry = match direction {
            Direction::Up => 0,
            Direction::Down => self.links.len() - 1,
        };
        let header = header.into();
        let packet = Sized { packet, header, is_marked: false };
        self.links[entry].handle_packet(now, direction, packet, header)
    }

    /// The next packet that leaves the chain by `now`, the earliest first.
    pub fn poll_deliver(&mut self, now: Instant) -> Option<Delivery<P>> {
        loop {
            let (place, due) = self.earliest()?;
            if due > now {
                return None;
            }
            let delivery = self.links[place].poll_deliver(due);
            self.note_drops(place, due);
            let Some(Delivery { direction, packet: mut passed, is_marked, due }) = delivery else {
                continue;
            };
            passed.is_marked |= is_marked;
            let Some(next) = self.behind(place, direction) else {
                let Sized { packet, is_marked, .. } = passed;
                return Some(Delivery { direction, packet, is_marked, due });
            };
            let header = passed.header;
            let fate = self.links[next].handle_packet(due, direction, passed, header);
            if let Some(fate) = fate
                && !matches!(fate, Fate::Delivered { .. })
            {
                self.dropped.push_back(Dropped { at: due, direction, link: next, fate });
            }
        }
    }

    /// Notes what an active queue has dropped.
    fn note_drops(&mut self, link: usize, at: Instant) {
        while let Some(Decision { direction, fate, .. }) = self.links[link].poll_decision() {
            if !matches!(fate, Fate::Delivered { .. }) {
                self.dropped.push_back(Dropped { at, direction, link, fate });
            }
        }
    }

    /// When the chain next has something to do; it may be to hand a packet from link to link.
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        self.earliest().map(|(_, due)| due)
    }

    /// The next packet that was dropped after its first link had taken it.
    pub fn poll_dropped(&mut self) -> Option<Dropped> {
        self.dropped.pop_front()
    }

    fn earliest(&mut self) -> Option<(usize, Instant)> {
        let dues = self.links.iter_mut().enumerate();
        dues.filter_map(|(k, link)| Some((k, link.poll_timeout()?))).min_by_key(|&(_, due)| due)
    }

    fn behind(&self, place: usize, direction: Direction) -> Option<usize> {
        match direction {
            Direction::Up => Some(place + 1).filter(|&next| next < self.links.len()),
            Direction::Down => place.checked_sub(1),
        }
    }
}
