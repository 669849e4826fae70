//! Why the far side did not send a packet sooner, from the link's log alone. Each packet with payload that came to the
//! client ends a wait. What the link saw just before the packet entered tells the cause:
//!
//! - The packet repeats bytes, or bytes dropped before it were still missing: loss recovery.
//! - An acknowledgement of new bytes came just before, and the window could be full: the acknowledgement opened it (RFC 5681
//!   §3.1). A sender that runs out of bytes ends with a partial segment. So the window could be full if the sender's last segment
//!   was a full one. With smaller ones it could be full if they took as much as the window is known to have.
//! - Bytes of the client came just before (a request, HTTP/2's WINDOW_UPDATE): the sender waited for those.
//! - It came within a round trip of a full segment, and the client has asked for nothing since: a paced sender spreads its window
//!   over the round trip.
//! - It came later than that after a full segment, or after smaller ones that could fill the window: the window was full until
//!   the acknowledgement came. The rest of the wait is the server's own time.
//! - Otherwise: the server's own time.
//!
//! Where a packet of the client's was dropped and nothing came of it, the sender waited until the client had sent it again,
//! after whatever time-out: loss recovery until then. A SYN counts as a byte here (RFC 9293 §3.4), so a handshake's lost
//! packets are recovered like others.
//!
//! QUIC shows neither sequence numbers nor acknowledgements. Any packet from the client may be an acknowledgement. What is
//! sent within two round trips of a drop counts as its recovery. So does what a sender sends next whose last packet was
//! dropped and that heard nothing new since: its probe time-out (RFC 9002 §6.2) can be longer. A datagram as small as a bare
//! acknowledgement counts as one: that it was dropped means nothing.

#[cfg(test)]
mod tests;

use super::LinkFacts;
use super::passing::ClientClock;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;
use trace::{Direction, Fate, Flow, PacketRecord, TcpMark};
use unit::Instant;

/// How soon a packet follows the acknowledgement that allowed it. A kernel reacts at once, but a busy machine forwards
/// the packet some milliseconds late.
const AT_ONCE: Duration = Duration::from_millis(5);

/// Bytes that a full datagram of QUIC may lack.
const SPARE_IN_DATAGRAM: u32 = 64;

/// No path's full datagram of QUIC is smaller: 1200 bytes of payload (RFC 9000 §14) behind the headers of IPv4 and UDP.
const LEAST_FULL_DATAGRAM: u32 = 1228;

/// The most UDP payload of a QUIC packet with nothing but an acknowledgement: a short header with a connection ID of 20
/// bytes, the tag, and an ACK frame of a few ranges (RFC 9000 §17.3.1, §19.3). A request behind a warm QPACK table can be as
/// small. The log cannot tell the two apart, and acknowledgements are far more.
const MOST_BARE: u32 = 63;

/// The longest that an acknowledgement is delayed by default (RFC 9000 §18.2, `max_ack_delay`).
const ACK_DELAY: Duration = Duration::from_millis(25);

/// No path's full segment is smaller (RFC 9293 §3.7.1).
pub(super) const LEAST_FULL: u32 = 536;

/// The first window of TCP (RFC 6928). Linux counts a window in packets, however small they are.
const FIRST_PACKETS: u32 = 10;

/// The least first window of QUIC, in bytes: ten of the smallest full datagrams (RFC 9002 §7.2).
const FIRST_BYTES: u32 = 12_000;

/// A paced sender spreads its window over the round trip (RFC 9002 §7.7), in trains. With ten packets a train, one is not further
/// from the next than a round trip. Where the client has said more than an acknowledgement since, two full packets of one answer
/// are not further apart than this share.
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

/// A packet to the client that passed the bottleneck: one with payload, or a SYN.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) flow: Flow,
    /// When it came to the bottleneck's queue, on the client's clock.
    pub(super) starts: u64,
    /// When the client could read it, or could have if it had not been lost.
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

