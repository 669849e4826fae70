//! Fetches whose connection is lost under them.

use crate::world::{Listener, Reply, Seen, Speaks, Trusted, World, config, fetches, millis, ok};
use bytes::Bytes;
use client::{
    Bodies, Client, ClientConfig, FetchId, FetchList, FetchSpec, LostFetches, Offer, PageLoad,
    Protocol, Security, Transport,
};
use page::{Browser, Load};
use proto::{Fields, Method, Status, spdy};
use std::collections::HashSet;
use std::time::Duration;
use trace::{FetchOutcome, FetchRecord};

/// How long a server waits with its reset after half of an answer.
const LATER: Duration = Duration::from_millis(20);

/// Answers the first request for `path` with `lost`, and all else by `rest`.
fn losing(
    path: &'static str,
    lost: fn() -> Reply,
    mut rest: impl FnMut(&Seen) -> Reply,
) -> impl FnMut(&Seen) -> Reply {
    let mut is_lost = false;
    move |seen| {
        if seen.head.path == path && !std::mem::replace(&mut is_lost, true) {
            return lost();
        }
        rest(seen)
    }
}

fn reset() -> Reply {
    Reply::Reset(LATER, vec![b'-'; 5_000])
}

/// What a client may speak over TCP, and when it has the answer to a request that is lost and made again at once, in
/// milliseconds: the answer's first half, the reset, and a new connection.
fn ways() -> [(Listener, ClientConfig, u128); 4] {
    let (h1, h2) = (Trusted::new(&["http/1.1"]), Trusted::new(&["h2"]));
    let spdy = Transport { offer: Offer::Only(Protocol::Spdy31), security: Security::Clear };
    [
        (Listener::Clear(Speaks::Http1), config(Transport::H1), 200 + 20 + 200),
        (Listener::Tls(h1.server.clone()), h1.config(Transport::H1_TLS), 300 + 20 + 300),
        (Listener::Tls(h2.server.clone()), h2.config(Transport::H2), 300 + 20 + 300),
        (Listener::Clear(Speaks::Spdy(spdy::Version::V3_1)), config(spdy), 200 + 20 + 200),
    ]
}

fn made_again(config: ClientConfig) -> ClientConfig {
    ClientConfig { lost: LostFetches::MadeAgain, ..config }
}

fn run(
    world: &mut World,
    config: ClientConfig,
    specs: Vec<FetchSpec>,
) -> (FetchList, Vec<FetchRecord>) {
    let list = world.run(Client::new(config, FetchList::new(specs, Bodies::Keep))).into_work();
    let mut records = list.records.fetches.clone();
    records.sort_by_key(|record| record.id);
    (list, records)
}

/// The connections on which the servers saw `path` asked for.
fn asked(world: &World, path: &str) -> Vec<usize> {
    let of_path = world.seen.iter().filter(|seen| seen.head.path == path);
    of_path.map(|seen| seen.connection).collect()
}

#[test]
fn a_response_that_a_reset_cuts_is_made_again_whole_and_its_time_runs_on() {
    for (listener, config, answered) in ways() {
        let name = format!("{:?}", config.transport);
        let mut world = World::new(listener, losing("/1", reset, |_| ok(b"whole")));
        let (list, records) = run(&mut world, made_again(config), fetches(3));
        assert!(records.iter().all(|record| record.outcome == FetchOutcome::Done), "{records:?}");
        let again: Vec<usize> = records.iter().map(|record| record.times_lost()).collect();
        assert_eq!(again, [0, 1, 0], "{name}");
        let record = &records[1];
        assert_eq!((record.status, record.body_bytes), (Some(200), 5), "of the second answer");
        assert_eq!(list.answer(FetchId(1)).unwrap().body, b"whole", "{name}");
        assert_eq!(millis(Some(record.phases.queued)), 0, "{name}");
        assert_eq!(millis(record.phases.last_byte), answered, "{name}");
        assert!(record.phases.connect_start > records[0].phases.last_byte, "{name}");
        let connections: HashSet<usize> = asked(&world, "/1").into_iter().collect();
        assert_eq!(connections.len(), 2, "{name}: on another connection");
        assert_eq!(world.still_open(), 0);
    }
}

#[test]
fn a_response_that_a_reset_cuts_fails_where_nobody_asks_for_more() {
    for (listener, config, _) in ways() {
        let mut world = World::new(listener, losing("/1", reset, |_| ok(b"whole")));
        let (_, records) = run(&mut world, config, fetches(3));
        let FetchOutcome::Failed(why) = &records[1].outcome else { panic!("{:?}", records[1]) };
        assert!(why.contains("connection reset"), "{why}");
        assert_eq!((records[1].body_bytes, records[1].times_lost()), (2_500, 0));
        assert_eq!(asked(&world, "/1").len(), 1);
    }
}

