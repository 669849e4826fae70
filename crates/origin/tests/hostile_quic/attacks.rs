//! Floods, spoofed packets and exhaustion over QUIC. After each attack a client beside it is answered as before.

use crate::{Bench, SOCKET, Trusted, received};
use endpoint::EndPoint;
use fuzzing::quic::SharedPlan;
use fuzzing::quic::{Ended, Peer};
use link::{LinkSpec, no_traces};
use origin::{Limits, Origin};
use quinn_proto::Dir;
use sim::Path;
use std::net::SocketAddr;
use std::time::Duration;
use transport::{AddressValidation, QuicSettings};
use unit::{Instant, Seed};

/// A request for `/image/1?bytes=5000`, its fields as literals.
const REQUEST: &[u8] = b"\x01\x21\x00\x00\xd1\xd7\x50\x06a.test\x51\x13/image/1?bytes=5000";

fn attacked() -> (Trusted, Bench) {
    let trusted = Trusted::new();
    let bench = Bench::new(&trusted, SharedPlan::default());
    (trusted, bench)
}

/// A client that comes now gets its answer, two round trips later, or three with a Retry.
fn an_honest_client_is_answered(trusted: &Trusted, bench: &mut Bench) {
    let now = bench.world.now();
    let honest = Peer::at(now, trusted.tls("h3"), SharedPlan::default());
    let honest = bench.world.host("10.0.0.3", honest);
    let link = LinkSpec::parse("rtt=20ms", no_traces).unwrap();
    bench.world.connect(honest, bench.origin, Path::link(link));
    bench.world.run_for(Duration::from_millis(80));
    let stream = bench.world.with(honest, |peer| {
        assert!(peer.is_connected, "{:?}", peer.ended);
        peer.open(Dir::Uni, b"\x00\x04\x00");
        let stream = peer.open(Dir::Bi, REQUEST);
        peer.finish(stream);
        stream
    });
    bench.world.run_for(Duration::from_millis(100));
    let seen = &bench.world.end_point(honest).streams[&stream];
    assert!(seen.is_finished && seen.bytes.len() > 5_000, "{seen:?}");
}

#[test]
fn a_client_that_has_not_proven_its_address_is_sent_three_times_its_bytes_at_most() {
    for mtu in [1_200, 1_250, 1_350, 1_452] {
        let trusted = Trusted::with_names(400);
        let mut peer = Peer::with_mtu(crate::START, trusted.tls("h3"), SharedPlan::default(), mtu);
        peer.speaks = 1;
        let mut bench = Bench::with(&trusted, peer, QuicSettings::default());
        bench.run(30_000);
        let peer = bench.peer();
        assert!(
            peer.received > 2 * peer.sent && peer.received <= 3 * peer.sent,
            "{mtu}: {}",
            peer.received
        );
        an_honest_client_is_answered(&trusted, &mut bench);
    }
}

#[test]
fn a_retry_is_smaller_than_what_asked_for_it_and_leaves_nothing_behind() {
    let trusted = Trusted::new();
    let mut peer = Peer::new(trusted.tls("h3"), SharedPlan::default());
    peer.speaks = 1;
    let by_retry = AddressValidation::ByRetry;
    let settings = QuicSettings { address_validation: by_retry, ..QuicSettings::default() };
    let mut bench = Bench::with(&trusted, peer, settings);
    bench.run(30_000);
    let peer = bench.peer();
    assert!(peer.received > 0 && peer.received < peer.sent / 4, "{}", peer.received);
    assert_eq!(bench.world.end_point(bench.origin).connections(), 0);
}