/// Every packet that can end a wait of the client's, in the order of arrival.
pub(super) fn arrivals(
    packets: &[PacketRecord],
    link: &LinkFacts,
    clock: ClientClock,
) -> Vec<Arrival> {
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
    let largest = largest_segments(packets);
    let mut senders: HashMap<Flow, Sender> = HashMap::new();
    let mut arrivals = Vec::new();
    for (at, packet) in moments {
        let Some(flow) = packet.flow else { continue };
        let is_up = packet.direction == Direction::Up;
        let from_far = if is_up { reversed(flow) } else { flow };
        let sender = senders.entry(from_far).or_insert_with(|| {
            let largest = largest.get(&from_far).copied().unwrap_or(0);
            Sender::new(Full::of(packet, largest), link.rtt)
        });
        if is_up {
            sender.hears(at, packet);
        } else if numbers(packet) > 0 {
            let (cause, until) = sender.waited_for(packet);
            sender.sends(packet);
            if let Some(passing) = clock.passing(packet) {
                let starts = passing.entered.nanos();
                // From the sender's end of the path to the client's.
                let until = until
                    .map_or(0, |until| starts.saturating_sub(at.since(until).as_nanos() as u64));
                arrivals.push(Arrival { flow, starts, came: passing.sent.nanos(), cause, until });
            }
        }
    }
    arrivals.sort_by_key(|arrival| arrival.came);
    arrivals
}

/// The largest TCP payload of each flow to the client.
fn largest_segments(packets: &[PacketRecord]) -> HashMap<Flow, u32> {
    let mut largest: HashMap<Flow, u32> = HashMap::new();
    for packet in packets.iter().filter(|packet| packet.direction == Direction::Down) {
        if let (Some(flow), Some(tcp)) = (packet.flow, packet.tcp) {
            let so_far = largest.entry(flow).or_default();
            *so_far = tcp.payload.max(*so_far);
        }
    }
    largest
}

/// Which packets of a flow are full.
enum Full {
    /// TCP segments of so many bytes: a connection has one size for all of its segments (RFC 9293 §3.7.1).
    Segments(u32),
    /// Datagrams: a sender may find a larger size as it goes. It probes with a single larger one (RFC 8899), so a size
    /// holds from the second one that came.
    Datagrams { full: u32, probes: Vec<u32> },
}

impl Full {
    fn of(packet: &PacketRecord, largest: u32) -> Self {
        match packet.tcp {
            Some(_) => Self::Segments(largest.max(LEAST_FULL)),
            None => Self::Datagrams { full: LEAST_FULL_DATAGRAM, probes: Vec::new() },
        }
    }

    /// Whether that packet, which is sent next, is a full one.
    fn takes(&mut self, packet: &PacketRecord) -> bool {
        match self {
            Self::Segments(full) => payload(packet) >= *full,
            Self::Datagrams { full, probes } => {
                let size = packet.length;
                if size > *full && is_delivered(packet) {
                    if probes.contains(&size) {
                        *full = size;
                        probes.retain(|probe| *probe > size);
                    } else {
                        probes.push(size);
                    }
                }
                // Frames of QUIC do not fill a datagram to the last byte.
                size + SPARE_IN_DATAGRAM >= *full
            }
        }
    }
}

/// The sender of a flow, as the link's log shows it.
struct Sender {
    rtt: Duration,
    full: Full,
    /// The end of what was sent, in sequence numbers.
    end: Option<u32>,
    /// When it last sent, and whether that was a full segment.
    sent: Option<(Instant, bool)>,
    acknowledged: Option<u32>,
    /// When the client last sent something that allows the sender to go on.
    window_opened: Option<Opening>,
    /// When the client last sent more than an acknowledgement.
    asked: Option<Instant>,
    /// What may be under way.
    under_way: VecDeque<UnderWay>,
    window: KnownWindow,
    /// Dropped ranges that have not been delivered since.
    missing: Vec<(u32, u32)>,
    /// When a packet of QUIC was last dropped, in either direction.
    dropped: Option<Instant>,
    /// After what of the client's, or of the sender's own over QUIC, was dropped last.
    silence: Silence,
}