#[test]
fn a_server_that_closes_in_the_middle_of_a_response_has_lost_it_too() {
    let cut = || Reply::Cut(Status::OK, Fields::new(), vec![b'-'; 5_000]);
    for (listener, config, _) in ways() {
        let mut world = World::new(listener, losing("/1", cut, |_| ok(b"whole")));
        let (list, records) = run(&mut world, made_again(config), fetches(3));
        assert_eq!(records[1].outcome, FetchOutcome::Done);
        assert_eq!(records[1].times_lost(), 1);
        assert_eq!(list.answer(FetchId(1)).unwrap().body, b"whole");
    }
}

#[test]
fn a_fetch_is_made_again_three_times_at_most() {
    for (listener, config, _) in ways() {
        let mut world = World::new(listener, |_| reset());
        let (_, records) = run(&mut world, made_again(config), fetches(1));
        assert!(matches!(records[0].outcome, FetchOutcome::Failed(_)));
        assert_eq!((records[0].times_lost(), records[0].body_bytes), (3, 2_500));
        assert_eq!(asked(&world, "/0").len(), 4);
    }
}

#[test]
fn what_waits_for_a_handshake_that_a_reset_cuts_waits_for_another_one() {
    let trusted = Trusted::new(&["h2"]);
    for (resets, is_done) in [(3, true), (4, false)] {
        let mut world = World::new(Listener::Tls(trusted.server.clone()), |_| ok(b"whole"));
        world.resets = resets;
        let config = made_again(trusted.config(Transport::H2));
        let (_, records) = run(&mut world, config, fetches(2));
        for record in &records {
            assert_eq!(record.outcome == FetchOutcome::Done, is_done, "{record:?}");
            assert_eq!(record.times_lost(), 3);
        }
        assert_eq!(world.opened(), 4);
    }
    let mut world = World::new(Listener::Tls(trusted.server.clone()), |_| ok(b"whole"));
    world.resets = 1;
    let (_, records) = run(&mut world, trusted.config(Transport::H2), fetches(1));
    assert!(matches!(records[0].outcome, FetchOutcome::Failed(_)), "nobody asks for more");
}

#[test]
fn a_request_that_is_not_safe_is_not_made_again() {
    for (listener, config, _) in ways() {
        let mut world = World::new(listener, |_| reset());
        let post = FetchSpec {
            method: Method::Post,
            body: Bytes::from_static(b"order"),
            ..fetches(1).remove(0)
        };
        let (_, records) = run(&mut world, made_again(config), vec![post]);
        assert!(matches!(records[0].outcome, FetchOutcome::Failed(_)));
        assert_eq!(asked(&world, "/0").len(), 1);
    }
}

/// The first image is in the first half of the markup, the second in the other.
fn document() -> Vec<u8> {
    let padding = "x".repeat(2_000);
    format!("<body><img src=/first.png>{padding}<img src=/second.png>").into()
}

#[test]
fn what_a_page_has_found_in_a_document_that_is_lost_is_asked_for_once() {
    // Early: the request for the image is lost as well. Late: the image is there by then.
    let early = || Reply::Reset(LATER, document());
    let late = || Reply::Reset(Duration::from_millis(300), document());
    let site = |seen: &Seen| match &*seen.head.path {
        "/" => ok(&document()),
        _ => ok(&[9; 1_000]),
    };
    for (lost, of_image) in [(early as fn() -> Reply, 1), (late, 0)] {
        let mut world = World::new(Listener::Clear(Speaks::Http2), losing("/", lost, site));
        let url = "http://a.test/".parse().unwrap();
        let load = PageLoad::new(move |now| Load::browse(url, Browser::Chrome156, now));
        let page =
            world.run(Client::new(made_again(config(Transport::H2_CLEAR)), load)).into_work();
        assert!(page.milestones().load.is_some(), "{:?}", page.records.fetches);
        assert_eq!(asked(&world, "/").len(), 2);
        assert_eq!(asked(&world, "/first.png").len(), 1);
        assert_eq!(asked(&world, "/second.png").len(), 1);
        let mut fetches = page.records.fetches.clone();
        fetches.sort_by_key(|fetch| fetch.id);
        let again: Vec<usize> = fetches.iter().map(|fetch| fetch.times_lost()).collect();
        assert_eq!(again, [1, of_image, 0]);
        assert_eq!(fetches[0].body_bytes, document().len() as u64);
        assert_eq!(page.milestones().first_byte, fetches[0].phases.first_byte);
    }
}
