//! HTTP/3 between our client and our origin in virtual time: whole pages and bodies, round trips, Retry, loss.

use crate::world::{START, Trusted};
use client::{
    Bodies, Client, EchoSocket, FetchId, FetchList, FetchSpec, Message, PageLoad, Pattern,
    Protocol, Transport, WebSocketClient, WebSocketConfig, Work,
};
use endpoint::{Action, EndPoint, SocketError};
use link::{LinkSpec, no_traces};
use origin::{ListenerKind, Origin, OriginConfig, Parts, WallClock};
use page::{Browser, Load, Synthetic};
use sim::{Ended, Host, Path, World};
use std::time::Duration;
use trace::{FetchOutcome, Phases};
use transport::{AddressValidation, QuicSettings};

/// A client of this work, and an origin, with this link between them.
fn joined<W: Work + 'static>(
    link: &str,
    settings: QuicSettings,
    work: W,
) -> (World, Host<Client<W>>, Host<Origin>) {
    joined_by(1, link, settings, work)
}

/// The same with the losses of this seed.
fn joined_by<W: Work + 'static>(
    seed: u64,
    link: &str,
    settings: QuicSettings,
    work: W,
) -> (World, Host<Client<W>>, Host<Origin>) {
    let trusted = Trusted::new(&["h2"]);
    let wall_clock = WallClock { at: START, unix: Duration::from_secs(1_800_000_000) };
    let kind = ListenerKind::Quic(trusted.server.clone(), settings);
    let origin = Origin::new(OriginConfig::new(vec![kind], wall_clock), Parts::default());
    let mut world = World::new(seed);
    let near = world.host("10.0.0.1", Client::new(trusted.config(Transport::H3), work));
    let far = world.host("10.0.0.2", origin);
    world.listen_datagrams(far, "10.0.0.2:443");
    world.connect(near, far, Path::link(LinkSpec::parse(link, no_traces).unwrap()));
    (world, near, far)
}

fn fetched(link: &str, settings: QuicSettings, paths: &[String]) -> FetchList {
    let url = |path: &String| format!("https://a.test{path}").parse().unwrap();
    let list = FetchList::new(paths.iter().map(|path| FetchSpec::get(url(path))), Bodies::Keep);
    let (mut world, near, _) = joined(link, settings, list);
    assert_eq!(world.run_until_finished(near), Ended::Finished);
    world.take(near).into_work()
}

/// The same work over HTTP/2.
fn over_h2(link: &str, list: FetchList) -> FetchList {
    let trusted = Trusted::new(&["h2"]);
    let wall_clock = WallClock { at: START, unix: Duration::from_secs(1_800_000_000) };
    let kind = ListenerKind::Tls(trusted.server.clone());
    let origin = Origin::new(OriginConfig::new(vec![kind], wall_clock), Parts::default());
    let mut world = World::new(1);
    let near = world.host("10.0.0.1", Client::new(trusted.config(Transport::H2), list));
    let far = world.listen("10.0.0.2:443", origin);
    world.connect(near, far, Path::link(LinkSpec::parse(link, no_traces).unwrap()));
    assert_eq!(world.run_until_finished(near), Ended::Finished);
    world.take(near).into_work()
}

fn first_byte(list: &FetchList) -> Duration {
    let fetch = &list.records.fetches[0];
    assert_eq!(fetch.outcome, FetchOutcome::Done, "{fetch:?}");
    fetch.phases.first_byte.unwrap().since(START)
}

#[test]
fn the_first_byte_comes_after_two_round_trips_and_with_a_retry_after_three() {
    let paths = ["/image/1?bytes=1000".to_owned()];
    let cold = fetched("rtt=100ms", QuicSettings::default(), &paths);
    assert_eq!(first_byte(&cold), Duration::from_millis(200));
    let [connection] = &cold.records.connections[..] else { panic!("one connection") };
    assert_eq!(connection.protocol.name(), Protocol::Http3.name());
    let tls = connection.tls.as_ref().unwrap();
    assert_eq!((&*tls.alpn, tls.resumed), ("h3", false));
    let by_retry = AddressValidation::ByRetry;
    let settings = QuicSettings { address_validation: by_retry, ..QuicSettings::default() };
    assert_eq!(first_byte(&fetched("rtt=100ms", settings, &paths)), Duration::from_millis(300));
}

#[test]
fn a_hundred_requests_at_once_and_a_large_body_arrive_whole_over_a_lossy_link() {
    let mut paths: Vec<String> = (0..100).map(|n| format!("/image/{n}?bytes=5000")).collect();
    paths.push("/image/100?bytes=2000000".to_owned());
    let link = "rtt=20ms,down=50mbit,up=50mbit,loss=2%";
    let list = fetched(link, QuicSettings::default(), &paths);
    for id in 0..100 {
        assert_eq!(list.answer(FetchId(id)).unwrap().body.len(), 5_000, "{id}");
    }
    assert_eq!(list.answer(FetchId(100)).unwrap().body.len(), 2_000_000);
    assert_eq!(list.records.connections.len(), 1);
}

