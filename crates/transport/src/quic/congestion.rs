//! Congestion controllers for quinn-proto by its public trait: CUBIC (RFC 9438) and NewReno (RFC 9002), both with
//! HyStart++ (RFC 9406), which quinn's own lack, and quinn's own BBR.
//!
//! This file is what the first two share: slow start, recovery, persistent congestion. A [`Growth`] is the rest.

mod bbr;
mod cubic;
mod hystart;
mod in_flight;
mod new_reno;

use bbr::RateBased;
use cubic::Cubic;
use hystart::HyStart;
use in_flight::InFlight;
use new_reno::NewReno;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Which congestion controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CongestionController {
    /// CUBIC (RFC 9438), as Linux has it for TCP.
    #[default]
    Cubic,
    /// NewReno (RFC 9002 §7).
    NewReno,
    /// BBR, version 1, as quinn-proto has it: experimental, and not paced by its own rate.
    Bbr,
}

/// Makes the controllers of connections.
#[derive(Debug, Clone, Copy)]
pub(super) struct Factory {
    pub(super) controller: CongestionController,
    /// Packets of the first round.
    pub(super) initial_packets: u32,
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let packets = u64::from(self.initial_packets);
        match self.controller {
            CongestionController::Cubic => {
                Box::new(LossBased::new(now, packets, mtu, Cubic::default()))
            }
            CongestionController::NewReno => Box::new(LossBased::new(now, packets, mtu, NewReno)),
            CongestionController::Bbr => Box::new(RateBased::new(now, packets, mtu)),
        }
    }
}

/// Where a connection's controller stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct ControllerState {
    /// Its name, as Linux calls the like of it.
    pub(super) name: &'static str,
    /// The window, in bytes.
    pub(super) window: u64,
    /// Bytes sent and neither acknowledged nor lost.
    pub(super) in_flight: u64,
}

/// What this module's controllers have beyond the trait's.
trait Own {
    fn state(&self) -> ControllerState;

    fn in_flight(&self) -> &InFlight;
}

/// Asks a controller that [`Factory`] has made.
fn ask<T>(controller: &dyn Controller, question: impl FnOnce(&dyn Own) -> T) -> Option<T> {
    // quinn-proto shows a controller's own type of a copy alone.
    let copy = controller.clone_box().into_any();
    let own = copy.downcast_ref::<LossBased<Cubic>>().map(|own| own as &dyn Own);
    let own = own.or_else(|| copy.downcast_ref::<LossBased<NewReno>>().map(|own| own as _));
    own.or_else(|| copy.downcast_ref::<RateBased>().map(|own| own as _)).map(question)
}

/// Tells a controller that so many of the bytes sent were in packets that elicit no acknowledgement.
pub(super) fn take_out_of_flight(controller: &dyn Controller, bytes: u64) {
    let _foreign = ask(controller, |own| own.in_flight().take_out(bytes));
}

impl ControllerState {
    /// Of a controller that [`Factory`] has made.
    pub(super) fn of(controller: &dyn Controller) -> Option<Self> {
        ask(controller, |own| own.state())
    }

    /// The bytes that may be sent now, but for the pacer.
    pub(super) fn allowance(&self) -> u64 {
        (self.window + CONTROL_BYTES).saturating_sub(self.in_flight)
    }
}

/// How the window grows after slow start, and how far it shrinks.
trait Growth: Copy + Send + Sync + 'static {
    fn name(&self) -> &'static str;

    /// What remains of a window after a loss.
    fn remains(&self) -> f64;

    /// A congestion event: the window was so large.
    fn handle_congestion(&mut self, window: f64);

    /// After slow start, bytes were acknowledged: gives the new window.
    fn grow(&mut self, acked: &Acked, window: f64) -> f64;

    /// For a while there was too little to send for the window to matter.
    fn handle_pause(&mut self, span: Duration);
}

/// An acknowledgement of one packet.
struct Acked {
    now: Instant,
    bytes: f64,
    /// The datagram size that windows are counted in.
    mtu: f64,
    rtt: Duration,
}

