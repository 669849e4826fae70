//! The link's time line of a trial: what each direction's bottleneck sent, what stood in its queue, and what was dropped
//! and marked, in bins of equal width. It is made from the link's packet log alone. The one rule: time zero is when the
//! trial's first fetch was queued, as in the waterfall, so that both have one axis.

use crate::reconcile::LinkFacts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use trace::{Direction, Fate, FetchRecord, PacketRecord};
use unit::{BitRate, Instant};

/// What a link did during one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timeline {
    /// The width of a bin, in microseconds. Bin 0 begins when the trial's first fetch was queued.
    pub bin_us: u64,
    /// From the near side to the far.
    pub up: WayTimeline,
    /// From the far side to the near.
    pub down: WayTimeline,
}

/// One direction. Every list has one figure for each bin and ends with its last figure that is not zero.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct WayTimeline {
    /// The bottleneck's rate, a trace's mean rate, in bits a second; absent without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<u64>,
    /// Bytes of IP that the bottleneck sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sent: Vec<u64>,
    /// The most bytes that stood in the queue. The packet that is being sent does not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue_bytes: Vec<u64>,
    /// The longest that a packet which left the queue had waited there, in microseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue_us: Vec<u64>,
    /// Packets dropped by a full queue, by its active management, by a policer, or by what the link lets through of UDP.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<u64>,
    /// Packets taken by the seeded loss, behind the bottleneck.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<u64>,
    /// Packets that the queue marked (ECN's CE).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marked: Vec<u64>,
}

/// The most bins: more could not be told apart on a screen.
pub const MOST_BINS: usize = 100;

impl Timeline {
    /// The time line of a trial, until its last fetch ended. None where nothing was fetched, and where no packet of the log
    /// passed a link.
    pub fn of(packets: &[PacketRecord], fetches: &[FetchRecord], link: LinkFacts) -> Option<Self> {
        let from = fetches.iter().map(|fetch| fetch.phases.queued).min()?;
        let to = fetches.iter().filter_map(|fetch| fetch.phases.last_byte).max()?;
        packets.iter().find(|packet| packet.passage.is_some())?;
        let bin_us = round_bin(to.since(from).as_micros() as u64);
        let count = (to.since(from).as_micros() as u64).div_ceil(bin_us).max(1) as usize;
        let bins = Bins { from, width: bin_us * 1_000, count };
        let way = |direction, rate| bins.way(packets, direction, rate);
        Some(Self {
            bin_us,
            up: way(Direction::Up, link.up),
            down: way(Direction::Down, link.down),
        })
    }

    /// The direction.
    pub fn way(&self, direction: Direction) -> &WayTimeline {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }
}

impl WayTimeline {
    /// Bytes that the bottleneck sent in all.
    pub fn sent_bytes(&self) -> u64 {
        self.sent.iter().sum()
    }

    /// The longest that a packet waited in the queue, in microseconds.
    pub fn longest_queue_us(&self) -> u64 {
        self.queue_us.iter().copied().max().unwrap_or(0)
    }

    /// The most bytes that stood in the queue.
    pub fn most_queue_bytes(&self) -> u64 {
        self.queue_bytes.iter().copied().max().unwrap_or(0)
    }

    /// The share of what the bottleneck could have sent in `span_ms` that it did send; None without a rate.
    pub fn used(&self, span_ms: f64) -> Option<f64> {
        let most = self.rate_bps? as f64 * span_ms / 8e3;
        (most > 0.0).then(|| (self.sent_bytes() as f64 / most).min(1.0))
    }
}

/// The least width in microseconds of 1, 2 or 5 times a power of ten that gives at most [`MOST_BINS`] bins.
fn round_bin(span_us: u64) -> u64 {
    let least = span_us.div_ceil(MOST_BINS as u64).max(1);
    let power = 10_u64.pow(least.ilog10());
    [1, 2, 5, 10]
        .into_iter()
        .map(|factor| factor * power)
        .find(|bin| *bin >= least)
        .unwrap_or(least)
}

/// Bins of equal width.
#[derive(Debug, Clone, Copy)]
struct Bins {
    from: Instant,
    /// In nanoseconds.
    width: u64,
    count: usize,
}

