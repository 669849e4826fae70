//! What a traced connection tells of its packets. The one rule: the time is that of the call in which something happened, and
//! a connection whose tracer is off has no observer.

use super::congestion::LossBased;
use quinn_proto::{Connection, ConnectionError};
use secure::{Observed, PacketTap};
use std::collections::BTreeMap;
use trace::{
    Event, QuicEnd, QuicFrame, QuicInitiator, QuicLossTrigger, QuicMetrics, QuicPacket,
    QuicPacketType, QuicSpace, Tracer,
};
use unit::Instant;

/// The observer of a connection.
pub(super) struct Observer {
    tap: PacketTap,
    tracer: Tracer,
    /// Packets that were sent and are neither acknowledged nor lost.
    outstanding: BTreeMap<(QuicSpace, u64), QuicPacketType>,
    /// The highest number that was acknowledged in each space.
    acknowledged: BTreeMap<QuicSpace, u64>,
    /// How many packets quinn-proto has taken for lost, of those that were told. It counts probes of the path's MTU by themselves.
    lost: u64,
    metrics: QuicMetrics,
    is_closed: bool,
}

impl Observer {
    pub(super) fn new(now: Instant, tap: PacketTap, tracer: Tracer, quic: &Connection) -> Self {
        let (local, remote) = (quic.local_ip(), quic.remote_address());
        tracer.emit(now, || Event::QuicStarted { local, remote });
        Self {
            tap,
            tracer,
            outstanding: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            lost: 0,
            metrics: QuicMetrics::default(),
            is_closed: false,
        }
    }

    /// A call has come to its end: tells what happened in it.
    pub(super) fn handle_call(&mut self, now: Instant, quic: &Connection) {
        for observed in self.tap.take() {
            match observed {
                Observed::Sent(packet) => self.handle_sent(now, &packet),
                Observed::Received(packet) => self.handle_received(now, &packet),
                Observed::Parameters(by, parameters) => {
                    self.tracer.emit(now, || Event::QuicParameters { by, parameters: &parameters });
                }
            }
        }
        let path = quic.stats().path;
        self.find_lost(now, path.lost_packets + path.lost_plpmtud_probes);
        let metrics = metrics(quic);
        if metrics != self.metrics {
            self.metrics = metrics;
            self.tracer.emit(now, || Event::QuicMetricsUpdated(metrics));
        }
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
        self.outstanding.retain(|_, kind| *kind != QuicPacketType::ZeroRtt);
    }

    fn handle_sent(&mut self, now: Instant, packet: &QuicPacket) {
        self.tracer.emit(now, || Event::QuicPacketSent(packet));
        self.outstanding.insert((packet.kind.space(), packet.number), packet.kind);
        self.handle_end_of_spaces(packet);
        self.handle_close(now, packet, QuicInitiator::Local);
    }

    fn handle_received(&mut self, now: Instant, packet: &QuicPacket) {
        self.tracer.emit(now, || Event::QuicPacketReceived(packet));
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
        self.handle_end_of_spaces(packet);
        self.handle_close(now, packet, QuicInitiator::Remote);
    }

    /// Packets whose keys are dropped are neither acknowledged nor lost (RFC 9001 §4.9).
    fn handle_end_of_spaces(&mut self, packet: &QuicPacket) {
        if packet.kind == QuicPacketType::Handshake {
            self.forget(QuicSpace::Initial);
        }
        if packet.frames.contains(&QuicFrame::HandshakeDone) {
            self.forget(QuicSpace::Handshake);
        }
    }

    fn forget(&mut self, space: QuicSpace) {
        self.outstanding.retain(|(of, _), _| *of != space);
    }

    fn handle_close(&mut self, now: Instant, packet: &QuicPacket, by: QuicInitiator) {
        for frame in &packet.frames {
            if let QuicFrame::ConnectionClose { space, code } = *frame {
                self.close(now, QuicEnd::Closed { by, space, code });
            }
        }
    }

    fn close(&mut self, now: Instant, end: QuicEnd) {
        if !std::mem::replace(&mut self.is_closed, true) {
            self.tracer.emit(now, || Event::QuicClosed(end));
        }
    }

    /// quinn-proto tells how many packets it takes for lost, and not which. They are the oldest ones of a space: both
    /// rules of RFC 9002 §6.1 take a packet only with those before it.
    fn find_lost(&mut self, now: Instant, lost: u64) {
        while self.lost < lost {
            self.lost += 1;
            let is_lost = |(space, number): &(QuicSpace, u64)| {
                self.acknowledged.get(space).is_some_and(|highest| number < highest)
            };
            let found = self.outstanding.iter().find(|(packet, _)| is_lost(packet));
            let Some((&(space, number), &kind)) = found else { continue };
            let highest = self.acknowledged.get(&space).copied().unwrap_or_default();
            let trigger = if highest >= number + PACKET_THRESHOLD {
                QuicLossTrigger::Reordering
            } else {
                QuicLossTrigger::Time
            };
            self.outstanding.remove(&(space, number));
            self.tracer.emit(now, || Event::QuicPacketLost { kind, number, trigger });
        }
    }
}

fn metrics(quic: &Connection) -> QuicMetrics {
    let stats = quic.stats().path;
    let controller = quic.congestion_state();
    let own: Option<Box<LossBased>> = controller.clone_box().into_any().downcast().ok();
    QuicMetrics {
        smoothed_rtt: stats.rtt,
        min_rtt: stats.min_rtt,
        congestion_window: controller.metrics().congestion_window,
        bytes_in_flight: own.map_or(0, |own| own.in_flight()),
        slow_start_threshold: controller.metrics().ssthresh,
    }
}

/// RFC 9002 §6.1.1, and quinn-proto's default.
const PACKET_THRESHOLD: u64 = 3;
