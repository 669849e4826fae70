//! When the bottleneck was busy with a packet, from the link's own stamps. They hold for every kind of bottleneck: a fixed
//! rate, and a trace with its outages. The one rule: all times are on the client's clock. What the client sends passes its
//! bottleneck at once. What it is sent passed the other one a path's delay before it came.

use std::time::Duration;
use trace::{Direction, Fate, PacketRecord};
use unit::Instant;

/// When a packet kept the bottleneck busy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passing {
    /// When it came to the queue.
    pub(super) entered: Instant,
    /// When the bottleneck began to send it.
    pub(super) left_queue: Instant,
    /// When its last bit was sent: to the client, when it could be read.
    pub(super) sent: Instant,
}

/// Moves the stamps of a log to the client's clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClientClock {
    /// From the bottleneck to the client.
    delay: Duration,
}

impl ClientClock {
    /// The path's delay is the least that a packet to the client took; half of `rtt` where none came.
    pub(super) fn of(packets: &[PacketRecord], rtt: Duration) -> Self {
        let delays = packets.iter().filter_map(|packet| match (packet.direction, packet.fate) {
            (Direction::Down, Fate::Delivered { at }) => Some(at.since(packet.passage?.sent)),
            _ => None,
        });
        Self { delay: delays.min().unwrap_or(rtt / 2) }
    }

    /// How the packet passed; None where it did not. The seeded loss is behind the bottleneck: what it takes has passed.
    pub(super) fn passing(self, packet: &PacketRecord) -> Option<Passing> {
        let passage = packet.passage?;
        let shift = match (packet.fate, packet.direction) {
            (Fate::Delivered { .. } | Fate::Lost, Direction::Up) => Duration::ZERO,
            (Fate::Delivered { at }, Direction::Down) => at.since(passage.sent),
            (Fate::Lost, Direction::Down) => self.delay,
            (Fate::QueueFull | Fate::AqmDropped | Fate::Policed | Fate::Blocked, _) => return None,
        };
        Some(Passing {
            entered: passage.entered + shift,
            left_queue: passage.left_queue + shift,
            sent: passage.sent + shift,
        })
    }
}
