//! Properties of a link in virtual time, on arbitrary specs and arrivals.
#![allow(clippy::unwrap_used)]

use link::{
    Bottleneck, Bursts, Codel, Decision, Delivery, Discipline, EcnMarks, Link, LinkSpec, Loss,
    Order, PacketHeader, PathSpec, Policer, Queue, Reordering, Schedule, Udp,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use trace::{Direction, Fate};
use unit::{BitRate, ByteSize, Instant, Probability, Seed};

const TRACE: &str = "0\n3\n3\n7\n20\n";

fn schedule(file: &str) -> Result<String, String> {
    assert_eq!(file, "uneven.trace");
    Ok(TRACE.to_owned())
}

fn bottleneck() -> impl Strategy<Value = Bottleneck> {
    prop_oneof![
        Just(Bottleneck::Unlimited),
        (1_000_u64..2_000_000_000).prop_map(|bits| Bottleneck::Rate(BitRate::new(bits).unwrap())),
        Just(Bottleneck::Trace {
            file: "uneven.trace".into(),
            schedule: Arc::new(Schedule::parse(TRACE).unwrap())
        }),
    ]
}

fn path() -> impl Strategy<Value = PathSpec> {
    let queue = prop_oneof![
        (0_u64..200_000).prop_map(|bytes| Queue::Bytes(ByteSize(bytes))),
        (0.0..20.0_f64).prop_map(Queue::Bdp),
    ];
    let order = prop_oneof![Just(Order::Kept), Just(Order::Free)];
    (0_u64..500_000_000, bottleneck(), queue, 0.0..0.5_f64, 0_u64..50_000_000, order).prop_map(
        |(delay, bottleneck, queue, loss, jitter, order)| PathSpec {
            delay: Duration::from_nanos(delay),
            bottleneck,
            queue,
            loss: Loss::Independent(Probability::new(loss).unwrap()),
            jitter: Duration::from_nanos(jitter),
            order,
            ..PathSpec::default()
        },
    )
}

fn link() -> impl Strategy<Value = LinkSpec> {
    (path(), path()).prop_map(|(up, down)| LinkSpec { up, down, ..LinkSpec::default() })
}

/// With active queues, bursts, reordering, policers and limits on UDP too.
fn eventful_link() -> impl Strategy<Value = LinkSpec> {
    let path = (path(), 0..10_u32, 1_000_u64..10_000_000, 1_500_u64..90_000, 1_u64..9_000_000);
    let path = path.prop_map(|(mut path, kind, rate, burst, time)| {
        let policer = Policer { rate: BitRate::new(rate).unwrap(), burst: ByteSize(burst) };
        let target = Duration::from_nanos(time);
        let ecn = if kind < 8 { EcnMarks::Unused } else { EcnMarks::Set };
        let codel = Codel { target, interval: target * 4, ecn };
        let share = Probability::new(0.125).unwrap();
        match kind {
            0 => path.policer = Some(policer),
            1 => path.udp = Udp::Policed(policer),
            2 => path.udp = Udp::Blocked,
            3 => path.loss = Loss::Bursts(Bursts::new(share, 1.0 + time as f64 / 1e6).unwrap()),
            4 => path.order = Order::Reordered { share, by: Reordering::Time(target) },
            5 => path.order = Order::Reordered { share, by: Reordering::Packets(3) },
            _ if path.bottleneck == Bottleneck::Unlimited => {}
            6 | 8 => path.discipline = Discipline::Codel(codel),
            _ => path.discipline = Discipline::FqCodel(codel),
        }
        path
    });
    (prop::array::uniform2(path), 0_u64..2_000_000_000).prop_map(|([up, down], rebind)| {
        let rebind = (rebind % 2 == 0).then_some(Duration::from_nanos(rebind));
        LinkSpec { up, down, rebind, ..LinkSpec::default() }
    })
}

/// Gaps in nanoseconds, lengths and ways of packets.
fn packets() -> impl Strategy<Value = Vec<(u64, u64, Direction)>> {
    let way = prop_oneof![Just(Direction::Up), Just(Direction::Down)];
    prop::collection::vec((0_u64..3_000_000, 20_u64..1_501, way), 1..300)
}

fn run(spec: &LinkSpec, packets: &[(u64, u64, Direction)], seed: Seed) -> Vec<Fate> {
    let mut link = Link::new(spec, seed);
    let mut now = Instant::ZERO;
    let mut fates = Vec::new();
    for &(gap, length, way) in packets {
        now += Duration::from_nanos(gap);
        fates.push(link.handle_packet(now, way, (), ByteSize(length)).unwrap());
    }
    fates
}

/// When a driver asks the link for what is due.
#[derive(Debug, Clone, Copy)]
enum Polls {
    /// Whenever the link told that it has something to do.
    OnTime,
    /// After each packet that it hands in.
    AfterEachPacket,
    /// When all packets are in.
    AtTheEnd,
}

/// What became of the packets of both directions.
#[derive(Debug, Default, PartialEq)]
struct Ends {
    /// By the direction and the index in it.
    fates: BTreeMap<(usize, u64), Fate>,
    /// In the order in which they left: direction, index, due and mark.
    delivered: Vec<(usize, u64, Instant, bool)>,
}

impl Ends {
    fn of(spec: &LinkSpec, packets: &[(u64, u64, Direction)], seed: Seed, polls: Polls) -> Self {
        let mut link = Link::new(spec, seed);
        let (mut ends, mut now) = (Self::default(), Instant::ZERO);
        for (number, &(gap, length, way)) in (0_u64..).zip(packets) {
            // Fourfold load, so that queues do fill.
            now += Duration::from_nanos(gap / 4);
            if let Polls::OnTime = polls {
                ends.take_on_time(&mut link, now);
            }
            let index = link.packets(way);
            let header = PacketHeader {
                is_udp: number % 5 == 0,
                is_ecn_capable: number % 2 == 0,
                flow: number % 3,
                ..ByteSize(length).into()
            };
            if let Some(fate) = link.handle_packet(now, way, index, header) {
                ends.decide(way, index, fate);
            }
            if let Polls::AfterEachPacket = polls {
                ends.take(&mut link, now);
            }
        }
        let end = now + Duration::from_secs(1_000_000_000);
        match polls {
            Polls::OnTime => ends.take_on_time(&mut link, end),
            Polls::AfterEachPacket | Polls::AtTheEnd => ends.take(&mut link, end),
        }
        assert_eq!((link.under_way(), ends.fates.len()), (0, packets.len()));
        ends
    }

    fn take_on_time(&mut self, link: &mut Link<u64>, until: Instant) {
        while let Some(at) = link.poll_timeout().filter(|at| *at <= until) {
            self.take(link, at);
        }
    }

    fn take(&mut self, link: &mut Link<u64>, now: Instant) {
        while let Some(Delivery { direction, packet, is_marked, due }) = link.poll_deliver(now) {
            self.delivered.push((direction.index(), packet, due, is_marked));
        }
        while let Some(Decision { direction, index, fate, .. }) = link.poll_decision() {
            self.decide(direction, index, fate);
        }
    }

    fn decide(&mut self, way: Direction, index: u64, fate: Fate) {
        let former = self.fates.insert((way.index(), index), fate);
        assert_eq!(former, None, "{way:?} {index} has two fates");
    }
}

proptest! {
    #[test]
    fn the_canonical_text_reads_back_as_the_same_link(spec in eventful_link()) {
        prop_assert_eq!(LinkSpec::parse(&spec.canonical(), schedule), Ok(spec));
    }

    #[test]
    fn the_same_seed_gives_the_same_fates(spec in link(), packets in packets(), seed: u64) {
        prop_assert_eq!(run(&spec, &packets, Seed(seed)), run(&spec, &packets, Seed(seed)));
    }

    #[test]
    fn it_makes_no_difference_when_a_driver_asks(
        spec in eventful_link(), packets in packets(), seed: u64,
    ) {
        let of = |polls| Ends::of(&spec, &packets, Seed(seed), polls);
        let on_time = of(Polls::OnTime);
        for &(way, index, at, _) in &on_time.delivered {
            prop_assert_eq!(on_time.fates[&(way, index)], Fate::Delivered { at });
        }
        prop_assert_eq!(&of(Polls::AfterEachPacket), &on_time);
        prop_assert_eq!(&of(Polls::AtTheEnd), &on_time);
    }

    #[test]
    fn packets_leave_when_their_fate_says_and_in_order(
        mut spec in link(), packets in packets(), seed: u64,
    ) {
        (spec.up.order, spec.down.order) = (Order::Kept, Order::Kept);
        let mut link = Link::new(&spec, Seed(seed));
        let mut now = Instant::ZERO;
        let mut expected = [Vec::new(), Vec::new()];
        for (number, &(gap, length, way)) in packets.iter().enumerate() {
            now += Duration::from_nanos(gap);
            let fate = link.handle_packet(now, way, number, ByteSize(length));
            if let Some(Fate::Delivered { at }) = fate {
                prop_assert!(at >= now + spec.path(way).delay);
                expected[way.index()].push((number, at));
            }
        }
        let mut seen = [Vec::new(), Vec::new()];
        let mut last = Instant::ZERO;
        while let Some(due) = link.poll_timeout() {
            prop_assert!(link.poll_deliver(due - Duration::from_nanos(1)).is_none());
            let delivery = link.poll_deliver(due).unwrap();
            prop_assert!(delivery.due >= last);
            last = delivery.due;
            seen[delivery.direction.index()].push((delivery.packet, delivery.due));
        }
        prop_assert_eq!(seen, expected);
    }

    #[test]
    fn a_packet_finds_space_when_it_was_told_and_not_before(
        spec in link(), packets in packets(), length in 20_u64..1_501,
    ) {
        let filled = || {
            let mut link = Link::new(&spec, Seed(0));
            let mut now = Instant::ZERO;
            for &(gap, length, way) in &packets {
                now += Duration::from_nanos(gap);
                link.handle_packet(now, way, (), ByteSize(length));
            }
            (link, now)
        };
        for way in Direction::BOTH {
            // Whatever comes to a trace waits for its next opportunity: a queue too short for the packet never takes it.
            let is_trace = matches!(spec.path(way).bottleneck, Bottleneck::Trace { .. });
            if is_trace && spec.queue_limit(way).is_some_and(|limit| limit.0 < length) {
                continue;
            }
            let (mut link, now) = filled();
            let at = link.space_at(now, way, ByteSize(length));
            let fate = link.handle_packet(at, way, (), ByteSize(length));
            prop_assert_ne!(fate, Some(Fate::QueueFull));
            if at > now {
                let (mut link, _) = filled();
                let before = at - Duration::from_nanos(1);
                let fate = link.handle_packet(before, way, (), ByteSize(length));
                prop_assert_eq!(fate, Some(Fate::QueueFull));
            }
        }
    }

    #[test]
    fn the_queue_never_holds_more_than_its_bound(spec in link(), packets in packets()) {
        let mut link = Link::new(&spec, Seed(0));
        let mut now = Instant::ZERO;
        for (gap, length, way) in packets {
            // Twentyfold load, so that queues do fill.
            now += Duration::from_nanos(gap / 20);
            let before = link.queued(now, way);
            let fate = link.handle_packet(now, way, (), ByteSize(length));
            let Some(limit) = spec.queue_limit(way) else { continue };
            prop_assert!(link.queued(now, way) <= limit);
            if fate == Some(Fate::QueueFull) {
                prop_assert!(before + ByteSize(length) > limit, "dropped below the limit");
            }
        }
    }

    #[test]
    fn a_lost_packet_is_lost_whatever_the_rate(spec in link(), packets in packets(), seed: u64) {
        let mut faster = spec.clone();
        for path in [&mut faster.up, &mut faster.down] {
            path.bottleneck = Bottleneck::Unlimited;
        }
        let (slow, fast) = (run(&spec, &packets, Seed(seed)), run(&faster, &packets, Seed(seed)));
        for (slow, fast) in slow.into_iter().zip(fast) {
            prop_assert_eq!(fast == Fate::Lost && slow != Fate::QueueFull, slow == Fate::Lost);
        }
    }
}

#[test]
fn a_busy_link_meets_its_rate_over_a_long_run_to_the_nanosecond() {
    for rate in [1_600_000, 768_000, 9_000_000, 1_000_000_000, 7_000_001] {
        let mut spec = LinkSpec::default();
        spec.up.bottleneck = Bottleneck::Rate(BitRate::new(rate).unwrap());
        spec.up.queue = Queue::Bytes(ByteSize(u64::MAX / 2));
        let mut link = Link::new(&spec, Seed(0));
        let mut last = Instant::ZERO;
        for _ in 0..200_000 {
            let fate = link.handle_packet(Instant::ZERO, Direction::Up, (), ByteSize(1500));
            let Some(Fate::Delivered { at }) = fate else { panic!("{fate:?}") };
            last = at;
        }
        let bits = 200_000_u128 * 1500 * 8;
        assert_eq!(u128::from(last.nanos()), bits * 1_000_000_000 / u128::from(rate), "{rate}");
    }
}

#[test]
fn one_packet_in_ten_is_lost_where_ten_per_cent_are() {
    let spec = LinkSpec::parse("loss=10%", schedule).unwrap();
    let packets = vec![(1_000, 1_500, Direction::Down); 100_000];
    let lost = run(&spec, &packets, Seed(5)).into_iter().filter(|&fate| fate == Fate::Lost).count();
    // Five sigma: sqrt(100,000 * 0.1 * 0.9) = 95.
    assert!((9_525..=10_475).contains(&lost), "{lost}");
}

#[test]
fn jitter_with_reordering_lets_packets_overtake_and_spreads_over_its_span() {
    let spec = LinkSpec::parse("jitter=10ms,reorder=yes", schedule).unwrap();
    let fates = run(&spec, &vec![(0, 100, Direction::Up); 10_000], Seed(9));
    let dues: Vec<u64> = fates
        .into_iter()
        .map(|fate| match fate {
            Fate::Delivered { at } => at.nanos(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(dues.windows(2).any(|pair| pair[1] < pair[0]));
    let mean = dues.iter().sum::<u64>() / 10_000;
    assert!((4_800_000..5_200_000).contains(&mean), "{mean}");
    assert!(dues.iter().all(|&due| due <= 10_000_000));
}

#[test]
fn the_traces_of_both_directions_begin_with_the_first_packet_of_either() {
    let spec = LinkSpec::parse("trace=fade", |_| Ok("1\n10\n".to_owned())).unwrap();
    let mut link = Link::new(&spec, Seed(1));
    let millis = |ms: u64| Instant::from_nanos(ms * 1_000_000);
    let up = link.handle_packet(millis(100), Direction::Up, 0, ByteSize(1_500));
    assert_eq!(up, Some(Fate::Delivered { at: millis(101) }));
    // Both directions fade until the tenth millisecond.
    let down = link.handle_packet(millis(105), Direction::Down, 1, ByteSize(1_500));
    assert_eq!(down, Some(Fate::Delivered { at: millis(110) }));
}
