//! How HTTP/3 is found on a first visit, in virtual time over a round trip of 100 ms: known, raced against TCP, and where
//! the link drops UDP.

use crate::world::{START, Trusted};
use client::{
    Bodies, Client, ClientConfig, FetchList, FetchSpec, HostAddress, Hosts, Race, Resolver,
    Transport,
};
use link::{LinkSpec, no_traces};
use origin::{ListenerKind, Origin, OriginConfig, Parts, WallClock};
use secure::{Resumption, ServerTlsOptions};
use sim::{Ended, Path, World};
use std::time::Duration;
use trace::{EarlyData, FetchOutcome, FetchRecord, Protocol};
use transport::QuicSettings;

/// A server with HTTP/2 on TCP and HTTP/3 on UDP, both at port 443.
struct Bench {
    trusted: Trusted,
    client: ClientConfig,
}

impl Bench {
    fn new(transport: Transport, race: Option<Race>) -> Self {
        Self::with(transport, race, Resumption::Off)
    }

    fn with(transport: Transport, race: Option<Race>, resumption: Resumption) -> Self {
        let trusted = Trusted::with(&["h2"], |options| ServerTlsOptions { resumption, ..options });
        let client = ClientConfig { race, ..trusted.resuming(transport, resumption) };
        Self { trusted, client }
    }

    fn racing(head_start: u64) -> Self {
        let head_start = Duration::from_millis(head_start);
        Self::new(Transport::H2, Some(Race { head_start }))
    }

    /// Fetches three images over a link, with what is remembered of earlier visits.
    fn visit(&self, link: &str) -> FetchList {
        self.visit_and_hear(link).0
    }

    /// The same, and the port that `Alt-Svc` offered HTTP/3 on.
    fn visit_and_hear(&self, link: &str) -> (FetchList, Option<u16>) {
        let tls = self.trusted.server.clone();
        let kinds =
            vec![ListenerKind::Tls(tls.clone()), ListenerKind::Quic(tls, QuicSettings::default())];
        let wall_clock = WallClock { at: START, unix: Duration::from_secs(1_800_000_000) };
        let config = OriginConfig { alt_svc: Some(443), ..OriginConfig::new(kinds, wall_clock) };
        let origin = Origin::new(config, Parts::default());
        let mut world = World::new(1);
        let image = |n| format!("https://a.test/image/{n}?bytes=1000").parse().unwrap();
        let list = FetchList::new((0..3).map(image).map(FetchSpec::get), Bodies::Discard);
        let near = world.host("10.0.0.1", Client::new(self.client.clone(), list));
        let far = world.listen("10.0.0.2:443", origin);
        world.listen_datagrams(far, "10.0.0.2:443");
        world.connect(near, far, Path::link(LinkSpec::parse(link, no_traces).unwrap()));
        assert_eq!(world.run_until_finished(near), Ended::Finished);
        let client = world.take(near);
        let offered = client.alternative();
        (client.into_work(), offered)
    }
}

/// Milliseconds until the first byte of each answer, and what all of them were spoken by.
fn answered(list: &FetchList) -> (u128, Protocol) {
    let fetches = &list.records.fetches;
    assert_eq!(fetches.len(), 3);
    let told = |fetch: &FetchRecord| {
        assert_eq!(fetch.outcome, FetchOutcome::Done, "{fetch:?}");
        (crate::world::millis(fetch.phases.first_byte), fetch.protocol.known().unwrap())
    };
    let first = told(&fetches[0]);
    assert!(fetches.iter().all(|fetch| told(fetch) == first), "{fetches:?}");
    first
}

/// What the connections spoke; None for one that was dropped before it could.
fn connections(list: &FetchList) -> Vec<Option<Protocol>> {
    let mut records: Vec<_> = list.records.connections.iter().collect();
    records.sort_by_key(|record| record.id);
    records.into_iter().map(|record| record.protocol.known()).collect()
}

const ALLOWED: &str = "rtt=100ms";
const BLOCKED: &str = "rtt=100ms,udp=blocked";

#[test]
fn http3_that_is_known_answers_after_two_round_trips_and_http2_after_three() {
    let known = Bench::new(Transport::H3, None).visit(ALLOWED);
    assert_eq!(answered(&known), (200, Protocol::Http3));
    let without = Bench::new(Transport::H2, None).visit(ALLOWED);
    assert_eq!(answered(&without), (300, Protocol::Http2));
}

#[test]
fn a_first_view_hears_of_http3_by_alt_svc_and_the_next_one_speaks_it() {
    let bench = Bench::new(Transport::H2, None);
    let (first, offered) = bench.visit_and_hear(ALLOWED);
    assert_eq!((answered(&first), offered), ((300, Protocol::Http2), Some(443)));
    let client = ClientConfig { transport: Transport::H3, ..bench.client.clone() };
    let next = Bench { client, ..bench }.visit(ALLOWED);
    assert_eq!(answered(&next), (200, Protocol::Http3));
}

