//! Streams of tokens from the origin, in virtual time: a delay each way, no sockets, no sleeps.

use crate::world::{DELAY, START, Trusted, config};
use client::{
    Client, Delivery, Security, StreamRequests, StreamSocket, Transport, WebSocketClient,
    WebSocketConfig,
};
use origin::{ListenerKind, Origin, OriginConfig, Parts, WallClock};
use page::SyntheticStream;
use proto::ws::Writes;
use sim::{Ended, Path};
use std::time::Duration;
use trace::{FetchOutcome, FetchRecord, TokenRecord};
use unit::Seed;

/// What a run leaves.
struct Run {
    fetches: Vec<FetchRecord>,
    tokens: Vec<TokenRecord>,
}

/// How a stream travels.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Http(Transport, Delivery),
    WebSocket,
}

fn streams(count: u32, number: u32) -> Vec<SyntheticStream> {
    let stream = |name| SyntheticStream {
        name,
        count,
        bytes: 200,
        every_ms: (20, 20),
        delay_ms: 30,
        seed: 7 + u64::from(name),
    };
    (0..number).map(stream).collect()
}

fn run(way: Way, streams: &[SyntheticStream]) -> Run {
    let trusted = Trusted::new(&["h2", "http/1.1"]);
    let secured = matches!(way, Way::Http(transport, _) if transport.security == Security::Tls);
    let kind =
        if secured { ListenerKind::Tls(trusted.server.clone()) } else { ListenerKind::Clear };
    let wall_clock = WallClock { at: START, unix: Duration::from_secs(1_800_000_000) };
    let origin = Origin::new(OriginConfig::new(vec![kind], wall_clock), Parts::default());
    let mut world = sim::World::new(1);
    let far = world.listen("0.0.0.0:0", origin);
    let streams = streams.iter().copied();
    match way {
        Way::Http(transport, delivery) => {
            let scheme = if secured { "https" } else { "http" };
            let root = format!("{scheme}://a.test/").parse().unwrap();
            let work = StreamRequests::new(root, streams, delivery);
            let config = if secured { trusted.config(transport) } else { config(transport) };
            let near = world.host("10.0.0.1", Client::new(config, work));
            world.connect(near, far, Path::delay(DELAY));
            assert_eq!(world.run_until_finished(near), Ended::Finished);
            let work = world.take(near).into_work();
            Run { fetches: work.records.fetches.to_vec(), tokens: work.tokens().collect() }
        }
        Way::WebSocket => {
            let url = "http://a.test/ws/stream".parse().unwrap();
            let own = WebSocketConfig {
                url,
                deflate: None,
                writes: Writes::One,
                compression_level: 6,
                seed: Seed(4),
            };
            let client =
                WebSocketClient::new(config(Transport::H1), own, StreamSocket::new(streams));
            let near = world.host("10.0.0.1", client);
            world.connect(near, far, Path::delay(DELAY));
            assert_eq!(world.run_until_finished(near), Ended::Finished);
            let talk = world.take(near).into_conversation();
            Run { fetches: talk.records.fetches.to_vec(), tokens: talk.tokens().collect() }
        }
    }
}

const H2: Transport = Transport { security: Security::Tls, ..Transport::H2 };

#[test]
fn every_token_arrives_a_delay_after_it_was_due_whatever_carries_it() {
    let sse = Delivery::EventStream;
    for (way, opening) in [
        (Way::Http(Transport::H1, sse), 100),
        (Way::Http(Transport::H1, Delivery::Lines), 100),
        (Way::Http(H2, sse), 200),
        (Way::Http(H2, Delivery::Lines), 200),
        (Way::WebSocket, 200),
    ] {
        let Run { fetches, tokens } = run(way, &streams(10, 1));
        assert!(fetches.iter().all(|fetch| fetch.outcome == FetchOutcome::Done), "{fetches:?}");
        assert_eq!(tokens.len(), 10, "{way:?}");
        let begun = fetches.iter().map(|fetch| fetch.phases.queued).min().unwrap();
        for (number, token) in (0..).zip(&tokens) {
            assert_eq!(token.number, number);
            assert_eq!(token.received.since(token.due), DELAY, "{way:?}");
            // The request arrives a delay after the connection is ready; the server thinks for 30 ms.
            let due = Duration::from_millis(opening + 50 + 30 + 20 * u64::from(number));
            assert_eq!(token.due.since(begun), due, "{way:?}");
        }
    }
}

#[test]
fn long_polling_brings_what_came_due_meanwhile_together() {
    let way = Way::Http(Transport::H1, Delivery::LongPolling);
    let Run { fetches, tokens } = run(way, &streams(20, 1));
    assert!(fetches.iter().all(|fetch| fetch.outcome == FetchOutcome::Done), "{fetches:?}");
    assert_eq!(tokens.len(), 20);
    // A round trip is five tokens: those that miss a poll wait for the next one.
    let latest = tokens.iter().map(|token| token.received.since(token.due)).max().unwrap();
    assert!(latest > DELAY * 2 && latest <= DELAY * 3, "{latest:?}");
    assert!((5..=6).contains(&fetches.len()), "{}", fetches.len());
    assert!(tokens.windows(2).all(|two| two[1].received >= two[0].received));
}

#[test]
fn streams_at_the_same_time_do_not_wait_for_each_other() {
    let sse = Delivery::EventStream;
    for way in [Way::Http(Transport::H1, sse), Way::Http(H2, sse), Way::WebSocket] {
        let Run { fetches, tokens } = run(way, &streams(5, 4));
        assert!(fetches.iter().all(|fetch| fetch.outcome == FetchOutcome::Done), "{fetches:?}");
        assert_eq!(tokens.len(), 20, "{way:?}");
        assert!(tokens.iter().all(|token| token.received.since(token.due) == DELAY), "{way:?}");
    }
}

#[test]
fn a_stream_that_is_larger_than_what_may_wait_arrives_whole() {
    let large = SyntheticStream {
        count: 100,
        bytes: 60_000,
        every_ms: (0, 0),
        delay_ms: 0,
        ..streams(1, 1)[0]
    };
    for way in [Way::Http(H2, Delivery::EventStream), Way::WebSocket] {
        let Run { fetches, tokens } = run(way, &[large]);
        assert!(fetches.iter().all(|fetch| fetch.outcome == FetchOutcome::Done), "{fetches:?}");
        assert_eq!(tokens.len(), 100, "{way:?}");
    }
}
