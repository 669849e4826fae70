//! What a traced connection tells of its packets. The one rule: the time is that of the call in which something happened, and
//! a connection whose tracer is off has no observer.

use super::congestion::ControllerState;
use quinn_proto::{Connection, ConnectionError, Side};
use secure::{Observed, PacketTap};
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::time::Duration;
use trace::{
    Event, QuicConnectionId, QuicEnd, QuicFrame, QuicInitiator, QuicLossTrigger, QuicMetrics,
    QuicPacket, QuicPacketType, QuicSpace, Tracer,
};
use unit::Instant;

/// The observer of a connection.
pub(super) struct Observer {
    tap: PacketTap,
    tracer: Tracer,
    side: Side,
    /// Packets that were sent and are neither acknowledged nor lost.
    outstanding: BTreeMap<(QuicSpace, u64), Outstanding>,
    /// The highest number that was acknowledged in each space.
    acknowledged: BTreeMap<QuicSpace, u64>,
    /// Spaces whose keys are dropped.
    discarded: BTreeSet<QuicSpace>,
    /// Where the Initial packets go.
    first_destination: FirstDestination,
    /// Packets of a datagram that is made and not sent yet.
    kept_back: Vec<Observed>,
    /// How many packets quinn-proto has taken for lost, of those that were told. It counts probes of the path's MTU by themselves.
    lost: u64,
    /// quinn-proto's guess before there is a sample.
    initial_rtt: Duration,
    metrics: QuicMetrics,
    is_closed: bool,
    /// When the last call was made.
    now: Instant,
}

/// A packet that was sent.
#[derive(Debug, Clone, Copy)]
struct Outstanding {
    kind: QuicPacketType,
    sent: Instant,
}

/// Where a client's first packets go, before anything has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstDestination {
    Unknown,
    Known(QuicConnectionId),
    /// The server has answered, or this is the server.
    Over,
}

impl Observer {
    pub(super) fn new(now: Instant, tap: PacketTap, tracer: Tracer, quic: &Connection) -> Self {
        let (local, remote) = (quic.local_ip(), quic.remote_address());
        tracer.emit(now, || Event::QuicStarted { local, remote });
        let side = quic.side();
        Self {
            tap,
            tracer,
            side,
            outstanding: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            discarded: BTreeSet::new(),
            first_destination: match side {
                Side::Client => FirstDestination::Unknown,
                Side::Server => FirstDestination::Over,
            },
            kept_back: Vec::new(),
            lost: 0,
            initial_rtt: quic.rtt(),
            metrics: QuicMetrics::default(),
            is_closed: false,
            now,
        }
    }

    /// A call has come to its end: tells what happened in it.
    pub(super) fn handle_call(&mut self, now: Instant, quic: &Connection) {
        self.now = now;
        let over = self.handle_observed(now, self.tap.take());
        // quinn-proto may have found packets lost before it dropped their keys.
        let path = quic.stats().path;
        self.find_lost(now, path.lost_packets + path.lost_plpmtud_probes);
        self.discard(over);
        let metrics = self.metrics_of(quic);
        if metrics != self.metrics {
            self.metrics = metrics;
            self.tracer.emit(now, || Event::QuicMetricsUpdated(metrics));
        }
    }

    /// The call has made a datagram that may not be sent yet.
    pub(super) fn handle_kept_back(&mut self) {
        self.kept_back.extend(self.tap.take());
    }

    /// That datagram is sent.
    pub(super) fn handle_kept_back_sent(&mut self, now: Instant) {
        self.now = now;
        let kept_back = mem::take(&mut self.kept_back);
        let over = self.handle_observed(now, kept_back);
        self.discard(over);
    }

    /// The connection is over.
    pub(super) fn handle_end(&mut self, now: Instant, reason: &ConnectionError) {
        self.close(
            now,
            match reason {
                ConnectionError::TimedOut => QuicEnd::IdleTimeout,
                ConnectionError::Reset => QuicEnd::StatelessReset,
                _ => QuicEnd::Other,
            },
        );
    }

    /// The server has rejected early data: its packets are neither acknowledged nor lost.
    pub(super) fn forget_early_packets(&mut self) {
        self.outstanding.retain(|_, packet| packet.kind != QuicPacketType::ZeroRtt);
    }

    /// Tells what the tap has seen. Gives the spaces whose keys are dropped with it.
    fn handle_observed(&mut self, now: Instant, observed: Vec<Observed>) -> Vec<QuicSpace> {
        let mut over = Vec::new();
        for observed in observed {
            match observed {
                Observed::Sent(packet) => {
                    self.handle_sent(now, &packet);
                    over.extend(self.ended_by(&packet, QuicInitiator::Local));
                }
                Observed::Received(packet) => {
                    self.handle_received(now, &packet);
                    over.extend(self.ended_by(&packet, QuicInitiator::Remote));
                }
                Observed::Parameters(by, parameters) => {
                    self.tracer.emit(now, || Event::QuicParameters { by, parameters: &parameters });
                }
            }
        }
        over
    }

    fn handle_sent(&mut self, now: Instant, packet: &QuicPacket) {
        self.handle_destination(packet);
        self.tracer.emit(now, || Event::QuicPacketSent(packet));
        let space = packet.kind.space();
        if !self.discarded.contains(&space) {
            let outstanding = Outstanding { kind: packet.kind, sent: now };
            self.outstanding.insert((space, packet.number), outstanding);
        }
        self.handle_close(now, packet, QuicInitiator::Local);
    }

