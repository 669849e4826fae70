//! A client whose NAT forgets it, within the handshake and after it: from then on the server sees another port (`rebind` of a
//! link).

use crate::{BEGIN, Pair, pair, settings};
use endpoint::{EndPoint, ReceivedDatagrams, SocketId};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use trace::{Direction, Fate, PacketRecord};
use transport::{AddressValidation, QuicSettings};
use unit::Instant;

const RTT: Duration = Duration::from_millis(100);

/// A client waits so long for an answer to its first packets, as long as it knows no round trip (RFC 9002 §6.2.2).
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);

/// When an answer of so many bytes is whole; a rebinding comes so long after the client's first packet.
fn answered(rebind: Duration, bytes: u64) -> (Pair, Duration) {
    let link = format!("rtt={}ms,rebind={}us", RTT.as_millis(), rebind.as_micros());
    let mut pair = pair(&link, &settings(), &[bytes]);
    pair.run(1);
    let seen = &pair.world.end_point(pair.near).seen;
    assert!(seen.failures.is_empty() && seen.ends.is_empty(), "{rebind:?}: {seen:?}");
    let answer = seen.answers.get(&0).unwrap_or_else(|| panic!("{rebind:?}: no answer"));
    assert_eq!(answer.bytes as u64, bytes, "{rebind:?}");
    let took = answer.last.expect("it is whole").since(BEGIN);
    (pair, took)
}

/// The times of a handshake, and after it, in steps of 10 ms and 1 ms beside them.
fn times() -> impl Iterator<Item = Duration> {
    (0..40).map(|step| Duration::from_millis(10 * step + step % 2))
}

#[test]
fn a_rebinding_at_any_time_of_the_handshake_ends_no_connection() {
    let never = Duration::from_secs(60);
    let (_, plain) = answered(never, 20_000);
    for rebind in times() {
        let (_, took) = answered(rebind, 20_000);
        assert!(took <= plain + FIRST_TIMEOUT + 3 * RTT, "{rebind:?}: {took:?}, not {plain:?}");
    }
}

/// When a full datagram of the answer came to the client.
fn arrivals(pair: &Pair) -> Vec<Instant> {
    let down = pair.world.packets().iter().filter(|packet| packet.direction == Direction::Down);
    let came = down.filter(|packet| packet.length > 1_000).filter_map(|packet| match packet.fate {
        Fate::Delivered { at } => Some(at),
        _ => None,
    });
    came.collect()
}

#[test]
fn a_rebinding_in_the_middle_of_an_answer_loses_nothing_and_is_silent_for_three_round_trips_at_most()
 {
    // Another port, and another address: there quinn-proto's window, round trip and MTU begin anew (RFC 9002 §9.4).
    let elsewhere = IpAddr::from([192, 0, 2, 7]);
    let steps = (4..16).map(|step| Duration::from_millis(100 * step + 7 * step));
    let each = steps.flat_map(|rebind| [(rebind, None), (rebind, Some(elsewhere))]);
    for (rebind, address) in each {
        let link =
            format!("rtt=100ms,down=20mbit,up=20mbit,queue=250kB,rebind={}us", rebind.as_micros());
        let mut pair = pair(&link, &settings(), &[3_000_000]);
        if let Some(address) = address {
            pair.world.moves_to(pair.near, address);
        }
        pair.run(1);
        let seen = &pair.world.end_point(pair.near).seen;
        assert_eq!(seen.answers[&0].bytes, 3_000_000, "{rebind:?}");
        let came = arrivals(&pair);
        let after = came.iter().filter(|at| **at >= BEGIN + rebind).count();
        assert!(after > 100, "{rebind:?}: the answer goes on after it");
        let silence = came.windows(2).map(|two| two[1].since(two[0])).max().unwrap();
        assert!(silence <= 3 * RTT, "{rebind:?} {address:?}: {silence:?}");
        // From there the client acknowledged the rest.
        let up = pair.world.packets().iter().filter(|packet| packet.direction == Direction::Up);
        let last = up.filter_map(|packet| packet.flow).next_back().unwrap().source.ip();
        assert_eq!(last, address.unwrap_or(IpAddr::from([10, 0, 0, 1])), "{rebind:?}");
    }
}

/// The datagrams to and from the client's later port: when each was sent by the server, or came to it.
fn with_later_port(packets: &[PacketRecord], since: Instant) -> Vec<(Instant, &PacketRecord)> {
    // What the server sends to the former port does not pass the NAT.
    let is_later = |packet: &&PacketRecord| packet.at >= since && packet.fate != Fate::Blocked;
    let seen_at = |packet| match packet {
        &PacketRecord { direction: Direction::Up, fate: Fate::Delivered { at }, .. } => at,
        packet => packet.at,
    };
    let later = packets.iter().filter(is_later);
    let mut later: Vec<_> = later.map(|packet| (seen_at(packet), packet)).collect();
    later.sort_by_key(|(at, packet)| (*at, packet.direction == Direction::Down));
    later
}

#[test]
fn within_the_handshake_a_server_sends_a_new_address_three_times_as_much_as_came_from_it() {
    let mut judged = 0;
    // From its first packet on there is one port alone, and after 150 ms quinn-proto migrates.
    for rebind in times().skip(1).take_while(|at| *at < Duration::from_millis(150)) {
        let (pair, _) = answered(rebind, 100_000);
        let (mut received, mut sent) = (0, 0);
        let events = with_later_port(pair.world.packets(), BEGIN + rebind);
        let first_sent = events.iter().find(|(_, packet)| packet.direction == Direction::Down);
        let Some(&(first_sent, _)) = first_sent else { panic!("{rebind:?}: nothing is sent") };
        judged += 1;
        for (at, packet) in events {
            let bytes = packet.udp.unwrap().payload;
            match packet.direction {
                Direction::Up => received += bytes,
                Direction::Down => sent += bytes,
            }
            // What proves the address is an answer to what went there.
            if at < first_sent + RTT {
                assert!(sent <= 3 * received, "{rebind:?}: {sent} bytes for {received}");
            }
        }
    }
    assert_eq!(judged, 14, "rebindings");
}

