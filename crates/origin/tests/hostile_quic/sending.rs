//! When our server's datagrams are made.

use crate::{Bench, SOCKET, Trusted, received};
use endpoint::EndPoint;
use fuzzing::quic::SharedPlan;
use quinn_proto::Dir;

/// A request for `/image/1?bytes=50`, its fields as literals.
const REQUEST: &[u8] = b"\x01\x1f\x00\x00\xd1\xd7\x50\x06a.test\x51\x11/image/1?bytes=50";

#[test]
fn so_many_small_answers_are_much_to_send_until_all_are_made() {
    let trusted = Trusted::new();
    let mut bench = Bench::new(&trusted, SharedPlan::default());
    bench.connected();
    bench.act(|peer| peer.open(Dir::Uni, b"\x00\x04\x00"));
    bench.run(100);
    for (requests, expected) in [(1, false), (31, false), (32, true), (40, true), (5, false)] {
        let (now, remote) = (bench.world.now(), bench.address());
        let asked = bench.taken(|peer| {
            for _ in 0..requests {
                let stream = peer.open(Dir::Bi, REQUEST);
                peer.finish(stream);
            }
        });
        bench.world.with(bench.origin, |origin| {
            for datagram in asked {
                origin.handle_datagrams(now, SOCKET, received(remote, &datagram));
            }
            assert_eq!(origin.has_much_to_send(SOCKET), expected, "{requests} requests");
        });
        // The world has it send all of them.
        assert!(!bench.world.with(bench.origin, |origin| origin.has_much_to_send(SOCKET)));
        bench.run(200);
    }
}

/// An extended CONNECT for `/ws/echo` (RFC 9220), its fields as literals.
fn web_socket() -> Vec<u8> {
    let fields = [
        &b"\x00\x00\xcf\xd7\x50\x06a.test\x51\x08/ws/echo"[..],
        b"\x27\x02:protocol\x09websocket",
        b"\x27\x0esec-websocket-version\x0213",
    ]
    .concat();
    // A length above 63 takes two bytes (RFC 9000 §16).
    [&[1, 0x40, fields.len() as u8][..], &fields].concat()
}

#[test]
fn a_web_socket_whose_stream_ends_with_its_head_is_over() {
    let trusted = Trusted::new();
    let mut bench = Bench::new(&trusted, SharedPlan::default());
    bench.connected();
    bench.act(|peer| peer.open(Dir::Uni, b"\x00\x04\x00"));
    let stream = bench.act(|peer| {
        let stream = peer.open(Dir::Bi, &web_socket());
        peer.finish(stream);
        stream
    });
    bench.run(200);
    let seen = &bench.peer().streams[&stream];
    // HEADERS came first: the WebSocket was opened.
    assert_eq!(seen.bytes.first(), Some(&1), "{seen:?}");
    assert!(seen.is_finished, "{seen:?}");
}
