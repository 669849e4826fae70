//! QUIC connections whose addresses change on the way: a NAT has lost its state, and the client's packets come from another port
//! (RFC 9000 §9). The log tells them by the connection ID that the server has chosen in its handshake. IDs that it gives out
//! later are encrypted; a client that does not know of the change goes on with the first one.

use super::causes::reversed;
use std::collections::HashMap;
use trace::{Direction, Flow, PacketRecord};

/// Gives all packets of a QUIC connection the flow that it began with.
pub fn follow_rebindings(packets: &mut [PacketRecord]) {
    let begun = begun(packets);
    let mut moved: HashMap<Flow, Flow> = HashMap::new();
    for packet in packets.iter().filter(|packet| packet.direction == Direction::Up) {
        let known = packet.udp.and_then(|udp| begun.get(&udp.receiver?));
        if let (Some(first), Some(now)) = (known, packet.flow)
            && *first != now
        {
            moved.insert(now, *first);
        }
    }
    for packet in packets {
        let Some(flow) = packet.flow else { continue };
        let first = match packet.direction {
            Direction::Up => moved.get(&flow).copied(),
            Direction::Down => moved.get(&reversed(flow)).copied().map(reversed),
        };
        packet.flow = first.or(packet.flow);
    }
}

/// The client's flow of each connection that a server has answered, by the ID that the server has chosen.
fn begun(packets: &[PacketRecord]) -> HashMap<u64, Flow> {
    let mut begun = HashMap::new();
    for packet in packets.iter().filter(|packet| packet.direction == Direction::Down) {
        let chosen = packet.udp.and_then(|udp| udp.quic).map(|quic| quic.sender);
        // An ID without bytes distinguishes nothing.
        if let (Some(id), Some(flow)) = (chosen.filter(|id| *id != 0), packet.flow) {
            begun.entry(id).or_insert_with(|| reversed(flow));
        }
    }
    begun
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Fate, QuicMark, UdpMark};
    use unit::Instant;

    /// A datagram between the client's port and the server.
    fn datagram(
        direction: Direction,
        port: u16,
        sender: Option<u64>,
        receiver: u64,
    ) -> PacketRecord {
        let (near, far) = (([10, 0, 0, 1], port).into(), ([10, 0, 0, 2], 443).into());
        let up = Flow { protocol: 17, source: near, destination: far };
        let (at, quic) = (Instant::ZERO, sender.map(|sender| QuicMark { sender }));
        PacketRecord {
            passage: None,
            at,
            direction,
            index: 0,
            length: 1228,
            fate: Fate::Delivered { at },
            flow: Some(if direction == Direction::Up { up } else { reversed(up) }),
            tcp: None,
            udp: Some(UdpMark { payload: 1200, quic, receiver: Some(receiver) }),
        }
    }

    #[test]
    fn packets_from_a_new_port_belong_to_the_connection_whose_id_they_carry() {
        use Direction::{Down, Up};
        let mut packets = vec![
            datagram(Up, 5000, Some(1), 77),
            datagram(Up, 6000, Some(2), 78),
            datagram(Down, 5000, Some(70), 1),
            datagram(Down, 6000, Some(80), 2),
            datagram(Up, 5000, None, 70),
            // The NAT has other ports from here on.
            datagram(Up, 5999, None, 70),
            datagram(Down, 5999, None, 12),
            datagram(Up, 6000, None, 80),
            // Somebody whom nobody knows.
            datagram(Up, 7000, None, 90),
        ];
        follow_rebindings(&mut packets);
        let port = |packet: &PacketRecord| {
            let flow = packet.flow.unwrap();
            let near = if packet.direction == Up { flow.source } else { flow.destination };
            near.port()
        };
        let ports: Vec<u16> = packets.iter().map(port).collect();
        assert_eq!(ports, [5000, 6000, 5000, 6000, 5000, 5000, 5000, 6000, 7000]);
    }
}
