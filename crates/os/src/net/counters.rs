//! What a forwarder counts: enough to tell whether the link behaved as its model says.

use serde::{Deserialize, Serialize};
use std::time::Duration;
use trace::Fate;

/// Counters of a whole link.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LinkCounters {
    /// From near to far.
    pub up: WayCounters,
    /// From far to near.
    pub down: WayCounters,
    /// Packets that were still in queues or on their way when it stopped.
    pub under_way: u64,
    /// How much later than in the model packets left.
    pub lateness: Lateness,
    /// How often the wall clock was set meanwhile. Arrival stamps are wrong across such a step.
    pub clock_steps: u64,
}

/// Counters of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WayCounters {
    /// Packets that entered the link.
    pub packets: u64,
    /// Their IP bytes.
    pub bytes: u64,
    /// Packets that left it.
    pub delivered: u64,
    /// Their IP bytes.
    pub delivered_bytes: u64,
    /// Packets dropped by the seeded loss: planned.
    pub lost: u64,
    /// Packets dropped by a full queue: planned.
    pub queue_full: u64,
    /// Packets dropped by the queue's active management: planned.
    #[serde(default)]
    pub aqm_dropped: u64,
    /// Packets dropped by a policer or a limit on UDP: planned.
    #[serde(default)]
    pub policed: u64,
    /// UDP that the link blocks, and packets for which its NAT has no mapping: planned.
    #[serde(default)]
    pub blocked: u64,
    /// Packets that left with a mark of the queue (CE).
    #[serde(default)]
    pub marked: u64,
    /// Frames that the kernel dropped before we read them: unplanned.
    pub missed: u64,
    /// Packets that the kernel would not send: unplanned.
    pub unsent: u64,
    /// Frames that bypassed the link: ARP, multicast, not IP.
    pub beside: u64,
}

impl WayCounters {
    /// Packets that have entered and neither left nor were dropped.
    pub(crate) fn under_way(&self) -> u64 {
        let planned = [self.lost, self.queue_full, self.aqm_dropped, self.policed, self.blocked];
        let gone = planned.iter().sum::<u64>() + self.delivered + self.unsent;
        self.packets.saturating_sub(gone)
    }

    pub(crate) fn count(&mut self, fate: Fate) {
        match fate {
            Fate::Delivered { .. } => {}
            Fate::Lost => self.lost += 1,
            Fate::QueueFull => self.queue_full += 1,
            Fate::AqmDropped => self.aqm_dropped += 1,
            Fate::Policed => self.policed += 1,
            Fate::Blocked => self.blocked += 1,
        }
    }
}

impl LinkCounters {
    /// Drops that the model did not ask for.
    pub fn unplanned(&self) -> u64 {
        [self.up, self.down].iter().map(|way| way.missed + way.unsent).sum()
    }
}

/// A histogram of how late packets left. Bucket k holds latenesses below 2^k nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Lateness {
    buckets: Vec<u64>,
    count: u64,
    sum: u64,
    max: u64,
}

impl Lateness {
    pub(crate) fn record(&mut self, late: Duration) {
        let nanos = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
        let bucket = 64 - nanos.leading_zeros() as usize;
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.count += 1;
        self.sum += nanos;
        self.max = self.max.max(nanos);
    }

    /// How many packets were timed.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean.
    pub fn mean(&self) -> Duration {
        Duration::from_nanos(self.sum.checked_div(self.count).unwrap_or(0))
    }

    /// The worst.
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.max)
    }

    /// An upper bound of this quantile of the lateness, within a factor of two.
    pub fn quantile_bound(&self, fraction: f64) -> Duration {
        let wanted = (self.count as f64 * fraction).ceil() as u64;
        let mut seen = 0;
        for (power, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                let bound = 1_u64.checked_shl(power as u32).unwrap_or(u64::MAX);
                return Duration::from_nanos(bound.min(self.max));
            }
        }
        self.max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_bound_what_was_recorded() {
        let mut lateness = Lateness::default();
        for micros in 1..=100 {
            lateness.record(Duration::from_micros(micros));
        }
        assert_eq!(lateness.mean(), Duration::from_nanos(50_500));
        assert_eq!(lateness.max(), Duration::from_micros(100));
        let median = lateness.quantile_bound(0.5);
        assert!(median >= Duration::from_micros(50) && median <= Duration::from_micros(100));
        assert_eq!(Lateness::default().quantile_bound(0.99), Duration::ZERO);
    }
}
