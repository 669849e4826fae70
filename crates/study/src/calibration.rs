//! What a machine's links were measured to do, compared with a bare veth pair and with their plan, and which links the
//! machine can emulate. Pure: the lab measures, this module computes and judges.

use crate::stats::quantile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use unit::BitRate;

/// One calibration.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// Whether it was the short form that runs before each race.
    pub short: bool,
    /// The share of all cores that other programs left unused while it ran, from 0 to 1.
    pub spare_cpu: f64,
    /// How late a plain timer of a millisecond woke up.
    pub timer: Spread,
    /// How late a thread that never sleeps runs, because its core was taken away. No link can be more punctual.
    #[serde(default)]
    pub polling: Spread,
    /// Round trips over a bare veth pair: the lower bound.
    pub floor: Spread,
    /// Round trips over links.
    pub round_trips: Vec<RoundTripGauge>,
    /// Streams through bottlenecks.
    pub rates: Vec<RateGauge>,
    /// Seeded loss; None where it was not measured.
    pub loss: Option<LossGauge>,
    /// TCP through a link without limits.
    pub throughput: Throughput,
    /// UDP through the same link; None where it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<DatagramGauge>,
}

/// Two percentiles, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// The median.
    pub p50_us: f64,
    /// The 99th percentile.
    pub p99_us: f64,
}

impl Spread {
    /// Of `nanos`; zeros where it is empty.
    pub fn of_nanos(nanos: &[u64]) -> Self {
        let micros: Vec<f64> = nanos.iter().map(|nanos| *nanos as f64 / 1e3).collect();
        let at = |share| quantile(&micros, share).unwrap_or_default();
        Self { p50_us: at(0.5), p99_us: at(0.99) }
    }
}

impl Spread {
    /// Whether `spread` is within this limit. A median may be off either way. A 99th percentile is judged upwards alone: below the bare
    /// pair's it says that this pair was the noisier one.
    pub fn holds(&self, spread: Self) -> bool {
        spread.p50_us.abs() <= self.p50_us && spread.p99_us <= self.p99_us
    }

    /// The percentiles of `spread` that are beyond this limit, in words; None where there is none.
    fn missed_by(&self, spread: Self, what: &str) -> Option<String> {
        let pairs = [("median", spread.p50_us, self.p50_us), ("p99", spread.p99_us, self.p99_us)];
        let is_beyond = [spread.p50_us.abs() > self.p50_us, spread.p99_us > self.p99_us];
        let beyond = pairs.iter().zip(is_beyond).filter_map(|(pair, is_it)| is_it.then_some(pair));
        let words: Vec<String> = beyond
            .map(|(which, is, most)| match (micros(*is), micros(*most)) {
                (is, most) if is == most => format!("{which} a little above its limit of {most}"),
                (is, most) => format!("{which} {is}, limit {most}"),
            })
            .collect();
        (!words.is_empty()).then(|| format!("{what}: {}", words.join(", ")))
    }
}

/// `61 µs`, `6.0 ms`, `53 ms`: every time of a calibration in words.
pub fn micros(micros: f64) -> String {
    match micros {
        small if small.abs() < 1e3 => format!("{small:.0} µs"),
        middle if middle.abs() < 1e4 => format!("{:.1} ms", middle / 1e3),
        large => format!("{:.0} ms", large / 1e3),
    }
}

/// Round trips over a link with nothing but a delay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundTripGauge {
    /// The round trip that the link was to have, in milliseconds.
    pub rtt_ms: f64,
    /// Pings sent.
    pub pings: u32,
    /// Pings without an answer: none, on a link without loss.
    pub unanswered: u32,
    /// The error of the round trips: each percentile, less the round trip planned and the bare pair's same percentile.
    pub error: Spread,
}

impl RoundTripGauge {
    /// From round trips in nanoseconds over a link whose round trip is to be `rtt`.
    pub fn new(rtt: Duration, trips: &[Option<u64>], floor: Spread) -> Self {
        let answered: Vec<u64> = trips.iter().flatten().copied().collect();
        let all = Spread::of_nanos(&answered);
        let rtt_us = rtt.as_secs_f64() * 1e6;
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self {
            rtt_ms: rtt_us / 1e3,
            pings: count(trips.len()),
            unanswered: count(trips.len() - answered.len()),
            error: Spread {
                p50_us: all.p50_us - rtt_us - floor.p50_us,
                p99_us: all.p99_us - rtt_us - floor.p99_us,
            },
        }
    }
}

