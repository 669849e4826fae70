//! Packets whose fate an active queue decides after they have entered. The one rule: observers are told of a packet once,
//! when its fate is known, and before it leaves.

use super::{Forwarder, Packet};
use crate::net::frame::{Frame, FrameEvent};
use crate::net::gso_batch::LinkPacket;
use crate::net::headers::HeaderFields;
use link::Decision;
use std::collections::HashMap;
use std::rc::Rc;
use trace::Direction;
use unit::Instant;

/// What observers are to be told of a packet.
pub(super) struct Undecided {
    pub(super) at: Instant,
    pub(super) headers: HeaderFields,
    /// The whole frame, where somebody looks at frames.
    pub(super) frame: Option<Vec<u8>>,
}

/// The packets by their index, each direction apart.
#[derive(Default)]
pub(super) struct UndecidedPackets([HashMap<u64, Undecided>; 2]);

impl UndecidedPackets {
    pub(super) fn keep(&mut self, direction: Direction, index: u64, packet: Undecided) {
        self.0[direction.index()].insert(index, packet);
    }
}

impl Forwarder<'_> {
    /// Takes the link's late decisions.
    pub(super) fn take_decisions(&mut self) {
        while let Some(decision) = self.link.poll_decision() {
            let Decision { direction, index, fate, passage, dropped } = decision;
            self.way(direction).count(fate);
            match dropped {
                Some(LinkPacket::Frame(frame)) => self.buffers.recycle(frame),
                Some(LinkPacket::Segment { batch, .. }) => {
                    if let Ok(batch) = Rc::try_unwrap(batch) {
                        self.buffers.recycle(batch.frame);
                    }
                }
                // The kernel's queue is used where no packet is dropped.
                Some(LinkPacket::Queued { .. }) | None => {}
            }
            let Some(packet) = self.undecided.0[direction.index()].remove(&index) else { continue };
            let Undecided { at, headers, frame } = packet;
            if let (Some(frames), Some(frame)) = (&mut self.frames, &frame) {
                Frame::new(at, direction, FrameEvent::Entered(fate), frame).show_to(frames);
            }
            let passage = Some(passage);
            self.keep_record(Packet { at, direction, index, passage }, fate, headers);
        }
    }
}
