//! Why the far side did not send a packet sooner, from the link's log alone. Each packet with payload that came to the
//! client ends a wait. What the link saw just before the packet entered tells the cause:
//!
//! - The packet repeats bytes, or bytes dropped before it were still missing: loss recovery.
//! - An acknowledgement of new bytes came just before: the sender's window was full, and the acknowledgement opened it
//!   (RFC 5681 §3.1). Or bytes of the client came just before (a request, HTTP/2's WINDOW_UPDATE): the sender waited
//!   for those.
//! - It came later than that, and the sender's last segment was a full one. A sender that runs out of bytes ends with
//!   a partial segment, so the window was full until the acknowledgement came. The rest of the wait is the server's
//!   own time.
//! - It came soon after a full segment: a paced sender spreads its window over the round trip.
//! - Otherwise: the server's own time.
//!
//! QUIC shows neither sequence numbers nor acknowledgements. Any packet from the client may be an acknowledgement. What is
//! sent within two round trips of a drop counts as its recovery. So does what a sender sends next whose last packet was
//! dropped and that heard nothing new since: its probe time-out (RFC 9002 §6.2) can be longer.

#[cfg(test)]
mod tests;

use super::LinkFacts;
use std::collections::HashMap;
use std::time::Duration;
use trace::{Direction, Fate, Flow, PacketRecord, TcpMark};
use unit::{ByteSize, Instant};

/// How soon a packet follows the acknowledgement that allowed it. A kernel reacts at once, but a busy machine forwards
/// the packet some milliseconds late.
const AT_ONCE: Duration = Duration::from_millis(5);

/// Bytes that a full datagram of QUIC may lack.
const SPARE_IN_DATAGRAM: u32 = 64;

/// No path's full segment is smaller (RFC 9293 §3.7.1).
pub(super) const LEAST_FULL: u32 = 536;

/// A paced sender spreads a window of ten packets or more over the round trip (RFC 9002 §7.7): two full packets of it are
/// not further apart than this share.
const PACED: u32 = 8;

/// The cause of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// An acknowledgement or flow-control credit from the client.
    Window,
    /// Retransmission of dropped bytes.
    Loss,
    /// The server's own time.
    Server,
}

/// A packet with payload that came to the client.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) flow: Flow,
    /// When its first bit left the bottleneck, plus half a round trip.
    pub(super) starts: u64,
    /// When the client could read it.
    pub(super) came: u64,
    /// The cause of the wait until `until`. From then on it was the server.
    cause: Cause,
    until: u64,
}

impl Arrival {
    /// The causes of an idle stretch that this arrival ended.
    pub(super) fn causes(&self, from: u64, to: u64) -> [(Cause, u64); 2] {
        let split = self.until.clamp(from, to);
        [(self.cause, split - from), (Cause::Server, to - split)]
    }
}

/// Every packet with payload, in the order of arrival; empty where the link has no rate.
pub(super) fn arrivals(packets: &[PacketRecord], link: &LinkFacts) -> Vec<Arrival> {
    let Some(rate) = link.down else { return Vec::new() };
    let mut moments: Vec<(Instant, &PacketRecord)> = Vec::new();
    for packet in packets {
        match (packet.direction, packet.fate) {
            // What the sender receives.
            (Direction::Up, Fate::Delivered { at }) => moments.push((at, packet)),
            _ => moments.push((packet.at, packet)),
        }
    }
    // At one time, what was received comes before what it caused.
    moments.sort_by_key(|(at, packet)| (*at, packet.direction));
    let full = packets.iter().map(payload).max().unwrap_or(0).max(LEAST_FULL);
    let at_once = AT_ONCE.min(link.rtt / 4);
    let mut senders: HashMap<Flow, Sender> = HashMap::new();
    let mut arrivals = Vec::new();
    for (at, packet) in moments {
        let Some(flow) = packet.flow else { continue };
        if packet.direction == Direction::Up {
            senders.entry(reversed(flow)).or_default().hears(at, packet);
        } else if payload(packet) > 0 {
            let sender = senders.entry(flow).or_default();
            let (cause, until) = sender.waited_for(packet, at_once, link.rtt);
            sender.sends(packet, full);
            if let Fate::Delivered { at: came } = packet.fate {
                let span = rate.time_for(ByteSize(u64::from(packet.length)));
                let starts = (came - span).nanos();
                // From the sender's end of the path to the client's.
                let until = until
                    .map_or(0, |until| starts.saturating_sub(at.since(until).as_nanos() as u64));
                arrivals.push(Arrival { flow, starts, came: came.nanos(), cause, until });
            }
        }
    }
    arrivals.sort_by_key(|arrival| arrival.came);
    arrivals
}