/// A stream through a bottleneck, timed by the receiving kernel's timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateGauge {
    /// The rate that the link was to have, in bits a second.
    pub bits_per_second: u64,
    /// Packets received.
    pub packets: u32,
    /// The relative error of the rate from the first packet to the last.
    pub error: f64,
    /// How far the gaps between packets were from the ideal gap, in either direction.
    pub gap_error: Spread,
}

impl RateGauge {
    /// From the timestamps in nanoseconds of packets of `bytes` each, in the order of arrival; None of fewer than
    /// three.
    pub fn new(rate: BitRate, bytes: u64, stamps: &[u64]) -> Option<Self> {
        let [first, .., last] = stamps else { return None };
        let ideal = (bytes * 8) as f64 * 1e9 / rate.bits_per_second() as f64;
        let gaps = stamps.len() as f64 - 1.0;
        let taken = last.checked_sub(*first).filter(|taken| *taken > 0 && stamps.len() > 2)? as f64;
        let off = |pair: &[u64]| (pair[1] as f64 - pair[0] as f64 - ideal).abs() as u64;
        let gap_errors: Vec<u64> = stamps.windows(2).map(off).collect();
        Some(Self {
            bits_per_second: rate.bits_per_second(),
            packets: u32::try_from(stamps.len()).unwrap_or(u32::MAX),
            error: ideal * gaps / taken - 1.0,
            gap_error: Spread::of_nanos(&gap_errors),
        })
    }
}

impl RateGauge {
    /// The rate that the link was to have: `9 Mbit/s`.
    pub fn rate_in_words(&self) -> String {
        BitRate::new(self.bits_per_second).map_or_else(String::new, |rate| rate.to_string())
    }
}

/// Whether the losses were those that the seed had planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LossGauge {
    /// Packets sent.
    pub packets: u32,
    /// Packets that were to be lost.
    pub planned: u32,
    /// Packets that were lost although planned to pass, or passed although planned to be lost.
    pub against_plan: u32,
}

/// Payload bits a second of one TCP connection; 0 where it was not measured.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Throughput {
    /// Over a bare veth pair.
    pub bare: f64,
    /// Through a link that passes super-packets whole.
    pub link: f64,
    /// Over a bare veth pair with segmentation offloads off.
    pub bare_segments: f64,
    /// Through a link that splits super-packets into the segments of a wire.
    pub link_segments: f64,
}

/// UDP as QUIC sends it: trains of datagrams that the sender's kernel splits (GSO), through a link that has each packet pass
/// alone and hands those on together that are due together. One megabyte is under way at most.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DatagramGauge {
    /// Datagrams of a train.
    pub train: u32,
    /// In trains through the link.
    pub trains: LinkLoad,
    /// One datagram at a time through the link.
    pub single: LinkLoad,
    /// One TCP connection through the link, to compare with.
    pub tcp: LinkLoad,
}

/// What a link did under as much as it takes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LinkLoad {
    /// Payload bits a second.
    pub bits_per_second: f64,
    /// Processor seconds of the link for a gigabyte.
    pub cpu_s_per_gb: f64,
    /// The 99th percentile of the lateness of packets, in microseconds.
    pub late_p99_us: f64,
}

impl Calibration {
    /// Whether the figures are the machine's own limits. False where other programs used too much of the processor.
    pub fn knows_bounds(&self) -> bool {
        self.spare_cpu >= QUIET
    }

    /// Why a link of this round trip and rate cannot be emulated here, and which can. None where it can, and where
    /// other programs used so much of the processor that the machine's own limits are not known: each trial's audit
    /// decides then.
    pub fn refuses(&self, rtt: Duration, rate: Option<BitRate>) -> Option<String> {
        if !self.knows_bounds() {
            return None;
        }
        self.too_fast(rate).or_else(|| self.too_fine(rtt))
    }

