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