#[test]
fn rubbish_is_answered_with_less_than_it_is() {
    let (trusted, mut bench) = attacked();
    bench.connected();
    let before = (bench.peer().received, bench.peer().sent);
    let seed = Seed(5);
    for number in 0..20_000 {
        let length = 1 + (seed.draw(number) % 1_400) as usize;
        let byte = |index: usize| seed.draw(number ^ (index as u64) << 32) as u8;
        let mut datagram: Vec<u8> = (0..length.min(40)).map(byte).collect();
        datagram.resize(length, 0x5a);
        bench.act(|peer| peer.send_raw(datagram));
        if number % 500 == 0 {
            bench.run(1);
        }
    }
    bench.run(1_000);
    let (received, sent) = (bench.peer().received - before.0, bench.peer().sent - before.1);
    assert!(sent > 10_000_000 && received < sent / 2, "{received} bytes for {sent}");
    assert_eq!(bench.world.end_point(bench.origin).connections(), 1);
    an_honest_client_is_answered(&trusted, &mut bench);
}

#[test]
fn connections_that_are_begun_and_never_gone_on_with_are_bounded_and_forgotten() {
    let (trusted, mut bench) = attacked();
    bench.connected();
    for _ in 0..2_000 {
        let mut other = Peer::new(trusted.tls("h3"), SharedPlan::default());
        let first = other.first_datagram();
        bench.act(|peer| peer.send_raw(first));
    }
    bench.run(100);
    // From then on clients prove their addresses by a Retry first.
    assert_eq!(bench.world.end_point(bench.origin).connections(), 1 + 1_024);
    an_honest_client_is_answered(&trusted, &mut bench);
    // The origin's time for a handshake is 10 s, quinn-proto's for a connection without packets 30 s.
    bench.run(15_000);
    assert!(bench.world.end_point(bench.origin).connections() <= 2);
}

#[test]
fn a_stateless_reset_with_a_wrong_token_resets_nothing() {
    let (trusted, mut bench) = attacked();
    bench.connected();
    // Short headers for this connection's server, with any 16 bytes at their end.
    for number in 0..1_000_u32 {
        let mut datagram = vec![0x40; 30];
        datagram.extend_from_slice(&number.to_be_bytes().repeat(4));
        bench.act(|peer| peer.send_raw(datagram));
    }
    bench.run(100);
    assert_eq!(bench.peer().ended, None);
    let stream = bench.act(|peer| {
        peer.open(Dir::Uni, b"\x00\x04\x00");
        let stream = peer.open(Dir::Bi, REQUEST);
        peer.finish(stream);
        stream
    });
    bench.run(100);
    assert!(bench.peer().streams[&stream].is_finished);
    an_honest_client_is_answered(&trusted, &mut bench);
}

#[test]
fn connection_ids_that_are_retired_without_end_end_the_connection() {
    let (trusted, mut bench) = attacked();
    bench.connected();
    for number in 10..2_000_u64 {
        // NEW_CONNECTION_ID, which has all earlier ones retired (RFC 9000 §19.15).
        let mut frame = vec![0x18];
        for _ in 0..2 {
            frame.extend_from_slice(&(0x4000 | number as u16).to_be_bytes());
        }
        frame.push(8);
        frame.extend_from_slice(&number.to_be_bytes());
        frame.extend_from_slice(&[number as u8; 16]);
        bench.act(|peer| peer.send_frames(&frame));
        bench.run(1);
    }
    bench.run(1_000);
    // The close goes to an ID that this client's library does not know; a stateless reset follows.
    assert_eq!(bench.peer().ended, Some(Ended::Other("reset by peer".to_owned())));
    an_honest_client_is_answered(&trusted, &mut bench);
}

/// A packet of PATH_CHALLENGE alone moves no connection (RFC 9000 §9.1), and is answered where it came from.
#[test]
fn other_addresses_that_probe_their_paths_are_answered_three_times_a_second() {
    let (trusted, mut bench) = attacked();
    bench.connected();
    let elsewhere: SocketAddr = "10.0.0.1:9".parse().unwrap();
    for number in 0..1_000_u64 {
        let challenge = [&[0x1a][..], &number.to_be_bytes()].concat();
        let taken = bench.taken(|peer| peer.send_frames(&challenge));
        let now = bench.world.now();
        bench.world.with(bench.origin, |origin| {
            for datagram in taken {
                origin.handle_datagrams(now, SOCKET, received(elsewhere, &datagram));
            }
        });
        bench.run(2);
    }
    let packets = bench.world.packets().iter();
    let sent = packets.filter(|packet| packet.flow.unwrap().destination == elsewhere).count();
    assert!((6..=9).contains(&sent), "{sent} datagrams in two seconds");
    an_honest_client_is_answered(&trusted, &mut bench);
}