/// A packet that may be under way.
struct UnderWay {
    sent: Instant,
    /// Where it ends, in sequence numbers over TCP.
    end: Option<u32>,
    /// What it takes of the window: 1 over TCP, its bytes over QUIC.
    takes: u32,
}

/// How large a sender's congestion window is at least, in packets over TCP and in bytes over QUIC.
struct KnownWindow {
    first: u32,
    least: u32,
    /// The most that has been under way since the last drop.
    most: u32,
    /// Whether something was dropped: the window does not double any more (RFC 5681 §3.1).
    is_past_slow_start: bool,
}

impl KnownWindow {
    fn new(full: &Full) -> Self {
        let first = match full {
            Full::Segments(_) => FIRST_PACKETS,
            Full::Datagrams { .. } => FIRST_BYTES,
        };
        Self { first, least: first, most: 0, is_past_slow_start: false }
    }

    fn takes(&mut self, under_way: u32) {
        self.most = self.most.max(under_way);
        self.least = self.least.max(self.most);
    }

    /// In slow start TCP's window grows by what is acknowledged, to twice what is under way: Linux takes a sender for limited
    /// by its window where it uses more than half of it.
    fn grows(&mut self, acknowledged: u32) {
        if self.is_past_slow_start {
            return;
        }
        self.least = self.least.max((self.least + acknowledged).min(2 * self.most));
    }

    fn halves(&mut self) {
        (self.least, self.most) = ((self.least / 2).max(self.first), 0);
        self.is_past_slow_start = true;
    }
}

/// What allowed a sender to go on.
#[derive(Clone, Copy)]
struct Opening {
    at: Instant,
    by: OpenedBy,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenedBy {
    /// A bare acknowledgement, before which the window may have been full.
    Acknowledgement,
    /// A bare acknowledgement that the sender did not wait for.
    Unneeded,
    /// More than an acknowledgement.
    Bytes,
}

/// The silence after a drop: both ends wait until the client's time-out makes it send again.
#[derive(Clone, Copy)]
enum Silence {
    /// Nothing is missing.
    None,
    /// Dropped then, at this sequence number over TCP, and not sent again since.
    Begun { at: Instant, sequence: Option<u32> },
    /// The client sent again. The sender heard that then, and has sent nothing since.
    Ended { at: Instant },
}

impl Sender {
    fn new(full: Full, rtt: Duration) -> Self {
        Self {
            rtt,
            window: KnownWindow::new(&full),
            full,
            end: None,
            sent: None,
            acknowledged: None,
            window_opened: None,
            asked: None,
            under_way: VecDeque::new(),
            missing: Vec::new(),
            dropped: None,
            silence: Silence::None,
        }
    }

    fn hears(&mut self, at: Instant, packet: &PacketRecord) {
        if !is_delivered(packet) {
            self.misses(packet);
            return;
        }
        self.hears_again(at, packet);
        let may_be_full = self.may_be_full(at);
        let news = packet.tcp.is_none_or(|tcp| {
            let ahead = |before| is_before(before, tcp.acknowledgement);
            let newer = tcp.flags & ACK != 0 && self.acknowledged.is_none_or(ahead);
            if newer {
                self.acknowledged = Some(tcp.acknowledgement);
            }
            newer || tcp.payload > 0
        });
        if let Some(acknowledged) = self.acknowledged {
            let before = self.under_way.len();
            self.under_way.retain(|it| it.end.is_none_or(|end| is_before(acknowledged, end)));
            self.window.grows((before - self.under_way.len()) as u32);
        }
        if news {
            let is_bare = packet.tcp.map_or_else(|| can_be_bare(packet), |tcp| tcp.payload == 0);
            let by = match (is_bare, may_be_full) {
                (false, _) => OpenedBy::Bytes,
                (true, true) => OpenedBy::Acknowledgement,
                (true, false) => OpenedBy::Unneeded,
            };
            // An acknowledgement that it did not wait for does not make it wait for what came at the same time.
            let still = |opening: Opening| {
                by == OpenedBy::Unneeded
                    && opening.by == OpenedBy::Bytes
                    && at.since(opening.at) <= AT_ONCE
                    && self.sent.is_none_or(|(sent, _)| sent < opening.at)
            };
            if !self.window_opened.is_some_and(still) {
                self.window_opened = Some(Opening { at, by });
            }
            if !is_bare {
                self.asked = Some(at);
            }
        }
    }