impl Bins {
    fn way(
        self,
        packets: &[PacketRecord],
        direction: Direction,
        rate: Option<BitRate>,
    ) -> WayTimeline {
        let mut way = WayTimeline { rate_bps: rate.map(BitRate::bits_per_second), ..self.empty() };
        let mut queue = Vec::new();
        for packet in packets.iter().filter(|packet| packet.direction == direction) {
            let length = u64::from(packet.length);
            let dropped_in_queue = match packet.fate {
                Fate::Delivered { .. } => false,
                Fate::Lost => {
                    let sent = packet.passage.map_or(packet.at, |passage| passage.sent);
                    self.count_at(sent, &mut way.lost);
                    false
                }
                Fate::QueueFull | Fate::AqmDropped | Fate::Policed | Fate::Blocked => {
                    let at = packet.passage.map_or(packet.at, |passage| passage.left_queue);
                    self.count_at(at, &mut way.dropped);
                    true
                }
            };
            let Some(passage) = packet.passage else { continue };
            let left = passage.left_queue;
            let waited = left.since(passage.entered).as_micros() as u64;
            if left > passage.entered {
                queue.extend([
                    (passage.entered, Change::Enters(length)),
                    (left, Change::Leaves(length)),
                ]);
            }
            if passage.is_marked {
                self.count_at(left, &mut way.marked);
            }
            if dropped_in_queue {
                continue;
            }
            if let Some(bin) = self.at(left) {
                way.queue_us[bin] = way.queue_us[bin].max(waited);
            }
            self.spread(length, left, passage.sent, &mut way.sent);
        }
        self.fill_queue(queue, &mut way.queue_bytes);
        way.trimmed()
    }

    fn empty(self) -> WayTimeline {
        let zeros = || vec![0; self.count];
        WayTimeline {
            rate_bps: None,
            sent: zeros(),
            queue_bytes: zeros(),
            queue_us: zeros(),
            dropped: zeros(),
            lost: zeros(),
            marked: zeros(),
        }
    }

    /// The bin of a time; None outside all of them.
    fn at(self, time: Instant) -> Option<usize> {
        let after = time.nanos().checked_sub(self.from.nanos())?;
        let bin = (after / self.width) as usize;
        (bin < self.count).then_some(bin)
    }

    fn count_at(self, time: Instant, counts: &mut [u64]) {
        if let Some(bin) = self.at(time) {
            counts[bin] += 1;
        }
    }

    /// Adds bytes that were sent from one time to another to each bin by its share of that time. No byte is lost by
    /// rounding.
    fn spread(self, bytes: u64, from: Instant, to: Instant, sums: &mut [u64]) {
        let span = to.since(from).as_nanos();
        if span == 0 {
            if let Some(bin) = self.at(from) {
                sums[bin] += bytes;
            }
            return;
        }
        let until = |time: u64| {
            let passed = u128::from(time.saturating_sub(from.nanos()));
            if passed >= span { bytes } else { (u128::from(bytes) * passed / span) as u64 }
        };
        let first = from.nanos().saturating_sub(self.from.nanos()) / self.width;
        let begin = |bin: u64| self.from.nanos() + bin * self.width;
        let mut done = until(begin(first));
        for (bin, sum) in (first..).zip(sums.iter_mut().skip(first as usize)) {
            let all = until(begin(bin + 1));
            *sum += all - done;
            done = all;
            if done == bytes {
                break;
            }
        }
    }

    /// The greatest level of the queue in each bin.
    fn fill_queue(self, mut changes: Vec<(Instant, Change)>, most: &mut [u64]) {
        changes.sort_unstable();
        let mut changes = changes.into_iter().peekable();
        let mut level = 0;
        for (bin, most) in (1_u64..).zip(most) {
            let end = self.from.nanos() + bin * self.width;
            *most = level;
            while let Some((_, change)) = changes.next_if(|(at, _)| at.nanos() < end) {
                match change {
                    Change::Leaves(bytes) => level -= bytes,
                    Change::Enters(bytes) => level += bytes,
                }
                *most = (*most).max(level);
            }
        }
    }
}

/// A packet enters or leaves the queue. Of changes at one time those that leave come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Leaves(u64),
    Enters(u64),
}