/// Whoever has a connection may send its packets in other people's names (RFC 9000 §9.3), and is told nothing of what is sent there.
#[test]
fn an_address_that_a_client_moves_to_is_probed_with_three_times_what_it_sends() {
    let ping = |padding| [&[1][..], &vec![0; padding]].concat();
    let guess = [&b"\x1b12345678"[..], &[0; 30]].concat();
    for (packets, is_padded) in [
        (vec![ping(40)], false),
        // A guessed PATH_RESPONSE validates nothing.
        (vec![ping(40), guess], false),
        (vec![ping(1_000)], true),
    ] {
        let (trusted, mut bench) = attacked();
        bench.connected();
        for number in 0..6 {
            // Another port of the client's, as of a NAT, or another host, whose MTU is unknown.
            let host = if number % 2 == 0 { 1 } else { 9 };
            let elsewhere = SocketAddr::from(([10, 0, 0, host], 9 + number));
            let taken: Vec<Vec<u8>> = packets
                .iter()
                .flat_map(|frames| bench.taken(|peer| peer.send_frames(frames)))
                .collect();
            let length: usize = taken.iter().map(Vec::len).sum();
            let now = bench.world.now();
            let sent = bench.world.with(bench.origin, |origin| {
                for datagram in &taken {
                    origin.handle_datagrams(now, SOCKET, received(elsewhere, datagram));
                }
                sent_to(origin, now, elsewhere)
            });
            assert!(!sent.is_empty(), "it is probed");
            assert_eq!(sent.iter().any(|bytes| *bytes >= 1_200), is_padded, "{sent:?}");
            assert!(sent.iter().sum::<usize>() <= 3 * length, "{sent:?} of {length}");
            bench.run(1_500);
        }
        an_honest_client_is_answered(&trusted, &mut bench);
    }
}

/// What the server has to send now to this address: the bytes of each datagram.
fn sent_to(origin: &mut Origin, now: Instant, to: SocketAddr) -> Vec<usize> {
    let (mut sent, mut batch) = (Vec::new(), Vec::new());
    while let Some(transmit) = origin.poll_datagrams(now, SOCKET, &mut batch, 10) {
        if transmit.remote == to {
            let size = transmit.segment_size.unwrap_or(batch.len());
            sent.extend(batch.chunks(size).map(<[u8]>::len));
        }
        batch.clear();
    }
    sent
}

#[test]
fn acknowledgements_of_what_was_never_sent_end_the_connection() {
    let (trusted, mut bench) = attacked();
    bench.connected();
    bench.act(|peer| peer.send_frames(b"\x02\x80\x10\x00\x00\x00\x00\x00"));
    bench.run(200);
    assert_eq!(bench.peer().ended, Some(Ended::Transport(0xa)));
    an_honest_client_is_answered(&trusted, &mut bench);
}

/// RFC 9221 §3: it is a violation where no datagrams were offered, so that none can be kept.
#[test]
fn a_datagram_ends_the_connection() {
    let (trusted, mut bench) = attacked();
    bench.connected();
    bench.act(|peer| peer.send_frames(&[&b"\x31\x08"[..], &[0; 8]].concat()));
    bench.run(200);
    assert_eq!(bench.peer().ended, Some(Ended::Transport(0xa)));
    an_honest_client_is_answered(&trusted, &mut bench);
}

#[test]
fn floods_of_pings_and_acknowledgements_are_answered_with_less_than_they_are() {
    for frames in [&[1; 1_000][..], &b"\x02\x00\x00\x00\x00".repeat(200)] {
        let (trusted, mut bench) = attacked();
        bench.connected();
        let before = (bench.peer().received, bench.peer().sent);
        for _ in 0..2_000 {
            bench.act(|peer| peer.send_frames(frames));
            bench.run(1);
        }
        bench.run(1_000);
        assert_eq!(bench.peer().ended, None);
        assert!(bench.peer().plan.lock().changed >= 1_990);
        let (received, sent) = (bench.peer().received - before.0, bench.peer().sent - before.1);
        assert!(received < sent / 4, "{received} bytes for {sent}");
        an_honest_client_is_answered(&trusted, &mut bench);
    }
}

