//! What goes wrong, and in which words.

use crate::world::{
    Listener, Reply, Speaks, Trusted, World, config, config_with, fetches, millis, ok, redirect,
};
use client::{Bodies, Client, ClientConfig, FetchList, FetchSpec, Hosts, Surplus, Transport};
use secure::{ClientTlsOptions, Trust};
use std::time::Duration;
use trace::{FetchOutcome, FetchRecord};
use unit::{ByteSize, Seed};

fn run(world: &mut World, config: ClientConfig, specs: Vec<FetchSpec>) -> Vec<FetchRecord> {
    let client = world.run(Client::new(config, FetchList::new(specs, Bodies::Discard)));
    client.work().records.fetches.to_vec()
}

fn why(record: &FetchRecord) -> &str {
    match &record.outcome {
        FetchOutcome::Failed(why) => why,
        FetchOutcome::Done => panic!("{record:?}"),
    }
}

#[test]
fn a_refused_connect_fails_all_that_wait_for_it() {
    let mut world = World::new(Listener::Refused, |_| ok(b""));
    let records = run(&mut world, config(Transport::H1), fetches(20));
    assert_eq!((records.len(), world.opened()), (20, 6));
    assert_eq!(
        why(&records[19]),
        "no connection to a.test:80 (10.0.0.2:80): connection refused; is a server listening there?"
    );
}

#[test]
fn an_unknown_host_is_told_and_the_others_are_fetched() {
    let mut settings = config(Transport::H1);
    settings.hosts = Hosts::new();
    let mut specs = fetches(1);
    specs.push(FetchSpec::get("http://10.0.0.7/".parse().unwrap()));
    let records =
        run(&mut World::new(Listener::Clear(Speaks::Http1), |_| ok(b"")), settings, specs);
    assert!(why(&records[0]).starts_with("the address of a.test is not known"));
    assert_eq!(records[1].outcome, FetchOutcome::Done);
}

#[test]
fn a_silent_network_and_a_silent_tls_server_are_told_apart() {
    for (listener, transport, missing) in
        [(Listener::Void, Transport::H1, "TCP"), (Listener::Mute, Transport::H1_TLS, "TLS")]
    {
        let mut settings = config(transport);
        settings.timeouts.connect = Duration::from_secs(7);
        let records = run(&mut World::new(listener, |_| ok(b"")), settings, fetches(2));
        assert_eq!(records.len(), 2);
        assert!(
            why(&records[0]).ends_with(&format!("within 7 s: {missing} did not answer")),
            "{}",
            why(&records[0])
        );
        assert_eq!(millis(records[0].phases.last_byte), 7_000);
    }
}

#[test]
fn a_path_without_udp_is_told_as_such() {
    let mut settings = config(Transport::H3);
    settings.timeouts.connect = Duration::from_secs(7);
    let records = run(&mut World::new(Listener::Void, |_| ok(b"")), settings, fetches(1));
    let told = "within 7 s: nothing answered over UDP; does it speak HTTP/3?";
    assert!(why(&records[0]).ends_with(told), "{}", why(&records[0]));
}

#[test]
fn a_response_that_stops_coming_is_given_up_after_the_stall_time() {
    // Over HTTP/2 the late answer at 4.2 s shows that the connection lives.
    for (listener, transport, given_up) in [
        (Listener::Clear(Speaks::Http1), Transport::H1, [5_200, 5_100]),
        (Listener::Clear(Speaks::Http2), Transport::H2_CLEAR, [9_200, 9_200]),
    ] {
        let mut settings = config(transport);
        settings.timeouts.stall = Duration::from_secs(5);
        let script = |seen: &crate::world::Seen| match &*seen.head.path {
            "/0" => Reply::Half(vec![1; 1_000]),
            "/1" => Reply::Silence,
            "/2" => Reply::Late(Duration::from_secs(4), b"late".to_vec()),
            _ => ok(b"x"),
        };
        let mut records = run(&mut World::new(listener, script), settings, fetches(4));
        records.sort_by_key(|record| record.id);
        assert_eq!(why(&records[0]), "nothing came from a.test:80 (10.0.0.2:80) for 5 s");
        assert_eq!(records[0].body_bytes, 500);
        for (record, given_up) in records.iter().zip(given_up) {
            assert_eq!(millis(record.phases.last_byte), given_up);
        }
        assert_eq!(records[2].outcome, FetchOutcome::Done);
        assert_eq!(records[3].outcome, FetchOutcome::Done);
    }
}

