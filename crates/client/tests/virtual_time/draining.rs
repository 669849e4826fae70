//! A server of HTTP/3 that stops: what it has begun arrives whole, and what it did not take is asked of another one.

use crate::world::{START, Trusted};
use client::{
    Bodies, Calls, Client, ClientConfig, FetchId, FetchList, FetchSpec, PageLoad, Pattern,
    Transport, Work,
};
use link::{LinkSpec, no_traces};
use origin::{ListenerKind, Origin, OriginConfig, Parts, WallClock};
use page::{Browser, Load, Synthetic};
use sim::{Ended, Host, Path, World};
use std::time::Duration;
use trace::{Direction, Fate, FetchOutcome, PacketRecord};
use transport::QuicSettings;
use unit::{Instant, Seed};

struct Bench<W> {
    world: World,
    near: Host<Client<W>>,
    far: Host<Origin>,
}

fn origin(trusted: &Trusted) -> Origin {
    let wall_clock = WallClock { at: START, unix: Duration::from_secs(1_800_000_000) };
    let settings = QuicSettings { seed: Some(Seed(1)), ..QuicSettings::default() };
    let kind = ListenerKind::Quic(trusted.server.clone(), settings);
    Origin::new(OriginConfig::new(vec![kind], wall_clock), Parts::default())
}

/// A client of this work over HTTP/3, and an origin.
fn joined<W: Work + 'static>(trusted: &Trusted, link: &str, work: W) -> Bench<W> {
    joined_as(trusted.config(Transport::H3), trusted, link, work)
}

/// The same with these settings of the client.
fn joined_as<W: Work + 'static>(
    mut config: ClientConfig,
    trusted: &Trusted,
    link: &str,
    work: W,
) -> Bench<W> {
    config.quic.seed = Some(Seed(2));
    let mut world = World::new(1);
    let near = world.host("10.0.0.1", Client::new(config, work));
    let far = world.host("10.0.0.2", origin(trusted));
    world.listen_datagrams(far, "10.0.0.2:443");
    world.connect(near, far, Path::link(LinkSpec::parse(link, no_traces).unwrap()));
    world.record_packets();
    Bench { world, near, far }
}

const LENGTH: usize = 2_000_000;
const LINK: &str = "rtt=40ms,down=10mbit,up=10mbit";

/// A download that takes 1.6 s. After 0.3 s the server is asked to stop.
fn stopped_at_work() -> Bench<FetchList> {
    let url = format!("https://a.test/image/1?bytes={LENGTH}").parse().unwrap();
    let list = FetchList::new([FetchSpec::get(url)], Bodies::Keep);
    let mut bench = joined(&Trusted::new(&["h2"]), LINK, list);
    bench.world.run_for(Duration::from_millis(300));
    bench.world.stop(bench.far);
    bench
}

/// When the answer was whole, and how long the server went on.
fn ended(bench: &mut Bench<FetchList>) -> (Instant, Duration) {
    assert_eq!(bench.world.run_until_finished(bench.near), Ended::Finished);
    let list = &bench.world.end_point(bench.near).work();
    let fetch = &list.records.fetches[0];
    assert_eq!(fetch.outcome, FetchOutcome::Done, "{fetch:?}");
    assert_eq!(list.answer(FetchId(0)).unwrap().body.len(), LENGTH);
    let whole = fetch.phases.last_byte.unwrap();
    assert_eq!(bench.world.run_until_finished(bench.far), Ended::Finished);
    (whole, bench.world.now().since(whole))
}

/// The packet with which the answer was whole.
fn last_of_answer(packets: &[PacketRecord], whole: Instant) -> u64 {
    let completes = |packet: &&PacketRecord| {
        packet.direction == Direction::Down && packet.fate == Fate::Delivered { at: whole }
    };
    packets.iter().find(completes).unwrap().index
}

