//! How the link gets at frames: they are copied to us and back, or the kernel holds them. The one rule: which it is, the
//! rest of the forwarder asks here alone.

use crate::error::Os;
use crate::net::held::{HeldQueue, Verdict};
use crate::net::packet_socket::{Batch, PacketSocket};
use crate::net::topology::{Side, Topology};
use crate::net::waiter::Waiter;
use trace::Direction;

pub(super) enum Ports {
    /// By a socket at each end.
    Copied { near: PacketSocket, far: PacketSocket },
    /// By a queue of what comes from either end.
    Held {
        queue: HeldQueue,
        /// The device of near's end.
        near: u32,
    },
}

impl Ports {
    /// Packets are held where that `may` be and the kernel can.
    pub(super) fn open(topology: &Topology, may_hold: bool) -> Result<Self, Os> {
        if may_hold && let Ok(queue) = topology.hold() {
            return Ok(Self::Held { queue, near: topology.device(Side::Near)? });
        }
        let [near, far] = [Side::Near, Side::Far].map(|side| topology.packet_socket(side));
        Ok(Self::Copied { near: near?, far: far? })
    }

    /// Has `waiter` watch for what comes up, from near, and down.
    pub(super) fn watch(&self, waiter: &Waiter, [up, down]: [u64; 2]) -> Result<(), Os> {
        match self {
            Self::Copied { near, far } => {
                waiter.watch(near.raw(), up)?;
                waiter.watch(far.raw(), down)
            }
            Self::Held { queue, .. } => waiter.watch(queue.raw(), up),
        }
    }

    /// Room for what is received.
    pub(super) fn batch(&self) -> Batch {
        match self {
            Self::Copied { .. } => Batch::new(),
            Self::Held { .. } => HeldQueue::batch(),
        }
    }

    /// Fills `batch` with what there is of `direction`; of either, where packets are held.
    pub(super) fn receive(&self, direction: Direction, batch: &mut Batch) -> usize {
        match (self, direction) {
            (Self::Copied { near, .. }, Direction::Up) => near.receive(batch),
            (Self::Copied { far, .. }, Direction::Down) => far.receive(batch),
            (Self::Held { queue, .. }, _) => queue.receive(batch),
        }
    }

    /// Sends a frame that was copied; false where the device would not have it.
    pub(super) fn send(&self, direction: Direction, frame: &[u8]) -> bool {
        match (self, direction) {
            (Self::Copied { far, .. }, Direction::Up) => far.send(frame),
            (Self::Copied { near, .. }, Direction::Down) => near.send(frame),
            (Self::Held { .. }, _) => false,
        }
    }

    /// Where a packet goes that is held and came by `device`.
    pub(super) fn direction(&self, device: u32) -> Direction {
        match self {
            Self::Held { near, .. } if *near != device => Direction::Down,
            _ => Direction::Up,
        }
    }

    /// Decides about a packet that is held.
    pub(super) fn decide(&mut self, id: u32, verdict: Verdict) {
        if let Self::Held { queue, .. } = self {
            queue.decide(id, verdict);
        }
    }

    /// Tells the kernel what was decided.
    pub(super) fn say(&mut self) {
        if let Self::Held { queue, .. } = self {
            queue.say();
        }
    }

    /// What the kernel dropped on the way up and down since the last call. A queue does not tell which way a packet
    /// was to go that found no room.
    pub(super) fn take_drops(&mut self) -> [u64; 2] {
        match self {
            Self::Copied { near, far } => [near.take_drops(), far.take_drops()],
            Self::Held { queue, .. } => [queue.take_drops(), 0],
        }
    }

    pub(super) fn receive_buffer(&self) -> u32 {
        match self {
            Self::Copied { near, far } => near.receive_buffer().min(far.receive_buffer()),
            Self::Held { queue, .. } => queue.receive_buffer(),
        }
    }
}
