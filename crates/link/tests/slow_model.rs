//! The link's queues, policers, bursts and reordering against plain models of the RFCs that they follow: slow, and written
//! without regard to the link's own code.
#![allow(clippy::unwrap_used)]

use link::{
    Codel, Decision, Delivery, Discipline, EcnMarks, LONGEST_HOLD, Link, LinkSpec, PacketHeader,
    no_traces,
};
use proptest::prelude::*;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;
use trace::{Direction, Fate};
use unit::{ByteSize, Instant, Seed};

/// A packet and when it comes.
#[derive(Debug, Clone, Copy)]
struct Packet {
    at: u64,
    length: u64,
    flow: u64,
    takes_ecn: bool,
}

/// What became of it; a delivered packet with its time and mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Left { at: u64, is_marked: bool },
    Full,
    Dropped,
    Lost,
    Policed,
}

/// Bursts and gaps: queues build up and empty again.
fn packets() -> impl Strategy<Value = Vec<Packet>> {
    let burst = (0_u64..400_000_000, 1_usize..120, 0_u64..2_500_000, any::<u64>());
    prop::collection::vec(burst, 1..12).prop_map(|bursts| {
        let mut at = 0;
        let mut packets = Vec::new();
        for (pause, count, gap, draws) in bursts {
            at += pause;
            for number in 0..count as u64 {
                let draw = Seed(draws).draw(number);
                at += draw % (gap + 1);
                packets.push(Packet {
                    at,
                    length: 40 + (draw >> 8) % 1_461,
                    flow: (draw >> 32) % 4,
                    takes_ecn: draw >> 63 == 1,
                });
            }
        }
        packets
    })
}

/// What the link does with `packets` on their way up.
fn through_link(spec: &LinkSpec, packets: &[Packet]) -> Vec<End> {
    let mut link = Link::new(spec, Seed(0));
    let mut ends = HashMap::new();
    for (index, packet) in packets.iter().enumerate() {
        let header = PacketHeader {
            length: ByteSize(packet.length),
            is_ecn_capable: packet.takes_ecn,
            is_udp: false,
            is_unmapped: false,
            flow: packet.flow,
        };
        let now = Instant::from_nanos(packet.at);
        if let Some(fate) = link.handle_packet(now, Direction::Up, index, header) {
            note(&mut ends, index, fate);
        }
        collect(&mut link, &mut ends);
    }
    while let Some(at) = link.poll_timeout() {
        if let Some(Delivery { packet, is_marked, due, .. }) = link.poll_deliver(at) {
            assert_eq!(due, at, "packet {packet} was due earlier than the link told");
            ends.insert(packet, End::Left { at: due.nanos(), is_marked });
        }
        collect(&mut link, &mut ends);
    }
    assert_eq!(link.under_way(), 0);
    (0..packets.len()).map(|index| ends[&index]).collect()
}

fn collect(link: &mut Link<usize>, ends: &mut HashMap<usize, End>) {
    while let Some(Decision { index, fate, dropped, .. }) = link.poll_decision() {
        assert_eq!(dropped.is_some(), !matches!(fate, Fate::Delivered { .. }));
        assert!(dropped.is_none_or(|packet| packet as u64 == index));
        note(ends, index as usize, fate);
    }
}

fn note(ends: &mut HashMap<usize, End>, index: usize, fate: Fate) {
    let end = match fate {
        Fate::Delivered { .. } => return,
        Fate::Lost => End::Lost,
        Fate::QueueFull => End::Full,
        Fate::AqmDropped => End::Dropped,
        Fate::Policed | Fate::Blocked => End::Policed,
    };
    assert!(ends.insert(index, end).is_none(), "{index} has two fates");
}

/// RFC 8289's queue, as its pseudocode has it.
#[derive(Default)]
struct PlainCodel {
    packets: VecDeque<usize>,
    bytes: u64,
    first_above_time: u64,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

/// What the models share: the packets, their ends, and the settings.
struct Run<'a> {
    packets: &'a [Packet],
    ends: Vec<Option<End>>,
    target: u64,
    interval: u64,
    marks: bool,
}

impl Run<'_> {
    fn law(&self, t: u64, count: u32) -> u64 {
        t + (self.interval as f64 / f64::from(count).sqrt()) as u64
    }

    fn marks(&self, packet: usize) -> bool {
        self.marks && self.packets[packet].takes_ecn
    }
}

