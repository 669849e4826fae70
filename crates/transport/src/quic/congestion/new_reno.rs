//! NewReno's congestion avoidance (RFC 9002 §7.3.3): one datagram for each window acknowledged.

use super::{Acked, Growth};
use std::time::Duration;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NewReno;

impl Growth for NewReno {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn remains(&self) -> f64 {
        0.5
    }

    fn handle_congestion(&mut self, _window: f64) {}

    fn grow(&mut self, acked: &Acked, window: f64) -> f64 {
        window + acked.mtu * acked.bytes / window
    }

    fn handle_pause(&mut self, _span: Duration) {}
}