/// The sender of a flow, as the link's log shows it.
#[derive(Default)]
struct Sender {
    /// The end of what was sent, in sequence numbers.
    end: Option<u32>,
    /// When it last sent, and whether that was a full segment.
    sent: Option<(Instant, bool)>,
    acknowledged: Option<u32>,
    /// When the client last sent something that allows the sender to go on, and whether it was a bare acknowledgement.
    window_opened: Option<(Instant, bool)>,
    /// Dropped ranges that have not been delivered since.
    missing: Vec<(u32, u32)>,
    /// When a packet was last dropped whose retransmission cannot be recognised, in either direction.
    dropped: Option<Instant>,
}

impl Sender {
    fn hears(&mut self, at: Instant, packet: &PacketRecord) {
        if !matches!(packet.fate, Fate::Delivered { .. }) {
            if payload(packet) > 0 {
                self.dropped = Some(at);
            }
            return;
        }
        let news = packet.tcp.is_none_or(|tcp| {
            // RFC 9293 §3.1: without the flag, as in a SYN, the field says nothing.
            const ACK: u8 = 0x10;
            let ahead = |before| is_before(before, tcp.acknowledgement);
            let newer = tcp.flags & ACK != 0 && self.acknowledged.is_none_or(ahead);
            if newer {
                self.acknowledged = Some(tcp.acknowledgement);
            }
            newer || tcp.payload > 0
        });
        if news {
            let is_bare = packet.tcp.is_none_or(|tcp| tcp.payload == 0);
            self.window_opened = Some((at, is_bare));
        }
    }

    /// The cause of the wait before `packet`, and when that cause ended; None where it lasted until the packet was
    /// sent.
    fn waited_for(
        &self,
        packet: &PacketRecord,
        at_once: Duration,
        rtt: Duration,
    ) -> (Cause, Option<Instant>) {
        let is_repeated =
            packet.tcp.is_some_and(|tcp| self.end.is_some_and(|end| is_before(tcp.sequence, end)));
        let recovers = self.dropped.is_some_and(|dropped| {
            // A client's retransmission comes after its own time-out, however long that is.
            packet.tcp.is_some()
                || packet.at.since(dropped) <= rtt * 2
                || self.is_silent(dropped, rtt)
        });
        if is_repeated || !self.missing.is_empty() || recovers {
            return (Cause::Loss, Some(packet.at));
        }
        let Some((at, is_bare)) = self.window_opened else { return (Cause::Server, None) };
        if packet.at.since(at) <= at_once {
            return (Cause::Window, Some(if is_bare { packet.at } else { at }));
        }
        match self.sent {
            Some((sent, true)) if packet.at.since(sent) <= rtt / PACED => {
                (Cause::Window, Some(packet.at))
            }
            Some((sent, true)) if sent <= at && is_bare => (Cause::Window, Some(at)),
            _ => (Cause::Server, None),
        }
    }

    /// Whether the packet that was dropped then is the last one that was sent, and what the client has sent since cannot
    /// be more than acknowledgements of those before it.
    fn is_silent(&self, dropped: Instant, rtt: Duration) -> bool {
        let is_last = self.sent.is_some_and(|(sent, _)| sent <= dropped);
        is_last && self.window_opened.is_none_or(|(heard, _)| heard <= dropped + rtt * 3 / 2)
    }

    fn sends(&mut self, packet: &PacketRecord, full: u32) {
        let delivered = matches!(packet.fate, Fate::Delivered { .. });
        // Frames of QUIC do not fill a datagram to the last byte.
        let spare = if packet.tcp.is_some() { 0 } else { SPARE_IN_DATAGRAM };
        self.sent = Some((packet.at, payload(packet) + spare >= full));
        let Some(TcpMark { sequence, payload, .. }) = packet.tcp else {
            self.dropped = if delivered { self.dropped } else { Some(packet.at) };
            return;
        };
        self.dropped = None;
        let end = sequence.wrapping_add(payload);
        if self.end.is_none_or(|before| is_before(before, end)) {
            self.end = Some(end);
        }
        if delivered {
            let covers =
                |&(from, to): &(u32, u32)| !is_before(from, sequence) && !is_before(end, to);
            self.missing.retain(|range| !covers(range));
        } else if !self.missing.contains(&(sequence, end)) {
            self.missing.push((sequence, end));
        }
    }
}

/// Payload bytes: those of a TCP segment, or the whole of any other packet.
pub(super) fn payload(packet: &PacketRecord) -> u32 {
    packet.tcp.map_or(packet.length, |tcp| tcp.payload)
}

/// RFC 9293 §3.4: sequence numbers wrap; two of one flow are less than 2^31 apart.
pub(super) fn is_before(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() < 0
}

/// The opposite direction of a flow.
pub(super) fn reversed(flow: Flow) -> Flow {
    Flow { source: flow.destination, destination: flow.source, ..flow }
}
