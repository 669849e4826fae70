//! Which request goes where: connections, keep-alive, order, retries.

use crate::world::{
    Listener, Reply, Speaks, Trusted, World, config, fetches, millis, ok, redirect,
};
use client::{
    Bodies, Client, ClientConfig, FetchId, FetchList, FetchSpec, KeepAlive, PoolLimits, Transport,
};
use proto::Method;
use trace::{FetchOutcome, MadeAgain};

fn clear(script: impl FnMut(&crate::world::Seen) -> Reply + 'static) -> World {
    World::new(Listener::Clear(Speaks::Http1), script)
}

fn run(world: &mut World, config: ClientConfig, specs: Vec<FetchSpec>) -> FetchList {
    let client = world.run(Client::new(config, FetchList::new(specs, Bodies::Keep)));
    client.into_work()
}

fn all_done(list: &FetchList, count: usize) {
    assert_eq!(list.records.fetches.len(), count);
    for record in &list.records.fetches {
        assert_eq!(record.outcome, FetchOutcome::Done, "{record:?}");
    }
}

#[test]
fn http1_uses_six_connections_and_no_more() {
    let mut world = clear(|seen| ok(seen.head.path.as_bytes()));
    let list = run(&mut world, config(Transport::H1), fetches(20));
    all_done(&list, 20);
    assert_eq!((world.opened(), world.most_open), (6, 6));
    for n in 0..20 {
        assert_eq!(list.answer(FetchId(n)).unwrap().body, format!("/{n}").into_bytes());
    }
    let connections = list.records.connections;
    assert_eq!(connections.iter().map(|c| c.requests).sum::<u32>(), 20);
    // 20 requests on 6 connections: two connections carry 4, four carry 3, each a round of its own.
    assert!(connections.iter().all(|c| c.rounds == c.requests && (3..=4).contains(&c.rounds)));
}

#[test]
fn each_origin_has_a_pool_of_its_own() {
    let mut world = clear(|_| ok(b"x"));
    let urls = ["http://a.test/", "http://b.test/", "http://a.test:8080/", "http://a.test/2"];
    let specs = urls.map(|url| FetchSpec::get(url.parse().unwrap())).to_vec();
    let mut settings = config(Transport::H1);
    settings.limits = PoolLimits { per_origin: 1, ..PoolLimits::default() };
    all_done(&run(&mut world, settings, specs), 4);
    assert_eq!(world.opened(), 3);
}

#[test]
fn http2_carries_everything_on_one_connection_in_one_round() {
    for (transport, trusted) in
        [(Transport::H2, Some(Trusted::new(&["h2", "http/1.1"]))), (Transport::H2_CLEAR, None)]
    {
        let (listener, settings) = match trusted {
            Some(trusted) => (Listener::Tls(trusted.server.clone()), trusted.config(transport)),
            None => (Listener::Clear(Speaks::Http2), config(transport)),
        };
        let mut world = World::new(listener, |seen| ok(seen.head.path.as_bytes()));
        let list = run(&mut world, settings, fetches(50));
        all_done(&list, 50);
        assert_eq!(world.opened(), 1);
        let connection = &list.records.connections[0];
        assert_eq!(
            (connection.requests, connection.rounds, connection.protocol.name()),
            (50, 1, "h2")
        );
        assert_eq!(list.answer(FetchId(49)).unwrap().body, b"/49");
    }
}

#[test]
fn the_first_handshake_decides_how_many_connections_follow() {
    for (alpn, expected) in [(&["h2", "http/1.1"][..], 1), (&["http/1.1"][..], 6), (&[][..], 6)] {
        let trusted = Trusted::new(alpn);
        let mut world = World::new(Listener::Tls(trusted.server.clone()), |_| ok(b"x"));
        let specs = (0..12).map(|n| format!("https://a.test/{n}").parse().unwrap());
        let specs = specs.map(FetchSpec::get).collect();
        let list = run(&mut world, trusted.config(Transport::BROWSER), specs);
        all_done(&list, 12);
        assert_eq!(world.opened(), expected, "{alpn:?}");
    }
}