#[test]
fn a_server_that_stops_waits_until_the_last_bytes_of_an_answer_are_acknowledged() {
    let mut plain = stopped_at_work();
    let (whole, went_on) = ended(&mut plain);
    assert!(went_on < Duration::from_millis(100), "{went_on:?}");
    let last = last_of_answer(plain.world.packets(), whole);
    let mut lossy = stopped_at_work();
    lossy.world.lose(Direction::Down, last);
    let (again, went_on) = ended(&mut lossy);
    assert!(again > whole + Duration::from_millis(40), "{again:?} and {whole:?}");
    assert!(went_on < Duration::from_millis(100), "{went_on:?}");
}

#[test]
fn a_server_that_stops_does_not_wait_for_long_for_a_client_that_is_gone() {
    let (whole, _) = ended(&mut stopped_at_work());
    let mut bench = stopped_at_work();
    // The last bytes are on their way.
    bench.world.run_until(whole - Duration::from_millis(5));
    bench.world.take(bench.near);
    assert_eq!(bench.world.run_until_finished(bench.far), Ended::Finished);
    let went_on = bench.world.now().since(whole);
    assert!(went_on <= Duration::from_secs(3), "{went_on:?}");
}

#[test]
fn requests_above_the_identifier_of_a_goaway_are_made_again_over_a_new_connection() {
    let page = Synthetic { images: 10, ..Synthetic::default() };
    let url = format!("https://a.test{}", page.target()).parse().unwrap();
    let load = PageLoad::new(move |now| Load::browse(url, Browser::Chrome156, now));
    let trusted = Trusted::new(&["h2"]);
    let mut bench = joined(&trusted, "rtt=3s", load);
    // The document's request arrives after 4.5 s, and its answer after 6 s. Before the requests for its images arrive the
    // server has said twice that it goes: first that it takes what is under way, a second later that it takes no more.
    bench.world.run_for(Duration::from_millis(4_550));
    bench.world.stop(bench.far);
    bench.world.run_until(START + Duration::from_millis(8_000));
    let refused = bench.world.take(bench.far);
    assert_eq!(refused.connections(), 1);
    // Another server takes the address.
    let next = bench.world.host("10.0.0.2", origin(&trusted));
    bench.world.listen_datagrams(next, "10.0.0.2:443");
    let path = Path::link(LinkSpec::parse("rtt=3s", no_traces).unwrap());
    bench.world.connect(bench.near, next, path);
    assert_eq!(bench.world.run_until_finished(bench.near), Ended::Finished);
    let load = bench.world.take(bench.near).into_work();
    assert_eq!(load.records.fetches.len(), 11);
    for fetch in &load.records.fetches {
        assert_eq!(fetch.outcome, FetchOutcome::Done, "{fetch:?}");
    }
    let requests: Vec<u32> = load.records.connections.iter().map(|one| one.requests).collect();
    assert_eq!(requests, [11, 10]);
}

#[test]
fn a_server_that_stops_refuses_new_connections() {
    let trusted = Trusted::new(&["h2"]);
    let fetch = |path: &str| FetchSpec::get(format!("https://a.test{path}").parse().unwrap());
    let list = |path| FetchList::new([fetch(path)], Bodies::Keep);
    let mut bench = joined(&trusted, LINK, list("/image/1?bytes=2000000"));
    bench.world.run_for(Duration::from_millis(300));
    bench.world.stop(bench.far);
    let late = Client::new(trusted.config(Transport::H3), list("/image/2?bytes=1000"));
    let late = bench.world.host("10.0.0.3", late);
    let path = Path::link(LinkSpec::parse(LINK, no_traces).unwrap());
    bench.world.connect(late, bench.far, path);
    assert_eq!(bench.world.run_until_finished(late), Ended::Finished);
    let refused = &bench.world.end_point(late).work().records.fetches[0].outcome;
    assert!(matches!(refused, FetchOutcome::Failed(_)), "{refused:?}");
    // At once: a round trip.
    assert!(bench.world.elapsed() < Duration::from_millis(400), "{:?}", bench.world.elapsed());
    ended(&mut bench);
}

