//! The sums of the link's packet log, and when the link was busy. The log is independent of the client.

use super::causes::{Arrival, Cause, arrivals, reversed};
use super::held::holds;
use super::passing::ClientClock;
use super::path::Stretch;
use super::rounds::FIRST_ROUNDS;
use super::{CLOCK_TOLERANCE, LinkFacts, Nagle};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;
use trace::{ConnectionRecord, Direction, Fate, Flow, PacketRecord, TcpMark};
use unit::Instant;

/// The sums of a packet log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PacketSummary {
    /// From the near side to the far.
    pub up: WaySummary,
    /// From the far side to the near.
    pub down: WaySummary,
    /// TCP connections that the near side began, and QUIC connections.
    pub connections: u64,
    /// The QUIC connections among them.
    #[serde(default, skip_serializing_if = "is_none")]
    pub quic_connections: u64,
    /// Full packets of each of the far side's first rounds, on the flow with most of them; zeros where there were none.
    #[serde(default, skip_serializing_if = "are_none")]
    pub first_rounds: [u64; FIRST_ROUNDS],
}

/// The sums of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WaySummary {
    /// Packets that entered the link.
    pub packets: u64,
    /// Bytes of IP that entered.
    pub bytes: u64,
    /// Payload bytes that were delivered. TCP's are counted once however often they were sent. UDP's are all counted:
    /// the link cannot recognise repeats there.
    pub payload: u64,
    /// TCP payload bytes that entered the link again.
    pub retransmitted: u64,
    /// Packets that the seeded loss dropped.
    pub lost: u64,
    /// Packets dropped because the queue was full.
    pub queue_full: u64,
    /// Packets that the queue's active management dropped.
    #[serde(default, skip_serializing_if = "is_none")]
    pub aqm_dropped: u64,
    /// Packets dropped by a policer, by a limit on UDP, or for want of a mapping in the NAT.
    #[serde(default, skip_serializing_if = "is_none")]
    pub refused: u64,
}

/// Sums up `packets`. Rounds are not among the sums: they begin with a request, which packets do not show.
pub fn summarise(packets: &[PacketRecord]) -> PacketSummary {
    let begun: BTreeSet<_> = packets
        .iter()
        .filter(|packet| packet.direction == Direction::Up)
        .filter_map(|packet| Some((packet.flow?, packet.tcp.filter(|tcp| begins(*tcp))?)))
        // A retransmitted SYN has the same sequence number. A later connection from the same port has another (RFC
        // 6528), and a client that makes a thousand connections reuses some ports.
        .map(|(flow, tcp)| (flow.source, flow.destination, tcp.sequence))
        .collect();
    let quic = quic_begun(packets);
    PacketSummary {
        up: way(packets, Direction::Up),
        down: way(packets, Direction::Down),
        connections: begun.len() as u64 + quic,
        quic_connections: quic,
        first_rounds: [0; FIRST_ROUNDS],
    }
}