/// Acknowledgements are not in flight (RFC 9002 §2): a server that has sent many of them, of which the client has acknowledged
/// none, answers at once all the same.
#[test]
fn a_client_that_has_sent_many_pings_is_answered() {
    let (_, mut bench) = attacked();
    bench.connected();
    for _ in 0..2_000 {
        bench.act(|peer| peer.send_frames(&[1; 20]));
        bench.run(1);
    }
    bench.run(100);
    let before = bench.peer().received;
    // STREAM frames with a length and a FIN (RFC 9000 §19.8), without an acknowledgement: a control stream and a request.
    let request = [&[0x0b, 0, REQUEST.len() as u8], REQUEST].concat();
    bench.act(|peer| peer.send_frames(&[b"\x0a\x02\x03\x00\x04\x00", &request[..]].concat()));
    bench.run(25);
    let answered = bench.peer().received - before;
    // With the first datagrams of an answer that its library knows nothing of, the client ends.
    assert!(answered > 1_000, "{answered} bytes");
}

#[test]
fn a_server_that_stood_still_for_minutes_wakes_up_with_closed_connections() {
    let (_, mut bench) = attacked();
    bench.connected();
    bench.act(|peer| peer.send_frames(b"\x1e"));
    bench.run(15);
    assert_eq!(bench.world.end_point(bench.origin).connections(), 1, "it is closed, not forgotten");
    let late = bench.world.now() + Duration::from_secs(500);
    bench.world.with(bench.origin, |origin| origin.handle_timeout(late));
    assert_eq!(bench.world.end_point(bench.origin).connections(), 0);
}

#[test]
fn streams_that_are_reset_at_once_end_the_connection() {
    let (trusted, mut bench) = attacked();
    bench.connected();
    bench.act(|peer| peer.open(Dir::Uni, b"\x00\x04\x00"));
    let mut opened = 0;
    while opened < 5_000 && bench.peer().ended.is_none() {
        bench.act(|peer| {
            for _ in 0..50 {
                if let Some(stream) = peer.try_open(Dir::Bi, REQUEST) {
                    peer.reset(stream);
                    opened += 1;
                }
            }
        });
        bench.run(20);
    }
    // H3_EXCESSIVE_LOAD.
    assert_eq!(bench.peer().ended, Some(Ended::Application(0x107)), "{opened}");
    an_honest_client_is_answered(&trusted, &mut bench);
}

/// A request for `/image/1?bytes=90000000`.
const LARGE: &[u8] = b"\x01\x25\x00\x00\xd1\xd7\x50\x06a.test\x51\x17/image/1?bytes=90000000";

/// Stops the server; gives the time after which it has finished, to 100 ms. Meanwhile the peer does something.
fn stop(bench: &mut Bench, mut meanwhile: impl FnMut(&mut Peer)) -> Duration {
    bench.world.stop(bench.origin);
    let begun = bench.world.now();
    while !bench.world.is_finished(bench.origin) {
        bench.act(&mut meanwhile);
        bench.run(100);
        let waited = bench.world.now().since(begun);
        assert!(waited <= Limits::default().drain, "a stop that does not end");
    }
    bench.world.now().since(begun)
}

