//! HyStart++ (RFC 9406): slow start ends where round trips grow longer, before the queue overflows.
//!
//! An acknowledgement gives one sample: the round trip of the newest packet that it acknowledges (RFC 9406 §4.2,
//! RFC 9002 §5.1). The older ones waited at the peer until it acknowledged them all, so their times say how long the packets took
//! to send, not how long the path is.
//!
//! Two things differ. The RFC compares the shortest round trip of a whole round, which the first packet has: it meets the
//! queue empty. With a queue of one bandwidth-delay product the next round overflows it before that shows. Here the
//! shortest of the last eight samples counts, so that a queue which grows within the round is seen. And conservative slow
//! start, which is there to doubt the first sign, ends at a second one in a later round: round trips that have grown as
//! much again. In the same round both may come from packets that were sent faster than the path delivers, by a window
//! that it would hold: the next round begins with short ones then.

use std::time::{Duration, Instant};

/// The state of one slow start. Times are in nanoseconds, which cost least.
#[derive(Debug, Clone, Copy)]
pub(super) struct HyStart {
    phase: Phase,
    /// When the newest packet of the present acknowledgement was sent. None before the first one of it.
    newest: Option<Instant>,
    /// The same of all acknowledgements before.
    newest_before: Instant,
    /// What was sent from here on belongs to the present round.
    round_start: Instant,
    /// A round trip as long as this is longer than those of the last round.
    longer: Option<u64>,
    /// The shortest round trip of the present round.
    shortest: Option<u64>,
    samples: usize,
    recent: [u64; SAMPLES],
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
            newest: None,
            newest_before: now,
            round_start: now,
            longer: None,
            shortest: None,
            samples: 0,
            recent: [0; SAMPLES],
        }
    }

    /// An acknowledgement has come for a packet that was sent then. Call `end_ack` after the last packet of it.
    pub(super) fn handle_packet(&mut self, sent: Instant) {
        self.newest = self.newest.max(Some(sent));
    }

    /// The acknowledgement has no more packets: takes its sample. One with nothing but older packets than were acknowledged
    /// before gives none: they came late, or their acknowledgement did.
    pub(super) fn end_ack(&mut self, now: Instant) {
        let Some(sent) = self.newest.take().filter(|sent| *sent >= self.newest_before) else {
            return;
        };
        self.newest_before = sent;
        if sent >= self.round_start {
            self.begin_round(now);
        }
        self.handle_sample(now.duration_since(sent));
    }

    fn handle_sample(&mut self, round_trip: Duration) {
        let sample = u64::try_from(round_trip.as_nanos()).unwrap_or(u64::MAX);
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