/// A controller that takes loss (and ECN's marks) for congestion.
#[derive(Clone)]
struct LossBased<G> {
    initial_packets: u64,
    mtu: u64,
    /// In bytes. Not whole, because CUBIC grows by fractions.
    window: f64,
    threshold: f64,
    in_flight: InFlight,
    usage: Usage,
    /// The last congestion event: what was sent before it causes no further one.
    recovery_start: Option<Instant>,
    /// Since when acknowledgements have shown that the application has too little to send. None where they do not.
    paused: Option<Instant>,
    /// Since when nothing is in flight, as long as nothing is.
    idle_since: Instant,
    hystart: HyStart,
    growth: G,
}

/// How much of the window was used, in the present round and in the one before.
///
/// quinn-proto calls a connection limited by its application where it has nothing queued. Here nothing ever is: bytes are
/// handed over as the window allows them.
#[derive(Clone, Copy)]
struct Usage {
    peak: u64,
    last_peak: u64,
    round_start: Instant,
}

impl Usage {
    fn handle_ack(&mut self, now: Instant, sent: Instant, in_flight: u64) {
        if sent >= self.round_start {
            *self = Self { peak: in_flight, last_peak: self.peak, round_start: now };
        }
    }

    fn most(&self) -> u64 {
        self.peak.max(self.last_peak)
    }
}

impl<G: Growth> LossBased<G> {
    fn new(now: Instant, initial_packets: u64, mtu: u16, growth: G) -> Self {
        let mtu = u64::from(mtu);
        Self {
            initial_packets,
            mtu,
            window: (initial_packets * mtu) as f64,
            threshold: f64::INFINITY,
            in_flight: InFlight::default(),
            usage: Usage { peak: 0, last_peak: 0, round_start: now },
            recovery_start: None,
            paused: None,
            idle_since: now,
            hystart: HyStart::new(now),
            growth,
        }
    }

    /// RFC 9002 §7.2: two datagrams.
    fn minimum(&self) -> f64 {
        (2 * self.mtu) as f64
    }

    fn is_in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// Whether the window, and not the application, limits what is sent (RFC 9002 §7.8). As Linux has it: in slow start
    /// half of the window is enough.
    fn is_used(&self) -> bool {
        let most = self.usage.most() as f64;
        if self.is_in_slow_start() {
            2.0 * most >= self.window
        } else {
            most + (UNUSED_DATAGRAMS * self.mtu) as f64 >= self.window
        }
    }

    /// Bytes go, and nothing was in flight until now: no acknowledgement has come that could have told of this pause.
    fn end_idle(&mut self, now: Instant) {
        // Where one came before that did, that pause goes on, and this time is part of it.
        if self.paused.is_none() {
            self.growth.handle_pause(now.duration_since(self.idle_since));
        }
        self.idle_since = now;
    }

    /// Packets were acknowledged or lost. Notes where nothing is in flight any more.
    fn change_in_flight(&mut self, now: Instant, change: impl FnOnce(&mut InFlight)) {
        let before = self.in_flight.bytes();
        change(&mut self.in_flight);
        if before > 0 && self.in_flight.bytes() == 0 {
            self.idle_since = now;
        }
    }

    /// A packet was acknowledged. `rtt` is the smoothed round trip.
    fn handle_packet(&mut self, now: Instant, sent: Instant, bytes: u64, rtt: Duration) {
        let is_slow_start = self.is_in_slow_start();
        if is_slow_start {
            self.hystart.handle_packet(sent);
        }
        self.usage.handle_ack(now, sent, self.in_flight.bytes());
        if !self.is_used() {
            self.paused.get_or_insert(now);
            return;
        }
        if self.recovery_start.is_some_and(|start| sent <= start) && !is_slow_start {
            return;
        }
        if is_slow_start {
            return self.grow_in_slow_start(now, bytes);
        }
        if let Some(since) = self.paused.take() {
            self.growth.handle_pause(now.duration_since(since));
        }
        let (bytes, mtu) = (bytes as f64, self.mtu as f64);
        let acked = Acked { now, bytes, mtu, rtt };
        self.window = self.growth.grow(&acked, self.window).max(self.minimum());
    }