#[test]
fn without_keep_alive_each_request_has_a_connection_of_its_own() {
    let mut world = clear(|_| ok(b"x"));
    let mut settings = config(Transport::H1);
    settings.keep_alive = KeepAlive::Off;
    let list = run(&mut world, settings, fetches(10));
    all_done(&list, 10);
    assert_eq!((world.opened(), world.most_open), (10, 6));
    assert!(list.records.connections.iter().all(|connection| connection.requests == 1));
    assert!(list.records.fetches.iter().all(|fetch| fetch.phases.connected.is_some()));
}

#[test]
fn the_queue_is_ordered_by_urgency_then_by_age() {
    let mut world = clear(|_| ok(b"x"));
    let mut settings = config(Transport::H1);
    settings.limits.per_origin = 1;
    let mut specs = fetches(5);
    for (spec, urgency) in specs.iter_mut().zip([3, 3, 1, 0, 1]) {
        spec.priority = page::Priority { urgency, incremental: false };
    }
    all_done(&run(&mut world, settings, specs), 5);
    let order: Vec<&str> = world.seen.iter().map(|seen| &*seen.head.path).collect();
    assert_eq!(order, ["/3", "/2", "/4", "/0", "/1"]);
}

/// Of each fetch by number, why it was made again.
fn made_again(list: &FetchList) -> Vec<&[MadeAgain]> {
    let mut fetches: Vec<_> = list.records.fetches.iter().collect();
    fetches.sort_by_key(|fetch| fetch.id);
    fetches.into_iter().map(|fetch| &fetch.made_again[..]).collect()
}

#[test]
fn a_kept_connection_that_dies_before_the_answer_is_replaced_once() {
    // Every connection serves one request and dies at the second.
    let script = |seen: &crate::world::Seen| if seen.turn == 0 { ok(b"x") } else { Reply::Close };
    let mut settings = config(Transport::H1);
    settings.limits.per_origin = 1;
    let mut world = clear(script);
    let list = run(&mut world, settings.clone(), fetches(3));
    all_done(&list, 3);
    assert_eq!(world.opened(), 3);
    let lost = &[MadeAgain::ConnectionLost][..];
    assert_eq!(made_again(&list), [&[], lost, lost]);
    // A POST may have been acted on: it is not made again.
    let mut specs = fetches(2);
    specs[1].method = Method::Post;
    specs[1].body = "a=1".into();
    let mut world = clear(script);
    let list = run(&mut world, settings.clone(), specs);
    let outcome = &list.records.fetches[1].outcome;
    assert!(
        matches!(outcome, FetchOutcome::Failed(why) if why.contains("a.test:80")),
        "{outcome:?}"
    );
    assert_eq!(world.opened(), 2 - 1);
    // A fresh connection that dies is the server's answer.
    let mut world = clear(|_| Reply::Close);
    let list = run(&mut world, settings, fetches(1));
    assert!(matches!(list.records.fetches[0].outcome, FetchOutcome::Failed(_)));
    assert_eq!(world.opened(), 1);
}

#[test]
fn what_a_goaway_leaves_unprocessed_is_made_again_on_a_new_connection() {
    let mut world = World::new(Listener::Clear(Speaks::Http2), |seen| {
        if seen.connection == 0 && seen.turn == 3 { Reply::GoAway } else { ok(b"x") }
    });
    let mut specs = fetches(6);
    for spec in &mut specs {
        spec.method = Method::Post;
    }
    let list = run(&mut world, config(Transport::H2_CLEAR), specs);
    all_done(&list, 6);
    assert_eq!(world.opened(), 2);
    assert_eq!(world.seen.iter().filter(|seen| seen.connection == 1).count(), 3);
    let refused = &[MadeAgain::NotProcessed][..];
    assert_eq!(made_again(&list), [&[], &[], &[], refused, refused, refused]);
}