impl PlainCodel {
    fn dodequeue(&mut self, run: &Run<'_>, now: u64) -> (Option<usize>, bool) {
        let Some(packet) = self.packets.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        self.bytes -= run.packets[packet].length;
        let sojourn = now - run.packets[packet].at;
        if sojourn < run.target || self.bytes <= 1500 {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + run.interval;
        } else if now >= self.first_above_time {
            return (Some(packet), true);
        }
        (Some(packet), false)
    }

    /// `deque`, with marks in place of drops as in Linux's codel_dequeue.
    fn dequeue(&mut self, run: &mut Run<'_>, now: u64) -> Option<(usize, bool)> {
        let (mut packet, mut ok_to_drop) = self.dodequeue(run, now);
        let mut marked = false;
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                if run.marks(packet.unwrap()) {
                    self.drop_next = run.law(self.drop_next, self.count);
                    marked = true;
                    break;
                }
                run.ends[packet.unwrap()] = Some(End::Dropped);
                (packet, ok_to_drop) = self.dodequeue(run, now);
                if ok_to_drop {
                    self.drop_next = run.law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            if run.marks(packet.unwrap()) {
                marked = true;
            } else {
                run.ends[packet.unwrap()] = Some(End::Dropped);
                (packet, _) = self.dodequeue(run, now);
            }
            self.dropping = true;
            let delta = i64::from(self.count) - i64::from(self.lastcount);
            let recent = (now as i64 - self.drop_next as i64) < 16 * run.interval as i64;
            self.count = if delta > 1 && recent { delta as u32 } else { 1 };
            self.drop_next = run.law(now, self.count);
            self.lastcount = self.count;
        }
        packet.map(|packet| (packet, marked))
    }
}

/// RFC 8290 §4: flows with a deficit each, in a list of new ones and one of old ones. With one flow it is CoDel alone.
struct PlainQueue {
    flows: Vec<PlainCodel>,
    deficits: Vec<i64>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
}

impl PlainQueue {
    fn new(flows: usize) -> Self {
        let codels = (0..flows).map(|_| PlainCodel::default()).collect();
        Self { flows: codels, deficits: vec![0; flows], new: VecDeque::new(), old: VecDeque::new() }
    }

    fn bytes(&self) -> u64 {
        self.flows.iter().map(|flow| flow.bytes).sum()
    }

    fn is_empty(&self) -> bool {
        self.flows.iter().all(|flow| flow.packets.is_empty())
    }

    fn enqueue(&mut self, run: &Run<'_>, packet: usize) {
        let flow = run.packets[packet].flow as usize % self.flows.len();
        self.flows[flow].packets.push_back(packet);
        self.flows[flow].bytes += run.packets[packet].length;
        if !self.new.contains(&flow) && !self.old.contains(&flow) {
            self.new.push_back(flow);
            self.deficits[flow] = 1500;
        }
    }

    fn dequeue(&mut self, run: &mut Run<'_>, now: u64) -> Option<(usize, bool)> {
        loop {
            let is_new = !self.new.is_empty();
            let flow = *if is_new { self.new.front() } else { self.old.front() }?;
            if self.deficits[flow] <= 0 {
                self.deficits[flow] += 1500;
                if is_new {
                    self.new.pop_front()
                } else {
                    self.old.pop_front()
                };
                self.old.push_back(flow);
                continue;
            }
            if let Some((packet, marked)) = self.flows[flow].dequeue(run, now) {
                self.deficits[flow] -= run.packets[packet].length as i64;
                return Some((packet, marked));
            }
            if is_new {
                self.new.pop_front();
                self.old.push_back(flow);
            } else {
                self.old.pop_front();
            }
        }
    }
}

/// What sends the packets of a queue.
#[derive(Debug, Clone, Copy)]
enum Server {
    /// A bottleneck of 8 Mbit/s, a microsecond a byte, that asks its queue for a packet whenever it is free.
    Rate { free: u64 },
    /// Opportunities of 1,504 bytes, at the times of `MILLIS` after the first packet, over and over. Each asks the queue for
    /// packets while it has bytes left, and a packet goes on in the next one.
    Trace { start: Option<u64>, next: usize, sending: Option<(usize, bool)>, rest: u64 },
}

const RATE: Server = Server::Rate { free: 0 };
const TRACE: Server = Server::Trace { start: None, next: 0, sending: None, rest: 0 };
const MILLIS: [u64; 7] = [0, 1, 2, 2, 3, 9, 10];

