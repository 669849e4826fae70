//! When the pieces of responses came: the server's log says in which order a connection sent them, the link's log when the bytes of
//! that connection came out of the link. The model: bytes come in the order in which they were sent, with what TLS and frames add to
//! them, and none before it was sent. So a piece is placed to within a few packets.

use super::evidence::ServerLog;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;
use trace::{DeliveredPiece, DeliveryRecord, Direction, Fate, PacketRecord};
use unit::Instant;

/// Puts the times at which the pieces came into `deliveries`. Pieces of a connection without a flow in the log have none.
pub fn put_arrivals(
    deliveries: &mut [DeliveryRecord],
    server: &ServerLog,
    packets: &[PacketRecord],
) {
    let remotes: BTreeMap<u64, SocketAddr> =
        server.connections.iter().filter_map(|one| Some((one.id, one.remote?))).collect();
    let mut pieces: BTreeMap<u64, Vec<&mut DeliveredPiece>> = BTreeMap::new();
    for delivery in deliveries {
        let own = pieces.entry(delivery.connection).or_default();
        own.extend(delivery.pieces.iter_mut());
    }
    for (connection, mut pieces) in pieces {
        let Some(remote) = remotes.get(&connection) else { continue };
        pieces.sort_by_key(|piece| piece.sent);
        let Some(first) = pieces.first().map(|piece| piece.sent) else { continue };
        place(&mut pieces, &Bytes::of(packets, *remote, first));
    }
}

fn place(pieces: &mut [&mut DeliveredPiece], came: &Bytes) {
    let mut had = 0.0;
    for piece in pieces {
        // What entered the link before was something else's: heads, tickets, the end of what came before a pause.
        had = came.skipped_until(had, piece.sent);
        piece.came_from = came.at(had + 1.0).map(|step| step.began);
        had += piece.bytes as f64 * came.overhead;
        piece.came_to = came.at(had - SLACK).map(|step| step.ended);
    }
}

/// What TLS 1.3 and HTTP/2 add to full records of 16 KiB, and what QUIC adds to datagrams of 1,200 bytes and more.
const OVER_TCP: f64 = 1.003;
const OVER_QUIC: f64 = 1.03;

/// A piece that reaches so many bytes into a packet ends with the one before.
const SLACK: f64 = 64.0;

/// The bytes of one flow towards the client, in their order.
struct Bytes {
    steps: Vec<Step>,
    /// Bytes of the flow for one of a body.
    overhead: f64,
}

/// Bytes that came in one packet.
struct Step {
    /// How many had come with them.
    all: u64,
    /// The packet came to the link.
    entered: Instant,
    /// The packet began to come out of the bottleneck, as late as the one before it.
    began: Instant,
    /// All bytes up to here were there.
    ended: Instant,
}

impl Bytes {
    /// Those to `remote` that were sent from `since` on.
    fn of(packets: &[PacketRecord], remote: SocketAddr, since: Instant) -> Self {
        let own = packets
            .iter()
            .filter(|packet| packet.direction == Direction::Down && packet.at >= since)
            .filter(|packet| packet.flow.is_some_and(|flow| flow.destination == remote));
        let is_tcp = own.clone().any(|packet| packet.tcp.is_some());
        let overhead = if is_tcp { OVER_TCP } else { OVER_QUIC };
        let base = own.clone().find_map(|packet| packet.tcp).map_or(0, |tcp| tcp.sequence);
        let mut segments: Vec<Segment> =
            own.filter_map(|packet| Segment::of(packet, base)).collect();
        // A segment that was lost and sent again has its place in the stream, and comes later than those behind it.
        segments.sort_by_key(|segment| (segment.offset, segment.came));
        let (mut all, mut next, mut latest) = (0, None, Instant::ZERO);
        let mut steps = Vec::with_capacity(segments.len());
        for segment in segments {
            let is_new = next.is_none_or(|next| segment.end() > next);
            if !is_new {
                continue;
            }
            all += segment.end() - next.unwrap_or(segment.offset).max(segment.offset);
            next = Some(segment.end());
            latest = latest.max(segment.came);
            let began = latest - segment.took;
            steps.push(Step { all, entered: segment.entered, began, ended: latest });
        }
        Self { steps, overhead }
    }

    /// `had` bytes, or more where those after them entered the link before `sent`.
    fn skipped_until(&self, had: f64, sent: Instant) -> f64 {
        let place = self.steps.partition_point(|step| step.all as f64 <= had);
        let earlier = self.steps[place..].iter().take_while(|step| step.entered < sent);
        earlier.last().map_or(had, |step| step.all as f64)
    }

    /// When so many had come.
    fn at(&self, bytes: f64) -> Option<&Step> {
        let place = self.steps.partition_point(|step| (step.all as f64) < bytes);
        self.steps.get(place).or(self.steps.last())
    }
}

/// A piece of a flow that came out of the link.
struct Segment {
    /// Where it begins. Datagrams have no place but their order.
    offset: u64,
    bytes: u64,
    entered: Instant,
    came: Instant,
    /// How long the bottleneck took to send it; zero where the log does not say it.
    took: Duration,
}