    /// Whether the sender's window may be full at that time.
    fn may_be_full(&mut self, now: Instant) -> bool {
        // QUIC shows no acknowledgements: what was sent a round trip ago is acknowledged.
        let oldest = now - (self.rtt * 5 / 4 + AT_ONCE);
        while self.under_way.front().is_some_and(|it| it.end.is_none() && it.sent < oldest) {
            self.under_way.pop_front();
        }
        let is_full = self.sent.is_none_or(|(_, is_full)| is_full);
        is_full || self.under_way() >= self.window.least
    }

    /// What may be under way takes so much of the window.
    fn under_way(&self) -> u32 {
        self.under_way.iter().map(|it| it.takes).sum()
    }

    fn sends_anew(&mut self, packet: UnderWay) {
        let now = packet.sent;
        self.under_way.push_back(packet);
        // Over QUIC, what was sent longer ago may be acknowledged: then the window need not have had room for both.
        let is_surely = |it: &&UnderWay| it.end.is_some() || now.since(it.sent) < self.rtt;
        self.window.takes(self.under_way.iter().filter(is_surely).map(|it| it.takes).sum());
    }

    /// Ends the silence after a drop if this can be what was dropped.
    fn hears_again(&mut self, at: Instant, packet: &PacketRecord) {
        let Silence::Begun { at: dropped, sequence } = self.silence else { return };
        let is_again = match (packet.tcp, sequence) {
            (Some(tcp), Some(sequence)) => covers(tcp, sequence),
            // Nobody knows of a drop sooner.
            _ => !can_be_bare(packet) && at >= dropped + self.rtt * 3 / 2,
        };
        if is_again {
            let was_silent = self.was_silent_until(at);
            self.silence = if was_silent { Silence::Ended { at } } else { Silence::None };
        }
    }

    /// A packet of either end that must be sent again was dropped.
    fn misses(&mut self, packet: &PacketRecord) {
        if numbers(packet) == 0 || can_be_bare(packet) {
            return;
        }
        let sequence = packet.tcp.map(|tcp| tcp.sequence);
        self.silence = Silence::Begun { at: packet.at, sequence };
        if sequence.is_none() {
            self.dropped = Some(packet.at);
        }
    }

    /// Whether what is heard from the client now cannot be an acknowledgement of what was sent last.
    fn was_silent_until(&self, now: Instant) -> bool {
        self.sent.is_none_or(|(sent, _)| now > sent + self.rtt * 3 / 2 + ACK_DELAY)
    }

    /// The cause of the wait before `packet`, and when that cause ended; None where it lasted until the packet was
    /// sent.
    fn waited_for(&self, packet: &PacketRecord) -> (Cause, Option<Instant>) {
        let is_repeated =
            packet.tcp.is_some_and(|tcp| self.end.is_some_and(|end| is_before(tcp.sequence, end)));
        if is_repeated || !self.missing.is_empty() || self.recovers(packet) {
            return (Cause::Loss, Some(packet.at));
        }
        if let Silence::Ended { at } = self.silence {
            return (Cause::Loss, Some(at));
        }
        let Some(Opening { at, by }) = self.window_opened else { return (Cause::Server, None) };
        if packet.at.since(at) <= AT_ONCE.min(self.rtt / 4) {
            match by {
                OpenedBy::Acknowledgement => return (Cause::Window, Some(packet.at)),
                OpenedBy::Bytes => return (Cause::Window, Some(at)),
                OpenedBy::Unneeded => {}
            }
        }
        match self.sent {
            Some((sent, true)) if packet.at.since(sent) <= self.spread_after(sent) => {
                (Cause::Window, Some(packet.at))
            }
            Some((sent, true)) if sent <= at && by != OpenedBy::Bytes => (Cause::Window, Some(at)),
            Some((sent, false)) if sent <= at && by == OpenedBy::Acknowledgement => {
                (Cause::Window, Some(at))
            }
            _ => (Cause::Server, None),
        }
    }