impl Server {
    fn setting(self) -> &'static str {
        match self {
            Self::Rate { .. } => "rate=8mbit",
            Self::Trace { .. } => "trace=uneven.trace",
        }
    }

    /// Serves what waits until a time.
    fn ask(&mut self, run: &mut Run<'_>, queue: &mut PlainQueue, until: u64) {
        match self {
            Self::Rate { free } => {
                while *free <= until {
                    let Some((packet, is_marked)) = queue.dequeue(run, *free) else { break };
                    *free += run.packets[packet].length * 1_000;
                    run.ends[packet] = Some(End::Left { at: *free, is_marked });
                }
                // Idle until the next packet comes.
                if queue.is_empty() {
                    *free = (*free).max(until);
                }
            }
            Self::Trace { start, next, sending, rest } => {
                let start = *start.get_or_insert(until);
                let repeats = |next: usize| (next / MILLIS.len()) as u64 * MILLIS[MILLIS.len() - 1];
                let time = |next| start + (repeats(next) + MILLIS[next % MILLIS.len()]) * 1_000_000;
                while time(*next) <= until {
                    let mut left = 1_504;
                    while left > 0 {
                        if sending.is_none() {
                            *sending = queue.dequeue(run, time(*next));
                            *rest = sending.map_or(0, |(packet, _)| run.packets[packet].length + 4);
                        }
                        let Some((packet, is_marked)) = *sending else { break };
                        let sent = left.min(*rest);
                        (left, *rest) = (left - sent, *rest - sent);
                        if *rest == 0 {
                            run.ends[packet] = Some(End::Left { at: time(*next), is_marked });
                            *sending = None;
                        }
                    }
                    *next += 1;
                }
            }
        }
    }
}

fn through_model(
    mut server: Server,
    codel: Codel,
    flows: usize,
    limit: u64,
    packets: &[Packet],
) -> Vec<End> {
    let mut run = Run {
        packets,
        ends: vec![None; packets.len()],
        target: codel.target.as_nanos() as u64,
        interval: codel.interval.as_nanos() as u64,
        marks: codel.ecn == EcnMarks::Set,
    };
    let mut queue = PlainQueue::new(flows);
    let mut known = 0;
    for (index, packet) in packets.iter().enumerate() {
        // The bottleneck asks for what came before this packet; idle, it asks at once for what comes.
        server.ask(&mut run, &mut queue, packet.at.max(known));
        known = packet.at;
        let waiting: u64 = queue.bytes();
        let empty = queue.is_empty();
        if flows == 1 && !empty && waiting + packet.length > limit {
            run.ends[index] = Some(End::Full);
            continue;
        }
        queue.enqueue(&run, index);
        while queue.bytes() > limit
            && queue.flows.iter().map(|f| f.packets.len()).sum::<usize>() > 1
        {
            let longest = (0..flows)
                .max_by_key(|&flow| {
                    let PlainCodel { bytes, packets, .. } = &queue.flows[flow];
                    (*bytes, packets.front().map(|&head| std::cmp::Reverse(head)))
                })
                .unwrap();
            let half = queue.flows[longest].packets.len().div_ceil(2).min(64);
            for _ in 0..half {
                let dropped = queue.flows[longest].packets.pop_front().unwrap();
                queue.flows[longest].bytes -= packets[dropped].length;
                run.ends[dropped] = Some(End::Full);
            }
        }
    }
    // Long after all that waits has left.
    server.ask(&mut run, &mut queue, known + 10_000_000_000);
    run.ends.into_iter().map(Option::unwrap).collect()
}

fn codel() -> impl Strategy<Value = Codel> {
    let ecn = prop_oneof![Just(EcnMarks::Set), Just(EcnMarks::Unused)];
    (1_u64..10, 2_u64..30, ecn).prop_map(|(target, factor, ecn)| Codel {
        target: Duration::from_millis(target),
        interval: Duration::from_millis(target * factor),
        ecn,
    })
}

fn server() -> impl Strategy<Value = Server> {
    prop_oneof![Just(RATE), Just(TRACE)]
}

fn queue_of(server: Server, discipline: Discipline, limit: u64) -> LinkSpec {
    let trace = |_: &str| Ok(MILLIS.map(|at| at.to_string()).join("\n"));
    let mut spec = LinkSpec::parse(server.setting(), trace).unwrap();
    spec.up.queue = link::Queue::Bytes(ByteSize(limit));
    spec.up.discipline = discipline;
    spec
}