/// QUIC connections that the near side began. Every packet of a handshake carries the connection's ID.
fn quic_begun(packets: &[PacketRecord]) -> u64 {
    let up = packets.iter().filter(|packet| packet.direction == Direction::Up);
    let named = up.filter_map(|packet| Some((packet.flow?, packet.udp?.quic?.sender)));
    named.collect::<HashSet<_>>().len() as u64
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

fn are_none(rounds: &[u64; FIRST_ROUNDS]) -> bool {
    *rounds == [0; FIRST_ROUNDS]
}

/// Payload bytes that were delivered towards the client no later than `end`. TCP's are counted once each.
pub(super) fn payload_until(packets: &[PacketRecord], end: Instant) -> u64 {
    let in_time = |fate| matches!(fate, Fate::Delivered { at } if at <= end);
    let mut delivered: HashMap<Flow, Bytes> = HashMap::new();
    let mut datagrams = 0;
    for packet in packets.iter().filter(|p| p.direction == Direction::Down && in_time(p.fate)) {
        datagrams += datagram(packet);
        if let (Some(flow), Some(tcp)) = (packet.flow, packet.tcp) {
            delivered.entry(flow).or_default().add(tcp);
        }
    }
    datagrams + delivered.values().map(Bytes::distinct).sum::<u64>()
}

/// Bytes of UDP payload in a packet.
fn datagram(packet: &PacketRecord) -> u64 {
    packet.udp.map_or(0, |udp| u64::from(udp.payload))
}

/// RFC 9293 §3.5: a connection begins with SYN and without ACK.
pub(super) fn begins(tcp: TcpMark) -> bool {
    const SYN: u8 = 0x02;
    const ACK: u8 = 0x10;
    tcp.flags & (SYN | ACK) == SYN
}

fn way(packets: &[PacketRecord], direction: Direction) -> WaySummary {
    let mut sum = WaySummary::default();
    let mut entered: HashMap<Flow, Bytes> = HashMap::new();
    let mut delivered: HashMap<Flow, Bytes> = HashMap::new();
    for packet in packets.iter().filter(|packet| packet.direction == direction) {
        sum.packets += 1;
        sum.bytes += u64::from(packet.length);
        match packet.fate {
            Fate::Delivered { .. } => {}
            Fate::Lost => sum.lost += 1,
            Fate::QueueFull => sum.queue_full += 1,
            Fate::AqmDropped => sum.aqm_dropped += 1,
            Fate::Policed | Fate::Blocked => sum.refused += 1,
        }
        let is_delivered = matches!(packet.fate, Fate::Delivered { .. });
        if is_delivered {
            sum.payload += datagram(packet);
        }
        let (Some(flow), Some(tcp)) = (packet.flow, packet.tcp) else { continue };
        entered.entry(flow).or_default().add(tcp);
        if is_delivered {
            delivered.entry(flow).or_default().add(tcp);
        }
    }
    sum.payload += delivered.values().map(Bytes::distinct).sum::<u64>();
    sum.retransmitted = entered.values().map(|bytes| bytes.total - bytes.distinct()).sum();
    sum
}

/// The bytes of one flow's sequence space that were seen.
#[derive(Default)]
struct Bytes {
    total: u64,
    /// Ranges in the order of the log. Sequence numbers are unwrapped relative to the one before.
    ranges: Vec<(i64, i64)>,
    last: Option<(u32, i64)>,
}

impl Bytes {
    fn add(&mut self, tcp: TcpMark) {
        if tcp.payload == 0 {
            return;
        }
        // RFC 9293 §3.4: sequence numbers wrap; two of one flow are less than 2^31 apart.
        let start = self.last.map_or(0, |(sequence, unwrapped)| {
            unwrapped + i64::from(tcp.sequence.wrapping_sub(sequence).cast_signed())
        });
        self.last = Some((tcp.sequence, start));
        // RFC 9293 §3.4: a SYN is one number itself, before its data.
        let start = start + i64::from(begins(tcp));
        self.total += u64::from(tcp.payload);
        self.ranges.push((start, start + i64::from(tcp.payload)));
    }

    fn distinct(&self) -> u64 {
        let mut ranges = self.ranges.clone();
        ranges.sort_unstable();
        let mut reached = i64::MIN;
        let mut sum = 0;
        for (start, end) in ranges {
            sum += (end - start.max(reached)).max(0);
            reached = reached.max(end);
        }
        sum.unsigned_abs()
    }
}

/// When the link carried payload and when it dropped, on the client's clock.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// Intervals in which bytes towards or from the client were sent by the bottleneck or waited for it; disjoint, in
    /// order.
    busy: Vec<(u64, u64)>,
    /// Packets to the client that ended waits, in the order of arrival.
    arrivals: Vec<Arrival>,
    /// The flows from the far side, by the client's connection numbers.
    flows: HashMap<u32, Flow>,
    /// Intervals in which a sender delayed bytes under Nagle's rule; disjoint, in order.
    held: Vec<(u64, u64)>,
}

impl Activity {
    /// The activity in a log; None where a direction of the link has no limit to its rate.
    pub(super) fn of(
        packets: &[PacketRecord],
        link: &LinkFacts,
        connections: &[ConnectionRecord],
        nagle: Nagle,
    ) -> Option<Self> {
        link.down.and(link.up)?;
        let clock = ClientClock::of(packets, link.rtt);
        let busy = packets.iter().filter_map(|packet| {
            let passing = clock.passing(packet)?;
            // From when a packet waits the link is busy: with those before it, or in a trace's outage. To send a bare
            // acknowledgement takes no noticeable time.
            let is_bare = packet.tcp.is_some_and(|tcp| tcp.payload == 0);
            let until = if is_bare { passing.left_queue } else { passing.sent };
            (passing.entered < until).then_some((passing.entered.nanos(), until.nanos()))
        });
        Some(Self {
            busy: merged(busy.collect()),
            held: merged(holds(packets, nagle)),
            arrivals: arrivals(packets, link, clock),
            flows: flows(packets, connections),
        })
    }