    /// Grows by what was acknowledged. A datagram that is not half full does not count: those of the handshake's end would make
    /// each round a packet longer than TCP's.
    fn grow_in_slow_start(&mut self, now: Instant, bytes: u64) {
        let counted = if 2 * bytes < self.mtu { 0 } else { bytes };
        self.window += self.hystart.growth(counted as f64);
        self.paused = None;
        self.recovery_start.get_or_insert(now);
    }

    /// All packets of an acknowledgement were told: slow start may be over.
    fn review_slow_start(&mut self, now: Instant) {
        if !self.is_in_slow_start() {
            return;
        }
        self.hystart.end_ack(now);
        if self.hystart.is_over() {
            self.threshold = self.window;
            self.growth.handle_congestion(self.window);
        }
    }
}

impl<G: Growth> Own for LossBased<G> {
    fn state(&self) -> ControllerState {
        let (name, window) = (self.growth.name(), self.window as u64);
        ControllerState { name, window, in_flight: self.in_flight.bytes() }
    }

    fn in_flight(&self) -> &InFlight {
        &self.in_flight
    }
}

impl<G: Growth> Controller for LossBased<G> {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last: u64) {
        if self.in_flight.bytes() == 0 {
            self.end_idle(now);
        }
        // The next acknowledgement tells it exactly.
        self.in_flight.add(bytes);
        self.usage.peak = self.usage.peak.max(self.in_flight.bytes());
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        _app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.handle_packet(now, sent, bytes, rtt.get());
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, _limited: bool, _largest: Option<u64>) {
        self.change_in_flight(now, |own| own.set(in_flight));
        self.review_slow_start(now);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent: bool,
        lost_bytes: u64,
    ) {
        self.change_in_flight(now, |own| own.lose(lost_bytes));
        let is_new =
            self.threshold.is_infinite() || self.recovery_start.is_none_or(|start| sent > start);
        if is_new {
            self.growth.handle_congestion(self.window);
            self.threshold = (self.window * self.growth.remains()).max(self.minimum());
            self.window = self.threshold;
            self.recovery_start = Some(now);
        }
        if is_persistent {
            // RFC 9002 §7.6.2.
            self.window = self.minimum();
            self.recovery_start = None;
            self.hystart = HyStart::new(now);
        }
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.mtu = u64::from(mtu);
        self.window = self.window.max(self.minimum());
    }

    /// What quinn-proto keeps the bytes in flight to, and what its pacer counts by: it lets out 1.25 of it a round trip.
    ///
    /// In slow start that is more than the window, so that each round's last datagrams go within the round, as TCP's do. Once the
    /// window has no room for a datagram it is the window (RFC 9002 §7): quinn-proto may have more bytes than the window lets out,
    /// because flow control kept them back. CONTROL_BYTES go on top of either.
    ///
    /// One byte above, because quinn-proto sends while bytes in flight and the next datagram are *below* this, where
    /// RFC 9002 §7 allows as much as the window.
    fn window(&self) -> u64 {
        let window = self.window as u64;
        let has_room = self.in_flight.bytes() + self.mtu <= window + CONTROL_BYTES;
        let paced = match has_room && self.threshold.is_infinite() {
            true => (self.window * SLOW_START_PACING) as u64,
            false => window,
        };
        paced + CONTROL_BYTES + 1
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window as u64;
        metrics.ssthresh = self.threshold.is_finite().then_some(self.threshold as u64);
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.initial_packets * self.mtu
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// HANDSHAKE_DONE, NEW_TOKEN and NEW_CONNECTION_ID go with a server's first answer, in a packet of their own. They go beside the
/// window, so that the first round has as many full datagrams as over TCP, where there is nothing like them.
const CONTROL_BYTES: u64 = 520;

/// With quinn-proto's 1.25, 2 windows a round trip, as Linux has it in slow start (`tcp_pacing_ss_ratio`).
const SLOW_START_PACING: f64 = 1.6;

/// A full window may lack what a batch of whole datagrams does not fill.
const UNUSED_DATAGRAMS: u64 = 3;

#[cfg(test)]
mod tests;