impl Segment {
    /// `base` is a sequence number of the flow: they wrap, and two of one flow are less than 2^31 apart (RFC 9293 §3.4).
    fn of(packet: &PacketRecord, base: u32) -> Option<Self> {
        let Fate::Delivered { at: came } = packet.fate else { return None };
        let (offset, bytes) = match (&packet.tcp, &packet.udp) {
            (Some(tcp), _) => {
                let offset = tcp.sequence.wrapping_sub(base).wrapping_add(1 << 31);
                (u64::from(offset), u64::from(tcp.payload))
            }
            // Further apart than any is long.
            (None, Some(udp)) => (packet.index << 17, u64::from(udp.payload)),
            (None, None) => return None,
        };
        let took =
            packet.passage.map_or(Duration::ZERO, |passed| passed.sent.since(passed.left_queue));
        (bytes > 0).then_some(Self { offset, bytes, entered: packet.at, came, took })
    }

    fn end(&self) -> u64 {
        self.offset + self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::evidence::ServerConnection;
    use super::*;
    use trace::{Flow, TcpMark};

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(1_000_000_000 + ms * 1_000_000)
    }

    const REMOTE: &str = "10.77.0.1:40000";

    /// A segment of 1,000 bytes of the stream; it comes `came` ms after the beginning.
    fn segment(index: u64, sent: u64, came: u64) -> PacketRecord {
        let flow = Flow {
            protocol: 6,
            source: "10.77.1.1:443".parse().unwrap(),
            destination: REMOTE.parse().unwrap(),
        };
        let tcp = TcpMark {
            sequence: 5_000 + index as u32 * 1_000,
            acknowledgement: 0,
            flags: 0,
            payload: 1_000,
        };
        PacketRecord {
            at: at(sent),
            direction: Direction::Down,
            index,
            length: 1_040,
            fate: Fate::Delivered { at: at(came) },
            passage: None,
            flow: Some(flow),
            tcp: Some(tcp),
            udp: None,
        }
    }

    fn delivery(stream: u64, pieces: &[(u64, u64)]) -> DeliveryRecord {
        let text = format!(
            r#"{{"connection":1,"protocol":"h2","stream":{stream},"authority":"far","path":"/{stream}","status":200,
            "media_type":"","asked":[],"policy":"fifo","requested":7,"ended":12,"bytes":1,"end":"done"}}"#
        );
        let mut delivery: DeliveryRecord = serde_json::from_str(&text).unwrap();
        let piece = |(sent, bytes): &(u64, u64)| DeliveredPiece {
            sent: at(*sent),
            bytes: *bytes,
            came_from: None,
            came_to: None,
        };
        delivery.pieces = pieces.iter().map(piece).collect();
        delivery
    }

    fn came(deliveries: &[DeliveryRecord]) -> Vec<Vec<(u64, u64)>> {
        let ms = |at: Option<Instant>| (at.unwrap().nanos() - 1_000_000_000) / 1_000_000;
        let pieces = |one: &DeliveryRecord| {
            one.pieces.iter().map(|piece| (ms(piece.came_from), ms(piece.came_to))).collect()
        };
        deliveries.iter().map(pieces).collect()
    }

    fn server() -> ServerLog {
        let remote = Some(REMOTE.parse().unwrap());
        ServerLog {
            connections: vec![ServerConnection { id: 1, remote, ..ServerConnection::default() }],
        }
    }

    #[test]
    fn pieces_come_in_the_order_in_which_a_connection_sent_them() {
        // Two streams take turns; the handshake before them counts for nothing.
        let mut deliveries =
            [delivery(1, &[(10, 1_000), (12, 1_000)]), delivery(3, &[(11, 2_000)])];
        let mut packets = vec![segment(0, 5, 6)];
        packets.extend((1..=4).map(|nth| segment(nth, 13, 20 + 10 * nth)));
        put_arrivals(&mut deliveries, &server(), &packets);
        assert_eq!(came(&deliveries), [vec![(30, 30), (60, 60)], vec![(40, 50)]]);
    }

    #[test]
    fn what_waits_for_a_lost_segment_comes_with_it() {
        let mut deliveries = [delivery(1, &[(10, 3_000)])];
        let mut packets: Vec<_> = (1..=3).map(|nth| segment(nth, 11, 20 + 10 * nth)).collect();
        packets[1].fate = Fate::Lost;
        packets.push(segment(2, 90, 100));
        put_arrivals(&mut deliveries, &server(), &packets);
        assert_eq!(came(&deliveries), [vec![(30, 100)]]);
    }

    #[test]
    fn without_the_address_of_a_connection_nothing_is_known_of_its_pieces() {
        let mut deliveries = [delivery(1, &[(10, 1_000)])];
        put_arrivals(&mut deliveries, &ServerLog::default(), &[segment(1, 11, 20)]);
        assert_eq!(deliveries[0].pieces[0].came_to, None);
    }
}
