//! Weighted fair queueing: members share what is sent in proportion to their weights, and none is ever
//! more than about one frame ahead of or behind its exact share.
//!
//! The rule is that of EEVDF (Stoica and Abdel-Wahab, 1995; WF²Q of Bennett and Zhang, 1996, decides
//! alike). A member's start is the virtual time up to which it has been served: bytes divided by its
//! weight. The queue's virtual time is the mean of the starts, weighted. Members whose start is not after it
//! have had no more than their share and are eligible; of these the one whose next frame would be due
//! first is served. H2O and nghttp2 serve by due time or start alone, which keeps the long-run shares too
//! but lets one member run ahead of its share by a frame for each of the others.
//!
//! A member that leaves keeps its start: one that had more than its share waits when it comes back, one that had
//! less gets nothing for it. An operation takes logarithmic time, and constant time on the only member.

use super::slots::Slot;
use std::collections::BTreeSet;

/// The members that have something to send.
#[derive(Debug, Default)]
pub(super) struct FairQueue {
    /// Those that may be served: by due time, then by turn.
    eligible: BTreeSet<(u64, u64, Slot)>,
    /// Those that have had more than their share: by start, then by turn.
    waiting: BTreeSet<(u64, u64, Slot)>,
    weights: u64,
    /// The weighted mean of the members' starts, rounded down.
    time: u64,
    /// What rounding left over: the sum of weight × (start − time), from 0 to below `weights`.
    rest: i64,
    turns: u64,
}

impl FairQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.weights == 0
    }

    /// Whom to serve.
    pub(super) fn first(&self) -> Option<Slot> {
        self.eligible.first().map(|&(_, _, slot)| slot)
    }

    /// Adds a member. What it had beyond its share when it left, it waits for now.
    pub(super) fn join(&mut self, slot: Slot, members: &mut Members) {
        let alone = self.is_empty();
        let share = &mut members.shares[slot.index()];
        debug_assert!(!share.is_queued());
        // Where nobody else wants anything there are no debts.
        share.start = if alone { self.time } else { share.start.max(self.time) };
        self.weights += u64::from(share.weight);
        self.rest += i64::from(share.weight) * (share.start - self.time) as i64;
        self.wait(slot, members);
        self.advance(members);
    }

    /// Takes a member out. No effect on one that is in no queue.
    pub(super) fn leave(&mut self, slot: Slot, members: &mut Members) {
        let share = &mut members.shares[slot.index()];
        if !share.is_queued() {
            return;
        }
        self.take_out(slot, share);
        self.weights -= u64::from(share.weight);
        self.rest -= i64::from(share.weight) * share.start.wrapping_sub(self.time) as i64;
        self.advance(members);
    }

    /// A member has sent this many bytes.
    pub(super) fn charge(&mut self, slot: Slot, bytes: usize, members: &mut Members) {
        let share = &mut members.shares[slot.index()];
        let weight = u64::from(share.weight);
        debug_assert!(share.is_queued(), "only a member is served");
        if self.weights == weight {
            return;
        }
        self.take_out(slot, share);
        let service = bytes as u64 * SCALE + u64::from(share.remainder);
        let served = service / weight;
        share.remainder = (service % weight) as u32;
        share.start += served;
        self.rest += (weight * served) as i64;
        self.wait(slot, members);
        self.advance(members);
    }

    fn take_out(&mut self, slot: Slot, share: &mut Share) {
        match std::mem::replace(&mut share.membership, Membership::Out) {
            Membership::Eligible => self.eligible.remove(&(share.due(), share.turn, slot)),
            Membership::Waiting => self.waiting.remove(&(share.start, share.turn, slot)),
            Membership::Out => false,
        };
    }

    fn wait(&mut self, slot: Slot, members: &mut Members) {
        let share = &mut members.shares[slot.index()];
        self.turns += 1;
        (share.membership, share.turn) = (Membership::Waiting, self.turns);
        self.waiting.insert((share.start, share.turn, slot));
    }

    /// Brings the virtual time to the mean of the starts. Who waited for it may be served again.
    fn advance(&mut self, members: &mut Members) {
        if self.weights == 0 {
            return;
        }
        let weights = self.weights as i64;
        self.time = self.time.wrapping_add_signed(self.rest.div_euclid(weights));
        self.rest = self.rest.rem_euclid(weights);
        while let Some(&(start, turn, slot)) = self.waiting.first()
            && start <= self.time
        {
            self.waiting.pop_first();
            let share = &mut members.shares[slot.index()];
            share.membership = Membership::Eligible;
            self.eligible.insert((share.due(), turn, slot));
        }
    }
}

/// The shares of all members of the queues of one policy, by slot. A member is in one queue or in none.
#[derive(Debug, Default)]
pub(super) struct Members {
    shares: Vec<Share>,
}

impl Members {
    /// A new member takes this slot, in no queue yet.
    pub(super) fn insert(&mut self, slot: Slot, weight: u32) {
        let share = Share::new(weight);
        match self.shares.get_mut(slot.index()) {
            Some(place) => *place = share,
            None => self.shares.push(share),
        }
        debug_assert!(slot.index() < self.shares.len());
    }

    /// Gives a member in no queue this weight and forgets what it has had.
    pub(super) fn renew(&mut self, slot: Slot, weight: u32) {
        debug_assert!(!self.is_queued(slot));
        self.shares[slot.index()] = Share::new(weight);
    }

    pub(super) fn weight(&self, slot: Slot) -> u32 {
        self.shares[slot.index()].weight
    }

    pub(super) fn is_queued(&self, slot: Slot) -> bool {
        self.shares[slot.index()].is_queued()
    }
}

/// A member's share and what it has had.
#[derive(Debug, Clone, Copy)]
struct Share {
    /// Relative to the other members': the unit is the caller's.
    weight: u32,
    /// The virtual time of a frame.
    stride: u64,
    /// Virtual time up to which it has been served.
    start: u64,
    /// What the last division left over.
    remainder: u32,
    membership: Membership,
    /// Tells members of the same time apart: the one that has waited longer goes first.
    turn: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Membership {
    /// In no queue.
    Out,
    /// It may be served.
    Eligible,
    /// It has had more than its share.
    Waiting,
}

impl Share {
    fn new(weight: u32) -> Self {
        let weight = weight.max(1);
        let stride = FRAME * SCALE / u64::from(weight);
        Self { weight, stride, start: 0, remainder: 0, membership: Membership::Out, turn: 0 }
    }

    /// When its next frame is due.
    fn due(&self) -> u64 {
        self.start + self.stride
    }

    fn is_queued(&self) -> bool {
        self.membership != Membership::Out
    }
}

/// SETTINGS_MAX_FRAME_SIZE's initial value: what a frame is taken to be when due times are compared.
const FRAME: u64 = 16_384;

/// Virtual time of a byte at a weight of 1.
const SCALE: u64 = 1 << 16;