#[test]
fn a_fetch_has_a_limit_in_all_queueing_included() {
    let mut settings = config(Transport::H1);
    settings.limits.per_origin = 1;
    settings.timeouts.whole = Some(Duration::from_secs(3));
    let script = |_: &crate::world::Seen| Reply::Late(Duration::from_secs(2), b"x".to_vec());
    let mut world = World::new(Listener::Clear(Speaks::Http1), script);
    let records = run(&mut world, settings, fetches(3));
    assert_eq!(records[0].outcome, FetchOutcome::Done);
    for record in &records[1..] {
        assert_eq!(why(record), "the fetch was not done within 3 s");
        assert_eq!(millis(record.phases.last_byte), 3_000);
    }
}

#[test]
fn a_body_of_the_wrong_length_or_beyond_the_limit_fails() {
    for transport in [Transport::H1, Transport::H2_CLEAR] {
        let speaks = if transport == Transport::H1 { Speaks::Http1 } else { Speaks::Http2 };
        let mut settings = config(transport);
        settings.longest_body = Some(ByteSize(900));
        let mut specs = fetches(3);
        specs[0].expected = Some(ByteSize(5));
        specs[1].expected = Some(ByteSize(6));
        let script = |seen: &crate::world::Seen| {
            if seen.head.path == "/2" { ok(&[1; 1_000]) } else { ok(b"12345") }
        };
        let mut world = World::new(Listener::Clear(speaks), script);
        let mut records = run(&mut world, settings, specs);
        records.sort_by_key(|record| record.id);
        assert_eq!(records[0].outcome, FetchOutcome::Done);
        assert_eq!(why(&records[1]), "the body has 5 bytes where 6 were expected");
        assert_eq!(why(&records[2]), "the body is longer than the 900 bytes allowed");
    }
}

#[test]
fn a_certificate_that_is_not_trusted_is_told_with_the_way_out() {
    let trusted = Trusted::new(&["h2"]);
    let listener = || Listener::Tls(trusted.server.clone());
    let mut world = World::new(listener(), |_| ok(b"x"));
    let records = run(&mut world, config(Transport::H2), fetches(3));
    assert_eq!((records.len(), world.opened()), (3, 1));
    assert_eq!(
        why(&records[2]),
        "no secured connection to a.test:443 (10.0.0.2:443): the certificate of a.test is not \
         trusted: it was issued by an unknown authority; give its authority with --cacert FILE, or \
         skip the check with -k"
    );
    let options =
        ClientTlsOptions { trust: Trust::Anyone, alpn: Transport::H2.alpn(), ..Default::default() };
    let mut world = World::new(listener(), |_| ok(b"x"));
    let records = run(&mut world, config_with(Transport::H2, options), fetches(1));
    assert_eq!(records[0].outcome, FetchOutcome::Done);
}

#[test]
fn a_server_that_does_not_agree_to_http2_is_told() {
    let trusted = Trusted::new(&[]);
    let mut world = World::new(Listener::Tls(trusted.server.clone()), |_| ok(b"x"));
    let records = run(&mut world, trusted.config(Transport::H2), fetches(3));
    assert_eq!((records.len(), world.opened()), (3, 1));
    assert_eq!(
        why(&records[0]),
        "a.test:443 (10.0.0.2:443) did not agree to the protocol asked for (ALPN h2): it chose none"
    );
}

#[test]
fn a_stopped_client_ends_its_fetches_and_finishes() {
    let mut world = World::new(Listener::Void, |_| ok(b""));
    world.stop_at = Some(crate::world::START);
    let list = FetchList::new(fetches(9), Bodies::Discard);
    let client = world.run(Client::new(config(Transport::H1), list));
    assert_eq!(client.work().records.fetches.len(), 9);
    assert!(client.work().records.fetches.iter().all(|r| why(r) == client::STOPPED));
    assert_eq!(client.work().records.connections.len(), 6);
}

#[test]
fn whatever_the_servers_do_every_fetch_ends_and_every_socket_is_closed() {
    for seed in 0..100 {
        for speaks in [Speaks::Http1, Speaks::Http1Once, Speaks::Http2] {
            let mut random = Seed(seed).child("replies").random();
            let h2 = matches!(speaks, Speaks::Http2);
            let script = move |seen: &crate::world::Seen| match random.below(12) {
                0 => Reply::Close,
                1 => Reply::Silence,
                2 => Reply::Half(vec![1; 2_000]),
                3 => Reply::Late(Duration::from_secs(random.below(9)), b"late".to_vec()),
                4 => redirect(302, &format!("{}x", seen.head.path)),
                5 if h2 => Reply::GoAway,
                6 if h2 => Reply::Refuse,
                7 if h2 => Reply::Violate,
                _ => ok(&vec![2; random.below(40_000) as usize]),
            };
            let mut world = World::new(Listener::Clear(speaks), script);
            world.piece = 1 + Seed(seed).child("piece").random().below(3_000) as usize;
            let mut settings = config(if h2 { Transport::H2_CLEAR } else { Transport::H1 });
            settings.timeouts.stall = Duration::from_secs(5);
            let list = FetchList::new(fetches(30), Bodies::Discard);
            let client = world.run(Client::new(settings, list));
            let list = client.into_work();
            assert_eq!(list.records.fetches.len(), 30, "seed {seed}");
            assert_eq!((world.still_open(), list.records.connections.len()), (0, world.opened()));
            assert!(world.most_open <= if h2 { 30 } else { 6 }, "seed {seed}: {}", world.most_open);
            for record in &list.records.fetches {
                let phases = record.phases;
                let order = [phases.sent, phases.first_byte, phases.last_byte];
                let times: Vec<_> = order.into_iter().flatten().collect();
                assert!(times.is_sorted() && times[0] >= phases.queued, "{record:?}");
            }
        }
    }
}

