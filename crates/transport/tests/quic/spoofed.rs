//! Packets that somebody else sends to a client who has begun a connection: he has seen its first packet, and has no keys.

use crate::{Pair, pair, settings};
use endpoint::{EndPoint, ReceivedDatagrams, SocketId};
use std::time::Duration;

/// The connection IDs in the client's first packet, which is on its way: its server's and its own.
fn first_ids(pair: &Pair) -> (Vec<u8>, Vec<u8>) {
    let datagram = &pair.world.end_point(pair.near).first;
    let (destination, rest) = datagram[6..].split_at(usize::from(datagram[5]));
    (destination.to_vec(), rest[1..1 + usize::from(rest[0])].to_vec())
}

/// A long header (RFC 8999 §5.1) for the client, and what follows it.
fn packet(first: u8, version: u32, (server, client): &(Vec<u8>, Vec<u8>), rest: &[u8]) -> Vec<u8> {
    let mut packet = vec![first];
    packet.extend_from_slice(&version.to_be_bytes());
    for id in [client, server] {
        packet.push(id.len() as u8);
        packet.extend_from_slice(id);
    }
    packet.extend_from_slice(rest);
    packet
}

/// What the client asked for comes whole, although these packets come first.
fn is_served_after(spoofed: impl Fn(&(Vec<u8>, Vec<u8>)) -> Vec<Vec<u8>>) {
    let mut pair = pair("rtt=20ms", &settings(), &[1_000]);
    pair.world.run_for(Duration::from_millis(1));
    let ids = first_ids(&pair);
    let now = pair.world.now();
    for packet in spoofed(&ids) {
        pair.world.with(pair.near, |side| {
            let (data, stride) = (packet[..].into(), packet.len());
            let remote = "10.0.0.2:443".parse().unwrap();
            let received = ReceivedDatagrams { remote, local: None, ecn: None, stride, data };
            side.handle_datagrams(now, SocketId(0), received);
        });
    }
    pair.run(1);
    let seen = &pair.world.end_point(pair.near).seen;
    assert!(seen.failures.is_empty() && seen.ends.is_empty(), "{seen:?}");
    assert_eq!(seen.answers[&0].bytes, 1_000);
    // No slower for it: two round trips.
    assert_eq!(pair.first_byte(), Duration::from_millis(40));
}

#[test]
fn a_retry_without_the_tag_that_only_the_server_can_make_is_ignored() {
    is_served_after(|ids| {
        let retry = |tag: u8| packet(0xf0, 1, ids, &[&b"a token"[..], &[tag; 16]].concat());
        vec![retry(0), retry(0xff)]
    });
}

#[test]
fn a_version_negotiation_that_offers_our_version_or_is_for_other_ids_is_ignored() {
    is_served_after(|ids| {
        let (server, client) = ids;
        let none_of_ours = 0x1a2a_3a4a_u32.to_be_bytes();
        let ours = [none_of_ours, 1_u32.to_be_bytes()].concat();
        let others = (client.clone(), server.clone());
        vec![packet(0x80, 0, ids, &ours), packet(0x80, 0, &others, &none_of_ours)]
    });
}

#[test]
fn a_stateless_reset_with_a_guessed_token_is_ignored() {
    is_served_after(|(_, client)| {
        let guess = |number: u8| [&[0x40][..], client, &[number; 40]].concat();
        (0..=255).map(guess).collect()
    });
}
