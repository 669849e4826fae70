//! RFC 9218 over HTTP/3 in virtual time: in each of a thousand seeded pages the origin sends what is urgent first. What it has
//! handed to QUIC already cannot be overtaken; that is one batch of datagrams at most.

use crate::world::{START, Trusted};
use client::{Calls, Client, FetchSpec, Pattern, Transport};
use link::{LinkSpec, no_traces};
use origin::{ListenerKind, Origin, OriginConfig, Parts, WallClock};
use page::{Kind, Priority};
use proto::schedule::Policy;
use sim::{Ended, Path, World};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use trace::{Event, FetchOutcome, QuicFrame, Sink, Tracer};
use transport::{MtuDiscovery, QuicSettings};
use unit::{Instant, Random, Seed};

const PAGES: u64 = 1_000;

/// The pacer lets out ten datagrams at once here: windows are too small for more.
const BATCH: u64 = 10 * 1_200;

/// What the origin's end of a connection saw, in order.
#[derive(Debug, Clone, Copy)]
enum Seen {
    /// A request came whole.
    Asked { stream: u64 },
    /// Bytes of an answer were sent for the first time.
    Sent { stream: u64, bytes: u64, is_last: bool },
}

/// The origin's packets.
#[derive(Debug, Default)]
struct Log(RefCell<Vec<Seen>>);

impl Sink for Log {
    fn record(&self, _at: Instant, _connection: u64, event: &Event<'_>) {
        let (packet, is_sent) = match event {
            Event::QuicPacketSent(packet) => (packet, true),
            Event::QuicPacketReceived(packet) => (packet, false),
            _ => return,
        };
        for frame in &packet.frames {
            // RFC 9000 §2.1: a client's bidirectional streams, which carry the requests.
            let QuicFrame::Stream { stream, length, is_last, .. } = *frame else { continue };
            if stream % 4 != 0 {
                continue;
            }
            match is_sent {
                true => self.0.borrow_mut().push(Seen::Sent { stream, bytes: length, is_last }),
                false if is_last => self.0.borrow_mut().push(Seen::Asked { stream }),
                false => {}
            }
        }
    }
}

/// What a page asks for, and how: all at once, or one request after the other. What waits for the handshake, a round trip,
/// our client sends in order of urgency; so most of those others come later.
fn page(random: &mut Random, rtt: u64) -> (Vec<FetchSpec>, Pattern) {
    let spec = |number: u64, random: &mut Random| {
        let bytes = 200 + random.below(25_000);
        let url = format!("https://a.test/image/{number}?bytes={bytes}").parse().unwrap();
        let priority =
            Priority { urgency: random.below(8) as u8, incremental: random.below(2) == 0 };
        FetchSpec { kind: Kind::Image, priority, ..FetchSpec::get(url) }
    };
    let specs = (0..4 + random.below(9)).map(|number| spec(number, random)).collect();
    let pattern = match random.below(3) {
        0 => Pattern::Parallel,
        _ => {
            Pattern::Staggered { every: Duration::from_micros(250 * rtt + random.below(250 * rtt)) }
        }
    };
    (specs, pattern)
}

/// What an origin of this policy saw of a page, and the priority of each stream.
fn fetched(trusted: &Trusted, policy: Policy, seed: Seed) -> (Vec<Seen>, BTreeMap<u64, Priority>) {
    let mut random = seed.random();
    let rtt = 5 + random.below(96);
    let (specs, pattern) = page(&mut random, rtt);
    let by_url: BTreeMap<String, Priority> =
        specs.iter().map(|spec| (spec.url.to_string(), spec.priority)).collect();
    let quic = QuicSettings {
        seed: Some(seed),
        mtu_discovery: MtuDiscovery::Off,
        ..QuicSettings::default()
    };
    let wall_clock = WallClock { at: START, unix: Duration::from_secs(1_800_000_000) };
    let kind = ListenerKind::Quic(trusted.server.clone(), quic);
    let mut config = OriginConfig::new(vec![kind], wall_clock);
    config.priorities = policy;
    let log = Rc::new(Log::default());
    let parts = Parts { tracer: Tracer::to(log.clone()), ..Parts::default() };
    let client = Client::new(trusted.config(Transport::H3), Calls::new(specs, pattern));
    let mut world = World::new(1);
    let near = world.host("10.0.0.1", client);
    let far = world.host("10.0.0.2", Origin::new(config, parts));
    world.listen_datagrams(far, "10.0.0.2:443");
    // Nothing is lost: what is sent again would be out of order by need.
    let rates = ["2mbit", "10mbit", "50mbit"][random.below(3) as usize];
    let link = format!("rtt={rtt}ms,down={rates},up={rates},queue=1MB");
    world.connect(near, far, Path::link(LinkSpec::parse(&link, no_traces).unwrap()));
    assert_eq!(world.run_until_finished(near), Ended::Finished);
    let fetches = world.take(near).into_work().records.fetches;
    assert_eq!(fetches.len(), by_url.len(), "every fetch has a priority of its own");
    let priority = |fetch: &trace::FetchRecord| {
        assert_eq!(fetch.outcome, FetchOutcome::Done, "{fetch:?}");
        (fetch.stream, by_url[&fetch.url])
    };
    let priorities: BTreeMap<_, _> = fetches.iter().map(priority).collect();
    let seen = log.0.take();
    let asked = seen.iter().filter(|event| matches!(event, Seen::Asked { .. })).count();
    assert_eq!((asked, priorities.len()), (fetches.len(), fetches.len()), "{seen:?}");
    (seen, priorities)
}