/// Over HTTP/2 a client knows by itself when a stream has ended. Over QUIC it has to be told (MAX_STREAMS): that comes with
/// the ends of the answers, for several at a time.
#[test]
fn a_request_beyond_the_limit_of_streams_says_when_it_was_allowed() {
    /// Answers whose ends come a few datagrams after what they allow.
    const A_BATCH: usize = 10;
    let paths: Vec<String> = (0..250).map(|n| format!("/image/{n}?bytes=1000")).collect();
    let list = fetched("rtt=100ms", QuicSettings::default(), &paths);
    let over_h3: Vec<_> = list.records.fetches.iter().map(|fetch| fetch.phases).collect();
    let requests = paths.iter().map(|path| format!("https://a.test{path}").parse().unwrap());
    let list = FetchList::new(requests.map(FetchSpec::get), Bodies::Keep);
    let list = over_h2("rtt=100ms", list);
    let over_h2: Vec<_> = list.records.fetches.iter().map(|fetch| fetch.phases).collect();
    for phases in [&over_h3, &over_h2] {
        let limit = phases.iter().position(|phases| phases.allowed.is_some()).unwrap();
        assert_eq!(limit, 100);
        for (index, late) in phases.iter().enumerate().skip(limit) {
            assert_eq!(late.allowed, late.sent, "{index}");
            let ended = |other: &&Phases| other.last_byte <= late.allowed;
            let ended = phases.iter().filter(ended).count();
            assert!(ended + limit + A_BATCH > index, "{index}: allowed after {ended} answers");
        }
    }
    // Nor does a turn of streams wait for a round trip.
    let unlimited = QuicSettings { max_streams: 250, ..QuicSettings::default() };
    let list = fetched("rtt=100ms", unlimited, &paths);
    let unlimited: Vec<_> = list.records.fetches.iter().map(|fetch| fetch.phases).collect();
    let end =
        |phases: &[Phases]| phases.iter().filter_map(|phases| phases.last_byte).max().unwrap();
    let longer = end(&over_h3).since(end(&unlimited));
    assert!(longer < Duration::from_millis(100), "{longer:?}");
}

/// What a lost packet with entries of QPACK's table holds up goes on when they come, to its end, also where all else of the
/// answer came before them.
#[test]
fn answers_whose_heads_wait_for_entries_of_the_table_go_on_to_their_end() {
    for seed in 1..80 {
        let paths: Vec<String> = (0..3).map(|n| format!("/image/{n}?bytes=2990")).collect();
        let url = |path: &String| format!("https://a.test{path}").parse().unwrap();
        let list = FetchList::new(paths.iter().map(|path| FetchSpec::get(url(path))), Bodies::Keep);
        let link = "rtt=170ms,down=9mbit,up=9mbit,loss=12%";
        let (mut world, near, _) = joined_by(seed, link, QuicSettings::default(), list);
        assert_eq!(world.run_until_finished(near), Ended::Finished);
        let took = world.now().since(START);
        assert!(took < Duration::from_secs(20), "seed {seed}: {took:?}");
        let list = world.take(near).into_work();
        for id in 0..3 {
            assert_eq!(list.answer(FetchId(id)).unwrap().body.len(), 2_990, "seed {seed}, {id}");
        }
    }
}

#[test]
fn a_page_arrives_whole() {
    let page = Synthetic { images: 20, bytes: 20_000, seed: 3, ..Synthetic::default() };
    let url = format!("https://a.test{}", page.target()).parse().unwrap();
    let load = PageLoad::new(move |now| Load::browse(url, Browser::Chrome156, now));
    let three_g = "rtt=300ms,down=1.6mbit,up=750kbit";
    let (mut world, near, far) = joined(three_g, QuicSettings::default(), load);
    assert_eq!(world.run_until_finished(near), Ended::Finished);
    let load = world.take(near).into_work();
    assert_eq!(load.records.fetches.len(), 21);
    for fetch in &load.records.fetches {
        assert_eq!(fetch.outcome, FetchOutcome::Done, "{fetch:?}");
    }
    // The client has closed its connection; the origin forgets it.
    world.run_for(Duration::from_secs(10));
    assert_eq!(world.end_point(far).connections(), 0);
}

/// The client of three messages, one after another.
fn three_messages(trusted: &Trusted, transport: Transport) -> WebSocketClient<EchoSocket> {
    let text = |n: u32| bytes::Bytes::from(format!("message {n}"));
    let messages: Vec<_> = (0..3).map(|n| Message { text: text(n), answer: text(n) }).collect();
    let own = WebSocketConfig {
        url: "https://a.test/ws/echo".parse().unwrap(),
        deflate: None,
        writes: proto::ws::Writes::One,
        compression_level: 6,
        seed: unit::Seed(4),
    };
    let echo = EchoSocket::new(messages, Pattern::Serial);
    WebSocketClient::new(trusted.config(transport), own, echo)
}

