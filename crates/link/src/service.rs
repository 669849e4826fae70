//! The bottleneck's server: when a packet's first and last byte leave. The one rule: rounding errors do not add up. A
//! thousand packets leave exactly when one packet of their total size would.

use crate::schedule::Schedule;
use std::sync::Arc;
use trace::Passage;
use unit::{BitRate, ByteSize, Instant};

/// First-come, first-served sending. The state is when the server becomes free for the next packet.
#[derive(Debug, Clone)]
pub(crate) enum Service {
    Unlimited,
    Rate { rate: BitRate, free: Instant, remainder: u64 },
    Trace { schedule: Arc<Schedule>, start: Option<Instant>, next: u64, left: u64 },
}

/// When a packet is in service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) begin: Instant,
    pub(crate) depart: Instant,
}

impl Slot {
    /// The passage of a packet that came to the queue at `entered` and was sent in this slot, without a mark.
    pub(crate) fn passage(self, entered: Instant) -> Passage {
        Passage { entered, left_queue: self.begin, sent: self.depart, is_marked: false }
    }
}

impl Service {
    pub(crate) fn rate(rate: BitRate) -> Self {
        Self::Rate { rate, free: Instant::ZERO, remainder: 0 }
    }

    pub(crate) fn trace(schedule: Arc<Schedule>) -> Self {
        Self::Trace { schedule, start: None, next: 0, left: Schedule::OPPORTUNITY.0 }
    }

    /// Starts a trace's clock. Both directions of a link start theirs with the first packet of either; without this,
    /// [`Self::begin`] starts it with the first packet of its own.
    pub(crate) fn start_trace(&mut self, now: Instant) {
        if let Self::Trace { start, .. } = self {
            *start = Some(now);
        }
    }

    /// When a packet that arrives at `arrival` and is let in would begin service.
    pub(crate) fn begin(&mut self, arrival: Instant) -> Instant {
        match self {
            Self::Unlimited => arrival,
            Self::Rate { free, .. } => arrival.max(*free),
            Self::Trace { schedule, start, next, left } => {
                // No opportunity before the first packet could have been used.
                let start = *start.get_or_insert(arrival);
                skip_unused(schedule, arrival.since(start).as_nanos() as u64, next, left);
                Instant::from_nanos(start.nanos().saturating_add(schedule.nanos_of(*next)))
            }
        }
    }

    /// Whether it could have sent something between the last packet and `now`.
    pub(crate) fn was_idle(&self, now: Instant) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Rate { free, .. } => *free <= now,
            // An opportunity has passed that was not used, or not to its end.
            Self::Trace { schedule, start, next, .. } => start.is_some_and(|start| {
                schedule.first_after(now.since(start).as_nanos() as u64) > *next
            }),
        }
    }

    /// Serves a packet: the slot it takes.
    pub(crate) fn serve(&mut self, arrival: Instant, length: ByteSize) -> Slot {
        let begin = self.begin(arrival);
        let depart = match self {
            Self::Unlimited => begin,
            Self::Rate { rate, free, remainder } => {
                if *free < arrival {
                    *remainder = 0;
                }
                *free = after_bits(begin, *rate, length, remainder);
                *free
            }
            Self::Trace { schedule, start, next, left } => {
                let opportunity = take_opportunities(length + Schedule::FRAMING, next, left);
                let nanos = schedule.nanos_of(opportunity);
                Instant::from_nanos(start.unwrap_or(arrival).nanos().saturating_add(nanos))
            }
        };
        Slot { begin, depart }
    }
}

/// `begin` and the time for `length`, the part below a nanosecond kept in `remainder` (in 1/rate ns).
fn after_bits(begin: Instant, rate: BitRate, length: ByteSize, remainder: &mut u64) -> Instant {
    let rate = u128::from(rate.bits_per_second());
    let due = u128::from(length.0) * 8 * 1_000_000_000 + u128::from(*remainder);
    *remainder = (due % rate) as u64;
    let nanos = u64::try_from(due / rate).unwrap_or(u64::MAX);
    Instant::from_nanos(begin.nanos().saturating_add(nanos))
}