#[test]
fn a_refused_stream_is_tried_once_more() {
    let mut refused = 0;
    let mut world =
        World::new(Listener::Clear(Speaks::Http2), move |seen| match (&*seen.head.path, refused) {
            ("/1", 0) | ("/2", _) => {
                refused += usize::from(seen.head.path == "/1");
                Reply::Refuse
            }
            _ => ok(b"x"),
        });
    let list = run(&mut world, config(Transport::H2_CLEAR), fetches(3));
    let outcome = |id| &list.records.fetches.iter().find(|record| record.id == id).unwrap().outcome;
    assert_eq!((outcome(0), outcome(1)), (&FetchOutcome::Done, &FetchOutcome::Done));
    let FetchOutcome::Failed(why) = outcome(2) else { panic!("{:?}", outcome(2)) };
    assert_eq!(why, "a.test:80 (10.0.0.2:80): the peer did not process the request");
    assert_eq!(world.opened(), 1);
}

#[test]
fn the_phases_are_those_of_the_round_trips() {
    let phases = |list: &FetchList, id: usize| {
        let phases = list.records.fetches[id].phases;
        [phases.connected, phases.secured, phases.sent, phases.first_byte, phases.last_byte]
            .map(|at| at.map(|at| millis(Some(at))))
    };
    let mut settings = config(Transport::H1);
    settings.limits.per_origin = 1;
    let list = run(&mut clear(|_| ok(b"x")), settings, fetches(2));
    assert_eq!(phases(&list, 0), [Some(100), None, Some(100), Some(200), Some(200)]);
    assert_eq!(phases(&list, 1), [None, None, Some(200), Some(300), Some(300)]);
    let trusted = Trusted::new(&["http/1.1"]);
    let mut world = World::new(Listener::Tls(trusted.server.clone()), |_| ok(b"x"));
    let list = run(&mut world, trusted.config(Transport::H1_TLS), fetches(1));
    assert_eq!(phases(&list, 0), [Some(100), Some(200), Some(200), Some(300), Some(300)]);
    let tls = list.records.connections[0].tls.as_ref().unwrap();
    assert_eq!((tls.version.name(), &*tls.alpn), ("TLSv1.3", "http/1.1"));
    // An http URL was asked for; the transport decides on TLS and on the port that goes with it.
    assert_eq!(list.records.connections[0].remote, "10.0.0.2:443");
}

#[test]
fn redirects_are_followed_across_origins_up_to_the_limit() {
    let chain = |seen: &crate::world::Seen| match (&*seen.head.authority, &*seen.head.path) {
        ("a.test", "/0") => redirect(301, "/step?2"),
        ("a.test", "/step?2") => redirect(307, "http://b.test/end"),
        ("b.test", "/end") => ok(b"here"),
        ("a.test", path) => {
            let n: usize = path[1..].parse().unwrap();
            redirect(302, &format!("/{}", n + 1))
        }
        other => panic!("{other:?}"),
    };
    let list = run(&mut clear(chain), config(Transport::H1), fetches(2));
    let record = list.records.fetches.iter().find(|record| record.id == 0).unwrap();
    assert_eq!((record.outcome.clone(), record.redirects), (FetchOutcome::Done, 2));
    assert_eq!(
        (&*record.url, record.status, record.body_bytes),
        ("http://b.test/end", Some(200), 4)
    );
    assert_eq!(list.answer(FetchId(0)).unwrap().body, b"here");
    let record = list.records.fetches.iter().find(|record| record.id == 1).unwrap();
    let FetchOutcome::Failed(why) = &record.outcome else { panic!("{record:?}") };
    assert_eq!(why, "more than 10 redirects, the last one to http://a.test/12");
}