proptest! {
    #[test]
    fn codel_is_what_rfc_8289_says(
        server in server(), codel in codel(), limit in 2_000_u64..200_000, packets in packets(),
    ) {
        let spec = queue_of(server, Discipline::Codel(codel), limit);
        let expected = through_model(server, codel, 1, limit, &packets);
        prop_assert_eq!(through_link(&spec, &packets), expected);
    }

    #[test]
    fn fq_codel_is_what_rfc_8290_says(
        server in server(), codel in codel(), limit in 2_000_u64..200_000, packets in packets(),
    ) {
        let spec = queue_of(server, Discipline::FqCodel(codel), limit);
        // Flow n of the model has the queue n; in the link these four flows have different queues too.
        let expected = through_model(server, codel, 4, limit, &packets);
        prop_assert_eq!(through_link(&spec, &packets), expected);
    }

    #[test]
    fn a_policer_is_a_virtual_schedule(rate in 1_u64..20, burst in 1_500_u64..50_000, packets in packets()) {
        let rate = rate * 1_000_000;
        let spec = LinkSpec::parse(&format!("policer={rate}bit/{burst}B"), no_traces).unwrap();
        // The same rule said the other way round (ITU-T I.371's virtual scheduling): a packet conforms where the time
        // that those before it still take, and its own, are no more than the burst's. In bits and nanoseconds.
        let (rate, mut busy_until) = (u128::from(rate), 0_u128);
        let bits = |bytes: u64| u128::from(bytes) * 8 * 1_000_000_000;
        let expected: Vec<End> = packets.iter().map(|packet| {
            let now = u128::from(packet.at) * rate;
            let until = busy_until.max(now) + bits(packet.length);
            if until - now > bits(burst) {
                return End::Policed;
            }
            busy_until = until;
            End::Left { at: packet.at, is_marked: false }
        }).collect();
        prop_assert_eq!(through_link(&spec, &packets), expected);
    }

    #[test]
    fn bursts_are_a_walk_between_two_states(p in 0_u32..101, r in 0_u32..101, packets in packets()) {
        let spec = LinkSpec::parse(&format!("loss={p}%/{r}%/80%/5%"), no_traces).unwrap();
        let seed = Seed(0).child("up");
        // The share of bad states in a long run: none where the chain never leaves the good one.
        let long_run = if p + r == 0 { 0.0 } else { f64::from(p) / f64::from(p + r) };
        let mut bad = seed.child("first state").fraction(0) < long_run;
        let expected: Vec<End> = packets.iter().zip(0_u64..).map(|(packet, index)| {
            let step = seed.child("burst").fraction(index);
            bad = if bad { step >= f64::from(r) / 100.0 } else { step < f64::from(p) / 100.0 };
            let share = if bad { 0.8 } else { 0.05 };
            match seed.child("loss").fraction(index) < share {
                true => End::Lost,
                false => End::Left { at: packet.at, is_marked: false },
            }
        }).collect();
        prop_assert_eq!(through_link(&spec, &packets), expected);
    }

    #[test]
    fn reordered_packets_leave_later_and_all_others_when_they_would(
        share in 1_u32..50, by in prop_oneof![Just("7ms"), Just("1"), Just("3")], packets in packets(),
        jitter in prop_oneof![Just(2), Just(30)],
    ) {
        let text = format!("rtt=20ms,rate=8mbit,loss=5%,jitter={jitter}ms");
        let usual = LinkSpec::parse(&text, no_traces).unwrap();
        let mut spec = usual.clone();
        let text = format!("reorder={share}%/{by}");
        let order = LinkSpec::parse(&text, no_traces).unwrap().up.order;
        spec.up.order = order;
        let drawn = Seed(0).child("up").child("reorder");
        let held = |index: usize| drawn.fraction(index as u64) < f64::from(share) / 100.0;
        // Held packets do not hold up those behind them. So the model leaves them out of the order.
        let free = LinkSpec { up: link::PathSpec { order: link::Order::Free, ..usual.up.clone() }, ..usual };
        let mut last = 0;
        let base: Vec<End> = through_link(&free, &packets).into_iter().enumerate().map(|(index, end)| {
            let End::Left { at, is_marked } = end else { return end };
            let at = at.max(last);
            if !held(index) {
                last = at;
            }
            End::Left { at, is_marked }
        }).collect();
        let hold = LONGEST_HOLD.as_nanos() as u64;
        let expected: Vec<End> = base.iter().enumerate().map(|(index, &end)| {
            let End::Left { at, is_marked } = end else { return end };
            if !held(index) {
                return end;
            }
            let Ok(count) = by.parse::<usize>() else {
                return End::Left { at: at + 7_000_000, is_marked };
            };
            let behind = (index + 1..base.len()).filter(|&later| !held(later));
            let behind = behind.filter_map(|later| match base[later] {
                End::Left { at, .. } => Some(at),
                _ => None,
            });
            let at = behind.take(count).nth(count - 1).map_or(at + hold, |due| due.clamp(at, at + hold));
            End::Left { at, is_marked }
        }).collect();
        prop_assert_eq!(through_link(&spec, &packets), expected);
    }
}