#[test]
fn a_stop_does_not_wait_for_a_stream_that_its_peer_leaves_unread() {
    let (_, mut bench) = attacked();
    bench.connected();
    bench.act(|peer| {
        // Not among its streams, so that it is never read.
        let stream = peer.connection.streams().open(Dir::Bi).unwrap();
        peer.connection.send_stream(stream).write(LARGE).unwrap();
        peer.connection.send_stream(stream).finish().unwrap();
        peer.open(Dir::Uni, b"\x00\x04\x00");
    });
    bench.run(5_000);
    let received = bench.peer().received;
    assert!(received > 1_000_000, "as much as flow control allows: {received}");
    let waited = stop(&mut bench, |_| {});
    // Its acknowledgement of the second GOAWAY, which goes after half of that time, is the last that is heard of it.
    let patience = Limits::default().drain_stall;
    let most = patience / 2 + patience + Duration::from_millis(200);
    assert!(waited <= most, "{waited:?}");
    assert!(bench.peer().received < received + 20_000);
}

#[test]
fn a_stop_does_not_wait_for_a_client_that_always_asks_again() {
    let (_, mut bench) = attacked();
    bench.connected();
    let ask = |peer: &mut Peer| {
        if let Some(stream) = peer.try_open(Dir::Bi, REQUEST) {
            peer.finish(stream);
        }
    };
    bench.act(|peer| peer.open(Dir::Uni, b"\x00\x04\x00"));
    for _ in 0..5 {
        bench.act(ask);
        bench.run(100);
    }
    let waited = stop(&mut bench, ask);
    let most = Limits::default().drain_stall + Duration::from_millis(200);
    assert!(waited <= most, "{waited:?}");
    let is_answered = |seen: &&fuzzing::quic::Seen| seen.is_finished && seen.bytes.len() > 5_000;
    assert!(bench.peer().streams.values().filter(is_answered).count() >= 5);
}

/// An upload to `/echo` that has 10 of its 100 bytes.
const BEGUN_UPLOAD: &[u8] =
    b"\x01\x13\x00\x00\xd4\xd7\x50\x06a.test\x51\x05/echo\x00\x40\x640123456789";

#[test]
fn pings_and_forged_packets_are_no_progress_of_a_stalled_request() {
    let stall = Limits::default().stall.as_secs();
    // A PING comes each second. Whether a packet that is not the client's does, too, and once a byte of the body.
    for (forges, goes_on) in [(false, false), (true, false), (false, true)] {
        let (_, mut bench) = attacked();
        bench.connected();
        bench.act(|peer| peer.open(Dir::Uni, b"\x00\x04\x00"));
        let upload = bench.act(|peer| peer.open(Dir::Bi, BEGUN_UPLOAD));
        for second in 0..stall + 5 {
            bench.act(Peer::ping);
            if forges {
                let address = bench.address();
                let mut forged = bench.taken(|peer| peer.send_frames(&[0x01]));
                let now = bench.world.now();
                bench.world.with(bench.origin, |origin| {
                    for datagram in &mut forged {
                        *datagram.last_mut().unwrap() ^= 1;
                        origin.handle_datagrams(now, SOCKET, received(address, datagram));
                    }
                });
            }
            if goes_on && second == stall / 2 {
                bench.act(|peer| peer.write(upload, b"0"));
            }
            bench.run(1_000);
        }
        let is_open = bench.peer().ended.is_none();
        assert_eq!(is_open, goes_on, "{forges}: {:?}", bench.peer().ended);
    }
}

#[test]
fn answers_due_at_once_are_reset_where_the_client_takes_no_head() {
    let (trusted, mut bench) = attacked();
    bench.connected();
    // SETTINGS_MAX_FIELD_SECTION_SIZE = 10 (RFC 9114 §7.2.4.1).
    bench.act(|peer| peer.open(Dir::Uni, b"\x00\x04\x02\x06\x0a"));
    bench.run(100);
    let request = b"\x01\x27\x00\x00\xd1\xd7\x50\x06a.test\x51\x19/api?bytes=1&delay_ms=300";
    let asked: Vec<_> = (0..3)
        .map(|_| {
            bench.act(|peer| {
                let stream = peer.open(Dir::Bi, request);
                peer.finish(stream);
                stream
            })
        })
        .collect();
    bench.run(500);
    for stream in asked {
        let seen = &bench.peer().streams[&stream];
        assert!(seen.reset.is_some() && seen.bytes.is_empty(), "{seen:?}");
    }
    an_honest_client_is_answered(&trusted, &mut bench);
}