#[test]
fn what_another_origin_offers_later_leaves_the_first_ones_offer() {
    let bench = Bench::new(Transport::H2, None);
    let mut client = bench.client.clone();
    client.hosts.insert("b.test", HostAddress::Address([10, 0, 0, 3].into()));
    let mut world = World::new(1);
    let urls = ["https://a.test/api?bytes=9", "https://b.test/api?bytes=9&delay_ms=500"];
    let list =
        FetchList::new(urls.map(|url| FetchSpec::get(url.parse().unwrap())), Bodies::Discard);
    let near = world.host("10.0.0.1", Client::new(client, list));
    for (address, alt_svc) in [("10.0.0.2:443", 443), ("10.0.0.3:443", 444)] {
        let kinds = vec![ListenerKind::Tls(bench.trusted.server.clone())];
        let wall_clock = WallClock { at: START, unix: Duration::from_secs(1_800_000_000) };
        let config =
            OriginConfig { alt_svc: Some(alt_svc), ..OriginConfig::new(kinds, wall_clock) };
        let far = world.listen(address, Origin::new(config, Parts::default()));
        world.connect(near, far, Path::link(LinkSpec::parse(ALLOWED, no_traces).unwrap()));
    }
    assert_eq!(world.run_until_finished(near), Ended::Finished);
    assert_eq!(world.take(near).alternative(), Some(443));
}

#[test]
fn a_race_takes_as_long_as_the_faster_one_and_drops_the_other() {
    let race = Bench::racing(0).visit(ALLOWED);
    assert_eq!(answered(&race), (200, Protocol::Http3));
    assert_eq!(connections(&race), [Some(Protocol::Http3), None]);
}

#[test]
fn within_its_head_start_quic_needs_no_connection_over_tcp() {
    let race = Bench::racing(150).visit(ALLOWED);
    assert_eq!(answered(&race), (200, Protocol::Http3));
    assert_eq!(connections(&race), [Some(Protocol::Http3)]);
}

#[test]
fn where_udp_is_blocked_a_race_costs_the_head_start_and_nothing_else() {
    for head_start in [0, 150] {
        let race = Bench::racing(head_start).visit(BLOCKED);
        assert_eq!(answered(&race), (300 + u128::from(head_start), Protocol::Http2));
        assert_eq!(connections(&race), [None, Some(Protocol::Http2)]);
    }
}

#[test]
fn without_a_race_blocked_udp_fails_after_the_time_limit_for_connecting() {
    let mut bench = Bench::new(Transport::H3, None);
    bench.client.timeouts.connect = Duration::from_secs(10);
    let list = bench.visit(BLOCKED);
    for fetch in &list.records.fetches {
        assert!(matches!(fetch.outcome, FetchOutcome::Failed(_)), "{fetch:?}");
        assert_eq!(crate::world::millis(fetch.phases.last_byte), 10_000);
    }
}

#[test]
fn a_hosts_next_address_follows_one_that_is_silent_over_udp() {
    let bench = Bench::new(Transport::H3, None);
    let mut client = bench.client.clone();
    client.timeouts.connect = Duration::from_secs(10);
    client.hosts = Hosts::new();
    client.hosts.ask(Resolver::new(|_| vec![[10, 0, 0, 3].into(), [10, 0, 0, 2].into()]));
    let mut world = World::new(1);
    let url = "https://a.test/api?bytes=9".parse().unwrap();
    let list = FetchList::new([FetchSpec::get(url)], Bodies::Discard);
    let near = world.host("10.0.0.1", Client::new(client, list));
    for (address, link) in [("10.0.0.3:443", BLOCKED), ("10.0.0.2:443", ALLOWED)] {
        let tls = bench.trusted.server.clone();
        let kinds = vec![ListenerKind::Quic(tls, QuicSettings::default())];
        let wall_clock = WallClock { at: START, unix: Duration::from_secs(1_800_000_000) };
        let origin = Origin::new(OriginConfig::new(kinds, wall_clock), Parts::default());
        let far = world.host(&address[..8], origin);
        world.listen_datagrams(far, address);
        world.connect(near, far, Path::link(LinkSpec::parse(link, no_traces).unwrap()));
    }
    assert_eq!(world.run_until_finished(near), Ended::Finished);
    let list = world.take(near).into_work();
    let [fetch] = &list.records.fetches[..] else { panic!("{:?}", list.records) };
    assert_eq!(fetch.outcome, FetchOutcome::Done, "{fetch:?}");
    // The first address has one half of the time limit, and the second one answers after two round trips.
    assert_eq!(crate::world::millis(fetch.phases.first_byte), 5_200);
}

#[test]
fn quic_that_fails_within_its_head_start_is_followed_by_tcp_at_once() {
    let mut bench = Bench::racing(60_000);
    bench.client.timeouts.connect = Duration::from_secs(10);
    let list = bench.visit(BLOCKED);
    assert_eq!(answered(&list), (10_300, Protocol::Http2));
}

#[test]
fn early_data_wins_a_race_before_tcp_begins() {
    let race = Some(Race { head_start: Duration::from_millis(150) });
    let bench = Bench::with(Transport::H2, race, Resumption::Early);
    assert_eq!(answered(&bench.visit(ALLOWED)), (200, Protocol::Http3));
    let early = bench.visit(ALLOWED);
    assert_eq!(answered(&early), (100, Protocol::Http3));
    assert_eq!(connections(&early), [Some(Protocol::Http3)]);
    let tls = early.records.connections[0].tls.as_ref().unwrap();
    assert_eq!(tls.early_data, EarlyData::Accepted);
}
