//! When calls are made, and what their times count from.

use crate::world::{DELAY, Listener, Reply, Speaks, Trusted, World, config, fetches, millis};
use client::{Calls, Client, ClientConfig, KeepAlive, Pattern, Security, Transport};
use std::time::Duration;
use trace::{FetchOutcome, FetchRecord};

const THINK: Duration = Duration::from_millis(300);
const EVERY: Duration = Duration::from_millis(100);

fn late(_: &crate::world::Seen) -> Reply {
    Reply::Late(THINK, b"x".to_vec())
}

fn run(world: &mut World, config: ClientConfig, count: usize, pattern: Pattern) -> Calls {
    let client = world.run(Client::new(config, Calls::new(fetches(count), pattern)));
    client.into_work()
}

fn one_connection(transport: Transport) -> ClientConfig {
    let mut settings = config(transport);
    settings.limits.per_origin = 1;
    settings
}

/// When each call was to be made and when it was over, in milliseconds, in the order of making.
fn times(calls: &Calls) -> Vec<(u128, u128)> {
    let mut records: Vec<&FetchRecord> = calls.records.fetches.iter().collect();
    records.sort_by_key(|record| record.id);
    assert!(records.iter().all(|record| record.outcome == FetchOutcome::Done), "{records:?}");
    let time = |record: &&FetchRecord| {
        (millis(Some(record.phases.queued)), millis(record.phases.last_byte))
    };
    records.iter().map(time).collect()
}

#[test]
fn a_serial_call_is_made_when_the_one_before_has_been_answered() {
    let mut world = World::new(Listener::Clear(Speaks::Http1), late);
    let calls = run(&mut world, config(Transport::H1), 3, Pattern::Serial);
    // A connect of 100 ms, then 100 ms there and back and 300 ms of server each.
    assert_eq!(times(&calls), [(0, 500), (500, 900), (900, 1300)]);
    assert_eq!(world.opened(), 1);
}

#[test]
fn parallel_calls_are_all_made_at_once() {
    let mut world = World::new(Listener::Clear(Speaks::Http2), late);
    let calls = run(&mut world, config(Transport::H2_CLEAR), 3, Pattern::Parallel);
    assert_eq!(times(&calls), [(0, 500); 3]);
}

#[test]
fn staggered_calls_are_made_at_their_time_whatever_has_come_back() {
    let mut world = World::new(Listener::Clear(Speaks::Http2), late);
    let pattern = Pattern::Staggered { every: EVERY };
    let calls = run(&mut world, config(Transport::H2_CLEAR), 4, pattern);
    // The first waits for the connect; from the second on a call takes a round trip and the server's time.
    assert_eq!(times(&calls), [(0, 500), (100, 500), (200, 600), (300, 700)]);
    let mut seen = world.seen.iter().map(|seen| millis(Some(seen.at)));
    assert!(seen.by_ref().eq([150, 150, 250, 350]));
}

#[test]
fn a_staggered_calls_time_counts_from_when_it_was_to_be_made_also_where_no_connection_was_free() {
    let mut world = World::new(Listener::Clear(Speaks::Http1), late);
    let pattern = Pattern::Staggered { every: EVERY };
    let calls = run(&mut world, one_connection(Transport::H1), 4, pattern);
    // One connection takes 400 ms a call and falls ever further behind: 500, 800, 1100, 1400 ms of waiting.
    assert_eq!(times(&calls), [(0, 500), (100, 900), (200, 1300), (300, 1700)]);
}

#[test]
fn a_client_that_wakes_late_does_not_shift_the_calls_that_follow() {
    use client::{FetchId, Work};
    use unit::Instant;
    let at = |millis: u64| Instant::ZERO + Duration::from_millis(millis);
    let mut calls = Calls::new(fetches(3), Pattern::Staggered { every: EVERY });
    let wanted = |calls: &mut Calls, now| calls.poll_fetch(at(now), FetchId(0))?.wanted;
    assert_eq!(wanted(&mut calls, 10), Some(at(10)));
    assert_eq!((wanted(&mut calls, 109), calls.poll_timeout()), (None, Some(at(110))));
    // Everybody slept: both are overdue, and count from their own times.
    assert_eq!(wanted(&mut calls, 290), Some(at(110)));
    assert_eq!(wanted(&mut calls, 290), Some(at(210)));
    assert!(calls.is_finished() && calls.poll_timeout().is_none());
}

#[test]
fn a_serial_call_follows_one_that_failed_too() {
    let script = |seen: &crate::world::Seen| match &*seen.head.path {
        "/0" => Reply::Close,
        _ => Reply::Late(Duration::ZERO, b"x".to_vec()),
    };
    let mut world = World::new(Listener::Clear(Speaks::Http1), script);
    let calls = run(&mut world, config(Transport::H1), 2, Pattern::Serial);
    let outcomes: Vec<bool> =
        calls.records.fetches.iter().map(|fetch| fetch.outcome == FetchOutcome::Done).collect();
    assert_eq!(outcomes, [false, true]);
}

#[test]
fn without_keep_alive_each_serial_call_has_a_new_connection_over_either_protocol() {
    let cases = [(Speaks::Http1, Transport::H1), (Speaks::Http2, Transport::H2_CLEAR)];
    for (speaks, transport) in cases {
        let mut world = World::new(Listener::Clear(speaks), late);
        let mut settings = config(transport);
        settings.keep_alive = KeepAlive::Off;
        let calls = run(&mut world, settings, 3, Pattern::Serial);
        assert_eq!(times(&calls), [(0, 500), (500, 1000), (1000, 1500)], "{transport:?}");
        assert_eq!((world.opened(), world.still_open()), (3, 0));
        assert!(calls.records.connections.iter().all(|connection| connection.requests == 1));
    }
}

#[test]
fn parallel_calls_share_a_multiplexed_connection_that_is_closed_after_them() {
    let mut world = World::new(Listener::Clear(Speaks::Http2), late);
    let mut settings = config(Transport::H2_CLEAR);
    settings.keep_alive = KeepAlive::Off;
    let calls = run(&mut world, settings, 5, Pattern::Parallel);
    assert_eq!((times(&calls).len(), world.opened()), (5, 1));
}

#[test]
fn a_client_that_has_to_ask_what_is_spoken_awaits_the_first_answer() {
    let trusted = Trusted::new(&["http/1.1"]);
    let negotiate = Transport { security: Security::Tls, ..Transport::BROWSER };
    let mut totals = Vec::new();
    for transport in [Transport::H1_TLS, negotiate] {
        let mut world = World::new(Listener::Tls(trusted.server.clone()), late);
        let calls = run(&mut world, trusted.config(transport), 2, Pattern::Parallel);
        let all = times(&calls);
        assert_eq!((all.len(), world.opened()), (2, 2));
        totals.push(all.iter().map(|(_, end)| *end).max().unwrap());
    }
    // TCP and TLS once more for the second connection, which the client that knew had opened beside the first.
    assert_eq!(totals[1] - totals[0], 4 * DELAY.as_millis());
}