/// An echo of three messages, one after the other, over a WebSocket at 100 ms.
fn echoed(transport: Transport, takes_web_sockets: bool) -> EchoSocket {
    let trusted = Trusted::new(&["h2"]);
    let wall_clock = WallClock { at: START, unix: Duration::from_secs(1_800_000_000) };
    let quic = ListenerKind::Quic(trusted.server.clone(), QuicSettings::default());
    let mut config = OriginConfig::new(vec![quic], wall_clock);
    if transport == Transport::H2 {
        config = OriginConfig::new(vec![ListenerKind::Tls(trusted.server.clone())], wall_clock);
    }
    config.web_socket_over_h2 = takes_web_sockets;
    let client = three_messages(&trusted, transport);
    let mut world = World::new(1);
    let near = world.host("10.0.0.1", client);
    let origin = Origin::new(config, Parts::default());
    let far = match transport {
        Transport::H2 => world.listen("0.0.0.0:0", origin),
        _ => {
            let far = world.host("10.0.0.2", origin);
            world.listen_datagrams(far, "10.0.0.2:443");
            far
        }
    };
    world.connect(near, far, Path::link(LinkSpec::parse("rtt=100ms", no_traces).unwrap()));
    assert_eq!(world.run_until_finished(near), Ended::Finished);
    world.take(near).into_conversation()
}

#[test]
fn a_websocket_opens_by_extended_connect_over_http2_and_http3_and_each_message_takes_a_round_trip()
{
    // Our origin's SETTINGS come within its half of the handshake over QUIC, and a round trip after it over TCP.
    for (transport, opened, spoken) in
        [(Transport::H2, 400, "ws-h2"), (Transport::H3, 200, "ws-h3")]
    {
        let echo = echoed(transport, true);
        let fetches = &echo.records.fetches;
        assert!(fetches.iter().all(|fetch| fetch.protocol.name() == spoken));
        assert_eq!(echo.records.connections[0].protocol.name(), spoken);
        assert!(fetches.iter().all(|fetch| fetch.outcome == FetchOutcome::Done), "{fetches:?}");
        let ends: Vec<u128> =
            fetches.iter().map(|fetch| crate::world::millis(fetch.phases.last_byte)).collect();
        assert_eq!(ends, [opened, opened + 100, opened + 200, opened + 300], "{transport:?}");
        assert_eq!((fetches[0].status, &*fetches[0].url), (Some(200), "wss://a.test/ws/echo"));
    }
}

#[test]
fn a_server_that_does_not_offer_websockets_over_http2_or_http3_is_not_asked() {
    for transport in [Transport::H2, Transport::H3] {
        let echo = echoed(transport, false);
        for fetch in &echo.records.fetches {
            let FetchOutcome::Failed(reason) = &fetch.outcome else { panic!("{fetch:?}") };
            assert!(reason.contains("SETTINGS_ENABLE_CONNECT_PROTOCOL"), "{reason}");
        }
    }
}

#[test]
fn a_websocket_to_a_udp_port_where_nothing_listens_says_so() {
    let mut client = three_messages(&Trusted::new(&["h2"]), Transport::H3);
    client.handle_start(START);
    let Some(Action::Bind { socket, .. }) = client.poll_action() else { panic!("no socket") };
    client.handle_error(START, socket, SocketError::Refused);
    for fetch in &client.into_conversation().records.fetches {
        let FetchOutcome::Failed(reason) = &fetch.outcome else { panic!("{fetch:?}") };
        assert!(reason.contains("nothing listens on its UDP port"), "{reason}");
    }
}

#[test]
fn an_answer_may_take_longer_than_a_silent_connection_lives() {
    let trusted = Trusted::new(&["h2"]);
    let mut config = trusted.config(Transport::H3);
    config.timeouts.stall = Duration::from_secs(200);
    config.timeouts.whole = None;
    let url = "https://a.test/image/1?bytes=10&delay_ms=180000".parse().unwrap();
    let list = FetchList::new([FetchSpec::get(url)], Bodies::Keep);
    let mut world = World::new(1);
    let near = world.host("10.0.0.1", Client::new(config, list));
    let wall_clock = WallClock { at: START, unix: Duration::from_secs(1_800_000_000) };
    let kind = ListenerKind::Quic(trusted.server.clone(), QuicSettings::default());
    let origin = Origin::new(OriginConfig::new(vec![kind], wall_clock), Parts::default());
    let far = world.host("10.0.0.2", origin);
    world.listen_datagrams(far, "10.0.0.2:443");
    world.connect(near, far, Path::link(LinkSpec::parse("rtt=100ms", no_traces).unwrap()));
    assert_eq!(world.run_until_finished(near), Ended::Finished);
    let fetch = &world.take(near).into_work().records.fetches[0];
    assert_eq!((&fetch.outcome, fetch.body_bytes), (&FetchOutcome::Done, 10));
}
