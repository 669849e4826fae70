//! BBR, version 1, as quinn-proto has it: an estimate of the path's rate and round trip in place of losses
//! (draft-cardwell-iccrg-bbr-congestion-control). The one rule: it decides; this only tells it when the application had too
//! little to send, which quinn-proto cannot know here.
//!
//! Two things differ from Linux's: quinn-proto does not pace by BBR's rate but by its window, and where the first cycle of
//! probing begins is drawn from the system's randomness, so that two runs of one seed are not the same packet for packet.

use super::in_flight::InFlight;
use super::{CONTROL_BYTES, ControllerState, Own, Usage};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Bbr, BbrConfig, Controller, ControllerMetrics};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// A connection's controller.
#[derive(Clone)]
pub(super) struct RateBased {
    bbr: Bbr,
    in_flight: InFlight,
    usage: Usage,
}

impl RateBased {
    /// One that begins with so many packets of `mtu` bytes.
    pub(super) fn new(now: Instant, initial_packets: u64, mtu: u16) -> Self {
        let mut config = BbrConfig::default();
        config.initial_window(initial_packets * u64::from(mtu));
        let usage = Usage { peak: 0, last_peak: 0, round_start: now };
        Self { bbr: Bbr::new(Arc::new(config), mtu), in_flight: InFlight::default(), usage }
    }

    /// Whether the application has too little to send for a rate to be measured. Of its window, two estimates of what the path
    /// holds, half is enough.
    fn is_limited(&self) -> bool {
        2 * self.usage.most() < self.bbr.window()
    }
}

impl Own for RateBased {
    fn state(&self) -> ControllerState {
        let (window, in_flight) = (self.bbr.window(), self.in_flight.bytes());
        ControllerState { name: "bbr", window, in_flight }
    }

    fn in_flight(&self) -> &InFlight {
        &self.in_flight
    }
}

impl Controller for RateBased {
    fn on_sent(&mut self, now: Instant, bytes: u64, last: u64) {
        self.in_flight.add(bytes);
        self.usage.peak = self.usage.peak.max(self.in_flight.bytes());
        self.bbr.on_sent(now, bytes, last);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        _app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.usage.handle_ack(now, sent, self.in_flight.bytes());
        self.bbr.on_ack(now, sent, bytes, self.is_limited(), rtt);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        _app_limited: bool,
        largest: Option<u64>,
    ) {
        self.in_flight.set(in_flight);
        self.bbr.on_end_acks(now, in_flight, self.is_limited(), largest);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent: bool,
        lost_bytes: u64,
    ) {
        self.in_flight.lose(lost_bytes);
        self.bbr.on_congestion_event(now, sent, is_persistent, lost_bytes);
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.bbr.on_mtu_update(mtu);
    }

    /// As of the controllers that heed losses: see there.
    fn window(&self) -> u64 {
        self.bbr.window() + CONTROL_BYTES + 1
    }

    fn metrics(&self) -> ControllerMetrics {
        self.bbr.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.bbr.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