    /// What is beyond its limit, a phrase each: `error of a round trip of 10 ms: p99 61 µs, limit 50 µs`.
    pub fn beyond_limits(&self) -> Vec<String> {
        let trips = self.round_trips.iter().filter_map(|gauge| {
            let what = format!("error of a round trip of {} ms", gauge.rtt_ms);
            ROUND_TRIP_LIMIT.missed_by(gauge.error, &what)
        });
        let gaps = self.rates.iter().filter(|gauge| gauge.bits_per_second == GAP_RATE);
        let gaps = gaps.filter_map(|gauge| {
            let what = format!("error of gaps between packets at {}", gauge.rate_in_words());
            GAP_LIMIT.missed_by(gauge.gap_error, &what)
        });
        let rates = self.rates.iter().filter(|gauge| gauge.error.abs() > RATE_LIMIT);
        let rates = rates.map(|gauge| {
            let (rate, error) = (gauge.rate_in_words(), gauge.error * 100.0);
            format!("rate of {rate}: off by {error:+.3} %, limit {} %", RATE_LIMIT * 100.0)
        });
        let busy = (self.spare_cpu < QUIET).then(|| {
            format!("other programs took {:.0} % of the processors", (1.0 - self.spare_cpu) * 100.0)
        });
        let unanswered = self.round_trips.iter().filter(|gauge| gauge.unanswered > 0);
        let unanswered = unanswered.map(|gauge| {
            format!(
                "{} of {} pings over a round trip of {} ms had no answer",
                gauge.unanswered, gauge.pings, gauge.rtt_ms
            )
        });
        trips.chain(unanswered).chain(gaps).chain(rates).chain(busy).collect()
    }

    /// The likely cause of figures beyond their limits.
    pub fn cause_in_words(&self) -> String {
        match self.polling.p99_us {
            pause if pause > PAUSE_LIMIT_US => {
                format!("the machine itself pauses a busy core for {}", micros(pause))
            }
            _ => "is the machine busy?".to_owned(),
        }
    }

    /// The worst 99th percentile of a round trip's error, in microseconds.
    pub fn finest_us(&self) -> f64 {
        self.round_trips.iter().map(|gauge| gauge.error.p99_us).fold(0.0, f64::max)
    }

    fn too_fast(&self, rate: Option<BitRate>) -> Option<String> {
        let held = self.throughput.link_segments;
        let rate = rate?.bits_per_second() as f64;
        // This throughput was measured under whatever load there was. A link of more than twice that rate is out of
        // reach.
        (held > 0.0 && rate > RATE_ROOM * held).then(|| {
            format!(
                "{:.0} Mbit/s is more than this machine forwards: {:.0} Mbit/s in packets of a wire's size; \
                 choose a rate below {:.0} Mbit/s",
                rate / 1e6,
                held / 1e6,
                held / 1e6,
            )
        })
    }

    fn too_fine(&self, rtt: Duration) -> Option<String> {
        let worst = self.round_trips.iter().map(|gauge| gauge.error.p50_us).fold(0.0, f64::max);
        let rtt_us = rtt.as_secs_f64() * 1e6;
        let held = worst * FINENESS;
        (rtt_us > 0.0 && rtt_us < held).then(|| {
            format!(
                "a round trip of {rtt_us:.0} µs is too fine: half of all packets are more than {worst:.0} µs late \
                 here; choose {held:.0} µs or more"
            )
        })
    }
}