#[test]
fn a_connection_that_its_server_closes_between_requests_is_recorded_and_others_follow_it() {
    let url = "https://a.test/image/1?bytes=1000".parse().unwrap();
    let calls = Calls::new(vec![FetchSpec::get(url); 4], Pattern::Staggered { every: TWO_SECONDS });
    let trusted = Trusted::new(&["h2"]);
    let mut bench = joined(&trusted, LINK, calls);
    // Each server stops a second after its answer, and another one takes the address.
    for _ in 0..3 {
        bench.world.run_for(TWO_SECONDS / 2);
        bench.world.stop(bench.far);
        bench.world.run_for(TWO_SECONDS / 4);
        bench.world.take(bench.far);
        bench.far = bench.world.host("10.0.0.2", origin(&trusted));
        bench.world.listen_datagrams(bench.far, "10.0.0.2:443");
        let path = Path::link(LinkSpec::parse(LINK, no_traces).unwrap());
        bench.world.connect(bench.near, bench.far, path);
        bench.world.run_for(TWO_SECONDS / 4);
    }
    assert_eq!(bench.world.run_until_finished(bench.near), Ended::Finished);
    let calls = bench.world.take(bench.near).into_work();
    let outcomes = calls.records.fetches.iter().map(|fetch| fetch.outcome.clone());
    assert_eq!(outcomes.collect::<Vec<_>>(), [const { FetchOutcome::Done }; 4]);
    let requests: Vec<u32> = calls.records.connections.iter().map(|one| one.requests).collect();
    assert_eq!(requests, [1, 1, 1, 1]);
}

const TWO_SECONDS: Duration = Duration::from_secs(2);

#[test]
fn nothing_is_left_of_a_connection_that_ended_silent() {
    let url = "https://a.test/image/1?bytes=1000".parse().unwrap();
    let later = Duration::from_secs(100);
    let calls = Calls::new(vec![FetchSpec::get(url); 2], Pattern::Staggered { every: later });
    let trusted = Trusted::new(&["h2"]);
    let mut config = trusted.config(Transport::H3);
    config.quic.keep_alive = None;
    let mut bench = joined_as(config, &trusted, LINK, calls);
    assert_eq!(bench.world.run_until_finished(bench.near), Ended::Finished);
    let over = bench.world.now();
    let calls = bench.world.take(bench.near).into_work();
    let requests: Vec<u32> = calls.records.connections.iter().map(|one| one.requests).collect();
    assert_eq!(requests, [1, 1]);
    let last = calls.records.fetches[1].phases.last_byte.unwrap();
    // A handshake and a round trip after it was asked for; and nobody waits for the first connection.
    assert_eq!(last.since(START + later).as_millis() / 10, 8, "{last:?}");
    assert!(over.since(last) < Duration::from_millis(100), "{:?}", over.since(last));
}

/// A server that was killed, and began anew with other keys, answers nothing that is of an earlier connection.
#[test]
fn after_a_silence_requests_go_over_another_connection() {
    let url = "https://a.test/image/1?bytes=1000".parse().unwrap();
    let every = Duration::from_secs(20);
    let calls = Calls::new(vec![FetchSpec::get(url); 3], Pattern::Staggered { every });
    let trusted = Trusted::new(&["h2"]);
    let mut config = trusted.config(Transport::H3);
    config.timeouts.stall = Duration::from_secs(5);
    let mut bench = joined_as(config, &trusted, LINK, calls);
    bench.world.run_for(TWO_SECONDS);
    bench.world.take(bench.far);
    let next = bench.world.host("10.0.0.2", origin(&trusted));
    bench.world.listen_datagrams(next, "10.0.0.2:443");
    let path = Path::link(LinkSpec::parse(LINK, no_traces).unwrap());
    bench.world.connect(bench.near, next, path);
    assert_eq!(bench.world.run_until_finished(bench.near), Ended::Finished);
    let calls = bench.world.take(bench.near).into_work();
    let [first, second, third] = &calls.records.fetches[..] else { panic!("{:?}", calls.records) };
    let stalled = matches!(&second.outcome, FetchOutcome::Failed(why) if why.contains("5 s"));
    assert!(stalled, "{second:?}");
    let done = [&first.outcome, &third.outcome];
    assert_eq!(done, [&FetchOutcome::Done; 2]);
    assert_eq!(
        [first.connection, second.connection, third.connection],
        [Some(0), Some(0), Some(1)]
    );
}