/// RFC 9113 §5.4.1: whoever closes a connection for an error says which, in a GOAWAY.
const GOAWAY: u8 = 7;

/// The last of the frames in `bytes` (RFC 9113 §4.1).
fn last_frame(mut bytes: &[u8]) -> &[u8] {
    loop {
        let length = 9 + u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]) as usize;
        match bytes.get(length..) {
            Some(rest) if !rest.is_empty() => bytes = rest,
            _ => return bytes,
        }
    }
}

#[test]
fn a_server_that_breaks_the_rules_is_told_why_even_when_that_was_the_last_fetch() {
    let mut world = World::new(Listener::Clear(Speaks::Http2), |_| Reply::Violate);
    let records = run(&mut world, config(Transport::H2_CLEAR), fetches(1));
    assert!(matches!(records[0].outcome, FetchOutcome::Failed(_)), "{records:?}");
    let said = last_frame(&world.last_sent);
    assert_eq!(said.get(3), Some(&GOAWAY), "{said:02x?}");
    // PROTOCOL_ERROR (RFC 9113 §7), behind the last stream's number.
    assert_eq!(said.get(13..17), Some(&[0, 0, 0, 1][..]), "{said:02x?}");
    assert_eq!(world.still_open(), 0);
}

#[test]
fn a_peer_that_takes_no_bytes_keeps_a_client_no_longer_than_a_second() {
    let deaf = std::rc::Rc::new(std::cell::Cell::new(false));
    let from_now_on = deaf.clone();
    let mut world = World::new(Listener::Clear(Speaks::Http2), move |_| {
        from_now_on.set(true);
        Reply::Violate
    });
    world.deaf = deaf;
    let records = run(&mut world, config(Transport::H2_CLEAR), fetches(1));
    let failed = millis(records[0].phases.last_byte);
    let ended = millis(Some(world.now));
    assert_eq!((ended - failed, world.still_open()), (1_000, 0));
}

#[test]
fn what_follows_a_body_is_blamed_on_it_where_asked_and_dropped_elsewhere() {
    let script = |seen: &crate::world::Seen| match seen.turn {
        0 => ok(b"honest"),
        _ => Reply::Beyond(b"a body".to_vec(), b"and more"),
    };
    let trusted = Trusted::new(&["http/1.1"]);
    let tls = trusted.config(Transport::H1_TLS);
    let listeners = [Listener::Clear(Speaks::Http1), Listener::Tls(trusted.server.clone())];
    for (listener, mut settings) in listeners.into_iter().zip([config(Transport::H1), tls]) {
        settings.limits.per_origin = 1;
        // What comes behind the next request is taken for its answer.
        let mut world = World::new(listener.clone(), script);
        let records = run(&mut world, settings.clone(), fetches(2));
        assert!(records.iter().all(|record| record.outcome == FetchOutcome::Done), "{records:?}");
        settings.surplus = Surplus::Blamed;
        let mut world = World::new(listener, script);
        let records = run(&mut world, settings, fetches(3));
        assert_eq!(records[0].outcome, FetchOutcome::Done, "nothing followed the first");
        assert!(why(&records[1]).contains("sent more after the end of the body"));
        // Its connection is not used again.
        assert_eq!(records[2].outcome, FetchOutcome::Done);
        assert_eq!((records[1].connection, records[2].connection), (Some(0), Some(1)));
        assert_eq!(world.still_open(), 0);
    }
}

#[test]
fn a_whole_response_counts_also_where_its_connection_ends_at_once() {
    for speaks in [Speaks::Http1, Speaks::Http1Once] {
        let mut settings = config(Transport::H1);
        settings.surplus = Surplus::Blamed;
        let mut world = World::new(Listener::Clear(speaks), |_| ok(b"there"));
        let records = run(&mut world, settings, fetches(8));
        assert!(records.iter().all(|record| record.outcome == FetchOutcome::Done), "{records:?}");
        assert_eq!(world.still_open(), 0);
    }
}
