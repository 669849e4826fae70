//! Our client and our origin together over an emulated link, in virtual time: what no run over sockets can show exactly.

use crate::world::{START, Trusted, config, millis};
use client::Protocol;
use client::{
    Bodies, Client, ClientConfig, FetchId, FetchList, FetchSpec, Offer, PageLoad, Security,
    Transport, Work,
};
use link::{LinkSpec, no_traces};
use origin::{ListenerKind, Origin, OriginConfig, Parts, WallClock};
use page::{Browser, Load, Synthetic};
use proto::schedule::Policy;
use sim::{Ended, Host, Path, Pieces, Scripted, Transcript, World};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::rc::Rc;
use std::time::Duration;
use trace::{Direction, Event, FetchOutcome, Sink, Tracer};
use unit::Instant;

const IMAGES: u32 = 10;
const IMAGE_BYTES: u64 = 20_000;

const SPDY_CLEAR: Transport =
    Transport { offer: Offer::Only(Protocol::Spdy31), security: Security::Clear };

const PIECES: [Pieces; 4] =
    [Pieces::Whole, Pieces::Of(1), Pieces::Of(1_460), Pieces::Random { longest: 4_000 }];

fn three_g() -> Path {
    Path::link(link::find("3g").unwrap().spec())
}

fn page() -> Synthetic {
    Synthetic { images: IMAGES, bytes: IMAGE_BYTES, seed: 3, ..Synthetic::default() }
}

fn origin(kind: ListenerKind, priorities: Policy) -> Origin {
    let wall_clock = WallClock { at: START, unix: Duration::from_secs(1_800_000_000) };
    let protocols = vec![Protocol::Spdy31, Protocol::Http2, Protocol::Http1];
    let config =
        OriginConfig { protocols, priorities, ..OriginConfig::new(vec![kind], wall_clock) };
    Origin::new(config, Parts::default())
}

/// A world with a client and our origin, this path between them.
fn joined<W: Work + 'static>(
    path: Path,
    client: Client<W>,
    kind: ListenerKind,
) -> (World, Host<Client<W>>, Host<Origin>) {
    joined_by(Policy::Auto, path, client, kind)
}

/// The same, with an origin that sends by this policy.
fn joined_by<W: Work + 'static>(
    priorities: Policy,
    path: Path,
    client: Client<W>,
    kind: ListenerKind,
) -> (World, Host<Client<W>>, Host<Origin>) {
    let mut world = World::new(1);
    let near = world.host("10.0.0.1", client);
    let far = world.listen("0.0.0.0:0", origin(kind, priorities));
    world.connect(near, far, path);
    world.record_packets();
    (world, near, far)
}

/// Loads the page; client and origin get their bytes in such pieces.
fn load_page(config: ClientConfig, kind: ListenerKind, [down, up]: [Pieces; 2]) -> PageLoad {
    let url = format!("http://a.test{}", page().target()).parse().unwrap();
    let load = PageLoad::new(move |now| Load::browse(url, Browser::Chrome156, now));
    let (mut world, near, far) = joined(three_g(), Client::new(config, load), kind);
    world.split_reads(near, down);
    world.split_reads(far, up);
    assert_eq!(world.run_until_finished(near), Ended::Finished);
    world.take(near).into_work()
}

fn all_arrived(page_load: &PageLoad) {
    let mut lengths: Vec<u64> = Vec::new();
    for fetch in &page_load.records.fetches {
        assert_eq!(fetch.outcome, FetchOutcome::Done, "{fetch:?}");
        lengths.push(fetch.body_bytes);
    }
    let images = lengths.iter().filter(|&&length| length == IMAGE_BYTES).count();
    assert_eq!((lengths.len(), images), (1 + IMAGES as usize, IMAGES as usize));
    assert!(lengths.contains(&(page().html().len() as u64)));
}