    /// How long the link was busy within the interval.
    pub(super) fn busy_within(&self, from: Instant, to: Instant) -> Duration {
        within(&self.busy, from, to)
    }

    /// How long bytes were delayed by Nagle's rule within the interval.
    pub(super) fn held_within(&self, from: Instant, to: Instant) -> Duration {
        within(&self.held, from, to)
    }

    /// Why the link was idle within a stretch of a connection, piece by piece in order of time.
    pub(super) fn idle_within(&self, stretch: &Stretch) -> Vec<(Idle, Duration)> {
        let flow = stretch.connection.and_then(|number| self.flows.get(&number));
        let latest = (stretch.to + CLOCK_TOLERANCE).nanos();
        // A packet that arrives after the stretch cannot have ended a wait within it.
        let until = self.arrivals.partition_point(|arrival| arrival.came <= latest);
        let mut own: Vec<&Arrival> = self.arrivals[..until]
            .iter()
            .filter(|a| flow.is_none_or(|flow| a.flow == *flow))
            .collect();
        own.sort_by_key(|arrival| arrival.starts);
        let mut pieces = Vec::new();
        for (mut from, to) in gaps(&self.busy, stretch.from, stretch.to) {
            let next = own.partition_point(|arrival| arrival.starts <= from);
            for arrival in &own[next..] {
                let end = arrival.starts.min(to).max(from);
                let causes = arrival.causes(from, end);
                pieces.extend(
                    causes.map(|(cause, span)| (Idle::For(cause), Duration::from_nanos(span))),
                );
                from = end;
            }
            // All bytes had arrived: the client read them later.
            let rest = if own.is_empty() { Idle::Unseen } else { Idle::Unread };
            pieces.push((rest, Duration::from_nanos(to - from)));
        }
        pieces
    }
}

/// Why the link was idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Idle {
    /// The sender waited; a packet ended the wait.
    For(Cause),
    /// All bytes had arrived, and the client had not read them.
    Unread,
    /// Unknown: the log shows no packet.
    Unseen,
}

/// Which flow carried each of the client's connections. For each address, client and log both number connections in
/// order. Addresses for which they count differently are left out.
fn flows(packets: &[PacketRecord], connections: &[ConnectionRecord]) -> HashMap<u32, Flow> {
    let mut begun: HashMap<String, Vec<Flow>> = HashMap::new();
    for packet in packets.iter().filter(|packet| packet.direction == Direction::Up) {
        let Some(flow) = packet.flow else { continue };
        if packet.tcp.is_none_or(begins) {
            let there = begun.entry(flow.destination.to_string()).or_default();
            if !there.contains(&flow) {
                there.push(flow);
            }
        }
    }
    let mut opened: Vec<&ConnectionRecord> = connections.iter().collect();
    opened.sort_by_key(|connection| (connection.opened, connection.id));
    let mut flows = HashMap::new();
    for (remote, there) in begun {
        let opened = opened.iter().filter(|connection| connection.remote == remote);
        if opened.clone().count() == there.len() {
            flows.extend(
                opened.map(|connection| connection.id).zip(there.into_iter().map(reversed)),
            );
        }
    }
    flows
}

/// The gaps between `stretches` from `from` to `until`.
fn gaps(stretches: &[(u64, u64)], from: Instant, to: Instant) -> Vec<(u64, u64)> {
    let (mut from, to) = (from.nanos(), to.nanos());
    let first = stretches.partition_point(|&(_, end)| end <= from);
    let mut gaps = Vec::new();
    for &(start, end) in stretches[first..].iter().take_while(|&&(start, _)| start < to) {
        if from < start {
            gaps.push((from, start));
        }
        from = end;
    }
    if from < to {
        gaps.push((from, to));
    }
    gaps
}

/// How much of `stretches` lies from `from` to `until`.
fn within(stretches: &[(u64, u64)], from: Instant, to: Instant) -> Duration {
    let (from, to) = (from.nanos(), to.nanos());
    let first = stretches.partition_point(|&(_, end)| end <= from);
    let within = stretches[first..].iter().take_while(|&&(start, _)| start < to);
    Duration::from_nanos(within.map(|&(start, end)| end.min(to) - start.max(from)).sum())
}

fn merged(mut stretches: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    stretches.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (start, end) in stretches {
        match merged.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => merged.push((start, end)),
        }
    }
    merged
}