#[test]
fn a_retrys_token_is_for_one_address_and_says_so_where_that_has_changed() {
    let by_retry = AddressValidation::ByRetry;
    let settings = QuicSettings { address_validation: by_retry, ..settings() };
    // The Retry comes after 100 ms, and with it the token goes from another port.
    let mut pair = pair("rtt=100ms,rebind=80ms", &settings, &[1_000]);
    pair.run_out();
    let seen = &pair.world.end_point(pair.near).seen;
    assert_eq!((seen.failures.len(), seen.answers.len()), (1, 0), "{seen:?}");
}

/// Has the server see this datagram as if it came from `remote`.
fn from_elsewhere(pair: &mut Pair, remote: &str, datagram: &[u8]) {
    let now = pair.world.now();
    pair.world.with(pair.far, |side| {
        let (remote, stride): (SocketAddr, _) = (remote.parse().unwrap(), datagram.len());
        let data = datagram.into();
        let received = ReceivedDatagrams { remote, local: None, ecn: None, stride, data };
        side.handle_datagrams(now, SocketId(0), received);
    });
}

#[test]
fn a_copy_of_the_first_packet_from_another_address_takes_the_connection_from_nobody() {
    // Before the client's own arrives, and after it.
    for (at, most) in [(10, FIRST_TIMEOUT + 4 * RTT), (60, 2 * RTT)] {
        let mut pair = pair("rtt=100ms", &settings(), &[1_000]);
        pair.world.run_for(Duration::from_millis(at));
        let copy = pair.world.end_point(pair.near).first.clone();
        from_elsewhere(&mut pair, "10.0.0.1:9", &copy);
        pair.run(1);
        let seen = &pair.world.end_point(pair.near).seen;
        assert!(seen.failures.is_empty(), "{at} ms: {seen:?}");
        assert_eq!(seen.answers[&0].bytes, 1_000, "{at} ms");
        assert!(pair.first_byte() <= most, "{at} ms: {:?}", pair.first_byte());
    }
}

/// Bytes that the server has sent to ports of the client's host that only forged datagrams came from.
fn sent_to_forged(pair: &Pair, ports: std::ops::Range<u16>) -> usize {
    let down = pair.world.packets().iter().filter(|packet| packet.direction == Direction::Down);
    let forged = down
        .filter(|packet| packet.flow.is_some_and(|flow| ports.contains(&flow.destination.port())));
    forged.map(|packet| packet.udp.unwrap().payload as usize).sum()
}

#[test]
fn a_server_follows_its_client_to_one_new_address_a_second() {
    let mut pair = pair("rtt=100ms", &settings(), &[1_000]);
    pair.run(1);
    let (near, ports, mut longest) = (pair.near, 20_000..20_040_u16, 0);
    // Requests of 3 s, each seen first from another port.
    for port in ports.clone() {
        let now = pair.world.now();
        pair.world.with(near, |near| {
            near.command(now, |toy| {
                toy.ask(100);
            })
        });
        pair.world.run_for(Duration::from_millis(1));
        let copy = pair.world.end_point(near).last.clone();
        longest = copy.len().max(longest);
        from_elsewhere(&mut pair, &format!("10.0.0.1:{port}"), &copy);
        pair.world.run_for(Duration::from_millis(74));
    }
    let sent = sent_to_forged(&pair, ports);
    assert!((1..=4 * 3 * longest).contains(&sent), "{sent} bytes, in 3 s of {longest} at most");
    pair.run(41);
    let answers = &pair.world.end_point(near).seen.answers;
    assert_eq!(answers.values().filter(|answer| answer.bytes == 100).count(), 40);
}

/// A server may not yet send 1,200 bytes to where a small request came from. Its client answers a shorter challenge, too.
#[test]
fn a_client_that_is_elsewhere_after_a_pause_is_probed_with_few_bytes_and_answered() {
    let mut pair = pair("rtt=100ms,rebind=2s", &settings(), &[1_000]);
    pair.run(1);
    pair.world.run_for(Duration::from_secs(3));
    let (near, now) = (pair.near, pair.world.now());
    pair.world.with(near, |near| {
        near.command(now, |toy| {
            toy.ask(0);
        })
    });
    pair.world.run_for(4 * RTT);
    let after = |packet: &&PacketRecord| packet.at >= now;
    let packets: Vec<&PacketRecord> = pair.world.packets().iter().filter(after).collect();
    let bytes = |packet: &PacketRecord| packet.udp.unwrap().payload;
    let (asked, down): (Vec<&PacketRecord>, Vec<&PacketRecord>) =
        packets.into_iter().partition(|packet| packet.direction == Direction::Up);
    // The server first asks at the old address whether the client has left it.
    let probe = down.iter().find(|packet| packet.flow != down[0].flow).unwrap();
    assert!(bytes(down[0]) == 1_200 && bytes(probe) <= 3 * bytes(asked[0]), "{down:?}");
    let now = pair.world.now();
    pair.world.with(near, |near| {
        near.command(now, |toy| {
            toy.ask(200_000);
        })
    });
    pair.run(3);
    let answer = &pair.world.end_point(near).seen.answers[&8];
    let took = answer.last.expect("it is whole").since(now);
    assert!(answer.bytes == 200_000 && took <= 6 * RTT, "{took:?}");
}
