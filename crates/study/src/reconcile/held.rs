//! Bytes that a sender's kernel delayed under Nagle's rule, as seen from the link. The rule sends a small segment as
//! soon as everything before it is acknowledged (RFC 9293 §3.7.4). So a small segment had waited if it enters the link
//! right after an acknowledgement of exactly the bytes sent before it, and that acknowledgement carried no data to
//! which it could be an answer. A full segment is never delayed like that: it waited for a window. A segment that is sent again
//! waited for its loss to be noticed, and a socket with TCP_NODELAY delays nothing.

use super::Nagle;
use super::causes::{LEAST_FULL, is_before, reversed};
use std::collections::HashMap;
use std::time::Duration;
use trace::{Direction, Fate, Flow, PacketRecord, TcpMark};
use unit::Instant;

/// How soon a segment follows the acknowledgement that released it. A kernel reacts at once, but a busy machine
/// forwards the packet some milliseconds late.
const AT_ONCE: Duration = Duration::from_millis(5);

/// For each delayed segment: when the one before it was sent and when it was sent itself, in nanoseconds of the log's
/// clock. `nagle` tells whose segments may be delayed.
pub(super) fn holds(packets: &[PacketRecord], nagle: Nagle) -> Vec<(u64, u64)> {
    if nagle == (Nagle { client: false, server: false }) {
        return Vec::new();
    }
    let may_delay = |packet: &PacketRecord| match packet.direction {
        Direction::Up => nagle.client,
        Direction::Down => nagle.server,
    };
    let mut moments: Vec<(Instant, Moment, Flow, TcpMark)> = Vec::new();
    for packet in packets {
        let (Some(flow), Some(tcp)) = (packet.flow, packet.tcp) else { continue };
        if let Fate::Delivered { at } = packet.fate {
            moments.push((at, Moment::Delivered, flow, tcp));
        }
        if may_delay(packet) {
            moments.push((packet.at, Moment::Entered, flow, tcp));
        }
    }
    moments.sort_by_key(|(at, moment, ..)| (*at, *moment));
    let payloads = packets.iter().filter_map(|packet| Some(packet.tcp?.payload));
    let full = payloads.max().unwrap_or(0).max(LEAST_FULL);
    // When the sender of a flow sent data last, and the end of all that it has sent.
    let mut last_sent: HashMap<Flow, (Instant, u32)> = HashMap::new();
    // What the sender of a flow received last.
    let mut received: HashMap<Flow, (Instant, TcpMark)> = HashMap::new();
    let mut holds = Vec::new();
    for (at, moment, flow, tcp) in moments {
        if moment == Moment::Delivered {
            received.insert(reversed(flow), (at, tcp));
        } else if tcp.payload > 0 {
            let sent = last_sent.get(&flow).copied();
            let end = tcp.sequence.wrapping_add(tcp.payload);
            let furthest =
                sent.map_or(end, |(_, so_far)| if is_before(so_far, end) { end } else { so_far });
            last_sent.insert(flow, (at, furthest));
            if let (Some((sent, so_far)), Some((came, ack))) = (sent, received.get(&flow))
                && !is_before(tcp.sequence, so_far)
                && tcp.payload < full
                && is_bare(*ack)
                && ack.acknowledgement == tcp.sequence
                && sent < *came
                && at.since(*came) <= AT_ONCE
            {
                holds.push((sent.nanos(), at.nanos()));
            }
        }
    }
    holds
}

/// At one time, deliveries come before what they cause.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    Delivered,
    Entered,
}

/// An acknowledgement and nothing else.
fn is_bare(tcp: TcpMark) -> bool {
    const FIN_SYN_RST: u8 = 0x07;
    tcp.payload == 0 && tcp.flags & FIN_SYN_RST == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(
        direction: Direction,
        ms: u64,
        (sequence, payload): (u32, u32),
        ack: u32,
    ) -> PacketRecord {
        let (near, far) = ("10.0.0.1:5000".parse().unwrap(), "10.0.0.2:80".parse().unwrap());
        let (source, destination) =
            if direction == Direction::Up { (near, far) } else { (far, near) };
        let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
        PacketRecord {
            at: at(ms),
            direction,
            index: 0,
            length: 40 + payload,
            fate: Fate::Delivered { at: at(ms + 10) },
            passage: None,
            flow: Some(Flow { protocol: 6, source, destination }),
            tcp: Some(TcpMark { sequence, acknowledgement: ack, flags: 0x10, payload }),
            udp: None,
        }
    }

    use Direction::{Down, Up};

    const BOTH: Nagle = Nagle { client: true, server: true };

    #[test]
    fn a_payload_that_follows_the_acknowledgement_of_its_header_was_held_back() {
        let log = [
            packet(Up, 0, (100, 7), 500),
            packet(Down, 10, (500, 2), 107),
            // The header came at 20 ms and was acknowledged 40 ms later.
            packet(Up, 60, (107, 0), 502),
            packet(Down, 70, (502, 1), 107),
        ];
        assert_eq!(holds(&log, BOTH), [(10_000_000, 70_000_000)]);
        assert_eq!(holds(&log, Nagle { client: true, server: false }), [], "with TCP_NODELAY");
    }

    #[test]
    fn what_is_sent_again_waited_for_its_loss_to_be_noticed() {
        let lost = PacketRecord { fate: Fate::Lost, ..packet(Down, 10, (500, 3), 107) };
        let log = [
            packet(Up, 0, (100, 7), 500),
            packet(Down, 9, (497, 3), 107),
            lost,
            packet(Down, 11, (503, 2), 107),
            packet(Up, 60, (107, 0), 500),
            packet(Down, 70, (500, 3), 107),
        ];
        assert_eq!(holds(&log, BOTH), []);
    }

    #[test]
    fn what_follows_data_or_comes_later_or_while_more_is_unacknowledged_was_not() {
        let message = packet(Up, 0, (100, 7), 500);
        let header = packet(Down, 10, (500, 2), 107);
        // An answer to the next message, which brought the acknowledgement.
        let asked = [message.clone(), header.clone(), packet(Up, 60, (107, 7), 502)];
        let thought = [message.clone(), header.clone(), packet(Up, 50, (107, 0), 502)];
        // Sent on, although not everything before it is acknowledged.
        let flying = [message, header, packet(Up, 60, (107, 0), 501)];
        for log in [asked, thought, flying] {
            let log: Vec<_> = log.into_iter().chain([packet(Down, 70, (502, 1), 107)]).collect();
            assert_eq!(holds(&log, BOTH), []);
        }
    }
}
