//! Early data (RFC 8470): what may not come twice is answered 425 within the handshake, and all else at once.

use crate::repeating::ask_with;
use crate::{Bench, Trusted};
use fuzzing::quic::{Peer, SharedPlan};
use link::{LinkSpec, no_traces};
use quinn_proto::{Dir, StreamId};
use sim::{Host, Path};
use wire::h3::parse_varint;
use wire::qpack::{Decoded, Decoder, DecoderLimits};

/// A request for `/image/1?bytes=50`, its fields as literals.
const GET: &[u8] = b"\x01\x1f\x00\x00\xd1\xd7\x50\x06a.test\x51\x11/image/1?bytes=50";

/// `POST /echo` with a body of four bytes.
const POST: &[u8] = b"\x01\x13\x00\x00\xd4\xd7\x50\x06a.test\x51\x05/echo\x00\x04once";

/// The status of an answer, and its body.
fn answer(peer: &Peer, stream: StreamId) -> (String, Vec<u8>) {
    let seen = &peer.streams[&stream];
    assert!(seen.is_finished, "{seen:?}");
    let (mut bytes, mut status, mut body) = (&seen.bytes[..], String::new(), Vec::new());
    while let Some(kind) = parse_varint(&mut bytes) {
        let length = parse_varint(&mut bytes).unwrap() as usize;
        let payload = bytes.split_off(..length).unwrap();
        match kind {
            0 => body.extend_from_slice(payload),
            1 => {
                // The peer's SETTINGS allow no dynamic table.
                let limits = DecoderLimits { max_capacity: 0, blocked_streams: 0 };
                let decoded = Decoder::new(limits).decode(0, payload, 10_000, |field| {
                    if field.name == b":status" {
                        status = String::from_utf8(field.value.to_vec()).unwrap();
                    }
                });
                assert!(!matches!(decoded, Ok(Decoded::Blocked { .. }) | Err(_)));
            }
            _ => {}
        }
    }
    (status, body)
}

/// A client that comes back to an origin that has given it tickets, and sends the control stream and these requests with
/// its first packets.
fn resumed(trusted: &Trusted, requests: &[&[u8]]) -> (Bench, Host<Peer>, Vec<StreamId>) {
    let mut bench = Bench::new(trusted, SharedPlan::default());
    assert!(!bench.peer().connection.has_0rtt(), "it knows no session");
    bench.connected();
    let mut peer = Peer::at(bench.world.now(), trusted.tls("h3"), SharedPlan::default());
    assert!(peer.connection.has_0rtt());
    peer.open(Dir::Uni, b"\x00\x04\x00");
    let streams = requests.iter().map(|request| ask_with(&mut peer, request)).collect();
    let host = bench.world.host("10.0.0.3", peer);
    let link = LinkSpec::parse("rtt=20ms", no_traces).unwrap();
    bench.world.connect(host, bench.origin, Path::link(link));
    (bench, host, streams)
}

#[test]
fn what_changes_something_is_told_to_come_after_the_handshake_and_a_get_is_answered_within_it() {
    let trusted = Trusted::new();
    let (mut bench, peer, streams) = resumed(&trusted, &[POST, GET]);
    // A round trip, in which the client's half of the handshake does not reach the origin.
    bench.run(25);
    let early = bench.world.end_point(peer);
    assert!(early.connection.accepted_0rtt());
    let (status, body) = answer(early, streams[0]);
    assert_eq!(status, "425");
    assert_ne!(body, b"once");
    let (status, body) = answer(early, streams[1]);
    assert_eq!((&*status, body.len()), ("200", 50));
    // The same request after the handshake.
    bench.run(100);
    let again = bench.world.with(peer, |peer| ask_with(peer, POST));
    bench.run(25);
    assert_eq!(answer(bench.world.end_point(peer), again), ("200".to_owned(), b"once".to_vec()));
}
