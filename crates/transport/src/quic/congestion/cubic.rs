//! CUBIC's congestion avoidance (RFC 9438 §4). Windows are in bytes here, in segments in the RFC.

use super::{Acked, Growth};
use std::time::{Duration, Instant};

/// RFC 9438 §5: what remains after a loss, and how fast the window returns (segments a second³).
const BETA: f64 = 0.7;
const C: f64 = 0.4;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cubic {
    /// W_max: the window before the last congestion event.
    largest: f64,
    /// The window before the last congestion event, without fast convergence.
    prior: f64,
    epoch: Option<Epoch>,
}

/// The time since the last congestion event.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    start: Instant,
    /// K, in seconds: when the cubic function reaches W_max again.
    returns: f64,
    /// W_est: the window that Reno would have.
    reno: f64,
}

impl Cubic {
    fn begin(&mut self, acked: &Acked, window: f64) -> Epoch {
        let missing = (self.largest - window).max(0.0) / acked.mtu;
        self.largest = self.largest.max(window);
        Epoch { start: acked.now, returns: (missing / C).cbrt(), reno: window }
    }
}

impl Growth for Cubic {
    fn name(&self) -> &'static str {
        "cubic"
    }

    fn remains(&self) -> f64 {
        BETA
    }

    fn handle_congestion(&mut self, window: f64) {
        // §4.7, fast convergence: a flow that gets less than before leaves space to new ones.
        self.largest = if window < self.largest { window * (1.0 + BETA) / 2.0 } else { window };
        self.prior = window;
        self.epoch = None;
    }

    fn grow(&mut self, acked: &Acked, window: f64) -> f64 {
        let mut epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin(acked, window),
        };
        // §4.3: as Reno with this increase has the same window on average, until it has reached what it lost.
        let alpha = if epoch.reno < self.prior { 3.0 * (1.0 - BETA) / (1.0 + BETA) } else { 1.0 };
        epoch.reno += alpha * acked.mtu * acked.bytes / window;
        self.epoch = Some(epoch);
        let elapsed = acked.now.duration_since(epoch.start);
        let cubic = |at: Duration| {
            self.largest + C * (at.as_secs_f64() - epoch.returns).powi(3) * acked.mtu
        };
        if cubic(elapsed) < epoch.reno {
            return window.max(epoch.reno);
        }
        // §4.2.
        let target = cubic(elapsed + acked.rtt).clamp(window, 1.5 * window);
        window + (target - window) * acked.bytes / window
    }

    fn handle_pause(&mut self, span: Duration) {
        // §5.8: time without enough to send does not count.
        if let Some(epoch) = &mut self.epoch {
            epoch.start += span;
        }
    }
}
