//! Why the far side sent a packet no sooner than it did, told from the link's log alone. Each packet with payload that
//! came to the client ends a wait, and what the link saw just before it entered says for what:
//!
//! - Sent again, or while bytes dropped before it were still missing: loss recovery.
//! - Right after an acknowledgement of new bytes had come: the sender's window was closed, and that opened it
//!   (RFC 5681 §3.1). Right after bytes of the client's (a request, HTTP/2's WINDOW_UPDATE): it waited for those.
//! - Later than that, the sender's last segment having been a full one: a sender that has run out of bytes ends on a
//!   partial one, so this one's window was closed until the acknowledgement came, and the rest is its own time.
//! - Else the server took its time.
//!
//! QUIC shows neither sequence nor acknowledgement: whatever comes from the client may be one, and what is sent within
//! a round trip of a drop counts as its recovery.

#[cfg(test)]
mod tests;

use super::LinkFacts;
use std::collections::HashMap;
use std::time::Duration;
use trace::{Direction, Fate, Flow, PacketRecord, TcpMark};
use unit::{ByteSize, Instant};

/// A kernel answers to an acknowledgement at once, but a busy machine hands it over some milliseconds late.
const AT_ONCE: Duration = Duration::from_millis(5);

/// No path's full segment is smaller (RFC 9293 §3.7.1).
pub(super) const LEAST_FULL: u32 = 536;

/// What a wait was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// Something from the client: an acknowledgement, credit.
    Window,
    /// Bytes that had been dropped.
    Loss,
    /// The server.
    Server,
}

/// Payload that came to the client.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) flow: Flow,
    /// When its first bit left the bottleneck, half a round trip later.
    pub(super) starts: u64,
    /// When the client could read it.
    pub(super) came: u64,
    /// What it waited for until `until`; from there on for the server.
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

/// Every arrival, in the order of coming; empty where the link has no rate.
pub(super) fn arrivals(packets: &[PacketRecord], link: &LinkFacts) -> Vec<Arrival> {
    let Some(rate) = link.down else { return Vec::new() };
    let mut moments: Vec<(Instant, &PacketRecord)> = Vec::new();
    for packet in packets {
        match (packet.direction, packet.fate) {
            // What the sender hears.
            (Direction::Up, Fate::Delivered { at }) => moments.push((at, packet)),
            _ => moments.push((packet.at, packet)),
        }
    }
    // What is heard goes before what it brings about.
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

/// The far end of a flow, as the link's log shows it.
#[derive(Default)]
struct Sender {
    /// The end of what was sent, in sequence numbers.
    end: Option<u32>,
    /// When it last sent, and whether that was a full segment.
    sent: Option<(Instant, bool)>,
    acknowledged: Option<u32>,
    /// The last thing from the client that could let it go on, and whether it was a bare acknowledgement.
    let_on: Option<(Instant, bool)>,
    /// Ranges that were dropped and have not got through since.
    missing: Vec<(u32, u32)>,
    /// When a packet was dropped whose repetition cannot be told, either way.
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
            self.let_on = Some((at, is_bare));
        }
    }

    /// What it waited for before sending `packet`, and until when; None: until it was sent not at all.
    fn waited_for(
        &self,
        packet: &PacketRecord,
        at_once: Duration,
        rtt: Duration,
    ) -> (Cause, Option<Instant>) {
        let is_repeated =
            packet.tcp.is_some_and(|tcp| self.end.is_some_and(|end| is_before(tcp.sequence, end)));
        let recovers = self.dropped.is_some_and(|dropped| {
            // What a client's stack sends again comes after its own time-out, however long.
            packet.tcp.is_some() || packet.at.since(dropped) <= rtt * 2
        });
        if is_repeated || !self.missing.is_empty() || recovers {
            return (Cause::Loss, Some(packet.at));
        }
        let Some((heard, is_bare)) = self.let_on else { return (Cause::Server, None) };
        if packet.at.since(heard) <= at_once {
            return (Cause::Window, Some(if is_bare { packet.at } else { heard }));
        }
        match self.sent {
            Some((sent, true)) if sent <= heard && is_bare => (Cause::Window, Some(heard)),
            _ => (Cause::Server, None),
        }
    }

    fn sends(&mut self, packet: &PacketRecord, full: u32) {
        let delivered = matches!(packet.fate, Fate::Delivered { .. });
        self.sent = Some((packet.at, payload(packet) >= full));
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
fn payload(packet: &PacketRecord) -> u32 {
    packet.tcp.map_or(packet.length, |tcp| tcp.payload)
}

/// RFC 9293 §3.4: sequence numbers wrap; two of one flow are less than 2^31 apart.
fn is_before(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() < 0
}

/// The other way.
pub(super) fn reversed(flow: Flow) -> Flow {
    Flow { source: flow.destination, destination: flow.source, ..flow }
}
