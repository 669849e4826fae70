//! What a connection's record says of what was spoken, against what the server itself counted.

use crate::world::{Listener, Reply, Speaks, Unasked, World, config, fetches, ok, with};
use client::{Bodies, Client, ClientConfig, FetchList, Offer, Protocol, Push, Security, Transport};
use proto::spdy::Version;
use trace::FetchOutcome;

const SPDY: Transport =
    Transport { offer: Offer::Only(Protocol::Spdy31), security: Security::Clear };
const SPDY_3: Transport =
    Transport { offer: Offer::Only(Protocol::Spdy3), security: Security::Clear };

/// Twenty fetches from a server that pushes with each answer, where it may.
fn run(speaks: Speaks, config: ClientConfig, reply: fn() -> Reply) -> (World, FetchList) {
    let mut world = World::new(Listener::Clear(speaks), move |_| reply());
    let client = world.run(Client::new(config, FetchList::new(fetches(20), Bodies::Discard)));
    let list = client.into_work();
    assert!(list.records.fetches.iter().all(|fetch| fetch.outcome == FetchOutcome::Done));
    (world, list)
}

#[test]
fn the_client_counts_of_heads_what_the_server_counts() {
    for (speaks, transport) in [
        (Speaks::Http1, Transport::H1),
        (Speaks::Http2, Transport::H2_CLEAR),
        (Speaks::Spdy(Version::V3_1), SPDY),
        (Speaks::Spdy(Version::V3), SPDY_3),
    ] {
        let (world, list) = run(speaks, config(transport), || ok(b"body"));
        let far = world.header_bytes();
        assert_eq!(list.records.connections.len(), far.len());
        for connection in &list.records.connections {
            let (near, far) = (connection.headers.unwrap(), far[connection.id as usize]);
            assert_eq!((near.sent, near.received), (far.received, far.sent));
            assert_eq!(
                near.sent.coded < near.sent.plain,
                connection.protocol != trace::Protocol::Http1
            );
        }
    }
}

#[test]
fn a_push_is_counted_where_the_client_lets_the_server_make_it() {
    let push = || with([Unasked::Push("/pushed", b"body".to_vec())], ok(b"body"));
    let mut settings = config(Transport::H2_CLEAR);
    settings.push = Push::Taken;
    let (_, list) = run(Speaks::Http2, settings, push);
    assert_eq!(
        (list.records.connections[0].requests, list.records.connections[0].pushed),
        (20, 20)
    );
    let mut settings = config(SPDY);
    settings.push = Push::Taken;
    let (_, list) = run(Speaks::Spdy(Version::V3_1), settings, push);
    assert_eq!(
        (list.records.connections[0].requests, list.records.connections[0].pushed),
        (20, 20)
    );
    let (_, list) = run(Speaks::Http2, config(Transport::H2_CLEAR), push);
    assert_eq!(list.records.connections[0].pushed, 0);
}