#[test]
fn a_page_over_3g_arrives_whole_whatever_the_splits() {
    for transport in [Transport::H1, Transport::H2_CLEAR, SPDY_CLEAR] {
        let load = |down: Pieces, up: Pieces| {
            let load = load_page(config(transport), ListenerKind::Clear, [down, up]);
            all_arrived(&load);
            load.milestones().load.unwrap()
        };
        let whole = load(Pieces::Whole, Pieces::Whole);
        // Connect, document and the first image's wait are 900 ms; 200 kB take a second at 1.6 Mbit/s.
        let total = millis(Some(whole));
        assert!((1_900..2_400).contains(&total), "{transport:?}: {total} ms");
        for pieces in PIECES {
            // A request alone on its connection that comes in pieces takes no nanosecond longer. Where several come
            // at once, the first is answered before the others are read: other frames, of the same bytes.
            let other = load(Pieces::Whole, pieces);
            let most = if transport == Transport::H1 { 0 } else { 5 };
            let difference = other.since(whole).max(whole.since(other));
            assert!(difference <= ms(most), "{transport:?} {pieces:?}: {difference:?}");
            // A document in pieces names its images one by one: requests leave in other packets.
            let cut = millis(Some(load(pieces, pieces)));
            assert!(cut.abs_diff(total) < 150, "{transport:?} {pieces:?}: {cut} ms for {total}");
        }
    }
}

#[test]
fn a_page_over_3g_and_tls_arrives_whole_whatever_the_splits() {
    for (alpn, transport) in
        [("http/1.1", Transport::H1_TLS), ("h2", Transport::H2), ("spdy/3.1", Transport::SPDY)]
    {
        let trusted = Trusted::new(&[alpn]);
        for pieces in PIECES {
            let kind = ListenerKind::Tls(trusted.server.clone());
            let load = load_page(trusted.config(transport), kind, [pieces; 2]);
            all_arrived(&load);
            let [connection, ..] = &load.records.connections[..] else { panic!("no connection") };
            assert_eq!(connection.protocol.name(), alpn);
        }
    }
}