    /// A Retry is not encrypted, so that the tap does not see it. The client's next Initial packet goes to the connection ID that the
    /// Retry gave it (RFC 9000 §17.2.5.2), and quinn-proto takes no packet from before the Retry for lost.
    fn handle_destination(&mut self, packet: &QuicPacket) {
        if packet.kind != QuicPacketType::Initial
            || self.first_destination == FirstDestination::Over
        {
            return;
        }
        let destination = FirstDestination::Known(packet.destination);
        let before = mem::replace(&mut self.first_destination, destination);
        if before != FirstDestination::Unknown && before != destination {
            self.outstanding.clear();
        }
    }

    fn handle_received(&mut self, now: Instant, packet: &QuicPacket) {
        self.tracer.emit(now, || Event::QuicPacketReceived(packet));
        self.first_destination = FirstDestination::Over;
        let space = packet.kind.space();
        for frame in &packet.frames {
            let QuicFrame::Ack(ack) = frame else { continue };
            for (first, last) in ack.ranges.iter().copied() {
                let highest = self.acknowledged.entry(space).or_default();
                *highest = last.max(*highest);
                let numbers = self.outstanding.range((space, first)..=(space, last));
                let numbers: Vec<_> = numbers.map(|(packet, _)| *packet).collect();
                for packet in numbers {
                    self.outstanding.remove(&packet);
                }
            }
        }
        self.handle_close(now, packet, QuicInitiator::Remote);
    }

    /// Whose keys are dropped with a packet. A client drops those of Initial packets when it sends a Handshake packet, a server when it
    /// receives one (RFC 9001 §4.9.1).
    fn ended_by(&self, packet: &QuicPacket, by: QuicInitiator) -> Option<QuicSpace> {
        let ends_initial = match self.side {
            Side::Client => QuicInitiator::Local,
            Side::Server => QuicInitiator::Remote,
        };
        if packet.kind == QuicPacketType::Handshake && by == ends_initial {
            return Some(QuicSpace::Initial);
        }
        packet.frames.contains(&QuicFrame::HandshakeDone).then_some(QuicSpace::Handshake)
    }

    /// Packets whose keys are dropped are neither acknowledged nor lost (RFC 9001 §4.9).
    fn discard(&mut self, spaces: Vec<QuicSpace>) {
        for space in spaces {
            if self.discarded.insert(space) {
                self.outstanding.retain(|(of, _), _| *of != space);
            }
        }
    }

    fn handle_close(&mut self, now: Instant, packet: &QuicPacket, by: QuicInitiator) {
        for frame in &packet.frames {
            if let QuicFrame::ConnectionClose { space, code } = *frame {
                self.close(now, QuicEnd::Closed { by, space, code });
            }
        }
    }

    fn close(&mut self, now: Instant, end: QuicEnd) {
        if !mem::replace(&mut self.is_closed, true) {
            self.tracer.emit(now, || Event::QuicClosed(end));
        }
    }

    /// quinn-proto tells how many packets it takes for lost, and not which. They are the oldest ones of a space: both
    /// rules of RFC 9002 §6.1 take a packet only with those before it. The first rule holds as soon as the acknowledgement is there; by
    /// the second one those are lost first that were sent first, in any space.
    fn find_lost(&mut self, now: Instant, lost: u64) {
        while self.lost < lost {
            self.lost += 1;
            let later = self.outstanding.iter().filter_map(|(&(space, number), &packet)| {
                let highest = *self.acknowledged.get(&space)?;
                let trigger = if highest >= number + PACKET_THRESHOLD {
                    QuicLossTrigger::Reordering
                } else {
                    QuicLossTrigger::Time
                };
                (number < highest).then_some((space, number, packet, trigger))
            });
            let found = later.min_by_key(|(_, _, packet, trigger)| {
                (*trigger == QuicLossTrigger::Time, packet.sent)
            });
            let Some((space, number, Outstanding { kind, .. }, trigger)) = found else { continue };
            self.outstanding.remove(&(space, number));
            self.tracer.emit(now, || Event::QuicPacketLost { kind, number, trigger });
        }
    }

    fn metrics_of(&self, quic: &Connection) -> QuicMetrics {
        let stats = quic.stats().path;
        let controller = quic.congestion_state();
        let own = ControllerState::of(controller);
        // quinn-proto does not tell whether there was a sample. Until then both are its guess (RFC 9002 §5.2, §6.2.2).
        let is_guess = [stats.rtt, stats.min_rtt] == [self.initial_rtt; 2];
        QuicMetrics {
            smoothed_rtt: (!is_guess).then_some(stats.rtt),
            min_rtt: (!is_guess).then_some(stats.min_rtt),
            congestion_window: controller.metrics().congestion_window,
            bytes_in_flight: own.map_or(0, |own| own.in_flight),
            slow_start_threshold: controller.metrics().ssthresh,
        }
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.tracer.emit(self.now, || Event::QuicForgotten);
    }
}

/// RFC 9002 §6.1.1, and quinn-proto's default.
const PACKET_THRESHOLD: u64 = 3;

#[cfg(test)]
mod tests;