    /// How long a paced sender may wait after a full packet that was sent then.
    fn spread_after(&self, sent: Instant) -> Duration {
        if self.asked.is_some_and(|asked| asked > sent) { self.rtt / PACED } else { self.rtt }
    }

    /// Whether the packet is sent while something dropped is missing whose repetition the log does not show.
    fn recovers(&self, packet: &PacketRecord) -> bool {
        if packet.tcp.is_some() {
            let is_next = |dropped| self.sent.is_none_or(|(sent, _)| sent <= dropped);
            return matches!(self.silence, Silence::Begun { at, .. } if is_next(at));
        }
        let recovers =
            |dropped| packet.at.since(dropped) <= self.rtt * 2 || self.is_silent(dropped);
        self.dropped.is_some_and(recovers)
    }

    /// Whether the packet that was dropped then is the last one that was sent, and what the client has sent since cannot
    /// be more than acknowledgements of those before it.
    fn is_silent(&self, dropped: Instant) -> bool {
        let is_last = self.sent.is_some_and(|(sent, _)| sent <= dropped);
        is_last && self.window_opened.is_none_or(|opening| opening.at <= dropped + self.rtt * 3 / 2)
    }

    fn sends(&mut self, packet: &PacketRecord) {
        self.sent = Some((packet.at, self.full.takes(packet)));
        if matches!(self.silence, Silence::Ended { .. }) {
            self.silence = Silence::None;
        }
        let Some(tcp) = packet.tcp else {
            self.sends_anew(UnderWay { sent: packet.at, end: None, takes: packet.length });
            if !is_delivered(packet) {
                self.misses(packet);
                self.window.halves();
            }
            return;
        };
        let sequence = tcp.sequence;
        let end = sequence.wrapping_add(numbers(packet));
        if self.end.is_none_or(|before| is_before(before, end)) {
            self.sends_anew(UnderWay { sent: packet.at, end: Some(end), takes: 1 });
            self.end = Some(end);
        }
        if is_delivered(packet) {
            let covers =
                |&(from, to): &(u32, u32)| !is_before(from, sequence) && !is_before(end, to);
            self.missing.retain(|range| !covers(range));
        } else if !self.missing.contains(&(sequence, end)) {
            self.missing.push((sequence, end));
            self.window.halves();
        }
    }
}

fn is_delivered(packet: &PacketRecord) -> bool {
    matches!(packet.fate, Fate::Delivered { .. })
}

/// Whether a packet may have nothing but an acknowledgement: with a short header, and small. TCP's numbers tell its own.
fn can_be_bare(packet: &PacketRecord) -> bool {
    packet.udp.is_some_and(|udp| udp.quic.is_none() && udp.payload <= MOST_BARE)
}

/// Sequence numbers that a TCP segment takes (RFC 9293 §3.4: a SYN is one), or the bytes of any other packet.
fn numbers(packet: &PacketRecord) -> u32 {
    packet.tcp.map_or(packet.length, taken)
}

fn taken(tcp: TcpMark) -> u32 {
    tcp.payload + u32::from(tcp.flags & SYN != 0)
}

/// Whether a segment of the client's has that sequence number.
fn covers(tcp: TcpMark, sequence: u32) -> bool {
    let end = tcp.sequence.wrapping_add(taken(tcp));
    !is_before(sequence, tcp.sequence) && is_before(sequence, end)
}

/// RFC 9293 §3.1.
const SYN: u8 = 0x02;
/// RFC 9293 §3.1: without it, as in a SYN, the acknowledgement field says nothing.
const ACK: u8 = 0x10;

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