/// The most bytes that went before an answer which should have gone first, and that answer's stream.
fn most_overtaken(seen: &[Seen], priorities: &BTreeMap<u64, Priority>) -> (u64, u64) {
    // The answers that are asked for and not sent, with what went before them against the order.
    let mut open: BTreeMap<u64, u64> = BTreeMap::new();
    let mut most = (0, 0);
    for event in seen {
        match *event {
            Seen::Asked { stream } => {
                open.insert(stream, 0);
            }
            Seen::Sent { stream, bytes, is_last } => {
                if is_last && let Some(overtaken) = open.remove(&stream) {
                    most = most.max((overtaken, stream));
                }
                let own = (stream, priorities[&stream]);
                for (other, overtaken) in &mut open {
                    if goes_first((*other, priorities[other]), own) {
                        *overtaken += bytes;
                    }
                }
            }
        }
    }
    assert!(open.is_empty(), "every answer ends: {open:?}");
    most
}

/// Bytes that went before an answer which was asked for earlier and should go later.
fn brought_forward(seen: &[Seen], priorities: &BTreeMap<u64, Priority>) -> u64 {
    let mut open: Vec<u64> = Vec::new();
    let mut total = 0;
    for event in seen {
        match *event {
            Seen::Asked { stream } => open.push(stream),
            Seen::Sent { stream, bytes, is_last } => {
                let own = (stream, priorities[&stream]);
                let earlier = open.iter().take_while(|other| **other != stream);
                if earlier.copied().any(|other| goes_first(own, (other, priorities[&other]))) {
                    total += bytes;
                }
                if is_last {
                    open.retain(|other| *other != stream);
                }
            }
        }
    }
    total
}

/// RFC 9218 §10: whether all of `one` goes before any of `other`.
fn goes_first(one: (u64, Priority), other: (u64, Priority)) -> bool {
    let are_whole = !one.1.incremental && !other.1.incremental;
    one.1.urgency < other.1.urgency
        || (one.1.urgency == other.1.urgency && are_whole && one.0 < other.0)
}

#[test]
fn urgent_answers_go_first_in_each_of_a_thousand_pages_but_for_one_batch() {
    let trusted = Trusted::new(&["h2"]);
    let mut with_a_choice = 0;
    for seed in 0..PAGES {
        let (seen, priorities) = fetched(&trusted, Policy::Rfc9218, Seed(seed));
        let (overtaken, stream) = most_overtaken(&seen, &priorities);
        assert!(
            overtaken <= BATCH,
            "page {seed}: {overtaken} bytes went before stream {stream}: {priorities:?} {seen:?}"
        );
        with_a_choice += u64::from(brought_forward(&seen, &priorities) > BATCH);
    }
    assert!(with_a_choice > PAGES / 3, "answers compete in {with_a_choice} pages");
}

/// The control: the same pages of an origin that does not look at priorities.
#[test]
fn in_order_of_asking_urgent_answers_wait_for_more_than_a_batch() {
    let trusted = Trusted::new(&["h2"]);
    let pages = 50;
    let mut out_of_order = 0;
    for seed in 0..pages {
        let (seen, priorities) = fetched(&trusted, Policy::Fifo, Seed(seed));
        let (overtaken, _) = most_overtaken(&seen, &priorities);
        out_of_order += u64::from(overtaken > BATCH);
    }
    assert!(out_of_order > pages / 4, "{out_of_order} pages");
}

#[test]
fn an_order_that_is_wrong_is_found() {
    let urgent = |urgency| Priority { urgency, incremental: false };
    let priorities = BTreeMap::from([(0, urgent(5)), (4, urgent(1)), (8, urgent(1))]);
    let asked = [0, 4, 8].map(|stream| Seen::Asked { stream });
    let sent = |stream, bytes, is_last| Seen::Sent { stream, bytes, is_last };
    let right = [sent(4, 700, true), sent(8, 700, true), sent(0, 700, true)];
    assert_eq!(most_overtaken(&[&asked[..], &right].concat(), &priorities), (0, 8));
    let wrong = [sent(0, 300, false), sent(8, 700, true), sent(4, 700, true), sent(0, 400, true)];
    assert_eq!(most_overtaken(&[&asked[..], &wrong].concat(), &priorities), (1_000, 4));
}