#[test]
fn redirects_in_a_circle_are_told() {
    let circle =
        |seen: &crate::world::Seen| redirect(302, if seen.head.path == "/0" { "/b" } else { "/0" });
    let mut world = clear(circle);
    let list = run(&mut world, config(Transport::H1), fetches(1));
    let FetchOutcome::Failed(why) = &list.records.fetches[0].outcome else { panic!() };
    assert!(why.starts_with("the redirects run in a circle: http://a.test/0"), "{why}");
    assert_eq!(world.seen.len(), 2);
}

#[test]
fn a_redirect_limit_of_zero_hands_the_redirect_over() {
    let mut settings = config(Transport::H1);
    settings.redirects = 0;
    let list = run(&mut clear(|_| redirect(302, "/x")), settings, fetches(1));
    all_done(&list, 1);
    assert_eq!(list.records.fetches[0].status, Some(302));
    assert_eq!(list.answer(FetchId(0)).unwrap().body, b"moved");
}

#[test]
fn a_request_body_of_any_size_is_sent_whole() {
    for (listener, transport) in [
        (Listener::Clear(Speaks::Http1), Transport::H1),
        (Listener::Clear(Speaks::Http2), Transport::H2_CLEAR),
    ] {
        let mut specs = fetches(1);
        specs[0].method = Method::Post;
        specs[0].body = vec![7; 1_000_000].into();
        let mut world =
            World::new(listener, |_| Reply::Late(crate::world::DELAY * 1_000, b"x".to_vec()));
        let list = run(&mut world, config(transport), specs);
        all_done(&list, 1);
        let sent = list.records.connections[0].bytes_sent;
        assert!((1_000_000..1_010_000).contains(&sent), "{sent}");
    }
}

#[test]
fn a_server_that_closes_after_each_answer_is_used_without_retries() {
    let mut world = World::new(Listener::Clear(Speaks::Http1Once), |_| ok(b"x"));
    let list = run(&mut world, config(Transport::H1), fetches(10));
    all_done(&list, 10);
    assert_eq!((world.opened(), world.seen.len(), world.most_open), (10, 10, 6));
}

#[test]
fn responses_are_whole_however_their_bytes_are_cut() {
    for piece in [1, 3, 100, 4_097] {
        for (alpn, transport) in [("h2", Transport::H2), ("http/1.1", Transport::H1_TLS)] {
            let trusted = Trusted::new(&[alpn]);
            let mut world = World::new(Listener::Tls(trusted.server.clone()), |seen| {
                ok(seen.head.path.as_bytes().repeat(2_000).as_slice())
            });
            world.piece = piece;
            let list = run(&mut world, trusted.config(transport), fetches(8));
            all_done(&list, 8);
            for n in 0..8 {
                let expected = format!("/{n}").repeat(2_000).into_bytes();
                assert_eq!(list.answer(FetchId(n)).unwrap().body, expected);
            }
        }
    }
}

#[test]
fn connections_beyond_the_limit_on_all_make_way_when_idle() {
    let mut world = clear(|_| ok(b"x"));
    let specs = (0..12).map(|n| format!("http://10.0.0.{n}/").parse().unwrap());
    let mut settings = config(Transport::H1);
    settings.limits.total = 3;
    all_done(&run(&mut world, settings, specs.map(FetchSpec::get).collect()), 12);
    assert_eq!((world.opened(), world.most_open), (12, 3));
}

#[test]
fn an_answer_that_does_not_wait_for_the_request_body_ends_the_fetch() {
    for (listener, transport) in [
        (Listener::Clear(Speaks::Http1), Transport::H1),
        (Listener::Clear(Speaks::Http2), Transport::H2_CLEAR),
    ] {
        let mut specs = fetches(3);
        specs[0].method = Method::Post;
        specs[0].body = vec![7; 5_000_000].into();
        let mut settings = config(transport);
        settings.limits.per_origin = 1;
        let mut world = World::new(listener, |_| ok(b"enough"));
        let list = run(&mut world, settings, specs);
        all_done(&list, 3);
        assert_eq!(list.answer(FetchId(0)).unwrap().body, b"enough");
    }
}
