//! When our server's datagrams are made.

use crate::{Bench, Trusted};
use bytes::BytesMut;
use endpoint::{EndPoint, ReceivedDatagrams, SocketId};
use fuzzing::quic::SharedPlan;
use quinn_proto::Dir;

/// A request for `/image/1?bytes=50`, its fields as literals.
const REQUEST: &[u8] = b"\x01\x1f\x00\x00\xd1\xd7\x50\x06a.test\x51\x11/image/1?bytes=50";

/// Of our server, whose only listener it is.
const SOCKET: SocketId = SocketId(0);

#[test]
fn so_many_small_answers_are_much_to_send_until_all_are_made() {
    let trusted = Trusted::new();
    let mut bench = Bench::new(&trusted, SharedPlan::default());
    bench.connected();
    bench.act(|peer| peer.open(Dir::Uni, b"\x00\x04\x00"));
    bench.run(100);
    for (requests, expected) in [(1, false), (31, false), (32, true), (40, true), (5, false)] {
        let now = bench.world.now();
        let asked = bench.act(|peer| {
            for _ in 0..requests {
                let stream = peer.open(Dir::Bi, REQUEST);
                peer.finish(stream);
            }
            let mut datagrams = Vec::new();
            let mut datagram = Vec::new();
            while peer.poll_datagrams(now, SocketId(0), &mut datagram, 1).is_some() {
                datagrams.push(std::mem::take(&mut datagram));
            }
            datagrams
        });
        bench.world.with(bench.origin, |origin| {
            for datagram in asked {
                let received = ReceivedDatagrams {
                    remote: "10.0.0.1:50000".parse().unwrap(),
                    local: None,
                    ecn: None,
                    stride: datagram.len(),
                    data: BytesMut::from(&datagram[..]),
                };
                origin.handle_datagrams(now, SOCKET, received);
            }
            assert_eq!(origin.has_much_to_send(SOCKET), expected, "{requests} requests");
        });
        // The world has it send all of them.
        assert!(!bench.world.with(bench.origin, |origin| origin.has_much_to_send(SOCKET)));
        bench.run(200);
    }
}