/// A round trip may take so much more than link and floor on a quiet machine.
pub const ROUND_TRIP_LIMIT: Spread = Spread { p50_us: 15.0, p99_us: 50.0 };
/// The gaps of a full bottleneck may be off by so much at [`GAP_RATE`].
pub const GAP_LIMIT: Spread = Spread { p50_us: 10.0, p99_us: 10.0 };
/// The rate at which gaps have a limit, in bits a second.
pub const GAP_RATE: u64 = 9_000_000;
/// A rate may be off by so much, as a share.
pub const RATE_LIMIT: f64 = 2e-4;
/// A machine that pauses a busy core for longer than this, in microseconds, makes more than 1 % of packets late. The
/// limits are for the 99th percentile, so such pauses alone can break them.
const PAUSE_LIMIT_US: f64 = 10.0;
/// The share of the processor that must have been free for a figure to be the machine's own limit.
const QUIET: f64 = 0.8;
/// The greatest rate of a link, as a multiple of what one connection reached through it in segments.
const RATE_ROOM: f64 = 2.0;
/// The shortest round trip, as a multiple of the median error. Below it, half of all packets are off by a fifth.
const FINENESS: f64 = 5.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_delivers_too_early_or_nothing_is_beyond_its_limits() {
        let rtt = Duration::from_millis(10);
        let floor = Spread { p50_us: 20.0, p99_us: 60.0 };
        let beyond = |trips: &[Option<u64>]| {
            let round_trips = vec![RoundTripGauge::new(rtt, trips, floor)];
            Calibration { round_trips, spare_cpu: 1.0, ..Calibration::default() }.beyond_limits()
        };
        assert_eq!(beyond(&[Some(10_020_000); 300]), Vec::<String>::new());
        // The bare pair's 99th percentile was its own noise.
        assert!(beyond(&[Some(5_000_000); 300]).join("").contains("median -5.0 ms"));
        assert!(beyond(&[None; 300]).join("").contains("300 of 300 pings"));
    }

    #[test]
    fn what_is_beyond_its_limit_is_named_with_both_figures() {
        let trip = |error| RoundTripGauge { rtt_ms: 10.0, pings: 300, unanswered: 0, error };
        let good = Calibration {
            spare_cpu: 0.95,
            round_trips: vec![trip(Spread { p50_us: 3.0, p99_us: 44.0 })],
            ..Calibration::default()
        };
        assert_eq!(good.beyond_limits(), Vec::<String>::new());
        let bad = Calibration {
            spare_cpu: 0.4,
            round_trips: vec![trip(Spread { p50_us: 3.0, p99_us: 61.4 })],
            ..good
        };
        assert_eq!(
            bad.beyond_limits(),
            [
                "error of a round trip of 10 ms: p99 61 µs, limit 50 µs",
                "other programs took 60 % of the processors"
            ]
        );
    }

    #[test]
    fn an_error_is_what_goes_beyond_the_link_and_the_floor() {
        let floor = Spread { p50_us: 20.0, p99_us: 40.0 };
        let mut trips = vec![Some(10_030_000); 98];
        trips.extend([Some(10_090_000), Some(10_090_000), None]);
        let gauge = RoundTripGauge::new(Duration::from_millis(10), &trips, floor);
        assert_eq!((gauge.pings, gauge.unanswered), (101, 1));
        assert!((gauge.error.p50_us - 10.0).abs() < 1e-6);
        assert!((gauge.error.p99_us - 50.0).abs() < 1.0, "{gauge:?}");
    }

    #[test]
    fn a_rate_is_counted_from_the_first_packet_to_the_last() {
        // 1500 bytes at 12 Mbit/s leave a millisecond apart; here one gap is a tenth longer.
        let stamps = [0, 1_000_000, 2_100_000, 3_000_000, 4_000_000];
        let rate: BitRate = "12mbit".parse().unwrap();
        let gauge = RateGauge::new(rate, 1500, &stamps).unwrap();
        assert!(gauge.error.abs() < 1e-9);
        assert!((gauge.gap_error.p99_us - 100.0).abs() < 2.0);
        assert_eq!(RateGauge::new(rate, 1500, &stamps[..2]), None);
        let slow: Vec<u64> = stamps.iter().map(|stamp| stamp * 2).collect();
        assert!((RateGauge::new(rate, 1500, &slow).unwrap().error + 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_link_that_the_machine_cannot_hold_is_refused_with_what_it_can() {
        let calibration = Calibration {
            spare_cpu: 0.97,
            round_trips: vec![RoundTripGauge {
                rtt_ms: 10.0,
                pings: 40,
                unanswered: 0,
                error: Spread { p50_us: 40.0, p99_us: 90.0 },
            }],
            throughput: Throughput { link_segments: 2e9, ..Throughput::default() },
            ..Calibration::default()
        };
        let refused = |rtt_us, rate: &str| {
            calibration.refuses(Duration::from_micros(rtt_us), Some(rate.parse().unwrap()))
        };
        assert_eq!(refused(1_000, "1gbit"), None);
        assert!(refused(1_000, "10gbit").unwrap().contains("below 2000 Mbit/s"));
        assert!(refused(100, "1gbit").unwrap().contains("choose 200 µs or more"));
        assert_eq!(refused(0, "1gbit"), None, "a link without a delay has none to miss");
        let busy = Calibration { spare_cpu: 0.4, ..calibration.clone() };
        assert_eq!(busy.refuses(Duration::from_micros(100), "10gbit".parse().ok()), None);
    }
}