#[test]
fn a_small_request_is_answered_beside_an_h2_download_of_a_megabyte() {
    let paths = ["/image/1?bytes=1000000", "/image/2?bytes=1000"];
    let specs = paths.map(|path| FetchSpec::get(format!("http://a.test{path}").parse().unwrap()));
    let alone = {
        let list = FetchList::new([specs[1].clone()], Bodies::Keep);
        run_list(Policy::RoundRobin, list)
    };
    let both = run_list(Policy::RoundRobin, FetchList::new(specs.clone(), Bodies::Keep));
    let ended = |list: &FetchList, id: u32| {
        let record = list.records.fetches.iter().find(|record| record.id == id).unwrap();
        assert_eq!(record.outcome, FetchOutcome::Done);
        record.phases.last_byte.unwrap()
    };
    assert_eq!(both.answer(FetchId(0)).unwrap().body.len(), 1_000_000);
    assert_eq!(both.answer(FetchId(1)).unwrap().body, alone.answer(FetchId(0)).unwrap().body);
    assert_eq!(both.records.connections.len(), 1);
    // Two round trips of 300 ms and the serialisation of 1.2 kB.
    let alone = ended(&alone, 0).since(START);
    assert!((ms(610)..ms(616)).contains(&alone), "{alone:?}");
    // One frame of the download goes before it, 16 kB or 85 ms: each stream has its turn.
    let small = ended(&both, 1).since(START);
    let later = small - alone;
    assert!((ms(82)..ms(92)).contains(&later), "{later:?} later than alone");
    // Two round trips, and 5.2 s for a megabyte in segments of 1,448 bytes at 1.6 Mbit/s.
    let large = ended(&both, 0).since(START);
    assert!((ms(5_780)..ms(5_810)).contains(&large), "{large:?}");

    // By its signals the client asks for one after the other, as Chromium does among equals, and for the urgent first.
    let in_turn = run_list(Policy::Auto, FetchList::new(specs.clone(), Bodies::Keep));
    let small = ended(&in_turn, 1).since(START);
    assert!(small > ms(5_700), "{small:?}");
    let mut ranked = specs;
    ranked[1].priority.urgency = 0;
    let urgent = run_list(Policy::Auto, FetchList::new(ranked, Bodies::Keep));
    let small = ended(&urgent, 1).since(START);
    assert!(small - alone < ms(92), "{small:?}");
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn run_list(priorities: Policy, list: FetchList) -> FetchList {
    let client = Client::new(config(Transport::H2_CLEAR), list);
    let (mut world, near, _) = joined_by(priorities, three_g(), client, ListenerKind::Clear);
    assert_eq!(world.run_until_finished(near), Ended::Finished);
    world.take(near).into_work()
}

/// What the origin gives a reader that stops, and the answer that it has in the end.
fn given_and_answer(reader: Reader) -> (usize, Vec<u8>) {
    let mut world = World::new(1);
    let near = world.host("10.0.0.1", Scripted::new(Transcript::default()));
    let far = world.listen("10.0.0.2:80", origin(ListenerKind::Clear, Policy::Auto));
    world.connect(near, far, Path::delay(ms(10)));
    world.receive_buffer(near, RECEIVE_BUFFER);
    let socket = world.with(near, |near| near.connect("10.0.0.2:80"));
    world.run_for(ms(20));
    if reader == Reader::Stops {
        world.with(near, |near| near.pause(socket));
    }
    let request = b"GET /image/7?bytes=2000000 HTTP/1.1\r\nHost: a\r\n\r\n";
    world.with(near, |near| near.send(socket, request));
    world.run_for(ms(2_000));
    let given = world.sockets(far).bytes_given as usize;
    world.with(near, |near| near.resume(socket));
    world.run_for(ms(2_000));
    (given, world.end_point(near).script().received(socket).to_vec())
}

#[derive(PartialEq)]
enum Reader {
    Stops,
    ReadsOn,
}

const RECEIVE_BUFFER: usize = 64 * 1024;

/// The default of `unsent_low_water`.
const LOW_WATER: usize = 16 * 1024;

/// What the origin gives is bounded by the reader's buffer and its own mark, whatever the body's length.
#[test]
fn a_reader_that_stops_holds_the_origins_memory_down() {
    let (given, answer) = given_and_answer(Reader::Stops);
    let (all, expected) = given_and_answer(Reader::ReadsOn);
    assert!(all > 2_000_000 && all == expected.len());
    assert!(answer == expected, "the rest comes when it reads on");
    let most = RECEIVE_BUFFER + LOW_WATER / 2 + LOW_WATER;
    assert!((RECEIVE_BUFFER..=most).contains(&given), "{given} bytes");
}

/// Writes down every event.
#[derive(Default)]
struct Diary(RefCell<String>);

impl Sink for Diary {
    fn record(&self, at: Instant, connection: u64, event: &Event<'_>) {
        writeln!(self.0.borrow_mut(), "{} {connection} {event:?}", at.nanos()).unwrap();
    }
}

/// Events and packets of a page load over a link with loss and jitter, from this seed.
fn told(seed: u64) -> (String, String) {
    let diary = Rc::new(Diary::default());
    let mut settings = config(Transport::H2_CLEAR);
    settings.tracer = Tracer::to(diary.clone());
    let url = format!("http://a.test{}", page().target()).parse().unwrap();
    let load = PageLoad::new(move |now| Load::browse(url, Browser::Chrome156, now));
    let mut world = World::new(seed);
    let near = world.host("10.0.0.1", Client::new(settings, load));
    let far = world.listen("0.0.0.0:0", origin(ListenerKind::Clear, Policy::Auto));
    let spec = "rtt=300ms,down=1.6mbit,up=768kbit,queue=60kB,loss=1%,jitter=20ms";
    world.connect(near, far, Path::link(LinkSpec::parse(spec, no_traces).unwrap()));
    world.split_reads(near, Pieces::Random { longest: 3_000 });
    world.record_packets();
    assert_eq!(world.run_until_finished(near), Ended::Finished);
    let packets = format!("{:?}", world.packets());
    all_arrived(&world.take(near).into_work());
    (diary.0.borrow().clone(), packets)
}

#[test]
fn the_same_seed_tells_the_same_story_byte_for_byte() {
    let (events, packets) = told(1);
    assert!(events.lines().count() > 50, "{events}");
    assert_eq!(told(1), (events.clone(), packets));
    assert_ne!(told(2).0, events);
}

/// A request of one segment over a path of 100 ms, to the nanosecond.
#[test]
fn a_request_takes_a_connect_and_a_round_trip_exactly() {
    let spec = FetchSpec::get("http://a.test/image/1?bytes=1000".parse().unwrap());
    let list = FetchList::new([spec], Bodies::Discard);
    let client = Client::new(config(Transport::H1), list);
    let (mut world, near, _) = joined(Path::delay(ms(50)), client, ListenerKind::Clear);
    assert_eq!(world.run_until_finished(near), Ended::Finished);
    let phases = world.end_point(near).work().records.fetches[0].phases;
    let since = |at: Option<Instant>| at.unwrap().since(START);
    assert_eq!(
        [phases.connected, phases.sent, phases.first_byte, phases.last_byte].map(since),
        [ms(100), ms(100), ms(200), ms(200)]
    );
    let up = world.packets().iter().filter(|packet| packet.direction == Direction::Up);
    // SYN, ACK, the request; the FIN is on its way.
    assert!((3..=4).contains(&up.count()));
}