/// Opportunities that passed with nothing to send are lost. So is the unused part of an opportunity that has begun.
fn skip_unused(schedule: &Schedule, elapsed: u64, next: &mut u64, left: &mut u64) {
    let first = schedule.first_after(elapsed);
    if first > *next {
        *next = first;
        *left = Schedule::OPPORTUNITY.0;
    }
}

/// Takes `bytes` from as many opportunities as it needs; the index of the last one.
fn take_opportunities(bytes: ByteSize, next: &mut u64, left: &mut u64) -> u64 {
    let full = Schedule::OPPORTUNITY.0;
    let beyond = bytes.0.saturating_sub(*left);
    if beyond == 0 {
        let used = *next;
        *left -= bytes.0;
        if *left == 0 {
            (*next, *left) = (*next + 1, full);
        }
        return used;
    }
    let more = beyond.div_ceil(full);
    let last = *next + more;
    *left = more * full - beyond;
    *next = last;
    if *left == 0 {
        (*next, *left) = (last + 1, full);
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn trace_service(text: &str) -> Service {
        Service::trace(Arc::new(Schedule::parse(text).unwrap()))
    }

    #[test]
    fn a_packet_spans_opportunities_and_the_remainder_serves_the_next() {
        let mut service = trace_service("1\n2\n3\n");
        let large = ByteSize(2_000);
        assert_eq!(
            service.serve(millis(10), large),
            Slot { begin: millis(11), depart: millis(12) }
        );
        // 1004 bytes of the second opportunity are left: a packet of 1000 and 4 of framing fits.
        assert_eq!(
            service.serve(millis(10), ByteSize(1_000)),
            Slot { begin: millis(12), depart: millis(12) }
        );
        assert_eq!(service.serve(millis(10), ByteSize(1_500)).depart, millis(13));
    }

    #[test]
    fn unused_opportunities_are_lost() {
        let mut service = trace_service("1\n");
        assert_eq!(service.serve(millis(0), ByteSize(100)).depart, millis(1));
        assert_eq!(service.serve(millis(5), ByteSize(1_500)).depart, millis(6));
        assert_eq!(service.serve(millis(5), ByteSize(1_500)).depart, millis(7));
    }

    #[test]
    fn a_trace_was_idle_once_an_opportunity_passed_that_no_packet_filled() {
        let mut service = trace_service("1\n");
        assert!(!service.was_idle(millis(5)), "nothing has come yet");
        service.serve(millis(0), ByteSize(1_500));
        let before_the_next = Instant::from_nanos(1_999_999);
        assert_eq!([before_the_next, millis(2)].map(|at| service.was_idle(at)), [false, true]);
        service.serve(millis(2), ByteSize(100));
        let before_its_own = Instant::from_nanos(2_999_999);
        assert_eq!([before_its_own, millis(3)].map(|at| service.was_idle(at)), [false, true]);
    }

    #[test]
    fn the_rest_of_an_opportunity_is_lost_once_its_moment_has_passed() {
        let mut service = trace_service("1\n");
        service.serve(millis(0), ByteSize(100));
        assert_eq!(service.serve(millis(1), ByteSize(100)).depart, millis(2));
    }

    #[test]
    fn a_rate_that_divides_nothing_is_met_exactly_over_a_million_packets() {
        let rate = BitRate::new(7_000_003).unwrap();
        let mut service = Service::rate(rate);
        let mut last = Instant::ZERO;
        for _ in 0..1_000_000 {
            last = service.serve(Instant::ZERO, ByteSize(1_499)).depart;
        }
        let exact = 1_499_u128 * 8 * 1_000_000_000 * 1_000_000 / 7_000_003;
        assert_eq!(u128::from(last.nanos()), exact);
    }
}
