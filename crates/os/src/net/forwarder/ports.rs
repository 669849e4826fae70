//! How the forwarder gets packets: copied to us and back, or left in a queue of the kernel (nfnetlink_queue). The one
//! rule: only this file knows which of the two it is.

use crate::error::Os;
use crate::net::packet_queue::{PacketQueue, Verdict};
use crate::net::packet_socket::{Batch, PacketSocket};
use crate::net::topology::{Side, Topology};
use crate::net::waiter::Waiter;
use trace::Direction;

pub(super) enum Ports {
    /// They are copied through a socket at each end.
    Copied { near: PacketSocket, far: PacketSocket },
    /// They wait in a queue of the kernel, which holds both directions.
    Queued {
        queue: PacketQueue,
        /// The device of near's end.
        near: u32,
    },
}

impl Ports {
    /// Packets wait in the kernel if `may_queue` says so and the kernel can do it.
    pub(super) fn open(topology: &Topology, may_queue: bool) -> Result<Self, Os> {
        if may_queue && let Ok(queue) = topology.queue_packets() {
            return Ok(Self::Queued { queue, near: topology.device(Side::Near)? });
        }
        let [near, far] = [Side::Near, Side::Far].map(|side| topology.packet_socket(side));
        Ok(Self::Copied { near: near?, far: far? })
    }

    /// Makes `waiter` watch for packets going up, from near, and down.
    pub(super) fn watch(&self, waiter: &Waiter, [up, down]: [u64; 2]) -> Result<(), Os> {
        match self {
            Self::Copied { near, far } => {
                waiter.watch(near.raw(), up)?;
                waiter.watch(far.raw(), down)
            }
            Self::Queued { queue, .. } => waiter.watch(queue.raw(), up),
        }
    }

    /// A buffer for what is received.
    pub(super) fn batch(&self) -> Batch {
        match self {
            Self::Copied { .. } => Batch::new(),
            Self::Queued { .. } => PacketQueue::batch(),
        }
    }

    /// Fills `batch` with the packets of `direction`. A queue gives those of both directions.
    pub(super) fn receive(&self, direction: Direction, batch: &mut Batch) -> usize {
        match (self, direction) {
            (Self::Copied { near, .. }, Direction::Up) => near.receive(batch),
            (Self::Copied { far, .. }, Direction::Down) => far.receive(batch),
            (Self::Queued { queue, .. }, _) => queue.receive(batch),
        }
    }

    /// Sends a copied frame; false where the device refused it.
    pub(super) fn send(&self, direction: Direction, frame: &[u8]) -> bool {
        match (self, direction) {
            (Self::Copied { far, .. }, Direction::Up) => far.send(frame),
            (Self::Copied { near, .. }, Direction::Down) => near.send(frame),
            (Self::Queued { .. }, _) => false,
        }
    }

    /// The direction of a queued packet that arrived on `device`.
    pub(super) fn direction(&self, device: u32) -> Direction {
        match self {
            Self::Queued { near, .. } if *near != device => Direction::Down,
            _ => Direction::Up,
        }
    }

    /// Decides about a queued packet.
    pub(super) fn queue_verdict(&mut self, id: u32, verdict: Verdict) {
        if let Self::Queued { queue, .. } = self {
            queue.queue_verdict(id, verdict);
        }
    }

    /// Tells the kernel what was decided.
    pub(super) fn send_verdicts(&mut self) {
        if let Self::Queued { queue, .. } = self {
            queue.send_verdicts();
        }
    }

    /// What the kernel dropped on the way up and down since the last call. A full queue does not tell the direction of
    /// a dropped packet.
    pub(super) fn take_drops(&mut self) -> [u64; 2] {
        match self {
            Self::Copied { near, far } => [near.take_drops(), far.take_drops()],
            Self::Queued { queue, .. } => [queue.take_drops(), 0],
        }
    }

    pub(super) fn receive_buffer(&self) -> u32 {
        match self {
            Self::Copied { near, far } => near.receive_buffer().min(far.receive_buffer()),
            Self::Queued { queue, .. } => queue.receive_buffer(),
        }
    }
}
