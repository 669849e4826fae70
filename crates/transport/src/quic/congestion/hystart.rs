//! HyStart++ (RFC 9406): slow start ends where round trips grow longer, before the queue overflows.
//!
//! Two things differ. The RFC compares the shortest round trip of a whole round, which the first packet has: it meets the
//! queue empty. With a queue of one bandwidth-delay product the next round overflows it before that shows. Here the
//! shortest of the last eight samples counts, so that a queue which grows within the round is seen. And conservative slow
//! start, which is there to doubt the first sign, ends at a second one in a later round: round trips that have grown as
//! much again. In the same round both may come from packets that were sent faster than the path delivers, by a window
//! that it would hold: the next round begins with short ones then.

use std::time::Instant;

/// The state of one slow start. Each acknowledged packet is looked at: times are in nanoseconds, which cost least.
#[derive(Debug, Clone, Copy)]
pub(super) struct HyStart {
    phase: Phase,
    /// What was sent from here on belongs to the present round.
    round_start: Instant,
    /// A round trip as long as this is longer than those of the last round.
    longer: Option<u64>,
    /// The shortest round trip of the present round.
    shortest: Option<u64>,
    samples: usize,
    recent: [u64; SAMPLES],
    last: Sample,
}

/// Packets of a batch were sent at one time, and mostly are acknowledged at one.
#[derive(Debug, Clone, Copy)]
struct Sample {
    acknowledged: Instant,
    sent: Instant,
    round_trip: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    SlowStart,
    /// Conservative slow start, after so many of its rounds. It returns to slow start where round trips are shorter
    /// than this again.
    Conservative {
        rounds: u32,
        baseline: u64,
    },
    Over,
}

// RFC 9406 §4.3. L, the limit of growth for senders that do not pace, is infinite: quinn-proto paces.
const MIN_RTT_THRESHOLD: u64 = 4_000_000;
const MAX_RTT_THRESHOLD: u64 = 16_000_000;
const MIN_RTT_DIVISOR: u64 = 8;
const SAMPLES: usize = 8;
const CONSERVATIVE_DIVISOR: f64 = 4.0;
const CONSERVATIVE_ROUNDS: u32 = 5;

impl HyStart {
    /// A slow start that begins.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            phase: Phase::SlowStart,
            round_start: now,
            longer: None,
            shortest: None,
            samples: 0,
            recent: [0; SAMPLES],
            last: Sample { acknowledged: now, sent: now, round_trip: 0 },
        }
    }

    /// A packet that was sent then is acknowledged now.
    pub(super) fn handle_ack(&mut self, now: Instant, sent: Instant) {
        if sent >= self.round_start {
            self.begin_round(now);
        }
        let sample = self.round_trip(now, sent);
        self.shortest = Some(self.shortest.map_or(sample, |shortest| shortest.min(sample)));
        self.recent[self.samples % SAMPLES] = sample;
        self.samples += 1;
        if self.samples < SAMPLES {
            return;
        }
        let recent = self.recent.into_iter().min().unwrap_or(sample);
        match self.phase {
            Phase::SlowStart => {
                if self.longer.is_some_and(|longer| recent >= longer) {
                    self.phase = Phase::Conservative { rounds: 0, baseline: recent };
                }
            }
            // The round in which it began tells nothing more: it started with shorter ones.
            Phase::Conservative { rounds: 0, .. } => {}
            Phase::Conservative { baseline, .. }
                if self.shortest.is_some_and(|shortest| shortest < baseline) =>
            {
                self.phase = Phase::SlowStart;
            }
            Phase::Conservative { baseline, .. } if recent >= longer_than(baseline) => {
                self.phase = Phase::Over;
            }
            Phase::Conservative { .. } | Phase::Over => {}
        }
    }

    fn round_trip(&mut self, now: Instant, sent: Instant) -> u64 {
        if sent != self.last.sent || now != self.last.acknowledged {
            let round_trip = u64::try_from(now.duration_since(sent).as_nanos()).unwrap_or(u64::MAX);
            self.last = Sample { acknowledged: now, sent, round_trip };
        }
        self.last.round_trip
    }

    /// How much the window grows for these bytes.
    pub(super) fn growth(&self, acked: f64) -> f64 {
        match self.phase {
            Phase::SlowStart => acked,
            Phase::Conservative { .. } => acked / CONSERVATIVE_DIVISOR,
            Phase::Over => 0.0,
        }
    }

    /// Whether congestion avoidance follows.
    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    fn begin_round(&mut self, now: Instant) {
        self.longer = self.shortest.take().map(longer_than);
        self.samples = 0;
        self.round_start = now;
        if let Phase::Conservative { rounds, baseline } = self.phase {
            self.phase = match rounds + 1 {
                CONSERVATIVE_ROUNDS => Phase::Over,
                rounds => Phase::Conservative { rounds, baseline },
            };
        }
    }
}

/// What is longer than these round trips by so much that they must have grown.
fn longer_than(shortest: u64) -> u64 {
    let threshold = (shortest / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESHOLD, MAX_RTT_THRESHOLD);
    shortest.saturating_add(threshold)
}