impl WayTimeline {
    /// Without the zeros at the ends.
    fn trimmed(mut self) -> Self {
        for list in [
            &mut self.sent,
            &mut self.queue_bytes,
            &mut self.queue_us,
            &mut self.dropped,
            &mut self.lost,
            &mut self.marked,
        ] {
            let used = list.iter().rposition(|figure| *figure > 0).map_or(0, |last| last + 1);
            list.truncate(used);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use trace::{FetchOutcome, Passage, Phases, Protocol};

    fn at(micros: u64) -> Instant {
        Instant::from_nanos(5_000_000_000 + micros * 1_000)
    }

    /// From 0 to `end` microseconds.
    fn fetch(end: u64) -> FetchRecord {
        FetchRecord {
            id: 0,
            url: String::new(),
            method: "GET".to_owned(),
            connection: None,
            stream: 0,
            protocol: Protocol::Http1.into(),
            status: None,
            pushed: false,
            hinted: false,
            cached: false,
            request_body_bytes: None,
            redirects: 0,
            made_again: Vec::new(),
            body_bytes: 0,
            phases: Phases { last_byte: Some(at(end)), ..Phases::new(at(0)) },
            outcome: FetchOutcome::Done,
        }
    }

    fn packet(came: u64, fate: Fate, passage: Option<(u64, u64)>) -> PacketRecord {
        let passage = passage.map(|(left, sent)| Passage {
            entered: at(came),
            left_queue: at(left),
            sent: at(sent),
            is_marked: false,
        });
        PacketRecord {
            at: at(came),
            direction: Direction::Down,
            index: 0,
            length: 1000,
            fate,
            passage,
            flow: None,
            tcp: None,
            udp: None,
        }
    }

    fn link() -> LinkFacts {
        LinkFacts { rtt: Duration::ZERO, down: BitRate::new(8_000_000), up: None }
    }

    const DUE: Fate = Fate::Delivered { at: Instant::ZERO };

    #[test]
    fn bins_are_round_and_at_most_a_hundred() {
        for (span, bin) in
            [(0, 1), (100, 1), (101, 2), (3_400_000, 50_000), (50_000_001, 1_000_000)]
        {
            assert_eq!(round_bin(span), bin, "{span}");
            assert!(span.div_ceil(round_bin(span)) <= MOST_BINS as u64);
        }
    }

    #[test]
    fn bytes_are_spread_over_the_time_in_which_they_were_sent() {
        // A packet a millisecond; bins of 2 ms. The second packet is sent from 1.5 to 2.5 ms.
        let packets = [packet(0, DUE, Some((500, 1_500))), packet(100, DUE, Some((1_500, 2_500)))];
        let line = Timeline::of(&packets, &[fetch(200_000)], link()).unwrap();
        assert_eq!(line.bin_us, 2_000);
        assert_eq!(line.down.sent, [1_500, 500]);
        assert_eq!((line.down.rate_bps, line.down.sent_bytes()), (Some(8_000_000), 2_000));
        assert_eq!(line.up, WayTimeline::default());
    }

    #[test]
    fn the_queue_is_as_long_as_what_has_come_and_not_left() {
        let packets = [
            packet(0, DUE, Some((0, 1_000))),
            packet(0, DUE, Some((1_000, 2_000))),
            packet(0, DUE, Some((2_000, 3_000))),
            // Dropped from the queue by its management, and by the full queue.
            packet(100, Fate::AqmDropped, Some((1_500, 1_500))),
            packet(2_900, Fate::QueueFull, None),
            packet(5_000, Fate::Lost, Some((5_000, 6_000))),
        ];
        let down = Timeline::of(&packets, &[fetch(100_000)], link()).unwrap().down;
        // Bins of 1 ms.
        assert_eq!(down.queue_bytes, [3_000, 3_000, 1_000]);
        assert_eq!(down.queue_us, [0, 1_000, 2_000]);
        assert_eq!(down.dropped, [0, 1, 1]);
        assert_eq!(down.lost, [0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(down.sent, [1_000, 1_000, 1_000, 0, 0, 1_000]);
    }

    #[test]
    fn what_came_before_the_first_fetch_and_after_the_last_is_left_out() {
        let before = PacketRecord { at: Instant::ZERO, ..packet(0, DUE, None) };
        let before = PacketRecord {
            passage: Some(Passage {
                entered: Instant::ZERO,
                left_queue: Instant::ZERO,
                sent: Instant::ZERO,
                is_marked: true,
            }),
            ..before
        };
        let packets = [before, packet(0, DUE, Some((0, 0))), packet(300, DUE, Some((300, 900)))];
        let down = Timeline::of(&packets, &[fetch(100)], link()).unwrap().down;
        assert_eq!((down.sent_bytes(), down.marked.len()), (1_000, 0));
        assert_eq!(Timeline::of(&packets, &[], link()), None);
        assert_eq!(Timeline::of(&[packet(0, DUE, None)], &[fetch(100)], link()), None);
    }
}