/// Jitter lets one be held back from an earlier time than another that came before it.
#[test]
fn packets_that_nothing_overtakes_leave_in_the_order_of_their_times() {
    let spec = LinkSpec::parse("jitter=30ms,reorder=100%/3", no_traces).unwrap();
    let packets = [Packet { at: 0, length: 100, flow: 0, takes_ecn: false }; 50];
    let draws = Seed(0).child("up").child("jitter");
    let expected: Vec<End> = (0..50)
        .map(|index| {
            let jitter = (u128::from(draws.draw(index)) * 30_000_001) >> 64;
            let at = LONGEST_HOLD.as_nanos() as u64 + jitter as u64;
            End::Left { at, is_marked: false }
        })
        .collect();
    assert_eq!(through_link(&spec, &packets), expected);
}

#[test]
fn a_limit_on_udp_leaves_tcp_alone() {
    let mut link = Link::new(&LinkSpec::parse("udp_rate=1mbit/3kB", no_traces).unwrap(), Seed(0));
    let mut send = |is_udp| {
        let header = PacketHeader { is_udp, ..ByteSize(1_500).into() };
        link.handle_packet(Instant::ZERO, Direction::Up, (), header).unwrap()
    };
    let through = Fate::Delivered { at: Instant::ZERO };
    let sent = [true, true, true, false, false, false].map(&mut send);
    assert_eq!(sent, [through, through, Fate::Policed, through, through, through]);
    let mut link = Link::new(&LinkSpec::parse("udp=blocked", no_traces).unwrap(), Seed(0));
    let header = PacketHeader { is_udp: true, ..ByteSize(100).into() };
    let fate = link.handle_packet(Instant::ZERO, Direction::Down, (), header);
    assert_eq!(fate, Some(Fate::Blocked));
}

/// Lengths are those of IP packets: a full one is a whole turn, as a full Ethernet frame is in Linux.
#[test]
fn flows_of_full_packets_take_turns_packet_by_packet() {
    let full = Packet { at: 0, length: 1_500, flow: 0, takes_ecn: false };
    let packets: Vec<Packet> = (0..8).map(|n| Packet { flow: n / 4, ..full }).collect();
    let spec = queue_of(RATE, Discipline::FqCodel(Codel::default()), 100_000);
    let ends = through_link(&spec, &packets);
    let mut left: Vec<(u64, u64)> = ends
        .iter()
        .zip(&packets)
        .map(|(end, packet)| match end {
            End::Left { at, .. } => (*at, packet.flow),
            other => panic!("{other:?}"),
        })
        .collect();
    left.sort_unstable();
    let flows: Vec<u64> = left.into_iter().map(|(_, flow)| flow).collect();
    assert_eq!(flows, [0, 1, 0, 1, 0, 1, 0, 1]);
}

/// A queue of a second's worth: a sender that keeps it full sees CoDel bring the delay down, and FQ-CoDel keeps a thin
/// flow's delay at a packet's time beside it.
#[test]
fn a_thin_flow_does_not_wait_behind_a_fat_one() {
    let mut packets = Vec::new();
    for number in 0..2_000_u64 {
        let fat = Packet { at: number * 1_400_000, length: 1_500, flow: 0, takes_ecn: false };
        packets.push(fat);
        if number % 50 == 25 {
            packets.push(Packet { length: 100, flow: 1, ..fat });
        }
    }
    let worst = |discipline| {
        let ends = through_link(&queue_of(RATE, discipline, 1_000_000), &packets);
        let thin = packets.iter().zip(ends).filter(|(packet, _)| packet.flow == 1);
        thin.map(|(packet, end)| match end {
            End::Left { at, .. } => at - packet.at,
            other => panic!("{other:?}"),
        })
        .max()
        .unwrap()
    };
    // A packet in service, one quantum's packet, and its own.
    assert!(worst(Discipline::FqCodel(Codel::default())) <= 3_200_000);
    assert!(worst(Discipline::DropTail) > 100_000_000);
}
