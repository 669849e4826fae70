//! Packets that are held back until later ones have passed. The one rule: none is held for longer than
//! [`LONGEST_HOLD`], so that the last packet of a transfer is not held for ever.

use crate::spec::LONGEST_HOLD;
use trace::Passage;
use unit::Instant;

/// A packet that is held back.
#[derive(Debug)]
pub(crate) struct Held<P> {
    /// When it would be due.
    pub(crate) at: Instant,
    pub(crate) index: u64,
    /// How many packets are still to overtake it.
    pub(crate) packets: u32,
    pub(crate) packet: P,
    pub(crate) passage: Passage,
}

/// The packets of one direction that are held back, in the order in which they left the bottleneck. With jitter that is not
/// the order of their times.
#[derive(Debug)]
pub(crate) struct HeldPackets<P>(Vec<Held<P>>);

impl<P> Default for HeldPackets<P> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<P> HeldPackets<P> {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn hold(&mut self, held: Held<P>) {
        self.0.push(held);
    }

    /// When the first of them has been held for long enough.
    pub(crate) fn next_release(&self) -> Option<Instant> {
        self.0.iter().map(|held| held.at + LONGEST_HOLD).min()
    }

    /// Takes the packet that [`Self::next_release`] tells of. Of those of one time it is the one that entered the link first.
    pub(crate) fn take_first(&mut self) -> Option<Held<P>> {
        let held = self.0.iter().enumerate();
        let (place, _) = held.min_by_key(|(_, held)| (held.at, held.index))?;
        Some(self.0.remove(place))
    }

    /// A later packet leaves. Returns those that it was the last to overtake.
    pub(crate) fn overtake(&mut self) -> Vec<Held<P>> {
        self.0.iter_mut().for_each(|held| held.packets -= 1);
        self.0.extract_if(.., |held| held.packets == 0).collect()
    }
}
